#pragma once

#include <cstddef>
#include <string>

#include "fa_profile/judge_release.h"

/// The comparison of two releases in each output format. The same result gives the same bytes. All names in a result
/// are hostile; each format escapes them.
namespace fa_profile::gate {

inline constexpr std::size_t kReleaseRows = 20;

/// For a terminal: the verdict, kernels by architecture, then the worst `rows` of those that are not the same; 0: all.
std::string ReleaseText(const ReleaseResult& result, std::size_t rows = kReleaseRows);

/// The same for a pull request or a job summary, at most 65,536 bytes.
std::string ReleaseMarkdown(const ReleaseResult& result, std::size_t rows = kReleaseRows);

/// docs/release-check.schema.json, with every row. ASCII.
std::string ReleaseResultJson(const ReleaseResult& result);

}  // namespace fa_profile::gate
