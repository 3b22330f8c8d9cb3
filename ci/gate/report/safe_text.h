#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/gate_report.h"
#include "fa_profile/text.h"

/// Shared by the formats: values in readable form, and the order of rows.
namespace fa_profile::gate {

/// "5.86 us", "31.0 %", "1,310,720"; "-" if absent. `unit` as in the catalogue.
std::string ShownValue(const std::optional<double>& value, std::string_view unit);

/// "+11.8 %"; "+3.2 points" for shares of time; "-" if absent.
std::string ShownChange(const Comparison& comparison);
/// "+11.2 to +12.4 %"; an end that is not finite is "?"; empty if absent.
std::string ShownInterval(const Comparison& comparison);
/// The p that decided: Holm's if there is one; "-" if absent.
std::string ShownP(const Comparison& comparison);

/// "static", "counters", "paired" ("times" in a design without pairs), "budget".
std::string TierName(int tier, const std::string& design);
/// "duration": the catalogue's label, or the id.
std::string MetricLabel(const std::string& metric);
/// "duration", "time share of softmax".
std::string MetricTitle(const Comparison& comparison);
/// "5.86 us -> 6.55 us, +11.8 %".
std::string ShownNumbers(const Comparison& comparison);
/// "REGRESSION", or, if it does not block, "warning"; "INCONCLUSIVE, not blocking".
std::string VerdictText(const Comparison& comparison);

/// "error" for a REGRESSION that blocks, "warning" for one that does not, else "note".
const char* Level(Verdict verdict, bool blocking);

/// Neither PASS nor IMPROVED.
bool IsBad(Verdict verdict);

struct RankedComparison {
  const CaseVerdict* of;
  const Comparison* comparison;
};

/// Every comparison except a plain PASS: blocking ones first, then by verdict, then as in the result.
std::vector<RankedComparison> WorstFirst(const GateResult& result);

/// `place` if it names a line of a file inside the repository: a relative path without "..", drive or control
/// character.
std::optional<SourcePlace> PlaceInside(const std::optional<SourcePlace>& place);

}  // namespace fa_profile::gate
