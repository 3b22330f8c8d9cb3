#include "baseline_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "command.h"
#include "commands.h"
#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/sha256.h"
#include "fa_profile/files.h"
#include "fa_profile/gate_statistics.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/utc_time.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestSource = std::size_t{1} << 30U;
constexpr std::size_t kLargestBaseline = std::size_t{64} << 20U;

// A file's text on a line of a terminal: what is not plain ASCII is escaped.
std::string Shown(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

void PrintJson(const Json& json) {
  std::cout << json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) << '\n';
}

// Columns as wide as their widest cell, the last as it comes.
void PrintTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    std::cout << line << row.back() << '\n';
  }
}

std::string Seconds(double seconds) {
  for (const auto& [unit, size] : {std::pair{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}}) {
    if (seconds >= size) return fmt::format("{:.4g} {}", seconds / size, unit);
  }
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

// What one case of a baseline says, over its processes.
struct CaseSummary {
  std::string kind;  // of the processes that gave the durations
  std::size_t processes = 0;
  double median_seconds = 0.0;
  double spread_ratio = 0.0;                           // between the quartiles, of the median
  std::vector<std::pair<std::string, double>> phases;  // median shares, the largest first
};

double Quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return std::lerp(sorted[low], sorted[high], at - std::floor(at));
}

std::vector<double> ValuesOf(const Evidence& evidence, std::size_t index, const std::string& kind,
                             const MetricKey& key) {
  std::vector<double> values;
  for (const auto& [_, value] : Values(evidence, index, kind, key)) values.push_back(value);
  return values;
}

CaseSummary Summarize(const Evidence& evidence, std::size_t index) {
  CaseSummary summary;
  std::vector<double> durations;
  for (const char* const kind : {"timing", "recording"}) {
    std::vector<double> found = ValuesOf(evidence, index, kind, {"", kDuration});
    if (found.size() <= durations.size()) continue;
    summary.kind = kind;
    durations = std::move(found);
  }
  summary.processes = durations.size();
  if (!durations.empty()) {
    std::sort(durations.begin(), durations.end());
    summary.median_seconds = Median(durations);
    summary.spread_ratio = (Quantile(durations, 0.75) - Quantile(durations, 0.25)) / summary.median_seconds;
  }
  std::set<std::string> phases;
  for (const ProcessSample& process : evidence.processes) {
    if (index >= process.values.size()) continue;
    for (const auto& [key, _] : process.values[index]) {
      if (key.metric == kPhaseTime) phases.insert(key.phase);
    }
  }
  for (const std::string& phase : phases) {
    const std::vector<double> shares = ValuesOf(evidence, index, "recording", {phase, kPhaseTime});
    if (!shares.empty()) summary.phases.emplace_back(phase, Median(shares));
  }
  std::stable_sort(summary.phases.begin(), summary.phases.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return summary;
}

std::string Processes(const Evidence& evidence) {
  const auto timing = std::count_if(evidence.processes.begin(), evidence.processes.end(),
                                    [](const ProcessSample& process) { return process.kind == "timing"; });
  return fmt::format("{} timing, {} recording", timing,
                     static_cast<std::ptrdiff_t>(evidence.processes.size()) - timing);
}

PromotedBaseline Load(const std::string& path) { return ParseBaseline(ReadPlainFile(path, kLargestBaseline), path); }

Json ToJson(const Receipt& receipt) {
  return {{"promoted_at", receipt.promoted_at},
          {"promoted_by", receipt.promoted_by},
          {"reason", receipt.reason},
          {"commit", receipt.commit},
          {"sources", receipt.sources},
          {"previous", receipt.previous},
          {"sha256", receipt.sha256}};
}

Json Head(const std::string& path, const PromotedBaseline& baseline) {
  return {{"path", path},
          {"gpu", baseline.evidence.environment.gpu_name},
          {"suite", baseline.suite},
          {"lineage", baseline.lineage},
          {"cases", baseline.evidence.cases.size()},
          {"processes", baseline.evidence.processes.size()},
          {"receipt", ToJson(baseline.receipt)}};
}

void PrintReceipt(const PromotedBaseline& baseline) {
  const Receipt& receipt = baseline.receipt;
  const Environment& environment = baseline.evidence.environment;
  const auto line = [](const char* label, const std::string& text) {
    if (!text.empty()) std::cout << fmt::format("  {:<10}{}\n", label, Shown(text));
  };
  line("suite", baseline.suite);
  line("GPU", environment.gpu_name);
  line("lineage", baseline.lineage);
  line("driver", environment.driver_version);
  line("promoted", receipt.promoted_at + (receipt.promoted_by.empty() ? "" : " by " + receipt.promoted_by));
  line("reason", receipt.reason);
  line("commit", receipt.commit);
  line("cases", std::to_string(baseline.evidence.cases.size()));
  line("processes", Processes(baseline.evidence));
  for (const std::string& source : receipt.sources) line("from", source);
  line("replaces", receipt.previous.empty() ? "nothing: the first of its lineage" : receipt.previous);
  line("sha256", receipt.sha256);
}

// A pull request is judged by the baseline; one that could replace it would judge itself.
void RefuseInAPullRequest() {
  const char* const event = std::getenv("GITHUB_EVENT_NAME");
  const bool github = event != nullptr && std::string_view(event).starts_with("pull_request");
  const char* const gitlab = std::getenv("CI_MERGE_REQUEST_IID");
  if (github || (gitlab != nullptr && *gitlab != '\0')) {
    throw Error("a pull request never promotes: it would be judged by itself",
                "promote by hand, on the branch that the request goes to");
  }
}

// "Name <mail>", as git has it; empty where it does not say.
std::string WhoGitSays() {
  const auto ask = [](const char* key) -> std::string {
    try {
      const ChildOutput answer = CaptureChild("git", {"git", "config", key});
      return answer.status == 0 ? answer.text.substr(0, answer.text.find('\n')) : "";
    } catch (const Error&) {
      return "";  // there is no git
    }
  };
  const std::string name = ask("user.name");
  const std::string mail = ask("user.email");
  return mail.empty() ? name : fmt::format("{}{}<{}>", name, name.empty() ? "" : " ", mail);
}

}  // namespace

