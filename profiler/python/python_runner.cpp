#include "fa_profile/python_runner.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/private_folder.h"
#include "fa_profile/strict_json.h"
#include "fa_profile/text.h"

namespace fa_profile::python {
namespace {

constexpr std::size_t kMostAnswerBytes = std::size_t{32} << 20U;
constexpr std::size_t kMostCases = 1000;
constexpr std::size_t kMostSources = 100'000;
constexpr std::size_t kMostSamples = 1'000'000;
constexpr int kMostDraws = 1'000'000;

std::string Name(const std::filesystem::path& path) { return Printable(path.filename().string()); }

JsonFile AnswerFile() {
  return {"invalid answer of the Python runner", "this is a fault of fa-profile or of the file's own code: report it"};
}

// JSON has no infinity and no NaN: they are null.
double NumberOrInfinity(const JsonNode& node) {
  return node.value().is_null() ? std::numeric_limits<double>::infinity() : node.Number();
}

std::int64_t Count(const JsonNode& node) { return node.Integer(0, std::numeric_limits<std::int64_t>::max()); }

PythonVerification ReadVerification(const JsonNode& node) {
  PythonVerification result{node.At("case").Text(), {}, Printable(node.At("worst").Text())};
  Verification& verification = result.verification;
  verification.draws = static_cast<int>(node.At("draws").Integer(0, kMostDraws));
  verification.draws_passed = static_cast<int>(node.At("draws_passed").Integer(0, verification.draws));
  verification.max_abs_error = NumberOrInfinity(node.At("max_abs_error"));
  verification.max_error_ratio = NumberOrInfinity(node.At("max_error_ratio"));
  // A recording holds finite numbers.
  for (double* const number : {&verification.max_abs_error, &verification.max_error_ratio})
    *number = std::min(*number, std::numeric_limits<double>::max());
  verification.nonfinite = Count(node.At("nonfinite"));
  verification.unwritten = Count(node.At("unwritten"));
  verification.error = SafeLine(node.At("error").Text(), 1000);
  return result;
}

double Positive(const JsonNode& node) {
  const double number = node.Number();
  if (number <= 0.0) node.Fail("must be above 0");
  return number;
}

PythonTiming ReadTiming(const JsonNode& node) {
  PythonTiming result{node.At("case").Text(), {}, {}};
  if (const auto error = node.Find("error")) {
    result.error = SafeLine(error->Text(), 1000);
    return result;
  }
  result.timing.method = SafeLine(node.At("method").Text());
  for (const JsonNode& duration : node.At("durations_ns").Items(kMostSamples))
    result.timing.durations_ns.push_back(Positive(duration));
  if (const auto clock = node.Find("sm_clock_hz")) result.timing.sm_clock_hz = Positive(*clock);
  return result;
}

// The complete lines of an answer.
std::vector<std::string> WholeLines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    lines.push_back(text.substr(start, end - start));
  return lines;
}

std::string HowItEnded(int status, bool timed_out, double seconds) {
  if (timed_out) return fmt::format("did not end within {:.3g} s", seconds);
  ChildEnd end;
  end.status = status;
  const std::string how = fa_profile::Describe(end);
  return how.empty() ? "ended with exit code 0" : how;
}

// The file, or Python itself, ended the process.
Error NotLoaded(const PythonSetup& setup, const ChildEnd& end, const std::string& how) {
  const std::string file = Printable(setup.kernel.file);
  if (end.timed_out) {
    return Error(file + " was not loaded: its process " + how,
                 "an import hangs, or takes longer: --timeout SECONDS gives it more time");
  }
  const std::string described = fa_profile::Describe(end);
  return Error(file + " ended its process while it was loaded: it " + (described.empty() ? how : Printable(described)),
               "try it by hand: " + Printable(setup.python) + " " + file);
}

std::vector<std::string> WithCases(std::vector<std::string> arguments, const std::vector<std::string>& options,
                                   const std::vector<std::string>& cases) {
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const std::string& name : cases) arguments.push_back("--case=" + name);
  return arguments;
}

}  // namespace

