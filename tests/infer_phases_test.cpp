#include "fa_profile/infer_phases.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "attention_code.h"
#include "fa_profile/profile.h"
#include "pathological_code.h"
#include "sanitized.h"

namespace fa_profile::analyze::infer_phases_test {
namespace {

/// "index: inferred, not expected" for each instruction that differs.
std::vector<std::string> Differences(const std::vector<Line>& lines, const InferredPhases& inferred) {
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < lines.size() && i < inferred.instructions.size(); ++i) {
    const std::string expected = PhaseOfLine(lines[i]);
    if (inferred.instructions[i].phase == expected) continue;
    differences.push_back(std::to_string(i) + ": " + std::string(inferred.instructions[i].phase) + ", not " + expected);
  }
  return differences;
}

std::string RefusalOf(const std::vector<Line>& lines) { return InferPhases(MakeFunction(lines)).refusal; }

std::vector<Line> Without(std::vector<Line> lines, const std::string& opcode) {
  for (Line& line : lines) {
    if (line.opcode == opcode) line = {"", "NOP", "", {}};
  }
  return lines;
}

TEST(InferPhasesTest, NamesThePhasesOfAMatrixKernel) {
  const std::vector<Line> lines = MmaAttention();
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
  ASSERT_EQ(inferred.instructions.size(), lines.size());
  EXPECT_EQ(Differences(lines, inferred), (std::vector<std::string>{}));
  EXPECT_DOUBLE_EQ(inferred.checks.qk_to_pv_ratio.value(), 1.0);
  EXPECT_EQ(inferred.checks.key_loops, 1);
  EXPECT_FALSE(inferred.checks.counted);
}

TEST(InferPhasesTest, SaysHowEachPhaseWasFound) {
  const InferredPhases inferred = InferPhases(MakeFunction(MmaAttention()));
  ASSERT_EQ(inferred.refusal, "");
  const auto how = [&](std::size_t i) {
    return std::string(GradeName(inferred.instructions[i].grade)) + " " + std::string(inferred.instructions[i].reason);
  };
  EXPECT_EQ(how(16), "direct product");
  EXPECT_EQ(how(23), "direct exponential");
  EXPECT_EQ(how(13), "direct load");
  EXPECT_EQ(how(7), "derived pointer");
  EXPECT_EQ(how(4), "derived consumers");
  EXPECT_EQ(how(0), "derived shared");
  EXPECT_EQ(how(41), "guess last");
}

TEST(InferPhasesTest, TellsApartTheRolesOfAWarpSpecialisedKernel) {
  const std::vector<Line> lines = WarpgroupAttention();
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
  ASSERT_EQ(inferred.instructions.size(), lines.size());
  EXPECT_EQ(Differences(lines, inferred), (std::vector<std::string>{}));
}

TEST(InferPhasesTest, FindsPInSharedMemoryForAWarpgroupProduct) {
  std::vector<Line> lines = WarpgroupAttention();
  lines[18] = {"", "STSM.16.M88.4", "[R3+0x4000], R24", {"softmax()"}};
  lines[21].operands = "R40, gdesc[UR12], R40, gsb0";
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
  EXPECT_EQ(Differences(lines, inferred), (std::vector<std::string>{}));
}

TEST(InferPhasesTest, ARowOfItsOwnForTheSetupThatServesSeveralPhases) {
  const InferredPhases inferred = InferPhases(MakeFunction(MmaAttention()));
  ASSERT_EQ(inferred.refusal, "");
  EXPECT_EQ(inferred.instructions[0].phase, "setup") << "the thread index goes into the addresses of loads and stores";
  EXPECT_EQ(inferred.instructions[33].phase, kUnattributed) << "the loop's counter belongs to no phase";
}

TEST(InferPhasesTest, AValueOfTheLastRoundUnderAnotherPredicateIsNotFollowed) {
  // K is loaded under P2 and zero elsewhere. Without understanding predicates R12 could also hold what the line
  // before put there: a probability.
  std::vector<Line> lines = MmaAttention();
  lines[12] = {"", "MOV", "R12, R31", {}};
  lines[13].predicate = "@P2";
  lines.insert(lines.begin() + 14, {"@!P2", "CS2R", "R12, SRZ", {"load_kv()"}});
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
}

// The frequencies of a rotary embedding, and what rotates Q before the loop over keys.
TEST(InferPhasesTest, OnlyExponentialsOfScoresMatterAndWorkOnQIsItsLoads) {
  std::vector<Line> lines = MmaAttention();
  lines[10] = {"", "MUFU.EX2", "R60, R0", {}};
  lines[11] = {"", "FMUL", "R8, R8, R60", {}};
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  ASSERT_EQ(inferred.refusal, "");
  EXPECT_EQ(inferred.instructions[10].phase, "load_q");
  EXPECT_EQ(inferred.instructions[11].phase, "load_q");
  EXPECT_EQ(inferred.instructions[11].reason, "query");
}

TEST(InferPhasesTest, AFenceIsTheOutputsWhereNoProductFollows) {
  std::vector<Line> lines = MmaAttention();
  lines[15] = {"", "MEMBAR.SC.CTA", "", {}};
  lines.insert(lines.end() - 1, {"", "MEMBAR.SC.GPU", "", {}});
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  ASSERT_EQ(inferred.refusal, "");
  EXPECT_EQ(inferred.instructions[15].phase, "sync");
  EXPECT_EQ(inferred.instructions[41].phase, "epilogue");
}

TEST(InferPhasesTest, RefusesWhatIsNoForwardAttention) {
  EXPECT_EQ(RefusalOf({}), "it was not disassembled");
  EXPECT_EQ(RefusalOf(Without(MmaAttention(), "MUFU.EX2")),
            "not attention: matrix products without exponentials (GEMM, convolution)");
  std::vector<Line> no_loop = MmaAttention();
  no_loop[35] = {"", "NOP", "", {}};
  EXPECT_EQ(RefusalOf(no_loop), "no loop over keys holds both products");
  std::vector<Line> no_pv = MmaAttention();
  no_pv[30] = {"", "NOP", "", {}};
  EXPECT_EQ(RefusalOf(no_pv), "not attention: exponentials are not multiplied with loaded values");
}

std::string WordOf(const std::vector<Line>& lines) {
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal.empty(), inferred.refusal_word.empty());
  return std::string(inferred.refusal_word);
}

