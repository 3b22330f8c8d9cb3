#pragma once

#include <functional>
#include <string>

#include "fa_profile/gate.h"

namespace fa_profile {

/// Where a result goes besides the terminal. Empty: not there. "-": stdout.
struct GateOutputs {
  std::string markdown, sarif, junit, json;
  std::string textfile;  ///< *.prom
  std::function<std::string(const GateResult&)> render_textfile;  ///< Prometheus's text format; needed with `textfile`
  bool summary = false;  ///< append the Markdown to the file that $GITHUB_STEP_SUMMARY names
  /// Workflow commands on stdout; also without it when $GITHUB_ACTIONS is "true" and no report goes to stdout.
  bool annotations = false;
  std::string error_rate;  ///< of GateMarkdown()
};

/// Writes all that is asked for. Each file is complete or not touched: all are first written beside their targets, and
/// only when that worked renamed, so that a link which somebody put there is replaced and never followed. Throws Error
/// that names the file which cannot be written.
void WriteGateOutputs(const GateResult& result, const GateOutputs& outputs);

/// Throws Error for what WriteGateOutputs() could not write whatever the result: a textfile of another name, a summary
/// that has nowhere to go, a folder that is not there. Before minutes of measuring.
void CheckGateOutputs(const GateOutputs& outputs);

}  // namespace fa_profile
