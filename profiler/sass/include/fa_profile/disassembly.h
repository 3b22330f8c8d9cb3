#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::sass {

/// Where NVIDIA's nvdisasm is: FA_PROFILE_NVDISASM, PATH, or one of CudaToolkits(). Absent when nowhere. Throws Error
/// when FA_PROFILE_NVDISASM names no program.
std::optional<std::string> FindNvdisasm();

/// The same. Throws Error, with how to install it, when it is nowhere.
std::string RequireNvdisasm();

/// The functions of a cubin, each instruction with its inline stack (empty without line information): all, or those
/// `wanted` (mangled names). Ids are 0. A subroutine that the compiler placed inside a kernel is part of the kernel.
/// `crc` is put into each function. Runs the program `nvdisasm` for at most two minutes, and once more where it fails
/// with -json: for text. Throws Error when the bytes are not a cubin, and when nvdisasm is missing, does not know the
/// architecture, or fails.
std::vector<DeviceFunction> Disassemble(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                        const std::string& nvdisasm, const std::vector<std::string>& wanted = {});

/// A cubin, and the functions of it that are wanted (mangled names); none: all.
struct CubinPart {
  std::span<const std::uint8_t> cubin;
  std::vector<std::string> wanted;
};

/// Disassemble() of each, in one run of nvdisasm: it takes longer to start than to read most cubins. Cubins that differ
/// from the first in architecture or layout, and those that call code by name, take a run each. By cubin. Throws Error
/// as Disassemble() does, when any of them fails.
std::vector<std::vector<DeviceFunction>> DisassembleTogether(const std::vector<CubinPart>& parts,
                                                             const std::string& nvdisasm);

/// Disassemble() without nvdisasm: where the instructions are and their inline stacks, no opcodes. That is enough to
/// tell the phase of an instruction, but not what it does. Throws Error when the bytes are not a cubin.
std::vector<DeviceFunction> ReadInlineStacks(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                             const std::vector<std::string>& wanted = {});

/// Disassemble(), or ReadInlineStacks() where `nvdisasm` is absent: then MissesNvdisasm() belongs into the recording.
std::vector<DeviceFunction> ReadCode(std::span<const std::uint8_t> cubin, std::uint64_t crc,
                                     const std::optional<std::string>& nvdisasm,
                                     const std::vector<std::string>& wanted = {});
DataLoss MissesNvdisasm();

/// What `nvdisasm -json` printed, without inline stacks. Each function's offsets count from its own start. Throws Error
/// when the text is something else.
std::vector<DeviceFunction> ParseNvdisasmJson(std::string_view text);

/// What `nvdisasm -c` printed: the same. Lines that are something else are passed over.
std::vector<DeviceFunction> ParseNvdisasmText(std::string_view text);

}  // namespace fa_profile::sass
