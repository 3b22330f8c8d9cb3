#include "fa_profile/lint.h"

#include <algorithm>
#include <utility>

#include "choose_phases.h"
#include "fa_profile/demangle.h"
#include "fa_profile/occupancy.h"
#include "lint_code.h"
#include "lint_findings.h"

namespace fa_profile::analyze {
namespace {

void SetThreads(const KernelCode& kernel, const LintOptions& options, KernelLint& lint) {
  if (options.threads) {
    lint.threads_per_block = options.threads;
    lint.threads_source = "--threads";
  } else if (kernel.required_threads) {
    lint.threads_per_block = ThreadsOf(*kernel.required_threads);
    lint.threads_source = "required threads";
  } else if (kernel.max_threads) {
    lint.threads_per_block = ThreadsOf(*kernel.max_threads);
    lint.threads_source = "launch bounds";
  }
}

void SetSharedMemory(const KernelCode& kernel, const LintOptions& options, KernelLint& lint) {
  lint.static_shared_memory_bytes = kernel.static_shared_memory_bytes;
  lint.dynamic_shared_memory_bytes = options.dynamic_shared_memory_bytes;
  if (lint.dynamic_shared_memory_bytes) return;
  if (kernel.static_shared_memory_bytes == 0 && UsesSharedMemory(kernel.function)) return;
  lint.dynamic_shared_memory_bytes = 0;
}

// The occupancy of a known block, or else a bound from what is known.
void SetOccupancy(LintSubject& subject, KernelLint& lint) {
  if (!subject.limits || !lint.registers_per_thread) return;
  if (!lint.threads_per_block) {
    lint.occupancy_limit_ratio = OccupancyByRegisters(*subject.limits, *lint.registers_per_thread);
    return;
  }
  subject.launch.block = {*lint.threads_per_block, 1, 1};
  subject.launch.grid = {1, 1, 1};
  subject.launch.registers_per_thread = *lint.registers_per_thread;
  subject.launch.static_shared_memory_bytes = lint.static_shared_memory_bytes;
  subject.launch.dynamic_shared_memory_bytes = lint.dynamic_shared_memory_bytes.value_or(0);
  const auto occupancy = TheoreticalOccupancy(*subject.limits, subject.launch);
  if (lint.dynamic_shared_memory_bytes) {
    lint.occupancy = occupancy;
  } else if (occupancy) {
    lint.occupancy_limit_ratio = occupancy->theoretical_ratio;
  }
}

}  // namespace

KernelLint Lint(const KernelCode& kernel, const LintOptions& options) {
  KernelLint lint;
  lint.file = kernel.file;
  lint.architecture = kernel.architecture;
  lint.symbol = kernel.function.name;
  lint.name = Demangle(kernel.function.name.c_str());
  lint.code_hash = kernel.code_hash;
  lint.code_bytes = kernel.code_bytes;
  lint.has_line_information = kernel.has_line_information;
  lint.registers_per_thread = kernel.registers_per_thread;
  lint.stack_frame_bytes = kernel.stack_frame_bytes;
  lint.externals = kernel.externals;
  SetThreads(kernel, options, lint);
  SetSharedMemory(kernel, options, lint);

  LintSubject subject{kernel, lint, {}, SmLimits(kernel.sm), {}};
  SetOccupancy(subject, lint);

  ChosenPhases chosen = ChoosePhases({&kernel.function}, options.phase_map, options.phase_source, /*sampling=*/nullptr,
                                     /*counting=*/nullptr);
  subject.code = ReadLintCode(kernel.function, std::move(chosen.functions.front().phases));
  lint.unknown_branches = subject.code.flow.unknown_branches;
  lint.spills = subject.code.spills;
  lint.arrays = subject.code.arrays;
  lint.attribution = std::move(chosen.attribution);
  lint.inference = std::move(chosen.inference);
  lint.phases = CountByPhase(kernel.function, subject.code);
  lint.findings = FindInCode(subject);
  return lint;
}

}  // namespace fa_profile::analyze
