// Phases inferred from machine code, against those that the code names, and the time that it takes:
//   infer_phases [--half tuned|set-aside] [--confusion] [--lines SOURCE] FILE...
//
// FILE is a recording (*.fap): each sampled kernel, by samples of warps that wait at no barrier, without the branch
// skid; by counts where the sampler lost the code's address. Or a cubin, object file, program or library: each kernel,
// by instructions, each ten times as heavy for each loop around it.
//
// For each kernel: instructions, the median time of several rounds, steps of work, and either the refusal or the share
// that got the phase that a function names (of what functions name), the largest error of a phase's share in points,
// and how sure the inference is. --confusion adds which phases were taken for which. Of the variants of
// tests/phase_variants it prints a line for each half, too; --half leaves all other kernels out. With --lines no
// function but the comment at the end of a line of SOURCE names the phase of its instructions, "# softmax": for
// languages whose compiler does not say what it inlined. Then only loops count, and neither waits nor branches: no line
// is theirs. "values" is the share for instructions that load, compute and store values: the line of an address is that
// of its last use, or of its first, as the compiler likes.
#include "fa_profile/infer_phases.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "control_flow.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/phases.h"
#include "fa_profile/recording_file.h"
#include "support/line_phases.h"
#include "support/phase_agreement.h"

namespace fa_profile {
namespace {

constexpr int kRounds = 9;

double MedianMilliseconds(const DeviceFunction& function, const std::vector<double>& executed) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    (void)analyze::InferPhases(function, executed);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  return times[kRounds / 2];
}

/// The options' request, and the results for each variant in tests/phase_variants.
struct Job {
  std::string half;  // "tuned", "set-aside", or both: ""
  bool confusion = false;
  LinePhases lines = {};  // of --lines
  struct Half {
    std::vector<double> right_pct;
    std::vector<double> minus_error_points;
    std::vector<double> direct_pct;
    int refused = 0;
  };
  std::map<bool, Half> halves = {};  // by whether set aside

  bool Takes(const std::string& variant) const {
    return half.empty() || (!variant.empty() && IsSetAside(variant) == (half == "set-aside"));
  }
};

void PrintConfusion(const PhaseAgreement& agreement) {
  for (const auto& [names, weight] : agreement.weight) {
    const double points = 100 * weight / agreement.All();
    if (names.first != names.second && points >= 0.1) {
      std::printf("    %5.1f points of %s are in %s\n", points, names.first.c_str(), names.second.c_str());
    }
  }
}

void Print(const std::string& name, const DeviceFunction& function, const std::vector<double>& executed,
           const std::vector<double>& weights, Job& job) {
  const std::string variant = VariantOf(name);
  if (!job.Takes(variant)) return;
  const analyze::InferredPhases inferred = analyze::InferPhases(function, executed);
  const PhaseAgreement agreement = ComparePhases(function, inferred, weights);
  std::printf("%-60.60s %5zu instr %6.1f ms %7.2f M steps  ", (variant.empty() ? name : variant).c_str(),
              function.instructions.size(), MedianMilliseconds(function, executed),
              static_cast<double>(inferred.steps) * 1e-6);
  Job::Half* const half = variant.empty() ? nullptr : &job.halves[IsSetAside(variant)];
  if (!inferred.refusal.empty()) {
    std::printf("refused: %s\n", inferred.refusal.c_str());
    if (half != nullptr) ++half->refused;
    return;
  }
  const double named = agreement.All();
  const double all = agreement.Whole();
  if (named > 0.0) {
    std::printf("right %5.1f %%  error %4.1f  named %3.0f %%  ", 100 * agreement.RightRatio(),
                100 * agreement.LargestErrorRatio(), 100 * named / all);
    if (!job.lines.source.empty()) {
      const PhaseAgreement values = ComparePhases(function, inferred, OfValues(function, weights));
      std::printf("values %5.1f %%  error %4.1f  ", 100 * values.RightRatio(), 100 * values.LargestErrorRatio());
    }
  }
  std::printf("direct %2.0f derived %2.0f guess %2.0f %%  QK:PV %.2f  %.0f an exponential\n",
              100 * agreement.graded[0] / all, 100 * agreement.graded[1] / all, 100 * agreement.graded[2] / all,
              inferred.checks.qk_to_pv_ratio.value_or(0.0),
              inferred.checks.multiply_adds_per_exponential.value_or(0.0));
  if (job.confusion) PrintConfusion(agreement);
  if (half == nullptr || named == 0.0) return;
  half->right_pct.push_back(100 * agreement.RightRatio());
  half->minus_error_points.push_back(-100 * agreement.LargestErrorRatio());
  half->direct_pct.push_back(100 * agreement.graded[0] / all);
}

void PrintHalves(const Job& job) {
  for (const auto& [set_aside, half] : job.halves) {
    const LowDistribution right = DistributionOf(half.right_pct);
    const LowDistribution error = DistributionOf(half.minus_error_points);
    const LowDistribution direct = DistributionOf(half.direct_pct);
    std::printf(
        "%s: %zu inferred, %d refused; median, 10th percentile, worst: right %.1f %.1f %.1f %%, error %.1f %.1f "
        "%.1f points, direct %.0f %.0f %.0f %%\n",
        set_aside ? "set aside" : "tuned on", half.right_pct.size(), half.refused, right.median, right.tenth_percentile,
        right.worst, -error.median, -error.tenth_percentile, -error.worst, direct.median, direct.tenth_percentile,
        direct.worst);
  }
}

void PrintRecording(const std::string& path, Job& job) {
  const Recording recording = store::RecordingReader(path).Load();
  for (const MeasuredKernel& kernel : MeasuredKernels(recording)) {
    Print(kernel.name, *kernel.function, kernel.executed, kernel.weights, job);
  }
}

void PrintCode(const std::string& path, Job& job) {
  const std::string nvdisasm = sass::RequireNvdisasm();
  for (const sass::EmbeddedCubin& cubin : sass::ReadGpuCode(path)) {
    const sass::CubinInfo info = sass::ReadCubin(cubin.bytes);
    std::vector<std::string> symbols;
    for (const sass::CubinFunction& function : info.functions) {
      if (function.is_kernel) symbols.push_back(function.name);
    }
    for (const analyze::KernelCode& code : load::DisassembleKernels(path, cubin, info, symbols, nvdisasm)) {
      DeviceFunction function = code.function;
      std::vector<double> weights;
      if (job.lines.source.empty()) {
        for (const int depth : analyze::ReadControlFlow(function).loop_depth) weights.push_back(std::pow(10, depth));
      } else {
        weights = WeightsInLoops(function);
        NameByLines(function, job.lines);
      }
      Print(code.architecture + " " + FunctionName(Demangle(function.name.c_str())), function, {}, weights, job);
    }
  }
}

}  // namespace
}  // namespace fa_profile

int main(int argc, char** argv) {
  using fa_profile::Error;
  try {
    fa_profile::Job job;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--half" && i + 1 < argc) {
        job.half = argv[++i];
        if (job.half != "tuned" && job.half != "set-aside") throw Error("--half must be tuned or set-aside");
      } else if (argument == "--lines" && i + 1 < argc) {
        job.lines = fa_profile::ReadLinePhases(argv[++i]);
      } else if (argument == "--confusion") {
        job.confusion = true;
      } else if (argument.ends_with(".fap")) {
        fa_profile::PrintRecording(argument, job);
      } else {
        fa_profile::PrintCode(argument, job);
      }
    }
    fa_profile::PrintHalves(job);
  } catch (const Error& error) {
    std::fputs((error.message() + "\n").c_str(), stdout);
    return 2;
  }
}
