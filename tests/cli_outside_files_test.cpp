// Every argument that names a file, given a file that must not be opened or read: the program neither waits nor fills
// the memory. A test that hangs is ended by ctest.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "run_program.h"
#include "test_files.h"

namespace fa_profile::cli::cli_outside_files_test {
namespace {

namespace fs = std::filesystem;

class CliOutsideFilesTest : public FolderTest {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(fs::exists(FA_PROFILE_BUNDLED_RECORDING)); }

  // Each command line with `file` in its place of a file.
  static std::vector<std::string> Commands(const std::string& file) {
    const std::string good = FA_PROFILE_BUNDLED_RECORDING;
    const std::string cubin = FA_PROFILE_TEST_DATA "/cubins/lint_sm_90a.cubin";
    return {"report " + file,
            "report --format json " + file,
            "report --phase-map " + file + " " + good,
            "diff " + file + " " + good,
            "diff " + good + " " + file,
            "lint " + file,
            "lint --phase-map " + file + " " + cubin,
            "gate --candidate " + file + " --baseline " + good,
            "gate --candidate " + good + " --baseline " + file,
            "gate --candidate " + good + " --baseline " + good + " --thresholds " + file,
            "gate --replay " + file,
            "gate --static " + file + " " + cubin,
            "gate --static " + cubin + " " + file,
            "gate --static " + cubin + " " + cubin + " --base-log " + file,
            "gate --static " + cubin + " " + cubin + " --head-log " + file,
            "gate selftest --data " + file,
            "baseline promote --reason test " + file,
            "baseline show " + file,
            "baseline verify " + file,
            "textfile " + file,
            "textfile --baseline " + file + " " + good,
            "push --gateway http://127.0.0.1:9 " + file,
            "serve --state . --listen 127.0.0.1:0 --no-nvml --web-config " + file,
            "serve --state . --listen 127.0.0.1:0 --no-nvml --web-config web.yml",
            "serve --state . --listen 127.0.0.1:0 --no-nvml --baseline " + file};
  }

  void ExpectEveryCommandRefuses(const std::string& file) const {
    std::ofstream(folder_ / "web.yml") << "tls_server_config: {cert_file: " << file << ", key_file: " << file << "}\n";
    for (const std::string& command : Commands(file)) {
      if (file.ends_with(".json") && !command.starts_with("gate") && !command.starts_with("baseline")) continue;
      const Outcome outcome = RunInShell(folder_, "CUDA_VISIBLE_DEVICES= " FA_PROFILE_PROGRAM " " + command);
      SCOPED_TRACE(command + "\n" + outcome.out + outcome.err);
      EXPECT_EQ(outcome.exit_code, 2);
      EXPECT_NE((outcome.out + outcome.err).find(file), std::string::npos) << "the file is not named";
    }
  }
};

TEST_F(CliOutsideFilesTest, ANamedPipeIsRefusedWhereverAFileIsExpected) {
  for (const char* const name : {"pipe.fap", "pipe.json"}) {
    ASSERT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
    ExpectEveryCommandRefuses(name);
  }
  EXPECT_EQ(RunInShell(folder_, FA_PROFILE_PROGRAM " doctor pipe.fap").exit_code, 2);
}

TEST_F(CliOutsideFilesTest, AnEmptyFileOf8GigabytesIsRefusedWhereverAFileIsExpected) {
  for (const char* const name : {"sparse.fap", "sparse.json"}) {
    WriteFile(folder_ / name, "");
    fs::resize_file(folder_ / name, std::uintmax_t{8} << 30U);
    ExpectEveryCommandRefuses(name);
  }
}

TEST_F(CliOutsideFilesTest, ANamedPipeBesideARecordingIsRefused) {
  for (const std::string suffix : {"-journal", "-wal", "-shm"}) {
    fs::copy_file(FA_PROFILE_BUNDLED_RECORDING, folder_ / "run.fap", fs::copy_options::overwrite_existing);
    ASSERT_EQ(mkfifo((folder_ / ("run.fap" + suffix)).c_str(), 0600), 0);
    for (const char* const command : {"report run.fap", "gate --candidate run.fap --baseline run.fap"}) {
      const Outcome outcome =
          RunInShell(folder_, "CUDA_VISIBLE_DEVICES= " FA_PROFILE_PROGRAM " " + std::string(command));
      ExpectRefused(outcome, command, "run.fap" + suffix + " is not a regular file", "move it away");
    }
    fs::remove(folder_ / ("run.fap" + suffix));
  }
}

// The hint's command, on a recording whose last change is only in the log.
TEST_F(CliOutsideFilesTest, TheHintForAWriteAheadLogReadsTheRecordingAndLeavesItAsItIs) {
  if (RunInShell(folder_, "command -v sqlite3").exit_code != 0) GTEST_SKIP() << "needs the program sqlite3";
  fs::copy_file(FA_PROFILE_BUNDLED_RECORDING, folder_ / "run.fap");
  (void)RunInShell(folder_,
                   "sqlite3 run.fap 'PRAGMA journal_mode=WAL' 'PRAGMA wal_autocheckpoint=0' "
                   "\"UPDATE device SET name = 'in the log'\" '.shell kill -9 $PPID'");
  ASSERT_TRUE(fs::exists(folder_ / "run.fap-wal"));
  const std::string before = ReadFile(folder_ / "run.fap") + ReadFile(folder_ / "run.fap-wal");
  const Outcome refused = RunInShell(folder_, FA_PROFILE_PROGRAM " report run.fap");
  ExpectRefused(refused, "report run.fap", "run.fap uses a write-ahead log", "Leave it as it is");
  const std::size_t start = refused.err.find("mkdir copy");
  ASSERT_NE(start, std::string::npos) << refused.err;
  const std::string command = std::regex_replace(refused.err.substr(start), std::regex("FILE"), "run.fap");
  const Outcome read = RunInShell(folder_, std::regex_replace(command, std::regex("fa-profile"), FA_PROFILE_PROGRAM));
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_TRUE(Contains(read.out, "in the log"));
  EXPECT_EQ(ReadFile(folder_ / "run.fap") + ReadFile(folder_ / "run.fap-wal"), before);
}

TEST_F(CliOutsideFilesTest, ANamedPipeInABuildFolderIsLeftOut) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.so").c_str(), 0600), 0);
  fs::copy_file(FA_PROFILE_TEST_DATA "/cubins/lint_sm_90a.cubin", folder_ / "lint.cubin");
  const Outcome outcome = RunInShell(folder_, FA_PROFILE_PROGRAM " gate --static . .");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace fa_profile::cli::cli_outside_files_test
