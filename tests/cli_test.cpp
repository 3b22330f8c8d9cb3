// The program as a user meets it, without a GPU: every command, and what bad input is answered with.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "run_program.h"
#include "test_files.h"

namespace fa_profile::cli::cli_test {
namespace {

class CliTest : public FolderTest {
 protected:
  // Runs the program with `arguments` as a shell splits them; no GPU is visible to it.
  Outcome Run(const std::string& arguments) const {
    return RunInShell(folder_, "CUDA_VISIBLE_DEVICES= " FA_PROFILE_PROGRAM " " + arguments);
  }

  void ExpectRefused(const std::string& arguments, const std::string& what, const std::string& cure) const {
    fa_profile::ExpectRefused(Run(arguments), arguments, what, cure);
  }

  // The lines of all help texts from `command` down; what continues in the next line is joined.
  std::vector<std::string> HelpLines(const std::string& command) const {
    std::istringstream text(Run(command + " --help").out);
    std::vector<std::string> lines;
    std::vector<std::string> below;
    bool commands = false;
    for (std::string line; std::getline(text, line);) {
      if (line == "Subcommands:") commands = true;
      if (line.empty()) commands = false;
      const bool begins = line.starts_with("  ") && !line.starts_with("   ");
      if (commands && begins) below.push_back(line.substr(2, line.find(' ', 2) - 2));
      if (begins || lines.empty()) {
        lines.push_back(command + ": " + line);
      } else {
        lines.back() += " " + line;
      }
    }
    for (const std::string& name : below) {
      const std::vector<std::string> more = HelpLines(command.empty() ? name : command + " " + name);
      lines.insert(lines.end(), more.begin(), more.end());
    }
    return lines;
  }

