#include "fa_profile/quiet_writes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>

#include "fa_profile/address_space.h"
#include "test_files.h"

namespace fa_profile {
namespace {

// How a child of fork ends that runs `body`: its exit code, or 128 and the signal.
int EndOf(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  (void)waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class QuietWritesTest : public FolderTest {
 protected:
  // The errno of a write beyond RLIMIT_FSIZE.
  int WriteTooMuch() const {
    const rlimit limit{0, 0};
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    const int file = open((folder_ / "f").c_str(), O_WRONLY | O_CREAT, 0600);
    return write(file, "x", 1) < 0 ? errno : 0;
  }
};

TEST_F(QuietWritesTest, AFileThatMayNotGrowIsAnErrorAndNoSignal) {
  EXPECT_EQ(EndOf([this] { return WriteTooMuch(); }), 128 + SIGXFSZ);
  EXPECT_EQ(EndOf([this] {
              const QuietWrites quiet;
              return WriteTooMuch();
            }),
            EFBIG);
}

TEST_F(QuietWritesTest, APipeWithoutAReaderIsAnErrorAndNoSignal) {
  EXPECT_EQ(EndOf([] {
              int ends[2];
              if (pipe(ends) != 0) return 99;
              (void)close(ends[0]);
              const QuietWrites quiet;
              return write(ends[1], "x", 1) < 0 ? errno : 0;
            }),
            EPIPE);
}

TEST_F(QuietWritesTest, AfterItTheProgramsOwnWritesAreAsBefore) {
  EXPECT_EQ(EndOf([this] {
              {
                const QuietWrites quiet;
                (void)WriteTooMuch();
              }
              return WriteTooMuch();
            }),
            128 + SIGXFSZ);
}

TEST_F(QuietWritesTest, ASignalThatTheProgramHoldsBackStaysPending) {
  EXPECT_EQ(EndOf([this] {
              sigset_t own;
              (void)sigemptyset(&own);
              (void)sigaddset(&own, SIGXFSZ);
              (void)pthread_sigmask(SIG_BLOCK, &own, nullptr);
              (void)raise(SIGXFSZ);
              {
                const QuietWrites quiet;
                (void)WriteTooMuch();
              }
              sigset_t pending;
              (void)sigpending(&pending);
              return sigismember(&pending, SIGXFSZ);
            }),
            1);
}

TEST(AddressSpaceTest, TheReserveIsRoomOnceAProcessLimitsItself) {
  EXPECT_EQ(EndOf([] {
              constexpr std::int64_t kReserve = std::int64_t{256} << 20U;
              constexpr rlim_t kLimit = rlim_t{1} << 40U;
              if (AddressSpaceLeft()) return 2;
              AddressSpaceReserve reserve;
              reserve.Take(kReserve);
              const rlimit limit{kLimit, kLimit};
              (void)setrlimit(RLIMIT_AS, &limit);
              const std::int64_t before = AddressSpaceLeft().value_or(0);
              reserve.Release();
              const std::int64_t after = AddressSpaceLeft().value_or(0);
              return before > 0 && after - before == kReserve ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace fa_profile
