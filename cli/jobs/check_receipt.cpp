#include <fmt/format.h>

#include <algorithm>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/text.h"
#include "receipt.h"

namespace fa_profile::jobs {
namespace {

using Result = ReceiptLine::Result;

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

const char* WordOf(Result result) {
  return result == Result::kAgrees ? "agrees" : result == Result::kDiffers ? "DIFFERS" : "not compared";
}

void Print(const std::vector<ReceiptLine>& lines) {
  for (const ReceiptLine& line : lines) {
    fmt::print("{:<12} {}: {}\n", WordOf(line.result), Printable(line.what), Printable(line.text));
  }
}

bool Differs(const std::vector<ReceiptLine>& lines) {
  return std::ranges::any_of(lines, [](const ReceiptLine& line) { return line.result == Result::kDiffers; });
}

ReceiptCheck Conclude(ReceiptCheck check, const std::string& text) {
  fmt::print("{}: {}\n",
             check == ReceiptCheck::kAgrees    ? "AGREES"
             : check == ReceiptCheck::kDiffers ? "DIFFERS"
                                               : "NOT CHECKED",
             text);
  return check;
}

}  // namespace

ReceiptCheck CheckReceipt(const ReceiptJob& job) {
  const Receipt given = ReceiptFromJson(ReadPlainFile(job.file, kMostBytes), job.file);
  const bool in_python = job.library.empty();
  std::vector<std::string> sources;
  for (const auto& [path, ignored] : given.sources) sources.push_back(path);
  const auto read_files = [&] {
    return in_python ? FilesOfPython(job.python.kernel, sources) : FilesOf(job.library, job.tensor_files);
  };
  Receipt now = NewReceipt(read_files());
  fmt::print("receipt of {}, {}, {}\n", Printable(given.library), Printable(given.date), Printable(given.gpu_name));
  const std::vector<ReceiptLine> files = CompareFiles(given, now);
  Print(files);
  if (Differs(files)) {
    return Conclude(ReceiptCheck::kDiffers, "the receipt is of other files, so nothing was measured");
  }
  if (const std::string why = WhyNoGpu(); !why.empty()) {
    return Conclude(ReceiptCheck::kNotChecked, "the files agree; verdict, time and counters need a GPU: " + why);
  }
  in_python ? MeasurePythonReceipt(job, given, now) : MeasureReceipt(job, given, now);
  RequireUnchanged(now, read_files());
  const std::vector<ReceiptLine> cases = CompareCases(given, now);
  Print(cases);
  if (Differs(cases)) return Conclude(ReceiptCheck::kDiffers, "measured again, it is not what the receipt says");
  const auto any = [&](Judgement::Verdict verdict) {
    return std::ranges::any_of(now.cases, [&](const ReceiptCase& one) { return one.judgement.verdict == verdict; });
  };
  if (any(Judgement::Verdict::kCannotSay)) {
    return Conclude(ReceiptCheck::kNotChecked, "the judge cannot say whether the speed is real");
  }
  if (any(Judgement::Verdict::kWrong) || any(Judgement::Verdict::kRefused)) {
    return Conclude(ReceiptCheck::kDiffers, "measured again it is what the receipt says, and that is not certified");
  }
  // Times were compared, whatever the driver.
  const auto missing = std::ranges::find_if(
      cases, [](const ReceiptLine& line) { return line.result == Result::kNotCompared && line.what != kDriverLine; });
  if (missing != cases.end()) {
    return Conclude(ReceiptCheck::kNotChecked,
                    "certified here too, but not compared: " + Printable(missing->what + ": " + missing->text));
  }
  return Conclude(ReceiptCheck::kAgrees, "measured again, it is what the receipt says");
}

}  // namespace fa_profile::jobs
