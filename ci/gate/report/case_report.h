#pragma once

#include <string>
#include <vector>

#include "fa_profile/gate.h"

/// What the formats for people say about a case, and in which order: time first, then what explains it, then the rest.
namespace fa_profile::gate {

/// A line that explains a verdict.
struct ReportLine {
  std::string text;
  std::string rule;   ///< file and line of the limit; empty: none
  bool cure = false;  ///< what to do about the line before
};

struct CaseReport {
  const Comparison* time = nullptr;       ///< duration of the whole call; null: not measured
  const Comparison* cycles = nullptr;     ///< the same in cycles
  std::vector<ReportLine> lines;          ///< none repeats the headline
  std::vector<const Comparison*> others;  ///< all but plain PASSes, times, and those in `lines`; worst first
};

CaseReport ReportOf(const CaseVerdict& of);

/// What decided a REGRESSION.
struct Blockers {
  std::vector<std::string> lines;  ///< "mma 1,8,512,64: duration 5.86 us -> 6.55 us, +11.8 %; allowed: 2 %"
  std::size_t more = 0;            ///< left out
};

/// Worst cases first, in each case time first. For other verdicts: none.
Blockers BlockersOf(const GateResult& result);

/// What helps against a finding, one line; empty: unknown.
std::string CureOf(const CaseFinding& finding);

/// `why` and the findings, one line each, for formats without a place for cures.
std::vector<std::string> WhyAndFindings(const CaseVerdict& of);

/// "the baseline against itself: 0 of 67 judged worse; equal machine code: 1 of 67"
std::string ControlCounts(const ControlResult& control);

/// The reason of a comparison; empty if it says only the numbers, which every format shows next to it.
std::string OwnReason(const Comparison& comparison);

}  // namespace fa_profile::gate
