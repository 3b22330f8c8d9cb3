// Text that is not evidence gives an Error with a hint and nothing else: no crash, no endless loop, no memory without
// bound. What is accepted keeps its promises, and is written and read again as the same.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/evidence.h"

namespace {

bool IsWhole(const fa_profile::gate::Evidence& evidence) {
  std::set<std::string> names;
  for (const fa_profile::gate::CaseFacts& facts : evidence.cases) {
    if (facts.kernel.empty() || !names.insert(facts.kernel + '\0' + facts.shape).second) return false;
  }
  for (const fa_profile::gate::ProcessSample& process : evidence.processes) {
    if (process.kind != "timing" && process.kind != "recording") return false;
    if (process.values.size() != evidence.cases.size()) return false;
    for (const auto& values : process.values) {
      for (const auto& [key, value] : values) {
        if (!std::isfinite(value) || (key.metric == fa_profile::gate::kDuration && value <= 0)) return false;
      }
    }
  }
  return true;
}

}  // namespace

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    (void)fa_profile::gate::EvidenceFromJson({reinterpret_cast<const char*>(data), size}, "e.json");
    return true;
  } catch (const fa_profile::Error&) {
    return false;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fa_profile::gate::Evidence evidence;
  try {
    evidence = fa_profile::gate::EvidenceFromJson({reinterpret_cast<const char*>(data), size}, "e.json");
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
    return 0;
  }
  if (!IsWhole(evidence)) std::abort();
  const std::string text = fa_profile::gate::ToJson(evidence);  // an Error from here on is a crash
  if (fa_profile::gate::ToJson(fa_profile::gate::EvidenceFromJson(text, "again.json")) != text) std::abort();
  return 0;
}
