#include "judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "fa_profile/error.h"

namespace fa_profile::gate {
namespace {

constexpr std::array kVerdicts = {"PASS",         "IMPROVED",     "MISSING",   "SUSPECT",
                                  "INCONCLUSIVE", "INCOMPARABLE", "REGRESSION"};

/// The cases on both sides, the base's first. The reference kernel is a control, not a case.
std::vector<CaseWork> Cases(const GateInput& input) {
  std::vector<CaseWork> works;
  for (std::size_t i = 0; i < input.base.cases.size(); ++i) {
    const CaseFacts& facts = input.base.cases[i];
    if (facts.kernel == kReferenceKernel) continue;
    CaseWork& work = works.emplace_back();
    work.base = &facts;
    work.base_index = i;
    if (const auto found = FindCase(input.candidate, facts.kernel, facts.shape)) {
      work.candidate = &input.candidate.cases[*found];
      work.candidate_index = *found;
    }
  }
  for (std::size_t i = 0; i < input.candidate.cases.size(); ++i) {
    const CaseFacts& facts = input.candidate.cases[i];
    if (facts.kernel == kReferenceKernel || FindCase(input.base, facts.kernel, facts.shape)) continue;
    CaseWork& work = works.emplace_back();
    work.candidate = &facts;
    work.candidate_index = i;
  }
  for (CaseWork& work : works) {
    work.verdict.kernel = work.Facts().kernel;
    work.verdict.shape = work.Facts().shape;
    work.compare_speed = work.base != nullptr && work.candidate != nullptr;
    if (work.base != nullptr) work.base_shares = PhaseShares(input.base, work.base_index);
    if (work.candidate != nullptr) work.candidate_shares = PhaseShares(input.candidate, work.candidate_index);
  }
  return works;
}

std::vector<std::pair<std::string, std::string>> NamesOf(const std::vector<CaseWork>& works) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const CaseWork& work : works) names.emplace_back(work.verdict.kernel, work.verdict.shape);
  return names;
}

/// Throws for a rule that matches no case: it checks nothing. Static evidence has no shapes: only the kernel must
/// match. `base`: with all of its phases.
void RequireRules(const GateInput& input, const Evidence& base, const Thresholds& thresholds,
                  const std::vector<CaseWork>& works) {
  if (input.partial || thresholds.rules.empty()) return;
  const std::vector<std::pair<std::string, std::string>> names = NamesOf(works);
  std::set<std::string> seen;
  for (const Evidence* const evidence : {&base, &input.candidate}) {
    for (const ProcessSample& process : evidence->processes) {
      for (const auto& values : process.values) {
        for (const auto& [key, value] : values) seen.insert(key.phase);
      }
    }
    for (const CaseFacts& facts : evidence->cases) {
      for (const CodeFacts& code : facts.code) {
        for (const auto& [phase, counts] : code.counts) seen.insert(phase);
      }
    }
  }
  seen.erase("");
  const std::vector<std::string> phases(seen.begin(), seen.end());
  if (input.design != "static") return RequireRulesMatch(thresholds, names, phases);
  Thresholds without_shapes = thresholds;
  for (ThresholdRule& rule : without_shapes.rules) rule.shape.assign(1, '*');
  RequireRulesMatch(without_shapes, names, phases);
}

/// A case has counters for the kernel, or for its phases, in a recording.
bool IsRecorded(const Evidence& evidence, std::size_t index, bool of_phases) {
  return std::ranges::any_of(evidence.processes, [&](const ProcessSample& process) {
    if (process.kind != "recording" || index >= process.values.size()) return false;
    return std::ranges::any_of(process.values[index], [&](const auto& value) {
      const MetricKey& key = value.first;
      return key.phase.empty() != of_phases && key.metric != kDuration && key.metric != kCycles;
    });
  });
}

