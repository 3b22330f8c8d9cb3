#pragma once

#include <cstddef>
#include <string>

namespace fa_profile {

/// The C++ name of a mangled symbol; the symbol itself if it is not mangled, "?" for null.
std::string Demangle(const char* symbol);

/// The function's own name in a demangled one, with template arguments: "Kernel<64>" for "void ns::(anonymous
/// namespace)::Kernel<64>(ns::Params)".
std::string FunctionName(const std::string& demangled);

/// FunctionName() without template arguments: "Kernel". For an operator "operator<<", for a lambda's call "operator()".
std::string BaseName(const std::string& demangled);

/// The function's name with its scopes, without return type, parameters and, at every level, template arguments:
/// "ns::Solver::step" for "void ns::Solver<double>::step<4>(int)". An anonymous namespace is "anonymous". Text that is
/// not a C++ function's name stays unchanged.
std::string QualifiedName(const std::string& demangled);

/// FunctionName() without the namespaces of its template arguments, at most `most` bytes: longer names end in "~" and
/// four hexadecimal digits of a hash of the whole name, so that equal kernels keep equal names and others usually do
/// not.
std::string ShortName(const std::string& demangled, std::size_t most = 72);

}  // namespace fa_profile
