#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iostream>
#include <map>
#include <utility>

#include "bundled.h"
#include "command.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/findings.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/lint.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/notice.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/text.h"
#include "fa_profile/usage_errors.h"

namespace fa_profile::cli {
namespace {

struct ListOptions {
  std::string what;
  std::string chip = "GH100";
  std::string pattern;
  std::vector<std::string> kernel_libraries;
};

/// A chip by CUPTI's name, in any case. Throws Error.
std::string RequireChip(const std::string& chip) {
  std::string name = Upper(chip);
  // Asking CUPTI takes a third of a second; these are known without it.
  const std::vector<std::string> of_sets = MetricSetChips();
  if (std::ranges::find(of_sets, name) != of_sets.end()) return name;
  const std::vector<std::string> chips = jobs::KnownChips();
  if (std::ranges::find(chips, name) != chips.end()) return name;
  throw Error("there is no chip '" + chip + "'" + DidYouMean(chip, chips),
              fmt::format("the known chips are {}", fmt::join(chips, ", ")));
}

/// A list's names, and which of them are wanted.
class Names {
 public:
  explicit Names(const std::string& pattern) : pattern_(pattern) {}

  bool Wanted(std::string_view name) {
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    const bool wanted = pattern_.empty() || std::ranges::search(name, pattern_, same).begin() != name.end();
    seen_.emplace_back(name);
    found_ = found_ || wanted;
    return wanted;
  }

  /// Throws Error when no name matches the pattern: nothing would be printed.
  void RequireOne(const std::string& what) const {
    if (found_ || pattern_.empty()) return;
    throw Error(fmt::format("list {}: no name contains '{}'{}", what, Printable(pattern_), Near()),
                fmt::format("fa-profile list {} has them all", what));
  }

 private:
  /// The nearest names; else those with a word that is near.
  std::string Near() const {
    std::string near = DidYouMean(pattern_, seen_);
    if (!near.empty()) return near;
    std::map<std::string, std::vector<std::string>> names_of;
    for (const std::string& name : seen_) {
      for (std::size_t start = 0; start < name.size();) {
        const std::size_t end = std::min(name.find_first_of("_.-", start), name.size());
        names_of[name.substr(start, end - start)].push_back(name);
        start = end + 1;
      }
    }
    std::vector<std::string> words;
    for (const auto& [word, names] : names_of) words.push_back(word);
    constexpr std::size_t kMost = 3;
    std::vector<std::string> found;
    for (const std::string& word : NearMatches(pattern_, words, kMost)) {
      for (const std::string& name : names_of.at(word)) {
        if (found.size() < kMost && std::ranges::find(found, name) == found.end()) found.push_back(name);
      }
    }
    return found.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(found, ", "));
  }

  const std::string& pattern_;
  std::vector<std::string> seen_;
  bool found_ = false;
};

/// The ladder as known without CUDA, from the bundled recording.
void ListBundledKernels(const jobs::Wanted& wanted) {
  Notice("built without CUDA: these are the kernels of the bundled recording");
  store::LoadOptions no_metrics;
  no_metrics.metrics.emplace();
  std::map<std::string, std::string> shapes;
  std::vector<std::string> kernels;
  for (const Case& entry : store::RecordingReader(BundledRecording()).Load(no_metrics).cases) {
    if (!shapes.contains(entry.kernel)) kernels.push_back(entry.kernel);
    if (!entry.shape) continue;
    std::string& own = shapes[entry.kernel];
    own += (own.empty() ? "" : "; ") + entry.shape->ToString();
  }
  for (const std::string& kernel : kernels) {
    if (wanted(kernel)) fmt::print("{:<16} {}\n", kernel, shapes[kernel]);
  }
}

/// The phases known without a user's map, and how instructions are assigned to each.
void ListPhases(const std::function<bool(std::string_view)>& wanted) {
  for (const PhaseMap& map : {AttentionPhases(), sass::OpcodePhases()}) {
    for (const PhaseRule& rule : map.rules) {
      if (!wanted(rule.phase)) continue;
      std::string what;
      for (const std::string& function : rule.functions) what += " " + function + "()";
      for (const std::string& opcode : rule.opcodes) what += " " + (opcode.empty() ? "all others" : opcode);
      fmt::print("{:<26} {:<16}{}\n", rule.phase, map.name, what);
    }
  }
  if (wanted("setup")) {
    fmt::print("{:<26} {:<16}{}\n", "setup", "machine code",
               " addresses and conditions before the key loop, where "
               "phases are inferred");
  }
}

/// The inputs of metric formulas: counters, and facts about the device, the launch and the workload.
void ListInputs(const std::function<bool(std::string_view)>& wanted) {
  // A counter used by one deterministic row must itself be deterministic.
  std::map<std::string, bool> deterministic;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    for (const std::string& input : FormulaNames(metric.formula)) {
      deterministic[input] = deterministic[input] || metric.stability == Stability::kDeterministic;
    }
  }
  for (const auto& [input, exact] : deterministic) {
    if (!wanted(input)) continue;
    const bool constant = input.starts_with("device.");
    fmt::print("{:<14} {}\n", constant ? "constant" : exact ? "deterministic" : "noisy", input);
  }
}

