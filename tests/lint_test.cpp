#include "fa_profile/lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "attention_code.h"
#include "fa_profile/error.h"
#include "fa_profile/findings.h"

namespace fa_profile::analyze::lint_test {
namespace {

struct Line {
  const char* opcode;
  const char* operands = "";
  const char* predicate = "";
};

KernelCode Kernel(const std::vector<Line>& lines) {
  KernelCode kernel;
  kernel.architecture = "sm_90a";
  kernel.sm = 90;
  kernel.has_line_information = true;
  kernel.registers_per_thread = 32;
  kernel.stack_frame_bytes = 0;
  kernel.max_threads = {256, 1, 1};
  kernel.function.name = "_Z6kernelPf";
  for (const Line& line : lines) {
    const auto offset = static_cast<std::uint32_t>(16 * kernel.function.instructions.size());
    kernel.function.instructions.push_back({offset, line.predicate, line.opcode, line.operands, {}});
  }
  return kernel;
}

std::set<std::string> Ids(const KernelLint& lint) {
  std::set<std::string> ids;
  for (const Finding& finding : lint.findings) ids.insert(finding.id);
  return ids;
}

std::string Evidence(const KernelLint& lint, const std::string& id) {
  const auto finding = std::ranges::find(lint.findings, id, &Finding::id);
  return finding == lint.findings.end() ? "" : finding->phase + ": " + finding->evidence;
}

LintOptions Block(int threads) {
  LintOptions options;
  options.threads = threads;
  return options;
}
LintOptions SharedMemory(std::int64_t bytes) {
  LintOptions options;
  options.dynamic_shared_memory_bytes = bytes;
  return options;
}

const std::set<std::string> kNone;

TEST(LintTest, AKernelWithNothingWrongHasNoFinding) {
  const KernelLint lint =
      Lint(Kernel({{"LDG.E", "R2, desc[UR4][R2.64]"}, {"STG.E", "desc[UR4][R4.64], R2"}, {"EXIT"}}));
  EXPECT_EQ(Ids(lint), kNone);
  EXPECT_EQ(lint.name, "kernel(float*)");
  ASSERT_TRUE(lint.occupancy);
  EXPECT_EQ(lint.occupancy->theoretical_ratio, 1.0);
  EXPECT_EQ(lint.occupancy->blocks_per_sm, 8);
}

TEST(LintTest, PhasesOfCodeWithoutNamesAreInferredFromIt) {
  KernelCode kernel = Kernel({});
  kernel.function = MakeFunction(MmaAttention());
  for (Instruction& instruction : kernel.function.instructions) instruction.frames.clear();
  const KernelLint lint = Lint(kernel);
  EXPECT_EQ(lint.attribution, "inference from machine code");
  ASSERT_TRUE(lint.inference);
  EXPECT_EQ(lint.inference->refusal, "");
  EXPECT_EQ(lint.inference->weighed_by, "instructions");
  EXPECT_FALSE(lint.inference->counted) << "nothing ran";
  EXPECT_DOUBLE_EQ(lint.inference->qk_to_pv_ratio.value(), 1.0);
  const auto softmax = std::ranges::find_if(
      lint.phases, [](const PhaseCode& row) { return row.phase == "softmax" && row.loop_depth == 1; });
  ASSERT_NE(softmax, lint.phases.end());
  EXPECT_EQ(softmax->counts.at("exponential"), 3);

  LintOptions options;
  options.phase_source = PhaseSource::kOpcodes;
  EXPECT_EQ(Lint(kernel, options).attribution, "opcode classes");
  kernel.function.instructions.resize(20);
  EXPECT_EQ(Lint(kernel).inference.value().refusal,
            "not attention: matrix products without exponentials (GEMM, convolution)");
}

TEST(LintTest, CountsAreByPhaseAndLoopDepthWithoutPadding) {
  const KernelLint lint = Lint(Kernel({{"LDGSTS.E.128", "[R2], desc[UR4][R4.64]"},  // 0x00
                                       {"HMMA.16816.F32", "R4, R8, R12, R4"},       // 0x10: a loop
                                       {"MUFU.EX2", "R4, R4"},
                                       {"LDSM.16.M88.4", "R4, [R2]"},
                                       {"BAR.SYNC.DEFER_BLOCKING", "0x0"},
                                       {"BRA", "0x10", "@P0"},
                                       {"ATOMG.E.ADD", "PT, R2, desc[UR4][R2.64], R4"},
                                       {"RED.E.ADD", "desc[UR4][R2.64], R4"},
                                       {"EXIT"},
                                       {"BRA", "0x90"},
                                       {"NOP"}}));
  std::map<std::string, int> outside;
  std::map<std::string, int> inside;
  int instructions = 0;
  for (const PhaseCode& row : lint.phases) {
    instructions += row.instructions;
    for (const auto& [what, count] : row.counts) (row.loop_depth == 0 ? outside : inside)[what] += count;
  }
  EXPECT_EQ(instructions, 9);
  EXPECT_EQ(inside, (std::map<std::string, int>{{"tensor", 1},
                                                {"exponential", 1},
                                                {"shared", 1},
                                                {"global", 0},
                                                {"local", 0},
                                                {"barrier", 1},
                                                {"atomic", 0}}));
  EXPECT_EQ(outside, (std::map<std::string, int>{{"tensor", 0},
                                                 {"exponential", 0},
                                                 {"shared", 0},
                                                 {"global", 1},
                                                 {"local", 0},
                                                 {"barrier", 0},
                                                 {"atomic", 2}}));
}

TEST(LintTest, CopiesIntoTensorMemoryCountAsSharedMemory) {
  const KernelLint lint =
      Lint(Kernel({{"UTCCP.T.S", "tmem[UR6], gdesc[UR10]"}, {"UTMASTG.2D", "[UR8][UR4]"}, {"EXIT"}}));
  std::map<std::string, int> counts;
  for (const PhaseCode& row : lint.phases) {
    for (const auto& [what, count] : row.counts) counts[what] += count;
  }
  EXPECT_EQ(counts["shared"], 1);
  EXPECT_EQ(counts["global"], 1);
}

TEST(LintTest, SpillsAreSlotsAboveTheLowestLastUseReload) {
  KernelCode kernel = Kernel({{"STL.128", "[R1], RZ"},         // an array's
                              {"STL", "[R1+0x10], R4"},        // a spill
                              {"STL.64", "[R1+0x18], R6"},     // a spill
                              {"LDL", "R4, [R14]"},            // the array, at run time
                              {"LDL", "R5, [R1+0x18]"},        // a spill, not for the last time
                              {"LDL.LU.64", "R6, [R1+0x18]"},  // a spill
                              {"LDL.LU", "R4, [R1+0x10]"},     // a spill
                              {"LDL.U8", "R4, [R1+UR4]"},      // the array
                              {"EXIT"}});
  kernel.stack_frame_bytes = 32;
  const KernelLint lint = Lint(kernel);
  EXPECT_EQ(lint.spills.stores, 2);
  EXPECT_EQ(lint.spills.store_bytes, 12);
  EXPECT_EQ(lint.spills.loads, 3);
  EXPECT_EQ(lint.spills.load_bytes, 16);
  EXPECT_EQ(lint.arrays.stores, 1);
  EXPECT_EQ(lint.arrays.store_bytes, 16);
  EXPECT_EQ(lint.arrays.loads, 2);
  EXPECT_EQ(lint.arrays.load_bytes, 5);
  EXPECT_EQ(Ids(lint), std::set<std::string>{"spills"});
}

TEST(LintTest, ASlotThatIsStoredAndReloadedIsASpillWhereNoAddressIsComputed) {
  const std::vector<Line> lines{{"LDC", "R1, c[0x0][0x28]"},    {"VIADD", "R1, R1, 0xfffffff0"},
                                {"STL.64", "[R1+0x8], R4"},  // a spill
                                {"LDL", "R5, [R1+0xc]"},     // half of it
                                {"LDL", "R5, [R1+0xc]"},        {"LDL", "R5, [R1+0xc]"},
                                {"LDL", "R4, [R1+0x8]", "@P0"}, {"STL", "[R1], R6"},  // never loaded
                                {"BRA", "0x30", "@P1"},         {"EXIT"}};
  KernelCode kernel = Kernel(lines);
  kernel.stack_frame_bytes = 16;
  const KernelLint lint = Lint(kernel);
  EXPECT_EQ(lint.spills.stores, 1);
  EXPECT_EQ(lint.spills.store_bytes, 8);
  EXPECT_EQ(lint.spills.loads, 4);
  EXPECT_EQ(lint.spills.load_bytes, 16);
  EXPECT_EQ(lint.arrays.stores, 1);
  EXPECT_EQ(Ids(lint), (std::set<std::string>{"spills", "local-traffic-in-loop"}));

  // The address of the frame goes elsewhere: the slots may be those of an array.
  for (const Line& line : {Line{"IADD3", "R8, R1, 0x8, RZ"}, Line{"MOV", "R8, R1"}, Line{"LDL", "R8, [R1+UR4]"},
                           Line{"LDL", "R8, [R9]"}, Line{"VIADD", "R1, R1, 0x8"}}) {
    SCOPED_TRACE(line.operands);
    kernel.function.instructions[7].opcode = line.opcode;
    kernel.function.instructions[7].operands = line.operands;
    EXPECT_EQ(Lint(kernel).spills.loads, 0);
    EXPECT_TRUE(Ids(Lint(kernel)).contains("stack-without-spills"));
  }
}

TEST(LintTest, AStackFrameWithoutSpillsIsReportedAsAnArray) {
  KernelCode kernel = Kernel({{"STL", "[R1], R4"}, {"LDL", "R4, [R14+0x4]"}, {"EXIT"}});
  kernel.stack_frame_bytes = 128;
  EXPECT_EQ(Evidence(Lint(kernel), "stack-without-spills"),
            ": 128 bytes of stack a thread, accessed by 2 instructions, 1 at an address computed at run time");
  kernel.externals = {"vprintf"};  // there is an array all the same
  EXPECT_TRUE(Ids(Lint(kernel)).contains("stack-without-spills"));
}

TEST(LintTest, TheArgumentsOfPrintfAreNotAnArray) {
  KernelCode kernel = Kernel({{"STL", "[R1], R4"}, {"CALL.ABS.NOINC", "R8"}, {"EXIT"}});
  kernel.stack_frame_bytes = 16;
  kernel.externals = {"vprintf"};
  EXPECT_EQ(Ids(Lint(kernel)), std::set<std::string>{"calls-printf"});
  kernel.externals = {"__assertfail"};
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
}

TEST(LintTest, LocalMemoryInALoopIsReportedWithItsDepth) {
  KernelCode kernel =
      Kernel({{"STL", "[R1], R4"}, {"LDL", "R4, [R14]"}, {"BRA", "0x10", "@P0"}, {"BRA", "0x10", "@P1"}, {"EXIT"}});
  kernel.stack_frame_bytes = 64;
  EXPECT_TRUE(Ids(Lint(kernel)).contains("local-traffic-in-loop"));
  EXPECT_NE(Evidence(Lint(kernel), "local-traffic-in-loop").find("in all 1 of 2 local"), std::string::npos);
  kernel.function.instructions[2].opcode = "MOV";
  kernel.function.instructions[3].opcode = "MOV";
  EXPECT_FALSE(Ids(Lint(kernel)).contains("local-traffic-in-loop"));
}

TEST(LintTest, ABarrierPerRowIsAFindingAndOnePerTileIsNot) {
  // A loop that loads a tile, and one in it: 0x00 .. 0x50.
  std::vector<Line> lines{{"LDG.E", "R2, desc[UR4][R2.64]"},
                          {"BAR.SYNC", "0x0"},
                          {"LDS", "R2, [R3]"},
                          {"FADD", "R2, R2, R3"},
                          {"BRA", "0x20", "@P0"},
                          {"BRA", "0x0", "@P1"},
                          {"EXIT"}};
  EXPECT_EQ(Ids(Lint(Kernel(lines))), kNone);
  lines[3] = {"BAR.SYNC", "0x0"};
  EXPECT_NE(Evidence(Lint(Kernel(lines)), "barrier-per-row").find("1 of 2 barriers, the deepest at loop depth 2"),
            std::string::npos);
  // No tile comes in: each turn is a row, or a step of a reduction.
  lines[0] = {"LDS", "R2, [R3]"};
  EXPECT_NE(Evidence(Lint(Kernel(lines)), "barrier-per-row").find("2 of 2 barriers"), std::string::npos);
  // A loop in a loop whose turns are tiles: they are multiplied, or other warps copy them.
  for (const Line& tile :
       {Line{"HGMMA.64x128x16.F32", "R24, gdesc[UR8], R24"}, Line{"SYNCS.PHASECHK.TRANS64.TRYWAIT", "P2, [R2], R3"}}) {
    lines[2] = tile;
    EXPECT_EQ(Ids(Lint(Kernel(lines))), kNone);
  }
  // One that only arrives, and one outside all loops, do not wait.
  EXPECT_EQ(Ids(Lint(Kernel({{"BAR.ARV", "0x0, 0x80"}, {"BRA", "0x0", "@P0"}, {"BAR.SYNC", "0x0"}, {"EXIT"}}))), kNone);
}

TEST(LintTest, FindingsAboutLoopsAreLeftOutWhereIndirectBranchesHaveUnknownTargets) {
  KernelCode kernel = Kernel({{"BRX", "R2, -0x10, {0x10, 0x40}"},
                              {"BAR.SYNC", "0x0"},
                              {"LDL", "R4, [R14]"},
                              {"BRA", "0x10", "@P0"},
                              {"EXIT"}});
  EXPECT_EQ(Lint(kernel).unknown_branches, 0);
  EXPECT_EQ(Ids(Lint(kernel)), (std::set<std::string>{"barrier-per-row", "local-traffic-in-loop"}));
  kernel.function.instructions[0].operands = "R2, -0x10";
  EXPECT_EQ(Lint(kernel).unknown_branches, 1);
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
}

TEST(LintTest, WmmaWithoutMatrixInstructionsIsFoundByInlineStackAndByName) {
  KernelCode kernel = Kernel({{"STG.E", "desc[UR4][R4.64], R2"}, {"EXIT"}});
  kernel.function.instructions[0].frames = {{"void nvcuda::wmma::store_matrix_sync<float>(float*)", "mma.hpp", 91},
                                            {"kernel(float*)", "src/kernel.cu", 12}};
  EXPECT_NE(Evidence(Lint(kernel), "wmma-without-tensor").find("store_matrix_sync is inlined at kernel.cu:12"),
            std::string::npos);
  kernel.function.instructions.push_back({32, "", "HMMA.16816.F32", "R4, R8, R12, R4", {}});
  EXPECT_EQ(Ids(Lint(kernel)), kNone);

  kernel = Kernel({{"EXIT"}});
  kernel.function.name = "_Z10WmmaKernelPf";
  EXPECT_EQ(Ids(Lint(kernel)), std::set<std::string>{"wmma-without-tensor"});
  kernel.function.name = "_Z10MainKernelPf";
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
}

TEST(LintTest, ATrapWithoutAnExitIsAFinding) {
  EXPECT_EQ(Ids(Lint(Kernel({{"BPT.TRAP", "0x1"}, {"BRA", "0x10"}}))), std::set<std::string>{"code-is-a-trap"});
  EXPECT_EQ(Ids(Lint(Kernel({{"BPT.TRAP", "0x1", "@P0"}, {"EXIT"}}))), kNone);
}

// Gives each instruction a source line.
void SetLines(KernelCode& kernel, const std::vector<int>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    kernel.function.instructions[i].frames = {{"kernel(float*)", "src/kernel.cu", lines[i]}};
  }
}

TEST(LintTest, ATrapBehindTheEndThatHasNoLineIsTheCompilers) {
  const std::vector<Line> lines{{"BRA", "0x30", "@P0"},
                                {"STG.E", "desc[UR4][R4.64], R2"},
                                {"EXIT"},
                                {"BPT.TRAP", "0x1"},
                                {"BRA", "0x40"},
                                {"NOP"}};
  KernelCode kernel = Kernel(lines);
  SetLines(kernel, {9, 21, 22, 22, 22, 22});
  EXPECT_EQ(Evidence(Lint(kernel), "code-is-a-trap"),
            ": a trap replaces the target of the branch at kernel.cu:9; the trap has no source line");
  SetLines(kernel, {9, 21, 22, 10, 10, 10});  // the source's own: it has a line
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
  SetLines(kernel, {9, 9, 9, 9, 9, 9});  // all on one line: lines say nothing
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
  kernel = Kernel(lines);  // no lines
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
  kernel.function.instructions[2].predicate = "@P1";  // code runs on into the trap
  SetLines(kernel, {9, 21, 22, 22, 22, 22});
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
  kernel = Kernel(lines);
  kernel.function.instructions[4] = {64, "", "EXIT", "", {}};  // and out of it
  SetLines(kernel, {9, 21, 22, 22, 22, 22});
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
}

TEST(LintTest, FindingsAboutLocalMemoryNameSourceLines) {
  KernelCode kernel = Kernel({{"STL", "[R1], R4"},
                              {"LDL", "R4, [R14]"},
                              {"LDL", "R4, [R14]"},
                              {"LDL", "R4, [R14]"},
                              {"BRA", "0x10", "@P0"},
                              {"EXIT"}});
  kernel.stack_frame_bytes = 64;
  SetLines(kernel, {3, 5, 5, 6, 7, 8});
  EXPECT_TRUE(Evidence(Lint(kernel), "stack-without-spills").ends_with("(kernel.cu:5, kernel.cu:3, kernel.cu:6)"));
  EXPECT_NE(Evidence(Lint(kernel), "local-traffic-in-loop").find("loop depth 1 (kernel.cu:5, kernel.cu:6);"),
            std::string::npos);
  SetLines(kernel, {3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(Evidence(Lint(kernel), "stack-without-spills")
                  .ends_with("(kernel.cu:3, kernel.cu:4, kernel.cu:5 and 1 more line)"));
  for (Instruction& instruction : kernel.function.instructions) {
    if (instruction.opcode == "LDL") instruction = {instruction.offset, "", "LDL.LU", "R4, [R1]", instruction.frames};
  }
  EXPECT_TRUE(Evidence(Lint(kernel), "spills").ends_with("and 1 more line)"));
}

TEST(LintTest, MissingLineInformationIsAFinding) {
  KernelCode kernel = Kernel({{"EXIT"}});
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
  kernel.has_line_information = false;
  EXPECT_EQ(Ids(Lint(kernel)), std::set<std::string>{"no-line-information"});
}

TEST(LintTest, LowOccupancyIsAFindingWhereRegistersOrSharedMemoryLimitIt) {
  KernelCode kernel = Kernel({{"EXIT"}});
  kernel.registers_per_thread = 255;
  EXPECT_EQ(Ids(Lint(kernel)), std::set<std::string>{"low-theoretical-occupancy"});
  EXPECT_EQ(Evidence(Lint(kernel), "low-theoretical-occupancy"),
            ": 12.5 % of an SM's warps: 1 block of 256 threads, limited by registers");
  kernel.registers_per_thread = 32;
  EXPECT_EQ(Ids(Lint(kernel)), kNone);
  EXPECT_EQ(Ids(Lint(kernel, SharedMemory(200 * 1024))), std::set<std::string>{"low-theoretical-occupancy"});
  // 32 blocks of one warp are half of an SM's warps, and it is the blocks that limit.
  EXPECT_EQ(Ids(Lint(kernel, Block(32))), kNone);
}

TEST(LintTest, ABlockThatFitsOnNoSmIsAFinding) {
  KernelCode kernel = Kernel({{"EXIT"}});
  EXPECT_EQ(Ids(Lint(kernel, SharedMemory(228 * 1024))), std::set<std::string>{"no-block-fits"});
  EXPECT_FALSE(Ids(Lint(kernel, SharedMemory(227 * 1024))).contains("no-block-fits"));
  kernel.registers_per_thread = 128;
  EXPECT_EQ(Ids(Lint(kernel, Block(1024))), std::set<std::string>{"no-block-fits"});
  EXPECT_FALSE(Ids(Lint(kernel, Block(512))).contains("no-block-fits"));
}

TEST(LintTest, OccupancyIsAbsentWhereThreadsOrTheArchitectureAreUnknown) {
  KernelCode kernel = Kernel({{"EXIT"}});
  kernel.max_threads.reset();
  EXPECT_FALSE(Lint(kernel).occupancy);
  EXPECT_EQ(Lint(kernel, Block(128)).threads_source, "--threads");
  EXPECT_TRUE(Lint(kernel, Block(128)).occupancy);
  kernel.required_threads = {64, 2, 1};
  EXPECT_EQ(Lint(kernel).threads_per_block, 128);
  kernel.sm = 42;
  EXPECT_FALSE(Lint(kernel).occupancy);
  kernel.max_threads = {1 << 30, 1 << 30, 1 << 30};  // a damaged cubin
  kernel.required_threads.reset();
  EXPECT_FALSE(Lint(kernel).occupancy);
}

TEST(LintTest, OccupancyIsAbsentAndBoundedWhereSharedMemoryIsUsedAndHasNoFixedSize) {
  for (const char* const opcode :
       {"LDS", "LDGSTS.E.128", "UTMALDG.2D", "HGMMA.64x64x16.F32", "ATOMS.ADD", "UTCCP.T.S"}) {
    SCOPED_TRACE(opcode);
    KernelCode kernel = Kernel({{opcode}, {"EXIT"}});
    kernel.registers_per_thread = 128;
    const KernelLint unknown = Lint(kernel);
    EXPECT_FALSE(unknown.occupancy);
    EXPECT_FALSE(unknown.dynamic_shared_memory_bytes);
    EXPECT_EQ(unknown.occupancy_limit_ratio, 0.25);
    const KernelLint given = Lint(kernel, SharedMemory(200 * 1024));
    ASSERT_TRUE(given.occupancy);
    EXPECT_EQ(given.occupancy->blocks_per_sm, 1);
    EXPECT_FALSE(given.occupancy_limit_ratio);
    EXPECT_TRUE(Lint(kernel, SharedMemory(0)).occupancy);
    kernel.static_shared_memory_bytes = 1024;
    EXPECT_TRUE(Lint(kernel).occupancy);
  }
}

TEST(LintTest, OccupancyOfBlocksOfUnknownSizeIsBoundedByRegisters) {
  KernelCode kernel = Kernel({{"EXIT"}});
  kernel.max_threads.reset();
  kernel.registers_per_thread = 255;
  EXPECT_EQ(Lint(kernel).occupancy_limit_ratio, 0.125);
  kernel.registers_per_thread = 32;
  EXPECT_EQ(Lint(kernel).occupancy_limit_ratio, 1.0);
  kernel.registers_per_thread = 300;  // a damaged cubin
  EXPECT_FALSE(Lint(kernel).occupancy_limit_ratio);
  kernel.registers_per_thread.reset();
  EXPECT_FALSE(Lint(kernel).occupancy_limit_ratio);
}

TEST(LintTest, EveryRuleHasAllItsTexts) {
  const std::set<std::string> tested{"code-is-a-trap",           "wmma-without-tensor", "spills",
                                     "stack-without-spills",     "barrier-per-row",     "calls-printf",
                                     "local-traffic-in-loop",    "no-line-information", "no-block-fits",
                                     "low-theoretical-occupancy"};
  std::set<std::string> ids;
  for (const FindingRule& rule : LintRules()) {
    SCOPED_TRACE(rule.id);
    EXPECT_TRUE(ids.insert(rule.id).second);
    EXPECT_EQ(&RequireLintFinding(rule.id), &rule);
    EXPECT_THROW((void)RequireFinding(rule.id), Error) << "the report's findings have another one of this name";
    EXPECT_TRUE(rule.weight.empty()) << "lint measures no time";
    for (const std::string* text : {&rule.title, &rule.condition, &rule.source, &rule.cure, &rule.story}) {
      EXPECT_FALSE(text->empty());
    }
  }
  EXPECT_EQ(ids, tested);
  EXPECT_THROW((void)RequireLintFinding("nonsense"), Error);
}

TEST(LintTest, RandomInstructionsCanBeLinted) {
  const std::vector<std::string> opcodes{"LDL",  "LDL.LU",   "STL.128", "BAR.SYNC", "BRA", "BRX", "CALL.REL", "RET",
                                         "EXIT", "BPT.TRAP", "HMMA",    "",         "NOP", ".",   "LDL.",     "BSSY"};
  const std::vector<std::string> operands{"",
                                          "[R1]",
                                          "R4, [R1+0x",
                                          "[R1+-0x10], R2",
                                          "[R1+0xffffffffffffffffff]",
                                          "[",
                                          "]",
                                          "R1]",
                                          "][",
                                          "0x0",
                                          "0x20",
                                          "0x30",
                                          "0xfffffff0",
                                          "`(.L_x_1)",
                                          "B0, 0x40",
                                          "[R1+UR4]"};
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    KernelCode kernel = Kernel({});
    const std::size_t size = random() % 12;
    for (std::size_t i = 0; i < size; ++i) {
      kernel.function.instructions.push_back({static_cast<std::uint32_t>(16 * i),
                                              random() % 2 ? "" : "@P0",
                                              opcodes[random() % opcodes.size()],
                                              operands[random() % operands.size()],
                                              {}});
    }
    const KernelLint lint = Lint(kernel);
    int counted = 0;
    for (const PhaseCode& row : lint.phases) counted += row.instructions;
    EXPECT_LE(counted, static_cast<int>(size));
  }
}

}  // namespace
}  // namespace fa_profile::analyze::lint_test
