// The machine code of all rungs, from the built kernel library, compared with NVIDIA's own listings of it.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "cuda_tool.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/private_folder.h"
#include "sample_cubins.h"

namespace fa_profile::rung_sass_test {
namespace {

class RungSassTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto nvdisasm = sass::FindNvdisasm();
    const auto cuobjdump = sass::FindCudaTool("cuobjdump", "FA_PROFILE_CUOBJDUMP");
    if (!nvdisasm || !cuobjdump) GTEST_SKIP() << "no nvdisasm or cuobjdump here: ci/setup.sh fetches them";
    nvdisasm_ = *nvdisasm;
    cuobjdump_ = *cuobjdump;
    cubins_ = sass::ReadGpuCode(FA_PROFILE_KERNELS);
    // One architecture does: the code of the others differs in nothing that is tested here.
    const std::string last = cubins_.back().architecture;
    std::erase_if(cubins_, [&](const sass::EmbeddedCubin& cubin) { return cubin.architecture != last; });
  }

  // `program`'s output about the cubin.
  std::string Print(std::vector<std::string> command, const sass::EmbeddedCubin& cubin) const {
    const PrivateFolder folder;
    const std::string path = (folder.path() / "x.cubin").string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(cubin.bytes.data()), static_cast<std::streamsize>(cubin.bytes.size()));
    command.push_back(path);
    return sass::RunCudaTool(command).out;
  }

  std::string nvdisasm_;
  std::string cuobjdump_;
  std::vector<sass::EmbeddedCubin> cubins_;
};

TEST_F(RungSassTest, ResourcesAreThoseThatCuobjdumpPrints) {
  const std::regex usage(R"(Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:\d+ CONSTANT\[0\]:(\d+))");
  int kernels = 0;
  for (const sass::EmbeddedCubin& cubin : cubins_) {
    const std::string text = Print({cuobjdump_, "-res-usage"}, cubin);
    std::map<std::string, std::smatch> printed;
    for (std::sregex_iterator match(text.begin(), text.end(), usage), end; match != end; ++match) {
      printed[(*match)[1]] = *match;
    }
    const sass::CubinInfo info = sass::ReadCubin(cubin.bytes);
    const int reserved = info.sm >= 90 ? 1024 : 0;  // cuobjdump counts the system's own shared memory too
    for (const sass::CubinFunction& function : info.functions) {
      if (!function.is_kernel) continue;
      SCOPED_TRACE(Demangle(function.name.c_str()));
      ASSERT_TRUE(printed.contains(function.name));
      const std::smatch& match = printed[function.name];
      const auto number = [&match](std::size_t i) { return std::stoi(match[i]); };
      EXPECT_EQ(function.registers_per_thread, number(2));
      EXPECT_EQ(function.stack_frame_bytes, number(3));
      EXPECT_EQ(function.static_shared_memory_bytes, number(4) == 0 ? 0 : number(4) - reserved);
      EXPECT_EQ(function.constant_bank_bytes, number(5));
      ++kernels;
    }
  }
  EXPECT_GE(kernels, 7);
}

TEST_F(RungSassTest, InlineStacksAreThoseOfNvdisasmsListing) {
  std::size_t instructions = 0;
  for (const sass::EmbeddedCubin& cubin : cubins_) {
    if (!cubin.name.starts_with("rung")) continue;  // each takes two thirds of a second; the others have no phases
    const Listing listing = ReadListing(Print({nvdisasm_, "-c", "-gi"}, cubin));
    for (const DeviceFunction& function : sass::Disassemble(cubin.bytes, 0, nvdisasm_)) {
      const auto& lines = listing.at(function.name);
      ASSERT_EQ(function.instructions.size(), lines.size());
      for (const Instruction& instruction : function.instructions) {
        ASSERT_TRUE(AreListed(instruction.frames, lines.at(instruction.offset)))
            << function.name << " " << instruction.offset;
        ++instructions;
      }
    }
  }
  EXPECT_GT(instructions, 10000);
}

TEST_F(RungSassTest, EveryPhaseIsAFunctionOfSomeInlineStack) {
  std::set<std::string> names;
  for (const sass::EmbeddedCubin& cubin : cubins_) {
    for (const DeviceFunction& function : sass::ReadInlineStacks(cubin.bytes, 0)) {
      for (const Instruction& instruction : function.instructions) {
        for (const InlineFrame& frame : instruction.frames) names.insert(BaseName(frame.function));
      }
    }
  }
  for (const char* phase : {"load_q", "load_kv", "sync", "qk", "softmax", "rescale", "pv", "epilogue"}) {
    EXPECT_TRUE(names.contains(phase)) << phase;
  }
}

// The self-test shows with it that a counter of tensor instructions counts HFMA2: without one it would show nothing.
TEST_F(RungSassTest, TheSelftestsKernelOfPhasesHasHfma2AndNoMatrixInstruction) {
  int hfma2 = 0;
  int matrix = 0;
  for (const sass::EmbeddedCubin& cubin : cubins_) {
    std::vector<std::string> kernels;
    for (const sass::CubinFunction& function : sass::ReadCubin(cubin.bytes).functions) {
      if (BaseName(Demangle(function.name.c_str())) == "PhasesKernel") kernels.push_back(function.name);
    }
    if (kernels.empty()) continue;
    for (const DeviceFunction& function : sass::Disassemble(cubin.bytes, 0, nvdisasm_, kernels)) {
      for (const Instruction& instruction : function.instructions) {
        if (instruction.opcode.starts_with("HFMA2")) ++hfma2;
        if (instruction.opcode.find("MMA") == 1) ++matrix;
      }
    }
  }
  EXPECT_GT(hfma2, 0);
  EXPECT_EQ(matrix, 0);
}

}  // namespace
}  // namespace fa_profile::rung_sass_test
