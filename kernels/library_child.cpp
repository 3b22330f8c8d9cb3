#include "fa_profile/library_child.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "fa_profile/text.h"

namespace fa_profile {
namespace {

constexpr std::size_t kLengthDigits = 8;
constexpr std::string_view kOurError = "fa-profile: error: ";

nlohmann::json ToJson(const Verification& result) {
  return {{"draws", result.draws},
          {"draws_passed", result.draws_passed},
          {"max_abs_error", result.max_abs_error},
          {"max_error_ratio", result.max_error_ratio},
          {"nonfinite", result.nonfinite},
          {"unwritten", result.unwritten},
          {"where", result.where},
          {"error", result.error}};
}

// JSON has no infinity and no NaN: they were written as null.
double NumberOf(const nlohmann::json& json) {
  return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}

Verification VerificationFromJson(const nlohmann::json& json) {
  Verification result;
  result.draws = json.at("draws");
  result.draws_passed = json.at("draws_passed");
  result.max_abs_error = NumberOf(json.at("max_abs_error"));
  result.max_error_ratio = NumberOf(json.at("max_error_ratio"));
  result.nonfinite = json.at("nonfinite");
  result.unwritten = json.at("unwritten");
  result.where = json.at("where");
  result.error = json.at("error");
  return result;
}

nlohmann::json ToJson(const LibraryIdentity& identity) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const KernelParameter& parameter : identity.parameters) {
    parameters.push_back({parameter.name, parameter.value, parameter.minimum, parameter.maximum});
  }
  return {{"kernel", identity.kernel}, {"parameters", parameters}, {"tensors", identity.tensors}};
}

LibraryIdentity IdentityFromJson(const nlohmann::json& json) {
  LibraryIdentity identity{json.at("kernel"), {}, json.at("tensors")};
  for (const nlohmann::json& parameter : json.at("parameters")) {
    identity.parameters.push_back({parameter.at(0), parameter.at(1), parameter.at(2), parameter.at(3)});
  }
  return identity;
}

// The lines of a text, without empty ones.
std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// What CrashReport or main() wrote last, if they did: the error, taken out of `lines` with its hint.
std::string TakeOurError(std::vector<std::string>& lines) {
  auto line = lines.end();
  while (line != lines.begin()) {
    --line;
    if (const std::size_t start = line->find(kOurError); start != std::string::npos) {
      std::string error = line->substr(start + kOurError.size());
      line->resize(start);  // what the library printed without a newline
      lines.erase(line->empty() ? line : line + 1, lines.end());
      return error;
    }
    if (!line->starts_with("  hint: ")) break;
  }
  return {};
}

// Last lines, as the library's and not ours.
std::vector<std::string> Shown(const std::vector<std::string>& lines) {
  constexpr std::size_t kMostLines = 20;
  constexpr std::size_t kWidest = 200;
  std::vector<std::string> shown;
  if (lines.size() > kMostLines) shown.push_back(fmt::format("({} lines before)", lines.size() - kMostLines));
  for (std::size_t i = lines.size() - std::min(lines.size(), kMostLines); i < lines.size(); ++i) {
    shown.push_back(Truncate(Printable(lines[i]), kWidest));
  }
  return shown;
}

std::string DebugCommand(const LibraryQuestion& question) {
  std::string line = "debug it with: gdb --args";
  for (const std::string& argument : ChildCommand(question)) line += " " + argument;
  return line;
}

}  // namespace

std::string ToMessage(const LibraryAnswer& answer) {
  nlohmann::json json = {{"identity", ToJson(answer.identity)}, {"why_not", answer.why_not}};
  if (answer.work.flops) json["flops"] = *answer.work.flops;
  if (answer.work.bytes) json["bytes"] = *answer.work.bytes;
  if (answer.verification) json["verification"] = ToJson(*answer.verification);
  if (answer.error) {
    json["error"] = {answer.error->api(), answer.error->code(), answer.error->message(), answer.error->hint()};
  }
  const std::string text = json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return fmt::format("{:0{}x}{}", text.size(), kLengthDigits, text);
}

