// fa-profile lint as a user meets it, on the cubins under data/: needs nvdisasm and no GPU.
#include <sstream>

#include "lint_fixture.h"

namespace fa_profile::cli::cli_lint_test {
namespace {

class CliLintTest : public LintFixture {
 protected:
  const std::string lint_ = FA_PROFILE_TEST_DATA "/cubins/lint_sm_90a.cubin";
  const std::string cubins_ = FA_PROFILE_TEST_DATA "/cubins/";
};

TEST_F(CliLintTest, ResourcesAndSpillsAreThosePtxasPrinted) {
  struct Row {
    const char* name;
    int registers;
    int stack;
    int spill_stores;
    int spill_loads;
    int shared;
  };
  const auto kernels = Kernels(lint_);
  for (const Row& row :
       {Row{"clean", 10, 0, 0, 0, 0}, Row{"spills", 32, 160, 300, 304, 0}, Row{"histogram", 30, 128, 0, 0, 0},
        Row{"spills_and_histogram", 32, 304, 388, 392, 0}, Row{"prints", 24, 16, 0, 0, 0},
        Row{"wmma_on_local", 4, 0, 0, 0, 0}, Row{"wmma_on_global", 22, 0, 0, 0, 0},
        Row{"fragments_only", 14, 0, 0, 0, 0}, Row{"tiles<true>", 32, 0, 0, 0, 16384},
        Row{"tiles<false>", 32, 0, 0, 0, 16384}, Row{"no_bounds", 10, 0, 0, 0, 0}}) {
    SCOPED_TRACE(row.name);
    ASSERT_TRUE(kernels.contains(row.name));
    const nlohmann::json& kernel = kernels.at(row.name);
    EXPECT_EQ(kernel.at("registers_per_thread"), row.registers);
    EXPECT_EQ(kernel.at("stack_frame_bytes"), row.stack);
    EXPECT_EQ(kernel.at("spills").at("store_bytes"), row.spill_stores);
    EXPECT_EQ(kernel.at("spills").at("load_bytes"), row.spill_loads);
    EXPECT_EQ(kernel.at("static_shared_memory_bytes"), row.shared);
  }
  EXPECT_EQ(kernels.size(), 11U);
}

TEST_F(CliLintTest, EachKernelHasItsPlantedFindings) {
  const auto kernels = Kernels(lint_);
  const std::map<std::string, std::set<std::string>> expected{
      {"clean", {}},
      {"spills", {"spills", "local-traffic-in-loop"}},
      {"histogram", {"stack-without-spills", "local-traffic-in-loop"}},
      {"spills_and_histogram", {"spills", "local-traffic-in-loop"}},
      {"prints", {"calls-printf"}},
      {"wmma_on_local", {"code-is-a-trap", "wmma-without-tensor"}},
      {"wmma_on_global", {}},
      {"fragments_only", {"wmma-without-tensor"}},
      {"tiles<true>", {"barrier-per-row"}},
      {"tiles<false>", {}},
      {"no_bounds", {}}};
  for (const auto& [name, ids] : expected) EXPECT_EQ(Ids(kernels.at(name)), ids) << name;
}

TEST_F(CliLintTest, IndirectBranchesMakeNoLoops) {
  const auto kernels = Kernels(cubins_ + "switch_sm_100a.cubin");
  const nlohmann::json& kernel = kernels.at("switches");
  EXPECT_EQ(kernel.at("unknown_branches"), 0);
  EXPECT_EQ(Ids(kernel), std::set<std::string>{});
  for (const nlohmann::json& row : kernel.at("phases")) EXPECT_EQ(row.at("loop_depth"), 0) << row;
}

TEST_F(CliLintTest, CountsOfWmmaTilesAreThoseOfTheSource) {
  const auto kernels = Kernels(lint_ + " --kernel 'wmma_on_global|tiles<true>'");
  ASSERT_EQ(kernels.size(), 2U);
  const auto sum = [&](const char* name, const char* what, int depth) {
    int count = 0;
    for (const nlohmann::json& row : kernels.at(name).at("phases")) {
      if (row.at("loop_depth") == depth) count += row.at(what).get<int>();
    }
    return count;
  };
  EXPECT_EQ(sum("wmma_on_global", "tensor", 0), 2);  // 16x16x16 is two m16n8k16
  EXPECT_EQ(sum("tiles<true>", "barrier", 1), 2);
  EXPECT_EQ(sum("tiles<true>", "barrier", 2), 1);
  EXPECT_EQ(sum("tiles<true>", "global", 1), 16);
}

TEST_F(CliLintTest, TheCodeHashIgnoresLineInformation) {
  const auto with = Kernels(cubins_ + "sm_90a.cubin");
  const auto without = Kernels(cubins_ + "sm_90a_without_lines.cubin");
  const auto other = Kernels(cubins_ + "sm_89.cubin");
  for (const char* const name : {"reduce<128>", "indexed"}) {
    EXPECT_EQ(with.at(name).at("code_hash"), without.at(name).at("code_hash"));
    EXPECT_NE(with.at(name).at("code_hash"), other.at(name).at("code_hash"));
    EXPECT_FALSE(Ids(with.at(name)).contains("no-line-information"));
    EXPECT_TRUE(Ids(without.at(name)).contains("no-line-information"));
  }
}

TEST_F(CliLintTest, CubinsOfOlderCompilersAndOtherArchitecturesAreRead) {
  for (const char* const name : {"sm_80.cubin", "sm_80_cuda12.cubin", "sm_89.cubin", "sm_90_cuda12.cubin"}) {
    SCOPED_TRACE(name);
    const auto kernels = Kernels(cubins_ + name);
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_EQ(Ids(kernels.at("reduce<128>")), std::set<std::string>{});
    EXPECT_TRUE(Ids(kernels.at("indexed")).contains("stack-without-spills"));
    EXPECT_FALSE(kernels.at("reduce<128>").at("occupancy").is_null());
    EXPECT_TRUE(kernels.at("indexed").at("occupancy").is_null()) << "it has no launch bounds";
  }
}

TEST_F(CliLintTest, TextFits100ColumnsAndMarksUnknownValues) {
  const Outcome outcome = Run(lint_);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }), 100) << line;
  }
  EXPECT_NE(outcome.out.find("300 B of spill stores and 304 B of spill loads"), std::string::npos);
  EXPECT_NE(outcome.out.find("give --threads N"), std::string::npos);
  EXPECT_NE(outcome.out.find("calls      vprintf"), std::string::npos);
  EXPECT_NE(outcome.out.find("--phase-map FILE gives your own"), std::string::npos);
  EXPECT_NE(outcome.out.find("11 kernels, 11 findings"), std::string::npos) << outcome.out;
  EXPECT_NE(Run(lint_ + " --kernel clean --threads 512").out.find("4 blocks of 512 threads (--threads)"),
            std::string::npos);
}

