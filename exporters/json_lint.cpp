#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "fa_profile/lint_report.h"

namespace fa_profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ToJson(const LocalAccesses& accesses) {
  return {{"stores", accesses.stores},
          {"loads", accesses.loads},
          {"store_bytes", accesses.store_bytes},
          {"load_bytes", accesses.load_bytes}};
}

Json ToJson(const Occupancy& occupancy) {
  return {{"theoretical_ratio", occupancy.theoretical_ratio},
          {"blocks_per_sm", occupancy.blocks_per_sm},
          {"limiters", occupancy.limiters}};
}

Json ToJson(const PhaseCode& row) {
  Json json = {{"phase", row.phase}, {"loop_depth", row.loop_depth}, {"instructions", row.instructions}};
  for (const char* const count : kLintCounts) json[count] = row.counts.at(count);
  return json;
}

Json ToJson(const Finding& finding) {
  return {{"id", finding.id}, {"phase", OrNull(finding.phase)}, {"evidence", finding.evidence}, {"cure", finding.cure}};
}

Json ToJson(const KernelLint& kernel) {
  Json json = {{"file", kernel.file},
               {"architecture", kernel.architecture},
               {"name", kernel.name},
               {"symbol", kernel.symbol},
               {"code_hash", fmt::format("{:016x}", kernel.code_hash)},
               {"code_bytes", kernel.code_bytes},
               {"line_information", kernel.has_line_information},
               {"registers_per_thread", OrNull(kernel.registers_per_thread)},
               {"stack_frame_bytes", OrNull(kernel.stack_frame_bytes)},
               {"spills", ToJson(kernel.spills)},
               {"arrays", ToJson(kernel.arrays)},
               {"static_shared_memory_bytes", kernel.static_shared_memory_bytes},
               {"dynamic_shared_memory_bytes", kernel.dynamic_shared_memory_bytes},
               {"threads_per_block", OrNull(kernel.threads_per_block)},
               {"threads_source", OrNull(kernel.threads_source)},
               {"occupancy", kernel.occupancy ? ToJson(*kernel.occupancy) : Json(nullptr)},
               {"externals", kernel.externals},
               {"attribution", kernel.attribution},
               {"phases", Json::array()},
               {"findings", Json::array()}};
  for (const PhaseCode& row : kernel.phases) json["phases"].push_back(ToJson(row));
  for (const Finding& finding : kernel.findings) json["findings"].push_back(ToJson(finding));
  return json;
}

}  // namespace

void WriteJsonLint(std::ostream& out, const std::vector<KernelLint>& kernels) {
  Json json = {{"format", "fa-profile lint"}, {"version", kFormatVersion}, {"kernels", Json::array()}};
  for (const KernelLint& kernel : kernels) json["kernels"].push_back(ToJson(kernel));
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace fa_profile