std::optional<LibraryAnswer> FromMessage(std::string_view message) {
  if (message.size() < kLengthDigits) return std::nullopt;
  const std::string_view text = message.substr(kLengthDigits);
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(message.data(), text.data(), length, 16);
  if (error != std::errc() || end != text.data() || length != text.size()) return std::nullopt;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    LibraryAnswer answer;
    answer.identity = IdentityFromJson(json.at("identity"));
    if (json.contains("flops")) answer.work.flops = json["flops"].get<double>();
    if (json.contains("bytes")) answer.work.bytes = json["bytes"].get<double>();
    answer.why_not = json.at("why_not");
    if (json.contains("verification")) answer.verification = VerificationFromJson(json["verification"]);
    if (json.contains("error")) {
      const std::vector<std::string> parts = json["error"];
      answer.error = Error(parts.at(0), parts.at(1), parts.at(2), parts.at(3));
    }
    return answer;
  } catch (const std::exception&) {  // not JSON of ours: as good as none
    return std::nullopt;
  }
}

std::vector<std::string> ChildCommand(const LibraryQuestion& question) {
  std::vector<std::string> arguments = {"fa-profile", "kernel-library", question.library};
  for (const std::string& file : question.files) arguments.insert(arguments.end(), {"--tensor", file});
  if (!question.shape) return arguments;
  Shape plain = *question.shape;
  const bool causal = plain.attention() != nullptr && plain.attention()->causal;
  if (causal) {
    AttentionShape attention = *plain.attention();
    attention.causal = false;
    plain = attention;
  }
  arguments.insert(arguments.end(), {"--shape", plain.ToString(), "--draws", std::to_string(question.draws), "--seed",
                                     std::to_string(question.seed), "--device", std::to_string(question.device)});
  if (causal) arguments.emplace_back("--causal");
  return arguments;
}

LibraryReply ReplyOf(const LibraryQuestion& question, const ChildEnd& end) {
  const std::string library = "the kernel library " + question.library;
  if (end.interrupted) throw Error("interrupted", "nothing was measured yet; run it again");
  LibraryReply reply;
  std::vector<std::string> lines = LinesOf(end.err);
  if (auto answer = FromMessage(end.out)) {
    reply.answer = *std::move(answer);
    if (reply.answer.error) throw *reply.answer.error;
    reply.printed = Shown(lines);
    return reply;
  }
  if (end.timed_out) {
    throw Error(fmt::format("{} did not load within {:.3g} s", library, end.seconds),
                "a constructor or fa_profile_kernel_name() hangs, in it or in a library that it links; " +
                    DebugCommand(question));
  }
  std::string how = TakeOurError(lines);
  reply.printed = Shown(lines);
  if (how.empty()) {
    ChildEnd silent = end;
    silent.err.clear();
    const std::string described = Describe(silent);
    how = library + " ended the process: it " + (described.empty() ? "ended with exit code 0" : described);
  }
  how = Printable(how);
  if (!question.shape) throw Error(how, DebugCommand(question));
  reply.answer.verification = Verification{};
  reply.answer.verification->error = how;
  return reply;
}

LibraryReply AskLibrary(const LibraryQuestion& question, const ChildLimits& limits, const std::string& program) {
  return ReplyOf(question, RunChildGroup(program, ChildCommand(question), limits));
}

LibraryIdentity AskForIdentity(const std::string& library, const std::vector<std::string>& files) {
  LibraryQuestion question;
  question.library = library;
  question.files = files;
  return AskLibrary(question, {}).answer.identity;
}

LibraryReply VerifyInChild(const LibraryQuestion& question, const std::atomic<bool>* interrupted) {
  ChildLimits limits;
  limits.seconds = std::numeric_limits<double>::infinity();
  limits.interrupted = interrupted;
  return AskLibrary(question, limits);
}

std::vector<std::string> PrintedBy(const std::string& library, const LibraryReply& reply) {
  std::vector<std::string> lines;
  for (const std::string& line : reply.printed) lines.push_back(library + " printed: " + line);
  return lines;
}

}  // namespace fa_profile
