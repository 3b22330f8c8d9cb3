// Which step of rung 8 is wrong: what it uses of the hardware, piece by piece, then each variant on inputs that make
// one step visible. To run first on a GPU of sm_90.
//
//   hopper_steps [NAME...]   all, or those whose name contains one of the arguments
//
// Each runs in a separate process with a limit of a minute: a crash or a hang costs only itself. Prints a line each:
// "ok" or "WRONG" and how. Exit code 1 when one is wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "hopper/variant.h"
#include "parts.h"
#include "whole.h"

namespace fa_profile::hopper {
namespace {

bool Wanted(const std::vector<std::string>& wanted, const std::string& name) {
  if (wanted.empty()) return true;
  for (const std::string& part : wanted) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

/// The child's work: prints the error, and returns its exit code.
template <class Run>
int RunInChild(Run run) {
  ::alarm(60);
  std::string error;
  try {
    error = run();
  } catch (const Error& thrown) {
    error = thrown.what();
  }
  if (!error.empty()) std::printf("  %s\n", error.c_str());
  std::fflush(stdout);
  return error.empty() ? 0 : 1;
}

/// Runs `run` in a child, which begins before CUDA does. Whether all was well.
template <class Run>
bool Try(const char* name, const char* what, Run run) {
  const auto start = std::chrono::steady_clock::now();
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(RunInChild(run));
  int status = 0;
  ::waitpid(child, &status, 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::printf("%-5s %-22s %4.1f s  %s%s\n", ok ? "ok" : "WRONG", name, seconds, what,
              WIFSIGNALED(status) ? " (it was ended by a signal: a crash, or it took a minute)" : "");
  return ok;
}

int Main(const std::vector<std::string>& wanted) {
  int wrong = 0;
  for (const Part& part : Parts()) {
    if (Wanted(wanted, part.name) && !Try(part.name, part.tries, part.run)) ++wrong;
  }
  for (const Variants& variants : {ForwardVariants(), SplitVariants(), TuningVariants()}) {
    for (const Variant& variant : variants) {
      const auto run = [&variant] { return TryWhole(variant); };
      if (Wanted(wanted, variant.name) && !Try(variant.name, variant.changes, run)) ++wrong;
    }
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fa_profile::hopper

int main(int argc, char** argv) { return fa_profile::hopper::Main({argv + 1, argv + argc}); }