TEST_F(CliLintTest, APackageWithoutAttentionIsAnEmptyTable) {
  std::filesystem::create_directories(folder_ / "package");
  std::filesystem::copy(lint_, folder_ / "package/lint.cubin");
  std::ofstream(folder_ / "package/broken.cubin", std::ios::binary) << ReadFile(lint_).substr(0, 2000);
  const Outcome outcome = Run("--from-wheel package");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "skipped    broken.cubin")) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "11 kernels in 1 file: phases of 0; not inferred 0; not attention: "))
      << outcome.out;
  EXPECT_TRUE(Kernels("--from-wheel package").empty());
  ExpectRefused("--from-wheel package x.cubin", "lint takes files or --from-wheel, not both", "run it twice");
  ExpectRefused("--from-wheel missing.whl", "missing.whl", "");
}

TEST_F(CliLintTest, EqualCubinsOfAPackageAreDisassembledOnceAndThoseOfSeveralFilesTogether) {
  std::filesystem::create_directories(folder_ / "package");
  for (const char* const copy : {"a.cubin", "b.cubin", "d.cubin"}) {
    std::filesystem::copy(lint_, folder_ / "package" / copy);
  }
  std::filesystem::copy(cubins_ + "sm_90a.cubin", folder_ / "package/c.cubin");
  const std::string script = (folder_ / "nvdisasm").string();
  std::ofstream(script) << "#!/bin/sh\necho run >> '" << (folder_ / "runs").string() << "'\nexec '"
                        << sass::FindNvdisasm().value() << "' \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Outcome outcome = Run("--from-wheel package", "FA_PROFILE_NVDISASM=" + script);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "35 kernels in 4 files: ")) << outcome.out;
  EXPECT_EQ(ReadFile(folder_ / "runs"), "run\n");
  EXPECT_EQ(WithoutProgress(outcome.err), "");
}

