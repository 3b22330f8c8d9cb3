// fa-profile selftest: measures kernels whose true counts are known, and compares.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "fa_profile/analyze.h"
#include "fa_profile/check_truths.h"
#include "fa_profile/collector.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/phase_collector.h"
#include "fa_profile/private_folder.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/selftest_kernels.h"
#include "run_setup.h"

namespace fa_profile::jobs {
namespace {

std::vector<const SelftestKernel*> Select(const std::string& pattern) {
  std::vector<std::string> ids;
  for (const SelftestKernel& kernel : SelftestKernels()) ids.push_back(kernel.id);
  const std::vector<std::string> matching = MatchKernels(pattern, ids);
  std::vector<const SelftestKernel*> selected;
  for (const SelftestKernel& kernel : SelftestKernels()) {
    if (std::ranges::find(matching, kernel.id) != matching.end()) selected.push_back(&kernel);
  }
  return selected;
}

collect::Disassembler RequireDisassembler() {
  if (auto disassembler = FindDisassembler()) return *disassembler;
  throw Error("nvdisasm is missing: selftest needs it to disassemble machine code",
              "install NVIDIA's nvdisasm of CUDA 13 or later (`pip install nvidia-cuda-nvdisasm`), or set "
              "FA_PROFILE_NVDISASM=/path/to/nvdisasm");
}

// A kernel ready to be measured.
struct Prepared {
  const SelftestKernel* kernel;
  std::int64_t case_id;
  SelftestRun run;
};

bool HasShares(const SelftestRun& run) {
  return std::ranges::any_of(run.truths, [](const Truth& truth) { return truth.source == TruthSource::kShare; });
}

std::vector<collect::CollectJob> Jobs(const std::vector<Prepared>& prepared, bool with_shares, bool without) {
  std::vector<collect::CollectJob> jobs;
  for (const Prepared& each : prepared) {
    if (HasShares(each.run) ? with_shares : without) jobs.push_back({each.case_id, each.run.workload.get()});
  }
  return jobs;
}

std::vector<std::string> Counters(const std::vector<Prepared>& prepared) {
  std::set<std::string> names;
  for (const std::string& name : analyze::KnownLieInputs()) names.insert(name);
  for (const Prepared& each : prepared) {
    for (const Truth& truth : each.run.truths) {
      if (truth.source == TruthSource::kCounter) names.insert(truth.name);
      if (truth.source == TruthSource::kWait) names.insert("sm__warps_active.sum");
    }
  }
  return {names.begin(), names.end()};
}

Session SelftestSession(const SelftestJob& job) {
  Session session = collect::NewSession(job.file.command_line, "selftest");
  session.replay_mode = "user";
  session.cache_policy = "warm";
  session.warmup_launches = 1;
  return session;
}

// Measures, writing to the writer.
std::vector<Prepared> Measure(const std::vector<const SelftestKernel*>& kernels, const SelftestJob& job,
                              store::RecordingWriter& writer) {
  const collect::Disassembler disassembler = RequireDisassembler();
  const Device device = collect::OpenDevice(job.device);
  std::vector<DataLoss> losses;
  writer.Write(SelftestSession(job));
  writer.Write(device);
  writer.Write(collect::ReadClocks(device, "before", losses));
  ProgressBar bar;
  const std::unique_ptr<collect::GpuApi> gpu =
      collect::OpenGpuApi(device, /*flush_cache=*/false, collect::PlanCacheFolder());
  collect::CollectRun run{device, *gpu, writer, 1, ShowOn(bar)};
  // Before the first kernel is loaded, including those that clock the truth.
  std::optional<collect::PhaseCollector> phases(std::in_place, run, disassembler);
  std::vector<Prepared> prepared;
  for (const SelftestKernel* const kernel : kernels) {
    bar.Show("truth", kernel->id, static_cast<int>(prepared.size()), static_cast<int>(kernels.size()));
    const Case entry{run.next_id++, kernel->id, "selftest", std::nullopt};
    writer.Write(entry);
    prepared.push_back({kernel, entry.id, kernel->make()});
  }
  phases->Collect(Jobs(prepared, true, false));
  phases->Collect(Jobs(prepared, false, true), /*sample=*/false);
  phases.reset();  // the range profiler needs this
  collect::CollectOptions collect;
  collect.metrics = Counters(prepared);
  collect.warmup_launches = 1;
  collect.timed_launches = 0;
  collect::Collector(run, collect).Collect(Jobs(prepared, true, true), /*keep_images=*/false);
  writer.Write(collect::ReadClocks(device, "after", losses));
  for (const DataLoss& loss : losses) writer.Write(loss);
  writer.Finish();
  return prepared;
}

SelftestReport Check(const Recording& recording, const std::vector<Prepared>& prepared) {
  const Profile profile = analyze::Analyze(recording, analyze::SelftestPhases());
  SelftestReport report{recording.session, recording.device, {}, analyze::CheckKnownLies(recording), recording.losses};
  for (const Prepared& each : prepared) {
    const auto entry = std::ranges::find_if(profile.entries, [&each](const ProfileEntry& candidate) {
      return candidate.case_id == each.case_id && candidate.part.empty();
    });
    if (entry == profile.entries.end()) throw Error(each.kernel->id + " was not measured");
    report.kernels.push_back(
        {each.kernel->id, each.kernel->proves, analyze::CheckTruths(recording, *entry, each.run.truths)});
  }
  return report;
}

}  // namespace

SelftestReport RunSelftest(const SelftestJob& job) {
  const std::vector<const SelftestKernel*> kernels = Select(job.kernel_pattern);
  RequireGpu("selftest");
  collect::PrepareProcessForNvtx();
  std::optional<PrivateFolder> folder;
  if (job.file.path.empty()) folder.emplace();
  const std::string path = folder ? (folder->path() / "selftest.fap").string() : job.file.path;
  store::RecordingWriter writer(path, job.file.overwrite);
  const std::vector<Prepared> prepared = Measure(kernels, job, writer);
  return Check(store::RecordingReader(path).Load(), prepared);
}

}  // namespace fa_profile::jobs