  const std::string bundled_ = FA_PROFILE_BUNDLED_RECORDING;
};

TEST_F(CliTest, WithoutAGpuTheFirstLineSaysThatTheBundledRecordingIsReported) {
  const Outcome outcome = Run("--ncu-set full");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string first = outcome.out.substr(0, outcome.out.find('\n'));
  EXPECT_TRUE(first.starts_with("REPLAY, not a measurement: no GPU here")) << first;
  EXPECT_NE(first.find("Bundled recording of an NVIDIA H"), std::string::npos) << first;
  for (const char* const kernel : {"minimal", "scalar", "tiled", "cublas", "serial_softmax", "wmma", "mma", "hopper"}) {
    EXPECT_NE(outcome.out.find(std::string("\n") + kernel), std::string::npos) << kernel;
  }
}

TEST_F(CliTest, AShareOfAPhaseAboveThePeakIsMissingAndTheReportNamesIt) {
  const std::string missing = Run("report --explain phase_contradictory " + bundled_).out;
  EXPECT_NE(missing.find("  - of tensor peak in pv of hopper@1,8,512,64: above 100 %"), std::string::npos) << missing;
  const std::string clocks = Run("report --details " + bundled_).out;
  EXPECT_NE(clocks.find("2.06 GHz (an estimate: the"), std::string::npos);
}

TEST_F(CliTest, DiffSaysThatTheCardsDiffer) {
  const std::string steps = (std::filesystem::path(bundled_).parent_path() / "hopper").string();
  const std::string diff = "diff " + steps + "/1-plain.fap " + steps + "/8-sums.fap --format ";
  for (const char* const format : {"text", "json", "html"}) {
    EXPECT_NE(Run(diff + format).out.find("two cards: GPU-cae14e80-"), std::string::npos) << format;
  }
  const std::string text = Run(diff + "text").out;
  EXPECT_LT(text.find("note: two cards: "), text.find("hopper_64")) << "in the head";
}

TEST_F(CliTest, HelpHasTheDefaultOfEachNumberAndOneWordForPatterns) {
  int numbers = 0;
  int patterns = 0;
  for (const std::string& line : HelpLines("")) {
    if (std::regex_search(line, std::regex(":   -\\S+ (N|NUMBER|DURATION) "))) {
      ++numbers;
      EXPECT_NE(line.find("default"), std::string::npos) << line;
    }
    if (line.find("regular expression") != std::string::npos) {
      ++patterns;
      EXPECT_NE(line.find(" REGEX "), std::string::npos) << line;
    }
  }
  EXPECT_GT(numbers, 40);
  EXPECT_GT(patterns, 8);
}

TEST_F(CliTest, TheFirstReportHasTheAnswerAndAtMost120Lines) {
  const std::string replay = Run("--ncu-set full").out;
  EXPECT_LE(std::ranges::count(replay, '\n'), 120);
  EXPECT_NE(replay.find("\nserial_softmax\n  serial-softmax at 1,8,512,64 and 2 other shapes: softmax takes"),
            std::string::npos);
  EXPECT_LT(replay.find("batch,heads,seqlen,head_dim = 1,8,512,64"), replay.find("what to act on"));
  EXPECT_LT(replay.find("what to act on"), replay.find("software  driver"));
  EXPECT_NE(replay.find("\nMore: --details"), std::string::npos);
  const std::string file = Run("report " + bundled_).out;
  EXPECT_NE(replay.find(file), std::string::npos) << "one text";
  EXPECT_EQ(Run("report --summary " + bundled_).out, file);
  EXPECT_EQ(Run("report --shape 1,8,512,64 " + bundled_ + " --summary").exit_code, 0) << "--shape takes one word";
}

TEST_F(CliTest, DetailsAndOneKernelAtOneShapeAreShownWhole) {
  const std::string all = Run("report --details " + bundled_).out;
  EXPECT_GT(std::ranges::count(all, '\n'), 2000);
  EXPECT_EQ(all.find("More: --details"), std::string::npos);
  const std::string one = "report " + bundled_ + " --kernel serial_softmax --shape 1,8,512,64";
  EXPECT_NE(Run(one).out.find("  phase          time%"), std::string::npos);
  EXPECT_EQ(Run(one + " --details").out, Run(one).out);
  EXPECT_EQ(Run(one + " --summary").out.find("  phase          time%"), std::string::npos);
  EXPECT_EQ(Run("report --kernel serial_softmax " + bundled_).out.find("  phase          time%"), std::string::npos);
  EXPECT_NE(Run("--details --kernel serial_softmax").out.find("  phase          time%"), std::string::npos);
  ExpectRefused(one + " --details --summary", "--details excludes --summary", "");
  ExpectRefused("--details --format json", "--details has no effect with --format json", "leave");
  for (const char* const format : {"json", "jsonl", "csv", "html", "perfetto"}) {
    const std::string what = std::string("--details has no effect with --format ") + format;
    ExpectRefused(one + " --details --format " + format, what, "leave");
  }
}

TEST_F(CliTest, NoLineOfTheReportIsWiderThan100Columns) {
  const Outcome outcome = Run("report --details " + bundled_);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t start = 0;
  for (std::size_t end = outcome.out.find('\n'); end != std::string::npos; end = outcome.out.find('\n', start)) {
    std::size_t columns = 0;
    for (const char c : outcome.out.substr(start, end - start)) columns += (c & 0xC0) != 0x80 ? 1 : 0;  // UTF-8
    EXPECT_LE(columns, 100U) << outcome.out.substr(start, end - start);
    start = end + 1;
  }
}

TEST_F(CliTest, ReplayAsJsonLeavesStdoutToTheJson) {
  const Outcome outcome = Run("--format json --kernel '^mma$' --shape 1,8,512,64");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(report.at("entries").size(), 1U);
  EXPECT_EQ(report["entries"][0].at("kernel"), "mma");
  EXPECT_TRUE(outcome.err.starts_with("REPLAY, not a measurement")) << outcome.err;
}

TEST_F(CliTest, CsvHasOneHeaderAndOneRowPerMetric) {
  const Outcome outcome = Run("report --format csv --kernel '^mma$' " + bundled_);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(
      outcome.out.starts_with("kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters,metric,value,unit"));
  EXPECT_NE(outcome.out.find("mma,,1,8,512,64,"), std::string::npos);
}

TEST_F(CliTest, ARecordingDoesNotDifferFromItself) {
  const Outcome outcome = Run("diff --format json " + bundled_ + " " + bundled_);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json diff = nlohmann::json::parse(outcome.out);
  for (const auto& change : diff.at("changes")) EXPECT_EQ(change.at("judgement"), "same") << change.dump();
  EXPECT_TRUE(diff.at("only_before").empty());
}

TEST_F(CliTest, DataLossIsReportedForTheSelectedKernelsAndShapesOnly) {
  const auto missing = [&](const std::string& arguments) {
    const std::string out = Run("report --details --format text " + arguments + " " + bundled_).out;
    const std::size_t rule = out.find("what is missing");
    return rule == std::string::npos ? std::string() : out.substr(rule);
  };
  const std::string all = missing("");
  EXPECT_NE(all.find("wmma@4,16,1024,64"), std::string::npos);
  EXPECT_NE(all.find("mma@1,8,512,64"), std::string::npos);
  const std::string mma = missing("--kernel '^mma$'");
  EXPECT_EQ(mma.find("wmma@"), std::string::npos) << mma;
  EXPECT_EQ(mma.find("cublas@"), std::string::npos) << mma;
  EXPECT_NE(mma.find("mma@1,8,512,64"), std::string::npos) << mma;
  EXPECT_NE(mma.find("metric_unavailable"), std::string::npos) << "missing from all";
  EXPECT_EQ(missing("--shape 2,16,2048,128").find("@1,8,512,64"), std::string::npos);
  EXPECT_NE(missing("--shape 1,8,512,64").find("cublas@1,8,512,64/softmax"), std::string::npos);
}

TEST_F(CliTest, ListPrintsKernelsSetsMetricsAndPhases) {
  EXPECT_NE(Run("list sets").out.find("phases"), std::string::npos);
  EXPECT_NE(Run("list metrics").out.find("tensor_core_utilization_ratio"), std::string::npos);
  EXPECT_NE(Run("list inputs").out.find("deterministic"), std::string::npos);
  EXPECT_NE(Run("list phases").out.find("softmax()"), std::string::npos);
  EXPECT_NE(Run("list metrics").out.find("phase_threads_per_instruction"), std::string::npos);
  const std::string findings = Run("list findings").out;
  EXPECT_NE(findings.find("serial-softmax"), std::string::npos);
  EXPECT_NE(findings.find("calls-printf"), std::string::npos) << "lint's are there too";
  EXPECT_EQ(Run("--version").exit_code, 0);
}

TEST_F(CliTest, HelpGroupsTheOptionsAndNamesWhatTheyTake) {
  const std::string help = Run("--help").out;
  for (const char* const text : {"\nWhat is measured:\n", "\nHow it is measured:\n", "\nFor a program (-- PROGRAM):\n",
                                 "\nOutput:\n", "  --kernel REGEX ", "  --cache warm|flush ", "  --warmup N ",
                                 "(0 to 1000; default 5)\n", "  --delay SECONDS ", "(0 to 1000000)\n"}) {
    EXPECT_NE(help.find(text), std::string::npos) << text;
  }
  for (const char* const text : {"INT", "TEXT", "FLOAT", "e+"}) EXPECT_EQ(help.find(text), std::string::npos) << text;
  for (const char* const command : {"gate", "verify", "list"}) {
    EXPECT_EQ(Run(std::string(command) + " --help").out.find(" TEXT"), std::string::npos) << command;
  }
  EXPECT_EQ(Run("report --help").out.find("What is measured"), std::string::npos) << "a command has its own";
}

TEST_F(CliTest, AWrongNumberIsRefusedWithWhatIsAccepted) {
  ExpectRefused("--top abc -- true", "--top must be a whole number from 1 to 10000, not 'abc'", "Launch classes");
  ExpectRefused("--top 0 -- true", "--top must be a whole number from 1 to 10000, not '0'", "Launch classes");
  ExpectRefused("--warmup 1e3", "--warmup must be a whole number from 0 to 1000, not '1e3'", "Calls before timing");
  ExpectRefused("--delay nan -- true", "--delay must be a number from 0 to 1000000, not 'nan'", "Seconds");
  ExpectRefused("gate --timeout -NaN --pair a b", "--timeout must be a number from 1 to 86400, not '-NaN'",
                "Time limit");
  ExpectRefused("gate history show h.db --level nan", "--level must be a number from 0.001 to 0.5, not 'nan'",
                "--level");
  for (const char* const seed : {"-1", "99999999999999999999"}) {
    ExpectRefused(std::string("gate history show h.db --seed ") + seed,
                  "--seed must be a whole number from 0 to 9007199254740992", "--seed");
  }
  ExpectRefused("--delay soon -- true", "--delay must be a number from 0 to 1000000, not 'soon'", "Seconds");
  ExpectRefused("gate --pairs 100", "--pairs must be a whole number from 5 to 24, not '100'", "Timing pairs");
}

TEST_F(CliTest, AFileOfTheGateNeedsItsOption) {
  ExpectRefused("gate --candidate " + bundled_ + " " + bundled_, "gate takes no file without an option",
                "--candidate A.fap --candidate B.fap");
}

TEST_F(CliTest, ExplainPrintsTheStoryInsteadOfTheReport) {
  for (const std::string& arguments :
       {"report " + bundled_ + " --explain small-grid", std::string("--explain small-grid")}) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("small-grid: The grid does not fill the GPU"), std::string::npos);
    EXPECT_NE(outcome.out.find("In this recording:"), std::string::npos);
    EXPECT_NE(outcome.out.find("wmma@1,8,512,64: 64 blocks"), std::string::npos);
    EXPECT_EQ(outcome.out.find("what is missing"), std::string::npos);
  }
}