/// Notes counters, or phases, that only one side has: nothing compares them.
void NoteOneSided(const JudgeContext& context, const std::vector<CaseWork>& works, GateResult& result) {
  for (const bool of_phases : {false, true}) {
    for (const bool base_lacks : {false, true}) {
      std::size_t cases = 0;
      std::string first;
      for (const CaseWork& work : works) {
        if (!work.compare_speed || (of_phases && PhaseModelsDiffer(*work.base, *work.candidate))) continue;
        const bool base = IsRecorded(context.input.base, work.base_index, of_phases);
        const bool candidate = IsRecorded(context.input.candidate, work.candidate_index, of_phases);
        if (base == candidate || base == base_lacks) continue;
        if (cases++ == 0) first = work.Name();
      }
      if (cases == 0) continue;
      result.notes.push_back(
          fmt::format("the {} has no {} of {}{}, the {} has: they were not compared", base_lacks ? "base" : "candidate",
                      of_phases ? "phases" : "counters", OneLine(first, 80),
                      cases == 1 ? "" : fmt::format(" and {} more case{}", cases - 1, cases == 2 ? "" : "s"),
                      base_lacks ? "candidate" : "base"));
      result.complete = false;
    }
  }
}

/// Notes what is known of only one side's machine, or was measured on only one side: nothing compares it.
void NoteUnknown(const JudgeContext& context, const std::vector<CaseWork>& works, GateResult& result) {
  if (!context.Dynamic() || !context.comparable) return;
  const auto note = [&](const std::string& text) {
    result.notes.push_back(text);
    result.complete = false;
  };
  const Environment& base = context.input.base.environment;
  const Environment& candidate = context.input.candidate.environment;
  for (const EnvironmentField& field : kEnvironmentFields) {
    const bool hertz = field.hertz != nullptr;
    const bool driver = field.text == &Environment::driver_version || field.text == &Environment::cuda_driver_version;
    if (!hertz && !driver) continue;
    const bool before = hertz ? base.*field.hertz > 0 : !(base.*field.text).empty();
    const bool after = hertz ? candidate.*field.hertz > 0 : !(candidate.*field.text).empty();
    if (before != after) note(fmt::format("{}: unknown in the {}", field.label, before ? "candidate" : "base"));
    const bool named = field.text != &Environment::driver_version || before || after;
    if (!named) note(fmt::format("{}: unknown on both sides", field.label));
  }
  const auto recorded = [](const Evidence& evidence) {
    return std::ranges::any_of(evidence.processes, [](const ProcessSample& one) { return one.kind == "recording"; });
  };
  if (context.Paired() && !context.input.drawn_pairs &&
      (!recorded(context.input.base) || !recorded(context.input.candidate))) {
    note("there are no recordings of both sides: counters and phases were not compared");
  } else if (!context.input.drawn_pairs) {
    NoteOneSided(context, works, result);
  }
}

std::int64_t UnreadCount(const Evidence& evidence) {
  return static_cast<std::int64_t>(evidence.unread_code.size()) + evidence.unread_more;
}

/// Files whose GPU code is in no case and not the same on both sides, sorted. Empty where one side is not known.
std::vector<std::string> FilesWithOtherCode(const GateInput& input) {
  std::vector<std::string> files;
  const auto& base = input.base.other_code;
  const auto& candidate = input.candidate.other_code;
  if (!base || !candidate) return files;
  for (const auto& [file, hash] : *base) {
    const auto found = candidate->find(file);
    if (found == candidate->end() || found->second != hash) files.push_back(file);
  }
  for (const auto& [file, hash] : *candidate) {
    if (!base->contains(file)) files.push_back(file);
  }
  std::ranges::sort(files);
  return files;
}

/// "a.o, b.o and 3 more"
std::string NameFew(const std::vector<std::string>& files) {
  constexpr std::size_t kMostNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(files.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + OneLine(files[i], 80);
  }
  return files.size() > kMostNamed ? fmt::format("{} and {} more", text, files.size() - kMostNamed) : text;
}

