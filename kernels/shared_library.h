#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "crash_report.h"
#include "fa_profile/error.h"

namespace fa_profile {

/// What is written when the library's code ends the process `where` ("in launch()").
CrashMessages LibraryCrashMessages(const std::string& library, const std::string& where, const std::string& hint);

struct CloseLibrary {
  void operator()(void* handle) const { (void)dlclose(handle); }
};
using LibraryHandle = std::unique_ptr<void, CloseLibrary>;

/// Loads a shared library for this machine. Throws Error that names it and what is wrong with it.
LibraryHandle OpenLibrary(const std::string& path);

/// One function of a library, called under a crash report that names both.
template <typename Function>
class LibraryFunction {
 public:
  /// A function that the library may have, called `name` in reports: null if it has none.
  LibraryFunction(Function* function, const std::string& path, const std::string& name)
      : function_(function),
        messages_(LibraryCrashMessages(path, "in " + name + "()",
                                       "run it under a debugger; what was recorded before is kept")) {}

  /// A function that the library exports. Throws Error if it does not.
  LibraryFunction(void* handle, const std::string& path, const char* symbol)
      : LibraryFunction(reinterpret_cast<Function*>(dlsym(handle, symbol)), path, std::string(symbol)) {
    if (function_ != nullptr) return;
    throw Error("the kernel library " + path + " has no function " + symbol,
                "export it with C linkage, as fa_profile/kernel_abi_2.h declares it");
  }

  explicit operator bool() const { return function_ != nullptr; }

  template <typename... Args>
  auto operator()(Args... args) const {
    const CrashReport report(messages_);
    return function_(args...);
  }

 private:
  Function* function_;
  CrashMessages messages_;
};

/// The error text written by a library's function.
class LibraryError {
 public:
  char* data() { return text_; }
  std::size_t size() const { return sizeof text_; }
  /// What the library wrote, whether or not it wrote the terminator.
  std::string Text(const char* if_empty) const;

 private:
  char text_[1024] = {};
};

}  // namespace fa_profile