TEST_F(CliTest, ABadPhaseMapIsReportedBeforeAnyOtherWork) {
  const std::string path = testing::TempDir() + "cli_test_map.yaml";
  std::ofstream(path) << "phases:\n  a: {function: f}\n";
  for (const std::string& command : {"report " + bundled_ + " ", std::string()}) {
    ExpectRefused(command + "--phase-map " + path, path + ":2:7: unknown key 'function'; did you mean functions?",
                  "opcodes");
    ExpectRefused(command + "--phase-map /nowhere.yaml", "/nowhere.yaml cannot be read", "check the path");
  }
}

TEST_F(CliTest, PhaseFromForcesWherePhasesComeFrom) {
  const std::string mma = "report " + bundled_ + " --kernel '^mma$' --shape 4,16,1024,64";
  EXPECT_NE(Run(mma).out.find("phases by inline functions"), std::string::npos);
  EXPECT_NE(Run(mma + " --phase-from code").out.find("QK:PV 1.00, counted"), std::string::npos);
  EXPECT_NE(Run(mma + " --phase-from opcodes").out.find("phases by opcode classes"), std::string::npos);
  EXPECT_NE(Run("--phase-from functions " + mma).out.find("phases by inline functions"), std::string::npos);
  ExpectRefused(mma + " --phase-from map", "--phase-from map needs a phase map", "--phase-map FILE.yaml");
  ExpectRefused(mma + " --phase-from code --phase-map x.yaml", "--phase-map has no effect with --phase-from code",
                "leave one of them out");
  ExpectRefused(mma + " --phase-from cod", "--phase-from must be map, functions, code or opcodes, not 'cod'",
                "--phase-from:");
  ExpectRefused("report --phase-from code " + bundled_ + " " + bundled_, "--phase-from has no effect", "leave it out");
}

TEST_F(CliTest, HelpPrintsWhatTheOptionPrints) {
  for (const char* const command : {"", "report", "gate", "gate selftest", "help"}) {
    const Outcome help = Run(std::string("help ") + command);
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_EQ(help.out, Run(std::string(command) + " --help").out) << command;
  }
  EXPECT_EQ(Run("help gate-selftest").out, Run("gate selftest --help").out);
}

