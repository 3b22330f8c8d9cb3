#pragma once

#include <string>

namespace fa_profile::load {

/// Adds the instructions of functions that a recording has without, from its cubins: the library inside a program
/// leaves them out, because to disassemble is not for the program's time. The recording is replaced as a whole or not
/// at all. Without nvdisasm, functions get their source lines alone, and a DataLoss tells it. False: nothing was
/// missing, and the file is as it was. Throws Error: the file cannot be read or written.
bool DisassembleRecording(const std::string& path);

}  // namespace fa_profile::load
