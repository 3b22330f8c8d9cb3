#include "fa_profile/list_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "attention_code.h"
#include "device_code.h"
#include "fa_profile/analyze.h"
#include "fa_profile/infer_phases.h"
#include "sample_recording.h"

namespace fa_profile::analyze::list_code_test {
namespace {

ProfileEntry EntryOf(const Recording& recording, const std::string& kernel) {
  ProfileEntry entry;
  entry.kernel = kernel;
  entry.case_id = std::ranges::find(recording.cases, kernel, &Case::kernel)->id;
  return entry;
}

InstructionListing ListMma(const Recording& recording, const std::optional<PhaseMap>& map = std::nullopt,
                           PhaseSource source = PhaseSource::kBest) {
  const auto listings = ListInstructions(recording, EntryOf(recording, "mma"), map, source);
  EXPECT_EQ(listings.size(), 1U);
  return listings.at(0);
}

TEST(ListCodeTest, AnInstructionHasItsPhaseSamplesCountsAndLine) {
  const InstructionListing listing = ListMma(sample::MakeRecording());
  EXPECT_EQ(listing.code.missing, "");
  EXPECT_EQ(listing.code.attribution, "inline functions");
  EXPECT_EQ(listing.code.function, "void mma_kernel<64, false>(Params)");
  EXPECT_EQ(listing.code.samples, 10000.0);
  EXPECT_EQ(listing.code.call_share_ratio, 1.0);
  EXPECT_EQ(listing.code.weighed_by, "samples");
  ASSERT_EQ(listing.instructions.size(), 7U);
  const ListedInstruction& load = listing.instructions[4];
  EXPECT_EQ(load.offset, 0x40U);
  EXPECT_EQ(load.text, "LDS.128 R4, [R8]");
  EXPECT_EQ(load.phase, "pv");
  EXPECT_EQ(load.grade, "named");
  EXPECT_EQ(load.reason, "function");
  EXPECT_DOUBLE_EQ(load.cost.share_ratio.value_or(0.0), 0.11);
  EXPECT_EQ(load.cost.executed, 100000.0);
  EXPECT_EQ(load.cost.threads_per_instruction, 32.0);
  EXPECT_EQ(load.cost.shared_wavefronts, 220000.0);
  EXPECT_EQ(load.cost.excess_wavefronts, 110000.0);
  EXPECT_EQ(load.cost.global_sectors, std::nullopt);
  EXPECT_EQ(listing.instructions[0].cost.global_sectors, 320000.0);
  EXPECT_EQ(listing.instructions[0].cost.excess_sectors, 0.0);
  ASSERT_EQ(load.cost.stalls.size(), 1U) << "selected waits for nothing";
  EXPECT_EQ(load.cost.stalls[0].reason, "mio_throttle");
  EXPECT_DOUBLE_EQ(load.cost.stalls[0].ratio, 700.0 / 1100.0);
  ASSERT_TRUE(load.place);
  EXPECT_EQ(load.place->line, 60);
  EXPECT_EQ(listing.instructions[1].cost.shared_wavefronts, std::nullopt) << "it accesses no shared memory";
}

TEST(ListCodeTest, WhatBelongsToNoPhaseHasNoGradeAndNoReason) {
  const ListedInstruction exit = ListMma(sample::MakeRecording()).instructions[6];
  EXPECT_EQ(exit.phase, kUnattributed);
  EXPECT_EQ(exit.grade, "");
  EXPECT_EQ(exit.reason, "");
}

TEST(ListCodeTest, TheReasonNamesWhatARuleFoundAnInstructionBy) {
  PhaseMap map;
  map.name = "phase map my.yaml";
  map.rules = {{"early", {"load_kv"}, {}, {}}, {"late", {}, {{"mma.cu", 40, 41}}, {}}, {"matrix", {}, {}, {"HMMA"}}};
  const InstructionListing listing = ListMma(sample::MakeRecording(), map);
  const auto ground = [&](std::size_t i) {
    return listing.instructions[i].phase + " " + listing.instructions[i].grade + " " + listing.instructions[i].reason;
  };
  EXPECT_EQ(ground(0), "early map function");
  EXPECT_EQ(ground(1), "late map line");
  EXPECT_EQ(ground(5), "matrix map opcode");
  EXPECT_EQ(ListMma(sample::MakeRecording(), std::nullopt, PhaseSource::kOpcodes).instructions[5].grade, "opcode");
}

TEST(ListCodeTest, AnInferredPhaseHasTheGradeAndTheReasonOfTheInference) {
  Recording recording = sample::MakeRecording();
  std::vector<Line> lines = MmaAttention();
  for (Line& line : lines) line.stack.clear();
  recording.functions = {MakeFunction(lines)};
  recording.countings.clear();
  const InstructionListing listing = ListMma(recording);
  EXPECT_EQ(listing.code.attribution, kInferredPhasesName);
  const InferredPhases inferred = InferPhases(recording.functions[0]);
  ASSERT_EQ(inferred.instructions.size(), listing.instructions.size());
  for (std::size_t i = 0; i < inferred.instructions.size(); ++i) {
    const ListedInstruction& each = listing.instructions[i];
    EXPECT_EQ(each.phase, inferred.instructions[i].phase);
    if (each.phase == kUnattributed) continue;
    EXPECT_EQ(each.grade, GradeName(inferred.instructions[i].grade));
    EXPECT_EQ(each.reason, inferred.instructions[i].reason);
    EXPECT_NE(each.reason, "");
    EXPECT_EQ(each.reason.find(' '), std::string::npos) << "one word: " << each.reason;
  }
  EXPECT_EQ(listing.instructions[16].grade + " " + listing.instructions[16].reason, "direct product");
}

// The report has the same samples by phase: both leave out the branch skid, and waits stay where the warp was found.
TEST(ListCodeTest, SamplesOfAPhaseAddUpToItsShareOfTheWarpsTime) {
  const Recording recording = sample::MakeRecording();
  std::map<std::string, double> shares;
  for (const ListedInstruction& each : ListMma(recording).instructions) shares[each.phase] += *each.cost.share_ratio;
  const Profile profile = Analyze(recording);
  ASSERT_TRUE(profile.entries.at(0).phases);
  for (const PhaseEntry& phase : profile.entries[0].phases->phases) {
    EXPECT_NEAR(shares[phase.name], phase.metrics.at("phase_warp_time_ratio"), 1e-12) << phase.name;
  }
}

TEST(ListCodeTest, TheReasonGmmaIsNamedAsInTheReport) {
  Recording recording = sample::MakeRecording();
  recording.functions[0].instructions[3].opcode = "WARPGROUP.DEPBAR.LE";
  EXPECT_EQ(ListMma(recording).instructions[3].cost.stalls.at(0).reason, "gmma");
}

TEST(ListCodeTest, CodeThatWasOnlyCountedIsWeighedByExecutions) {
  Recording recording = sample::MakeRecording();
  recording.samplings.clear();
  const InstructionListing listing = ListMma(recording);
  EXPECT_EQ(listing.code.weighed_by, "executed instructions");
  EXPECT_EQ(listing.code.call_share_ratio, std::nullopt);
  EXPECT_DOUBLE_EQ(listing.instructions[1].cost.share_ratio.value_or(0.0), 0.4);
}

TEST(ListCodeTest, CodeThatWasOnlySampledHasNoCounts) {
  Recording recording = sample::MakeRecording();
  recording.countings.clear();
  const InstructionListing listing = ListMma(recording);
  EXPECT_FALSE(listing.code.counted);
  EXPECT_EQ(listing.instructions[4].cost.executed, std::nullopt);
  EXPECT_EQ(listing.instructions[4].cost.threads_per_instruction, std::nullopt);
}

TEST(ListCodeTest, ACountThatTheChipLacksIsAbsentAndNotZero) {
  Recording recording = sample::MakeRecording();
  recording.losses.push_back({"metric_unavailable", "smsp__sass_inst_executed", "", 1});
  EXPECT_EQ(ListMma(recording).instructions[4].cost.executed, std::nullopt);
}

TEST(ListCodeTest, MissingCodeSaysWhy) {
  Recording recording = sample::MakeRecording();
  auto listings = ListInstructions(recording, EntryOf(recording, "tiled"));
  ASSERT_EQ(listings.size(), 1U);
  EXPECT_NE(listings[0].code.missing.find("--phases on"), std::string::npos) << listings[0].code.missing;
  recording.watch_windows.emplace_back();
  listings = ListInstructions(recording, EntryOf(recording, "tiled"));
  EXPECT_NE(listings.at(0).code.missing.find("at least 1 % of the samples"), std::string::npos);
  recording.losses.push_back({"redacted", "functions", "", 3});
  listings = ListInstructions(recording, EntryOf(recording, "tiled"));
  EXPECT_NE(listings.at(0).code.missing.find("redact left out the machine code of 3 functions"), std::string::npos);
  recording.functions[0].instructions.clear();
  EXPECT_EQ(ListMma(recording).code.missing, "its machine code was not disassembled");
}

TEST(ListCodeTest, ACallOfSeveralKernelsHasAListingForEach) {
  Recording recording = sample::MakeRecording();
  DeviceFunction softmax = sample::Code();
  softmax.id = 2;
  softmax.name = "row_softmax";
  recording.functions.push_back(softmax);
  PcSampling sampling = sample::Sampled();
  sampling.id = 2;
  sampling.case_id = 2;
  for (PcSample& pc : sampling.samples) pc.function_id = 2;
  recording.samplings.push_back(sampling);
  auto listings = ListInstructions(recording, EntryOf(recording, "cublas"));
  ASSERT_EQ(listings.size(), 1U);
  EXPECT_EQ(listings[0].code.part, "softmax");
  ProfileEntry part = EntryOf(recording, "cublas");
  part.part = "softmax";
  EXPECT_TRUE(ListInstructions(recording, part).empty()) << "it is listed with the call";
}

TEST(ListCodeTest, TheHottestInstructionsStayByAddress) {
  InstructionListing listing = ListMma(sample::MakeRecording());
  KeepHottest(listing, 3);
  ASSERT_EQ(listing.instructions.size(), 3U);
  EXPECT_EQ(listing.of_instructions, 7U);
  EXPECT_EQ(listing.instructions[0].index, 1U);
  EXPECT_EQ(listing.instructions[1].index, 3U);
  EXPECT_EQ(listing.instructions[2].index, 4U);
}

TEST(ListCodeTest, LinesSumTheirInstructions) {
  Recording recording = sample::MakeRecording();
  recording.functions[0].instructions[2].frames[0].line = 40;  // the line of MUFU.EX2
  const SourceListing source = ListLines(ListMma(recording));
  EXPECT_TRUE(source.instructions.empty());
  EXPECT_EQ(source.of_lines, 6U);
  EXPECT_EQ(source.unplaced_ratio, 0.0);
  const auto line = std::ranges::find(source.lines, 40, &ListedLine::line);
  ASSERT_NE(line, source.lines.end());
  EXPECT_EQ(line->file, "/src/mma.cu");
  EXPECT_EQ(line->instructions, 2U);
  EXPECT_DOUBLE_EQ(line->cost.share_ratio.value_or(0.0), 0.18);
  EXPECT_EQ(line->cost.executed, 800000.0);
  EXPECT_EQ(line->cost.threads_per_instruction, 1.0);
  ASSERT_EQ(line->cost.stalls.size(), 2U);
  EXPECT_DOUBLE_EQ(line->cost.stalls[0].ratio, 0.5) << "900 of 1800 samples wait";
  EXPECT_EQ(source.lines[0].line, 50) << "the hottest first";
}

TEST(ListCodeTest, ALineOfTwoPhasesHasBoth) {
  Recording recording = sample::MakeRecording();
  recording.functions[0].instructions[4].frames[0].line = 40;  // in pv
  const SourceListing source = ListLines(ListMma(recording));
  const auto line = std::ranges::find(source.lines, 40, &ListedLine::line);
  ASSERT_NE(line, source.lines.end());
  ASSERT_EQ(line->phases.size(), 2U);
  EXPECT_EQ(line->phases[0].phase, "softmax");
  EXPECT_DOUBLE_EQ(line->phases[1].ratio, 1100.0 / 2300.0);
}

TEST(ListCodeTest, CodeWithoutLinesIsListedByInstruction) {
  Recording recording = sample::MakeRecording();
  for (Instruction& instruction : recording.functions[0].instructions) instruction.frames.clear();
  SourceListing source = ListLines(ListMma(recording));
  EXPECT_TRUE(source.lines.empty());
  EXPECT_EQ(source.of_lines, 7U);
  KeepHottest(source, 2);
  ASSERT_EQ(source.instructions.size(), 2U);
  EXPECT_EQ(source.instructions[0].offset, 0x30U) << "the hottest first";
}

}  // namespace
}  // namespace fa_profile::analyze::list_code_test
