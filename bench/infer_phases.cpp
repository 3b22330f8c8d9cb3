// Phases inferred from machine code, against those that the code names, and the time that it takes:
//   infer_phases FILE...
//
// FILE is a recording (*.fap): each sampled kernel, by samples of warps that wait at no barrier, without the branch
// skid. Or a cubin, object file, program or library: each kernel, by instructions, each ten times as heavy for each
// loop around it.
//
// For each kernel: instructions, the median time of several rounds, steps of work, and either the refusal or the share
// that got the phase that a function names (of what functions name), the largest error of a phase's share in points,
// and how sure the inference is.
#include "fa_profile/infer_phases.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "branch_skid.h"
#include "control_flow.h"
#include "fa_profile/compare_phases.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/recording_file.h"

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

void Print(const std::string& name, const DeviceFunction& function, const std::vector<double>& executed,
           const std::vector<double>& weights) {
  const analyze::InferredPhases inferred = analyze::InferPhases(function, executed);
  std::printf("%-60.60s %5zu instr %6.1f ms %7.2f M steps  ", name.c_str(), function.instructions.size(),
              MedianMilliseconds(function, executed), static_cast<double>(inferred.steps) * 1e-6);
  if (!inferred.refusal.empty()) {
    std::printf("refused: %s\n", inferred.refusal.c_str());
    return;
  }
  const analyze::PhaseConfusion confusion = analyze::CompareWithNames(function, inferred, weights);
  const double all = confusion.All() + confusion.unnamed;
  if (confusion.All() > 0.0) {
    std::printf("right %5.1f %%  error %4.1f  named %3.0f %%  ", 100 * confusion.SameRatio(),
                100 * confusion.LargestError().second, 100 * confusion.All() / all);
  }
  double graded[3] = {};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (function.instructions[i].opcode.starts_with("BAR") || function.instructions[i].opcode == "NOP") continue;
    const analyze::InferredInstruction& instruction = inferred.instructions[i];
    if (instruction.phase != kUnattributed) graded[static_cast<int>(instruction.grade)] += weights[i];
  }
  std::printf("direct %2.0f derived %2.0f guess %2.0f %%  QK:PV %.2f  %.0f an exponential\n", 100 * graded[0] / all,
              100 * graded[1] / all, 100 * graded[2] / all, inferred.checks.qk_to_pv_ratio.value_or(0.0),
              inferred.checks.multiply_adds_per_exponential.value_or(0.0));
}

void PrintRecording(const std::string& path) {
  const Recording recording = store::RecordingReader(path).Load();
  for (const PcSampling& sampling : recording.samplings) {
    const auto of = std::ranges::find(recording.cases, sampling.case_id, &Case::id);
    const auto counting = std::ranges::find(recording.countings, sampling.case_id, &SassCounting::case_id);
    const SassCounting* const counts = counting == recording.countings.end() ? nullptr : &*counting;
    const auto functions = analyze::MeasuredFunctions(recording, {&sampling}, {});
    const PcSampling corrected =
        counts == nullptr ? sampling : analyze::WithoutBranchSkid(functions, sampling, *counts);
    for (const DeviceFunction* function : functions) {
      std::string name = of->kernel + (of->shape ? " " + of->shape->ToString() : "");
      if (functions.size() > 1) name += " " + FunctionName(Demangle(function->name.c_str()));
      Print(name, *function, analyze::ExecutedOf(*function, counts), analyze::WorkingSamples(*function, corrected));
    }
  }
}

void PrintCode(const std::string& path) {
  const std::string nvdisasm = sass::RequireNvdisasm();
  for (const sass::EmbeddedCubin& cubin : sass::ReadGpuCode(path)) {
    const sass::CubinInfo info = sass::ReadCubin(cubin.bytes);
    std::vector<std::string> symbols;
    for (const sass::CubinFunction& function : info.functions) {
      if (function.is_kernel) symbols.push_back(function.name);
    }
    for (const analyze::KernelCode& code : load::DisassembleKernels(path, cubin, info, symbols, nvdisasm)) {
      std::vector<double> weights;
      for (const int depth : analyze::ReadControlFlow(code.function).loop_depth) weights.push_back(std::pow(10, depth));
      Print(code.architecture + " " + FunctionName(Demangle(code.function.name.c_str())), code.function, {}, weights);
    }
  }
}

}  // namespace
}  // namespace fa_profile

int main(int argc, char** argv) {
  try {
    for (int i = 1; i < argc; ++i) {
      const bool is_recording = std::string_view(argv[i]).ends_with(".fap");
      is_recording ? fa_profile::PrintRecording(argv[i]) : fa_profile::PrintCode(argv[i]);
    }
  } catch (const fa_profile::Error& error) {
    std::fputs((error.message() + "\n").c_str(), stdout);
    return 2;
  }
}