TEST_F(CliLintTest, RowsAndSkippedFilesOfAPackageComeInItsOrder) {
  std::filesystem::create_directories(folder_ / "package");
  std::ofstream(folder_ / "map.yaml") << "phases:\n  qk:\n    opcodes: [HMMA]\n  pv:\n    opcodes: [STG]\n";
  std::filesystem::copy(lint_, folder_ / "package/a.cubin");
  std::ofstream(folder_ / "package/b.cubin", std::ios::binary) << ReadFile(lint_).substr(0, 2000);
  std::filesystem::copy(cubins_ + "sm_80.cubin", folder_ / "package/c.cubin");
  std::filesystem::copy(lint_, folder_ / "package/d.cubin");
  std::ofstream(folder_ / "package/e.cubin", std::ios::binary) << ReadFile(lint_).substr(0, 3000);
  const Outcome outcome = Run("--from-wheel package --format json --phase-map map.yaml");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  std::vector<std::string> rows;
  std::vector<std::string> skipped;
  for (const nlohmann::json& kernel : json.at("kernels")) {
    if (rows.empty() || rows.back() != kernel.at("file")) rows.push_back(kernel.at("file"));
  }
  for (const nlohmann::json& file : json.at("package").at("skipped")) skipped.push_back(file.at("file"));
  EXPECT_EQ(rows, (std::vector<std::string>{"a.cubin", "d.cubin"}));
  EXPECT_EQ(skipped, (std::vector<std::string>{"b.cubin", "e.cubin"}));
}

TEST_F(CliLintTest, WhatAPackageHasWasReadOrSkipped) {
  std::filesystem::create_directories(folder_ / "package");
  std::filesystem::copy(lint_, folder_ / "package/a.cubin");
  std::filesystem::copy(cubins_ + "sm_80.cubin", folder_ / "package/b.cubin");
  for (const char* const name : {"c.cubin", "d.cubin", "e.cubin"}) {
    std::ofstream(folder_ / "package" / name, std::ios::binary) << ReadFile(lint_).substr(0, 2000);
  }
  const Outcome outcome = Run("--from-wheel package --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json package = nlohmann::json::parse(outcome.out).at("package");
  EXPECT_EQ(package.at("found"), 5);
  EXPECT_EQ(package.at("read"), 2);
  EXPECT_EQ(package.at("skipped_files"), 3);
  EXPECT_EQ(package.at("skipped").size(), 3U);
  const std::string text = Run("--from-wheel package").out;
  EXPECT_TRUE(Contains(text, "5 cubins found, 2 read, 3 skipped:\n  skipped    3 cubins or files, the first c.cubin: "))
      << text;
  EXPECT_EQ(text.find("d.cubin"), std::string::npos) << "one line for each reason: " << text;
}

TEST_F(CliLintTest, KernelsOfAPackageWithoutExponentialsAreRefusedWithoutNvdisasm) {
  std::filesystem::create_directories(folder_ / "package");
  std::filesystem::copy(lint_, folder_ / "package/lint.cubin");
  const std::string script = (folder_ / "nvdisasm").string();
  std::ofstream(script) << "#!/bin/sh\nexit 1\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Outcome outcome = Run("--from-wheel package", "FA_PROFILE_NVDISASM=" + script);
  EXPECT_TRUE(Contains(outcome.out, "11 kernels in 1 file: phases of 0; not inferred 0; not attention: "))
      << outcome.out << outcome.err;
}

TEST_F(CliLintTest, APackageWithoutGpuCodeIsAnErrorWithItsCure) {
  std::filesystem::create_directories(folder_ / "source");
  std::ofstream(folder_ / "source/kernel.cu") << "__global__ void f() {}\n";
  ExpectRefused("--from-wheel source", "no GPU code in source", "a source folder has none");
  std::filesystem::create_directories(folder_ / "package");
  std::filesystem::copy(lint_, folder_ / "package/lint.cubin");
  ExpectRefused("--from-wheel package --arch sm_80",
                "no machine code for sm_80 was read in package; 1 skipped, the first: lint.cubin: it holds no machine "
                "code for sm_80, only for sm_90",
                "choose another --arch");
}

TEST_F(CliLintTest, OptionsWithoutEffectOnAPackageAreRefused) {
  for (const char* const option : {"--threads 128", "--smem 1024", "--phase-from functions", "--phase-from opcodes"}) {
    ExpectRefused(std::string("--from-wheel package ") + option, " has no effect with --from-wheel", "leave it out");
  }
  ExpectRefused("--from-wheel package --fail-on spills", "--fail-on cannot check a package",
                "fa-profile lint FILE... --fail-on");
  std::ofstream(folder_ / "map.yaml") << "phases:\n  qk:\n    opcodes: [HMMA]\n";
  ExpectRefused("--from-wheel package --phase-map map.yaml", "has no phase 'pv'", "qk and pv");
}

TEST_F(CliLintTest, ThePhasesOfBothProductsMakeAttention) {
  std::filesystem::create_directories(folder_ / "package");
  std::filesystem::copy(lint_, folder_ / "package/lint.cubin");
  std::ofstream(folder_ / "map.yaml") << "phases:\n  qk:\n    opcodes: [HMMA]\n  pv:\n    opcodes: [STG]\n";
  const auto kernels = Kernels("--from-wheel package --phase-map map.yaml");
  EXPECT_TRUE(kernels.contains("wmma_on_global"));
  EXPECT_FALSE(kernels.contains("clean")) << "it stores, and has no matrix instruction";
}

TEST_F(CliLintTest, CsvPutsSkippedFilesOnStderr) {
  std::filesystem::create_directories(folder_ / "package");
  std::filesystem::copy(lint_, folder_ / "package/lint.cubin");
  std::ofstream(folder_ / "package/broken.cubin", std::ios::binary) << ReadFile(lint_).substr(0, 2000);
  const std::string program = ReadFile("/bin/true");
  WriteFile(folder_ / "package/cut.so", program.substr(0, program.size() / 2));
  const Outcome outcome = Run("--from-wheel package --format csv");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "fa-profile: skipped broken.cubin: the cubin is cut off")) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "fa-profile: skipped cut.so: it is cut off: its section table is missing"))
      << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1) << outcome.out;
  ExpectRefused("package/cut.so", "it is cut off: its section table is missing", "build it again");
}

