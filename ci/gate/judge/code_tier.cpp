#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <tuple>

#include "fa_profile/static_metrics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// The instructions, and everything else that decides how they run.
auto Identity(const CodeFacts& code) {
  return std::tuple(code.code_hash, code.architecture, code.registers_per_thread, code.static_shared_memory_bytes,
                    code.threads_per_block);
}

bool SameLaunch(const LaunchFacts& base, const LaunchFacts& candidate) {
  const auto all = [](const LaunchFacts& launch) {
    std::array<int, 3> cluster = launch.cluster;
    if (cluster == std::array{1, 1, 1}) cluster = {};  // a cluster of one block is not a cluster
    return std::tuple(launch.kernel_name, launch.grid, launch.block, cluster, launch.dynamic_shared_memory_bytes,
                      launch.registers_per_thread, launch.blocks_per_sm, launch.shared_memory_config_bytes);
  };
  return all(base) == all(candidate);
}

bool SameCode(const CaseFacts& base, const CaseFacts& candidate) {
  if (base.code.empty() || base.code.size() != candidate.code.size()) return false;
  if (!std::ranges::equal(base.launches, candidate.launches, SameLaunch)) return false;
  const auto identities = [](const CaseFacts& facts) {
    std::vector<decltype(Identity(facts.code.front()))> all;
    for (const CodeFacts& code : facts.code) all.push_back(Identity(code));
    std::ranges::sort(all);
    return all;
  };
  const bool hashed = std::ranges::none_of(base.code, [](const CodeFacts& code) { return code.code_hash.empty(); });
  return hashed && identities(base) == identities(candidate);
}

/// The base's function for each of the candidate's: by name, or the only one if each side has one (it was renamed).
/// Null: it is new. Functions for different architectures are not compared.
std::vector<const CodeFacts*> Partners(const CaseFacts& base, const CaseFacts& candidate) {
  std::vector<const CodeFacts*> partners;
  for (const CodeFacts& code : candidate.code) {
    const auto found = std::ranges::find_if(base.code, [&](const CodeFacts& before) {
      return before.name == code.name && before.architecture == code.architecture;
    });
    partners.push_back(found == base.code.end() ? nullptr : &*found);
  }
  const bool alone = base.code.size() == 1 && candidate.code.size() == 1;
  if (alone && base.code[0].architecture == candidate.code[0].architecture) partners[0] = base.code.data();
  return partners;
}

/// Fewer blocks of more threads are not worse: the number of resident threads has to fall too.
bool FewerResident(const Comparison& blocks, std::optional<int> threads_before, std::optional<int> threads_after) {
  if (*blocks.candidate >= *blocks.base) return false;
  if (!threads_before || !threads_after) return true;
  return *blocks.candidate * *threads_after < *blocks.base * *threads_before;
}

/// Growth beyond what an edit makes: different code, which has to be measured. Between recordings it has been, without
/// pairs that could decide.
bool IsSuspicious(const JudgeContext& context, const Comparison& comparison) {
  if (!comparison.phase.empty() || (context.Dynamic() && !context.Paired())) return false;
  const bool instructions = comparison.metric == "static_instructions";
  if (!instructions && comparison.metric != "registers_per_thread") return false;
  const Thresholds& limits = context.thresholds;
  return comparison.change.value_or(0.0) > (instructions ? limits.code_instructions : limits.code_registers);
}

