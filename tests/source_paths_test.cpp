// A recording's names for the sources of its code.
#include "fa_profile/source_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fa_profile/line_table.h"
#include "fa_profile/sha256.h"
#include "recording_builder.h"
#include "sample_cubins.h"
#include "test_files.h"

namespace fa_profile::load::source_paths_test {
namespace {

class SourcePathsTest : public FolderTest {
 protected:
  Recording Passed(const std::vector<std::string>& files) {
    DeviceFunction function{1, 7, "kernel", {}};
    for (const std::string& file : files) function.instructions.push_back({0, "", "NOP", "", {{"f", file, 1}}});
    RecordingBuilder builder;
    PortableSink sink(builder);
    sink.Write(Cubin{1, 7, SampleCubin("sm_90a.cubin")});
    sink.Write(function);
    sink.Commit();
    return builder.recording;
  }
  static std::string FileOf(const Recording& recording, std::size_t i) {
    return recording.functions.at(0).instructions.at(i).frames.at(0).file;
  }
};

TEST_F(SourcePathsTest, FilesOfAWorkTreeAreNamedBelowItAndHaveAHash) {
  std::filesystem::create_directories(folder_ / "project" / ".git");
  std::filesystem::create_directories(folder_ / "project" / "kernels" / "fused");
  const std::filesystem::path file = folder_ / "project" / "kernels" / "fused" / "a.cu";
  WriteFile(file, "mine");
  const Recording r = Passed({file, folder_ / "project" / "kernels" / ".." / "kernels" / "fused" / "a.cu"});
  EXPECT_EQ(FileOf(r, 0), "kernels/fused/a.cu");
  EXPECT_EQ(FileOf(r, 1), "kernels/fused/a.cu");
  ASSERT_FALSE(r.source_hashes.empty());
  EXPECT_EQ(r.source_hashes[0].file, "kernels/fused/a.cu");
  EXPECT_EQ(r.source_hashes[0].sha256, Sha256("mine"));
}

TEST_F(SourcePathsTest, OtherFilesKeepTheirNames) {
  WriteFile(folder_ / "a.cu", "mine");
  const Recording r = Passed({folder_ / "a.cu", "/nowhere/b.cu", "relative.cu", ""});
  EXPECT_EQ(FileOf(r, 0), folder_ / "a.cu");
  EXPECT_EQ(FileOf(r, 1), "/nowhere/b.cu");
  EXPECT_EQ(FileOf(r, 2), "relative.cu");
  EXPECT_EQ(FileOf(r, 3), "");
  ASSERT_EQ(r.source_hashes.size(), 1U) << "what cannot be read here has none";
  EXPECT_EQ(r.source_hashes[0].file, folder_ / "a.cu");
}

TEST_F(SourcePathsTest, CubinsStayReadable) {
  const Recording r = Passed({});
  ASSERT_EQ(r.cubins.size(), 1U);
  EXPECT_EQ(sass::LineTable(r.cubins[0].bytes).Frames(kReduce, 0).at(0).file, "/src/kernels.cu");
  RecordingBuilder builder;
  PortableSink sink(builder);
  sink.Write(Cubin{1, 7, {1, 2, 3}});
  EXPECT_EQ(builder.recording.cubins.at(0).bytes, (std::vector<std::uint8_t>{1, 2, 3}));
}

TEST_F(SourcePathsTest, SourcesThatAreNotHereHaveNoHash) {
  const std::vector<std::uint8_t> bytes = SampleCubin("sm_90a.cubin");  // compiled from /src/kernels.cu
  WriteFile(folder_ / "a.cubin", std::string(bytes.begin(), bytes.end()));
  EXPECT_TRUE(HashesOfSources(folder_ / "a.cubin").empty());
  WriteFile(folder_ / "b.cubin", "no code");
  EXPECT_TRUE(HashesOfSources(folder_ / "b.cubin").empty());
}

}  // namespace
}  // namespace fa_profile::load::source_paths_test
