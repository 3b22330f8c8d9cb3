#pragma once

#include <cstddef>
#include <span>

namespace fa_profile::collect {

/// A function of a shared library, and ours of the same type.
struct Redirection {
  void* original = nullptr;
  void* ours = nullptr;
};

/// For good, makes calls of the originals reach ours. Exceptions are calls made by the library itself and by the object
/// that holds ours, which must have been linked with -z now: it calls the originals.
///
/// Slots that hold an original's address are changed (ELF relocations). Slots that the loader fills later, objects that
/// it loads later, and dlsym find ours in the library's table of symbols. Not reached: pointers that the program has
/// stored, code that is linked statically, another copy of the library.
///
/// Nothing may be loaded or unloaded meanwhile: call it in a library's constructor, where the loader holds its lock.
/// Returns the number of slots and symbols changed.
std::size_t RedirectFunctions(std::span<const Redirection> redirections) noexcept;

}  // namespace fa_profile::collect