TEST(InferPhasesTest, EveryRefusalHasAWord) {
  EXPECT_EQ(WordOf(MmaAttention()), "");
  EXPECT_EQ(WordOf({}), "code");
  EXPECT_EQ(WordOf(Without(MmaAttention(), "MUFU.EX2")), "gemm");
  EXPECT_EQ(WordOf({{"", "LDG.E", "R4, desc[UR4][R2.64]", {}},  // rotary embedding, norm, elementwise
                    {"", "MUFU.RSQ", "R4, R4", {}},
                    {"", "FMUL", "R4, R4, R4", {}},
                    {"", "STG.E", "desc[UR4][R2.64], R4", {}},
                    {"", "EXIT", "", {}}}),
            "other");
  EXPECT_EQ(WordOf({{"", "LDG.E", "R4, desc[UR4][R2.64]", {}},  // only a softmax
                    {"", "MUFU.EX2", "R4, R4", {}},
                    {"", "STG.E", "desc[UR4][R2.64], R4", {}},
                    {"", "EXIT", "", {}}}),
            "other");
  std::vector<Line> no_loop = MmaAttention();
  no_loop[35] = {"", "NOP", "", {}};
  EXPECT_EQ(WordOf(no_loop), "loop");
  EXPECT_EQ(WordOf(Without(no_loop, "FMNMX")), "other") << "no softmax, as in a gated unit: products around a sigmoid";
  EXPECT_EQ(WordOf(Without(MmaAttention(), "FMNMX")), "") << "with the loop it is attention, if without a maximum";
  DeviceFunction backward = MakeFunction(Without(no_loop, "FMNMX"));
  backward.name = "_ZN5flash16flash_bwd_kernelEv";
  EXPECT_EQ(InferPhases(backward).refusal_word, "backward") << "its exponentials are of scores less their logsumexp";
  backward = MakeFunction(no_loop);
  backward.name = "_ZN5flash16flash_bwd_kernelEv";
  EXPECT_EQ(InferPhases(backward).refusal_word, "backward");
  EXPECT_EQ(InferPhases(backward).refusal,
            "backward pass, by the kernel's name; the code alone says: no loop over keys holds both products");
  backward = MakeFunction(MmaAttention());
  backward.name = "_ZN5flash16flash_bwd_kernelEv";
  EXPECT_EQ(InferPhases(backward).refusal_word, "") << "what the code shows counts more than its name";
  std::vector<Line> branch = MmaAttention();
  branch.push_back({"", "BRX", "R2, -0x10", {}});
  EXPECT_EQ(WordOf(branch), "branches");
  EXPECT_EQ(RefusalOf(branch), "the targets of 1 indirect branch are not known");
  std::vector<Line> unknown = MmaAttention();
  unknown[12] = {"", "QQMMA.16832.F32", "R60, R8, R12, RZ", {}};
  EXPECT_EQ(WordOf(unknown), "opcode");
  EXPECT_EQ(RefusalOf(unknown), "the matrix instruction QQMMA.16832.F32 is not known");
}

