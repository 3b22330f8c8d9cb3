#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/instruction_texts.h"
#include "fa_profile/recording.h"

namespace fa_profile::sass {

/// Path of NVIDIA's nvdisasm: from FA_PROFILE_NVDISASM, PATH, or CudaToolkits(). Absent if not found. Throws Error when
/// FA_PROFILE_NVDISASM names no program.
std::optional<std::string> FindNvdisasm();

/// The same. Throws Error, with how to install it, if it is not found.
std::string RequireNvdisasm();

/// The functions of a cubin, each instruction with its inline stack (empty without line information): all, or those
/// `wanted` (mangled names). Ids are 0. A subroutine that the compiler placed inside a kernel is part of the kernel.
/// `crc` is put into each function. Runs the program `nvdisasm` for at most two minutes, and once more where it fails
/// with -json: for text. Throws Error when the bytes are not a cubin, and when nvdisasm is missing, does not know the
/// architecture, or fails.
///   for (const DeviceFunction& function : Disassemble(bytes_of_cubin, 0, RequireNvdisasm()))
///     std::cout << function.name << ": " << function.instructions.size() << " instructions\n";
std::vector<DeviceFunction> Disassemble(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                        const std::string& nvdisasm, const std::vector<std::string>& wanted = {});

/// Takes one function at a time: the inline stacks of all together may need gigabytes.
using TakeFunction = std::function<void(DeviceFunction function)>;

/// The same, in the same order. nvdisasm has ended before the first is passed.
void Disassemble(std::span<const std::uint8_t> cubin, std::uint64_t crc, const std::string& nvdisasm,
                 const std::vector<std::string>& wanted, const TakeFunction& take);

/// A cubin, and its wanted functions (mangled names); none: all.
struct CubinPart {
  std::span<const std::uint8_t> cubin;
  std::vector<std::string> wanted;
};

/// Disassemble() for each part, in one run of nvdisasm, for the instructions that `texts` lacks: these are added.
/// Cubins that differ from the first in architecture or layout, and those that call code by name, take a separate run
/// each. `take` gets the functions in the order of the parts, once nvdisasm has read all of them. Throws Error like
/// Disassemble(), if any of them fails.
void DisassembleTogether(const std::vector<CubinPart>& parts, const std::string& nvdisasm, InstructionTexts& texts,
                         const std::function<void(std::size_t part, DeviceFunction function)>& take);

/// Disassemble() without nvdisasm: the positions of instructions and their inline stacks, but no opcodes. That is
/// enough to find an instruction's phase, but not what it does. Throws Error if the bytes are not a cubin.
std::vector<DeviceFunction> ReadInlineStacks(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                             const std::vector<std::string>& wanted = {});
void ReadInlineStacks(std::span<const std::uint8_t> cubin, std::uint64_t crc, const std::vector<std::string>& wanted,
                      const TakeFunction& take);

/// Disassemble(), or ReadInlineStacks() if `nvdisasm` is absent: MissesNvdisasm() then belongs in the recording.
std::vector<DeviceFunction> ReadCode(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                     const std::optional<std::string>& nvdisasm,
                                     const std::vector<std::string>& wanted = {});
DataLoss MissesNvdisasm();

/// Parses the output of `nvdisasm -json`, without inline stacks. Each function's offsets count from its own start.
/// Throws Error if the text is something else.
std::vector<DeviceFunction> ParseNvdisasmJson(std::string_view text);

/// The same for the output of `nvdisasm -c`. Other lines are skipped.
std::vector<DeviceFunction> ParseNvdisasmText(std::string_view text);

}  // namespace fa_profile::sass
