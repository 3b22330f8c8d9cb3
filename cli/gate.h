#pragma once

#include <string>
#include <vector>

#include "commands.h"
#include "fa_profile/evidence.h"
#include "fa_profile/gate_outputs.h"
#include "fa_profile/gate_pair.h"
#include "fa_profile/static_evidence.h"

namespace fa_profile {

/// What fa-profile gate was asked for, as parsed. What is compared is exactly one of: baseline and candidate, pair,
/// statics, replay; or measure alone.
struct GateOptions {
  std::vector<std::string> baseline;   ///< recordings, evidence or a promoted baseline; empty: the promoted one
  std::vector<std::string> candidate;  ///< recordings or evidence
  std::vector<std::string> pair;       ///< two builds
  std::vector<std::string> statics;    ///< a build, or a base (a build, evidence or a baseline) and a build
  std::string replay;                  ///< a run of pairs that was saved
  std::string measure;                 ///< a build of which processes are measured and saved
  std::string baselines;               ///< folder of promoted baselines
  std::string suite = "ladder";
  std::string thresholds;  ///< empty: ci/thresholds.yaml where there is one, else the defaults
  bool explain = false;
  bool strict = false;
  const Format* format = nullptr;
  std::string save;
  int processes = 20;  ///< of --measure: timing processes
  int recordings = 2;  ///< of --measure: recording processes
  PairOptions run;     ///< how a pair, or --measure, is measured
  StaticOptions base_static, head_static;
  std::string today;  ///< UTC date; empty: now
  GateOutputs outputs;
};

/// Judges, prints, and writes the reports. Returns the exit code of the verdict; throws Error when there can be none.
int RunGate(GateOptions options);

}  // namespace fa_profile