TEST_F(CliTest, UnknownNamesAreAnsweredWithNearMatches) {
  ExpectRefused("--explain serial-sofmax", "did you mean serial-softmax", "the findings are");
  ExpectRefused("report --explain x " + bundled_, "there is no finding 'x'", "the findings are");
  const std::string loss = Run("report --explain metric_unavailable " + bundled_).out;
  EXPECT_TRUE(loss.starts_with("metric_unavailable: not a finding, ")) << loss;
  EXPECT_NE(loss.find("\n  - nvlrx__bytes.sum.per_second: CUPTI cannot collect it"), std::string::npos) << loss;
  ExpectRefused("--ncu-set ful", "'ful'", "full");
  ExpectRefused("--kernel mna", "no kernel matches 'mna'; did you mean mma", "the kernels are");
  ExpectRefused("report --kernel '(' " + bundled_, "not a regular expression: missing )", "--kernel 'wmma|mma'");
  ExpectRefused("list nonsense", "WHAT must be kernels, sets,", "findings");
  ExpectRefused("list metric", "did you mean metrics?", "findings");
  ExpectRefused("--replay usr", "--replay must be user, kernel, spread or none, not 'usr'",
                "CUPTI replays each launch");
  ExpectRefused("reprot a.fap", "fa-profile has no command 'reprot'; did you mean report?", "the commands are report,");
  ExpectRefused("python3 train.py", "fa-profile has no command 'python3'",
                "to measure a program: fa-profile -- python3");
  ExpectRefused("analyze --help", "fa-profile has no command 'analyze'", "the commands are");
  ExpectRefused("demo", "demo is a command of the script ./fa-profile alone", "docs/demo.md");
  ExpectRefused("report -5", "report has no option -5", "--help");
  ExpectRefused("help reprot", "fa-profile has no command 'reprot'; did you mean report?", "fa-profile --help");
  ExpectRefused("help gate selftst", "fa-profile has no command 'gate selftst'; did you mean gate selftest?",
                "fa-profile --help");
  ExpectRefused("report -- a.fap", "a program after -- has no effect on 'report'", "without --");
  ExpectRefused("gate selftst", "gate has no command 'selftst'; did you mean selftest?", "the commands are");
  ExpectRefused("baseline promot a.fap", "baseline has no command 'promot'; did you mean promote?", "list, show");
  ExpectRefused("report --formt json a.fap", "report has no option --formt; did you mean --format or --force?",
                "report --help");
  ExpectRefused("--kernl=mma", "fa-profile has no option --kernl; did you mean --kernel", "fa-profile --help");
  ExpectRefused("list --format json", "list has no option --format", "list --help");
}

TEST_F(CliTest, AFileWithoutACommandPointsToReport) {
  ExpectRefused(bundled_, "takes no file without a command", "fa-profile report " + bundled_);
  ExpectRefused("missing.fap", "takes no file without a command", "fa-profile report missing.fap");
}

TEST_F(CliTest, AMissingArgumentIsNamedWithItsMeaningAndItsCommand) {
  ExpectRefused("diff a.fap", "diff needs AFTER: Recording after the change", "fa-profile diff BEFORE AFTER");
  ExpectRefused("push a.fap", "push needs --gateway: Address of the Pushgateway", "push --help");
  ExpectRefused("baseline", "baseline needs a command", "promote, list, show, verify");
  ExpectRefused("--kernel", "--kernel needs a value", "matches this regular expression");
  ExpectRefused("diff a.fap b.fap c.fap", "diff takes no further argument: 'c.fap'", "fa-profile diff BEFORE AFTER");
}

TEST_F(CliTest, EmptyAndRepeatedAndUnreadableValuesSayWhatToDo) {
  ExpectRefused("report '' ", "RECORDING is empty", "give it a value");
  ExpectRefused("--kernel '' ", "--kernel is empty", "or leave it out");
  ExpectRefused("report --kernel '' " + bundled_, "--kernel is empty", "or leave it out");
  EXPECT_EQ(Run("report ''").err.find("leave it out"), std::string::npos);
  ExpectRefused("--kernel a --kernel b", "--kernel is given 2 times", "give it once");
  for (const char* const command : {"doctor", "verify", "selftest"}) {
    ExpectRefused(std::string(command) + " --device abc", "--device must be a number, not 'abc'", "CUDA device number");
  }
  const std::string not_checked = "The GPU and this machine are not checked: fa-profile doctor, without a file, does.";
  EXPECT_NE(Run("doctor " + bundled_).out.find(not_checked), std::string::npos);
  EXPECT_EQ(Run("doctor").out.find(not_checked), std::string::npos);
  ExpectRefused("doctor --device 0 --device 1", "--device is given 2 times", "give it once");
  ExpectRefused("verify --draws abc", "--draws", "Random inputs per shape");
  ExpectRefused("verify --seed -1", "--seed", "Seed of the first draw");
  ExpectRefused("gate --pair a", "--pair needs 2 values", "in turns");
  ExpectRefused("gate --static --strict old.so new.so", "--static needs a value before --strict", "--static: Judge");
  ExpectRefused("gate --strict --static --arch 90 old.so new.so", "--static needs a value before --arch", "two builds");
  ExpectRefused("report a.fap -o --force", "--output needs a value before --force", "Write to this file");
  ExpectRefused("baseline list --format jsn", "--format must be text or json, not 'jsn'", "text or json");
  ExpectRefused("--device x", "--device must be a number, not 'x'", "CUDA device number");
  ExpectRefused("--device ''", "--device", "hint:");
  ExpectRefused("gate --static a b c", "--static takes at most 2 values", "machine code of two builds");
}

TEST_F(CliTest, SeveralRecordingsAreThoseOfAProgram) {
  ExpectRefused("report " + bundled_ + " " FA_PROFILE_PYTORCH_RECORDING, "is not a recording of a program", "diff");
  ExpectRefused("report " FA_PROFILE_PYTORCH_RECORDING " " FA_PROFILE_PYTORCH_RECORDING, "is given twice", "once");
  ExpectRefused("report --summary " + bundled_ + " " + bundled_, "--summary has no effect", "leave it out");
  ExpectRefused("report --format csv " + bundled_ + " " + bundled_, "no format 'csv'", "json");
  ExpectRefused("report --phase-map x.yaml " + bundled_ + " " + bundled_, "--phase-map has no effect", "leave it out");
}

