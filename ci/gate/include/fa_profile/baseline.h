#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile {

/// Version of a baseline file. A reader takes its own version and older ones.
inline constexpr int kBaselineVersion = 1;

/// How a baseline came to be: who asked for it, why, from what, and a hash over everything in the file but itself.
struct Receipt {
  std::string promoted_at;  ///< UTC, ISO 8601
  std::string promoted_by;  ///< "Name <mail>" as git has it; may be empty
  std::string reason;
  std::string commit;                ///< of the code that was measured
  std::vector<std::string> sources;  ///< names and SHA-256 of the recordings and runs it was made from
  std::string previous;              ///< SHA-256 of the baseline it replaces; empty: the first of its lineage
  std::string sha256;                ///< of the content, 64 hexadecimal digits
};

/// A promoted profile: raw samples of many processes of one build in one environment.
struct PromotedBaseline {
  std::string suite;    ///< "ladder"
  std::string lineage;  ///< LineageOf(): between two of them nothing is compared
  Receipt receipt;
  Evidence evidence;
};

/// GPU model, driver branch, CUDA runtime and highest SM clock: what makes two measurements comparable, as a name for a
/// file: "nvidia-h200_580_cuda-13.0_1980MHz". What is not known is "unknown".
std::string LineageOf(const Environment& environment);
/// "nvidia-h200": the folder of a GPU model; [a-z0-9.-], at most 64 of them. Throws Error when nothing is left of it.
std::string GpuFolder(const std::string& gpu_name);

/// 1 to 64 of a-z, 0-9, _ and -: a suite is a file's name.
bool IsSuiteName(const std::string& suite);

/// With receipt.sha256 made anew, whatever it was. ToJson(ParseBaseline(x)) == x for what it wrote.
std::string ToJson(const PromotedBaseline& baseline);

/// Hostile input: throws Error that names what is wrong and the cure for a file that is no baseline, of a newer tool,
/// damaged or edited by hand (the hash differs).
PromotedBaseline ParseBaseline(const std::string& text, const std::string& name);

/// Makes a baseline of evidence; receipt.sources is left to the caller. `previous`: what stands in its place now; of
/// the same lineage it becomes receipt.previous. Throws Error, with the cure, when it is not fit: a kernel that is not
/// correct or (but for kReferenceKernel) not verified, a case with a duration from fewer than `least_processes`
/// processes of one kind, a throttled process, no reason, losses, no GPU's name.
PromotedBaseline Promote(Evidence evidence, const std::string& suite, const std::string& reason,
                         const std::string& promoted_by, const std::string& promoted_at,
                         const std::optional<PromotedBaseline>& previous, int least_processes = 8);

}  // namespace fa_profile
