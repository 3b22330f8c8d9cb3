#include "code_facts.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace fa_profile::gate {

// nvcc puts a static kernel into a namespace named after a hash of the source's path, "_INTERNAL_4d2a_6_foo_cu_77::";
// CUB and Thrust put theirs into one named after their version and the architectures, "CUB_200700_800_900_NS::".
std::string LastingName(std::string name) {
  RE2::GlobalReplace(&name, R"(_INTERNAL_.*?::|\b(CUB|THRUST)_[0-9]+(_[0-9a-zA-Z]+)*_NS::)", "");
  return name;
}

CodeFacts ToCodeFacts(const KernelLint& lint) {
  CodeFacts facts;
  facts.symbol = lint.symbol;
  facts.name = LastingName(lint.name);
  facts.architecture = lint.architecture;
  facts.code_hash = fmt::format("{:016x}", lint.code_hash);
  facts.registers_per_thread = lint.registers_per_thread;
  facts.stack_frame_bytes = lint.stack_frame_bytes;
  facts.spill_bytes = lint.spills.store_bytes + lint.spills.load_bytes;
  facts.local_array_bytes = lint.arrays.store_bytes + lint.arrays.load_bytes;
  facts.static_shared_memory_bytes = lint.static_shared_memory_bytes;
  facts.threads_per_block = lint.threads_per_block;
  if (lint.occupancy) facts.blocks_per_sm = lint.occupancy->blocks_per_sm;
  facts.externals = lint.externals;
  for (const PhaseCode& row : lint.phases) {
    std::map<std::string, int>& counts = facts.counts[row.phase];
    counts["instructions"] += row.instructions;
    for (const auto& [what, count] : row.counts) counts[what] += count;
  }
  return facts;
}

}  // namespace fa_profile::gate
