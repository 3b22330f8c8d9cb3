#include "crash_report.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <unistd.h>

#include <array>
#include <cstddef>

namespace fa_profile {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kExitCouldNotDoTheJob = 2;

// What the handler may touch: written before the foreign call, on the thread that makes it.
const char* volatile g_message = nullptr;
volatile std::size_t g_message_size = 0;
std::array<struct sigaction, kSignals.size()> g_previous;

extern "C" void ReportCrash(int signal, siginfo_t* info, void*) {
  if (g_message != nullptr) {
    const ssize_t written = write(STDERR_FILENO, g_message, g_message_size);
    (void)written;
    _exit(kExitCouldNotDoTheJob);
  }
  // Not in foreign code: whoever handled the signal before us gets it, when the faulting instruction runs again or,
  // for a signal that was sent (abort() sends one), now.
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) (void)sigaction(signal, &g_previous[i], nullptr);
  }
  if (info->si_code <= 0) (void)raise(signal);
}

// Once, not around each call: five system calls before every launch would be seen in launch-bound timings.
bool InstallHandlers() noexcept {
  struct sigaction action = {};
  action.sa_sigaction = ReportCrash;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // not deferred: the handler itself raises the signal again
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &action, &g_previous[i]);
  return true;
}

}  // namespace

CrashReport::CrashReport(const std::string& message) noexcept {
  [[maybe_unused]] static const bool installed = InstallHandlers();
  g_message_size = message.size();
  g_message = message.c_str();
}

CrashReport::~CrashReport() { g_message = nullptr; }

}  // namespace fa_profile