/// Spills and fewer resident blocks block; much more code or registers are suspect; other growth is a warning unless a
/// rule limits it.
void JudgeFact(const JudgeContext& context, CaseWork& work, Comparison comparison, double total, bool fewer_resident,
               const std::string& function) {
  const MetricFacts facts = FactsOf({comparison.phase, comparison.metric});
  const Demand demand = context.DemandOn(work, comparison.phase, comparison.metric);
  if (demand.severity == Severity::kOff || *comparison.base == *comparison.candidate) return;
  const bool higher_is_better = facts.polarity == Polarity::kHigherIsBetter;
  const double growth = (*comparison.candidate - *comparison.base) * (higher_is_better ? -1.0 : 1.0);
  comparison.rule = context.GrowthRule(demand);
  const bool instructions = comparison.metric == "static_instructions";
  const bool resident = comparison.metric == "blocks_per_sm";
  const bool spills = comparison.metric == "spill_bytes";
  bool worse = growth > 0.0;
  if (!comparison.rule.empty()) {
    worse = growth > std::max(demand.absolute.value_or(0.0), demand.relative.value_or(0.0) * *comparison.base);
  } else if (instructions) {
    worse = growth > context.thresholds.counter_relative * total;
  } else if (resident) {
    worse = fewer_resident;
  }
  comparison.reason = fmt::format("{} {}{}", facts.label, FromTo(*comparison.base, *comparison.candidate, facts.unit),
                                  function.empty() ? "" : " in " + function);
  if (worse && comparison.rule.empty() && IsSuspicious(context, comparison)) {
    comparison.verdict = Verdict::kSuspect;
    comparison.reason += fmt::format(" ({})", SignedPercent(*comparison.change, 0));
    Block(comparison, demand.severity);
  } else if (worse) {
    comparison.verdict = Verdict::kRegression;
    const double relative = comparison.rule.empty() && instructions ? context.thresholds.counter_relative : 0.0;
    comparison.allowed =
        Allowed(demand.relative.value_or(relative), demand.absolute.value_or(0.0), *comparison.base, facts.unit);
    comparison.reason += OwnerOf(demand);
    Block(comparison, spills || resident || !demand.rules.empty() ? demand.severity : Severity::kWarning);
  } else if (growth < 0.0 && facts.polarity != Polarity::kNeutral) {
    comparison.verdict = Verdict::kImproved;
  }
  work.verdict.comparisons.push_back(std::move(comparison));
}

const LaunchFacts* LaunchOf(const CaseFacts& facts, const std::string& function) {
  const auto found = std::ranges::find(facts.launches, function, &LaunchFacts::kernel_name);
  return found == facts.launches.end() ? nullptr : &*found;
}

void JudgeFunction(const JudgeContext& context, CaseWork& work, const CodeFacts* before, const CodeFacts& after) {
  const CodeFacts none;  // a new function counts with all its spills
  const CodeFacts& base = before != nullptr ? *before : none;
  const std::string function = work.candidate->code.size() > 1 ? OneLine(after.name, 60) : "";
  for (const StaticMetric& metric : StaticMetrics()) {
    const std::string id(metric.id);
    if (id == "blocks_per_sm" || id == "static_tensor_instructions") continue;  // handled below, and for the whole case
    if (before == nullptr && id != "spill_bytes") continue;
    const auto from = StaticValue(base, "", id);
    const auto to = StaticValue(after, "", id);
    if (!from || !to) continue;
    JudgeFact(context, work, Compared({"", id}, from, to), *from, false, function);
    if (!metric.of_phases || PhaseModelsDiffer(*work.base, *work.candidate)) continue;
    for (const auto& [phase, counts] : after.counts) {
      if (phase.empty()) continue;
      JudgeFact(context, work, Compared({phase, id}, StaticValue(base, phase, id), StaticValue(after, phase, id)),
                *from, false, function);
    }
  }
  for (const std::string& external : after.externals) {
    if (std::ranges::find(base.externals, external) != base.externals.end()) continue;
    Add(work,
        Compared({"", "externals"}, static_cast<double>(base.externals.size()),
                 static_cast<double>(after.externals.size())),
        Verdict::kRegression, true,
        "calls " + OneLine(external, 60) + ", unlike the base" +
            (external == "vprintf" ? ": printf in device code" : ""));
  }
  if (before == nullptr) return;
  // From the launches if both sides have them: code alone does not determine dynamic shared memory.
  const LaunchFacts* const was = LaunchOf(*work.base, base.name);
  const LaunchFacts* const is = LaunchOf(*work.candidate, after.name);
  if (was != nullptr && is != nullptr) {
    const auto shared = [](const CodeFacts& code, const LaunchFacts& launch) {
      return static_cast<double>(code.static_shared_memory_bytes + launch.dynamic_shared_memory_bytes);
    };
    JudgeFact(context, work, Compared({"", "shared_memory_per_block_bytes"}, shared(base, *was), shared(after, *is)),
              0.0, false, function);
  }
  const bool launched = was != nullptr && is != nullptr && was->blocks_per_sm && is->blocks_per_sm;
  const auto threads = [](const LaunchFacts& launch) { return launch.block[0] * launch.block[1] * launch.block[2]; };
  const auto from = launched ? was->blocks_per_sm : base.blocks_per_sm;
  const auto to = launched ? is->blocks_per_sm : after.blocks_per_sm;
  // How many blocks fit on an SM depends on the GPU model.
  if (from && to && context.comparable) {
    const Comparison blocks = Compared({"", "blocks_per_sm"}, static_cast<double>(*from), static_cast<double>(*to));
    const bool fewer = FewerResident(blocks, launched ? std::optional(threads(*was)) : base.threads_per_block,
                                     launched ? std::optional(threads(*is)) : after.threads_per_block);
    JudgeFact(context, work, blocks, 0.0, fewer, function);
  }
}

