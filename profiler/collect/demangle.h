#pragma once

#include <string>

namespace fa_profile {

/// The C++ name of a mangled symbol; the symbol itself when it is none, "?" for null.
std::string Demangle(const char* symbol);

}  // namespace fa_profile
