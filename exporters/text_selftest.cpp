#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ostream>
#include <utility>

#include "fa_profile/selftest_report.h"
#include "fa_profile/text.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kNumbers = 48;  // width of the columns next to the quantity

constexpr std::array<std::pair<const char*, const char*>, 12> kLabels = {{
    {"smsp__sass_inst_executed", "instructions"},
    {"smsp__sass_thread_inst_executed", "thread instructions"},
    {"smsp__sass_thread_inst_executed_pred_on", "thread instructions, predicate on"},
    {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "SASS shared wavefronts"},
    {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", "ideal SASS shared wavefronts"},
    {"smsp__sass_sectors_mem_global", "global sectors"},
    {"smsp__sass_sectors_mem_global_ideal", "global sectors if coalesced"},
    {"blocks_per_sm", "resident blocks per SM"},
    {"time_share", "time"},
    {"warp_time_share", "warp time"},
    {"work_share", "warp time at work"},
    {"attention_phases", "functions taken for attention"},
}};

std::string Label(const std::string& name) {
  for (const auto& [metric, label] : kLabels) {
    if (name == metric) return label;
  }
  return name;
}

std::string Quantity(const Truth& truth) {
  std::string text = Label(truth.name);
  constexpr std::string_view kSum = ".sum";
  if (truth.source == TruthSource::kCounter && text.ends_with(kSum)) text.resize(text.size() - kSum.size());
  std::string where = truth.phase;
  if (!truth.opcode.empty()) where += (where.empty() ? "" : " ") + truth.opcode;
  return where.empty() ? text : where + ": " + text;
}

/// 1234567 as "1,234,567".
std::string Grouped(double value) {
  std::string text = fmt::format("{:.0f}", value);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string Number(const std::optional<double>& value, TruthSource source) {
  if (!value) return "n/a";
  if (source == TruthSource::kShare) return fmt::format("{:.2f} %", 100.0 * *value);
  return *value == std::floor(*value) ? Grouped(*value) : fmt::format("{:.3f}", *value);
}

std::string Difference(const TruthCheck& check) {
  if (!check.measured) return "";
  const double difference = *check.measured - check.truth.expected;
  if (check.truth.source == TruthSource::kShare) return fmt::format("{:+.2f} pt", 100.0 * difference);
  if (difference == 0.0) return "0";
  constexpr double kLongest = 1e6;
  if (std::abs(difference) >= kLongest) return fmt::format("{:+.2e}", difference);
  const std::string text = Number(difference, check.truth.source);
  return difference > 0.0 ? "+" + text : text;
}

std::string Row(std::size_t width, const std::string& quantity, const std::string& expected,
                const std::string& measured, const std::string& difference, const char* verdict) {
  const std::size_t room = width - kNumbers;
  const std::string shown = Truncate(quantity, room);
  return fmt::format("  {}{:{}} {:>13} {:>13} {:>10}  {}", shown, "", room - DisplayWidth(shown), expected, measured,
                     difference, verdict);
}

void WriteCheck(TextPage& page, const TruthCheck& check) {
  const Truth& truth = check.truth;
  const bool failed = check.verdict == TruthCheck::Verdict::kFail;
  const char* const verdict = failed ? "FAIL" : check.verdict == TruthCheck::Verdict::kPass ? "pass" : "n/a";
  page.Line(Row(page.width(), page.Safe(Quantity(truth)), Number(truth.expected, truth.source),
                Number(check.measured, truth.source), Difference(check), verdict),
            failed ? Style::kBad : Style::kPlain);
  if (failed && !truth.note.empty()) page.Paragraph("    ", page.Safe(truth.note));
}

void WriteLie(TextPage& page, const KnownLie& lie) {
  if (!lie.still_lies) {
    page.Paragraph("  ", page.Safe(fmt::format("{} was not measured here", lie.counter)));
    return;
  }
  const std::string said =
      fmt::format("{} reported {} for {}; the true value is {}", lie.counter, Number(lie.says, TruthSource::kCounter),
                  lie.kernel, Number(lie.truth, TruthSource::kCounter));
  page.Paragraph("  ",
                 page.Safe(*lie.still_lies ? fmt::format("{}: it {}", said, lie.how) : said + ": it is correct here"));
}

}  // namespace

void WriteTextSelftest(std::ostream& out, const SelftestReport& report, const ReportOptions& options) {
  TextPage page(out, options);
  const auto or_unknown = [&page](const std::string& text) { return text.empty() ? "n/a" : page.Safe(text); };
  page.Line(fmt::format("{}{}driver {}{}CUPTI {}{}{}", or_unknown(report.device.name), page.separator(),
                        or_unknown(report.device.driver_version), page.separator(),
                        or_unknown(report.device.cupti_version), page.separator(),
                        or_unknown(report.session.created_at)));
  page.Line(Row(page.width(), "", "expected", "measured", "difference", ""), Style::kDim);
  for (const SelftestReport::Kernel& kernel : report.kernels) {
    page.Line(page.Safe(kernel.id) + std::string(page.separator()) + page.Safe(kernel.proves), Style::kBold);
    for (const TruthCheck& check : kernel.checks) WriteCheck(page, check);
  }
  if (!report.known_lies.empty()) {
    page.Line();
    page.Line("known to lie, not used (docs/measuring.md)", Style::kBold);
    for (const KnownLie& lie : report.known_lies) WriteLie(page, lie);
  }
  if (!report.losses.empty()) {
    page.Line();
    page.Line("missing", Style::kBold);
    for (const DataLoss& loss : report.losses) {
      page.Paragraph("  ", page.Safe(fmt::format("{}: {}", loss.subject, loss.reason)));
    }
  }
  const int passed = report.Count(TruthCheck::Verdict::kPass);
  const int failed = report.Count(TruthCheck::Verdict::kFail);
  const int unavailable = report.Count(TruthCheck::Verdict::kUnavailable);
  page.Line();
  page.Line(
      fmt::format("{}: {} of {} checks passed{}", failed == 0 && passed > 0 ? "PASS" : "FAIL", passed, passed + failed,
                  unavailable > 0 ? fmt::format(", {} of metrics that this chip lacks", unavailable) : ""),
      failed == 0 ? Style::kGood : Style::kBad);
}

}  // namespace fa_profile::exporters
