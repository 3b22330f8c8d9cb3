// The program that is built under sanitizers: what it reads from the network and from a spool is what they can judge.
#include "command.h"

namespace fa_profile::cli {

std::vector<void (*)(CLI::App&, Invocation&)> Commands() { return {AddExporter}; }

}  // namespace fa_profile::cli
