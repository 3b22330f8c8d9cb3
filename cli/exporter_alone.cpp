// The program built under sanitizers: they can judge its reading from the network and from a spool.
#include "command.h"

namespace fa_profile::cli {

std::vector<void (*)(CLI::App&, Invocation&)> Commands() { return {AddExporter}; }

}  // namespace fa_profile::cli