std::string ContractNote(const PythonDescription& base, const PythonDescription& candidate) {
  if (base.contract == candidate.contract) return "";
  std::string note =
      "its shapes, tolerance, inputs() or reference() differ from the base's: each side is verified by its own";
  if (candidate.absolute_tolerance > base.absolute_tolerance ||
      candidate.relative_tolerance > base.relative_tolerance) {
    note += fmt::format("; its tolerance is looser: {} + {}*|reference|, the base's {} + {}*|reference|",
                        candidate.absolute_tolerance, candidate.relative_tolerance, base.absolute_tolerance,
                        base.relative_tolerance);
  }
  return note;
}

std::string Describe(const PythonVerification& result) {
  const Verification& verification = result.verification;
  if (!verification.error.empty()) return "FAILED: " + verification.error;
  std::string text = verification.correct() ? "correct" : "WRONG";
  text += fmt::format(", {} of {} draws, max error {:.2e}", verification.draws_passed, verification.draws,
                      verification.max_abs_error);
  if (verification.correct()) return text;
  text += fmt::format(" ({:.3g} times the tolerance)", verification.max_error_ratio);
  if (verification.nonfinite > 0) text += fmt::format(", {} NaN or infinite", verification.nonfinite);
  if (verification.unwritten > 0) text += fmt::format(", {} never written", verification.unwritten);
  return result.worst.empty() ? text : text + ": " + result.worst;
}

/// The answers from one process.
struct PythonRunner::Reply {
  bool loaded = false;                  // the file was imported
  bool done = false;                    // everything that this process could answer was answered
  std::vector<nlohmann::json> answers;  // the others
  std::string how;                      // how the process ended

  void TakeFile(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) Take(ReadPlainFile(path, kMostAnswerBytes));
  }
  void Take(const std::string& text) {
    const JsonFile file = AnswerFile();
    for (const std::string& line : WholeLines(text)) {
      nlohmann::json json = ParseStrictJson(line, file);
      if (json.contains("error")) {
        const JsonNode error = JsonNode(json, file).At("error");
        throw Error(Printable(error.At("message").Text()), Printable(error.At("hint").Text()));
      }
      loaded = loaded || json.contains("loaded");
      done = done || json.contains("done");
      if (!json.contains("loaded") && !json.contains("done")) answers.push_back(std::move(json));
    }
  }
};

std::vector<std::string> PythonRunner::Command(const std::string& mode, const std::string& answer) const {
  return {setup_.python,
          setup_.runner,
          mode,
          "--kernel",
          setup_.kernel.ToString(),
          "--answer",
          answer,
          "--device",
          std::to_string(setup_.device)};
}

void PythonRunner::Print(const std::string& text) const {
  constexpr std::size_t kMostLines = 20;
  constexpr std::size_t kWidest = 200;
  if (!setup_.print) return;
  std::vector<std::string> lines = WholeLines(text.ends_with('\n') ? text : text + "\n");
  std::erase(lines, "");
  const std::size_t skipped = lines.size() - std::min(lines.size(), kMostLines);
  const std::string start = Name(setup_.kernel.file) + " printed: ";
  if (skipped > 0) setup_.print(start + fmt::format("({} lines before)", skipped));
  for (std::size_t i = skipped; i < lines.size(); ++i) setup_.print(start + Truncate(Printable(lines[i]), kWidest));
}

PythonRunner::Reply PythonRunner::Ask(const std::string& mode, const std::vector<std::string>& options,
                                      const std::vector<std::string>& cases) const {
  const PrivateFolder folder;
  const std::string answer = (folder.path() / "answer").string();
  ChildLimits limits;
  limits.seconds = setup_.timeout_seconds * static_cast<double>(1 + cases.size());
  limits.interrupted = setup_.interrupted;
  ChildEnd end;
  try {
    end = RunChildGroup(setup_.python, WithCases(Command(mode, answer), options, cases), limits);
  } catch (const Error& error) {
    throw Error(error.message(), "install Python 3, or name one: --python /path/to/venv/bin/python");
  }
  if (end.interrupted) throw Error("interrupted", "run it again");
  Print(end.err);
  Reply reply;
  reply.TakeFile(answer);
  reply.how = HowItEnded(end.status, end.timed_out, limits.seconds);
  if (!reply.loaded) throw NotLoaded(setup_, end, reply.how);
  return reply;
}