TEST_F(CliTest, WatchRefusesWhatItCannotMeasureAtOnce) {
  std::ofstream(folder_ / "mine.so") << "a library";
  const std::string library = (folder_ / "mine.so").string();
  ExpectRefused("watch", "watch needs FILE", "fa-profile watch FILE");
  ExpectRefused("watch none.so", "none.so cannot be read: No such file", "check the path");
  ExpectRefused("watch " + bundled_, "is not a kernel library: its name must end in .so", "docs/kernels.md");
  ExpectRefused("watch " + library + " --shape 1,8", "is not four whole numbers", "BATCH,HEADS,SEQLEN,HEAD_DIM");
  ExpectRefused("watch --shape n=5 " + library + " --ncu-set no", "metric set", "full");
  ExpectRefused("watch " + library + " --kernel '('", "regular expression", "");
  ExpectRefused("watch " + library + " --phase-from map", "needs a phase map", "--phase-map");
  ExpectRefused("--summary watch " + library, "--summary has no effect", "watch --help");
  ExpectRefused("watch " + library, "watch needs a GPU", "");
}

TEST_F(CliTest, RedactSaysWhatItNeeds) {
  const std::string to = (folder_ / "copy.fap").string();
  ExpectRefused("redact " + bundled_ + " -o " + to, "needs at least one of --code", "redact --help");
  ExpectRefused("redact " + bundled_ + " --code", "--output", "");
  ExpectRefused("redact " + bundled_ + " -o " + to + " --raw --kernel mma",
                "--kernel applies only together with --code", "--code");
  ExpectRefused("redact " + bundled_ + " -o " + to + " --code --kernel '('", "regular expression", "");
  EXPECT_FALSE(std::filesystem::exists(to));
  EXPECT_EQ(Run("redact " + bundled_ + " -o " + to + " --code --kernel mma").exit_code, 0);
  EXPECT_EQ(Run("report --kernel '^mma$' " + to).exit_code, 0);
  ExpectRefused("redact " + bundled_ + " -o " + to + " --raw", "exists", "--force");
}

TEST_F(CliTest, AnExplanationHasNoFormatForPrograms) {
  for (const std::string& arguments : {std::string("--explain small-grid"), "report --explain small-grid " + bundled_,
                                       std::string("lint --explain spills"), std::string("gate --explain")}) {
    ExpectRefused(arguments + " --format json", "--explain has no format 'json'", "leave out");
  }
  EXPECT_EQ(Run("lint --explain spills --format text").exit_code, 0);
}

TEST_F(CliTest, ColoursAreForTerminalsThatHaveThem) {
  const auto in_terminal = [&](const std::string& environment) {
    return RunInShell(folder_, "env -u NO_COLOR " + environment + " script -qec '" FA_PROFILE_PROGRAM " report " +
                                   bundled_ + " --kernel ^mma$' /dev/null")
        .out;
  };
  EXPECT_NE(in_terminal("TERM=xterm").find('\x1b'), std::string::npos);
  EXPECT_NE(in_terminal("TERM=xterm NO_COLOR=").find('\x1b'), std::string::npos);
  EXPECT_EQ(in_terminal("TERM=dumb").find('\x1b'), std::string::npos);
  EXPECT_EQ(in_terminal("TERM=xterm NO_COLOR=1").find('\x1b'), std::string::npos);
  EXPECT_EQ(Run("report " + bundled_).out.find('\x1b'), std::string::npos);
}

TEST_F(CliTest, BarsAreForTerminalsThatShowThemOrWhereAskedFor) {
  const auto in_terminal = [&](const std::string& environment, const std::string& options = "") {
    return RunInShell(folder_, "env -u LC_ALL -u LC_CTYPE " + environment +
                                   " script -qec '" FA_PROFILE_PROGRAM " report " + bundled_ +
                                   " --kernel ^mma$ --shape 1,8,512,64 " + options + "' /dev/null")
        .out;
  };
  EXPECT_TRUE(Contains(in_terminal("TERM=xterm LANG=C.UTF-8"), "█"));
  EXPECT_TRUE(Contains(in_terminal("TERM=xterm LANG=C.UTF-8 NO_COLOR=1"), "█"));  // not a colour
  EXPECT_FALSE(Contains(in_terminal("TERM=xterm LANG=C.UTF-8", "--bars never"), "█"));
  EXPECT_FALSE(Contains(in_terminal("TERM=dumb LANG=C.UTF-8"), "█"));
  EXPECT_FALSE(Contains(in_terminal("TERM=xterm LANG=C.UTF-8 LC_ALL=C"), "█"));
  const auto piped = [&](const std::string& environment, const std::string& options) {
    return RunInShell(folder_, environment + " " FA_PROFILE_PROGRAM " report " + bundled_ +
                                   " --kernel ^mma$ --shape 1,8,512,64" + options)
        .out;
  };
  EXPECT_FALSE(Contains(piped("LC_ALL=C.UTF-8", ""), "█"));
  EXPECT_TRUE(Contains(piped("LC_ALL=C.UTF-8", " --bars always"), "█"));
  EXPECT_TRUE(Contains(piped("LC_ALL=C", " --bars always"), "##########"));
  ExpectRefused("report --bars sometimes " + bundled_, "--bars must be auto, always or never, not 'sometimes'", "");
  ExpectRefused("report --bars always --format json " + bundled_, "--bars has no effect with --format json",
                "leave one of them out");
}

