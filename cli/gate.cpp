#include "gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <iostream>

#include "fa_profile/baseline.h"
#include "fa_profile/baseline_files.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gate.h"
#include "fa_profile/gate_report.h"
#include "fa_profile/page.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/repository.h"
#include "fa_profile/utc_time.h"
#include "formats.h"
#include "gate_data.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kThresholds = "ci/thresholds.yaml";
constexpr std::size_t kMostThresholdBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostEvidenceBytes = std::size_t{64} << 20U;

Thresholds ReadThresholds(const GateOptions& options) {
  std::string path = options.thresholds;
  if (path.empty()) {
    if (!fs::exists(kThresholds)) return {};
    path = kThresholds;
  }
  return ParseThresholds(ReadPlainFile(path, kMostThresholdBytes), path);
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// What a build is held against may be written down: its evidence, or a promoted baseline.
Evidence StaticSide(const std::string& path, const StaticOptions& options) {
  return EndsWith(path, ".json") ? LoadEvidence({path}) : StaticEvidence(path, options);
}

void Save(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  WriteWholeFile(path, text);
  std::cerr << "fa-profile: saved " << path << '\n';
}

bool IsPromoted(const std::vector<std::string>& files) {
  if (files.size() != 1 || !EndsWith(files.front(), ".json")) return false;
  return ReadPlainFile(files.front(), kMostEvidenceBytes).find("\"receipt\"") != std::string::npos;
}

GateInput FilesInput(const GateOptions& options) {
  GateInput input;
  if (options.candidate.empty()) {
    throw Error("there is no candidate", "give --candidate F.fap, as often as there are processes of it");
  }
  // Reading a recording takes longer than judging two: both sides at once.
  std::future<Evidence> base;
  if (!options.baseline.empty()) base = std::async(std::launch::async, [&] { return LoadEvidence(options.baseline); });
  input.candidate = LoadEvidence(options.candidate);
  if (options.baseline.empty()) {
    const PromotedBaseline baseline = FindBaseline(options.baselines, input.candidate.environment, options.suite);
    input.base = baseline.evidence;
    input.base.origin = "baseline " + baseline.lineage;
    input.base_is_promoted = true;
  } else {
    input.base = base.get();
    input.base_is_promoted = IsPromoted(options.baseline);
  }
  input.design = input.base_is_promoted ? "baseline" : "recordings";
  return input;
}

GateInput StaticInput(const GateOptions& options) {
  GateInput input;
  input.design = "static";
  input.candidate = StaticEvidence(options.statics.back(), options.head_static);
  if (options.statics.size() == 2) {
    input.base = StaticSide(options.statics.front(), options.base_static);
  } else {
    throw Error("there is nothing to hold " + options.statics.back() + " against",
                "give two builds, --static BASE HEAD; BASE may be evidence that --static ... --save wrote");
  }
  AlignWarnings(input.base, input.candidate);
  return input;
}

int Finish(const GateOptions& options, const GateResult& result) {
  // The report goes where nothing else is written to stdout.
  const bool stdout_taken =
      std::ranges::any_of(std::initializer_list<const std::string*>{&options.outputs.markdown, &options.outputs.sarif,
                                                                    &options.outputs.junit, &options.outputs.json,
                                                                    &options.outputs.textfile},
                          [](const std::string* path) { return *path == "-"; });
  if (!stdout_taken) std::cout << options.format->gate(result);
  WriteGateOutputs(result, options.outputs);
  return ExitCode(result, options.strict);
}

int Explain(const Thresholds& thresholds, const GateInput& input) {
  std::vector<std::pair<std::string, std::string>> cases;
  for (const CaseFacts& facts : input.candidate.cases) cases.emplace_back(facts.kernel, facts.shape);
  std::cout << ExplainThresholds(thresholds, cases, input.today);
  return kExitFine;
}

void RequireOneQuestion(const GateOptions& options) {
  const int questions = static_cast<int>(!options.candidate.empty()) + static_cast<int>(!options.pair.empty()) +
                        static_cast<int>(!options.statics.empty()) + static_cast<int>(!options.replay.empty()) +
                        static_cast<int>(!options.measure.empty());
  if (questions == 1) return;
  throw Error(
      questions == 0 ? "gate has nothing to judge" : "gate judges one thing at a time",
      "give one of --candidate F.fap, --pair BASE HEAD, --static BASE HEAD, --replay RUN.json, --measure BUILD");
}

}  // namespace

int RunGate(GateOptions options) {
  RequireOneQuestion(options);
  const bool measures = !options.pair.empty() || !options.measure.empty();
  if (options.explain && measures) {
    throw Error("--explain measures nothing",
                "give it with --candidate F.fap, --static BASE HEAD or --replay RUN.json: their cases are explained");
  }
  if (!options.save.empty() && !options.replay.empty()) {
    throw Error("--replay measures nothing that --save could keep", "the run is in " + options.replay + " already");
  }
  if (const std::string why_not = measures ? WhyNoGpu() : ""; !why_not.empty()) {
    throw Error(
        (options.pair.empty() ? "--measure" : "--pair") + std::string(" needs a GPU: ") + why_not,
        "without one: --static BASE HEAD judges machine code, --replay RUN.json a run that was kept with --save");
  }
  options.outputs.render_textfile = [](const GateResult& result) { return GateTextfile(GateStateOf(result)); };
  CheckGateOutputs(options.outputs);
  const Thresholds thresholds = ReadThresholds(options);  // bad input is an error before anything is measured
  if (options.today.empty()) options.today = UtcNow("%Y-%m-%d");
  if (!options.measure.empty()) {
    if (options.save.empty()) throw Error("--measure keeps nothing by itself", "say where: --save EVIDENCE.json");
    options.run.base = options.run.candidate = options.measure;
    Save(options.save, ToJson(MeasureBuild(options.run, options.processes, options.recordings)));
    return kExitFine;
  }
  GateInput input;
  if (!options.pair.empty() || !options.replay.empty()) {
    PairRun run;
    if (!options.replay.empty()) {
      run = PairRunFromJson(ReadPlainFile(options.replay, 3 * kMostEvidenceBytes), options.replay);
    } else {
      options.run.base = options.pair.front();
      options.run.candidate = options.pair.back();
      options.run.thresholds = thresholds;
      options.run.today = options.today;
      run = RunPair(options.run);
      Save(options.save, PairRunToJson(run));
    }
    if (options.explain) {
      input.candidate = run.candidate;
      input.today = options.today;
      return Explain(thresholds, input);
    }
    options.outputs.error_rate = GateErrorRate();
    return Finish(options, JudgePair(run, thresholds, options.today, options.run.reproduce, options.run.partial));
  }
  input = options.statics.empty() ? FilesInput(options) : StaticInput(options);
  input.partial = options.run.partial;
  input.today = options.today;
  input.reproduce = options.run.reproduce;
  Save(options.save, ToJson(input.candidate));
  if (options.explain) return Explain(thresholds, input);
  return Finish(options, Judge(input, thresholds));
}

}  // namespace fa_profile
