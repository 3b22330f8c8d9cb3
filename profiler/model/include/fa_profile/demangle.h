#pragma once

#include <string>

namespace fa_profile {

/// The C++ name of a mangled symbol; the symbol itself when it is none, "?" for null.
std::string Demangle(const char* symbol);

/// The function's own name in a demangled one, template arguments kept: "Kernel<64>" of
/// "void ns::(anonymous namespace)::Kernel<64>(ns::Params)".
std::string FunctionName(const std::string& demangled);

/// FunctionName() without template arguments: "Kernel". Of an operator "operator<<", of a lambda's call "operator()".
std::string BaseName(const std::string& demangled);

}  // namespace fa_profile