TEST_F(CliTest, EachCommandTakesTheFormatsItHasAndListsThem) {
  ExpectRefused("report --format jsno " + bundled_, "not 'jsno'; did you mean json",
                "text, json, jsonl, csv, html, perfetto, folded or speedscope");
  ExpectRefused("diff --format csv " + bundled_ + " " + bundled_,
                "--format must be text, json, jsonl or html, not 'csv'", "text, json, jsonl or html");
  ExpectRefused("selftest --format csv", "--format must be text or json, not 'csv'", "text or json");
  ExpectRefused("gate --format csv", "--format must be text, json or jsonl, not 'csv'", "text, json or jsonl");
  ExpectRefused("--format xml", "--format must be text, json, jsonl, csv or html, not 'xml'", "html");
  EXPECT_NE(Run("report --help").out.find("perfetto, folded or"), std::string::npos);
  EXPECT_NE(Run("lint --help").out.find("text, json, jsonl or csv"), std::string::npos);
  EXPECT_NE(Run("diff --help").out.find("text, json, jsonl or html"), std::string::npos);
  EXPECT_EQ(Run("diff --format JSON " + bundled_ + " " + bundled_).exit_code, 0);
}

TEST_F(CliTest, AReportIsWrittenToAFileWholeOrNotAtAll) {
  const std::string small = FA_PROFILE_PYTORCH_RECORDING;
  const std::string page = folder_ / "x.html";
  EXPECT_EQ(Run("report --format html -o x.html " + small).out, "");
  const std::string before = ReadFile(page);
  EXPECT_TRUE(before.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(Run("report --format html " + small).out, before);
  EXPECT_EQ(Run("report -o x.txt " + small).out, "");
  EXPECT_EQ(ReadFile(folder_ / "x.txt"), Run("report " + small).out);
  EXPECT_LT(Run("report --summary --format html " + small).out.size(), before.size());  // without code
  ExpectRefused("report --format html -o x.html " + small, "x.html already exists", "--force");
  ExpectRefused("report --format html -o x.html --force --kernel nothing " + small, "no kernel matches",
                "the kernels are");
  EXPECT_EQ(ReadFile(page), before);
  EXPECT_EQ(Run("report --format json -o x.html --force " + small).exit_code, 0);
  EXPECT_TRUE(ReadFile(page).starts_with("{"));
  ExpectRefused("report --force " + small, "--force applies only together with --output", "leave it out");
  ExpectRefused("report --format html -o missing/x.html " + small, "folder missing not found", "mkdir -p missing");
  ExpectRefused("report --format html --explain tensor-idle " + small, "--explain has no format 'html'",
                "leave out --format");
  ExpectRefused("report --format html --source " + small, "--source has no format 'html'", "leave the option out");
  std::filesystem::copy_file(small, folder_ / "a.fap");
  ExpectRefused("report -o ./a.fap a.fap", "--output ./a.fap is an input of this command", "another file");
  ExpectRefused("diff -o ./a.fap " + small + " a.fap", "is an input of this command", "another file");
}

TEST_F(CliTest, AReportReplacesNoFileByAccident) {
  const std::string file = (folder_ / "x.pftrace").string();
  const std::string report = std::string("report ") + FA_PROFILE_PYTORCH_RECORDING + " ";
  const Outcome outcome = Run(report + "--format perfetto -o " + file);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(ReadFile(file), Run(report + "--format perfetto").out);
  ExpectRefused(report + "-o " + file, "already exists", "--force");
  std::filesystem::create_symlink("nowhere", folder_ / "dangling");
  ExpectRefused(report + "-o dangling", "dangling already exists", "--force");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "dangling"));
  EXPECT_EQ(Run(report + "-o " + file + " --force").exit_code, 0);
  EXPECT_EQ(ReadFile(file), Run(report).out);
  EXPECT_EQ(Run(report + "--source -o " + file + " --force").exit_code, 0);
  EXPECT_EQ(ReadFile(file), Run(report + "--source").out);
  ExpectRefused(report + "--force", "--force applies only together with --output", "-o");
}

TEST_F(CliTest, TracesTakeNoOptionOfAReport) {
  ExpectRefused("report --format perfetto --summary " + bundled_, "--summary has no effect on time lines and stacks",
                "leave it out");
  ExpectRefused("report --format folded --explain serial-softmax " + bundled_, "--explain has no format", "leave out");
  ExpectRefused("report --format folded --source " + bundled_, "--source has no format 'folded'", "csv; a page has");
  ExpectRefused("report --format speedscope " + bundled_ + " " + bundled_, "no format 'speedscope'", "json");
}

TEST_F(CliTest, ATerminalIsNotGivenWhatItCannotShow) {
  for (const auto& [command, format] :
       std::map<std::string, std::string>{{"report --format html " + bundled_, "html"},
                                          {"report --format perfetto " + bundled_, "perfetto"},
                                          {"--format html", "html"}}) {
    const Outcome outcome =
        RunInShell(folder_, "CUDA_VISIBLE_DEVICES= script -qec '" FA_PROFILE_PROGRAM " " + command + "' /dev/null");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_TRUE(Contains(outcome.out, "a terminal cannot show the format '" + format + "'"));
    EXPECT_TRUE(Contains(outcome.out, "-o report." + (format == "perfetto" ? "pftrace" : format)));
    EXPECT_EQ(outcome.out.find("<html"), std::string::npos);
  }
}