TEST_F(CliLintTest, APackageIsToldFromAFile) {
  std::filesystem::create_directories(folder_ / "package");
  WriteFile(folder_ / "x.whl", std::string("PK\x03\x04 and the rest of a wheel"));
  ExpectRefused("x.whl", "x.whl is a zip archive", "fa-profile lint --from-wheel x.whl");
  ExpectRefused("package", "package is a directory", "fa-profile lint --from-wheel package");
  std::filesystem::copy(lint_, folder_ / "x.cubin");
  ExpectRefused("--from-wheel x.cubin", "x.cubin", "fa-profile lint x.cubin");
}

TEST_F(CliLintTest, AMissingTemporaryFolderIsAnErrorWithItsCure) {
  ExpectRefused(lint_, "cannot create a temporary file in /nosuch", "set TMPDIR to a writable folder",
                "TMPDIR=/nosuch");
}

TEST_F(CliLintTest, FindingsGivenToFailOnFailTheCommand) {
  const Outcome clean = Run(lint_ + " --kernel 'clean|prints' --fail-on spills,wmma-without-tensor");
  EXPECT_EQ(clean.exit_code, 0) << clean.err;
  const Outcome spilled = Run(lint_ + " --fail-on spills");
  EXPECT_EQ(spilled.exit_code, 1);
  EXPECT_NE(spilled.err.find("spills in lint::spills(float const*, float*, int)"), std::string::npos) << spilled.err;
  EXPECT_EQ(Run(lint_ + " --kernel prints --fail-on spills,calls-printf --format json").exit_code, 1);
  ExpectRefused(lint_ + " --fail-on spill", "no finding 'spill'; did you mean spills", "the findings are");
}

TEST_F(CliLintTest, ErrorsAndFailOnNameTheFile) {
  const std::string bytes = ReadFile(lint_);
  std::ofstream(folder_ / "a.cubin", std::ios::binary) << bytes;
  std::ofstream(folder_ / "b.cubin", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  ExpectRefused("b.cubin", "b.cubin: ", "build it again");
  std::filesystem::copy(folder_ / "a.cubin", folder_ / "d.cubin");
  const Outcome outcome = Run("a.cubin d.cubin --kernel 'spills\\(' --fail-on spills");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err,
            "fa-profile: a.cubin: spills in lint::spills(float const*, float*, int) (sm_90)\n"
            "fa-profile: d.cubin: spills in lint::spills(float const*, float*, int) (sm_90)\n");
}

