#include "fa_profile/own_stdout.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

// Above the numbers that foreign code gets for its files, and may close by habit.
constexpr int kFirstDescriptor = 100;

}  // namespace

OwnStdout::OwnStdout() {
  (void)std::fflush(stdout);  // output printed before is ours
  kept_ = Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirstDescriptor));
  if (!kept_ || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw Error("fcntl", std::strerror(errno), "stdout cannot be kept apart from what a kernel library prints",
                "run it with standard output and standard error open");
  }
}

OwnStdout::~OwnStdout() {
  (void)std::fflush(stdout);
  (void)dup2(kept_.get(), STDOUT_FILENO);
}

void OwnStdout::Write(std::string_view bytes) const {
  if (WriteAll(kept_.get(), bytes)) return;
  throw Error("the output could not be written: " + std::string(std::strerror(errno)),
              "check that the disk is not full and standard output is open");
}

}  // namespace fa_profile
