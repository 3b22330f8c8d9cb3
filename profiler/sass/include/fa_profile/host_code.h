#pragma once

#include <string>

namespace fa_profile::sass {

/// Hash of a shared library without its code for GPUs, in 16 hexadecimal digits: of the sections that are loaded, but
/// for nvcc's fatbins, unwind tables, and notes such as the build id. Debug information, symbols and comments do not
/// count, nor does the hash of a source's path in the names that nvcc makes. Equal: the same host code. A rebuild whose
/// layout changed has another hash, and so may a library with another RUNPATH. Empty: not a shared library, or damaged.
/// Throws Error when the file cannot be opened or read.
std::string HostCodeHash(const std::string& path);

}  // namespace fa_profile::sass
