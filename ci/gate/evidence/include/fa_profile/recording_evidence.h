#pragma once

#include <string>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// What a recording says, as the gate's evidence: one process of kind "recording" (docs/gate-evidence.md). Files of
/// source are named relative to `repository` where they lie under it or a checkout of it elsewhere; empty: as they are.
/// `recording` needs its functions and samples, and for code facts its cubins.
Evidence EvidenceOf(const Recording& recording, const Profile& profile, const std::string& origin,
                    const std::string& repository = "");

/// Reads files of one build and one environment, each a recording, evidence (.json) or a promoted baseline (.json), and
/// makes one of them: cases united, processes in the files' order. Throws Error for none, for files of two environments
/// and for files of two builds.
Evidence LoadEvidence(const std::vector<std::string>& files);

/// The same of evidence already read. Throws Error as above.
Evidence MergeEvidence(std::vector<Evidence> pieces);

}  // namespace fa_profile
