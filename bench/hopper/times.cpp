// Times of rung 8's variants beside rung 7, at the shapes of docs/kernels.md.
//
//   hopper_times [--shape B,H,S,D] [--causal] [--only NAME]...
//
// A line for each variant: microseconds of a call in a chain of calls and of a call alone, both of replayed graphs,
// TFLOP/s, and whether the result is correct (one draw against float64; at large shapes, near that of rung 7).
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
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
};

Options Parse(const std::vector<std::string>& arguments) {
  Options options;
  bool causal = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--causal") {
      causal = true;
      continue;
    }
    if (name != "--shape" && name != "--only") {
      throw Error("unknown argument '" + name + "'", "the arguments are --shape, --causal and --only");
    }
    if (++i == arguments.size()) throw Error(name + " needs a value");
    if (name == "--shape") options.shapes.push_back(AttentionShape::Parse(arguments[i]));
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

/// A kernel with one launch; the shape was looked at before.
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

/// What rung 7 computes, where float64 would take seconds; empty where it does not.
std::vector<float> OutputsOfRung7(const AttentionShape& shape) {
  constexpr double kQuickReference = 3e11;
  if (Flop(shape) < kQuickReference) return {};
  const auto workload = FindRung("mma").MakeWorkload(shape, 1);
  workload->Launch(nullptr);
  return OutputsOf(*workload);
}

/// Both have half of this error at most.
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

void Run(const std::vector<std::string>& arguments) {
  const Options options = Parse(arguments);
  for (const AttentionShape& shape : options.shapes) {
    std::printf("%s\n%-24s %10s %10s %8s\n", shape.ToString().c_str(), "", "chain us", "alone us", "TFLOP/s");
    const std::vector<float> expected = OutputsOfRung7(shape);
    if (IsWanted(options, "mma")) Print(FindRung("mma"), shape, expected, true, "rung 7");
    if (IsWanted(options, "hopper")) Print(FindRung("hopper"), shape, expected, true, "rung 8");
    for (const Variants& variants : {ForwardVariants(), TuningVariants(), SplitVariants()}) {
      for (const Variant& variant : variants) {
        const bool fits = variant.max_seqlen == 0 || shape.seqlen <= variant.max_seqlen;
        if (variant.head_dim != shape.head_dim || !fits || !IsWanted(options, variant.name)) continue;
        try {
          Print(*KernelOf(variant), shape, expected, !variant.bf16, variant.changes);
        } catch (const Error& error) {
          std::printf("%-24s %s\n", variant.name, error.what());
        }
      }
    }
  }
}

}  // namespace
}  // namespace fa_profile::hopper

int main(int argc, char** argv) { return fa_profile::RunMain("hopper_times", argc, argv, fa_profile::hopper::Run); }
