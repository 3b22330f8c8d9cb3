#include "fa_profile/gate_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <future>
#include <map>

#include "fa_profile/closed_memory.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/notice.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/sha256.h"
#include "fa_profile/utc_time.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostThresholdBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostRunBytes = 3 * kLargestEvidence;
constexpr std::size_t kLargestSource = std::size_t{1} << 30U;

Thresholds ReadThresholds(std::string path) {
  if (path == kNoThresholds) return {};
  if (path.empty()) {
    if (!fs::exists(kDefaultThresholds)) return {};
  }
  const bool found = path.empty();
  if (found) path = kDefaultThresholds;
  Thresholds thresholds = ParseThresholds(ReadPlainFile(path, kMostThresholdBytes), path);
  thresholds.found = found;
  return thresholds;
}

void Save(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  WriteWholeFile(path, text);
  Notice("saved " + path);  // at once: a run takes minutes, and judging it may fail
}

/// SHA-256 of each file, for the baseline's receipt. Throws Error: two have the same content. A process counted twice
/// would make the noise look smaller than it is.
std::vector<std::string> DifferentHashes(const std::vector<std::string>& files) {
  std::vector<std::string> hashes;
  std::map<std::string, std::string> seen;
  for (const std::string& file : files) {
    hashes.push_back(Sha256(ReadPlainFile(file, kLargestSource)));
    if (const auto [first, is_new] = seen.emplace(hashes.back(), file); !is_new) {
      throw Error(file + " has the same content as " + first->second, "give each process once");
    }
  }
  return hashes;
}

GateInput FilesInput(const GateOptions& options) {
  for (const auto* const files : {&options.baseline, &options.candidate}) {
    if (files->size() > 1) (void)DifferentHashes(*files);
  }
  GateInput input;
  // Reading a recording takes longer than judging two: both sides at once.
  std::future<Evidence> base;
  if (!options.baseline.empty()) base = std::async(std::launch::async, [&] { return LoadEvidence(options.baseline); });
  input.candidate = LoadEvidence(options.candidate);
  if (options.explain && options.baseline.empty()) {
    return input;  // the limits for the candidate's cases, whatever it is compared with
  }
  if (options.baseline.empty()) {
    const PromotedBaseline baseline = FindBaseline(options.baselines, input.candidate.environment, options.suite);
    input.base = baseline.evidence;
    input.base.origin = "baseline " + baseline.lineage;
    input.base_is_promoted = true;
  } else {
    input.base = base.get();
    input.base_is_promoted = options.baseline.size() == 1 && IsPromotedBaseline(options.baseline.front());
  }
  input.design = input.base_is_promoted ? "baseline" : "recordings";
  return input;
}

GateInput StaticInput(const GateOptions& options) {
  const std::string& base = options.statics.front();
  GateInput input;
  input.design = "static";
  input.base = base.ends_with(".json") ? LoadEvidence({base}) : StaticEvidence(base, options.base_static);
  input.candidate = StaticEvidence(options.statics.back(), options.head_static);
  AlignWarnings(input.base, input.candidate);
  return input;
}

PairRun Measure(GateOptions& options, const Thresholds& thresholds) {
  options.run.base = options.pair.front();
  options.run.candidate = options.pair.back();
  options.run.thresholds = thresholds;
  PairRun run = RunPair(options.run);
  Save(options.save, PairRunToJson(run));
  return run;
}

std::string Explain(const Thresholds& thresholds, const Evidence& candidate, const std::string& today) {
  std::vector<std::pair<std::string, std::string>> cases;
  for (const CaseFacts& facts : candidate.cases) cases.emplace_back(facts.kernel, facts.shape);
  if (thresholds.found && AreAboutOtherKernels(thresholds, cases)) {
    return ExplainThresholds({}, cases, today) + "\n" + LeftOutNote(thresholds) + "\n";
  }
  return ExplainThresholds(thresholds, cases, today);
}

