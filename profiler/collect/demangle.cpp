#include "demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace fa_profile {

std::string Demangle(const char* symbol) {
  if (symbol == nullptr) return "?";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::string(text.get()) : std::string(symbol);
}

}  // namespace fa_profile
