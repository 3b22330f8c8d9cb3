#include "fa_profile/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "evidence_json.h"
#include "fa_profile/error.h"
#include "fa_profile/sha256.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kMostSources = 1000;
constexpr const char* kRestore =
    "baselines are what fa-profile baseline promote writes: restore a damaged one from git, or promote again";
// At the start of a line: JSON text cannot contain a line break, so no text can imitate it.
constexpr const char* kHashLine = "\n\"sha256\": \"";

// "NVIDIA H200" -> "nvidia-h200": no character with a meaning in a path, a shell or a table.
std::string Slug(const std::string& text) {
  constexpr std::size_t kLongest = 64;
  std::string slug;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || (letter == '.' && !slug.empty() && slug.back() != '.'))) {
      slug += static_cast<char>(std::tolower(byte));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  slug.resize(std::min(slug.size(), kLongest));
  while (!slug.empty() && (slug.back() == '-' || slug.back() == '.')) slug.pop_back();
  return slug;
}

std::string OrUnknown(const std::string& text) { return text.empty() ? "unknown" : text; }

// The first few names, to keep a message short.
std::string Some(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  return fmt::format("{}{}", fmt::join(shown, "; "),
                     names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
}

std::string JsonText(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Everything except the hash, which is computed over this text.
std::string TextWithoutHash(const PromotedBaseline& baseline) {
  const Receipt& receipt = baseline.receipt;
  std::string text =
      fmt::format("{{\"format\": \"fa-profile baseline\", \"version\": {},\n\"suite\": {},\n\"lineage\": {},\n",
                  kBaselineVersion, JsonText(baseline.suite), JsonText(baseline.lineage));
  text += fmt::format(
      "\"receipt\": {{\n\"promoted_at\": {},\n\"promoted_by\": {},\n\"reason\": {},\n\"commit\": {},\n\"sources\": [",
      JsonText(receipt.promoted_at), JsonText(receipt.promoted_by), JsonText(receipt.reason), JsonText(receipt.commit));
  for (std::size_t i = 0; i < receipt.sources.size(); ++i) {
    text += (i == 0 ? "\n" : ",\n") + JsonText(receipt.sources[i]);
  }
  text += fmt::format("],\n\"previous\": {}{}", JsonText(receipt.previous), ",");
  text += kHashLine;
  text += "\"},\n\"evidence\": ";
  text += ToJson(baseline.evidence);
  text.back() = '}';  // the evidence's line break
  text += '\n';
  return text;
}

Receipt ReadReceipt(const JsonNode& node) {
  node.RequireOnly({"promoted_at", "promoted_by", "reason", "commit", "sources", "previous", "sha256"});
  if (!node.At("previous").Text().empty()) RequireHexDigits(node.At("previous"), kSha256Digits);
  RequireHexDigits(node.At("sha256"), kSha256Digits);
  return {.promoted_at = node.At("promoted_at").Text(),
          .promoted_by = node.At("promoted_by").Text(),
          .reason = node.At("reason").Text(),
          .commit = node.At("commit").Text(),
          .sources = node.At("sources").Texts(kMostSources),
          .previous = node.At("previous").Text(),
          .sha256 = node.At("sha256").Text()};
}

// Number of processes that gave a case's duration on a card, for the kind of process with more.
std::size_t Durations(const Evidence& evidence, std::size_t case_index, const std::string& card) {
  std::size_t most = 0;
  for (const char* const kind : {"timing", "recording"}) {
    const auto values = Values(evidence, case_index, kind, {"", kDuration});
    const auto here = std::ranges::count_if(
        values, [&](const auto& value) { return CardOf(evidence, evidence.processes[value.first]) == card; });
    most = std::max(most, static_cast<std::size_t>(here));
  }
  return most;
}

// The cases with durations from fewer than `least` processes of either kind, on one of the cards.
std::vector<std::string> CasesOfFewProcesses(const Evidence& evidence, std::size_t least) {
  std::vector<std::string> few;
  std::vector<std::string> cards = CardsOf(evidence);
  if (cards.empty()) cards.emplace_back();
  for (std::size_t i = 0; i < evidence.cases.size(); ++i) {
    for (const std::string& card : cards) {
      const std::size_t found = Durations(evidence, i, card);
      if (found >= least) continue;
      few.push_back(fmt::format("{}: {}{}", CaseName(evidence.cases[i]), found,
                                cards.size() > 1 ? " on " + QuotedText(card) : ""));
    }
  }
  return few;
}

// Cases whose speed must not become a standard. The frozen kernel has no reference to be verified with.
std::vector<std::string> CasesNotCorrect(const Evidence& evidence) {
  std::vector<std::string> wrong;
  for (const CaseFacts& facts : evidence.cases) {
    const bool looked_at = facts.verification && (facts.verification->draws > 0 || !facts.verification->error.empty());
    if (!looked_at) {
      if (facts.kernel != kReferenceKernel) wrong.push_back(CaseName(facts) + " was not verified");
    } else if (!facts.verification->correct()) {
      wrong.push_back(CaseName(facts) + " is not correct");
    } else if (!facts.refused.empty()) {
      wrong.push_back(CaseName(facts) + " is not certified: " + facts.refused);
    } else if (!facts.untimed.empty()) {
      wrong.push_back(CaseName(facts) + " cannot be timed by the judge: " + facts.untimed);
    }
  }
  return wrong;
}

void RequireFit(const Evidence& evidence, int least_processes) {
  if (evidence.cases.empty()) throw Error(evidence.origin + " contains no kernel", "promote a recording of a run");
  // A program's kernels have no shape, and no reference to be verified with.
  if (!evidence.processes.empty() &&
      std::ranges::all_of(evidence.cases, [](const CaseFacts& facts) { return facts.shape.empty(); })) {
    throw Error(evidence.origin + " cannot become a baseline: it is of a program, whose kernels nothing verifies",
                "keep the recording, and compare the next one with it: fa-profile gate --baseline KEPT.fap --candidate "
                "NEXT.fap");
  }
  if (const std::vector<std::string> wrong = CasesNotCorrect(evidence); !wrong.empty()) {
    throw Error("this run cannot become a baseline: " + Some(wrong),
                "fix the kernel, and measure with --draws above 0: the speed of a wrong kernel means nothing");
  }
  const auto throttled = std::count_if(evidence.processes.begin(), evidence.processes.end(),
                                       [](const ProcessSample& process) { return process.throttled; });
  if (throttled > 0) {
    throw Error(fmt::format("this run cannot become a baseline: the GPU was throttled in {} of {} processes", throttled,
                            evidence.processes.size()),
                "let it cool down, or lift its power limit, and measure again");
  }
  if (const auto few = CasesOfFewProcesses(evidence, static_cast<std::size_t>(least_processes)); !few.empty()) {
    throw Error(
        fmt::format("this run cannot become a baseline: each case needs durations from {} processes; too few: {}",
                    least_processes, Some(few)),
        "measure in more processes: their spread is the noise that a verdict has to exceed");
  }
  if (!evidence.losses.empty()) {
    throw Error("this run cannot become a baseline, because parts of it were lost: " + Some(evidence.losses),
                "measure again without losses");
  }
}

}  // namespace

std::string GpuFolder(const std::string& gpu_name) {
  std::string slug = Slug(gpu_name);
  if (slug.empty()) throw Error("the measurement does not name its GPU", "measure again with a newer driver");
  return slug;
}

std::string LineageOf(const Environment& environment) {
  constexpr std::int64_t kMega = 1'000'000;
  // The branch: drivers of one branch differ only in fixes, drivers of two may run a kernel differently.
  const std::string branch = environment.driver_version.substr(0, environment.driver_version.find('.'));
  const std::string clock = environment.sm_clock_max_hz > 0
                                ? fmt::format("{}MHz", (environment.sm_clock_max_hz + kMega / 2) / kMega)
                                : "unknown";
  return fmt::format("{}_{}_cuda-{}_{}", OrUnknown(Slug(environment.gpu_name)), OrUnknown(Slug(branch)),
                     OrUnknown(Slug(environment.cuda_runtime_version)), clock);
}

std::string ToJson(const PromotedBaseline& baseline) {
  std::string text = TextWithoutHash(baseline);
  const std::string hash = Sha256(text);
  return text.insert(text.find(kHashLine) + std::string_view(kHashLine).size(), hash);
}

bool IsBaselineText(const std::string& text) { return text.find("\"receipt\"") != std::string::npos; }

PromotedBaseline ParseBaseline(const std::string& text, const std::string& name) {
  const JsonFile file{name, kRestore};
  const nlohmann::json json = ParseStrictJson(text, file);
  const JsonNode document(json, file);
  RequireFormat(document, "fa-profile baseline", kBaselineVersion);
  document.RequireOnly({"format", "version", "suite", "lineage", "receipt", "evidence"});
  PromotedBaseline baseline;
  baseline.receipt = ReadReceipt(document.At("receipt"));
  // The hash first: if the file was changed, that explains every other error.
  const std::string& hash = baseline.receipt.sha256;
  const std::size_t line = text.find(kHashLine + hash + '"');
  if (line == std::string::npos ||
      Sha256(std::string(text).erase(line + std::string_view(kHashLine).size(), hash.size())) != hash) {
    document.Fail("its content does not match its receipt: it was damaged or edited by hand");
  }
  baseline.suite = document.At("suite").Text();
  if (!IsSuiteName(baseline.suite)) document.At("suite").Fail("is not a valid suite name");
  baseline.lineage = document.At("lineage").Text();
  baseline.evidence = ReadEvidence(document.At("evidence"));
  if (baseline.lineage != LineageOf(baseline.evidence.environment)) {
    document.At("lineage").Fail("does not match its environment, " + LineageOf(baseline.evidence.environment));
  }
  return baseline;
}

bool IsSuiteName(const std::string& suite) {
  constexpr std::size_t kLongest = 64;
  return !suite.empty() && suite.size() <= kLongest &&
         suite.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

void RequireSuiteName(const std::string& suite) {
  if (IsSuiteName(suite)) return;
  throw Error("invalid suite name " + QuotedText(suite), "use 1 to 64 of a-z, 0-9, _ and -: it becomes a file name");
}

PromotedBaseline Promote(Evidence evidence, const std::string& suite, const std::string& reason,
                         const std::string& promoted_by, const std::string& promoted_at,
                         const std::optional<PromotedBaseline>& previous, int least_processes) {
  RequireSuiteName(suite);
  if (reason.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw Error("a promotion needs a reason", "give it with --reason: a reviewer has to know why the standard changes");
  }
  if (std::max(reason.size(), promoted_by.size()) > kLongestText / 4) {
    throw Error("the reason or the name is too long", fmt::format("use at most {} bytes", kLongestText / 4));
  }
  RequireFit(evidence, least_processes);
  const std::string folder = GpuFolder(evidence.environment.gpu_name);
  evidence.origin = "baseline " + folder + "/" + suite;
  PromotedBaseline baseline;
  baseline.suite = suite;
  baseline.lineage = LineageOf(evidence.environment);
  baseline.receipt.promoted_at = promoted_at;
  baseline.receipt.promoted_by = promoted_by;
  baseline.receipt.reason = reason;
  baseline.receipt.commit = evidence.environment.tool_commit;
  if (previous && previous->lineage == baseline.lineage) baseline.receipt.previous = previous->receipt.sha256;
  baseline.evidence = std::move(evidence);
  return baseline;
}

}  // namespace fa_profile::gate