void NoteOtherCode(const GateInput& input, GateResult& result) {
  const auto names = [](const Evidence& evidence) {
    std::vector<std::string> files;
    if (evidence.other_code) {
      for (const auto& [file, hash] : *evidence.other_code) files.push_back(file);
    }
    return files;
  };
  if (input.base.other_code.has_value() != input.candidate.other_code.has_value()) {
    const bool in_base = input.base.other_code.has_value();
    const std::vector<std::string> files = names(in_base ? input.base : input.candidate);
    if (files.empty()) return;
    result.notes.push_back(fmt::format("{}: {}: GPU code that no kernel here has, in {}; give the files one by one",
                                       in_base ? "base" : "candidate", kNotCompared, NameFew(files)));
    result.complete = false;
    return;
  }
  const std::vector<std::string> differing = FilesWithOtherCode(input);
  std::vector<std::string> same = names(input.base);
  std::erase_if(same, [&](const std::string& file) { return std::ranges::binary_search(differing, file); });
  if (!same.empty())
    result.notes.push_back("the same on both sides: GPU code that no kernel here has, in " + NameFew(same));
  if (differing.empty()) return;
  result.notes.push_back(
      fmt::format("{}: other GPU code in {}; give the files one by one", kNotCompared, NameFew(differing)));
  result.complete = false;
}

void AddNotes(const JudgeContext& context, const std::vector<CaseWork>& works, GateResult& result) {
  const GateInput& input = context.input;
  for (const auto& [side, evidence] : {std::pair{"base", &input.base}, {"candidate", &input.candidate}}) {
    for (const std::string& loss : evidence->losses) {
      result.notes.push_back(fmt::format("{}: {}", side, OneLine(loss)));
      if (loss.starts_with(kNotCompared)) result.complete = false;
    }
    constexpr std::size_t kMostNamed = 20;
    const std::size_t named = std::min(evidence->unread_code.size(), kMostNamed);
    for (std::size_t i = 0; i < named; ++i) {
      result.notes.push_back(
          fmt::format("{}: machine code was not read: {}", side, OneLine(evidence->unread_code[i], 300)));
    }
    const std::int64_t more = UnreadCount(*evidence) - static_cast<std::int64_t>(named);
    if (more > 0) result.notes.push_back(fmt::format("{}: {} more images were not read", side, more));
    if (named > 0 || more > 0) result.complete = false;
  }
  NoteOtherCode(input, result);
  const std::string& before = input.base.environment.tool_version;
  const std::string& after = input.candidate.environment.tool_version;
  if (context.Dynamic() && !before.empty() && !after.empty() && before != after) {
    result.notes.push_back(
        fmt::format("measured by two versions of the tool, {} and {}: the meaning of a metric may differ",
                    OneLine(before, 40), OneLine(after, 40)));
  }
  for (const ThresholdRule& rule : context.thresholds.rules) {
    if (rule.expires.empty() || input.today <= rule.expires) continue;
    result.notes.push_back(fmt::format("{}: the {} for {} of {} expired on {} ({})", context.Place(rule),
                                       rule.exception ? "exception" : "rule", rule.metric, rule.kernel, rule.expires,
                                       OneLine(rule.owner, 60)));
  }
  for (const CaseWork& work : works) {
    if (work.base == nullptr) result.notes.push_back("new case without a base: " + work.Name());
  }
  const auto unverified = std::ranges::count_if(works, [](const CaseWork& work) {
    const auto verified = [](const CaseFacts& facts) {
      return facts.verification && (facts.verification->draws > 0 || !facts.verification->error.empty());
    };
    return work.base != nullptr && work.candidate != nullptr && !verified(*work.base) && !verified(*work.candidate);
  });
  if (context.Dynamic() && unverified > 0) {
    result.notes.push_back(fmt::format("{} of {} cases were verified on neither side: their results may be wrong",
                                       unverified, works.size()));
  }
  NoteUnknown(context, works, result);
  if (const std::string note = NoteOnCards(context); !note.empty() && context.comparable) result.notes.push_back(note);
  const auto dropped = std::ranges::count_if(context.timing_pairs, &ProcessPair::throttled);
  if (dropped > 0) {
    result.notes.push_back(
        fmt::format("{} of {} pairs dropped: the GPU was throttled", dropped, context.timing_pairs.size()));
  }
}

