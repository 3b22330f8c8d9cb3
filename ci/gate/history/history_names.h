#pragma once

#include <string>

#include "fa_profile/analyze_history.h"

namespace fa_profile::gate {

/// "mma 1,8,512,64".
std::string CaseOf(const HistorySeries& series);
/// "duration", "cycles", "time of softmax", or the catalogue's label.
std::string MetricOf(const HistorySeries& series);
/// "2026-11-21".
std::string DayOf(const Night& night);
/// The first twelve characters; "?": unknown.
std::string ShortCommit(const Night& night);
/// The nights before and after a change point.
const Night& NightBefore(const History& history, const ChangePoint& change);
const Night& NightAfter(const History& history, const ChangePoint& change);
/// What else changed with the commit, "driver 580.1 -> 590.1"; empty: nothing.
std::string OtherChange(const Night& before, const Night& after);

}  // namespace fa_profile::gate