TEST(InferPhasesTest, ProductsOnTensorMemoryOfUnknownShapeAreRefusedByThatWord) {
  // nvdisasm 13.2's output of tcgen05 for sm_100a; the last is made up.
  for (const char* const opcode : {"UTCHMMA", "UTCQMMA", "UTCOMMA.4X", "UTCHMMA.2CTA"}) {
    std::vector<Line> lines = MmaAttention();
    lines[12] = {"", opcode, "gdesc[UR8], gdesc[UR12], tmem[UR6], tmem[UR4], idesc[UR5], UPT", {}};
    EXPECT_EQ(WordOf(lines), "tensor-memory") << opcode;
  }
  std::vector<Line> lines = MmaAttention();
  lines[12] = {"", "UTCXMMA", "gdesc[UR8], gdesc[UR12], tmem[UR6], tmem[UR4], idesc[UR5], UPT", {}};
  EXPECT_EQ(WordOf(lines), "opcode");
}

TEST(InferPhasesTest, ABackwardPassIsRefusedByThatWord) {
  for (const std::vector<Line>& lines : {MmaBackward(), WarpgroupBackward()}) {
    EXPECT_EQ(WordOf(lines), "backward") << RefusalOf(lines);
    EXPECT_TRUE(RefusalOf(lines).starts_with("backward pass: "));
  }
  // Without dS in a product it is not one. Nor does an output stored after the loop make one.
  std::vector<Line> without = MmaBackward();
  without[22] = {"", "NOP", "", {}};
  without[23] = {"", "NOP", "", {}};
  EXPECT_NE(WordOf(without), "backward");
  std::vector<Line> forward = WarpgroupAttention();
  forward[18] = {"", "STSM.16.M88.4", "[R3+0x4000], R24", {"softmax()"}};
  forward[21].operands = "R40, gdesc[UR12], R40, gsb0";
  EXPECT_EQ(WordOf(forward), "");
}

TEST(InferPhasesTest, OutputThatIsStagedWhereKeysWereIsNoKeys) {
  for (const char* const second_place : {"0x4010", "0x4400"}) {
    SCOPED_TRACE(second_place);
    const std::vector<Line> lines = AttentionWithOutputOverKeys(second_place);
    const InferredPhases inferred = InferPhases(MakeFunction(lines));
    EXPECT_EQ(inferred.refusal, "");
    ASSERT_EQ(inferred.instructions.size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].stack.empty()) continue;
      EXPECT_EQ(inferred.instructions[i].phase, PhaseOfLine(lines[i])) << i << ": " << lines[i].opcode;
    }
  }
}

TEST(InferPhasesTest, AComparisonAndASelectionAreAMaximum) {
  std::vector<Line> no_loop = MmaAttention();
  no_loop[35] = {"", "NOP", "", {}};
  no_loop[17] = {"", "FSETP.GT.FTZ.AND", "P2, PT, R16, R17, PT", {}};
  no_loop[18] = {"", "FSEL", "R21, R16, R17, P2", {}};
  EXPECT_EQ(WordOf(no_loop), "loop") << "a softmax over keys that are all in one tile";
  no_loop[17] = {"", "FSETP.GT.FTZ.AND", "P2, PT, R16, R19, PT", {}};
  EXPECT_EQ(WordOf(no_loop), "other") << "it selects by something else";
}

TEST(InferPhasesTest, ALoopThatStoresProbabilitiesIsOverKeys) {
  // FlashAttention 2 with return_softmax. O is stored after the loop: it is not over tiles of queries.
  std::vector<Line> lines = MmaAttention();
  lines.insert(lines.begin() + 28, {"", "STG.E", "desc[UR4][R62.64], R24", {"softmax()"}});
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  ASSERT_EQ(inferred.refusal, "");
  EXPECT_EQ(inferred.checks.key_loops, 1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 28 || lines[i].stack.empty()) continue;
    EXPECT_EQ(inferred.instructions[i].phase, PhaseOfLine(lines[i])) << i << ": " << lines[i].opcode;
  }
}