/// The same machine code is not slower by itself, but other host code may launch it differently.
void NoteOtherHostCode(const JudgeContext& context, const std::vector<CaseWork>& works, GateResult& result) {
  std::size_t cases = 0;
  std::string first;
  for (const CaseWork& work : works) {
    if (!work.verdict.identical || !work.compare_speed || work.verdict.same_host_code.value_or(true)) continue;
    if (cases++ == 0) first = work.Name();
  }
  if (cases == 0) return;
  result.notes.push_back(
      fmt::format("the same machine code, other host code: {} ({}{})",
                  context.Dynamic() ? "timed" : "not timed; gate --pair times it", OneLine(first, 80),
                  cases == 1 ? "" : fmt::format(" and {} more case{}", cases - 1, cases == 2 ? "" : "s")));
}

/// A demand on a metric that was not measured checks nothing: an error in the rule. It is only a note if just machine
/// code is compared, if the rule may be about what was not selected, or about a case whose speed is not judged, and in
/// a run of pairs, which measures what rules name: it was saved before that, or lost it.
void RequireChecked(const JudgeContext& context, const std::vector<CaseWork>& works,
                    const std::set<const ThresholdRule*>& checked, GateResult& result) {
  for (const ThresholdRule& rule : context.thresholds.rules) {
    const bool expired = !rule.expires.empty() && context.input.today > rule.expires;
    if ((!rule.minimum && !rule.maximum) || expired || checked.contains(&rule)) continue;
    // A later rule with the same demand was checked instead.
    const bool overruled = std::ranges::any_of(checked, [&](const ThresholdRule* other) {
      return other > &rule && other->metric == rule.metric && other->phase == rule.phase;
    });
    const auto here = [&](const CaseWork& work) {
      return work.candidate != nullptr && GlobMatches(rule.kernel, work.verdict.kernel) &&
             GlobMatches(rule.shape, work.verdict.shape);
    };
    if (overruled || std::ranges::none_of(works, here)) continue;
    const std::string what = fmt::format("{}: not checked, because {} of {} was not measured", context.Place(rule),
                                         rule.metric, rule.kernel);
    const bool judged =
        std::ranges::all_of(works, [&](const CaseWork& work) { return !here(work) || !work.verdict.incorrect; });
    const bool measures = context.Dynamic() && !context.Paired() && context.comparable && !context.input.partial;
    if (judged && measures && rule.severity != Severity::kWarning) {
      throw Error(
          what,
          "measure it (a recording with a larger metric set, or with phases), or give the rule severity: warning");
    }
    result.notes.push_back(what);
    // A selection of cases, machine code alone, or a warning need not cover everything.
    if (judged && context.Paired() && !context.input.partial && rule.severity != Severity::kWarning) {
      result.complete = false;
    }
  }
}

bool IsTime(const std::string& metric) { return metric == kDuration || metric == kCycles; }

/// Without a time on each side a case cannot pass.
void RequireTimes(const JudgeContext& context, CaseWork& work) {
  const bool times = std::ranges::any_of(work.verdict.comparisons,
                                         [](const Comparison& comparison) { return IsTime(comparison.metric); });
  const bool off = TimeDemand(context, work, false).severity == Severity::kOff;
  if (times || off) return;
  Comparison comparison = Compared({"", kDuration}, {}, {});
  comparison.tier = 2;
  Add(work, std::move(comparison), Verdict::kInconclusive, true,
      context.Paired() ? "not timed in any pair of processes" : "not timed on both sides without throttling");
}

