#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// Columns for a kernel's name where it wraps.
inline constexpr std::size_t kLongestWrappedKernel = 120;

/// At most fifteen lines (at 100 columns) for readers who look no further: what ran, how busy the GPU was, which
/// kernels took the time and why, what memory operations took, and where NVTX ranges point, if `all_ranges` are there.
/// `profile` has a program.
void WriteProgramSummary(TextPage& page, const Profile& profile, bool all_ranges);

/// Kernels, memory operations and NVTX ranges, a table each; whatever took less than a thousandth is folded into a
/// line, and so are rows after the first ten without `details`. `profile` has a program.
void WriteProgramTables(TextPage& page, const Profile& profile, bool details);

/// A block for each NVTX range in `paths`: its kernels, and the findings about them. `profile` has a program.
void WriteNvtxBlocks(TextPage& page, const Profile& profile, const std::set<std::string>& paths);

std::string UseTime(std::int64_t ns);
std::string UseCount(std::int64_t count);
std::string UseShare(const std::optional<double>& ratio);
/// What is known of the reason for a kernel's time: "DRAM 71 % of peak: the nearest limit; softmax 45 %;
/// bank-conflicts"; `brief`: "bound by memory; softmax 45 %; bank-conflicts".
std::string WhyText(const TextPage& page, const ProfileEntry& entry, bool brief = false);

/// "cublas", for a part "cublas/qk".
std::string NameOf(const ProfileEntry& entry);

/// The kernels in a report: in recording order; for a watched program first the classes with counters or a finding,
/// most time first.
std::vector<const ProfileEntry*> ShownEntries(const Profile& profile);

/// Whether more is known about an entry than how often a watched program launched it, and when.
bool IsMeasured(const Profile& profile, const ProfileEntry& entry);

}  // namespace fa_profile::exporters
