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
  /// For a program: paths of NVTX ranges that get their own blocks, with their kernels and findings.
  std::set<std::string> nvtx_ranges = {};
  bool ascii = false;       ///< for a locale that is not UTF-8: everything else is printed as \u{...}
  Bars bars = Bars::kNone;  ///< next to the phases' shares, and as sparklines: only for a terminal, or on request
};

/// The terminal report: GPU, driver and date; one summary table per shape; per kernel its findings, launches,
/// occupancy, stalls, phases and metrics; what is missing. For a watched program first what matters, in at most ten
/// lines, then tables of its kernels, memory operations and NVTX ranges; blocks only for kernels with counters or
/// findings, most time first. Strings from a recording are printed with control characters, invisible characters and
/// invalid UTF-8 escaped. An absent value reads "n/a".
void WriteTextReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// docs/report.schema.json describes it. Absent values are null. Invalid UTF-8 becomes U+FFFD.
void WriteJsonReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// JSON lines, described by docs/jsonl.schema.json: the recording; per kernel its facts and its findings, weightiest
/// first; what was not measured. Absent values are null. Invalid UTF-8 becomes U+FFFD.
void WriteJsonLinesReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// One row per entry and metric: kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters,metric,value,unit,phase.
/// RFC 4180. A verified entry also has a row `correct` with 1 or 0 (unit "bool"). `phase` names the phase in rows for
/// metrics of the phase catalogue. Absent fields are empty. For a watched program also: rows for each launch class
/// (`launches`, `graph_launches`, `kernel_time_seconds`, `kernel_time_share_ratio`, `max_seconds`, `p95_seconds`); with
/// an empty kernel, rows for the program (`watched_seconds`, `gpu_busy_ratio`, ...), for each kind of memory operation
/// (`memory_...`, the kind as `part`), and for each NVTX range (`nvtx_...`, its path as `part`).
void WriteCsvReport(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// Changed metrics, worst first within an entry, and the number of unchanged ones.
void WriteTextDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options = {});
/// docs/report.schema.json, definition `diff`, describes it.
void WriteJsonDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options = {});

/// JSON lines (docs/jsonl.schema.json): a summary; each metric and wait that is not the same, each new or gone finding,
/// and what was not compared.
void WriteJsonLinesDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                        const ReportOptions& options = {});

/// Output of `watch` for its first measurement: for each call its correctness, time, phases and weightiest finding.
void WriteTextMeasured(std::ostream& out, const Profile& profile, const ReportOptions& options = {});

/// Output of `watch` for a later one: calls that are not correct first, then for each call a table of its values,
/// before and after; a value that `diff` calls the same is not shown as changed. `same_code`: by CallName(), whether a
/// call's machine code and launches are unchanged; unknown for calls that are not in it.
void WriteTextMoved(std::ostream& out, const ProfileDiff& diff, const std::map<std::string, bool>& same_code,
                    const Profile& before, const Profile& after, const ReportOptions& options = {});

/// Recordings of one program: what each GPU did, then kernels and NVTX ranges with their spread between recordings.
void WriteTextRanks(std::ostream& out, const RankReport& report, const ReportOptions& options = {});
/// docs/report.schema.json, definition `ranks`, describes it.
void WriteJsonRanks(std::ostream& out, const RankReport& report, const ReportOptions& options = {});

}  // namespace fa_profile::exporters