/// Its launch or its arguments may decide what the same code does, and other host code may change them.
void TimeEqualCode(const JudgeContext& context, std::vector<CaseWork>& works) {
  for (CaseWork& work : works) {
    if (!work.verdict.identical || !work.compare_speed) continue;
    if (work.verdict.same_host_code.value_or(true) && !CountersDiffer(context, work)) continue;
    work.verdict.identical = false;
    work.same_code = true;
  }
}

/// The tests in a run of pairs: for code that changed, and for code that did not.
struct RunTests {
  std::vector<PairedTest> changed;
  std::vector<PairedTest> identical;
};

RunTests TestsOf(const JudgeContext& context, const std::vector<CaseWork>& works) {
  RunTests tests;
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (!works[i].compare_speed) continue;
    for (PairedTest& test : PairedTests(context, works[i], context.input.candidate, works[i].candidate_index,
                                        context.timing_pairs, context.recording_pairs)) {
      test.work = i;
      (works[i].verdict.identical ? tests.identical : tests.changed).push_back(std::move(test));
    }
  }
  return tests;
}

/// Tiers 1 to 3 of a run of pairs, and its own controls.
void JudgeRunOfPairs(const JudgeContext& context, std::vector<CaseWork>& works, GateResult& result) {
  RunTests tests = TestsOf(context, works);
  const bool timed = std::ranges::any_of(tests.changed, [&](const PairedTest& test) {
    return IsTime(test.comparison.metric) || context.RecordedInPairs();
  });
  const bool required = timed && !context.input.drawn_pairs;
  result.control = JudgeControl(context, works, tests.identical, required, result.notes);
  const bool controlled = context.input.drawn_pairs || context.input.control;
  const auto worse = [&](const PairedTest& test) {
    return IsTime(test.comparison.metric) &&
           DecideStage(test.differences.first, test.differences.limit, context.thresholds.suspect_level).worse;
  };
  if (!controlled && std::ranges::any_of(tests.identical, worse)) result.complete = false;  // there is a note
  if (controlled && (!result.control || result.control->passed)) {
    for (PairedTest& test : tests.identical) {
      if (IsTime(test.comparison.metric)) tests.changed.push_back(std::move(test));
    }
  }
  JudgePairs(context, std::move(tests.changed), result.control ? &*result.control : nullptr, works);
}

/// Tiers 1 to 3 of all cases, and the run's own controls.
void JudgeMeasurements(const JudgeContext& context, std::vector<CaseWork>& works, GateResult& result) {
  TimeEqualCode(context, works);
  if (context.Paired()) JudgeRunOfPairs(context, works, result);
  for (CaseWork& work : works) {
    if (!work.compare_speed) continue;
    if (work.verdict.identical) {
      if (!context.Paired()) JudgeEqualCode(context, work);
      continue;
    }
    if (!context.Paired()) JudgeUnpaired(context, work);
    RequireTimes(context, work);
    JudgeCounters(context, work);
    JudgeMissingPhases(context, work);
  }
}

/// "2 cubins of the candidate were not read"; empty: all were.
std::string TellUnread(const GateInput& input) {
  std::string text;
  for (const auto& [side, evidence] : {std::pair{"base", &input.base}, {"candidate", &input.candidate}}) {
    const std::int64_t count = UnreadCount(*evidence);
    if (count == 0) continue;
    text += fmt::format("{}{} cubin{} of the {}", text.empty() ? "" : " and ", count, count == 1 ? "" : "s", side);
  }
  return text.empty() ? text : text + " not read, see the notes";
}

/// For a comparison of machine code: what is known about the code that launches it.
std::string HostCodeOf(const GateResult& result) {
  const auto any = [&](std::optional<bool> same) {
    return std::ranges::any_of(result.cases, [&](const CaseVerdict& one) { return one.same_host_code == same; });
  };
  return any(false) ? "; other host code, which was not timed" : any({}) ? "; host code was not compared" : "";
}