TEST(InferPhasesTest, ALoopThatStoresProbabilitiesAndTheOutputIsOverTiles) {
  // All keys are in one tile, and each round of the loop is the next tile of queries.
  std::vector<Line> lines = MmaAttention();
  lines.insert(lines.begin() + 28, {"", "STG.E", "desc[UR4][R62.64], R24", {}});
  lines.insert(lines.begin() + 32, {"", "STG.E.128", "desc[UR4][R2.64], R40", {}});
  EXPECT_EQ(WordOf(lines), "loop");
  // Nor is it known to be over keys if no output is stored after it.
  lines = MmaAttention();
  lines.insert(lines.begin() + 28, {"", "STG.E", "desc[UR4][R62.64], R24", {}});
  lines[41] = {"", "NOP", "", {}};
  EXPECT_EQ(WordOf(lines), "loop");
  EXPECT_EQ(RefusalOf(lines),
            "cannot say: the loop that holds both products also stores to global memory, and may be over tiles of "
            "queries");
}

TEST(InferPhasesTest, TheNameOfAScalarBackwardKernelMustSayAttention) {
  std::vector<Line> lines = {{"", "LDG.E", "R8, desc[UR4][R2.64]", {}},
                             {"", "LDG.E", "R9, desc[UR4][R4.64]", {}},
                             {"", "LDG.E", "R10, desc[UR4][R6.64]", {}},
                             {"", "FMUL", "R16, R8, R9", {}},
                             {"", "MUFU.EX2", "R16, R16", {}},
                             {"", "FMUL", "R40, R16, R10", {}},
                             {"", "FFMA", "R40, R16, R8, R40", {}},
                             {"", "STG.E", "desc[UR4][R2.64], R40", {}},
                             {"", "EXIT", "", {}}};
  DeviceFunction function = MakeFunction(lines);
  function.name = "split_embedding_backward_codegen_rowwise_adagrad_with_counter";
  EXPECT_EQ(InferPhases(function).refusal_word, "other");
  function.name = "AttentionBackwardKernel";
  EXPECT_EQ(InferPhases(function).refusal_word, "backward");
  // One with a maximum before the exponential: its counters age.
  lines.insert(lines.begin() + 4, {{"", "FMNMX", "R17, R16, R10, !PT", {}}, {"", "FADD", "R16, R16, -R17", {}}});
  function = MakeFunction(lines);
  function.name = "a_kernel";
  EXPECT_EQ(InferPhases(function).refusal_word, "loop");
  function.name = "split_embedding_backward_codegen_rowwise_adagrad_with_counter";
  EXPECT_EQ(InferPhases(function).refusal_word, "other");
}

/// A filter without matrix instructions: `scores` make R5 of the pixel R4 and the centre R20, and the exponential of R5
/// weighs the pixel.
std::vector<Line> Filter(const std::vector<Line>& scores) {
  std::vector<Line> lines = {{"", "LDG.E.64", "R20, desc[UR4][R2.64]", {}},
                             {"", "MOV", "R14, RZ", {}},
                             {"", "MOV", "R9, RZ", {}},
                             {"", "MOV", "R50, RZ", {}},
                             {"", "LDG.E.64", "R4, desc[UR4][R6.64]", {}},  // 4: the loop over pixels
                             {"", "MOV", "R30, R4", {}}};
  lines.insert(lines.end(), scores.begin(), scores.end());
  const std::vector<Line> weigh = {{"", "MUFU.EX2", "R35, R5", {}},
                                   {"", "FADD", "R9, R9, R35", {}},
                                   {"", "FFMA", "R14, R35, R30, R14", {}},
                                   {"", "IADD3", "R50, R50, 0x1, RZ", {}},
                                   {"", "ISETP.LT.AND", "P0, PT, R50, 0x8, PT", {}},
                                   {"@P0", "BRA", "0x40", {}},
                                   {"", "MUFU.RCP", "R9, R9", {}},
                                   {"", "FMUL", "R14, R14, R9", {}},
                                   {"", "STG.E", "desc[UR4][R6.64], R14", {}},
                                   {"", "EXIT", "", {}}};
  lines.insert(lines.end(), weigh.begin(), weigh.end());
  return lines;
}

