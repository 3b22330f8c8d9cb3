#include "crash_report.h"

#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace fa_profile {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kExitCouldNotDoTheJob = 2;

// What the handlers may access: written before the foreign call, on the thread that makes it.
const CrashMessages* volatile g_messages = nullptr;
std::array<struct sigaction, kSignals.size()> g_previous;

[[noreturn]] void EndWith(const std::string& message) noexcept {
  const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  (void)written;
  _exit(kExitCouldNotDoTheJob);
}

// Without this, a library's exit(0) would look like our success.
extern "C" void ReportExit() {
  if (g_messages == nullptr) return;
  (void)std::fflush(nullptr);
  EndWith(g_messages->exited);
}

extern "C" void ReportCrash(int signal, siginfo_t* info, void*) {
  if (g_messages != nullptr) EndWith(g_messages->crashed);
  // Not in foreign code: the previous handler gets the signal, when the faulting instruction runs again or, for a
  // signal that was sent (abort() sends one), now.
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) (void)sigaction(signal, &g_previous[i], nullptr);
  }
  if (info->si_code <= 0) (void)raise(signal);
}

// Once, not around each call: five system calls before every launch would show in launch-bound timings.
bool InstallHandlers() noexcept {
  struct sigaction action = {};
  action.sa_sigaction = ReportCrash;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // not deferred: the handler itself raises the signal again
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &action, &g_previous[i]);
  // A process that the library forks may exit.
  return std::atexit(ReportExit) == 0 && pthread_atfork(nullptr, nullptr, [] { g_messages = nullptr; }) == 0;
}

}  // namespace

CrashReport::CrashReport(const CrashMessages& messages) noexcept {
  [[maybe_unused]] static const bool installed = InstallHandlers();
  g_messages = &messages;
}

CrashReport::~CrashReport() { g_messages = nullptr; }

}  // namespace fa_profile