TEST_F(CliLintTest, AFileThatCannotBeReadLosesNoOther) {
  const std::string bytes = ReadFile(lint_);
  std::filesystem::copy(lint_, folder_ / "a.cubin");
  WriteFile(folder_ / "b.cubin", bytes.substr(0, bytes.size() / 2));
  WriteFile(folder_ / "c.txt", "no code");
  std::filesystem::copy(cubins_ + "sm_80.cubin", folder_ / "d.cubin");
  const Outcome outcome = Run("a.cubin b.cubin missing.cubin c.txt d.cubin --format json");
  EXPECT_EQ(outcome.exit_code, 2);
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("kernels").size(), 13U);
  EXPECT_EQ(json.at("cubins").at("found"), 5);
  EXPECT_EQ(json.at("cubins").at("read"), 2);
  std::vector<std::string> skipped;
  for (const nlohmann::json& file : json.at("cubins").at("skipped")) skipped.push_back(file.at("file"));
  EXPECT_EQ(skipped, (std::vector<std::string>{"b.cubin", "missing.cubin", "c.txt"}));
  for (const char* const part : {"error: b.cubin: the cubin is cut off", "hint: build it again",
                                 "error: missing.cubin cannot be read", "error: c.txt holds no GPU code"}) {
    EXPECT_TRUE(Contains(outcome.err, part)) << part << "\n" << outcome.err;
  }
  const Outcome failed = Run("a.cubin b.cubin --fail-on spills");
  EXPECT_EQ(failed.exit_code, 2) << "what b.cubin has is not known";
  EXPECT_TRUE(Contains(failed.err, "a.cubin: spills in ")) << failed.err;
  const Outcome none = Run("b.cubin c.txt");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.out, "");
  EXPECT_TRUE(Contains(none.err, "b.cubin: ") && Contains(none.err, "c.txt ")) << none.err;
}

TEST_F(CliLintTest, FoundIsReadPlusSkippedAndEqualCubinsAreRead) {
  std::filesystem::create_directories(folder_ / "package");
  const std::string bytes = ReadFile(lint_);
  WriteFile(folder_ / "package/both.bin",
            "1234" + bytes + bytes + ReadFile(cubins_ + "sm_80.cubin") + bytes.substr(0, 2000));
  const auto count = [](const nlohmann::json& json) {
    return std::vector<int>{json.at("found"), json.at("read"), static_cast<int>(json.at("skipped").size())};
  };
  const nlohmann::json file = nlohmann::json::parse(Run("package/both.bin --format json").out);
  const nlohmann::json package = nlohmann::json::parse(Run("--from-wheel package --format json").out);
  EXPECT_EQ(count(file.at("cubins")), (std::vector<int>{4, 3, 1}));
  EXPECT_EQ(count(package.at("package")), (std::vector<int>{4, 3, 1}));
  EXPECT_EQ(file.at("kernels").size(), 13U) << "kernels of equal cubins in a file once";
}

TEST_F(CliLintTest, OfAFileWithoutCubinsEachPartThatCannotBeReadIsCounted) {
  std::filesystem::create_directories(folder_ / "package");
  const std::string cut = ReadFile(lint_).substr(0, 2000);
  WriteFile(folder_ / "package/cut.bin", "1234" + cut + cut);
  std::filesystem::copy(lint_, folder_ / "package/whole.cubin");
  const nlohmann::json package = nlohmann::json::parse(Run("--from-wheel package --format json").out).at("package");
  EXPECT_EQ(package.at("found"), 3);
  EXPECT_EQ(package.at("read"), 1);
  EXPECT_EQ(package.at("skipped_files"), 2);
}

TEST_F(CliLintTest, CubinsOfSeveralFilesAreDisassembledTogether) {
  for (const char* const copy : {"a.cubin", "b.cubin"}) std::filesystem::copy(lint_, folder_ / copy);
  const std::string script = (folder_ / "nvdisasm").string();
  std::ofstream(script) << "#!/bin/sh\necho run >> '" << (folder_ / "runs").string() << "'\nexec '"
                        << sass::FindNvdisasm().value() << "' \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Outcome outcome =
      Run("a.cubin b.cubin " + cubins_ + "sm_90a.cubin --format json", "FA_PROFILE_NVDISASM=" + script);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("kernels").size(), 24U);
  EXPECT_EQ(ReadFile(folder_ / "runs"), "run\n");
}