TEST(InferPhasesTest, WeightsByDistanceAreNoAttention) {
  const std::vector<Line> difference = {{"", "FADD", "R5, R4, -R20", {}}, {"", "FADD", "R5, RZ, |R5|", {}}};
  const auto with = [&](const std::vector<Line>& squares) {
    std::vector<Line> scores = difference;
    scores.insert(scores.end(), squares.begin(), squares.end());
    return WordOf(Filter(scores));
  };
  EXPECT_EQ(with({{"", "FMUL", "R5, R5, R5", {}}, {"", "FFMA", "R5, R5, c[0x0][0x1b8], R34", {}}}), "other")
      << "a bilateral filter";
  EXPECT_EQ(with({{"", "FMUL", "R8, R5, c[0x0][0x1b8]", {}}, {"", "FMUL", "R5, R8, R5", {}}}), "other");
  std::vector<Line> lines = Filter({difference[0],
                                    {"", "FMUL", "R8, R5, R5", {}},
                                    {"", "FADD", "R5, R30, -R21", {}},
                                    {"", "FFMA", "R5, R5, R5, R8", {}}});
  lines.insert(lines.begin() + 13, {"", "FFMA", "R15, R35, R20, R15", {}});
  EXPECT_EQ(WordOf(lines), "other") << "distances of several coordinates, or of patches";
  EXPECT_EQ(WordOf(Filter({{"", "I2F", "R5, R50", {}}, {"", "FMUL", "R5, R5, R5", {}}})), "other") << "a Gaussian blur";
}

TEST(InferPhasesTest, ExponentialsOfOneProductAreNoAttention) {
  EXPECT_EQ(WordOf(Filter({{"", "FMUL", "R5, R4, R20", {}}})), "other") << "a head size of 1";
  EXPECT_EQ(RefusalOf(Filter({{"", "FMUL", "R5, R4, R20", {}}})),
            "not attention: each exponential is of one product, not of a sum, and not less a maximum");
  // The step of a selective scan: the state R9 decays, and makes the output.
  std::vector<Line> scan = Filter({{"", "FMUL", "R5, R4, R20", {}}});
  scan[8] = {"", "FFMA", "R9, R35, R9, R30", {}};
  scan[9] = {"", "FFMA", "R14, R9, R21, R14", {}};
  EXPECT_EQ(WordOf(scan), "other");
}

TEST(InferPhasesTest, SumsOfProductsAreAttentionWithoutAMaximumToo) {
  // Two elements of head_dim a lane; PV has as many.
  std::vector<Line> lines = Filter({{"", "FMUL", "R8, R4, R20", {}}, {"", "FFMA", "R5, R5, R21, R8", {}}});
  lines.insert(lines.begin() + 11, {"", "FFMA", "R15, R35, R20, R15", {}});
  EXPECT_EQ(WordOf(lines), "");
  // Two registers of one load are two values.
  lines = Filter({{"", "FMUL", "R8, R4, R5", {}}, {"", "FFMA", "R5, R4, R5, R8", {}}});
  lines.insert(lines.begin() + 11, {"", "FFMA", "R15, R35, R20, R15", {}});
  EXPECT_EQ(WordOf(lines), "");
  // One product for each lane, less a maximum.
  EXPECT_EQ(
      WordOf(Filter(
          {{"", "FMUL", "R5, R4, R20", {}}, {"", "FMNMX", "R21, R5, R60, !PT", {}}, {"", "FADD", "R5, R5, -R21", {}}})),
      "");
}

TEST(InferPhasesTest, TheStepsOfAnRnnAreNoAttention) {
  // The result of a step's sigmoid is multiplied with the weights in the next.
  std::vector<Line> lines = {{"", "LDG.E.128", "R8, desc[UR4][R2.64]", {}},
                             {"", "LDG.E.64", "R12, desc[UR4][R4.64]", {}},
                             {"", "MOV", "R50, RZ", {}},
                             {"", "HMMA.16816.F32", "R16, R8, R12, RZ", {}},  // 3: the loop over steps
                             {"", "FMNMX", "R16, R16, 60, PT", {}},
                             {"", "MUFU.EX2", "R16, R16", {}},
                             {"", "MUFU.RCP", "R16, R16", {}},
                             {"", "F2FP.F16.F32.PACK_AB", "R8, R17, R16", {}},
                             {"", "IADD3", "R50, R50, 0x1, RZ", {}},
                             {"", "ISETP.LT.AND", "P0, PT, R50, 0x8, PT", {}},
                             {"@P0", "BRA", "0x30", {}},
                             {"", "STG.E.128", "desc[UR4][R6.64], R8", {}},
                             {"", "EXIT", "", {}}};
  EXPECT_EQ(WordOf(lines), "other");
  lines[4].operands = "R16, R16, R17, !PT";
  EXPECT_EQ(WordOf(lines), "products") << "a maximum of two values";
}