/// What the first of several cases with this verdict is called.
const char* RankName(Verdict verdict) {
  return verdict == Verdict::kImproved ? "best" : verdict == Verdict::kMissing ? "one" : "worst";
}

std::string Headline(const GateResult& result, const std::string& unread) {
  const std::string verdict = fmt::format("{}: ", ToString(result.verdict));
  if (result.cases.empty()) return verdict + "there is no kernel to judge";
  if (result.verdict == Verdict::kIncomparable) return verdict + result.incomparable.front();
  if (result.verdict == Verdict::kInconclusive && result.control && !result.control->passed) {
    return verdict + result.control->reason;
  }
  const CaseVerdict& worst = result.cases.front();
  if (result.verdict == Verdict::kInconclusive && worst.verdict < result.verdict && !unread.empty()) {
    return verdict + unread;
  }
  const auto count = [&](auto&& matches) { return std::ranges::count_if(result.cases, matches); };
  if (result.verdict == Verdict::kPass) {
    const auto same = count([](const CaseVerdict& one) { return one.identical; });
    return fmt::format("{}{} case{}{}{}", verdict, result.cases.size(), result.cases.size() == 1 ? "" : "s",
                       same > 0 ? fmt::format(", {} with the same machine code", same) : "",
                       result.design == "static" ? HostCodeOf(result) : "");
  }
  const auto alike = count([&](const CaseVerdict& one) { return one.verdict == result.verdict; });
  const std::string name = worst.shape.empty() ? worst.kernel : worst.kernel + " " + worst.shape;
  return fmt::format("{}{}: {}{}", verdict, OneLine(name, 80), worst.headline,
                     alike > 1 ? fmt::format(" ({} of {} cases)", RankName(result.verdict), alike) : "");
}

void Conclude(const JudgeContext& context, std::vector<CaseWork>& works, GateResult& result) {
  for (CaseWork& work : works) {
    LetTimeDecide(work);
    TellCase(context, work);
    if (!work.note.empty()) result.notes.push_back(work.Name() + ": " + work.note);
    if (!work.gap.empty()) {
      result.notes.push_back(work.Name() + ": " + work.gap);
      result.complete = false;
    }
    // Also if code or counters decided the case: the report should say what it costs. Not if the suspicion is only a
    // warning about a call that is not slower.
    const bool suspect = !work.verdict.incorrect && std::ranges::any_of(work.verdict.comparisons, [&](const auto& one) {
      // More pairs cannot settle a suspicion about the code: time did, or could not.
      return one.tier > 0 && one.verdict == Verdict::kSuspect && (one.blocking || work.not_slower.empty());
    });
    if (suspect && context.Paired() && !context.input.second_stage) result.suspects.push_back(work.Name());
    result.cases.push_back(std::move(work.verdict));
  }
  // Order among equal verdicts: wrong results first, then by time, then by whatever decided.
  const auto weight = [](const CaseVerdict& one) {
    double time = 0.0;
    double worst = 0.0;
    for (const Comparison& comparison : one.comparisons) {
      const double change = comparison.change.value_or(0.0);
      if (IsTime(comparison.metric) && std::abs(change) > std::abs(time)) time = change;
      if (comparison.blocking && comparison.verdict == one.verdict) worst = std::max(worst, change);
    }
    return std::tuple(one.verdict, one.incorrect, one.verdict == Verdict::kImproved ? -time : time, worst);
  };
  std::ranges::stable_sort(result.cases,
                           [&](const CaseVerdict& a, const CaseVerdict& b) { return weight(a) > weight(b); });
  result.verdict = result.cases.empty() ? Verdict::kInconclusive : result.cases.front().verdict;
  if (!context.comparable) result.verdict = std::max(result.verdict, Verdict::kIncomparable);
  if (result.control && !result.control->passed) result.verdict = std::max(result.verdict, Verdict::kInconclusive);
  std::string unread = TellUnread(context.input);
  if (const auto files = FilesWithOtherCode(context.input); !files.empty()) {
    unread +=
        fmt::format("{}other GPU code, which was not compared, in {}", unread.empty() ? "" : "; ", NameFew(files));
  }
  if (!unread.empty()) result.verdict = std::max(result.verdict, Verdict::kInconclusive);
  result.headline = Headline(result, unread);
}

}  // namespace

