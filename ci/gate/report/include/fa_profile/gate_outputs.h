#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fa_profile/gate.h"

namespace fa_profile::gate {

/// Where a result is written in addition to the terminal. Empty: nowhere. "-": stdout.
struct GateOutputs {
  std::string markdown, sarif, junit, json, html;
  std::string textfile;                                           ///< *.prom
  std::function<std::string(const GateResult&)> render_textfile;  ///< Prometheus's text format; needed with `textfile`
  std::function<std::string(const GateResult&)> render_html;      ///< a page for a browser; needed with `html`
  bool summary = false;  ///< append the Markdown to the file that $GITHUB_STEP_SUMMARY names
  /// Workflow commands on stdout; implied if $GITHUB_ACTIONS is "true" and no report goes to stdout.
  bool annotations = false;
  std::string error_rate;  ///< for GateMarkdown()
  /// File that another function writes and reads: no report may go to it.
  std::string save;
  std::vector<std::string> inputs;

  /// Whether a report goes to stdout, where nothing else may be printed then.
  bool TakeStdout() const;
};

/// Writes all reports. Either all files are replaced or none: each is written next to its target, then all are renamed,
/// which replaces a symbolic link instead of following it. Throws Error that names a file that cannot be written.
void WriteGateOutputs(const GateResult& result, const GateOutputs& outputs);

/// Throws Error for outputs that WriteGateOutputs() could not write: a textfile not named *.prom, a summary without
/// $GITHUB_STEP_SUMMARY, a path that CheckReportFiles() refuses. Call it before minutes of measuring.
void CheckGateOutputs(const GateOutputs& outputs);

}  // namespace fa_profile::gate
