#include "fa_profile/compare_code.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "fa_profile/call_name.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/error.h"
#include "fa_profile/measured_code.h"

namespace fa_profile::load {
namespace {

/// The parts of a launch that do not differ from run to run, except the kernel's name: nvcc may put a hash of the file
/// into it.
auto FactsOf(const Launch& launch) {
  return std::tuple(launch.grid, launch.block, launch.cluster, launch.registers_per_thread,
                    launch.static_shared_memory_bytes, launch.dynamic_shared_memory_bytes);
}

struct CaseCode {
  std::multiset<std::uint64_t> hashes;
  std::vector<decltype(FactsOf(Launch()))> launches;
  bool operator==(const CaseCode&) const = default;
};

/// Absent: the recording does not contain it, or it cannot be read.
std::optional<std::uint64_t> HashOf(const Recording& recording, const DeviceFunction& function) {
  const auto cubin = std::ranges::find(recording.cubins, function.cubin_crc, &Cubin::crc);
  if (cubin == recording.cubins.end()) return std::nullopt;
  try {
    const sass::CubinInfo info = sass::ReadCubin(cubin->bytes);
    const auto described = std::ranges::find(info.functions, function.name, &sass::CubinFunction::name);
    return described == info.functions.end() ? std::nullopt : std::optional(described->code_hash);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<CaseCode> CodeOf(const Recording& recording, std::int64_t case_id) {
  CaseCode code;
  std::set<std::string> names;
  for (const DeviceFunction* const function : analyze::MeasuredFunctions(recording, case_id)) {
    const auto hash = HashOf(recording, *function);
    if (!hash) return std::nullopt;
    code.hashes.insert(*hash);
    names.insert(Demangle(function->name.c_str()));
  }
  for (const Launch& launch : recording.launches) {
    if (launch.case_id != case_id) continue;
    if (!names.contains(launch.kernel_name)) return std::nullopt;
    code.launches.push_back(FactsOf(launch));
  }
  return code.launches.empty() ? std::nullopt : std::optional(code);
}

std::map<std::string, CaseCode> CodeOfCases(const Recording& recording) {
  std::map<std::string, CaseCode> codes;
  for (const Case& one : recording.cases) {
    if (auto code = CodeOf(recording, one.id)) codes.emplace(CallName(one.kernel, one.shape), std::move(*code));
  }
  return codes;
}

}  // namespace

std::map<std::string, bool> CompareCode(const Recording& before, const Recording& after) {
  const std::map<std::string, CaseCode> old = CodeOfCases(before);
  std::map<std::string, bool> same;
  for (const auto& [call, code] : CodeOfCases(after)) {
    if (const auto found = old.find(call); found != old.end()) same[call] = found->second == code;
  }
  return same;
}

}  // namespace fa_profile::load
