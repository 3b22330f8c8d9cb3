#include <csignal>
#include <string_view>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers' own runtime must come first
namespace {

// A service manager may stop `serve` right after its start: SIGTERM and SIGINT stay pending until serve handles them,
// and it exits with 0. No code of the program runs earlier: while the loader still maps the libraries (5 to 50 ms, more
// on a busy machine), the signals end the process with 143, which systemd counts as a clean exit. Signals that are
// blocked when the program starts stay pending from then on: `env --block-signal=TERM,INT fa-profile serve` always
// exits with 0.
void BlockSignalsOfServe(int argc, char** argv, char** /*environment*/) {
  if (argc < 2 || std::string_view(argv[1]) != "serve") return;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  (void)pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// The loader runs these before any constructor, once the libraries are loaded. main() comes later.
[[gnu::used, gnu::section(".preinit_array")]] void (*const kFirst)(int, char**, char**) = BlockSignalsOfServe;

}  // namespace
#endif
