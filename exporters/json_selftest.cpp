#include <nlohmann/json.hpp>
#include <ostream>

#include "fa_profile/selftest_report.h"

namespace fa_profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

const char* Name(TruthSource source) {
  switch (source) {
    case TruthSource::kSass:
      return "sass";
    case TruthSource::kCounter:
      return "counter";
    case TruthSource::kLaunch:
      return "launch";
    case TruthSource::kShare:
      return "share";
  }
  return "";
}

const char* Name(TruthCheck::Verdict verdict) {
  switch (verdict) {
    case TruthCheck::Verdict::kPass:
      return "pass";
    case TruthCheck::Verdict::kFail:
      return "fail";
    case TruthCheck::Verdict::kUnavailable:
      return "unavailable";
  }
  return "";
}

Json ToJson(const TruthCheck& check) {
  const Truth& truth = check.truth;
  return {{"source", Name(truth.source)},       {"name", truth.name},
          {"opcode", OrNull(truth.opcode)},     {"phase", OrNull(truth.phase)},
          {"expected", truth.expected},         {"tolerance", truth.tolerance},
          {"measured", OrNull(check.measured)}, {"verdict", Name(check.verdict)},
          {"note", OrNull(truth.note)}};
}

}  // namespace

void WriteJsonSelftest(std::ostream& out, const SelftestReport& report) {
  Json kernels = Json::array();
  for (const SelftestReport::Kernel& kernel : report.kernels) {
    Json checks = Json::array();
    for (const TruthCheck& check : kernel.checks) checks.push_back(ToJson(check));
    kernels.push_back({{"kernel", kernel.id}, {"proves", kernel.proves}, {"checks", std::move(checks)}});
  }
  Json lies = Json::array();
  for (const KnownLie& lie : report.known_lies) {
    lies.push_back({{"kernel", lie.kernel},
                    {"counter", lie.counter},
                    {"how", lie.how},
                    {"truth", OrNull(lie.truth)},
                    {"says", OrNull(lie.says)},
                    {"still_lies", OrNull(lie.still_lies)}});
  }
  Json losses = Json::array();
  for (const DataLoss& loss : report.losses) {
    losses.push_back({{"kind", loss.kind}, {"subject", loss.subject}, {"reason", loss.reason}, {"count", loss.count}});
  }
  const Json json = {{"format_version", kFormatVersion},
                     {"tool_version", report.session.tool_version},
                     {"tool_commit", report.session.tool_commit},
                     {"created_at", report.session.created_at},
                     {"device", report.device.name},
                     {"chip", report.device.chip},
                     {"driver_version", OrNull(report.device.driver_version)},
                     {"cupti_version", OrNull(report.device.cupti_version)},
                     {"passed", report.Count(TruthCheck::Verdict::kPass)},
                     {"failed", report.Count(TruthCheck::Verdict::kFail)},
                     {"unavailable", report.Count(TruthCheck::Verdict::kUnavailable)},
                     {"kernels", std::move(kernels)},
                     {"known_lies", std::move(lies)},
                     {"losses", std::move(losses)}};
  out << json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) << '\n';
}

}  // namespace fa_profile
