#include "fa_profile/child_process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"

namespace fa_profile::child_process_test {
namespace {

int ExitCode(const std::string& script) {
  const int status = WaitForChild(StartChild("sh", {"sh", "-c", script}));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The message of the error that starting `program` ends with.
std::string Refusal(const std::string& program) {
  try {
    WaitForChild(StartChild(program, {program}));
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return {};
}

TEST(ChildProcessTest, ExitCodesArePassedThrough) {
  for (const int code : {0, 1, 126, 127, 255}) EXPECT_EQ(ExitCode("exit " + std::to_string(code)), code);
  EXPECT_EQ(ExitCode("kill -SEGV $$"), -SIGSEGV);
}

TEST(ChildProcessTest, ALimitOfFileSizesEndsAChildAsBefore) {
  IgnoreFileSizeSignal();
  EXPECT_EQ(raise(SIGXFSZ), 0);
  EXPECT_EQ(ExitCode("kill -XFSZ $$"), -SIGXFSZ);
  EXPECT_EQ(WTERMSIG(CaptureChild("sh", {"sh", "-c", "kill -XFSZ $$"}).status), SIGXFSZ);
  EXPECT_EQ(WTERMSIG(RunChildGroup("sh", {"sh", "-c", "kill -XFSZ $$"}, {}).status), SIGXFSZ);
}

TEST(ChildProcessTest, AProgramThatCannotBeStartedIsAnErrorWithTheReason) {
  const std::filesystem::path text =
      std::filesystem::temp_directory_path() / ("no-program-" + std::to_string(getpid()));
  std::ofstream(text) << "this is no program\n";
  EXPECT_EQ(Refusal("/no/such/program"), "the program /no/such/program cannot be started: No such file or directory");
  EXPECT_NE(Refusal("no-such-program-on-path").find("No such file"), std::string::npos);
  EXPECT_NE(Refusal(text).find("Permission denied"), std::string::npos);
  std::filesystem::permissions(text, std::filesystem::perms::owner_all);
  EXPECT_NE(Refusal(text).find("Exec format error"), std::string::npos);
  EXPECT_NE(Refusal(std::filesystem::temp_directory_path()).find("Permission denied"), std::string::npos);
  EXPECT_THROW((void)CaptureChild("/no/such/program", {"program"}), Error);
  std::filesystem::remove(text);
}

TEST(ChildProcessTest, CaptureGivesWhatTheChildWroteToStdoutAndHowItEnded) {
  const ChildOutput output = CaptureChild("sh", {"sh", "-c", "echo \"$0 $1\"; echo unseen >&2; exit 3", "a b", "c"});
  EXPECT_EQ(output.text, "a b c\n");
  EXPECT_EQ(WEXITSTATUS(output.status), 3);
}

TEST(ChildProcessTest, CaptureReadsToTheEndAndKeepsAMebibyte) {
  const ChildOutput output = CaptureChild("head", {"head", "-c", "3000000", "/dev/zero"});
  EXPECT_TRUE(WIFEXITED(output.status)) << "a reader that stops would end it with SIGPIPE";
  EXPECT_EQ(WEXITSTATUS(output.status), 0);
  EXPECT_GE(output.text.size(), 1U << 20);
  EXPECT_LT(output.text.size(), (1U << 20) + 4096);
}

ChildEnd RunScript(const std::string& script, const ChildLimits& limits = {}) {
  return RunChildGroup("sh", {"sh", "-c", script}, limits);
}

TEST(ChildGroupTest, GivesBothStreamsAndTheStatusAndAnEmptyStdin) {
  const ChildEnd end = RunScript("cat; echo out; echo err >&2; exit 3");
  EXPECT_EQ(end.out, "out\n");
  EXPECT_EQ(end.err, "err\n");
  EXPECT_EQ(WEXITSTATUS(end.status), 3);
  EXPECT_FALSE(end.timed_out);
  EXPECT_FALSE(end.interrupted);
  EXPECT_GT(end.seconds, 0.0);
}

TEST(ChildGroupTest, OnlyTheEndOfALongOutputIsKept) {
  const ChildEnd end = RunScript("head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo last");
  EXPECT_EQ(end.out.size(), 1U << 20);
  EXPECT_EQ(end.err.size(), 1U << 20);
  EXPECT_TRUE(end.out.ends_with("last\n"));
}

TEST(ChildGroupTest, AfterTheTimeLimitTheWholeProcessGroupIsKilled) {
  for (const char* const script :
       {"sleep 1000 & wait", "trap '' TERM; sleep 1000 & echo $!; wait", "exec >&- 2>&-; sleep 1000"}) {
    const ChildEnd end = RunScript(script, {0.3, nullptr});
    EXPECT_TRUE(end.timed_out) << script;
    EXPECT_EQ(WTERMSIG(end.status), SIGKILL) << script;
    EXPECT_LT(end.seconds, 500.0) << script;
  }
}

TEST(ChildGroupTest, ProcessesThatAChildLeavesBehindAreKilled) {
  const ChildEnd end = RunScript("sleep 1000 & echo $!");
  EXPECT_FALSE(end.timed_out);
  EXPECT_LT(end.seconds, 500.0) << "a grandchild that holds the pipes is not waited for";
}

TEST(ChildGroupTest, AProcessThatLeftTheGroupIsNotWaitedFor) {
  for (const char* const command : {"setsid sleep 1000", "setsid yes"}) {
    const ChildEnd end =
        RunScript(std::string(command) +
                  " & echo $! >&2; until [ \"$(cut -d' ' -f5 /proc/$!/stat)\" = $! ]; do sleep 0.01; done");
    EXPECT_FALSE(end.timed_out) << command;
    EXPECT_LT(end.seconds, 500.0) << command;
    EXPECT_EQ(kill(static_cast<pid_t>(std::stol(end.err)), SIGKILL), 0) << command;
  }
}

TEST(ChildGroupTest, AChildThatIsBoundToItsThreadEndsWithTheProcess) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  Pipe pipe = MakePipe();
  const pid_t parent = fork();
  if (parent == 0) {
    const std::string script = "echo $$ >/proc/" + std::to_string(getpid()) + "/fd/" +
                               std::to_string(pipe.write_end.get()) + "; exec sleep 30";
    (void)RunScript(script, {.seconds = 1000.0, .ends_with_thread = true});
    _exit(0);
  }
  pipe.write_end.Close();
  char text[32] = {};
  ASSERT_GT(read(pipe.read_end.get(), text, sizeof text - 1), 0);
  EXPECT_EQ(kill(parent, SIGTERM), 0);
  EXPECT_EQ(WTERMSIG(WaitForChild(parent)), SIGTERM);
  EXPECT_EQ(WTERMSIG(WaitForChild(static_cast<pid_t>(std::stol(text)))), SIGKILL);
  EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST(ChildGroupTest, AChildThatIsBoundToItsThreadIsAnOtherwiseEqualChild) {
  const ChildLimits bound{.folder = "/", .ends_with_thread = true};
  const ChildEnd end = RunScript("pwd; cat; echo err >&2; cut -d' ' -f5 /proc/$$/stat >&2; echo $$ >&2; exit 3", bound);
  EXPECT_EQ(end.out, "/\n");
  ASSERT_TRUE(end.err.starts_with("err\n")) << end.err;
  const std::string rest = end.err.substr(4);
  EXPECT_EQ(rest.substr(0, rest.find('\n') + 1), rest.substr(rest.find('\n') + 1)) << "it leads a group";
  EXPECT_EQ(WEXITSTATUS(end.status), 3);
  EXPECT_THROW((void)RunChildGroup("/no/such/program", {"program"}, bound), Error);
  EXPECT_THROW((void)RunChildGroup("no-such-program-on-path", {"program"}, bound), Error);
}

TEST(ChildGroupTest, AnInterruptionEndsTheChild) {
  const std::atomic<bool> interrupted = true;
  const ChildEnd end = RunScript("sleep 1000", {1000.0, &interrupted});
  EXPECT_TRUE(end.interrupted);
  EXPECT_LT(end.seconds, 500.0);
}

TEST(ChildGroupTest, AProgramThatCannotBeStartedIsAnError) {
  EXPECT_THROW((void)RunChildGroup("/no/such/program", {"program"}, {}), Error);
}

TEST(ChildGroupTest, DescribeGivesOneLine) {
  EXPECT_EQ(Describe(RunScript("echo fine >&2")), "");
  EXPECT_EQ(Describe(RunScript("exit 3")), "ended with exit code 3");
  EXPECT_EQ(Describe(RunScript("echo first >&2; echo '  second' >&2; echo >&2; echo '  hint: cure' >&2; exit 2")),
            "ended with exit code 2: second");
  EXPECT_EQ(Describe(RunScript("kill -SEGV $$")), "was killed by signal 11 (Segmentation fault)");
  EXPECT_TRUE(Describe(RunScript("sleep 1000", {0.6, nullptr})).starts_with("did not end within "));
}

TEST(ChildProcessTest, AChildThatIsCancelledIsEnded) {
  ChildLimits limits;
  int asked = 0;
  limits.cancelled = [&asked] { return ++asked > 3; };
  const ChildEnd end = RunChildGroup("sleep", {"sleep", "1000"}, limits);
  EXPECT_TRUE(end.interrupted);
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(WTERMSIG(end.status), SIGKILL);
}

}  // namespace
}  // namespace fa_profile::child_process_test
