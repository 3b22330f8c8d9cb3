#pragma once

#include <string>

#include "fa_profile/analyze_history.h"

namespace fa_profile::gate {

std::string HistoryText(const HistoryReport& report);

/// JSON, format "fa-profile gate history" (docs/gate-reference.md).
std::string HistoryJson(const HistoryReport& report);

/// A picture in one file, in light and dark: the duration of each case on each card, its change points and drifts. At
/// most 60 panels: those with change points first.
std::string HistorySvg(const HistoryReport& report);

}  // namespace fa_profile::gate
