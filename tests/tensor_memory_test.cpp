#include "inference/tensor_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "device_code.h"
#include "fa_profile/infer_phases.h"

namespace fa_profile::analyze::tensor_memory_test {
namespace {

using Writers = std::vector<std::uint32_t>;

TensorMemory Read(const std::vector<Line>& lines) {
  const DeviceFunction function = MakeFunction(lines);
  std::vector<Operands> operands;
  for (const Instruction& one : function.instructions) operands.push_back(ReadOperands(one));
  StepBudget budget;
  const Flow flow = ReadFlow(function, budget);
  return ReadTensorMemory(function, operands, flow, Values(operands, flow, budget), budget);
}

/// A product of 128 x 64 into tmem[UR8 + `place`].
Line Product(const char* a, const char* result, const char* accumulates = "!UPT") {
  return {"", "UTCHMMA", std::string(a) + ", gdesc[UR6], " + result + ", tmem[UR10], idesc[UR11], " + accumulates, {}};
}
constexpr const char* kDescriptor = "UR11, 0x8100010";

TEST(TensorMemoryTest, WithoutProductsOnItThereIsNone) {
  EXPECT_FALSE(Read({{"", "LDTM.x32", "R4, tmem[UR8]", {}}}).used);
}

TEST(TensorMemoryTest, ALoadReadsTheResultAroundItAndAProductWhatWasStored) {
  const TensorMemory memory = Read({{"", "UMOV", kDescriptor, {}},
                                    Product("gdesc[UR4]", "tmem[UR8+0x40]"),
                                    {"", "LDTM.x32", "R4, tmem[UR8+0x40]", {}},
                                    {"", "LDTM.x32", "R36, tmem[UR8+0x60]", {}},
                                    {"", "STTM.x16", "tmem[UR8+0x60], R4", {}},
                                    Product("tmem[UR8+0x68]", "tmem[UR8]", "UPT"),
                                    {"", "LDTM.x64", "R4, tmem[UR8]", {}},
                                    {"", "STTM.x64", "tmem[UR8], R4", {}}});
  ASSERT_TRUE(memory.used);
  EXPECT_EQ(memory.sources[2], (Writers{1}));
  EXPECT_EQ(memory.sources[3], (Writers{1})) << "probabilities lie where scores were, and scores are what is loaded";
  EXPECT_EQ(memory.sources[5], (Writers{4}));
  EXPECT_EQ(memory.sums[5], (Writers{5, 7}));
  EXPECT_TRUE(memory.sums[1].empty()) << "!UPT: it is not added";
  EXPECT_EQ(memory.sources[6], (Writers{5}));
  EXPECT_EQ(memory.readers[1], (Writers{2, 3}));
}

TEST(TensorMemoryTest, ShapesAreInTheDescriptor) {
  const TensorMemory memory = Read({{"", "UMOV", kDescriptor, {}},
                                    Product("gdesc[UR4]", "tmem[UR8]"),
                                    {"", "R2UR", "UR11, R9", {}},
                                    Product("gdesc[UR4]", "tmem[UR8]")});
  ASSERT_TRUE(memory.shape[1]);
  EXPECT_EQ(memory.shape[1]->m, 128);
  EXPECT_EQ(memory.shape[1]->n, 64);
  EXPECT_EQ(memory.shape[1]->k, 16);
  EXPECT_FALSE(memory.shape[3]) << "loaded";
}

TEST(TensorMemoryTest, MaximaBetweenWarpsAreNotTheScoresThatLieThere) {
  const TensorMemory memory = Read({{"", "UMOV", kDescriptor, {}},
                                    Product("gdesc[UR4]", "tmem[UR8]"),
                                    {"", "STTM.x2", "tmem[UR8], R4", {}},
                                    {"", "LDTM.x2", "R8, tmem[UR8]", {}},
                                    {"", "LDTM.x64", "R8, tmem[UR8]", {}}});
  EXPECT_EQ(memory.sources[3], (Writers{2}));
  EXPECT_EQ(memory.sources[4], (Writers{1}));
}

TEST(TensorMemoryTest, EveryStageOfABufferReachesItsLoop) {
  // The loop's address has a scaled term, its stage; the second stage is filled before the loop.
  const TensorMemory memory = Read({{"", "UMOV", kDescriptor, {}},
                                    Product("gdesc[UR4]", "tmem[UR8]"),
                                    Product("gdesc[UR4]", "tmem[UR8+0x40]"),
                                    {"", "ULEA", "UR12, UR9, UR8, 0x6", {}},
                                    {"", "LDTM.x64", "R8, tmem[UR12]", {}}});
  EXPECT_EQ(memory.sources[4], (Writers{1, 2}));
}

TEST(TensorMemoryTest, AddressesAreFollowedThroughSharedMemory) {
  // One warp hands another the address of a result; a value of every thread is stored at the same constant part.
  const TensorMemory memory = Read({{"", "UMOV", kDescriptor, {}},
                                    {"", "UIADD3", "UR20, UPT, UPT, UR7, 0x100, URZ", {}},
                                    {"", "MOV", "R6, UR20", {}},
                                    {"", "STS", "[UR4+0x18000], R6", {}},
                                    {"", "STS", "[R9+0x18000], R30", {}},
                                    {"", "LDS", "R2[UR5+0x18000]", {}},
                                    {"", "R2UR", "UR21, R2", {}},
                                    Product("gdesc[UR4]", "tmem[UR21]"),
                                    {"", "LDTM.x64", "R8, tmem[UR7+0x100]", {}},
                                    {"", "LDTM.x64", "R8, tmem[UR7]", {}}});
  EXPECT_EQ(memory.column[7], 0x100);
  EXPECT_EQ(memory.sources[8], (Writers{7}));
  EXPECT_TRUE(memory.sources[9].empty());
}

TEST(TensorMemoryTest, CodeThatMakesNoSenseIsReadWithoutHarm) {
  std::vector<Line> lines{{"", "STS", "", {}},
                          {"", "LDS", "R2[UR5]", {}},
                          {"", "UTCHMMA", "", {}},
                          {"", "LDTM", "", {}},
                          {"", "STTM", "tmem[", {}}};
  // Each word is loaded from where the word before says.
  for (int i = 0; i < 20'000; ++i) {
    const std::string place = std::to_string(16 * i);
    lines.push_back({"", "STS", "[UR6+" + place + "], R2", {}});
    lines.push_back({"", "LDS", "R2[R2+UR6+" + place + "]", {}});
  }
  lines.push_back({"", "R2UR", "UR8, R2", {}});
  lines.push_back(Product("gdesc[UR4]", "tmem[UR8]"));
  lines.push_back({"", "LDTM.x64", "R8, tmem[UR8]", {}});
  EXPECT_TRUE(Read(lines).used);
}

TEST(TensorMemoryTest, LinksLeadFromWritersToReaders) {
  // Two roles: neither block reaches the other by branches.
  const TensorMemory memory = Read({{"@P0", "BRA", "0x40", {}},
                                    {"", "UMOV", kDescriptor, {}},
                                    Product("gdesc[UR4]", "tmem[UR8]"),
                                    {"", "EXIT", "", {}},
                                    {"", "LDTM.x64", "R8, tmem[UR8]", {}},
                                    {"", "EXIT", "", {}}});
  EXPECT_EQ(memory.links, (Edges{{}, {2}, {}}));
}

/// Attention with `qk` and `pv` instructions of 16 values' depth for each tile: scores at column 0x40, probabilities at
/// 0x80, the output at 0.
std::vector<Line> TensorAttention(int qk, int pv) {
  std::vector<Line> lines{{"", "UTMALDG.2D", "[UR40], [UR44]", {"load_q()"}}, {"", "UMOV", kDescriptor, {}}};
  const std::size_t loop = lines.size();
  lines.push_back({"", "UTMALDG.2D", "[UR48], [UR52]", {"load_kv()"}});
  for (int i = 0; i < qk; ++i) {
    lines.push_back(Product("gdesc[UR4]", "tmem[UR8+0x40]", i == 0 ? "!UPT" : "UPT"));
    lines.back().stack = {"qk()"};
  }
  const std::vector<Line> softmax{{"", "UTCBAR", "[UR60], URZ", {"qk()"}},
                                  {"", "LDTM.x8", "R4, tmem[UR8+0x40]", {"qk()"}},
                                  {"", "FMNMX", "R20, R4, R5, !PT", {"softmax()"}},
                                  {"", "FADD", "R21, R4, -R20", {"softmax()"}},
                                  {"", "MUFU.EX2", "R22, R21", {"softmax()"}},
                                  {"", "F2FP.F16.F32.PACK_AB", "R24, R22, R22", {"softmax()"}},
                                  {"", "STTM", "tmem[UR8+0x80], R24", {"softmax()"}},
                                  {"", "LDTM.x8", "R40, tmem[UR8]", {"pv()"}},
                                  {"", "FMUL", "R40, R40, R22", {"rescale()"}},
                                  {"", "STTM.x8", "tmem[UR8], R40", {"rescale()"}}};
  lines.insert(lines.end(), softmax.begin(), softmax.end());
  for (int i = 0; i < pv; ++i) {
    lines.push_back(Product("tmem[UR8+0x80]", "tmem[UR8]", "UPT"));
    lines.back().stack = {"pv()"};
  }
  char target[16];
  std::snprintf(target, sizeof target, "0x%zx", 16 * loop);
  lines.push_back({"@P0", "BRA", target, {}});
  lines.push_back({"", "LDTM.x8", "R60, tmem[UR8]", {"epilogue()"}});
  lines.push_back({"", "STG.E", "desc[UR62][R2.64], R60", {"epilogue()"}});
  lines.push_back({"", "EXIT", "", {}});
  return lines;
}

TEST(TensorMemoryTest, PhasesOfAttention) {
  const std::vector<Line> lines = TensorAttention(2, 2);
  const InferredPhases inferred = InferPhases(MakeFunction(lines), {});
  ASSERT_EQ(inferred.refusal, "");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].stack.empty()) continue;
    EXPECT_EQ(std::string(inferred.instructions[i].phase) + "()", lines[i].stack[0]) << i << " " << lines[i].opcode;
  }
}

