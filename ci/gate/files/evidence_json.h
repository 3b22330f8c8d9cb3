#pragma once

#include <cstddef>
#include <string>

#include "fa_profile/evidence.h"
#include "fa_profile/strict_json.h"

namespace fa_profile {

/// Limits of evidence (docs/baselines.md).
inline constexpr std::size_t kMostCases = 5000;
inline constexpr std::size_t kMostProcesses = 10000;
inline constexpr std::size_t kMostColumns = 1000;
inline constexpr std::size_t kMostLines = 10000;   ///< losses, warnings, findings, functions, launches of a case
inline constexpr std::size_t kLongestPhase = 128;  ///< bytes: it is kept once for every value
inline constexpr std::size_t kLongestMetric = 64;
inline constexpr int kMostPairNumber = 1'000'000;

/// The value of `document`, evidence as ToJson() writes it. Throws Error.
Evidence ReadEvidence(const JsonNode& document);

/// "" for what can be a column; otherwise what is wrong with it.
std::string WhyNoColumn(const MetricKey& key);

/// "" for what can be the value of this column; otherwise what is wrong with it.
std::string WhyNoValue(const MetricKey& key, double value);

/// A number as evidence keeps it: whole ones exact, others to 7 significant digits. Finite.
double Rounded(double value);

}  // namespace fa_profile
