#include "fa_profile/gate_outputs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/files.h"

namespace fa_profile {
void CheckGateOutputs(const GateOutputs& outputs) {
  if (!outputs.textfile.empty() && outputs.textfile != "-" && !outputs.textfile.ends_with(".prom")) {
    throw Error(outputs.textfile + " does not end in .prom, and node_exporter reads no other file",
                "write --textfile NAME.prom");
  }
  const char* const summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (outputs.summary && (summary == nullptr || *summary == '\0')) {
    throw Error("--summary has nowhere to write to: GITHUB_STEP_SUMMARY is not set",
                "it is set in a step of GitHub Actions; elsewhere write --markdown FILE");
  }
  for (const std::string* const path :
       {&outputs.markdown, &outputs.sarif, &outputs.junit, &outputs.json, &outputs.textfile}) {
    const std::filesystem::path folder = std::filesystem::path(*path).parent_path();
    if (folder.empty() || std::filesystem::is_directory(folder)) continue;
    throw Error(*path + " cannot be written: there is no folder " + folder.string(), "make it, or name another");
  }
}

void WriteGateOutputs(const GateResult& result, const GateOutputs& outputs) {
  CheckGateOutputs(outputs);
  std::vector<PendingFile> files;
  bool report_on_stdout = false;
  const auto put = [&](const std::string& path, const auto& render) {
    if (path.empty()) return;
    if (path == "-") {
      std::cout << render();
      report_on_stdout = true;
    } else {
      files.emplace_back(path, render());
    }
  };
  put(outputs.markdown, [&] { return GateMarkdown(result, outputs.error_rate); });
  put(outputs.sarif, [&] { return GateSarif(result); });
  put(outputs.junit, [&] { return GateJunit(result); });
  put(outputs.json, [&] { return GateJson(result); });
  put(outputs.textfile, [&] { return outputs.render_textfile(result); });
  for (PendingFile& file : files) file.PutInPlace();
  if (outputs.summary) {
    const std::string summary = std::getenv("GITHUB_STEP_SUMMARY");
    std::ofstream file(summary, std::ios::binary | std::ios::app);
    if (!(file << GateMarkdown(result, outputs.error_rate) << '\n') || !file.flush()) {
      throw Error(summary + " cannot be written", "it is what GITHUB_STEP_SUMMARY names");
    }
  }
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  const bool on_github = actions != nullptr && std::string(actions) == "true";
  if (outputs.annotations || (on_github && !report_on_stdout)) {  // whose reader would trip over them
    std::cout << GateAnnotations(result) << std::flush;
  }
}

}  // namespace fa_profile
