#include "fa_profile/library_child.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <string>

#include "fa_profile/error.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile::library_child_test {
namespace {

constexpr AttentionShape kShape{1, 8, 512, 64, true};
const LibraryQuestion kName{"./mine.so", {}};
const LibraryQuestion kVerify{"./mine.so", kShape, 3};

std::string Library(const std::string& name) { return std::string(FA_PROFILE_KERNEL_LIBS) + "/" + name + ".so"; }

LibraryAnswer Correct() {
  LibraryAnswer answer;
  answer.identity.kernel = "mine";
  answer.verification = Verification{0, 3, 3, 1e-4, 0.1, 0, 0, ""};
  return answer;
}

std::string ErrorOf(const LibraryQuestion& question, const ChildEnd& end) {
  try {
    (void)ReplyOf(question, end);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The text of an Error that `ask` throws.
template <typename Ask>
std::string ErrorOf(const Ask& ask) {
  try {
    (void)ask();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LibraryChildTest, AnAnswerSurvivesItsMessage) {
  LibraryAnswer answer = Correct();
  answer.verification->error = "a \"reason\"\n\xff";
  answer.error = Error("api", "CODE", "message", "hint");
  const auto read = FromMessage(ToMessage(answer));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->identity.kernel, "mine");
  EXPECT_EQ(read->verification->draws_passed, 3);
  EXPECT_EQ(read->verification->max_abs_error, 1e-4);
  EXPECT_TRUE(Contains(read->verification->error, "a \"reason\"\n"));
  EXPECT_STREQ(read->error->what(), answer.error->what());
}

TEST(LibraryChildTest, OnlyAWholeMessageIsAnAnswer) {
  const std::string message = ToMessage(Correct());
  for (std::size_t size = 0; size < message.size(); ++size) {
    EXPECT_FALSE(FromMessage(message.substr(0, size))) << size;
  }
  EXPECT_TRUE(FromMessage(message));
  EXPECT_FALSE(FromMessage(message + "x"));
  EXPECT_FALSE(FromMessage("x" + message));
  EXPECT_FALSE(FromMessage("00000002{}"));
  EXPECT_FALSE(FromMessage("00000002no"));
  EXPECT_FALSE(FromMessage("-0000002{}"));
}

TEST(LibraryChildTest, WhatTheLibraryPrintsIsShownAsItsOwnAndDoesNotTouchTheVerdict) {
  ChildEnd end;
  end.out = ToMessage(Correct());
  end.err = "no newline\x1b[31m\n\n{\"draws_passed\": 0}";
  const LibraryReply reply = ReplyOf(kVerify, end);
  EXPECT_TRUE(reply.answer.verification->correct());
  EXPECT_EQ(PrintedBy("./mine.so", reply), (std::vector<std::string>{"./mine.so printed: no newline\\x1B[31m",
                                                                     "./mine.so printed: {\"draws_passed\": 0}"}));
}

TEST(LibraryChildTest, AnInfiniteErrorIsAnAnswer) {
  LibraryAnswer answer;
  answer.verification = Verification{};
  answer.verification->max_error_ratio = std::numeric_limits<double>::infinity();
  const auto read = FromMessage(ToMessage(answer));
  ASSERT_TRUE(read && read->verification);
  EXPECT_TRUE(std::isinf(read->verification->max_error_ratio));
}

TEST(LibraryChildTest, OfManyPrintedLinesTheLastAreShown) {
  ChildEnd end;
  end.out = ToMessage(Correct());
  for (int i = 0; i < 100; ++i) end.err += "line " + std::to_string(i) + "\n";
  const LibraryReply reply = ReplyOf(kVerify, end);
  ASSERT_EQ(reply.printed.size(), 21U);
  EXPECT_EQ(reply.printed.front(), "(80 lines before)");
  EXPECT_EQ(reply.printed.back(), "line 99");
}

TEST(LibraryChildTest, AVerdictStandsHoweverTheChildEnds) {
  ChildEnd end;
  end.out = ToMessage(Correct());
  end.status = SIGSEGV;
  EXPECT_TRUE(ReplyOf(kVerify, end).answer.verification->correct());
}

TEST(LibraryChildTest, WithoutAVerdictTheKernelFailedByEndingTheProcess) {
  ChildEnd end;  // exit code 0
  end.err = "goodbye\n";
  LibraryReply reply = ReplyOf(kVerify, end);
  EXPECT_FALSE(reply.answer.verification->correct());
  EXPECT_EQ(reply.answer.verification->error,
            "the kernel library ./mine.so ended the process: it ended with exit code 0");
  EXPECT_EQ(reply.printed, std::vector<std::string>{"goodbye"});

  end.status = SIGKILL;
  reply = ReplyOf(kVerify, end);
  EXPECT_TRUE(Contains(reply.answer.verification->error, "it was killed by signal 9"));
}

TEST(LibraryChildTest, TheFunctionThatEndedTheProcessIsNamed) {
  ChildEnd end;
  end.status = 2 << 8;
  end.err = "first\nlast words fa-profile: error: the kernel library ./mine.so crashed in f()\n  hint: debug it\n";
  const LibraryReply reply = ReplyOf(kVerify, end);
  EXPECT_EQ(reply.answer.verification->error, "the kernel library ./mine.so crashed in f()");
  EXPECT_EQ(reply.printed, (std::vector<std::string>{"first", "last words "}));
  EXPECT_TRUE(Contains(ErrorOf(kName, end), "the kernel library ./mine.so crashed in f()\n  hint: debug it with: gdb"));
}

TEST(LibraryChildTest, AnErrorOfTheChildIsTheParents) {
  LibraryAnswer answer;
  answer.error = Error("the GPU has no memory left", "take a smaller shape");
  ChildEnd end;
  end.out = ToMessage(answer);
  EXPECT_EQ(ErrorOf(kVerify, end), "the GPU has no memory left\n  hint: take a smaller shape");
}

TEST(LibraryChildTest, AnInterruptIsNotTheLibrarysFault) {
  ChildEnd end;
  end.interrupted = true;
  EXPECT_TRUE(Contains(ErrorOf(kVerify, end), "interrupted"));
}

TEST(LibraryChildTest, TheCommandLineHasTheWholeQuestion) {
  EXPECT_EQ(ChildCommand(kName), (std::vector<std::string>{"fa-profile", "kernel-library", "./mine.so"}));
  EXPECT_EQ(ChildCommand(kVerify),
            (std::vector<std::string>{"fa-profile", "kernel-library", "./mine.so", "--shape", "1,8,512,64", "--draws",
                                      "3", "--seed", "1", "--device", "0", "--causal"}));
}

// With the real program, on libraries that need no GPU to go wrong.
LibraryReply AskProgram(const std::string& library, double seconds) {
  ChildLimits limits;
  limits.seconds = seconds;
  return AskLibrary({library, {}}, limits, FA_PROFILE_PROGRAM);
}

TEST(LibraryChildTest, ALibraryThatPrintsWhileItLoadsTellsItsName) {
  const LibraryReply reply = AskProgram(Library("prints"), 120);
  EXPECT_EQ(reply.answer.identity.kernel, "prints");
  ASSERT_EQ(reply.printed.size(), 1U);
  EXPECT_EQ(reply.printed[0], "00000002{} ** On entry to GEMM_EX  parameter number 12 had an illegal value\\x1B[31m");
}

TEST(LibraryChildTest, AConstructorThatHangsIsKilledAfterTheTimeLimitThatTheErrorNames) {
  const std::string error = ErrorOf([] { return AskProgram(Library("hangs_in_constructor"), 0.5); });
  EXPECT_TRUE(Contains(error, "hangs_in_constructor.so did not load within 0.5")) << error;
  EXPECT_TRUE(Contains(error, "hint: a constructor or fa_profile_kernel_name() hangs")) << error;
}

TEST(LibraryChildTest, ALibraryThatEndsTheProcessWhileItLoadsIsAnErrorOfVerify) {
  const TestFolder folder;
  const auto verify = [&](const std::string& library) {
    return RunInShell(folder.path(), FA_PROFILE_PROGRAM " verify --kernel-lib " + Library(library));
  };
  ExpectRefused(verify("exits_in_name"), "exits_in_name",
                "exits_in_name.so ended the process in fa_profile_kernel_name()", "gdb");
  ExpectRefused(verify("quits_in_constructor"), "quits_in_constructor",
                "quits_in_constructor.so ended the process: it ended with exit code 0", "gdb");
  ExpectRefused(verify("crashes_in_constructor"), "crashes_in_constructor",
                "crashes_in_constructor.so crashed while it was loaded", "gdb");
  ExpectRefused(verify("missing_symbol"), "missing_symbol", "has no function fa_profile_kernel_launch", "C linkage");
}

}  // namespace
}  // namespace fa_profile::library_child_test
