#include "fa_profile/count_code.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fa_profile/code_outline.h"
#include "fa_profile/cubin.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"
#include "sample_cubins.h"

namespace fa_profile::analyze::count_code_test {
namespace {

auto Values(const CodeCounts& counts) {
  return std::tuple(counts.instructions, counts.loop_instructions, counts.local_accesses, counts.loop_local_accesses,
                    counts.tensor_instructions, counts.unknown_branches);
}

TEST(CountCodeTest, AnOutlineCountsLikeTheDisassembly) {
  std::map<std::string, std::vector<std::vector<std::uint8_t>>> cubins;  // by architecture: fewer runs of nvdisasm
  for (const auto& entry : std::filesystem::recursive_directory_iterator(FA_PROFILE_TEST_DATA "/cubins")) {
    if (entry.path().extension() != ".cubin") continue;
    for (sass::EmbeddedCubin& cubin : sass::ReadGpuCode(entry.path().string())) {
      cubins[cubin.architecture].push_back(std::move(cubin.bytes));
    }
  }
  int functions = 0;
  int in_loops = 0;
  int local = 0;
  for (const auto& [architecture, files] : cubins) {
    std::vector<sass::CubinPart> parts;
    for (const auto& bytes : files) parts.push_back({bytes, {}});
    sass::InstructionTexts texts;
    sass::DisassembleTogether(
        parts, sass::RequireNvdisasm(), texts, [&](std::size_t part, const DeviceFunction& function) {
          std::vector<DeviceFunction> outline;
          sass::ReadOutline(files[part], {function.name},
                            [&](DeviceFunction one) { outline.push_back(std::move(one)); });
          ASSERT_EQ(outline.size(), 1U) << function.name;
          const CodeCounts counts = CountCode(outline.front());
          EXPECT_EQ(Values(counts), Values(CountCode(function))) << architecture << " " << function.name;
          ++functions;
          in_loops += counts.loop_instructions;
          local += counts.loop_local_accesses;
        });
  }
  EXPECT_GT(functions, 30);
  EXPECT_GT(in_loops, 1000);
  EXPECT_GT(local, 0);
}

TEST(CountCodeTest, WhatIsNotCodeOrOfAnUnknownArchitectureIsRefused) {
  EXPECT_FALSE(sass::HasOutline(61));
  EXPECT_TRUE(sass::HasOutline(70));
  EXPECT_FALSE(sass::HasOutline(130));
  const std::vector<std::uint8_t> text(100, 'x');
  EXPECT_THROW(sass::ReadOutline(text, {"k"}, [](const DeviceFunction&) {}), Error);
}

}  // namespace
}  // namespace fa_profile::analyze::count_code_test