TEST(InferPhasesTest, ExponentialsWhoseProductsAreNotSummedAreNoAttention) {
  // A loss over a group of documents: weights times scores, less their maximum.
  std::vector<Line> lines = {{"", "LDG.E", "R8, desc[UR4][R2.64]", {}},
                             {"", "LDG.E", "R9, desc[UR4][R4.64]", {}},
                             {"", "LDG.E", "R10, desc[UR4][R6.64]", {}},
                             {"", "FMUL", "R16, R8, R9", {}},
                             {"", "SHFL.BFLY", "PT, R17, R16, 0x1, 0x1f", {}},
                             {"", "FMNMX", "R21, R16, R17, !PT", {}},
                             {"", "FADD", "R16, R16, -R21", {}},
                             {"", "MUFU.EX2", "R16, R16", {}},
                             {"", "FMUL", "R40, R16, R10", {}},
                             {"", "STG.E", "desc[UR4][R2.64], R40", {}},
                             {"", "EXIT", "", {}}};
  EXPECT_EQ(WordOf(lines), "other");
  lines.insert(lines.begin() + 9, {"", "FFMA", "R40, R16, R8, R40", {}});
  EXPECT_EQ(WordOf(lines), "loop");
}

TEST(InferPhasesTest, AModelOfSharedMemoryThatFindsBothProductsTellsWhatIsMissing) {
  // All keys are in one tile. V is stored where warps exchanged their maxima before.
  std::vector<Line> lines = MmaAttention();
  lines[35] = {"", "NOP", "", {}};
  const std::vector<Line> maxima = {{"", "STS", "[R60], R21", {}},
                                    {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},
                                    {"", "LDS", "R21[R61]", {}},
                                    {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}}};
  const std::vector<Line> values = {{"", "STS.64", "[R62], R14", {}},
                                    {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},
                                    {"", "LDSM.16.MT88.2", "R14[R63]", {}}};
  lines.insert(lines.begin() + 30, values.begin(), values.end());
  lines.insert(lines.begin() + 19, maxima.begin(), maxima.end());
  EXPECT_EQ(RefusalOf(lines), "no loop over keys holds both products");
}

TEST(InferPhasesTest, RefusesProductsOfDifferentSize) {
  std::vector<Line> lines = MmaAttention();
  lines.insert(lines.begin() + 17, {"", "HMMA.16816.F32", "R16, R8, R12, R16", {}});
  EXPECT_EQ(RefusalOf(lines), "QK:PV multiply-adds are 2.00 by instructions in the code, not 1.00");
}

TEST(InferPhasesTest, HeadDimsThatDifferAreTakenWhereTheExponentialsConfirmThem) {
  // 12 steps of 16 to S, 8 tiles of 8 columns to O: 192 and 128, and as many exponentials as scores.
  std::vector<Line> lines = MmaAttention();
  const Line qk = {"", "HMMA.16816.F32", "R16, R8, R12, R16", {"qk()"}};
  const Line pv = {"", "HMMA.16816.F32", "R40, R24, R14, R40", {"pv()"}};
  const Line exponential = {"", "MUFU.EX2", "R17, R17", {"softmax()"}};
  lines.insert(lines.begin() + 31, 15, pv);
  lines.insert(lines.begin() + 25, 1, exponential);
  lines.insert(lines.begin() + 17, 23, qk);
  // Two tiles of 8 columns of S: 8 exponentials a thread, and at most 10 % more.
  lines.insert(lines.begin() + 17 + 23 + 8, 4, exponential);
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
  EXPECT_DOUBLE_EQ(inferred.checks.qk_to_pv_ratio.value(), 1.5);
  EXPECT_DOUBLE_EQ(inferred.checks.multiply_adds_per_exponential.value(), 192.0);
  lines.insert(lines.begin() + 17 + 23 + 8, 8, exponential);
  EXPECT_TRUE(RefusalOf(lines).starts_with("QK:PV multiply-adds are 1.50")) << "96 of them an exponential";
}

TEST(InferPhasesTest, AHeadOf40MayBePaddedForPvAlone) {
  // Turing's steps of 8: 5 of them to one tile of S, 6 tiles of 8 columns to O; 4 exponentials a thread, with rescaling
  // one of 5.
  std::vector<Line> lines = MmaAttention();
  lines[16] = {"", "HMMA.1688.F32", "R16, R8, R12, RZ", {"qk()"}};
  lines[30] = {"", "HMMA.1688.F32", "R40, R24, R14, R40", {"pv()"}};
  const Line qk = {"", "HMMA.1688.F32", "R16, R8, R12, R16", {"qk()"}};
  lines.insert(lines.begin() + 31, 5, lines[30]);
  lines.insert(lines.begin() + 24, 1, lines[24]);
  lines.insert(lines.begin() + 17, 4, qk);
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
  EXPECT_NEAR(inferred.checks.qk_to_pv_ratio.value(), 5.0 / 6.0, 1e-9);
}

