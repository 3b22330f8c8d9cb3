#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// Version of a baseline file. A reader takes its own version and older ones.
inline constexpr int kBaselineVersion = 1;

/// Size limit of evidence or a baseline, in bytes.
inline constexpr std::size_t kLargestEvidence = std::size_t{64} << 20U;

/// Who made a baseline, why, from what, and a hash of the whole file except the hash itself.
struct Receipt {
  std::string promoted_at;  ///< UTC, ISO 8601
  std::string promoted_by;  ///< "Name <mail>" from git's configuration; may be empty
  std::string reason;
  std::string commit;                ///< commit of the measured code
  std::vector<std::string> sources;  ///< name and SHA-256 of each file it was made from
  std::string previous;              ///< sha256 of the baseline it replaces; empty: it is the first of its lineage
  std::string sha256;                ///< hash of the content, 64 hexadecimal digits
};

/// A promoted measurement: raw samples of many processes of one build in one environment.
struct PromotedBaseline {
  std::string suite;    ///< "ladder"
  std::string lineage;  ///< LineageOf(); baselines of different lineages are not compared
  Receipt receipt;
  Evidence evidence;
};

/// GPU model, driver branch, CUDA runtime and highest SM clock, as a file name: "nvidia-h200_580_cuda-13.0_1980MHz".
/// Measurements of one lineage can be compared. Unknown parts are "unknown".
std::string LineageOf(const Environment& environment);
/// "nvidia-h200": the folder of a GPU model; at most 64 of [a-z0-9.-]. Throws Error when the name is empty.
std::string GpuFolder(const std::string& gpu_name);

/// 1 to 64 of a-z, 0-9, _ and -: a suite is part of a file name.
bool IsSuiteName(const std::string& suite);
/// Throws Error unless it is one.
void RequireSuiteName(const std::string& suite);

/// Computes receipt.sha256, ignoring its old value. ToJson(ParseBaseline(x)) == x for text that it wrote.
std::string ToJson(const PromotedBaseline& baseline);

/// Hostile input: throws Error, with the cure, for a file that is not a baseline, was written by a newer tool, is
/// damaged or was edited by hand (the hash differs).
PromotedBaseline ParseBaseline(const std::string& text, const std::string& name);

/// Whether JSON is a baseline rather than evidence: it has a receipt.
bool IsBaselineText(const std::string& text);

/// Makes a baseline from evidence; the caller adds receipt.sources. `previous`: the current baseline; if it is of the
/// same lineage, it becomes receipt.previous. Throws Error, with the cure, for evidence with a kernel that is not
/// correct or (except kReferenceKernel) not verified, with a case that has durations from fewer than `least_processes`
/// processes of one kind, with a throttled process, with losses, without a GPU's name; and for an empty reason.
PromotedBaseline Promote(Evidence evidence, const std::string& suite, const std::string& reason,
                         const std::string& promoted_by, const std::string& promoted_at,
                         const std::optional<PromotedBaseline>& previous, int least_processes = 8);

}  // namespace fa_profile::gate