TEST_F(CliLintTest, AStoppedPackageHasItsRowsAndWhatWasRead) {
  std::filesystem::create_directories(folder_ / "package");
  std::ofstream(folder_ / "map.yaml") << "phases:\n  qk:\n    opcodes: [EXIT]\n  pv:\n    opcodes: [BRA]\n";
  std::filesystem::copy(cubins_ + "sm_80.cubin", folder_ / "package/a.cubin");
  WriteFile(folder_ / "package/b.cubin", ReadFile(lint_).substr(0, 2000));
  std::filesystem::copy(lint_, folder_ / "package/c.cubin");
  const std::string script = (folder_ / "nvdisasm").string();
  // Of code for sm_90 it does not come back.
  std::ofstream(script) << "#!/bin/sh\nfor cubin; do :; done\n"
                        << "case \"$(od -An -tx1 -j48 -N2 \"$cubin\")\" in *5a*) exec sleep 1000;; esac\nexec '"
                        << sass::FindNvdisasm().value() << "' \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (const auto& [signal, format, end] :
       {std::tuple("TERM", "text", "stopped: this is what was read so far, 2 of 3 cubins and files"),
        std::tuple("INT", "json", "\"complete\": false"), std::tuple("TERM", "jsonl", "\"complete\":false"),
        std::tuple("HUP", "csv", "a.cubin")}) {
    // A shell's background commands ignore SIGINT.
    const Outcome outcome = RunInShell(
        folder_, std::string("rm -f out; env --default-signal=INT FA_PROFILE_NVDISASM=") + script +
                     " " FA_PROFILE_PROGRAM " lint --from-wheel package --phase-map map.yaml --format " + format +
                     " > out 2> err & "
                     "while ! grep -q reduce out; do kill -0 $! || exit 1; sleep 0.01; done; kill -" +
                     signal + " $!; wait $!");
    EXPECT_EQ(outcome.exit_code, 128 + (signal == std::string("TERM") ? 15 : signal == std::string("INT") ? 2 : 1));
    const std::string out = ReadFile(folder_ / "out");
    EXPECT_TRUE(Contains(out, end)) << out;
    EXPECT_TRUE(Contains(ReadFile(folder_ / "err"), "stopped by a signal")) << ReadFile(folder_ / "err");
    if (format != std::string("json")) continue;
    const nlohmann::json package = nlohmann::json::parse(out).at("package");
    EXPECT_EQ(package.at("found"), 2);
    EXPECT_EQ(package.at("read"), 1);
    EXPECT_EQ(package.at("total"), 3);
  }
}

TEST_F(CliLintTest, StoppedFilesHaveTheirTotals) {
  WriteFile(folder_ / "cut.cubin", ReadFile(lint_).substr(0, 2000));
  const std::string script = (folder_ / "nvdisasm").string();
  std::ofstream(script) << "#!/bin/sh\n: > hangs\nexec sleep 1000\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (const std::string format : {"text", "json", "jsonl"}) {
    const Outcome outcome =
        RunInShell(folder_, "rm -f hangs; FA_PROFILE_NVDISASM=" + script + " " FA_PROFILE_PROGRAM " lint cut.cubin " +
                                lint_ + " --format " + format +
                                " > out 2> err & while ! [ -e hangs ]; do kill -0 $! || exit 1; sleep 0.01; done; "
                                "kill -TERM $!; wait $!");
    EXPECT_EQ(outcome.exit_code, 128 + SIGTERM);
    EXPECT_TRUE(Contains(ReadFile(folder_ / "err"), "stopped by a signal")) << ReadFile(folder_ / "err");
    const std::string out = ReadFile(folder_ / "out");
    if (format == "text") {
      EXPECT_TRUE(Contains(out, "stopped: this is what was read so far\n1 cubin found, 0 read, 1 skipped:")) << out;
    } else if (format == "json") {
      const nlohmann::json cubins = nlohmann::json::parse(out).at("cubins");
      EXPECT_EQ(cubins.at("complete"), false);
      EXPECT_EQ(cubins.at("found"), 1);
    } else {
      EXPECT_TRUE(Contains(out, "\"complete\":false")) << out;
    }
  }
}

