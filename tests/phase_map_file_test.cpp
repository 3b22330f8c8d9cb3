#include "fa_profile/phase_map_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "fa_profile/error.h"

namespace fa_profile::load::phase_map_file_test {
namespace {

std::string ErrorOf(const std::string& text) {
  try {
    (void)ParsePhaseMap(text, "map.yaml");
    return "no error";
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << "without a cure: " << error.message();
    return error.message();
  }
}

TEST(PhaseMapFileTest, ReadsFunctionsLinesAndOpcodesInOrder) {
  const PhaseMap map = ParsePhaseMap(
      "phases:\n"
      "  softmax:\n"
      "    functions: [online_softmax, row_max]\n"
      "    opcodes: [MUFU.EX2]\n"
      "  a product:\n"
      "    lines: ['src/kernel.cu:40-80', 'mma.cuh:12']\n"
      "    opcodes: HMMA\n",
      "my.yaml");
  EXPECT_EQ(map.name, "phase map my.yaml");
  ASSERT_EQ(map.rules.size(), 2U);
  EXPECT_EQ(map.rules[0].phase, "softmax");
  EXPECT_EQ(map.rules[0].functions, (std::vector<std::string>{"online_softmax", "row_max"}));
  EXPECT_EQ(map.rules[0].opcodes, std::vector<std::string>{"MUFU.EX2"});
  EXPECT_EQ(map.rules[1].phase, "a product");
  ASSERT_EQ(map.rules[1].lines.size(), 2U);
  EXPECT_EQ(map.rules[1].lines[0].file, "src/kernel.cu");
  EXPECT_EQ(map.rules[1].lines[0].first, 40);
  EXPECT_EQ(map.rules[1].lines[0].last, 80);
  EXPECT_EQ(map.rules[1].lines[1].first, 12);
  EXPECT_EQ(map.rules[1].lines[1].last, 12);
  EXPECT_EQ(map.rules[1].opcodes, std::vector<std::string>{"HMMA"});
}

TEST(PhaseMapFileTest, ErrorsNameLineColumnAndProblem) {
  EXPECT_EQ(ErrorOf("phases:\n  a: {functions: [f\n"), "map.yaml:3:1: is not YAML: end of sequence flow not found");
  EXPECT_EQ(ErrorOf("- a\n"), "map.yaml:1:1: a phase map must be a mapping");
  EXPECT_EQ(ErrorOf("phase: {}\n"), "map.yaml:1:1: unknown key 'phase'; did you mean phases?");
  EXPECT_EQ(ErrorOf("phases: [a]\n"), "map.yaml:1:9: 'phases' must be a mapping from phase names to code");
  EXPECT_EQ(ErrorOf("phases:\n  a: softmax\n"), "map.yaml:2:6: phase 'a' must be a mapping");
  EXPECT_EQ(ErrorOf("phases:\n  a:\n    function: f\n"),
            "map.yaml:3:5: unknown key 'function'; did you mean functions?");
  EXPECT_EQ(ErrorOf("phases:\n  a: {functions: {f: 1}}\n"), "map.yaml:2:18: must be a list of texts");
  EXPECT_EQ(ErrorOf("phases:\n  a: {functions: [[f]]}\n"), "map.yaml:2:19: an item of the list must be text");
  EXPECT_EQ(ErrorOf("phases:\n  a: {functions: f}\n  a: {functions: g}\n"), "map.yaml:3:3: duplicate phase 'a'");
  EXPECT_EQ(ErrorOf("phases:\n  a: {functions: f, functions: g}\n"), "map.yaml:2:21: duplicate key 'functions'");
  EXPECT_EQ(ErrorOf("phases:\n  a: {functions: []}\n"), "map.yaml:2:3: phase 'a' is empty");
  EXPECT_EQ(ErrorOf("phases: {a: {functions: f}}\nphases: {b: {functions: g}}\n"),
            "map.yaml:2:1: duplicate key 'phases'");
  EXPECT_EQ(ErrorOf(""), "map.yaml: a phase map must be a mapping");
  EXPECT_EQ(ErrorOf(",0"), "map.yaml:1:1: only one YAML document is expected") << "documents without end";
  EXPECT_EQ(ErrorOf("phases: {a: {functions: f}}\n---\n{}\n"), "map.yaml:2:1: only one YAML document is expected");
  EXPECT_EQ(ErrorOf("{}\n"), "map.yaml:1:1: the key 'phases' is missing");
  EXPECT_EQ(ErrorOf("phases:\n  '(unattributed)': {functions: f}\n"),
            "map.yaml:2:3: '(unattributed)' cannot be the name of a phase");
}

TEST(PhaseMapFileTest, WhatAReaderCannotSeeIsRefused) {
  EXPECT_EQ(ErrorOf("phases: {a: &x {functions: f}}\n"), "map.yaml:1:13: anchors (&name) are not allowed");
  EXPECT_EQ(ErrorOf("phases: {a: {functions: f\xE2\x80\xAE}}\n").substr(0, 14), "map.yaml:1:26:");
}

TEST(PhaseMapFileTest, FunctionsAreBaseNamesAndOpcodesAreWrittenInCapitals) {
  EXPECT_EQ(ErrorOf("phases: {a: {functions: 'fa::softmax<64>'}}\n"),
            "map.yaml:1:25: 'fa::softmax<64>' is not the base name of a function");
  EXPECT_EQ(ErrorOf("phases: {a: {opcodes: hmma}}\n"),
            "map.yaml:1:23: 'hmma' is not a machine opcode or the beginning of one");
  EXPECT_EQ(ErrorOf("phases: {a: {opcodes: ''}}\n"),
            "map.yaml:1:23: '' is not a machine opcode or the beginning of one");
}

TEST(PhaseMapFileTest, LineRangesAreFileAndLinesInOrder) {
  for (const char* const text : {"k.cu", "k.cu:", ":3", "k.cu:0", "k.cu:-3", "k.cu:1-", "k.cu:1-2-3", "k.cu:1-x",
                                 "k.cu:1 - 2", "k.cu:99999999999", "k.cu:+1"}) {
    EXPECT_EQ(ErrorOf(std::string("phases: {a: {lines: '") + text + "'}}\n"),
              std::string("map.yaml:1:21: '") + text + "' is not a range of lines");
  }
  EXPECT_EQ(ErrorOf("phases: {a: {lines: 'k.cu:20-10'}}\n"),
            "map.yaml:1:21: the range 'k.cu:20-10' ends before it begins");
}

TEST(PhaseMapFileTest, TwoPhasesCannotClaimTheSameCode) {
  const auto two = [](const std::string& a, const std::string& b) {
    return ErrorOf("phases:\n  a: {" + a + "}\n  b: {" + b + "}\n");
  };
  EXPECT_EQ(two("functions: f", "functions: f"), "map.yaml:3:18: function 'f' is already in phase 'a'");
  EXPECT_EQ(two("opcodes: LDG", "opcodes: LDG"), "map.yaml:3:16: opcode 'LDG' is already in phase 'a'");
  EXPECT_EQ(two("lines: 'k.cu:10-20'", "lines: 'k.cu:15-30'"),
            "map.yaml:3:14: lines 15-20 of k.cu are already in phase 'a'");
  EXPECT_EQ(two("lines: 'src/k.cu:10-20'", "lines: 'k.cu:20'"),
            "map.yaml:3:14: lines 20-20 of k.cu are already in phase 'a'");
  EXPECT_EQ(two("lines: 'k.cu:10-20'", "lines: 'k.cu:21-30'"), "no error");
  EXPECT_EQ(two("lines: 'k.cu:10-20'", "lines: 'other_k.cu:10-20'"), "no error") << "the end of a path, not of a name";
  EXPECT_EQ(two("opcodes: MUFU.EX2", "opcodes: MUFU"), "no error") << "the first prefix that fits counts";
  EXPECT_EQ(ErrorOf("phases: {a: {lines: ['k.cu:1-5', 'k.cu:4-9'], functions: [f, f]}}\n"), "no error")
      << "within one phase";
}

TEST(PhaseMapFileTest, AFileThatIsMissingOrTooLargeIsAnError) {
  EXPECT_THROW((void)LoadPhaseMap("/nowhere/map.yaml"), Error);
  EXPECT_THROW((void)LoadPhaseMap("/tmp"), Error) << "a folder";
  const std::string path = testing::TempDir() + "phase_map_file_test_large.yaml";
  std::ofstream(path) << "phases: {a: {functions: f}}\n#" << std::string(1 << 20, 'x');
  EXPECT_THROW((void)LoadPhaseMap(path), Error);
  std::ofstream(path) << "phases: {a: {functions: f}}\n";
  EXPECT_EQ(LoadPhaseMap(path).rules.size(), 1U);
}

Recording WithCode() {
  DeviceFunction function;
  function.name = "kernel";
  function.instructions = {
      {0, "", "HMMA.16816.F32", "", {{"void qk<64>(int)", "/src/k.cu", 10}, {"kernel()", "/src/k.cu", 90}}},
      {16, "", "EXIT", "", {{"kernel()", "/src/k.cu", 95}}}};
  Recording recording;
  recording.functions = {function};
  return recording;
}

TEST(PhaseMapFileTest, AMapWithoutAnyMatchInTheRecordingIsAnError) {
  const Recording recording = WithCode();
  try {
    (void)RequirePhases(recording, ParsePhaseMap("phases: {a: {functions: qkk}}", "map.yaml"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "no instruction in the recording belongs to a phase of the phase map map.yaml; did you mean qk?");
    EXPECT_EQ(error.hint(), "the functions in it are qk");
  }
  EXPECT_THROW((void)RequirePhases(Recording{}, ParsePhaseMap("phases: {a: {functions: qk}}", "map.yaml")), Error);
}

TEST(PhaseMapFileTest, PhasesWithoutAMatchAreReturned) {
  const PhaseMap map =
      ParsePhaseMap("phases: {a: {functions: qk}, b: {opcodes: EXIT}, c: {lines: 'k.cu:1-9'}}", "map.yaml");
  EXPECT_EQ(RequirePhases(WithCode(), map), std::vector<std::string>{"phase 'c'"});
}

TEST(PhaseMapFileTest, FunctionsAndOpcodesWithoutAMatchAreReturned) {
  const PhaseMap map =
      ParsePhaseMap("phases: {a: {functions: [qk, qkk], opcodes: [EXIT, EXTI, EX, EXITS]}}", "map.yaml");
  EXPECT_EQ(RequirePhases(WithCode(), map),
            (std::vector<std::string>{"function 'qkk' of phase 'a'", "opcode 'EXTI' of phase 'a'",
                                      "opcode 'EXITS' of phase 'a'"}));
  Recording without_opcodes = WithCode();
  for (Instruction& instruction : without_opcodes.functions[0].instructions) instruction.opcode.clear();
  EXPECT_EQ(RequirePhases(without_opcodes, map), std::vector<std::string>{"function 'qkk' of phase 'a'"});
}

}  // namespace
}  // namespace fa_profile::load::phase_map_file_test
