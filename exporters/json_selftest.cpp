// JSON of a selftest.
#include <nlohmann/json.hpp>
#include <ostream>

#include "fa_profile/selftest_report.h"
#include "json_parts.h"

namespace fa_profile::exporters {
namespace {

using Json = nlohmann::ordered_json;

const char* Name(TruthSource source) {
  return source == TruthSource::kSass      ? "sass"
         : source == TruthSource::kCounter ? "counter"
         : source == TruthSource::kLaunch  ? "launch"
         : source == TruthSource::kShare   ? "share"
         : source == TruthSource::kWait    ? "wait"
                                           : "inferred";
}

const char* Name(TruthCheck::Verdict verdict) {
  return verdict == TruthCheck::Verdict::kPass   ? "pass"
         : verdict == TruthCheck::Verdict::kFail ? "fail"
                                                 : "unavailable";
}

Json CheckJson(const TruthCheck& check) {
  const Truth& truth = check.truth;
  return {{"source", Name(truth.source)},       {"name", truth.name},
          {"opcode", KnownText(truth.opcode)},  {"phase", KnownText(truth.phase)},
          {"expected", truth.expected},         {"tolerance", truth.tolerance},
          {"measured", OrNull(check.measured)}, {"verdict", Name(check.verdict)},
          {"note", KnownText(truth.note)}};
}

Json TestedKernelJson(const SelftestReport::Kernel& kernel) {
  return {{"kernel", kernel.id}, {"proves", kernel.proves}, {"checks", ArrayOf(kernel.checks, CheckJson)}};
}

Json LieJson(const KnownLie& lie) {
  return {{"kernel", lie.kernel},       {"counter", lie.counter},   {"how", lie.how},
          {"truth", OrNull(lie.truth)}, {"says", OrNull(lie.says)}, {"still_lies", OrNull(lie.still_lies)}};
}

}  // namespace

void WriteJsonSelftest(std::ostream& out, const SelftestReport& report, const ReportOptions&) {
  WriteJsonDocument(out, {{"format_version", kJsonVersion},
                          {"tool_version", report.session.tool_version},
                          {"tool_commit", report.session.tool_commit},
                          {"created_at", report.session.created_at},
                          {"device", report.device.name},
                          {"chip", report.device.chip},
                          {"driver_version", KnownText(report.device.driver_version)},
                          {"cupti_version", KnownText(report.device.cupti_version)},
                          {"passed", report.Count(TruthCheck::Verdict::kPass)},
                          {"failed", report.Count(TruthCheck::Verdict::kFail)},
                          {"unavailable", report.Count(TruthCheck::Verdict::kUnavailable)},
                          {"kernels", ArrayOf(report.kernels, TestedKernelJson)},
                          {"known_lies", ArrayOf(report.known_lies, LieJson)},
                          {"losses", ArrayOf(report.losses, [](const DataLoss& loss) { return JsonOf(loss); })}});
}

}  // namespace fa_profile::exporters
