#pragma once

#include <string>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::gate {

/// A recording as evidence: one process of kind "recording" (docs/gate-evidence.md). Source files below `repository`,
/// or a checkout of it elsewhere, get relative names; empty: names stay. `recording` needs its functions and samples,
/// and its cubins for code facts.
Evidence EvidenceOf(const Recording& recording, const Profile& profile, const std::string& origin,
                    const std::string& repository = "");

/// Reads files of one build and one environment, each a recording, evidence (.json) or a promoted baseline (.json), and
/// merges them; processes keep the files' order. Throws Error without files, and for two environments or two builds.
Evidence LoadEvidence(const std::vector<std::string>& files);

/// Merges evidence that was read. Throws Error as above.
Evidence MergeEvidence(std::vector<Evidence> pieces);

}  // namespace fa_profile::gate