BaselineCommands::BaselineCommands(CLI::App& app) {
  command_ = app.add_subcommand("baseline", "Promote, list, show and verify the baselines of the gate");
  command_->require_subcommand(1);
  const auto add = [&](const char* name, const char* what) {
    CLI::App* const command = command_->add_subcommand(name, what);
    command->add_option("--baselines", baselines_, "Their folder")->capture_default_str();
    command->add_option("--format", format_, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    return command;
  };
  promote_ = add("promote", "Make what was measured the standard from now on");
  promote_->add_option("files", files_, "Recordings (*.fap) and evidence (*.json) of one build")->required();
  promote_->add_option("--reason", reason_, "Why the standard changes")->required();
  promote_->add_option("--suite", suite_, "Name of the set of cases")->capture_default_str();
  promote_->add_option("--by", by_, "Who promotes; default: as git has it");
  list_ = add("list", "The baselines there are");
  show_ = add("show", "One baseline: environment, receipt, and what each case takes");
  show_->add_option("baseline", shown_, "A file, or a GPU's folder: nvidia-h200")->required();
  show_->add_option("--suite", suite_, "Of a GPU's folder")->capture_default_str();
  verify_ = add("verify", "Check content, receipt and chain of baselines; exit code 2 when one is bad");
  verify_->add_option("files", files_, "Files or folders; default: --baselines");
}

std::optional<int> BaselineCommands::Run() {
  if (!*command_) return std::nullopt;
  if (*promote_) return Promote();
  if (*list_) return List();
  if (*show_) return Show();
  return Verify();
}

int BaselineCommands::Promote() const {
  RefuseInAPullRequest();
  std::vector<std::string> sources;
  std::map<std::string, std::string> seen;
  for (const std::string& file : files_) {
    const std::string hash = Sha256(ReadPlainFile(file, kLargestSource));
    // A process counted twice would make the noise look smaller than it is.
    if (const auto [first, is_new] = seen.emplace(hash, file); !is_new) {
      throw Error(file + " has the same content as " + first->second, "give each process once");
    }
    sources.push_back(fmt::format("{} sha256:{}", fs::path(file).filename().string(), hash));
  }
  Evidence evidence = LoadEvidence(files_);
  const BaselineFolder folder(baselines_, evidence.environment.gpu_name);
  const std::optional<PromotedBaseline> previous =
      IsSuiteName(suite_) ? folder.Find(suite_, LineageOf(evidence.environment)) : std::nullopt;
  PromotedBaseline baseline = fa_profile::Promote(
      std::move(evidence), suite_, reason_, by_.empty() ? WhoGitSays() : by_, UtcNow("%Y-%m-%dT%H:%M:%SZ"), previous);
  baseline.receipt.sources = sources;
  const std::string path = folder.Store(baseline);
  baseline = Load(path);  // what is reported is what was written
  if (format_ == "json") {
    PrintJson(Head(path, baseline));
  } else {
    std::cout << "promoted " << path << '\n';
    PrintReceipt(baseline);
  }
  return kExitFine;
}

int BaselineCommands::List() const {
  const std::vector<std::string> paths = BaselineFilesIn(baselines_);
  if (format_ == "json") {
    Json list = Json::array();
    for (const std::string& path : paths) list.push_back(Head(path, Load(path)));
    PrintJson({{"format", "fa-profile baselines"}, {"version", 1}, {"baselines", list}});
    return kExitFine;
  }
  if (paths.empty()) {
    std::cout << "there are no baselines in " << baselines_ << '\n';
    return kExitFine;
  }
  std::vector<std::vector<std::string>> rows{
      {"GPU", "SUITE", "LINEAGE", "PROMOTED", "BY", "CASES", "PROCESSES", "COMMIT", "REASON"}};
  for (const std::string& path : paths) {
    const PromotedBaseline baseline = Load(path);
    const Receipt& receipt = baseline.receipt;
    rows.push_back({Shown(baseline.evidence.environment.gpu_name), baseline.suite, baseline.lineage,
                    Shown(receipt.promoted_at), Shown(receipt.promoted_by),
                    std::to_string(baseline.evidence.cases.size()), std::to_string(baseline.evidence.processes.size()),
                    Shown(receipt.commit), Shown(receipt.reason)});
  }
  PrintTable(rows);
  return kExitFine;
}

int BaselineCommands::Show() const {
  std::string path = shown_;
  if (shown_.find('/') == std::string::npos && !shown_.ends_with(".json")) {
    if (!IsSuiteName(suite_)) throw Error("no suite can have this name", "1 to 64 of a-z, 0-9, _ and -");
    path = baselines_ + "/" + GpuFolder(shown_) + "/" + suite_ + ".json";
  }
  const PromotedBaseline baseline = Load(path);
  const Evidence& evidence = baseline.evidence;
  if (format_ == "json") {
    Json json = Head(path, baseline);
    json["cases"] = Json::array();
    for (std::size_t i = 0; i < evidence.cases.size(); ++i) {
      const CaseSummary summary = Summarize(evidence, i);
      Json item{{"kernel", evidence.cases[i].kernel}, {"shape", evidence.cases[i].shape}};
      item["processes"] = summary.processes;
      item["duration_seconds"] = summary.processes > 0 ? Json(summary.median_seconds) : Json(nullptr);
      item["spread_ratio"] = summary.processes > 0 ? Json(summary.spread_ratio) : Json(nullptr);
      item["phases"] = Json::object();
      for (const auto& [phase, share] : summary.phases) item["phases"][phase] = share;
      json["cases"].push_back(item);
    }
    PrintJson(json);
    return kExitFine;
  }
  std::cout << path << '\n';
  PrintReceipt(baseline);
  std::vector<std::vector<std::string>> rows{{"CASE", "DURATION", "SPREAD", "PROCESSES", "MOST TIME IN"}};
  for (std::size_t i = 0; i < evidence.cases.size(); ++i) {
    const CaseSummary summary = Summarize(evidence, i);
    std::string phases;
    constexpr std::size_t kShown = 3;  // what fits beside the rest; --format json has all of them
    for (std::size_t p = 0; p < std::min(summary.phases.size(), kShown); ++p) {
      const auto& [phase, share] = summary.phases[p];
      phases += fmt::format("{}{} {:.1f} %", phases.empty() ? "" : ", ", Shown(phase), 100 * share);
    }
    const bool known = summary.processes > 0;
    rows.push_back({Shown(CaseName(evidence.cases[i])), known ? Seconds(summary.median_seconds) : "n/a",
                    known ? fmt::format("{:.2f} %", 100 * summary.spread_ratio) : "n/a",
                    known ? fmt::format("{} {}", summary.processes, summary.kind) : "0", phases});
  }
  std::cout << "\nmedian of the processes' durations; spread: between their quartiles, of the median\n";
  PrintTable(rows);
  return kExitFine;
}

int BaselineCommands::Verify() const {
  // Files of a folder lie where they belong; a file by itself can be a copy.
  std::vector<std::string> loose;
  std::vector<BadBaseline> bad;
  std::size_t checked = 0;
  for (const std::string& file : files_.empty() ? std::vector<std::string>{baselines_} : files_) {
    if (!files_.empty() && !fs::is_directory(file)) {
      loose.push_back(file);
      continue;
    }
    const std::vector<std::string> paths = BaselineFilesIn(file);
    const std::vector<BadBaseline> found = VerifyBaselines(paths, /*in_place=*/true);
    bad.insert(bad.end(), found.begin(), found.end());
    checked += paths.size();
  }
  const std::vector<BadBaseline> found = VerifyBaselines(loose, /*in_place=*/false);
  bad.insert(bad.end(), found.begin(), found.end());
  checked += loose.size();
  if (checked == 0) {
    throw Error("there is no baseline to verify",
                "--baselines names their folder; fa-profile baseline promote makes one");
  }
  if (format_ == "json") {
    Json json{{"format", "fa-profile baseline verify"}, {"version", 1}, {"checked", checked}, {"bad", Json::array()}};
    for (const BadBaseline& one : bad) json["bad"].push_back({{"path", one.path}, {"problem", one.problem}});
    PrintJson(json);
  } else {
    for (const BadBaseline& one : bad) std::cout << "BAD  " << one.path << ": " << one.problem << '\n';
    std::cout << fmt::format("{} baseline{} verified, {} problem{}\n", checked, checked == 1 ? "" : "s", bad.size(),
                             bad.size() == 1 ? "" : "s");
  }
  return bad.empty() ? kExitFine : kExitCannot;
}

void AddBaseline(CLI::App& app, Invocation& invocation) {
  const auto commands = std::make_shared<BaselineCommands>(app);
  app.get_subcommand("baseline")->callback([commands, &invocation] {
    invocation.run = [commands] { return commands->Run().value(); };
  });
}

}  // namespace fa_profile
