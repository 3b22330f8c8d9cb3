#include "fa_profile/gate_outputs.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/output_path.h"

namespace fa_profile::gate {

bool GateOutputs::TakeStdout() const {
  return markdown == "-" || sarif == "-" || junit == "-" || json == "-" || html == "-" || textfile == "-";
}

void CheckGateOutputs(const GateOutputs& outputs) {
  const std::vector<OutputFile> files = {{"--markdown", outputs.markdown}, {"--sarif", outputs.sarif},
                                         {"--junit", outputs.junit},       {"--json", outputs.json},
                                         {"--html", outputs.html},         {"--textfile", outputs.textfile},
                                         {"--save", outputs.save}};
  std::string first;
  for (const auto& [option, path] : files) {
    if (path != "-" || option == "--save") continue;
    if (!first.empty()) {
      throw Error(first + " and " + option + " are both -, and stdout takes one report", "write all but one to files");
    }
    first = option;
  }
  if (!outputs.textfile.empty() && outputs.textfile != "-" && !outputs.textfile.ends_with(".prom")) {
    throw Error(outputs.textfile + " does not end in .prom: node_exporter would not read it",
                "use --textfile NAME.prom");
  }
  const char* const summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (outputs.summary && (summary == nullptr || *summary == '\0')) {
    throw Error("--summary needs GITHUB_STEP_SUMMARY, which is not set",
                "use it in a step of GitHub Actions; elsewhere use --markdown FILE");
  }
  if (outputs.save == "-") CheckOutputPath(outputs.save);  // the others go to stdout
  CheckReportFiles(files, outputs.inputs);
}

void WriteGateOutputs(const GateResult& result, const GateOutputs& outputs) {
  CheckGateOutputs(outputs);
  std::vector<PendingFile> files;
  const auto put = [&](const std::string& path, const auto& render) {
    if (path.empty()) return;
    if (path == "-") {
      std::cout << render();
    } else {
      files.emplace_back(path, render());
    }
  };
  put(outputs.markdown, [&] { return GateMarkdown(result, outputs.error_rate); });
  put(outputs.sarif, [&] { return GateSarif(result); });
  put(outputs.junit, [&] { return GateJunit(result); });
  put(outputs.json, [&] { return GateJson(result); });
  put(outputs.html, [&] { return outputs.render_html(result); });
  put(outputs.textfile, [&] { return outputs.render_textfile(result); });
  for (PendingFile& file : files) file.PutInPlace();
  if (outputs.summary) {
    const std::string summary = std::getenv("GITHUB_STEP_SUMMARY");
    std::ofstream file(summary, std::ios::binary | std::ios::app);
    if (!(file << GateMarkdown(result, outputs.error_rate) << '\n') || !file.flush()) {
      throw Error(summary + " cannot be written", "check what GITHUB_STEP_SUMMARY names");
    }
  }
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  const bool on_github = actions != nullptr && std::string(actions) == "true";
  if (outputs.annotations || (on_github && !outputs.TakeStdout())) {  // they would break a report on stdout
    std::cout << GateAnnotations(result) << std::flush;
  }
}

}  // namespace fa_profile::gate