int RunList(const ListOptions& options) {
  const auto& [what, chip, pattern, kernel_libraries] = options;
  Names names(pattern);
  const jobs::Wanted wanted = [&names](std::string_view name) { return names.Wanted(name); };
  if (what == "kernels" && kernel_libraries.empty() && jobs::KnownKernels().empty()) {
    ListBundledKernels(wanted);
  } else if (what == "kernels") {
    jobs::ListKernels(wanted, kernel_libraries);
  } else if (what == "counters") {
    jobs::ListCounters(chip, wanted);
  } else if (what == "chips") {
    jobs::ListChips();
  } else if (what == "sets") {
    const std::string known = RequireChip(chip);
    for (const std::string& name : MetricSetNames()) {
      if (!wanted(name)) continue;
      const MetricSet set = BuiltinMetricSet(name, known);
      fmt::print("{:<10} {:>5} metrics  {}\n", set.name, set.metrics.size(), set.description);
    }
  } else if (what == "phases") {
    ListPhases(wanted);
  } else if (what == "findings") {
    for (const auto& [where, rules] :
         {std::pair{"report", &analyze::FindingRules()}, std::pair{"lint", &analyze::LintRules()}}) {
      for (const FindingRule& rule : *rules) {
        if (wanted(rule.id)) fmt::print("{:<26} {:<8} {}\n", rule.id, where, rule.title);
      }
    }
  } else if (what == "exported") {
    for (const ExportedMetric& metric : ExportedMetrics()) {
      if (wanted(metric.name)) fmt::print("{:<52} {:<10} {}\n", metric.name, ToString(metric.type), metric.help);
    }
  } else if (what == "inputs") {
    ListInputs(wanted);
  } else {
    for (const auto catalogue : {MetricCatalogue(), PhaseCatalogue()}) {
      for (const CatalogueMetric& metric : catalogue) {
        if (wanted(metric.id)) fmt::print("{:<44} {:<18} {}\n", metric.id, metric.unit, metric.help);
      }
    }
  }
  if (what != "chips") names.RequireOne(what);
  return kExitFine;
}

}  // namespace

void AddList(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<ListOptions>();
  CLI::App* const list = app.add_subcommand(
      "list", "List kernels, sets, metrics, inputs, counters, chips, phases, findings or exported metrics");
  list->add_option("WHAT", arguments->what,
                   "kernels, sets, metrics (ours), inputs (counters they read), counters (the chip's), chips, phases, "
                   "findings, exported (to Prometheus)")
      ->required()
      ->check(
          help::OneOf({"kernels", "sets", "metrics", "inputs", "counters", "chips", "phases", "findings", "exported"}));
  CLI::Option* const chip = list->add_option("--chip", arguments->chip, "Chip whose counters or sets are listed")
                                ->capture_default_str()
                                ->type_name("CHIP");
  list->add_option("--kernel-lib", arguments->kernel_libraries, "With kernels: your own kernel library, too")
      ->allow_extra_args(false)
      ->type_name("FILE");
  list->add_option("--match", arguments->pattern, "Only names that contain this")->type_name("WORD");
  list->callback([arguments, chip, &invocation] {
    if (chip->count() > 0 && arguments->what != "counters" && arguments->what != "sets") {
      throw Error("--chip has no effect on list " + arguments->what, "leave it out; counters and sets differ by chip");
    }
    if (!arguments->kernel_libraries.empty() && arguments->what != "kernels") {
      throw Error("--kernel-lib has no effect on list " + arguments->what, "leave it out, or use list kernels");
    }
    invocation.run = [arguments] { return RunList(*arguments); };
  });
}

}  // namespace fa_profile::cli