TEST_F(CliTest, PatternsAreFoundInLinearTimeOrRefused) {
  // A matcher that backtracks goes through more than 16^14 ways to read "serial_softmax", and never ends.
  ExpectRefused("--kernel '^((((.|.|.|.|.|.|.|.|.|.|.|.|.|.|.|.)*)*)*)*!$'", "no kernel matches", "the kernels are");
  ExpectRefused("--kernel '" + std::string(100'000, '(') + "'", "missing )", "RE2");
  ExpectRefused("--kernel '" + std::string(100'000, 'a') + "'", "no kernel matches 'aaaa", "the kernels are");
  ExpectRefused("--kernel '((a{100}){100}){100}'", "not a regular expression", "RE2");
  ExpectRefused("--kernel '^(?!mma)'", "(?!", "no lookaround");
  ExpectRefused("--kernel '(m)\\1'", "\\1", "no back-references");
}

TEST_F(CliTest, BadInputIsReportedBeforeTheMissingGpu) {
  ExpectRefused("-o x.fap --kernel mna", "did you mean mma", "the kernels are");
  ExpectRefused("-o x.fap --ncu-set ful", "did you mean full", "the sets are");
  ExpectRefused("-o x.fap --shape 0,8,512,64", "has a value below 1", "BATCH,HEADS,SEQLEN,HEAD_DIM");
  ExpectRefused("--metrics sm__cycles_active.avg --ncu-set ful", "did you mean full", "the sets are");
  ExpectRefused("--metrics foo", "'foo' is not a metric's name", "sm__cycles_active.avg");
  ExpectRefused("--metrics sm_cycles_active.avg", "did you mean sm__cycles_active", "list counters");
  ExpectRefused("--metrics sm__cycles_active", "has no rollup", "sm__cycles_active.avg");
  ExpectRefused("--metrics sm__cycles_active.", "has no rollup", "sm__cycles_active.avg");
  ExpectRefused("--metrics ''", "--metrics", "hint:");
  ExpectRefused("--metrics foo -- /bin/true", "'foo' is not a metric's name", "sm__cycles_active.avg");
  ExpectRefused("--kernel '(' -- /bin/true", "not a regular expression", "RE2");
}

TEST_F(CliTest, AListWithoutAMatchNamesWhatIsNear) {
  ExpectRefused("list metrics --match regsters", "no name contains 'regsters'; did you mean registers_per_thread",
                "fa-profile list metrics has them all");
  ExpectRefused("list findings --match bank-conflict5", "did you mean bank-conflicts?", "list findings");
  ExpectRefused("list sets --match nothing-like-it", "no name contains 'nothing-like-it'", "list sets");
  ExpectRefused("list kernels --match minimum", "did you mean minimal?", "list kernels");
  for (const char* const what : {"inputs", "phases", "exported"}) {
    ExpectRefused(std::string("list ") + what + " --match zzzz", "no name contains 'zzzz'", "has them all");
  }
  EXPECT_EQ(Run("list metrics --match REGISTERS").exit_code, 0);
}

TEST_F(CliTest, KernelsAreListedWithoutCudaToo) {
  const Outcome outcome = Run("list kernels");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* const kernel : {"minimal", "serial_softmax", "hopper"}) {
    EXPECT_NE(outcome.out.find(kernel), std::string::npos) << kernel;
  }
}

TEST_F(CliTest, SetsAreListedForChipsThatExist) {
  for (const char* const chip : {"GA100", "AD104", "GH100", "GB100"}) {
    EXPECT_EQ(Run(std::string("list sets --chip ") + chip).exit_code, 0) << chip;
  }
}

// These ask CUPTI, whose libraries a program under AddressSanitizer cannot open (sanitized_dlopen.cpp says why).
#if !defined(__SANITIZE_ADDRESS__) || !defined(FA_PROFILE_HAS_CUPTI)
TEST_F(CliTest, ChipsAndCountersThatDoNotExistAreNamed) {
  ExpectRefused("list sets --chip GH10", "there is no chip 'GH10'; did you mean GH100", "the known chips are");
  EXPECT_EQ(Run("list sets --chip gh100").exit_code, 0);
  ExpectRefused("list metrics --chip GH100", "--chip has no effect on list metrics", "counters and sets");
  ExpectRefused("list sets --chip nonsense", "there is no chip 'nonsense'", "GH100");
#ifdef FA_PROFILE_HAS_CUPTI
  EXPECT_EQ(Run("list sets --chip AD102").exit_code, 0) << "CUPTI knows it, and the sets lend it AD104's names";
  ExpectRefused("--metrics sm__cycles_activ.avg", "did you mean TPC.TriageCompute.sm__cycles_active, sm__cycles_active",
                "list counters");
#endif
  ExpectRefused("--metrics sm__cycles_active.avg", "--metrics needs a GPU", "without a GPU use only");
}
#endif

TEST_F(CliTest, ImpossibleShapesAreRefused) {
  ExpectRefused("--shape 1,8,99999999999,64", "has a number that is too large", "BATCH,HEADS");
  ExpectRefused("--shape 1,8,512", "is not four whole numbers", "BATCH,HEADS,SEQLEN,HEAD_DIM");
  ExpectRefused("--shape 0,8,512,64", "has a value below 1", "BATCH,HEADS,SEQLEN,HEAD_DIM");
  ExpectRefused("--shape=-1,8,512,64", "has a value below 1", "BATCH,HEADS,SEQLEN,HEAD_DIM");
  ExpectRefused("--shape 1,8,512,64x", "after the fourth number", "BATCH,HEADS,SEQLEN,HEAD_DIM");
  ExpectRefused("--shape 99999,99999,99999,99999", "more than 2^31 elements", "BATCH,HEADS,SEQLEN,HEAD_DIM");
  ExpectRefused("--shape m=1,n", "has an item without '='", "NAME=VALUE");
  ExpectRefused("--shape m=x", "value of 'm'", "NAME=VALUE");
  ExpectRefused("--causal --shape m=1", "cannot be --causal", "NAME=VALUE");
  ExpectRefused("--shape m=1", "has no shape m=1", "it has 1,8,512,64");
  ExpectRefused("--shape 1,8,513,64", "has no shape 1,8,513,64", "it has 1,8,512,64");
}

TEST_F(CliTest, CommandsThatNeedAGpuAreRefusedWithoutOne) {
  ExpectRefused("verify", "needs", "hint:");
  ExpectRefused("selftest", "selftest needs", "hint:");
  ExpectRefused("--device 1", "needs a GPU", "without a GPU use only");
  ExpectRefused("-o x.fap", "--output needs a GPU, and none can be used here (", "without a GPU use only");
  ExpectRefused("-o x.fap", "it names the recording to write, and nothing is measured; report RECORDING -o", "hint:");
  ExpectRefused("--timeline", "--timeline needs a GPU", "without a GPU use only");
  ExpectRefused("--phases on", "--phases needs a GPU", "without a GPU use only");
  ExpectRefused("--force", "--force needs a GPU", "use only --ncu-set, --kernel, --shape, --causal, --phase-map");
  ExpectRefused("-- /bin/true", "needs", "hint:");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.fap"));
}

TEST_F(CliTest, ABadRecordingIsOneError) {
  std::ofstream(folder_ / "foreign.fap") << "this is not a recording, but it is long enough to be looked into";
  std::ofstream(folder_ / "empty.fap");
  const std::string whole = ReadFile(bundled_);
  std::ofstream(folder_ / "cut.fap", std::ios::binary) << whole.substr(0, whole.size() / 2);
  ExpectRefused("report missing.fap", "missing.fap", "hint:");
  ExpectRefused("report foreign.fap", "foreign.fap", "hint:");
  ExpectRefused("report empty.fap", "empty.fap", "hint:");
  ExpectRefused("report cut.fap", "cut.fap", "hint:");
  ExpectRefused("report .", ".", "hint:");
}

TEST_F(CliTest, CommandLinesThatMakeNoSenseAreRefused) {
  EXPECT_EQ(Run("--no-such-option").exit_code, 2);
  EXPECT_EQ(Run("report").exit_code, 2);
  EXPECT_EQ(Run("--replay sideways").exit_code, 2);
  EXPECT_EQ(Run("--draws 0").exit_code, 2);
  ExpectRefused("--", "the program after -- is missing", "PROGRAM ARGUMENTS");
  ExpectRefused("--tensor x=y -- /bin/true", "--tensor has no effect on a program", "--delay and --duration");
  ExpectRefused("--timeline -- /bin/true", "--timeline has no effect on a program", "--delay and --duration");
  ExpectRefused("--shape 1,8,512,64 -- /bin/true", "--shape has no effect on a program", "--delay and --duration");
  ExpectRefused("--replay user -- /bin/true", "--replay user has no effect on a program: fa-profile cannot run",
                "use kernel, spread or none");
  ExpectRefused("--replay spread", "--replay spread applies only to a program", "after --, or use user or kernel");
  ExpectRefused("--top 3", "--top applies only to a program", "after --");
  EXPECT_EQ(Run("--top 0 -- /bin/true").exit_code, 2);
  EXPECT_EQ(Run("--duration 0 -- /bin/true").exit_code, 2);
  ExpectRefused("--nvtx step", "--nvtx applies only to a program", "after --");
  ExpectRefused("--launch-skip 3", "--launch-skip applies only to a program", "after --");
  ExpectRefused("--profile-from-start off", "--profile-from-start applies only to a program", "after --");
  ExpectRefused("--nvtx '(' -- /bin/true", "--nvtx '('", "hint:");
  ExpectRefused("--replay none --nvtx step -- /bin/true", "--nvtx has no effect with --replay none: it selects",
                "leave one of them out");
  ExpectRefused("--profile-from-start off --delay 3 -- /bin/true",
                "--delay has no effect with --profile-from-start off: each says when", "leave one of them out");
  ExpectRefused("--phases on --replay kernel -- /bin/true", "--phases on has no effect with --replay kernel",
                "use --replay spread");
  ExpectRefused("--cache flush --replay kernel", "--cache flush has no effect with --replay kernel",
                "use --replay user");
  ExpectRefused("--device 1 -- /bin/true", "--device has no effect on a program", "CUDA_VISIBLE_DEVICES");
  ExpectRefused("--output x.fap --spool .", "--output has no effect with --spool", "leave one of them out");
  EXPECT_EQ(Run("--launch-count 0 -- /bin/true").exit_code, 2);
  EXPECT_EQ(Run("--record-all -1 -- /bin/true").exit_code, 2);
  EXPECT_EQ(Run("--record-all sometimes -- /bin/true").exit_code, 2);
}

TEST_F(CliTest, AFullDiskIsAnErrorAndNotHalfAReport) {
  const std::string command =
      "CUDA_VISIBLE_DEVICES= " FA_PROFILE_PROGRAM " report " + bundled_ + " >/dev/full 2>" + (folder_ / "err").string();
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(ReadFile(folder_ / "err").find("could not be written"), std::string::npos);
  for (const std::string& arguments : {"diff " + bundled_ + " " + bundled_, std::string("list metrics")}) {
    const std::string other = FA_PROFILE_PROGRAM " " + arguments + " >/dev/full 2>/dev/null";
    EXPECT_EQ(WEXITSTATUS(std::system(other.c_str())), 2) << arguments;
  }
}

}  // namespace
}  // namespace fa_profile::cli::cli_test
