// Times of rung 8's variants and rung 7, at the shapes of docs/evidence/kernels.md.
//
//   hopper_times [--shape B,H,S,D] [--causal] [--only NAME]... [--rounds N]
//
// A line for each variant: microseconds of a call in a chain of calls and of a call alone, both of replayed graphs,
// TFLOP/s, and whether the result is correct (one draw against float64; at large shapes, near that of rung 7).
// With --rounds all chains of a shape are replayed in turn, N times, so that all see the same clocks: the median time,
// and how many times as fast as the first one each is, median, smallest and largest of the rounds. Results are not
// verified then.
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "attention_kernel.h"
#include "attention_workload.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "hopper/variant.h"
#include "replay.h"
#include "rungs.h"

namespace fa_profile::hopper {
namespace {

struct Options {
  std::vector<AttentionShape> shapes;
  std::vector<std::string> only;
  int rounds = 0;
};

int ParseRounds(const std::string& text) {
  int rounds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rounds);
  if (error != std::errc() || end != text.data() + text.size() || rounds < 1) {
    throw Error("--rounds '" + text + "' must be a number of 1 or more");
  }
  return rounds;
}

Options Parse(const std::vector<std::string>& arguments) {
  Options options;
  bool causal = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--causal") {
      causal = true;
      continue;
    }
    if (name != "--shape" && name != "--only" && name != "--rounds") {
      throw Error("unknown argument '" + name + "'", "the arguments are --shape, --causal, --only and --rounds");
    }
    if (++i == arguments.size()) throw Error(name + " needs a value");
    if (name == "--shape") options.shapes.push_back(AttentionShape::Parse(arguments[i]));
    if (name == "--rounds") options.rounds = ParseRounds(arguments[i]);
    if (name == "--only") options.only.push_back(arguments[i]);
  }
  if (options.shapes.empty()) {
    options.shapes = {{1, 8, 512, 64, false},     {8, 16, 512, 64, false},  {4, 16, 2048, 64, false},
                      {1, 16, 16384, 64, false},  {8, 16, 512, 128, false}, {4, 16, 2048, 128, false},
                      {1, 16, 16384, 128, false}, {1, 16, 16384, 128, true}};
  }
  if (causal) {
    for (AttentionShape& shape : options.shapes) shape.causal = true;
  }
  return options;
}

bool IsWanted(const Options& options, const std::string& name) {
  return options.only.empty() || std::ranges::any_of(options.only, [&](const std::string& part) {
           return name.find(part) != std::string::npos;
         });
}

double Flop(const AttentionShape& shape) {
  const double pairs = static_cast<double>(shape.seqlen) * shape.seqlen * (shape.causal ? 0.5 : 1.0);
  return 4.0 * pairs * shape.head_dim * shape.batch * shape.num_heads;
}

/// A kernel with one launch; the shape was checked before.
std::unique_ptr<AttentionKernel> KernelOf(const Variant& variant) {
  KernelSpec spec;
  spec.id = variant.name;
  spec.origin = "ladder";
  spec.steps = {{variant.name, [variant](const AttentionParams& params, cudaStream_t stream) {
                   Check(variant.launch(params, stream), variant.name);
                 }}};
  spec.why_not = [](const AttentionShape&) { return std::string(); };
  spec.workspace_bytes = [](const AttentionShape&) { return std::size_t{0}; };
  return std::make_unique<AttentionKernel>(std::move(spec));
}

std::vector<float> OutputsOf(const Workload& workload) {
  const auto& attention = dynamic_cast<const AttentionWorkload&>(workload);
  std::vector<__half> halves(static_cast<std::size_t>(attention.shape()->attention()->Elements()));
  Check(cudaMemcpy(halves.data(), attention.params().o, halves.size() * sizeof(__half), cudaMemcpyDefault),
        "cudaMemcpy");
  std::vector<float> values;
  values.reserve(halves.size());
  for (const __half x : halves) values.push_back(__half2float(x));
  return values;
}

/// Rung 7's output, where float64 would take seconds; empty if it does not.
std::vector<float> OutputsOfRung7(const AttentionShape& shape) {
  constexpr double kQuickReference = 3e11;
  if (Flop(shape) < kQuickReference) return {};
  const auto workload = FindRung("mma").MakeWorkload(shape, 1);
  workload->Launch(nullptr);
  return OutputsOf(*workload);
}

/// Both have at most half of this error.
bool AreClose(const std::vector<float>& outputs, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::fabs(outputs[i] - expected[i]) <= 2e-3F + 2e-3F * std::fabs(expected[i]))) return false;
  }
  return true;
}

