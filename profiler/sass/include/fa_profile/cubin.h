#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fa_profile::sass {

/// A function in a cubin and the properties that the compiler fixed. Absent: the cubin does not say.
struct CubinFunction {
  std::string name;              ///< mangled
  bool is_kernel = false;        ///< false: a subroutine of relocatable code, which kernels call
  std::uint64_t code_bytes = 0;  ///< including subroutines and padding inside it
  std::uint64_t code_hash = 0;   ///< FNV-1a of the code and the constants it reads: equal for equal code
  std::optional<int> registers_per_thread;
  std::optional<std::int64_t> stack_frame_bytes;       ///< per thread, in local memory: arrays and spills
  std::int64_t static_shared_memory_bytes = 0;         ///< as declared in the source, and printed by ptxas
  std::optional<std::array<int, 3>> max_threads;       ///< __launch_bounds__
  std::optional<std::array<int, 3>> required_threads;  ///< PTX's .reqntid
  int barriers = 0;                                    ///< named barriers 0 to barriers-1 may be used
  std::optional<std::int64_t> constant_bank_bytes;     ///< size of bank 0, which holds the kernel's arguments
  std::vector<std::string> externals;                  ///< functions it calls that the cubin lacks: "vprintf"
  std::optional<bool> has_exponentials;  ///< MUFU.EX2; absent: the architecture's encoding is not known here
  bool has_matrix_products = false;      ///< instructions of tensor cores, if has_exponentials is known
};

/// What a cubin (GPU machine code in an ELF file) says about itself, without disassembly.
struct CubinInfo {
  int sm = 0;                            ///< 90: built for compute capability 9.0
  bool has_line_information = false;     ///< built with -lineinfo or -G
  bool is_device_debug = false;          ///< built with -G, or ptxas -g: not optimised
  std::vector<CubinFunction> functions;  ///< a subroutine placed inside a kernel is part of it
};

/// Whether to compute CubinFunction::code_hash, which takes longer than all else; otherwise it is 0.
enum class CodeHashes { kNo, kYes };

/// Reads the ELF headers of a cubin, from CUDA 11 on. Throws Error, with what to do, for bytes that are not a cubin, a
/// 32-bit one, one that is cut off, and one whose symbols were stripped.
CubinInfo ReadCubin(std::span<const std::uint8_t> cubin, CodeHashes hashes = CodeHashes::kYes);

}  // namespace fa_profile::sass
