#include "fa_profile/line_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "fa_profile/demangle.h"
#include "fa_profile/error.h"
#include "sample_cubins.h"

namespace fa_profile::sass::line_table_test {
namespace {

// Base names of the frames joined: "scale<load<reduce".
std::string Stack(const std::vector<InlineFrame>& frames) {
  std::string stack;
  for (const InlineFrame& frame : frames) {
    if (!stack.empty()) stack += '<';
    stack += BaseName(frame.function);
  }
  return stack;
}

TEST(LineTableTest, NamesTheFunctionsThatWereInlined) {
  for (const char* name : kSampleCubins) {
    SCOPED_TRACE(name);
    const LineTable table(SampleCubin(name));
    std::vector<std::string> stacks;
    for (std::uint64_t offset = 0; offset < 4096; offset += 16) stacks.push_back(Stack(table.Frames(kReduce, offset)));
    for (const char* expected : {"reduce", "load<reduce", "scale<load<reduce", "sync<reduce"}) {
      EXPECT_NE(std::find(stacks.begin(), stacks.end(), expected), stacks.end()) << expected;
    }
  }
}

TEST(LineTableTest, FramesHaveFileLineAndQualifiedName) {
  const LineTable table(SampleCubin("sm_90a.cubin"));
  const std::vector<InlineFrame> first = table.Frames(kReduce, 0);
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(first[0].function, "void sample::reduce<128>(float const*, float*)");
  EXPECT_EQ(first[0].file, "/src/kernels.cu");
  EXPECT_EQ(first[0].line, 19);
}

TEST(LineTableTest, PathsAreRewrittenInPlaceAndLinesStay) {
  for (const char* const name : {"sm_80.cubin", "sm_90a.cubin", "sm_90_cuda12.cubin"}) {
    SCOPED_TRACE(name);
    const std::vector<std::uint8_t> original = SampleCubin(name);
    for (const auto& [to, expected] : {std::pair{"a/b.cu", "a/kernels.cu"}, std::pair{"b.cu", "kernels.cu"}}) {
      std::vector<std::uint8_t> cubin = original;
      EXPECT_TRUE(RewriteSourcePaths(cubin, [&](const std::string& path) { return path == "/src/f" ? to : path; }));
      EXPECT_EQ(cubin.size(), original.size());
      for (std::uint64_t offset = 0; offset < 4096; offset += 16) {
        const std::vector<InlineFrame> before = LineTable(original).Frames(kReduce, offset);
        const std::vector<InlineFrame> after = LineTable(cubin).Frames(kReduce, offset);
        ASSERT_EQ(after.size(), before.size());
        if (before.empty()) continue;
        EXPECT_EQ(after[0].line, before[0].line);
        EXPECT_EQ(after[0].file, before[0].file == "/src/kernels.cu" ? expected : before[0].file);
      }
    }
  }
  std::vector<std::uint8_t> cubin = SampleCubin("sm_90a.cubin");
  EXPECT_FALSE(RewriteSourcePaths(cubin, [](const std::string& path) { return "/longer" + path; })) << "no room";
  EXPECT_EQ(cubin, SampleCubin("sm_90a.cubin"));
  cubin = SampleCubin("sm_90a_debug.cubin");
  EXPECT_FALSE(RewriteSourcePaths(cubin, [](const std::string&) { return "b.cu"; })) << "-G writes paths elsewhere too";
}

TEST(LineTableTest, AbsolutePathsAreFoundAnywhere) {
  EXPECT_TRUE(HoldsAbsolutePath(std::string("x\0/ho", 5) + "me/me/a.cu"));
  EXPECT_TRUE(HoldsAbsolutePath("-o=/tmp/a"));
  EXPECT_FALSE(HoldsAbsolutePath("a/b.cu ./////kernels/a.cu sm__inst/cycle"));
}

TEST(LineTableTest, AbsolutePathsOfSourcesAreFoundWhateverTheirFolder) {
  for (const std::string path : {"/app/kernels/a.cu", "/nix/store/x1-y/include/b.h", "/fsx/me/c.py", "/w0/d.cuh"}) {
    EXPECT_TRUE(HoldsAbsolutePath(path)) << path;
    EXPECT_TRUE(HoldsAbsolutePath("at '" + path + ":12'")) << path;
    EXPECT_TRUE(HoldsAbsolutePath("in -I" + path + " and " + path + ".")) << path;
    EXPECT_TRUE(HoldsAbsolutePath(std::string("a\0", 2) + path + std::string("\0b", 2))) << path;
    EXPECT_FALSE(HoldsAbsolutePath("sources" + path)) << path;
    EXPECT_FALSE(HoldsAbsolutePath("./" + path)) << path;
    EXPECT_FALSE(HoldsAbsolutePath("https:/" + path)) << path;
  }
  for (const char* const other : {"/a.cu", "/app/.cu", "/app/a.cubin", "/app/a.hs", "1/2.5 /s/a.c"}) {
    EXPECT_FALSE(HoldsAbsolutePath(other)) << other;
  }
  constexpr std::string_view kSynthetic[] = {"/src/"};
  EXPECT_TRUE(HoldsAbsolutePath("/src/a.cu"));
  EXPECT_FALSE(HoldsAbsolutePath("/src/a.cu", kSynthetic));
  EXPECT_TRUE(HoldsAbsolutePath("/src/a.cu /src2/a.cu", kSynthetic));
}

TEST(LineTableTest, InstructionsOfASubroutineBelongToIt) {
  const LineTable table(SampleCubin("sm_90a.cubin"));
  bool outlined = false;
  for (std::uint64_t offset = 0; offset < 8192; offset += 16) {
    const auto frames = table.Frames(kIndexed, offset);
    if (frames.empty()) continue;
    if (frames.back().function == "sample::outlined(float)") {
      outlined = true;
      EXPECT_EQ(frames.back().line, 15);
    } else {
      EXPECT_FALSE(outlined) << "the kernel goes on behind its subroutine, at " << offset;
    }
  }
  EXPECT_TRUE(outlined);
}

TEST(LineTableTest, WithoutLineInformationThereAreNoFrames) {
  const LineTable without(SampleCubin("sm_90a_without_lines.cubin"));
  EXPECT_TRUE(without.empty());
  EXPECT_TRUE(without.Frames(kReduce, 0).empty());
  const LineTable table(SampleCubin("sm_90a.cubin"));
  EXPECT_FALSE(table.empty());
  EXPECT_TRUE(table.Frames("no such function", 0).empty());
  EXPECT_TRUE(table.Frames(kReduce, 1 << 20).empty());
  // The division's slow path is the compiler's own and has no lines.
  EXPECT_TRUE(table.Frames(kReduce, 0x900).empty());
}

// ptxas left out rows of FlashAttention 3 that it counts: which row a caller is can then not be known, its lines can.
TEST(LineTableTest, WhereALineIsInlinedIntoALaterOneOnlyTheInnermostFrameIsKnown) {
  std::vector<std::uint8_t> cubin = SampleCubin("sm_90a.cubin");
  // An inlined call: its length, and the number of the row at which it is inlined.
  constexpr std::array<std::uint8_t, 4> kInlinedCall = {0, 3, 0x90, 9};
  const auto found = std::search(cubin.begin(), cubin.end(), kInlinedCall.begin(), kInlinedCall.end());
  ASSERT_NE(found, cubin.end());
  const LineTable whole(cubin);
  found[kInlinedCall.size() - 1] = 0x7f;
  const LineTable table(cubin);
  std::size_t deepest = 0;
  for (std::uint64_t offset = 0; offset < 4096; offset += 16) {
    const std::vector<InlineFrame> known = whole.Frames(kReduce, offset);
    const std::vector<InlineFrame> frames = table.Frames(kReduce, offset);
    deepest = std::max(deepest, known.size());
    ASSERT_EQ(frames.size(), std::min<std::size_t>(known.size(), 1));
    if (frames.empty()) continue;
    EXPECT_EQ(frames[0].line, known[0].line);
    EXPECT_EQ(frames[0].function, known[0].function);
  }
  EXPECT_GT(deepest, 1U);
}

TEST(LineTableTest, DamagedLineTablesAreErrors) {
  const auto good = SampleCubin("sm_90a.cubin");
  for (std::size_t at = 64; at < good.size(); at += 11) {
    auto bytes = good;
    bytes[at] ^= 0xff;
    try {
      const LineTable table(bytes);
      for (std::uint64_t offset = 0; offset < 4096; offset += 256) table.Frames(kReduce, offset);
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
    }
  }
}

}  // namespace
}  // namespace fa_profile::sass::line_table_test
