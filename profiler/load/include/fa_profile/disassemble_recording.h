#pragma once

#include <string>

namespace fa_profile::load {

/// Adds the instructions of functions that a recording lacks, from its cubins: the library inside a program leaves them
/// out, because disassembly must not cost the program time. The recording is replaced as a whole or not at all. Without
/// nvdisasm, functions only get their source lines, and a DataLoss reports it. False: nothing was missing, and the file
/// is unchanged. Throws Error: the file cannot be read or written.
bool DisassembleRecording(const std::string& path);

}  // namespace fa_profile::load
