#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/gate_report.h"
#include "fa_profile/text.h"

/// What the gate's reports share: text of strangers made harmless, values as a person reads them, and the order of
/// rows.
namespace fa_profile {

/// "5.86 us", "31.0 %", "1,310,720", "-" when absent. `unit` as in the catalogue.
std::string ShownValue(const std::optional<double>& value, std::string_view unit);

/// "+11.8 %"; of shares of time "+3.2 points"; "-" when absent.
std::string ShownChange(const Comparison& comparison);
/// "+11.2 to +12.4 %"; an end that is not finite is "?"; empty when there is none.
std::string ShownInterval(const Comparison& comparison);
/// The p that decided: Holm's when there is one; "-" when absent.
std::string ShownP(const Comparison& comparison);

/// "static", "counters", "paired" ("times" in a design without pairs), "budget".
std::string TierName(int tier, const std::string& design);
/// "duration": the catalogue's label, or the id.
std::string MetricLabel(const std::string& metric);
/// "REGRESSION"; of what does not count for the case "warning", and of what is not told "INCONCLUSIVE, not blocking".
std::string VerdictText(const Comparison& comparison);

/// Neither PASS nor IMPROVED.
bool IsBad(Verdict verdict);

struct RankedComparison {
  const CaseVerdict* of;
  const Comparison* comparison;
};

/// Every comparison that is not a plain PASS: what blocks first, then by verdict, then as in the result.
std::vector<RankedComparison> WorstFirst(const GateResult& result);

/// `place` when it names a line of a file inside the repository: a relative path without "..", drive or control.
std::optional<SourcePlace> PlaceInside(const std::optional<SourcePlace>& place);

}  // namespace fa_profile
