#pragma once

#include <cstddef>
#include <string>

#include "fa_profile/evidence.h"
#include "fa_profile/strict_json.h"

namespace fa_profile::gate {

/// Limits of evidence (docs/gate-reference.md).
inline constexpr std::size_t kMostCases = 5000;
inline constexpr std::size_t kMostProcesses = 10000;
inline constexpr std::size_t kMostColumns = 1000;
inline constexpr std::size_t kMostLines = 10000;   ///< losses, warnings, findings, functions, launches of a case
inline constexpr std::size_t kLongestPhase = 128;  ///< bytes: each value stores it
inline constexpr std::size_t kLongestMetric = 64;
inline constexpr int kMostPairNumber = 1'000'000;

/// Throws Error unless the text has this many hexadecimal digits, in lower case.
void RequireHexDigits(const JsonNode& node, std::size_t count);

/// Reads `document`, evidence as written by ToJson(). Throws Error.
Evidence ReadEvidence(const JsonNode& document);

}  // namespace fa_profile::gate