TEST(InferPhasesTest, WhereMatrixInstructionsMultiplyAllElseIsSoftmaxOrRescale) {
  // The output is scaled by an exponential times something loaded, and a constant is added to it.
  std::vector<Line> lines = MmaAttention();
  lines.insert(lines.begin() + 28, {"", "FMUL", "R22, R22, R15", {"softmax()"}});
  lines.insert(lines.begin() + 31, {"", "FFMA", "R40, R0, 0.5, R40", {"rescale()"}});
  const InferredPhases inferred = InferPhases(MakeFunction(lines));
  EXPECT_EQ(inferred.refusal, "");
  EXPECT_DOUBLE_EQ(inferred.checks.qk_to_pv_ratio.value(), 1.0);
  EXPECT_EQ(inferred.instructions[28].phase, "softmax");
  EXPECT_EQ(inferred.instructions[31].phase, "rescale");
}

TEST(InferPhasesTest, CountsDecideWhereThereAreSome) {
  const std::vector<Line> lines = MmaAttention();
  std::vector<double> executed(lines.size(), 1.0);
  for (std::size_t i = 13; i <= 35; ++i) executed[i] = 8.0;
  const InferredPhases inferred = InferPhases(MakeFunction(lines), executed);
  EXPECT_EQ(inferred.refusal, "");
  EXPECT_TRUE(inferred.checks.counted);
  executed[30] = 4.0;
  EXPECT_EQ(InferPhases(MakeFunction(lines), executed).refusal, "QK:PV multiply-adds are 2.00, not 1.00");
}

TEST(InferPhasesTest, RefusesAProductOnTensorMemoryOfUnknownShape) {
  std::vector<Line> lines = MmaAttention();
  lines[12] = {"", "UTCHMMA", "gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], !UPT", {}};
  EXPECT_EQ(RefusalOf(lines), "the code has no constant shape for the matrix instruction at 0x00c0");
}

// Work, not time: a step takes a few nanoseconds (bench/infer_phases.cpp).
constexpr std::size_t kMostSteps = 50'000'000;
constexpr std::size_t kOvershoot = 2'000'000;  // for the last thing that a stage counts at once
constexpr std::size_t kManyInstructions = kSanitized ? 10'000 : 50'000;

/// Instructions of random opcodes and operands, many of them branches to anywhere. `all_run`: each branch has a
/// predicate and nothing ends the code, so that all of it can be reached from all of it.
DeviceFunction RandomCode(unsigned seed, std::size_t instructions, int registers, bool all_run) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) { return std::to_string(random() % static_cast<unsigned>(limit)); };
  const auto reg = [&] { return "R" + below(registers); };
  constexpr const char* kOpcodes[] = {"HMMA.16816.F32",
                                      "MUFU.EX2",
                                      "LDG.E.128",
                                      "STS.128",
                                      "LDS.64",
                                      "FFMA",
                                      "FADD",
                                      "BRA",
                                      "BRA",
                                      "MOV",
                                      "IADD3",
                                      "STG.E",
                                      "LDSM.16.M88.4",
                                      "BAR.SYNC",
                                      "BSYNC",
                                      "EXIT",
                                      "WARPSYNC",
                                      "ISETP.GE.AND",
                                      "CALL.REL",
                                      "RET.REL",
                                      "LDL.128",
                                      "STL.128",
                                      "HGMMA.64x256x16.F32"};
  std::vector<Line> lines;
  for (std::size_t i = 0; i < instructions; ++i) {
    Line line;
    line.opcode = kOpcodes[random() % std::size(kOpcodes)];
    const bool ends = line.opcode == "EXIT" || line.opcode == "RET.REL" || line.opcode == "CALL.REL";
    if (all_run && ends) line.opcode = "BRA";
    if (random() % 4 == 0 || (all_run && line.opcode == "BRA"))
      line.predicate = "@" + std::string(random() % 2 == 0 ? "!" : "") + "P" + below(7);
    const bool jumps = line.opcode == "BRA" || line.opcode == "CALL.REL";
    if (jumps) {
      char target[24];
      (void)std::snprintf(target, sizeof target, "0x%zx", 16 * (random() % instructions));
      line.operands = target;
    } else if (line.opcode == "ISETP.GE.AND") {
      line.operands = "P" + below(7) + ", PT, " + reg() + ", " + reg() + ", PT";
    } else if (line.opcode.starts_with("ST")) {
      line.operands = "[" + reg() + "+0x" + below(9000) + "], " + reg();
    } else if (line.opcode.starts_with("LD")) {
      line.operands = reg() + "[" + reg() + "+UR4+0x" + below(9000) + "]";
    } else if (line.opcode != "EXIT") {
      line.operands = reg() + ", " + reg() + ".reuse, -" + reg() + ", " + reg();
    }
    lines.push_back(std::move(line));
  }
  return MakeFunction(lines);
}

