// Writes the recordings that html_pages_test.py looks at in a browser: write_page_recordings FOLDER TEXT
//
// sample.fap and program.fap are the samples of the other tests; in slower.fap `mma` takes half as long again, in
// tenfold.fap ten times as long; in rank1.fap a kernel of the program takes twice as long; hostile.fap and
// hostile-program.fap have TEXT in every text; many.fap is a program of 300 kernels in 600 NVTX ranges; timeline.fap
// has samples over the time of `mma`, and why `cublas` has none; in longer.fap there are twice as many, which read
// half; empty.fap has no kernel.
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/recording_file.h"
#include "program_recording.h"
#include "random_recording.h"
#include "recording_texts.h"
#include "timeline_samples.h"

namespace {

using namespace fa_profile;

void WriteRecording(Recording recording, const std::string& path) {
  RandomRecording written{std::move(recording), {}};
  for (Range& range : written.recording.ranges) range.image_id = 0;
  store::RecordingWriter writer(path, true);
  WriteAll(written, writer);
  writer.Finish();
}

Recording Hostile(Recording recording, const std::string& text) {
  AddToEveryText(recording, text);
  return recording;
}

Recording Slower(double factor) {
  Recording recording = sample::MakeRecording();
  for (double& duration : recording.timings[0].durations_ns) duration *= factor;
  return recording;
}

Recording Rank1() {
  Recording recording = sample::MakeProgramRecording();
  recording.device.ordinal = 1;
  recording.kernel_work[0].total_ns *= 2;
  return recording;
}

Recording OverTime() {
  Recording recording = sample::MakeRecording();
  sample::AddTimeline(recording, 1);
  recording.losses.push_back({"timeline_too_short", "cublas@1,8,512,64", "the call takes 5 us", 1});
  return recording;
}

Recording OverLongerTime() {
  Recording recording = OverTime();
  std::vector<PmSample> longer;
  for (PmSample sample : recording.pm_samples) {
    sample.start_ns *= 2;
    sample.value /= 2;
    longer.push_back(sample);
    sample.start_ns += sample.duration_ns;
    longer.push_back(sample);
  }
  recording.pm_samples = std::move(longer);
  return recording;
}

Recording ManyKernels() {
  constexpr int kKernels = 300;
  Recording r = sample::EmptyProgram();
  for (int i = 1; i <= kKernels; ++i) {
    const std::string name = "kernel_" + std::to_string(i);
    const std::string step = "step " + std::to_string(i);
    const std::int64_t total_ns = 1'000'000 - 3000 * i;
    sample::AddClass(r, i, name, "void " + name + "<float>(float*)");
    r.kernel_work.push_back({1, i, 10, 0, total_ns, total_ns / 20, total_ns / 5});
    r.timings.push_back(sample::Timed(i, "", static_cast<double>(total_ns) / 10));
    r.ranges.push_back({i, i, "", name, 0, i - 1, sample::FullCounters(i)});
    r.nvtx_work.push_back({1, step, 0, 1, total_ns, 10, total_ns});
    r.nvtx_work.push_back({1, step + " / inner", 1, 1, total_ns, 10, total_ns / 2});
    r.nvtx_kernel_work.push_back({1, i, step, 10, total_ns});
  }
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string folder = std::string(argv[1]) + "/";
  WriteRecording(sample::MakeRecording(), folder + "sample.fap");
  WriteRecording(sample::MakeProgramRecording(), folder + "program.fap");
  Recording empty;
  empty.session = sample::FullSession();
  empty.device = sample::H200();
  WriteRecording(empty, folder + "empty.fap");
  WriteRecording(Slower(1.5), folder + "slower.fap");
  WriteRecording(Slower(10.0), folder + "tenfold.fap");
  WriteRecording(Rank1(), folder + "rank1.fap");
  WriteRecording(OverTime(), folder + "timeline.fap");
  WriteRecording(OverLongerTime(), folder + "longer.fap");
  WriteRecording(Hostile(sample::MakeRecording(), argv[2]), folder + "hostile.fap");
  WriteRecording(Hostile(sample::MakeProgramRecording(), argv[2]), folder + "hostile-program.fap");
  WriteRecording(ManyKernels(), folder + "many.fap");
}
