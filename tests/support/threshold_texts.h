#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/thresholds.h"
#include "test_files.h"

/// Shared by the tests of threshold files: texts of such files, and messages about them.
namespace fa_profile {

/// "no error", or the message; every error has a hint.
inline std::string ErrorOf(const std::string& text) {
  try {
    (void)gate::ParseThresholds(text, "t.yaml");
    return "no error";
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << "without a cure: " << error.message();
    return error.message();
  }
}

inline std::string HintOf(const std::string& text) {
  try {
    (void)gate::ParseThresholds(text, "t.yaml");
    return "no error";
  } catch (const Error& error) {
    return error.hint();
  }
}

/// A file with one rule, or one exception, of these words. They stand from line 3, column 6.
inline std::string Rule(const std::string& words) { return "version: 1\nrules:\n  - {" + words + "}\n"; }
inline std::string Exception(const std::string& words) { return "version: 1\nexceptions:\n  - {" + words + "}\n"; }
inline std::string Defaults(const std::string& words) { return "version: 1\ndefaults: {" + words + "}\n"; }

}  // namespace fa_profile