void RequireOneQuestion(const GateOptions& options) {
  const int questions = static_cast<int>(!options.candidate.empty()) + static_cast<int>(!options.pair.empty()) +
                        static_cast<int>(!options.statics.empty()) + static_cast<int>(!options.replay.empty()) +
                        static_cast<int>(!options.measure.empty());
  if (questions != 1) {
    throw Error(
        questions == 0 ? "gate needs something to judge" : "gate judges one thing at a time",
        "give one of --candidate F.fap, --pair BASE HEAD, --static BASE HEAD, --replay RUN.json, --measure BUILD");
  }
  if (options.statics.size() == 1) {
    throw Error("--static needs a base to compare " + options.statics.back() + " with",
                "give two builds, --static BASE HEAD; BASE may be evidence that --static ... --save wrote");
  }
  const bool measures = !options.pair.empty() || !options.measure.empty();
  if (options.explain && measures) {
    throw Error("--explain does not measure",
                "use it with --candidate F.fap, --static BASE HEAD or --replay RUN.json: their cases are explained");
  }
  if (!options.save.empty() && !options.replay.empty()) {
    throw Error("--save has no effect with --replay", "remove it: the run is in " + options.replay + " already");
  }
  if (!options.measure.empty() && options.save.empty()) {
    throw Error("--measure needs a file to write to", "add --save EVIDENCE.json");
  }
  if (measures && !options.why_no_gpu.empty()) {
    throw Error(
        (options.pair.empty() ? "--measure" : "--pair") + std::string(" needs a GPU: ") + options.why_no_gpu,
        "without a GPU use --static BASE HEAD to judge machine code, or --replay RUN.json to judge a saved run");
  }
}

}  // namespace

GateAnswer RunGate(GateOptions options) {
  RequireOneQuestion(options);
  const Thresholds thresholds = ReadThresholds(options.thresholds);  // so that its errors come before any measurement
  if (options.run.today.empty()) options.run.today = UtcNow("%Y-%m-%d");
  const PairOptions& run_options = options.run;
  std::optional<ClosedMemory> closed;  // builds are user code
  if (!options.measure.empty() || !options.pair.empty()) closed.emplace();
  if (!options.measure.empty()) {
    options.run.base = options.run.candidate = options.measure;
    options.run.thresholds = thresholds;  // their rules name counters, which have to be measured
    Save(options.save, ToJson(MeasureBuild(options.run, options.processes, options.recordings)));
    return {};
  }
  if (!options.pair.empty() || !options.replay.empty()) {
    const PairRun run = options.replay.empty()
                            ? Measure(options, thresholds)
                            : PairRunFromJson(ReadPlainFile(options.replay, kMostRunBytes), options.replay);
    if (options.explain) return {std::nullopt, Explain(thresholds, run.candidate, run_options.today)};
    return {JudgePair(run, thresholds, run_options.today, run_options.reproduce, run_options.partial), ""};
  }
  GateInput input = options.statics.empty() ? FilesInput(options) : StaticInput(options);
  input.partial = run_options.partial;
  input.today = run_options.today;
  input.reproduce = run_options.reproduce;
  Save(options.save, ToJson(input.candidate));
  if (options.explain) return {std::nullopt, Explain(thresholds, input.candidate, input.today)};
  return {Judge(input, thresholds), ""};
}

std::string PromoteFiles(const std::vector<std::string>& files, const std::string& baselines, const std::string& suite,
                         const std::string& reason, const std::string& promoted_by) {
  const std::vector<std::string> hashes = DifferentHashes(files);
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < files.size(); ++i) {
    sources.push_back(fmt::format("{} sha256:{}", fs::path(files[i]).filename().string(), hashes[i]));
  }
  Evidence evidence = LoadEvidence(files, Cards::kSeveral);
  const BaselineFolder folder(baselines, evidence.environment.gpu_name);
  const std::optional<PromotedBaseline> previous =
      IsSuiteName(suite) ? folder.Find(suite, LineageOf(evidence.environment)) : std::nullopt;
  PromotedBaseline baseline =
      Promote(std::move(evidence), suite, reason, promoted_by, UtcNow("%Y-%m-%dT%H:%M:%SZ"), previous);
  baseline.receipt.sources = sources;
  return folder.Store(baseline);
}

}  // namespace fa_profile::gate
