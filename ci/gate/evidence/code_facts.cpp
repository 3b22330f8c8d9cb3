#include "code_facts.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace fa_profile::gate {
namespace {

// nvcc puts a static kernel into a namespace named after a hash of the source's path: "_INTERNAL_4d2a_6_foo_cu_77::".
std::string WithoutInternal(std::string name) {
  RE2::GlobalReplace(&name, "_INTERNAL_.*?::", "");
  return name;
}

}  // namespace

CodeFacts ToCodeFacts(const KernelLint& lint) {
  CodeFacts facts;
  facts.symbol = lint.symbol;
  facts.name = WithoutInternal(lint.name);
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
