#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/recording.h"
#include "test_files.h"

namespace fa_profile {

inline constexpr const char* kSampleCubins[] = {"sm_80.cubin", "sm_89.cubin", "sm_90a.cubin", "sm_80_cuda12.cubin",
                                                "sm_90_cuda12.cubin"};
inline constexpr const char* kReduce = "_ZN6sample6reduceILi128EEEvPKfPf";
inline constexpr const char* kIndexed = "_ZN6sample7indexedEPKiPf";

inline std::string SampleCubinPath(const std::string& name) {
  return std::string(FA_PROFILE_TEST_DATA) + "/cubins/" + name;
}

inline std::vector<std::uint8_t> SampleCubin(const std::string& name) {
  const std::string bytes = ReadFile(SampleCubinPath(name));
  EXPECT_FALSE(bytes.empty()) << name;
  return {bytes.begin(), bytes.end()};
}

using Lines = std::vector<std::pair<std::string, int>>;  ///< file and line of each frame, innermost first

/// Output of `nvdisasm -c -gi` for an instruction. It prints frames when the innermost one changes: `is_printed`; other
/// instructions have the previous innermost frame.
struct ListedLines {
  Lines lines;
  bool is_printed = false;
};
/// By the code section's function, and offset.
using Listing = std::map<std::string, std::map<std::uint32_t, ListedLines>>;

inline Listing ReadListing(const std::string& text) {
  Listing listing;
  std::string function;
  ListedLines now;
  bool is_complete = true;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("\t.section\t.text.")) {
      function = line.substr(16, line.find(',') - 16);
      now = {};
    } else if (line.starts_with("$") && line.ends_with(":")) {
      now = {};  // a subroutine: the frames of the code before are not its own
    } else if (line.starts_with("\t//## File \"")) {
      if (is_complete) now = {{}, true};
      const std::size_t end = line.find('"', 12);
      now.lines.emplace_back(line.substr(12, end - 12), std::stoi(line.substr(line.find("line ", end) + 5)));
      is_complete = line.find(" inlined at ") == std::string::npos;
    } else if (const std::size_t at = line.find("/*"); at == 8 && line.find("*/") > at + 5) {
      listing[function][static_cast<std::uint32_t>(std::stoul(line.substr(at + 2), nullptr, 16))] = now;
      now.is_printed = false;
    }
  }
  return listing;
}

/// Whether an instruction's frames are those of the listing.
inline testing::AssertionResult AreListed(const std::vector<InlineFrame>& frames, const ListedLines& listed) {
  Lines lines;
  for (const InlineFrame& frame : frames) lines.emplace_back(frame.file, frame.line);
  const bool same = listed.is_printed || lines.empty() || listed.lines.empty() ? lines == listed.lines
                                                                               : lines.front() == listed.lines.front();
  if (same) return testing::AssertionSuccess();
  return testing::AssertionFailure() << testing::PrintToString(lines) << " and not "
                                     << testing::PrintToString(listed.lines);
}

}  // namespace fa_profile
