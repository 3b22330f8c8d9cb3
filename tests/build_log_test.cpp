#include "build_log.h"

#include <gtest/gtest.h>

namespace fa_profile::gate::build_log_test {
namespace {

CompilerWarning Only(const std::string& log, const std::string& architecture = "sm_90a") {
  const std::vector<CompilerWarning> warnings = ParseBuildLog(log, architecture);
  EXPECT_EQ(warnings.size(), 1U) << log;
  return warnings.empty() ? CompilerWarning() : warnings[0];
}

TEST(BuildLogTest, AWarningOfPtxasBelongsToTheFunctionItNames) {
  const CompilerWarning local =
      Only("ptxas warning : Local memory used for function '_Z6KernelILi64EEvPf', size of stack frame: 272 bytes\n");
  EXPECT_EQ(local.symbol, "_Z6KernelILi64EEvPf");
  EXPECT_EQ(local.text, "Local memory used for function 'Kernel<64>', size of stack frame: 272 bytes");
  const CompilerWarning spills = Only(
      "2026-11-21T12:00:00Z ptxas warning : Registers are spilled to local memory in function '_Z1kv', 508 bytes spill "
      "stores, 508 bytes spill loads");
  EXPECT_EQ(spills.symbol, "_Z1kv");
  EXPECT_EQ(spills.text,
            "Registers are spilled to local memory in function 'k', 508 bytes spill stores, 508 bytes spill loads");
  EXPECT_EQ(Only("ptxas /tmp/x.ptx, line 9; warning : Instruction 'shfl' without '.sync' is deprecated").text,
            "Instruction 'shfl' without '.sync' is deprecated");
  EXPECT_EQ(Only("nvlink warning : Stack size for entry function '_Z1kv' cannot be statically determined").symbol,
            "_Z1kv");
}

TEST(BuildLogTest, PerformanceNotesCountAsWarningsAndOtherNotesDoNot) {
  const CompilerWarning note = Only(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in "
      "function '_Z1kv'");
  EXPECT_EQ(note.symbol, "_Z1kv");
  EXPECT_TRUE(note.text.starts_with("Potential Performance Loss: wgmma")) << note.text;
  EXPECT_TRUE(
      ParseBuildLog("ptxas info    : Used 24 registers, used 0 barriers\nptxas info : 12 bytes gmem\n", "").empty());
}

TEST(BuildLogTest, SpillsThatPtxasPrintsCountForTheirArchitecture) {
  const std::string log =
      "ptxas info    : Compiling entry function '_Z1kv' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z1kv\n"
      "    272 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n";
  EXPECT_EQ(Only(log).text, "ptxas: 8 bytes spill stores, 12 bytes spill loads");
  EXPECT_EQ(Only(log).symbol, "_Z1kv");
  EXPECT_EQ(Only(log, "").symbol, "_Z1kv");
  EXPECT_TRUE(ParseBuildLog(log, "sm_80").empty());
  const std::string none =
      "ptxas info    : Compiling entry function '_Z1kv' for 'sm_90a'\nptxas info    : Function properties for _Z1kv\n"
      "    272 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  EXPECT_TRUE(ParseBuildLog(none, "sm_90a").empty());
  EXPECT_TRUE(ParseBuildLog("    272 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n", "").empty());
}

TEST(BuildLogTest, TheTextOfAWarningExcludesItsSourceLocation) {
  const CompilerWarning nvcc = Only("/src/a/kernel.cu(36): warning #177-D: variable \"x\" was declared but never used");
  EXPECT_EQ(nvcc.file, "/src/a/kernel.cu");
  EXPECT_EQ(nvcc.line, 36);
  EXPECT_EQ(nvcc.text, "kernel.cu: #177-D: variable \"x\" was declared but never used");
  const CompilerWarning wmma = Only(
      "warning: /usr/local/cuda/include/crt/mma.hpp(91): Warning: cannot perform wmma load or store on local memory");
  EXPECT_EQ(wmma.file, "/usr/local/cuda/include/crt/mma.hpp");
  EXPECT_EQ(wmma.line, 91);
  EXPECT_EQ(wmma.text, "mma.hpp: cannot perform wmma load or store on local memory");
}

TEST(BuildLogTest, AWarningBelongsToTheSourceThatWasBeingCompiled) {
  const std::string warning = "ptxas warning : something\n";
  EXPECT_EQ(Only(warning).unit, "");
  EXPECT_EQ(Only("[3/9] Building CUDA object tests/CMakeFiles/x.dir/wmma_on_local.cu.o\n" + warning).unit,
            "wmma_on_local.cu");
  EXPECT_EQ(
      Only("[ 50%] Building CUDA object x.dir/a.cu.o\n[ 60%] Building CUDA object x.dir/b.cu.o\r\n" + warning).unit,
      "b.cu");
  EXPECT_EQ(Only("/usr/local/cuda/bin/nvcc -O3 -c /src/k.cu -o k.o\n" + warning).unit, "k.cu");
}

TEST(BuildLogTest, WarningsOfTheHostCompilerAreIgnored) {
  EXPECT_TRUE(ParseBuildLog("a.cpp:12:3: warning: unused variable 'x' [-Wunused-variable]\n"
                            "CMake Warning at CMakeLists.txt:3\nbuild finished: 0 warnings\nwarning\n(): warning\n\n",
                            "")
                  .empty());
}

TEST(BuildLogTest, ARepeatedWarningCountsOncePerSource) {
  const std::string line = "ptxas warning : something\n";
  EXPECT_EQ(ParseBuildLog(line + line, "").size(), 1U);
  EXPECT_EQ(ParseBuildLog(line + "[1/2] Building CUDA object a.cu.o\n" + line, "").size(), 2U);
}

TEST(BuildLogTest, ColourCodesAndBinaryBytesAreRemoved) {
  EXPECT_EQ(Only("\x1b[01;35mptxas warning : some\xff\x01thing\x1b[0m").text, "some?thing");
  EXPECT_EQ(Only("ptxas warning : " + std::string(100'000, 'x')).text.size(), 300U);
  EXPECT_TRUE(ParseBuildLog("\x1b[", "").empty());
  EXPECT_TRUE(ParseBuildLog("ptxas warning :", "").empty());
  EXPECT_EQ(Only("ptxas warning : in function '_Z").symbol, "");
}

}  // namespace
}  // namespace fa_profile::gate::build_log_test
