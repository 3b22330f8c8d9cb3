#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/baseline_files.h"
#include "fa_profile/gate.h"
#include "fa_profile/gate_pair.h"
#include "fa_profile/static_evidence.h"

namespace fa_profile::gate {

/// A repository's file of limits.
inline constexpr const char* kDefaultThresholds = "ci/thresholds.yaml";
inline constexpr const char* kNoThresholds = "none";

/// The request to fa-profile gate. Exactly one of candidate, pair, statics, replay and measure is given.
struct GateOptions {
  std::vector<std::string> candidate;  ///< recordings or evidence, compared with `baseline`
  std::vector<std::string> baseline;   ///< recordings, evidence or a promoted baseline; empty: the promoted one
  std::vector<std::string> pair;       ///< two builds, measured
  std::vector<std::string> statics;    ///< a base (a build, evidence or a baseline) and a build
  std::string replay;                  ///< a saved run of pairs
  std::string measure;                 ///< a build to measure and save, not judged
  std::string baselines = kBaselines;  ///< folder of promoted baselines
  std::string suite = "ladder";        ///< suite of the promoted baseline
  std::string thresholds;              ///< file, or kNoThresholds; empty: kDefaultThresholds if it exists
  bool explain = false;                ///< list the limits of each case instead of judging
  std::string save;                    ///< file for the run of pairs, else for the candidate's evidence; empty: none
  int processes = 20;                  ///< timing processes of `measure`
  int recordings = 2;                  ///< recording processes of `measure`
  /// How `pair` and `measure` measure. `today`, `reproduce` and `partial` hold for every verdict.
  PairOptions run;
  StaticOptions base_static, head_static;
  std::string why_no_gpu;  ///< why this process cannot measure; empty: it can
};

struct GateAnswer {
  std::optional<GateResult> result;  ///< absent: nothing was judged
  std::string explanation;           ///< output of `explain`
};

/// Throws Error when `options` contradict each other, before anything is read or measured, and when no verdict is
/// possible.
GateAnswer RunGate(GateOptions options);

/// Makes files of one build (recordings, evidence), from one or several cards of a GPU model, the baseline for their
/// GPU and suite, and returns its path. Throws Error like Promote(), BaselineFolder and LoadEvidence(), and for two
/// files with the same content.
std::string PromoteFiles(const std::vector<std::string>& files, const std::string& baselines, const std::string& suite,
                         const std::string& reason, const std::string& promoted_by);

}  // namespace fa_profile::gate
