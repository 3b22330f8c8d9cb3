#include "gate_history.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <utility>

#include "commands.h"
#include "fa_profile/add_option.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/history_report.h"
#include "fa_profile/notice.h"
#include "fa_profile/output_path.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/sha256.h"
#include "fa_profile/text.h"

namespace fa_profile::cli {

HistoryCommands::HistoryCommands(CLI::App& gate) {
  history_ = gate.add_subcommand("history", "Keep nightly measurements in a file, and show what moved; never blocks");
  history_->require_subcommand(1);
  add_ = history_->add_subcommand("add", "Add measurements to a history, each a night of its card");
  add_->add_option("file", file_, "The history, an SQLite file; made if it does not exist")->required();
  add_->add_option("evidence", evidence_, "Evidence of gate --measure --save (*.json), and recordings (*.fap)")
      ->required();
  add_->add_flag("--replace", replace_, "Let a night take the place of another of the same card, time and commit");
  CLI::App* const show = history_->add_subcommand("show", "Show change points and slow drifts");
  show->add_option("file", file_, "The history")->required();
  show->add_option("--gpu", options_.gpu_uuid, "Only cards whose UUID begins with this");
  show->add_option("--kernel", options_.kernel_pattern, "Only kernels whose id matches this regular expression");
  help::AddNumber(*show, "--nights", options_.nights, "Only the newest nights of each card; 0: all", 0, 1000000);
  help::AddNumber(*show, "--level", options_.level, "Share of the findings that may be false", 0.001, 0.5);
  help::AddNumber(*show, "--least", options_.least,
                  "Smallest change of a time to report, as a ratio; of a drift twice this", 0.0, 1.0);
  help::AddNumber(*show, "--seed", options_.seed, "Seed of the permutations", 0, std::uint64_t{1} << 53U);
  format_option_ = help::AddChoice(*show, "--format", format_, "text or json", {"text", "json"});
  show->add_option("--svg", svg_, "Write a picture: the duration of each case, night by night");
}

int HistoryCommands::Run() const { return add_->parsed() ? RunAdd() : RunShow(); }

int HistoryCommands::RunAdd() const {
  CheckOutputFiles({{"FILE", file_}}, evidence_);
  std::vector<gate::MeasuredNight> nights;
  for (const std::string& path : evidence_) {
    const std::string name = std::filesystem::path(path).filename().string();
    for (gate::MeasuredNight& night : gate::NightsOf(gate::LoadEvidence({path}), name, Sha256OfFile(path))) {
      nights.push_back(std::move(night));
    }
  }
  const gate::AddedNights result = gate::AddNights(file_, nights, replace_);
  std::cout << fmt::format("{}: {} night{} added{}\n", Printable(file_), result.added, result.added == 1 ? "" : "s",
                           result.known > 0 ? fmt::format(", {} there before", result.known) : "");
  return kExitFine;
}

int HistoryCommands::RunShow() const {
  CheckReportFiles({{"--svg", svg_}}, {file_});
  const bool to_stdout = svg_ == "-";
  if (to_stdout && format_option_->count() > 0) {
    throw Error("--format has no effect: --svg - prints the picture instead", "leave one of them out");
  }
  const gate::HistoryReport report = gate::AnalyzeHistory(gate::ReadHistory(file_), options_);
  if (!svg_.empty() && !to_stdout) WriteWholeFile(svg_, gate::HistorySvg(report));
  std::cout << (to_stdout           ? gate::HistorySvg(report)
                : format_ == "json" ? gate::HistoryJson(report)
                                    : gate::HistoryText(report));
  return kExitFine;
}

}  // namespace fa_profile::cli
