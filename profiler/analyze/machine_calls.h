#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// A call from a kernel to a function of the device runtime: printf, assert, malloc, free.
struct MachineCall {
  std::string callee;  ///< empty: the recorded instruction does not name it
  std::string where;   ///< "kernel.cu:17", or "offset 0x180" without line information
  std::uint32_t offset = 0;
};

/// "kernel.cu:17" of the outermost frame, which is the kernel's own line: the innermost may be in a header of the
/// toolkit. Without frames "offset 0x180".
std::string PlaceOf(const Instruction& instruction);

/// The calls whose target the loader put into constant bank 4, which is how the runtime's functions are reached: they
/// are in no cubin. Calls of the program's own functions are relative or get their address elsewhere.
std::vector<MachineCall> RuntimeCalls(const DeviceFunction& function);

}  // namespace fa_profile::analyze
