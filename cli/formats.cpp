#include "formats.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "fa_profile/gate_report.h"
#include "fa_profile/gate_trials.h"
#include "fa_profile/release_report.h"
#include "fa_profile/usage_errors.h"

namespace fa_profile::cli {

// To add a format: write exporters/NAME.cpp with a writer for each report that the format has, declare the writers in
// exporters/include/fa_profile/{report,code_report,html_report,lint_report,selftest_report,trace_report}.h, and add a
// row here. The choices of every --format, its help and its errors come from the table. CONTRIBUTING.md names the
// tests.
std::span<const Format> Formats() {
  static constexpr Format kFormats[] = {
      {.name = "text",
       .for_people = true,
       .report = exporters::WriteTextReport,
       .diff = exporters::WriteTextDiff,
       .ranks = exporters::WriteTextRanks,
       .instructions = exporters::WriteTextInstructions,
       .source = exporters::WriteTextSource,
       .lint = exporters::WriteTextLint,
       .package = exporters::TextPackageWriter,
       .selftest = exporters::WriteTextSelftest,
       .gate = gate::GateText,
       .release = gate::ReleaseText,
       .gate_selftest = gate::TrialReportText},
      {.name = "json",
       .for_people = false,
       .report = exporters::WriteJsonReport,
       .diff = exporters::WriteJsonDiff,
       .ranks = exporters::WriteJsonRanks,
       .instructions = exporters::WriteJsonInstructions,
       .source = exporters::WriteJsonSource,
       .lint = exporters::WriteJsonLint,
       .package = exporters::JsonPackageWriter,
       .selftest = exporters::WriteJsonSelftest,
       .gate = gate::GateJson,
       .release = [](const gate::ReleaseResult& result, std::size_t) { return gate::ReleaseResultJson(result); },
       .gate_selftest = gate::TrialReportJson},
      {.name = "jsonl",
       .for_people = false,
       .report = exporters::WriteJsonLinesReport,
       .diff = exporters::WriteJsonLinesDiff,
       .lint = exporters::WriteJsonLinesLint,
       .package = exporters::JsonLinesPackageWriter,
       .gate = gate::GateJsonLines},
      {.name = "csv",
       .for_people = false,
       .report = exporters::WriteCsvReport,
       .instructions = exporters::WriteCsvInstructions,
       .source = exporters::WriteCsvSource,
       .lint = exporters::WriteCsvLint,
       .package = exporters::CsvPackageWriter},
      {.name = "perfetto",
       .for_people = false,
       .for_files = true,
       .ending = "pftrace",
       .timeline = exporters::WritePerfetto},
      {.name = "folded", .for_people = false, .gpu_time = exporters::WriteFolded},
      {.name = "speedscope", .for_people = false, .gpu_time = exporters::WriteSpeedscope},
      {.name = "html",
       .for_people = false,
       .for_files = true,
       .report_with_code = exporters::WriteHtmlReport,
       .diff = exporters::WriteHtmlDiff,
       .ranks = exporters::WriteHtmlRanks},
  };
  return kFormats;
}

std::string ListedNames(const std::vector<const Format*>& formats) {
  std::vector<std::string> names;
  for (const Format* const format : formats) names.emplace_back(format->name);
  return help::Listed(names);
}

std::vector<const Format*> ReportFormats() {
  std::vector<const Format*> formats;
  for (const Format& row : Formats()) {
    if (row.report != nullptr || row.report_with_code != nullptr) formats.push_back(&row);
  }
  return formats;
}

void AddFormatOption(CLI::App& command, const Format*& format, const std::vector<const Format*>& choices) {
  format = choices.front();
  std::vector<std::string> names;
  for (const Format* const choice : choices) names.emplace_back(choice->name);
  const auto choose = [&format, choices, names](const std::string& given) {
    format = choices[static_cast<std::size_t>(std::ranges::find(names, given) - names.begin())];
  };
  command.add_option_function<std::string>("--format", choose, help::Listed(names))
      ->transform(help::OneOf(names))
      ->transform(CLI::detail::to_lower)
      ->type_name("FORMAT");
}

void CheckTextOptions(const CLI::App& app, const Format& format) {
  if (format.for_people) return;
  RefuseOptions(app, {"--bars", "--details", "--summary"}, std::string(" has no effect with --format ") + format.name);
}

}  // namespace fa_profile::cli
