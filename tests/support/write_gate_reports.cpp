/// Writes the gate's reports of sample results to a folder, for gate_formats_test.py to check with the formats' own
/// schemas and tools.
///
///   write_gate_reports FOLDER

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "fa_profile/gate_report.h"
#include "fa_profile/html_report.h"
#include "fa_profile/page.h"
#include "gate_samples.h"

int main(int argc, char** argv) {
  using namespace fa_profile;
  if (argc != 2) return 2;
  std::map<std::string, gate::GateResult> results{
      {"regression", sample::Regression()},     {"passed", sample::Passed()},         {"improved", sample::Improved()},
      {"incomparable", sample::Incomparable()}, {"control", sample::ControlFailed()}, {"static", sample::Static()},
      {"nothing", gate::GateResult{}}};
  int count = 0;
  for (const std::string& text : sample::HostileTexts()) {
    const std::string number = std::to_string(count++);
    results.emplace(std::string("hostile").append(number), sample::WithTexts(sample::Regression(), text));
    results.emplace(std::string("prefixed").append(number),
                    sample::WithTexts(sample::Regression(), std::string("mma ").append(text).append(" end")));
  }
  gate::GateResult large = sample::Regression();
  while (large.cases.size() < 3000) large.cases.push_back(large.cases[large.cases.size() % 6]);
  results.emplace("large", large);
  gate::GateResult beyond = sample::Regression();
  beyond.cases[1].comparisons.front() =
      sample::Paired(sample::Compared("", gate::kDuration, "seconds", 2, 5.86e-6, 5.86e-5, gate::Verdict::kRegression),
                     0.006, 0.00006);
  results.emplace("beyond", beyond);
  for (const auto& [name, result] : results) {
    const auto put = [&](const char* extension, const std::string& text) {
      std::ofstream(std::filesystem::path(argv[1]) / (name + extension), std::ios::binary) << text;
    };
    put(".txt", gate::GateText(result));
    put(".md",
        gate::GateMarkdown(result, name == "passed" ? "" : "0 of 20,000 comparisons of equal code, at most 0.02 %"));
    put(".annotations", gate::GateAnnotations(result));
    put(".sarif", gate::GateSarif(result));
    put(".xml", gate::GateJunit(result));
    put(".json", gate::GateJson(result));
    put(".jsonl", gate::GateJsonLines(result));
    put(".html", exporters::HtmlGate(gate::GateJson(result)));
    put(".prom", prom::GateTextfile(gate::GateStateOf(result)));
  }
}
