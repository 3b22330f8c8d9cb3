#include "demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "fa_profile/launch_hook.h"

namespace fa_profile {

std::string Demangle(const char* symbol) {
  if (symbol == nullptr) return "?";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::string(text.get()) : std::string(symbol);
}

std::string FunctionName(const std::string& demangled) {
  // One pass from the left at bracket depth 0: the last space or "::" starts the name, a "(" that is not
  // "(anonymous namespace)" ends it.
  std::size_t start = 0;
  std::size_t end = demangled.size();
  int depth = 0;
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    const char c = demangled[i];
    if (depth == 0 && c == '(' && demangled.compare(i, 21, "(anonymous namespace)") != 0 && i > start) {
      end = i;
      break;
    }
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
    if (depth == 0 && (c == ' ' || (c == ':' && i + 1 < demangled.size() && demangled[i + 1] != ':'))) start = i + 1;
  }
  const std::string name = demangled.substr(start, end - start);
  return name.empty() ? demangled : name;
}

}  // namespace fa_profile