TEST(InferPhasesTest, AnyCodeTakesLimitedWork) {
  struct Size {
    std::size_t instructions;
    int registers;
    bool all_run;
  };
  for (const Size& size : {Size{kManyInstructions, 255, false},
                           {kManyInstructions, 8, false},
                           {kManyInstructions, 255, true},
                           {kManyInstructions, 8, true},
                           {3'000, 255, true}}) {
    for (unsigned seed = 1; seed <= (kSanitized ? 1 : 2); ++seed) {
      const InferredPhases inferred = InferPhases(RandomCode(seed, size.instructions, size.registers, size.all_run));
      EXPECT_LT(inferred.steps, kMostSteps + kOvershoot) << size.instructions << " " << size.registers << " " << seed;
    }
  }
}

TEST(InferPhasesTest, PathologicalCodeTakesLimitedWorkOrIsRefusedByThatWord) {
  for (const PathologicalCode& code : kPathologicalCode) {
    SCOPED_TRACE(code.name);
    const InferredPhases inferred = InferPhases(MakeFunction(code.make(kManyInstructions)));
    EXPECT_LT(inferred.steps, kMostSteps + kOvershoot);
    if (inferred.steps > kMostSteps) {
      EXPECT_EQ(inferred.refusal_word, "size");
    }
    EXPECT_EQ(inferred.refusal.empty(), code.make == UnrolledAttention) << inferred.refusal;
  }
}

TEST(InferPhasesTest, LongStraightCodeAndLongChainsTakeLimitedWork) {
  std::vector<Line> lines = MmaAttention();
  const std::vector<Line> body(lines.begin() + 13, lines.begin() + 35);
  std::vector<Line> unrolled(lines.begin(), lines.begin() + 13);
  while (unrolled.size() < 50'000) unrolled.insert(unrolled.end(), body.begin(), body.end());
  unrolled.insert(unrolled.end(), lines.begin() + 35, lines.end());
  const InferredPhases inferred = InferPhases(MakeFunction(unrolled));
  EXPECT_EQ(inferred.refusal, "");
  EXPECT_LT(inferred.steps, kMostSteps);

  std::vector<Line> chain(50'000, {"@P0", "IADD3", "R4, R4, 0x10, RZ", {}});
  chain.push_back({"", "LDS", "R5[R4+0x10]", {}});
  chain.push_back({"", "MUFU.EX2", "R5, R5", {}});
  EXPECT_NE(RefusalOf(chain), "");
}

TEST(InferPhasesTest, AnyTextIsTaken) {
  const std::string texts[] = {"",
                               "[",
                               "]",
                               "R",
                               "R999999999999999999",
                               "R4, ,, R5",
                               "[[[[",
                               "]]]]",
                               "c[",
                               "desc[",
                               "desc[UR4][R2.64",
                               "gdesc[UR999]",
                               "-",
                               "|||-R4|",
                               "@",
                               "P9, P8",
                               "R255, R255, R255, R255",
                               "UR255, UR254",
                               "0x",
                               "[R0+",
                               "[+-+-]",
                               "[R0.X4+",
                               "\xff\xfe",
                               "R4[R5][R6][R7]"};
  const std::string opcodes[] = {"HGMMA.64x",
                                 "HGMMA.64x999999x16",
                                 "HMMA",
                                 "HMMA.16816.F32",
                                 "LDGSTS",
                                 "STS.128",
                                 "LDSM.",
                                 "MUFU.EX2",
                                 "BRA",
                                 "UTMALDG",
                                 "IMAD.WIDE",
                                 "LEA",
                                 "WARPGROUP.DEPBAR",
                                 "SYNCS.PHASECHK",
                                 "R2P",
                                 "",
                                 ".",
                                 "SHF.L.U32"};
  for (const std::string& text : texts) {
    std::vector<Line> lines;
    for (const std::string& opcode : opcodes) lines.push_back({text, opcode, text, {}});
    for (const std::string& opcode : opcodes) lines.push_back({"", opcode, text, {}});
    lines.push_back({"", "MUFU.EX2", "R4, R4", {}});
    EXPECT_NE(RefusalOf(lines), "") << text;
    std::vector<Line> around = MmaAttention();
    around.insert(around.end(), lines.begin(), lines.end());
    (void)InferPhases(MakeFunction(around));
  }
}

}  // namespace
}  // namespace fa_profile::analyze::infer_phases_test
