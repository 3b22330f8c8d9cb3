#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/analyze_history.h"
#include "fa_profile/files.h"
#include "fa_profile/history_report.h"
#include "fa_profile/notice.h"
#include "fa_profile/output_path.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/sha256.h"
#include "fa_profile/text.h"

namespace fa_profile::cli {

namespace {

struct HistoryArguments {
  std::string file;
  std::vector<std::string> evidence;
  bool replace = false;
  std::string format = "text";
  std::string svg;
  gate::HistoryOptions options;
};

int RunAdd(const HistoryArguments& given) {
  CheckOutputFiles({{"FILE", given.file}}, given.evidence);
  std::vector<gate::MeasuredNight> nights;
  for (const std::string& path : given.evidence) {
    const std::string name = std::filesystem::path(path).filename().string();
    for (gate::MeasuredNight& night : gate::NightsOf(gate::LoadEvidence({path}), name, Sha256OfFile(path))) {
      nights.push_back(std::move(night));
    }
  }
  const gate::AddedNights result = gate::AddNights(given.file, nights, given.replace);
  std::cout << fmt::format("{}: {} night{} added{}\n", Printable(given.file), result.added,
                           result.added == 1 ? "" : "s",
                           result.known > 0 ? fmt::format(", {} there before", result.known) : "");
  return kExitFine;
}

int RunShowHistory(const CLI::App& show, const HistoryArguments& given) {
  CheckReportFiles({{"--svg", given.svg}}, {given.file});
  const bool to_stdout = given.svg == "-";
  if (to_stdout) RefuseOptions(show, {"--format"}, " has no effect: --svg - prints the picture instead");
  const gate::HistoryReport report = gate::AnalyzeHistory(gate::ReadHistory(given.file), given.options);
  if (!given.svg.empty() && !to_stdout) WriteWholeFile(given.svg, gate::HistorySvg(report));
  std::cout << (to_stdout                ? gate::HistorySvg(report)
                : given.format == "json" ? gate::HistoryJson(report)
                                         : gate::HistoryText(report));
  return kExitFine;
}

}  // namespace

void AddGateHistory(CLI::App& gate, Invocation& invocation) {
  const auto arguments = std::make_shared<HistoryArguments>();
  gate::HistoryOptions& options = arguments->options;
  CLI::App& history =
      *gate.add_subcommand("history", "Keep nightly measurements in a file, and show what moved; never blocks");
  history.require_subcommand(1);
  CLI::App& add = *history.add_subcommand("add", "Add measurements to a history, each a night of its card");
  add.add_option("file", arguments->file, "The history, an SQLite file; made if it does not exist")->required();
  add.add_option("evidence", arguments->evidence, "Evidence of gate --measure --save (*.json), and recordings (*.fap)")
      ->required();
  add.add_flag("--replace", arguments->replace, "Replace a night of the same card, time and commit");
  invocation.When(add, [arguments] { return RunAdd(*arguments); });
  CLI::App& show = *history.add_subcommand("show", "Show change points and slow drifts");
  show.add_option("file", arguments->file, "The history")->required();
  show.add_option("--gpu", options.gpu_uuid, "Only cards whose UUID begins with this");
  show.add_option("--kernel", options.kernel_pattern, "Only kernels whose id matches this regular expression")
      ->type_name("REGEX");
  help::AddNumber(show, "--nights", options.nights, "Only the newest nights of each card; 0: all", 0, 1000000);
  help::AddNumber(show, "--level", options.level, "Share of the findings that may be false", 0.001, 0.5);
  help::AddNumber(show, "--least", options.least,
                  "Smallest change of a time to report, as a ratio; of a drift twice this", 0.0, 1.0);
  help::AddNumber(show, "--seed", options.seed, "Seed of the permutations", 0, std::uint64_t{1} << 53U);
  help::AddChoice(show, "--format", arguments->format, "text or json", {"text", "json"});
  show.add_option("--svg", arguments->svg, "Write a picture: the duration of each case, night by night");
  invocation.When(show, [arguments, &show] { return RunShowHistory(show, *arguments); });
}

}  // namespace fa_profile::cli
