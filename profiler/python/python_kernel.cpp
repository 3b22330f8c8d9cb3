#include "fa_profile/python_kernel.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "fa_profile/error.h"
#include "fa_profile/text.h"

namespace fa_profile::python {
namespace {

constexpr std::string_view kEnding = ".py";
constexpr const char* kForm = "write FILE.py:FUNCTION (docs/python-kernels.md)";

// The file's part of the text: up to the last ":" after ".py". A path may have colons.
std::size_t EndOfFile(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool names_function = colon != std::string_view::npos && text.substr(0, colon).ends_with(kEnding);
  return names_function ? colon : text.size();
}

bool IsPythonName(std::string_view name) {
  bool starts = true;  // a word
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (starts ? std::isalpha(letter) == 0 && c != '_' : std::isalnum(letter) == 0 && c != '_' && c != '.')
      return false;
    starts = c == '.';
  }
  return !starts;
}

}  // namespace

bool LooksLikePythonKernel(std::string_view text) { return text.substr(0, EndOfFile(text)).ends_with(kEnding); }

PythonKernel ParsePythonKernel(const std::string& text) {
  const std::size_t end = EndOfFile(text);
  const std::string path = text.substr(0, end);
  if (!path.ends_with(kEnding)) throw Error(Printable(text) + " does not name a Python file (.py)", kForm);
  if (end == text.size()) throw Error(Printable(text) + " names no function", kForm);
  PythonKernel kernel{{}, text.substr(end + 1)};
  if (!IsPythonName(kernel.function)) {
    throw Error("'" + Printable(kernel.function) + "' in " + Printable(text) + " is not the name of a Python function",
                kForm);
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error("Python file " + Printable(path) + " not found",
                "check the path before the colon in " + Printable(text));
  }
  kernel.file = std::filesystem::absolute(path, error).lexically_normal().string();
  return kernel;
}

std::string RenameCase(const std::string& name, const std::string& from, const std::string& to) {
  const bool is_case = name == from || name.starts_with(from + "@");
  return is_case ? to + name.substr(from.size()) : name;
}

}  // namespace fa_profile::python
