#pragma once

#include <string>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::gate {

/// A recording as evidence: one process of kind "recording" (docs/gate-reference.md). Source files below `repository`,
/// or a checkout of it elsewhere, get relative names; empty: names stay. `recording` needs its functions and samples,
/// and its cubins for code facts.
Evidence EvidenceOf(const Recording& recording, const Profile& profile, const std::string& origin,
                    const std::string& repository = "");

/// Whether files that are merged may come from several cards of one GPU model.
enum class Cards { kOne, kSeveral };

/// Reads files of one build and one environment, each a recording, evidence (.json) or a promoted baseline (.json), and
/// merges them; processes keep the files' order. If there are several cards, each process names its own. Throws Error
/// without files, and for two environments or two builds.
Evidence LoadEvidence(const std::vector<std::string>& files, Cards cards = Cards::kOne);

/// Merges evidence that is already loaded. Throws Error as above.
Evidence MergeEvidence(std::vector<Evidence> pieces, Cards cards = Cards::kOne);

}  // namespace fa_profile::gate
