// Text that is not a phase map gives an Error and nothing else: no crash, no endless loop, no memory without bound.
// What is accepted keeps its promises: every phase has a name and something that belongs to it, and no two phases share
// a name.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/phase_map_file.h"

namespace {

bool IsWhole(const fa_profile::PhaseMap& map) {
  std::set<std::string> names;
  for (const fa_profile::PhaseRule& rule : map.rules) {
    if (rule.phase.empty() || !names.insert(rule.phase).second) return false;
    if (rule.functions.empty() && rule.lines.empty() && rule.opcodes.empty()) return false;
    for (const auto& lines : rule.lines) {
      if (lines.file.empty() || lines.first < 1 || lines.last < lines.first) return false;
    }
  }
  return !map.rules.empty();
}

}  // namespace

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    (void)fa_profile::load::ParsePhaseMap({reinterpret_cast<const char*>(data), size}, "map.yaml");
    return true;
  } catch (const fa_profile::Error&) {
    return false;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    if (!IsWhole(fa_profile::load::ParsePhaseMap({reinterpret_cast<const char*>(data), size}, "map.yaml")))
      std::abort();
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
  }
  return 0;
}
