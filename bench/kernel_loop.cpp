// Calls one rung back to back and prints how many calls are done. The rate shows what another process costs a running
// kernel.
//
//   kernel_loop --kernel ID [--shape B,H,S,D] [--seconds N] [--interval S]
//
// Prints a line every --interval seconds (1): the time on CLOCK_MONOTONIC in seconds, and the number of calls finished
// by then. Two batches of about 20 ms are in flight, so the GPU does not wait for this program. Ends after --seconds
// (10), when killed, or when its output is closed.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "rungs.h"

namespace fa_profile {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kBatchSeconds = 0.02;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Options {
  std::string kernel;
  AttentionShape shape = AttentionShape::Parse("4,16,1024,64");
  double seconds = 10.0;
  double interval = 1.0;
};

double ParseSeconds(const std::string& name, const std::string& text) {
  double seconds = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc{} && end == text.data() + text.size() && seconds > 0.0 && seconds <= 86400.0) return seconds;
  throw Error(name + " must be a number of seconds, not '" + text + "'");
}

Options Parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (i + 1 == arguments.size()) throw Error(name + " needs a value");
    const std::string& value = arguments[i + 1];
    if (name == "--kernel") {
      options.kernel = value;
    } else if (name == "--shape") {
      options.shape = AttentionShape::Parse(value);
    } else if (name == "--seconds") {
      options.seconds = ParseSeconds(name, value);
    } else if (name == "--interval") {
      options.interval = ParseSeconds(name, value);
    } else {
      throw Error("unknown argument '" + name + "'", "the arguments are --kernel, --shape, --seconds and --interval");
    }
  }
  return options;
}

/// Number of calls that take about kBatchSeconds.
std::int64_t BatchSize(Workload& workload) {
  constexpr int kTrial = 20;
  for (int i = 0; i < kTrial; ++i) workload.Launch(nullptr);  // the first ones load code and raise the clocks
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const double start = Now();
  for (int i = 0; i < kTrial; ++i) workload.Launch(nullptr);
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(kBatchSeconds / (Now() - start) * kTrial), 1, 10000);
}

void Run(const std::vector<std::string>& arguments) {
  const Options options = Parse(arguments);
  const Kernel& kernel = FindRung(options.kernel);
  const std::unique_ptr<Workload> workload = kernel.MakeWorkload(options.shape, kSeed);
  std::array<cudaEvent_t, 2> finished{};
  for (cudaEvent_t& event : finished) {
    Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  const std::int64_t batch = BatchSize(*workload);
  std::printf("%s %s in batches of %lld\n", kernel.id().c_str(), options.shape.ToString().c_str(),
              static_cast<long long>(batch));

  const double end = Now() + options.seconds;
  double next_line = 0.0;
  std::int64_t launched = 0;
  for (double now = 0.0; now < end;) {
    for (std::int64_t i = 0; i < batch; ++i) workload->Launch(nullptr);
    Check(cudaEventRecord(finished[launched % 2], nullptr), "cudaEventRecord");
    ++launched;
    if (launched == 1) continue;
    Check(cudaEventSynchronize(finished[launched % 2]), "cudaEventSynchronize");  // the previous batch
    now = Now();
    if (now < next_line) continue;
    if (std::printf("%.6f %lld\n", now, static_cast<long long>(launched - 1) * batch) < 0 || std::fflush(stdout) != 0) {
      break;
    }
    next_line = now + options.interval;
  }
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (const cudaEvent_t event : finished) (void)cudaEventDestroy(event);
}

}  // namespace
}  // namespace fa_profile

int main(int argc, char** argv) { return fa_profile::RunMain("kernel_loop", argc, argv, fa_profile::Run); }