std::string ToString(Verdict verdict) { return kVerdicts.at(static_cast<std::size_t>(verdict)); }

GateResult Judge(const GateInput& given, const Thresholds& given_thresholds) {
  GateResult result;
  const std::optional<GateInput> of_card = WithCandidatesCard(given);
  const GateInput& same_card = of_card ? *of_card : given;
  const std::optional<GateInput> of_one_model = WithoutForeignPhases(same_card, result.notes);
  const GateInput& one_model = of_one_model ? *of_one_model : same_card;
  const std::optional<GateInput> renamed = WithRenamedPhases(one_model, result.notes);
  const GateInput& input = renamed ? *renamed : one_model;
  if (of_one_model) result.complete = false;
  result.design = input.design;
  result.base = input.base.environment;
  result.candidate = input.candidate.environment;
  result.base_origin = input.base.origin;
  result.candidate_origin = input.candidate.origin;
  result.reproduce = input.reproduce;
  result.today = input.today;
  result.incomparable = Incomparable(input);
  std::vector<CaseWork> works = Cases(input);
  const bool left_out =
      given_thresholds.found && !input.partial && AreAboutOtherKernels(given_thresholds, NamesOf(works));
  const Thresholds defaults;
  const Thresholds& thresholds = left_out ? defaults : given_thresholds;
  RequireRules(input, same_card.base, thresholds, works);

  JudgeContext context{input, thresholds, result.incomparable.empty(), {}, {}, {}, {}, {}};
  for (const ThresholdRule& rule : thresholds.rules) context.ruled.insert(rule.metric);
  if (context.Paired()) {
    context.timing_pairs = PairsOf(input.base, input.candidate, "timing");
    context.recording_pairs = PairsOf(input.base, input.candidate, "recording");
    if (input.control) {
      context.control_pairs = PairsOf(input.base, *input.control, "timing");
      for (const auto& pairs : {context.control_pairs, PairsOf(input.base, *input.control, "recording")}) {
        for (const ProcessPair& pair : pairs) {
          if (!pair.throttled) context.beside.emplace(pair.base, pair.candidate);
        }
      }
    }
  }
  AddNotes(context, works, result);
  std::set<const ThresholdRule*> checked;
  for (CaseWork& work : works) {
    JudgeCorrectness(context, work);
    JudgeCode(context, work);
  }
  JudgeLtoIr(works);
  if (context.comparable) NoteOtherHostCode(context, works, result);
  if (context.Dynamic() && context.comparable) JudgeMeasurements(context, works, result);
  for (CaseWork& work : works) {
    if (!work.verdict.incorrect) JudgeDemands(context, work, checked);
  }
  RequireChecked(context, works, checked, result);
  Conclude(context, works, result);
  if (left_out) {
    result.notes.push_back(LeftOutNote(given_thresholds));
  } else if (thresholds.found) {
    result.notes.push_back(
        fmt::format("limits from {} in the current folder; --thresholds names others, or none", thresholds.file));
  }
  return result;
}

int ExitCode(const GateResult& result, bool strict) {
  switch (result.verdict) {
    case Verdict::kRegression:
      return 1;
    case Verdict::kMissing:
    case Verdict::kSuspect:
    case Verdict::kInconclusive:
    case Verdict::kIncomparable:
      return strict ? 3 : 0;
    case Verdict::kPass:
    case Verdict::kImproved:
      break;
  }
  return strict && !result.complete ? 3 : 0;
}

}  // namespace fa_profile::gate