/// Tensor instructions of all functions together: their split among functions does not matter.
void JudgeTensor(const JudgeContext& context, CaseWork& work) {
  const std::string id = "static_tensor_instructions";
  const auto sum = [&](const CaseFacts& facts) {
    std::optional<double> total;
    for (const CodeFacts& code : facts.code) {
      if (const auto value = StaticValue(code, "", id)) total = total.value_or(0.0) + *value;
    }
    return total;
  };
  const auto before = sum(*work.base);
  const auto after = sum(*work.candidate);
  const Demand demand = context.DemandOn(work, "", id);
  if (!before || !after || *before == 0.0 || *after > 0.0 || demand.severity == Severity::kOff) return;
  Add(work, Compared({"", id}, before, after), Verdict::kRegression, demand.severity == Severity::kError,
      fmt::format("the {:.0f} tensor instructions are gone: matrix products no longer run on tensor cores", *before));
}

/// A warning without numbers and folders: numbers change when lines are added above it.
std::string Gist(const std::string& warning) {
  std::string gist;
  for (const char c : warning) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (c == '/') {
      while (!gist.empty() && gist.back() != ' ' && gist.back() != '"' && gist.back() != '\'') gist.pop_back();
    } else if (!digit) {
      gist += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (gist.empty() || gist.back() != '#') {
      gist += '#';
    }
  }
  return gist;
}

void JudgeWarnings(CaseWork& work) {
  // ptxas's and nvcc's words for spills, local memory, and matrix instructions that wait for each other.
  constexpr std::array kGrave = {"local memory", "local space", "spill", "wmma", "wgmma", "performance loss"};
  std::set<std::string> known;
  for (const std::string& warning : work.base->compiler_warnings) known.insert(Gist(warning));
  for (const std::string& warning : work.candidate->compiler_warnings) {
    const std::string gist = Gist(warning);
    if (!known.insert(gist).second) continue;  // each once
    const bool grave =
        std::ranges::any_of(kGrave, [&](const char* words) { return gist.find(words) != std::string::npos; });
    Add(work,
        Compared({"", "compiler_warnings"}, static_cast<double>(work.base->compiler_warnings.size()),
                 static_cast<double>(work.candidate->compiler_warnings.size())),
        Verdict::kRegression, grave, "new compiler warning: " + OneLine(warning));
  }
}

void AddTo(std::string& list, const std::string& what) { list += (list.empty() ? "" : "; ") + what; }

bool IsMachineCode(const std::string& architecture) {
  return !architecture.starts_with(kPtxPrefix) && !architecture.starts_with(kLtoIrPrefix);
}

/// `name`: "PTX compute_90".
std::string OtherCode(const std::string& name) {
  return "the same machine code, but other " + name + ", which was not judged: build machine code for what runs it";
}

void AddInconclusive(CaseWork& work, const std::string& what) {
  Add(work, Compared({"", "static_instructions"}, {}, {}), Verdict::kInconclusive, true, what);
}

