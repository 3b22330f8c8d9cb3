#pragma once

#include <string>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// The measurements of a run of pairs (docs/gate-reference.md). It can be saved and judged again.
struct PairRun {
  Evidence base;
  Evidence candidate;
  Evidence control;           ///< the base once more, with each pair; no processes: nothing was timed
  bool second_stage = false;  ///< suspects were measured again
};

/// JSON: {"version": 1, "second_stage": ..., "base": evidence, "candidate": ..., "control": ...}.
std::string PairRunToJson(const PairRun& run);

/// Reads what PairRunToJson() wrote. Hostile input: throws Error for anything else, like EvidenceFromJson().
PairRun PairRunFromJson(const std::string& text, const std::string& name);

}  // namespace fa_profile::gate