void Print(const Kernel& kernel, const AttentionShape& shape, const std::vector<float>& expected, bool is_fp16,
           const char* what) {
  const char* result = "bf16";
  if (is_fp16 && expected.empty()) result = Verify(kernel, shape, 1, 1).correct() ? "correct" : "WRONG";
  const auto workload = kernel.MakeWorkload(shape, 1);
  const int replays = Flop(shape) > 1e11 ? 100 : 1000;
  const ReplayTime time = TimeReplays(
      [&](cudaStream_t stream) {
        workload->Launch(stream);
        return cudaPeekAtLastError();
      },
      replays);
  if (is_fp16 && !expected.empty()) result = AreClose(OutputsOf(*workload), expected) ? "as mma" : "WRONG";
  std::printf("%-24s %10.2f %10.2f %8.1f  %-8s %s\n", kernel.id().c_str(), time.in_chain_us, time.alone_us,
              Flop(shape) / time.in_chain_us * 1e-6, result, what);
  std::fflush(stdout);
}

/// A rung or variant to measure.
struct Wanted {
  std::unique_ptr<AttentionKernel> variant;  // null: a rung
  const Kernel* kernel;
  const char* changes;
  bool is_fp16;
};

/// Rungs 7 and 8 and the variants that accept this shape, as far as requested.
std::vector<Wanted> WantedAt(const AttentionShape& shape, const Options& options) {
  std::vector<Wanted> wanted;
  if (IsWanted(options, "mma")) wanted.push_back({nullptr, &FindRung("mma"), "rung 7", true});
  if (IsWanted(options, "hopper")) wanted.push_back({nullptr, &FindRung("hopper"), "rung 8", true});
  for (const Variants& variants : {ForwardVariants(), TuningVariants(), SplitVariants()}) {
    for (const Variant& variant : variants) {
      const bool fits = variant.max_seqlen == 0 || shape.seqlen <= variant.max_seqlen;
      if (variant.head_dim != shape.head_dim || !fits || !IsWanted(options, variant.name)) continue;
      auto kernel = KernelOf(variant);
      const Kernel* const address = kernel.get();
      wanted.push_back({std::move(kernel), address, variant.changes, !variant.bf16});
    }
  }
  return wanted;
}

/// Replays the chains of all in turn. Throws Error when CUDA refuses one.
void PrintRounds(const std::vector<Wanted>& wanted, const AttentionShape& shape, int rounds) {
  std::printf("%s, %d rounds in turn\n%-24s %10s %8s  %s\n", shape.ToString().c_str(), rounds, "", "chain us",
              "TFLOP/s", "times as fast as the first");
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<std::unique_ptr<Chain>> chains;
  for (const Wanted& one : wanted) {
    workloads.push_back(one.kernel->MakeWorkload(shape, 1));
    chains.push_back(std::make_unique<Chain>([&workload = *workloads.back()](cudaStream_t stream) {
      workload.Launch(stream);
      return cudaPeekAtLastError();
    }));
  }
  constexpr double kTurnUs = 20e3;  // for each chain
  const int replays = std::max(1, static_cast<int>(kTurnUs / Chain::kCalls / chains.front()->TimeUs(1)));
  std::vector<std::vector<double>> times(chains.size());
  std::vector<std::vector<double>> ratios(chains.size());
  for (int round = -1; round < rounds; ++round) {  // one to warm up
    double first = 0.0;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const double us = chains[i]->TimeUs(replays);
      if (i == 0) first = us;
      if (round < 0) continue;
      times[i].push_back(us);
      ratios[i].push_back(first / us);
    }
  }
  for (std::size_t i = 0; i < chains.size(); ++i) {
    std::ranges::sort(times[i]);
    std::ranges::sort(ratios[i]);
    const double us = times[i][times[i].size() / 2];
    std::printf("%-24s %10.2f %8.1f  %.3f  %.3f to %.3f  %s\n", wanted[i].kernel->id().c_str(), us,
                Flop(shape) / us * 1e-6, ratios[i][ratios[i].size() / 2], ratios[i].front(), ratios[i].back(),
                wanted[i].changes);
  }
  std::fflush(stdout);
}

void Run(const std::vector<std::string>& arguments) {
  const Options options = Parse(arguments);
  for (const AttentionShape& shape : options.shapes) {
    const std::vector<Wanted> wanted = WantedAt(shape, options);
    if (wanted.empty()) continue;
    if (options.rounds > 0) {
      PrintRounds(wanted, shape, options.rounds);
      continue;
    }
    std::printf("%s\n%-24s %10s %10s %8s\n", shape.ToString().c_str(), "", "chain us", "alone us", "TFLOP/s");
    const std::vector<float> expected = OutputsOfRung7(shape);
    for (const Wanted& one : wanted) {
      try {
        Print(*one.kernel, shape, expected, one.is_fp16, one.changes);
      } catch (const Error& error) {
        std::printf("%-24s %s\n", one.kernel->id().c_str(), error.what());
      }
    }
  }
}

}  // namespace
}  // namespace fa_profile::hopper

int main(int argc, char** argv) { return fa_profile::RunMain("hopper_times", argc, argv, fa_profile::hopper::Run); }