/// Code that is not judged, because its functions have code for a newer architecture. Where it alone changed, or is
/// gone, the case is INCONCLUSIVE. Where it changed with the judged code, that stands for it, and a note names it.
void JudgeOtherArchitectures(CaseWork& work) {
  const auto& base = work.base->architectures;
  const auto& candidate = work.candidate->architectures;
  if (base.empty() != candidate.empty()) {
    const auto count = [](const auto& hashes) {
      return std::ranges::count_if(hashes, [](const auto& one) { return IsMachineCode(one.first); });
    };
    if (std::max(count(base), count(candidate)) > 1) {
      AddTo(work.gap, std::string("code for other architectures was not compared: the ") +
                          (base.empty() ? "base" : "candidate") + " has none; --arch chooses one");
    }
    return;
  }
  for (const auto& [architecture, hash] : base) {
    if (architecture.starts_with(kLtoIrPrefix)) continue;
    const auto found = candidate.find(architecture);
    if (found != candidate.end() && found->second == hash) continue;
    const std::string name = OneLine(architecture, 20);
    const bool is_gone = found == candidate.end();
    if (!IsMachineCode(architecture)) {  // a change of the judged code changes its PTX
      const std::string what = is_gone ? "no " + name + " in the candidate" : OtherCode(name);
      if (work.verdict.identical) AddInconclusive(work, what);
      continue;
    }
    if (is_gone && std::ranges::count(work.base->code, architecture, &CodeFacts::architecture) > 0) continue;
    const std::string what = is_gone
                                 ? "no code for " + name + " in the candidate"
                                 : fmt::format("other machine code for {0}, not judged: --arch {0} judges it", name);
    if (is_gone || work.verdict.identical) {
      AddInconclusive(work, what);
    } else {
      AddTo(work.note, what);
    }
  }
  for (const auto& [architecture, hash] : candidate) {
    if (!base.contains(architecture) && IsMachineCode(architecture)) {
      AddTo(work.note, "code for " + OneLine(architecture, 20) + " is new and was not compared");
    }
  }
}

}  // namespace

void JudgeLtoIr(std::vector<CaseWork>& works) {
  struct Change {
    std::vector<CaseWork*> works;
    bool is_explained = false;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Change> changes;
  for (CaseWork& work : works) {
    if (work.base == nullptr || work.candidate == nullptr) continue;
    const auto& after = work.candidate->architectures;
    if (work.base->architectures.empty() || after.empty()) continue;
    for (const auto& [name, hash] : work.base->architectures) {
      if (!name.starts_with(kLtoIrPrefix)) continue;
      const auto found = after.find(name);
      if (found != after.end() && found->second == hash) continue;
      Change& change = changes[{name, hash, found == after.end() ? "" : found->second}];
      change.works.push_back(&work);
      change.is_explained |= !work.verdict.identical;
    }
  }
  for (const auto& [what, change] : changes) {
    if (change.is_explained) continue;
    const auto& [name, before, after] = what;
    const std::string shown = OneLine(name, 20);
    for (CaseWork* const work : change.works) {
      AddInconclusive(*work, after.empty() ? "no " + shown + " in the candidate" : OtherCode(shown));
    }
  }
}

void JudgeCode(const JudgeContext& context, CaseWork& work) {
  if (work.base == nullptr || work.candidate == nullptr) return;
  work.verdict.identical = SameCode(*work.base, *work.candidate);
  JudgeOtherArchitectures(work);
  const std::string& host_code = work.base->host_code_hash;
  if (!host_code.empty() && !work.candidate->host_code_hash.empty()) {
    work.verdict.same_host_code = host_code == work.candidate->host_code_hash;
  }
  JudgeWarnings(work);
  if (work.verdict.identical) return;
  if (work.base->code.empty() || work.candidate->code.empty()) {
    // Static evidence has cases for files with warnings but without kernels, handled by JudgeWarnings(). A run can be
    // timed without code, but if the base has code, a spill in the candidate would be missed.
    if (work.base->code.empty() && (context.Dynamic() || work.candidate->code.empty())) return;
    return Add(work, Compared({"", "static_instructions"}, {}, {}), Verdict::kInconclusive, true,
               std::string("no machine code in the ") + (work.base->code.empty() ? "base" : "candidate"));
  }
  const std::vector<const CodeFacts*> partners = Partners(*work.base, *work.candidate);
  bool comparable = false;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    const CodeFacts& code = work.candidate->code[i];
    if (std::ranges::find(work.base->code, code.architecture, &CodeFacts::architecture) == work.base->code.end()) {
      continue;  // not a new function: the base was built for another architecture
    }
    comparable = true;
    JudgeFunction(context, work, partners[i], code);
  }
  if (comparable) return JudgeTensor(context, work);
  const std::string why =
      fmt::format("machine code was not compared: {} in the base, {} in the candidate",
                  OneLine(work.base->code[0].architecture, 20), OneLine(work.candidate->code[0].architecture, 20));
  if (context.Dynamic()) return AddTo(work.gap, why);
  Add(work, Compared({"", "static_instructions"}, {}, {}), Verdict::kInconclusive, true, why);
}

}  // namespace fa_profile::gate