PythonDescription PythonRunner::Describe() const {
  const Reply reply = Ask("describe", {}, {});
  const JsonFile file = AnswerFile();
  if (reply.answers.empty()) throw Error(Name(setup_.kernel.file) + " gave no answer: its process " + reply.how);
  const JsonNode described = JsonNode(reply.answers.front(), file).At("described");
  RequireVersion(described, 1);
  const std::vector<JsonNode> tolerance = described.At("tolerance").Items(2);
  if (tolerance.size() != 2) described.Fail("the tolerance must be two numbers");
  PythonDescription description{described.At("cases").Texts(kMostCases), described.At("contract").Text(),
                                tolerance.front().Number(), tolerance.back().Number(),
                                described.At("sources").Texts(kMostSources)};
  const std::set<std::string> unique(description.cases.begin(), description.cases.end());
  if (unique.empty() || unique.size() != description.cases.size())
    described.Fail("cases must be unique, and one at least");
  return description;
}

template <typename Result, typename Read, typename Blame>
std::vector<Result> PythonRunner::AskCases(const std::string& mode, const std::vector<std::string>& options,
                                           std::vector<std::string> cases, const char* key, const Read& read,
                                           const Blame& blame) const {
  std::vector<Result> results;
  while (!cases.empty()) {
    const Reply reply = Ask(mode, options, cases);
    const JsonFile file = AnswerFile();
    std::size_t answered = 0;
    for (const nlohmann::json& answer : reply.answers) {
      const JsonNode node = JsonNode(answer, file).At(key);
      results.push_back(read(node));
      if (answered == cases.size() || results.back().name != cases[answered]) node.Fail("is not of the case asked for");
      ++answered;
    }
    if (answered == 0 && reply.done) throw Error(Name(setup_.kernel.file) + " gave no answer to " + mode);
    cases.erase(cases.begin(), cases.begin() + static_cast<std::ptrdiff_t>(answered));
    if (reply.done || cases.empty()) continue;
    results.push_back(blame(cases.front(), "its process " + reply.how));
    cases.erase(cases.begin());
  }
  return results;
}

std::vector<PythonVerification> PythonRunner::Verify(const std::vector<std::string>& cases, int draws,
                                                     std::uint64_t seed) const {
  return AskCases<PythonVerification>("verify", {"--draws", std::to_string(draws), "--seed", std::to_string(seed)},
                                      cases, "verified", ReadVerification,
                                      [](const std::string& name, const std::string& how) {
                                        PythonVerification failed{name, {}, {}};
                                        failed.verification.error = how;
                                        return failed;
                                      });
}

std::vector<PythonTiming> PythonRunner::Time(const std::vector<std::string>& cases, int launches, int warmup) const {
  return AskCases<PythonTiming>("time", {"--launches", std::to_string(launches), "--warmup", std::to_string(warmup)},
                                cases, "timed", ReadTiming, [](const std::string& name, const std::string& how) {
                                  return PythonTiming{name, {}, how};
                                });
}

std::vector<std::string> PythonRunner::RunCommand(const std::string& name, double seconds,
                                                  const std::string& answer) const {
  return WithCases(Command("run", answer),
                   {"--seconds", fmt::format("{}", seconds), "--limit", fmt::format("{}", setup_.timeout_seconds)},
                   {name});
}

void PythonRunner::ThrowError(const std::string& answer) {
  Reply reply;
  reply.TakeFile(answer);
}

PythonCalls PythonRunner::ReadCalls(const std::string& name, const std::string& answer, int status) const {
  Reply reply;
  reply.TakeFile(answer);
  const bool timed_out = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  if (reply.answers.empty()) {
    throw Error(name + " was not measured: its process " + HowItEnded(status, timed_out, setup_.timeout_seconds),
                timed_out
                    ? "the kernel hangs under the profiler, or needs longer: --timeout SECONDS"
                    : "fa-profile verify --kernel-py " + setup_.kernel.ToString() + " runs it without a profiler");
  }
  const JsonFile file = AnswerFile();
  const JsonNode ran = JsonNode(reply.answers.front(), file).At("ran");
  return {ran.At("calls").Integer(1, std::numeric_limits<std::int64_t>::max()),
          ran.At("counted_calls").Integer(1, std::numeric_limits<std::int64_t>::max())};
}

}  // namespace fa_profile::python