TEST_F(CliLintTest, ExplainPrintsTheStoryOfAFinding) {
  const Outcome outcome = Run("--explain spills");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* const part : {"spill stores + spill loads > 0", "ptxas -v", "fewer live values", "LDL.LU"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
  ExpectRefused("--explain spils", "did you mean spills", "the findings are");
  ExpectRefused("--explain exp-bound", "a finding of a report, not of lint", "fa-profile report");
}

TEST_F(CliLintTest, APhaseMapNamesThePhases) {
  std::ofstream(folder_ / "map.yaml") << "phases:\n  store:\n    opcodes: [STG]\n  none:\n    opcodes: [QQQ]\n";
  const auto kernels = Kernels(lint_ + " --kernel clean --phase-map map.yaml");
  std::set<std::string> phases;
  for (const nlohmann::json& row : kernels.at("clean").at("phases")) phases.insert(row.at("phase"));
  EXPECT_EQ(phases, (std::set<std::string>{"store", "(unattributed)"}));
  EXPECT_NE(Run(lint_ + " --phase-map map.yaml").err.find("phase 'none'"), std::string::npos);
  std::ofstream(folder_ / "other.yaml") << "phases:\n  none:\n    opcodes: [QQQ]\n";
  ExpectRefused(lint_ + " --phase-map other.yaml", "no instruction of these kernels belongs to a phase", "-lineinfo");
}

TEST_F(CliLintTest, BadInputIsOneErrorWithItsCure) {
  const std::string bytes = ReadFile(lint_);
  std::ofstream(folder_ / "cut.cubin", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  ExpectRefused("", "lint needs a file", "fa-profile lint FILE");
  ExpectRefused("nowhere.cubin", "nowhere.cubin cannot be read: No such file", "check the path");
  ExpectRefused(".", ". is a directory", "give a file");
  ExpectRefused("cut.cubin", "cut off", "build it again");
  ExpectRefused(lint_ + " --arch sm_80", "no machine code for sm_80, only for sm_90", "choose one of them with --arch");
  ExpectRefused(lint_ + " --arch volta", "no machine code for volta", "choose one of them with --arch");
  ExpectRefused(lint_ + " --kernel spils", "no kernel matches 'spils'; did you mean spills", "the kernels are clean");
  ExpectRefused(lint_ + " --kernel '('", "not a regular expression", "RE2");
  ExpectRefused(lint_ + " --format html", "--format must be text, json, jsonl or csv, not 'html'",
                "text, json, jsonl or csv");
  ExpectRefused(lint_ + " --threads 0", "--threads", "Threads per block");
  ExpectRefused(lint_, "FA_PROFILE_NVDISASM is /nowhere", "to the path of nvdisasm", "FA_PROFILE_NVDISASM=/nowhere");
  if (!std::filesystem::exists("/usr/local/cuda/bin/nvdisasm")) {  // which is always found
    ExpectRefused(lint_, "nvdisasm is missing", "pip install nvidia-cuda-nvdisasm",
                  "env -u FA_PROFILE_NVDISASM -u CUDA_HOME -u CUDA_PATH HOME=/nowhere XDG_CACHE_HOME=/nowhere "
                  "PATH=/nowhere");
  }
}

TEST_F(CliLintTest, AStrippedCubinIsAnErrorWithItsCure) {
  std::string bytes = ReadFile(lint_);
  const auto number = [&bytes](std::size_t at, std::size_t size) {
    std::size_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  const std::size_t sections = number(0x28, 8);
  for (std::size_t i = 0; i < number(0x3c, 2); ++i) {
    if (number(sections + 64 * i + 4, 4) == 2) bytes[sections + 64 * i + 4] = 1;  // the symbol table is no longer one
  }
  std::ofstream(folder_ / "stripped.cubin", std::ios::binary) << bytes;
  ExpectRefused("stripped.cubin", "no symbols: it was stripped", "without strip");
}

TEST_F(CliLintTest, AFileWithoutGpuCodeIsAnErrorWithItsCure) {
  std::ofstream(folder_ / "text.txt") << "not a cubin\n";
  ExpectRefused("text.txt", "text.txt holds no GPU code", "give the cubin");
  ExpectRefused("/bin/true", "holds no GPU code", "give the cubin");
}

}  // namespace
}  // namespace fa_profile::cli::cli_lint_test
