#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// Columns of a kernel's name where it wraps.
inline constexpr std::size_t kLongestWrappedKernel = 120;

/// At most fifteen lines (at 100 columns) for a reader who sees no more: what ran, how busy the GPU was, which kernels
/// took the time and why, what memory operations took, and where NVTX ranges point. `profile` has a program.
void WriteProgramSummary(TextPage& page, const Profile& profile);

/// Kernels, memory operations and NVTX ranges, a table each; what took less than a thousandth is folded into a line,
/// and so are rows after the first ten without `details`. `profile` has a program.
void WriteProgramTables(TextPage& page, const Profile& profile, bool details);

/// A block for each NVTX range of `paths`: its kernels, and what was found in them. `profile` has a program.
void WriteNvtxBlocks(TextPage& page, const Profile& profile, const std::set<std::string>& paths);

std::string UseTime(std::int64_t ns);
std::string UseCount(std::int64_t count);
std::string UseShare(const std::optional<double>& ratio);
/// What is known of the reason for a kernel's time: "DRAM 71 % of peak: near its roof; softmax 45 %; bank-conflicts";
/// `brief`: "bound by memory; softmax 45 %; bank-conflicts".
std::string WhyText(const TextPage& page, const ProfileEntry& entry, bool brief = false);

/// "cublas", of a part "cublas/qk".
std::string NameOf(const ProfileEntry& entry);

/// What a report shows of kernels: in recording order; of a watched program first, and most time first, the classes
/// that have counters or a finding.
std::vector<const ProfileEntry*> ShownEntries(const Profile& profile);

/// Whether more is known of an entry than how often a watched program launched it, and when.
bool IsMeasured(const Profile& profile, const ProfileEntry& entry);

}  // namespace fa_profile::exporters
