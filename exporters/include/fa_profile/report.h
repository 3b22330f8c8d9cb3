#pragma once

#include <iosfwd>
#include <map>
#include <set>
#include <string>

#include "fa_profile/bars.h"
#include "fa_profile/profile.h"
#include "fa_profile/profile_diff.h"
#include "fa_profile/rank_report.h"

namespace fa_profile::exporters {

struct ReportOptions {
  int width = 100;      ///< columns; no line is longer. At least 40
  bool color = false;   ///< ANSI colours: only for a terminal
  bool details = true;  ///< per-kernel blocks after the summary table
  /// Of a program: paths of NVTX ranges that get a block of their own, with their kernels and findings.
  std::set<std::string> nvtx_ranges = {};
  bool ascii = false;       ///< for a locale that is not UTF-8: everything else is printed as \u{...}
  Bars bars = Bars::kNone;  ///< next to the phases' shares, and sparklines: only for a terminal, or where asked for
};

/// The terminal report: which GPU, driver and date; one summary table per shape; per kernel its findings, launches,
/// occupancy, stalls, phases and metrics; what is missing. Of a watched program first what matters, in at most ten
/// lines, then tables of its kernels, memory operations and NVTX ranges; blocks only for kernels with counters or
/// findings, most time first. Strings from a recording are printed with control
/// characters, invisible characters and invalid UTF-8 escaped. An absent value reads "n/a".
void WriteTextReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// docs/report.schema.json describes it. Absent values are null. Invalid UTF-8 becomes U+FFFD.
void WriteJsonReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// One row per entry and metric: kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters,metric,value,unit,phase.
/// RFC 4180. A verified entry also has a row `correct` of 1 or 0 (unit "bool"). `phase` names the phase in the rows of
/// the phase catalogue's metrics. Fields that are absent are empty. Of a watched program also: rows of each launch
/// class
/// (`launches`, `graph_launches`, `kernel_time_seconds`, `kernel_time_share_ratio`, `max_seconds`, `p95_seconds`); with
/// an empty kernel, rows of the program (`watched_seconds`, `gpu_busy_ratio`, ...), of each kind of memory operation
/// (`memory_...`, the kind as `part`), and of each NVTX range (`nvtx_...`, its path as `part`).
void WriteCsvReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// Changed metrics, worst first within an entry, and the number of unchanged ones.
void WriteTextDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options = {});
/// docs/report.schema.json, definition `diff`, describes it.
void WriteJsonDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options = {});

/// What `watch` prints of its first measurement: of each call its correctness, time, phases and weightiest finding.
void WriteTextMeasured(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// What `watch` prints of a later one: calls that are not correct first, then of each call a table of what it shows,
/// before and after; a value that `diff` calls the same is not called a movement. `same_code`: by CallName(), whether
/// the machine code and the launches of a call are those of before. A call that is not there is not known.
void WriteTextMoved(std::ostream& out, const ProfileDiff& diff, const std::map<std::string, bool>& same_code,
                    const Profile& before, const Profile& after, const ReportOptions& options = {});

/// Recordings of one program: what each GPU did, then kernels and NVTX ranges with their spread between recordings.
void WriteTextRanks(std::ostream& out, const RankReport& report, const ReportOptions& options = {});
/// docs/report.schema.json, definition `ranks`, describes it.
void WriteJsonRanks(std::ostream& out, const RankReport& report, const ReportOptions& options = {});

}  // namespace fa_profile::exporters
