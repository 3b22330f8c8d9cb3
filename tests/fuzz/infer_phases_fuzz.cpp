// Any text as disassembly: "@P0 BRA 0xd0" on each line. Inference of phases ends within its steps, with a phase for
// each instruction or with a refusal that has a word.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fa_profile/infer_phases.h"

namespace {

using fa_profile::analyze::InferredPhases;

fa_profile::DeviceFunction ReadFunction(std::string_view text) {
  constexpr std::uint32_t kInstructionBytes = 16;
  constexpr std::size_t kMostInstructions = 50'000;
  fa_profile::DeviceFunction function;
  while (!text.empty() && function.instructions.size() < kMostInstructions) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    fa_profile::Instruction instruction;
    instruction.offset = kInstructionBytes * static_cast<std::uint32_t>(function.instructions.size());
    const auto word = [&line] {
      const std::size_t length = line.find(' ');
      const std::string_view first = line.substr(0, length);
      line.remove_prefix(length == std::string_view::npos ? line.size() : length + 1);
      return first;
    };
    if (line.starts_with('@')) instruction.predicate = word();
    instruction.opcode = word();
    instruction.operands = line;
    function.instructions.push_back(std::move(instruction));
  }
  return function;
}

InferredPhases Infer(const std::uint8_t* data, std::size_t size) {
  return fa_profile::analyze::InferPhases(ReadFunction({reinterpret_cast<const char*>(data), size}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto function = ReadFunction({reinterpret_cast<const char*>(data), size});
  const InferredPhases inferred = fa_profile::analyze::InferPhases(function);
  constexpr std::size_t kMostSteps = 52'000'000;
  if (inferred.steps > kMostSteps) std::abort();
  if (inferred.refusal.empty() != inferred.refusal_word.empty()) std::abort();
  if (inferred.instructions.size() != (inferred.refusal.empty() ? function.instructions.size() : 0)) std::abort();
  if (!inferred.refusal.empty() && inferred.tile) std::abort();
  return 0;
}

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  return Infer(data, size).refusal.empty();
}
