#pragma once

#include <string>
#include <string_view>

namespace fa_profile::python {

/// A function in a Python file, as named by --kernel-py.
struct PythonKernel {
  std::string file;      ///< absolute path
  std::string function;  ///< "softmax"; "Class.method" for a member

  /// "/path/softmax.py:softmax"
  std::string ToString() const { return file + ":" + function; }
};

/// Whether the text is meant as FILE.py:FUNCTION, even if malformed: "a.py", "a.py:", "a.py:f".
bool LooksLikePythonKernel(std::string_view text);

/// Throws Error, with the cure: no function is named, it is not a Python name, or there is no such file.
PythonKernel ParsePythonKernel(const std::string& text);

/// A case is "FUNCTION@LABEL", or "FUNCTION" without a label. Its name when the function is called `to`, not `from`;
/// unchanged for a case of another function.
std::string RenameCase(const std::string& name, const std::string& from, const std::string& to);

}  // namespace fa_profile::python