TEST(TensorMemoryTest, TwoLayersWithAnActivationBetweenThemAreNoAttention) {
  std::vector<Line> lines = TensorAttention(2, 2);
  for (Line& line : lines) {
    if (line.opcode == "FMNMX") line = {"", "FADD", "R20, R4, R5", {}};
  }
  EXPECT_EQ(InferPhases(MakeFunction(lines), {}).refusal,
            "not attention: no exponential is of scores less their maximum");
}

/// The loop of a backward pass over queries, for dK and dV. `ds`: how dS (R52) reaches its product.
std::string RefusalOfBackward(const std::vector<Line>& ds) {
  std::vector<Line> lines{
      {"", "UTMALDG.2D", "[UR40], [UR44]", {}}, {"", "UMOV", kDescriptor, {}},
      {"", "UTMALDG.2D", "[UR48], [UR52]", {}}, Product("gdesc[UR4]", "tmem[UR8+0x40]"),  // S
      {"", "UTCBAR", "[UR60], URZ", {}},        {"", "LDTM.x8", "R4, tmem[UR8+0x40]", {}},
      {"", "LDS", "R20, [UR61]", {}},           {"", "FADD", "R21, R4, -R20", {}},
      {"", "MUFU.EX2", "R22, R21", {}},         {"", "F2FP.F16.F32.PACK_AB", "R24, R22, R22", {}},
      {"", "STTM", "tmem[UR8+0x80], R24", {}},  Product("tmem[UR8+0x80]", "tmem[UR8]", "UPT"),  // dV
      Product("gdesc[UR4]", "tmem[UR8+0x100]"),                                                 // dP
      {"", "UTCBAR", "[UR60], URZ", {}},        {"", "LDTM.x8", "R48, tmem[UR8+0x100]", {}},
      {"", "LDS", "R50, [UR61+0x100]", {}},     {"", "FADD", "R49, R48, -R50", {}},
      {"", "FMUL", "R51, R49, R22", {}},        {"", "F2FP.F16.F32.PACK_AB", "R52, R51, R51", {}}};
  lines.insert(lines.end(), ds.begin(), ds.end());
  lines.push_back({"@P0", "BRA", "0x20", {}});
  lines.push_back({"", "LDTM.x8", "R60, tmem[UR8]", {}});
  lines.push_back({"", "STG.E", "desc[UR62][R2.64], R60", {}});
  lines.push_back({"", "LDTM.x8", "R60, tmem[UR8+0x180]", {}});
  lines.push_back({"", "STG.E", "desc[UR62][R2.64+0x1000], R60", {}});
  lines.push_back({"", "EXIT", "", {}});
  return std::string(InferPhases(MakeFunction(lines), {}).refusal_word);
}

TEST(TensorMemoryTest, ABackwardPassIsCalledSo) {
  EXPECT_EQ(RefusalOfBackward(
                {{"", "STTM", "tmem[UR8+0x140], R52", {}}, Product("tmem[UR8+0x140]", "tmem[UR8+0x180]", "UPT")}),
            "backward");
  EXPECT_EQ(RefusalOfBackward({{"", "STS", "[R9+0x4000], R52", {}}, Product("gdesc[UR4]", "tmem[UR8+0x180]", "UPT")}),
            "backward");
  EXPECT_NE(RefusalOfBackward({{"", "STG.E", "desc[UR62][R2.64+0x2000], R52", {}}}), "backward") << "no product of dS";
}

TEST(TensorMemoryTest, HeadSizesMayDifferIfTheDepthOfQkIsOneOfThem) {
  EXPECT_EQ(InferPhases(MakeFunction(TensorAttention(12, 8)), {}).refusal, "") << "192 and 128";
  EXPECT_EQ(InferPhases(MakeFunction(TensorAttention(3, 2)), {}).refusal_word, "ratio") << "48 and 32";
}

}  // namespace
}  // namespace fa_profile::analyze::tensor_memory_test
