#pragma once

#include <cstdint>
#include <string>

namespace fa_profile {

/// The version of the kernel interface that a loaded library speaks: 1 or 2. Throws Error that names another one.
std::uint32_t VersionOf(void* handle, const std::string& path);

/// Throws Error: the library speaks another version than before.
void RequireVersion(void* handle, const std::string& path, std::uint32_t version);

}  // namespace fa_profile
