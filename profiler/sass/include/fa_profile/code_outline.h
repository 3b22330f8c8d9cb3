#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/disassembly.h"

namespace fa_profile::sass {

/// Whether ReadOutline() knows the encoding of an architecture's instructions: from Volta to Blackwell.
bool HasOutline(int sm);

/// Functions of a cubin, as Disassemble() gives them, but from the encoding alone: no program is run, and a megabyte of
/// code takes milliseconds. Only what decides about control flow, accesses of local memory and matrix instructions has
/// an opcode; a matrix instruction has that of one of its encoding. Every other instruction has none.
///
/// `wanted`: mangled names. `take` gets one function at a time, which needs ten times as much memory as its code.
/// Throws Error: the bytes are not a cubin, or !HasOutline().
void ReadOutline(std::span<const std::uint8_t> cubin, const std::vector<std::string>& wanted, const TakeFunction& take);

}  // namespace fa_profile::sass
