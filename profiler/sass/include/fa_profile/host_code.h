#pragma once

#include <string>

namespace fa_profile::sass {

/// Hash of a shared library without its GPU code, in 16 hexadecimal digits: over the sections that are loaded, except
/// nvcc's fatbins, unwind tables, and notes such as the build id. Debug information, symbols and comments do not count,
/// nor does the hash of a source's path in the names that nvcc makes. Equal: the same host code. A rebuild with a
/// changed layout has another hash, and so may a library with another RUNPATH. Empty: not a shared library, or damaged.
/// Throws Error when the file cannot be opened or read.
std::string HostCodeHash(const std::string& path);

/// Zeros for the hash in the names that nvcc gives to what is internal to a file:
/// "_GLOBAL__N__21b11bff_4_k_cu_07245e80". It is a hash of the file's path.
void HidePathHashes(std::string& bytes);

}  // namespace fa_profile::sass
