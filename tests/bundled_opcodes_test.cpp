// Every opcode of the recordings that the repository passes on has a row: formulas and phases know it. DisassemblyTest
// asks the same of cubins.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "fa_profile/opcodes.h"
#include "fa_profile/recording_file.h"

namespace fa_profile::load::bundled_opcodes_test {
namespace {

TEST(BundledOpcodesTest, RecordingsHoldNoOpcodeWithoutARow) {
  std::set<std::string> unknown;
  std::set<std::string_view> known;
  for (const std::string folder :
       {FA_PROFILE_SOURCE "/recordings", FA_PROFILE_TEST_DATA, FA_PROFILE_PHASE_RECORDINGS}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".fap") continue;
      const Recording recording = store::RecordingReader(entry.path().string()).Load({});
      for (const DeviceFunction& function : recording.functions) {
        for (const Instruction& instruction : function.instructions) {
          const std::string_view base = sass::FindOpcode(instruction.opcode).base;
          if (base.empty()) unknown.insert(instruction.opcode);
          known.insert(base);
        }
      }
    }
  }
  EXPECT_EQ(unknown, std::set<std::string>());
  EXPECT_GT(known.size(), 90U);
}

}  // namespace
}  // namespace fa_profile::load::bundled_opcodes_test
