// Times of rung 8's variants beside rung 7, at the shapes that the issue sets targets for. Not yet run on a GPU.
//
//   hopper_times [--shape B,H,S,D] [--causal] [--only NAME]...
//
// A line for each variant: microseconds of a call in a chain of calls and of a call alone, both of replayed graphs,
// TFLOP/s, and whether the result is correct (one draw against float64).
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "attention_kernel.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "hopper/rung8_hopper.h"
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

void Print(const Kernel& kernel, const AttentionShape& shape, bool verify, const char* what) {
  constexpr double kQuickReference = 3e11;  // float64 takes seconds beyond
  verify = verify && Flop(shape) < kQuickReference;
  const Verification result = verify ? Verify(kernel, shape, 1, 1) : Verification{};
  const auto workload = kernel.MakeWorkload(shape, 1);
  const int replays = Flop(shape) > 1e11 ? 100 : 1000;
  const ReplayTime time = TimeReplays(
      [&](cudaStream_t stream) {
        workload->Launch(stream);
        return cudaPeekAtLastError();
      },
      replays);
  std::printf("%-24s %10.2f %10.2f %8.1f  %-9s %s\n", kernel.id().c_str(), time.in_chain_us, time.alone_us,
              Flop(shape) / time.in_chain_us * 1e-6,
              !verify            ? "not asked"
              : result.correct() ? "correct"
                                 : "WRONG",
              what);
  std::fflush(stdout);
}

void Run(const std::vector<std::string>& arguments) {
  const Options options = Parse(arguments);
  for (const AttentionShape& shape : options.shapes) {
    std::printf("%s\n%-24s %10s %10s %8s\n", shape.ToString().c_str(), "", "chain us", "alone us", "TFLOP/s");
    if (IsWanted(options, "mma")) Print(FindRung("mma"), shape, true, "rung 7");
    for (const Variants& variants : {ChosenVariants(), ForwardVariants(), TuningVariants(), SplitVariants()}) {
      for (const Variant& variant : variants) {
        const bool fits = variant.max_seqlen == 0 || shape.seqlen <= variant.max_seqlen;
        if (variant.head_dim != shape.head_dim || !fits || !IsWanted(options, variant.name)) continue;
        Print(*KernelOf(variant), shape, !variant.bf16, variant.changes);
      }
    }
  }
}

}  // namespace
}  // namespace fa_profile::hopper

int main(int argc, char** argv) { return fa_profile::RunMain("hopper_times", argc, argv, fa_profile::hopper::Run); }
