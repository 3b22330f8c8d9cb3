#include "fa_profile/python_kernel.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::python::python_kernel_test {
namespace {

class PythonKernelTest : public FolderTest {
 protected:
  void SetUp() override { WriteFile(folder_ / "softmax.py", ""); }
  std::string Path(const std::string& rest) const { return (folder_ / "softmax.py").string() + rest; }
  // The message of the error, and its hint.
  static std::string Refusal(const std::string& text) {
    try {
      (void)ParsePythonKernel(text);
    } catch (const Error& error) {
      return error.message() + " | " + error.hint();
    }
    return "no error";
  }
};

TEST_F(PythonKernelTest, AFileAndAFunction) {
  const PythonKernel kernel = ParsePythonKernel(Path(":softmax"));
  EXPECT_EQ(kernel.file, Path(""));
  EXPECT_EQ(kernel.function, "softmax");
  EXPECT_EQ(kernel.ToString(), Path(":softmax"));
  EXPECT_EQ(ParsePythonKernel(Path(":Class.method_2")).function, "Class.method_2");
}

TEST_F(PythonKernelTest, APathMayHaveColonsAndIsMadeAbsolute) {
  std::filesystem::create_directory(folder_ / "a.py:b");
  WriteFile(folder_ / "a.py:b" / "c.py", "");
  EXPECT_EQ(ParsePythonKernel((folder_ / "a.py:b" / "c.py:f").string()).function, "f");
  const std::string relative = std::filesystem::relative(Path("")).string();
  EXPECT_EQ(ParsePythonKernel(relative + ":f").file, Path(""));
}

TEST_F(PythonKernelTest, WhatIsWrongIsNamed) {
  EXPECT_TRUE(Contains(Refusal(Path("")), "softmax.py names no function | write FILE.py:FUNCTION"));
  EXPECT_TRUE(Contains(Refusal("softmax"), "does not name a Python file"));
  EXPECT_TRUE(Contains(Refusal("softmax.so:f"), "does not name a Python file"));
  EXPECT_TRUE(Contains(Refusal("none.py:f"), "Python file none.py not found"));
  EXPECT_TRUE(Contains(Refusal((folder_ / "x.py:f").string()), "not found"));
  for (const char* const name : {":", ":1f", ":f()", ":f.", ":.f", ":a..b", ":f g", ":\x1b[31m"})
    EXPECT_TRUE(Contains(Refusal(Path(name)), "is not the name of a Python function")) << name;
  EXPECT_FALSE(Contains(Refusal(Path(":\x1b[31m")), "\x1b"));
}

TEST_F(PythonKernelTest, LooksLikeOneWhenItEndsInPyOrNamesAFunctionOfSuchAFile) {
  for (const char* const text : {"a.py", "a.py:", "a.py:f", "/x/a.py:f", "a.py:1"})
    EXPECT_TRUE(LooksLikePythonKernel(text)) << text;
  for (const char* const text : {"", "a.so", "build/gpu", "a.pyc", "py", "a:f", "a.py/b"})
    EXPECT_FALSE(LooksLikePythonKernel(text)) << text;
}

TEST_F(PythonKernelTest, ACaseIsRenamedByItsFunction) {
  EXPECT_EQ(RenameCase("new@n=4", "new", "old"), "old@n=4");
  EXPECT_EQ(RenameCase("new", "new", "old"), "old");
  EXPECT_EQ(RenameCase("newer@n=4", "new", "old"), "newer@n=4");
  EXPECT_EQ(RenameCase("gate_reference", "new", "old"), "gate_reference");
}

}  // namespace
}  // namespace fa_profile::python::python_kernel_test
