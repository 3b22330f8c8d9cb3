// The repository's recordings and cubins, which go to everyone, contain no absolute path of the machine that made them,
// in any table, free page or packed part, and no code of closed libraries.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/cubin.h"
#include "fa_profile/line_table.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/redact.h"
#include "test_files.h"

namespace fa_profile::load::travelling_recordings_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> FilesOf(const std::vector<std::string>& folders, const std::string& ending) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ending) files.push_back(entry.path().string());
    }
  }
  return files;
}

// The folder that tests/data/cubins were compiled in, for the same bytes on every machine.
constexpr std::string_view kSynthetic[] = {"/src/"};

bool HoldsPath(std::string_view bytes) { return sass::HoldsAbsolutePath(bytes, kSynthetic); }

std::string_view TextOf(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ExpectTravels(const Cubin& cubin) {
  EXPECT_FALSE(HoldsPath(TextOf(cubin.bytes))) << "cubin " << cubin.id;
  for (const sass::CubinFunction& function : sass::ReadCubin(cubin.bytes).functions) {
    EXPECT_FALSE(IsClosedCode(function.name)) << function.name;
  }
}

void ExpectTravels(const DeviceFunction& function) {
  EXPECT_TRUE(function.instructions.empty() || !IsClosedCode(function.name)) << function.name;
  for (const Instruction& instruction : function.instructions) {
    EXPECT_FALSE(HoldsPath(instruction.operands)) << instruction.operands;
    for (const InlineFrame& frame : instruction.frames) EXPECT_FALSE(frame.file.starts_with('/')) << frame.file;
  }
}

TEST(TravellingRecordingsTest, RecordingsHoldNoPathOfTheirMachineAndNoClosedCode) {
  const std::vector<std::string> files =
      FilesOf({FA_PROFILE_SOURCE "/recordings", FA_PROFILE_TEST_DATA, FA_PROFILE_PHASE_RECORDINGS}, ".fap");
  ASSERT_GT(files.size(), 20U);
  std::size_t cubins = 0;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    EXPECT_FALSE(HoldsPath(ReadFile(file))) << "in a table or a free page";
    const store::RecordingReader reader(file);
    const Recording recording = reader.Load(store::LoadOptions{{}, true, true});
    for (const Cubin& cubin : recording.cubins) ExpectTravels(cubin);
    for (const DeviceFunction& function : recording.functions) ExpectTravels(function);
    for (const std::int64_t id : reader.ImageIds()) {
      EXPECT_FALSE(HoldsPath(TextOf(reader.LoadImage(id).bytes))) << "counter image " << id;
    }
    cubins += recording.cubins.size();
  }
  EXPECT_GT(cubins, 0U);
}

TEST(TravellingRecordingsTest, CubinsHoldNoPathOfTheirMachine) {
  const std::vector<std::string> files = FilesOf({FA_PROFILE_TEST_DATA, FA_PROFILE_SOURCE "/tests/fuzz"}, ".cubin");
  ASSERT_GT(files.size(), 10U);
  for (const std::string& file : files) EXPECT_FALSE(HoldsPath(ReadFile(file))) << file;
}

}  // namespace
}  // namespace fa_profile::load::travelling_recordings_test
