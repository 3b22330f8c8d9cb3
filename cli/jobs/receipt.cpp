#include "receipt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "fa_profile/error.h"
#include "fa_profile/output_path.h"
#include "fa_profile/python_kernel.h"
#include "fa_profile/sha256.h"
#include "fa_profile/source_paths.h"
#include "fa_profile/strict_json.h"
#include "fa_profile/utc_time.h"
#include "fa_profile/version.h"

namespace fa_profile::jobs {
namespace {

using Json = nlohmann::json;
using Result = ReceiptLine::Result;

constexpr const char* kFormat = "fa-profile receipt";
constexpr int kVersion = 3;
constexpr std::size_t kMostCases = 1000;
constexpr std::size_t kMostSources = 100'000;
constexpr std::size_t kMostBursts = 100'000;
constexpr double kTimeSlack = 0.05;     // for the time: cards of one model and their clocks differ
constexpr double kCounterSlack = 0.10;  // for the instructions: other inputs are drawn

Json CaseJson(const ReceiptCase& one) {
  const Judgement& judged = one.judgement;
  Json json = {{"kernel", one.kernel},
               {"shape", one.shape},
               {"seed", one.seed},
               {"draws", one.verification.draws},
               {"draws_passed", one.verification.draws_passed},
               {"max_error_ratio", one.verification.max_error_ratio},
               {"verdict", ToString(judged.verdict)},
               {"reason", judged.reason},
               {"calls", judged.calls},
               {"wrong_calls", judged.wrong_calls},
               {"same_bits", judged.same_bits ? Json(*judged.same_bits) : Json(nullptr)},
               {"largest_difference", judged.largest_difference},
               {"weak_tolerance", judged.weak_tolerance},
               {"accepted_weak_tolerance", one.accepted_weak_tolerance},
               {"conditions", judged.conditions},
               {"durations_ns", judged.durations_ns},
               {"calls_a_burst", judged.calls_a_burst},
               {"calls_a_graph", judged.calls_a_graph},
               {"sets", judged.sets}};
  for (const DeviceCount& count : AllDeviceCounts()) {
    json[count.name] = judged.verified.*count.value;
    json[std::string("timed_") + count.name] = judged.timed.*count.value;
  }
  return json;
}

double NotNegative(const JsonNode& node) {
  const double number = node.Number();
  if (number < 0) node.Fail("must not be negative");
  return number;
}

std::string HexDigits(const JsonNode& node, std::size_t count) {
  std::string digits = node.Text();
  if (digits.size() != count || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    node.Fail(fmt::format("must be {} hexadecimal digits", count));
  }
  return digits;
}

constexpr std::size_t kSha256Digits = 64;

std::int64_t Count(const JsonNode& node) { return node.Integer(0, std::numeric_limits<std::int64_t>::max()); }
int SmallCount(const JsonNode& node) { return static_cast<int>(node.Integer(0, std::numeric_limits<int>::max())); }

ReceiptCase ReadCase(const JsonNode& node) {
  std::vector<const char*> keys;
  const Json known = CaseJson({});
  for (const auto& [key, value] : known.items()) keys.push_back(key.c_str());
  node.RequireOnly(keys);
  ReceiptCase one;
  one.kernel = node.At("kernel").Text();
  one.shape = node.At("shape").Text();
  one.seed = HexDigits(node.At("seed"), 16);
  one.verification.draws = SmallCount(node.At("draws"));
  one.verification.draws_passed = SmallCount(node.At("draws_passed"));
  one.verification.max_error_ratio = NotNegative(node.At("max_error_ratio"));
  Judgement& judged = one.judgement;
  const std::optional<Judgement::Verdict> verdict = VerdictOf(node.At("verdict").Text());
  if (!verdict) node.At("verdict").Fail("must be certified, wrong, refused or cannot say");
  judged.verdict = *verdict;
  judged.reason = node.At("reason").Text();
  judged.calls = Count(node.At("calls"));
  judged.wrong_calls = Count(node.At("wrong_calls"));
  if (const JsonNode same = node.At("same_bits"); !same.value().is_null()) judged.same_bits = same.Flag();
  judged.weak_tolerance = node.At("weak_tolerance").Text();
  one.accepted_weak_tolerance = node.At("accepted_weak_tolerance").Flag();
  for (const JsonNode& ns : node.At("durations_ns").Items(kMostBursts)) judged.durations_ns.push_back(NotNegative(ns));
  judged.calls_a_burst = Count(node.At("calls_a_burst"));
  judged.calls_a_graph = SmallCount(node.At("calls_a_graph"));
  judged.sets = SmallCount(node.At("sets"));
  judged.largest_difference = NotNegative(node.At("largest_difference"));
  judged.conditions = node.At("conditions").Text();
  for (const DeviceCount& count : AllDeviceCounts()) {
    judged.verified.*count.value = NotNegative(node.At(count.name));
    judged.timed.*count.value = NotNegative(node.At((std::string("timed_") + count.name).c_str()));
  }
  const bool right = one.verification.draws > 0 && one.verification.draws_passed == one.verification.draws &&
                     one.verification.max_error_ratio <= 1 && judged.wrong_calls == 0;
  if (judged.verdict == Judgement::Verdict::kCertified && !right) node.Fail("is certified, and has wrong results");
  return one;
}

Json WithoutHash(const Receipt& receipt) {
  Json cases = Json::array();
  for (const ReceiptCase& one : receipt.cases) cases.push_back(CaseJson(one));
  return {
      {"format", kFormat},
      {"version", kVersion},
      {"date", receipt.date},
      {"tool", {{"version", receipt.tool_version}, {"commit", receipt.tool_commit}, {"sha256", receipt.tool_sha256}}},
      {"gpu",
       {{"name", receipt.gpu_name},
        {"driver", receipt.driver_version},
        {"cuda_driver", receipt.cuda_driver_version},
        {"cuda_runtime", receipt.cuda_runtime_version}}},
      {"library", {{"file", receipt.library}, {"sha256", receipt.library_sha256}}},
      {"sources", receipt.sources.empty() ? Json::object() : Json(receipt.sources)},
      {"tensors", receipt.tensors.empty() ? Json::object() : Json(receipt.tensors)},
      {"cases", std::move(cases)}};
}

std::string HashOf(const Json& receipt) { return Sha256(receipt.dump(-1, ' ', true, Json::error_handler_t::replace)); }

ReceiptLine Line(bool agrees, std::string what, std::string text) {
  return {agrees ? Result::kAgrees : Result::kDiffers, std::move(what), std::move(text)};
}

// Smallest and largest of the bursts.
struct Interval {
  double low = 0;
  double high = 0;
};
std::optional<Interval> TimesOf(const Judgement& judged) {
  if (judged.durations_ns.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(judged.durations_ns);
  return Interval{low, high};
}

std::string Text(const Interval& interval) {
  return fmt::format("{:.4g} to {:.4g} us", interval.low / 1e3, interval.high / 1e3);
}

std::string NameOf(const ReceiptCase& one) { return one.shape.empty() ? one.kernel : one.kernel + " " + one.shape; }

void CompareCase(const ReceiptCase& given, const ReceiptCase& now, bool same_gpu, std::vector<ReceiptLine>& lines) {
  const std::string name = NameOf(given) + ": ";
  const Judgement& before = given.judgement;
  const Judgement& after = now.judgement;
  std::string verdict = ToString(after.verdict);
  if (before.verdict != after.verdict) verdict = ToString(before.verdict) + " in the receipt, " + verdict + " now";
  if (!after.reason.empty()) verdict += ": " + after.reason;
  lines.push_back(Line(before.verdict == after.verdict, name + "verdict", verdict));
  if (before.same_bits == true && after.same_bits == false) {
    lines.push_back(Line(false, name + "equal inputs", "equal bits in the receipt, other bits now"));
  }
  const std::optional<Interval> times_before = TimesOf(before);
  const std::optional<Interval> times_now = TimesOf(after);
  if (!same_gpu || !times_before || !times_now) {
    lines.push_back({Result::kNotCompared, name + "time",
                     same_gpu ? "it was not timed by counters both times" : "another GPU model"});
    return;
  }
  const double median_before = CallNs(before).value_or(0.0);
  const bool meets = std::fabs(CallNs(after).value_or(0.0) - median_before) <= kTimeSlack * median_before;
  lines.push_back(Line(meets, name + "time",
                       fmt::format("{} in the receipt, {} now ({:.0f} % are allowed)", Text(*times_before),
                                   Text(*times_now), 100 * kTimeSlack)));
  const bool same_tolerance = before.weak_tolerance == after.weak_tolerance;
  lines.push_back(Line(same_tolerance, name + "weak tolerance",
                       same_tolerance
                           ? (after.weak_tolerance.empty() ? "none" : after.weak_tolerance)
                           : "the receipt says '" + before.weak_tolerance + "', now '" + after.weak_tolerance + "'"));
  for (const auto& [counted, value] :
       {std::pair{"instructions", &DeviceCounts::instructions}, std::pair{"L2 sectors", &DeviceCounts::l2_sectors}}) {
    const double in_receipt = before.timed.*value;
    const double counted_now = after.timed.*value;
    lines.push_back(Line(std::fabs(counted_now - in_receipt) <= kCounterSlack * in_receipt,
                         name + counted + " of a call",
                         fmt::format("{:.4g} in the receipt, {:.4g} now ({:.0f} % are allowed)", in_receipt,
                                     counted_now, 100 * kCounterSlack)));
  }
}

}  // namespace

Receipt NewReceipt(Receipt receipt) {
  receipt.date = UtcNow("%Y-%m-%dT%H:%M:%SZ");
  receipt.tool_version = Version();
  receipt.tool_commit = Commit();
  receipt.tool_sha256 = Sha256OfFile("/proc/self/exe");
  return receipt;
}

Receipt FilesOf(const std::string& library, const std::vector<std::string>& tensor_files) {
  Receipt receipt;
  receipt.library = std::filesystem::path(library).filename();
  receipt.library_sha256 = Sha256OfFile(library);
  receipt.sources = load::HashesOfSources(library);
  for (const std::string& file : tensor_files) {
    const std::size_t equals = file.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == file.size()) {
      throw Error("--tensor " + Printable(file) + " does not name a file", "give it as --tensor NAME=FILE");
    }
    receipt.tensors[file.substr(0, equals)] = Sha256OfFile(file.substr(equals + 1));
  }
  return receipt;
}

void RequireUnchanged(const Receipt& before, const Receipt& now) {
  if (now.library_sha256 == before.library_sha256 && now.tensors == before.tensors && now.sources == before.sources) {
    return;
  }
  throw Error(before.library + ", a source or a tensor's file changed while it was judged",
              "change nothing during a run");
}

void RequireReceipt(const Judging& judging, const std::string& receipt, const std::vector<std::string>& inputs) {
  CheckReportFiles({{"--receipt", receipt}}, inputs);
  if (!judging.timing) throw Error("--receipt also records the time", "leave out --no-timing");
}

void AddMachine(const Device& device, Receipt& receipt) {
  receipt.gpu_name = device.name;
  receipt.driver_version = device.driver_version;
  receipt.cuda_driver_version = device.cuda_driver_version;
  receipt.cuda_runtime_version = device.cuda_runtime_version;
}

Receipt FilesOfPython(const std::string& kernel, const std::vector<std::string>& sources) {
  std::error_code ignored;
  // Like Python: sources are relative to the folder of the file that a link resolves to.
  const std::filesystem::path file = std::filesystem::weakly_canonical(python::ParsePythonKernel(kernel).file, ignored);
  Receipt receipt;
  receipt.library = std::filesystem::path(kernel).filename();
  receipt.library_sha256 = Sha256OfFile(file);
  for (const std::string& source : sources) {
    const std::filesystem::path path = file.parent_path() / source;
    if (std::filesystem::is_regular_file(path, ignored)) receipt.sources[source] = Sha256OfFile(path);
  }
  return receipt;
}

std::string ToJson(const Receipt& receipt) {
  Json json = WithoutHash(receipt);
  json["sha256"] = HashOf(json);
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Receipt ReceiptFromJson(const std::string& text, const std::string& name) {
  const JsonFile file{name, "give a file that fa-profile verify --receipt wrote, as it was written"};
  const Json json = ParseStrictJson(text, file);
  const JsonNode node(json, file);
  RequireFormat(node, kFormat, kVersion);
  if (node.At("version").Integer(1, kVersion) < kVersion) {
    node.Fail("is of an older version, without counts that are compared now", "write it again with verify --receipt");
  }
  node.RequireOnly({"format", "version", "date", "tool", "gpu", "library", "sources", "tensors", "cases", "sha256"});
  Json hashed = json;
  hashed.erase("sha256");
  if (HexDigits(node.At("sha256"), kSha256Digits) != HashOf(hashed)) node.Fail("was edited: its hash is another one");
  Receipt receipt;
  receipt.date = node.At("date").Text();
  const JsonNode tool = node.At("tool");
  tool.RequireOnly({"version", "commit", "sha256"});
  receipt.tool_version = tool.At("version").Text();
  receipt.tool_commit = tool.At("commit").Text();
  receipt.tool_sha256 = HexDigits(tool.At("sha256"), kSha256Digits);
  const JsonNode gpu = node.At("gpu");
  gpu.RequireOnly({"name", "driver", "cuda_driver", "cuda_runtime"});
  receipt.gpu_name = gpu.At("name").Text();
  receipt.driver_version = gpu.At("driver").Text();
  receipt.cuda_driver_version = gpu.At("cuda_driver").Text();
  receipt.cuda_runtime_version = gpu.At("cuda_runtime").Text();
  const JsonNode library = node.At("library");
  library.RequireOnly({"file", "sha256"});
  receipt.library = library.At("file").Text();
  receipt.library_sha256 = HexDigits(library.At("sha256"), kSha256Digits);
  for (const auto& [path, hash] : node.At("sources").Members(kMostSources)) {
    receipt.sources[path] = HexDigits(hash, kSha256Digits);
  }
  for (const auto& [tensor, hash] : node.At("tensors").Members(kMostCases)) {
    receipt.tensors[tensor] = HexDigits(hash, kSha256Digits);
  }
  for (const JsonNode& one : node.At("cases").Items(kMostCases)) receipt.cases.push_back(ReadCase(one));
  if (receipt.cases.empty()) node.At("cases").Fail("is empty");
  return receipt;
}

std::vector<ReceiptLine> CompareFiles(const Receipt& given, const Receipt& now) {
  std::vector<ReceiptLine> lines;
  lines.push_back(Line(given.library_sha256 == now.library_sha256, "library",
                       given.library_sha256 == now.library_sha256
                           ? "SHA-256 " + now.library_sha256
                           : "SHA-256 " + given.library_sha256 + " in the receipt, " + now.library_sha256 + " now"));
  for (const auto& [file, hash] : given.sources) {
    const auto here = now.sources.find(file);
    if (here == now.sources.end()) {
      lines.push_back({Result::kNotCompared, "source " + file, "it is not on this machine"});
    } else {
      lines.push_back(Line(here->second == hash, "source " + file,
                           here->second == hash ? "SHA-256 " + hash : "it changed since the receipt was written"));
    }
  }
  for (const auto& [file, ignored] : now.sources) {
    if (!given.sources.contains(file)) {
      lines.push_back({Result::kNotCompared, "source " + file, "the receipt does not have it"});
    }
  }
  std::map<std::string, std::string> names = given.tensors;
  names.insert(now.tensors.begin(), now.tensors.end());
  for (const auto& [tensor, ignored] : names) {
    const auto before = given.tensors.find(tensor);
    const auto after = now.tensors.find(tensor);
    const std::string what = "tensor file of " + tensor;
    if (before == given.tensors.end() || after == now.tensors.end()) {
      lines.push_back(
          Line(false, what, before == given.tensors.end() ? "the receipt has none" : "give it with --tensor"));
    } else {
      lines.push_back(Line(before->second == after->second, what, "SHA-256 " + before->second));
    }
  }
  if (given.tool_sha256 == now.tool_sha256) {
    lines.push_back(Line(true, "tool", given.tool_version + ", commit " + given.tool_commit));
  } else {
    lines.push_back({Result::kNotCompared, "tool",
                     fmt::format("{}, commit {}, in the receipt; this one is {}, commit {}", given.tool_version,
                                 given.tool_commit, now.tool_version, now.tool_commit)});
  }
  return lines;
}

std::vector<ReceiptLine> CompareCases(const Receipt& given, const Receipt& now) {
  std::vector<ReceiptLine> lines;
  const bool same_gpu = given.gpu_name == now.gpu_name;
  lines.push_back({same_gpu ? Result::kAgrees : Result::kNotCompared, "GPU",
                   same_gpu ? now.gpu_name : given.gpu_name + " in the receipt, " + now.gpu_name + " here"});
  if (given.driver_version != now.driver_version) {
    lines.push_back(
        {Result::kNotCompared, kDriverLine, given.driver_version + " in the receipt, " + now.driver_version + " here"});
  }
  for (const ReceiptCase& one : given.cases) {
    const auto found = std::ranges::find_if(now.cases, [&](const ReceiptCase& other) {
      return other.kernel == one.kernel && other.shape == one.shape &&
             other.accepted_weak_tolerance == one.accepted_weak_tolerance;
    });
    if (found == now.cases.end()) {
      lines.push_back(Line(false, NameOf(one), "it does not run here"));
    } else {
      CompareCase(one, *found, same_gpu, lines);
    }
  }
  return lines;
}

}  // namespace fa_profile::jobs
