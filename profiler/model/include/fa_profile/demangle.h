#pragma once

#include <cstddef>
#include <string>

namespace fa_profile {

/// The C++ name of a mangled symbol; the symbol itself when it is none, "?" for null.
std::string Demangle(const char* symbol);

/// The function's own name in a demangled one, template arguments kept: "Kernel<64>" of
/// "void ns::(anonymous namespace)::Kernel<64>(ns::Params)".
std::string FunctionName(const std::string& demangled);

/// FunctionName() without template arguments: "Kernel". Of an operator "operator<<", of a lambda's call "operator()".
std::string BaseName(const std::string& demangled);

/// The function's name with its scopes, without return type, parameters and, at every level, template arguments:
/// "ns::Solver::step" of "void ns::Solver<double>::step<4>(int)". An anonymous namespace is "anonymous". A text that is
/// not a C++ function's stays as it is.
std::string QualifiedName(const std::string& demangled);

/// FunctionName() with the namespaces of its template arguments dropped, at most `most` bytes: what is longer ends in
/// "~" and four hexadecimal digits of a hash of the whole name, so that equal kernels keep equal names and others
/// mostly do not.
std::string ShortName(const std::string& demangled, std::size_t most = 72);

}  // namespace fa_profile
