// Calls one rung back to back and tells how many calls were done: what another process costs a running kernel shows in
// the rate.
//
//   kernel_loop --kernel ID [--shape B,H,S,D] [--seconds N] [--interval S]
//
// One line each --interval seconds (1): the time on CLOCK_MONOTONIC in seconds, and the calls finished by then, both
// since their beginnings. Two batches of about 20 ms are in flight, so the GPU does not wait for this program. Ends
// when --seconds (10) are over, when killed, or when nobody reads its output.
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
#include "fa_profile/kernels.h"

namespace fa_profile {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kBatchSeconds = 0.02;

void Check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw Error(call, cudaGetErrorName(result), cudaGetErrorString(result));
}

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
  throw Error(name + " takes seconds, not '" + text + "'");
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
      throw Error("unknown argument '" + name + "'", "there are --kernel, --shape, --seconds and --interval");
    }
  }
  return options;
}

const Kernel& Select(const std::string& id) {
  const auto found = std::find_if(Ladder().begin(), Ladder().end(), [&](const Kernel* k) { return k->id() == id; });
  if (found == Ladder().end()) throw Error("there is no rung '" + id + "'", "`fa-profile list kernels` lists them");
  return **found;
}

/// Calls that take about kBatchSeconds.
std::int64_t BatchSize(Workload& workload) {
  constexpr int kTrial = 20;
  for (int i = 0; i < kTrial; ++i) workload.Launch(nullptr);  // the first ones load code and raise the clocks
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const double start = Now();
  for (int i = 0; i < kTrial; ++i) workload.Launch(nullptr);
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(kBatchSeconds / (Now() - start) * kTrial), 1, 10000);
}

void Run(const Options& options) {
  const Kernel& kernel = Select(options.kernel);
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
    Check(cudaEventSynchronize(finished[launched % 2]), "cudaEventSynchronize");  // the batch before
    now = Now();
    if (now < next_line) continue;
    if (std::printf("%.6f %lld\n", now, static_cast<long long>((launched - 1) * batch)) < 0 ||
        std::fflush(stdout) != 0) {
      break;
    }
    next_line = now + options.interval;
  }
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (const cudaEvent_t event : finished) (void)cudaEventDestroy(event);
}

}  // namespace
}  // namespace fa_profile

int main(int argc, char** argv) {
  try {
    fa_profile::Run(fa_profile::Parse({argv + 1, argv + argc}));
  } catch (const fa_profile::Error& error) {
    std::fprintf(stderr, "kernel_loop: %s\n", error.what());
    return 2;
  }
  return 0;
}
