#include "fa_profile/library_child.h"

#include <fmt/format.h>

#include <string_view>

#include "fa_profile/error.h"
#include "fa_profile/library_server.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

// How a library ended its process, from the error of CrashReport or main() if they wrote one.
std::string HowItEnded(const std::string& library, const ChildEnd& end) {
  constexpr std::string_view kOurError = "fa-profile: error: ";
  const std::string described = Describe(end);
  if (const std::size_t start = described.find(kOurError); start != std::string::npos) {
    return described.substr(start + kOurError.size());
  }
  return library + " ended the process: it " + (described.empty() ? "ended with exit code 0" : described);
}

}  // namespace

LibraryIdentity AskForIdentity(const std::string& library, const std::vector<std::string>& files,
                               const ChildLimits& limits, const std::string& program) {
  std::vector<std::string> arguments = {"fa-profile", "kernel-library", library};
  for (const std::string& file : files) arguments.insert(arguments.end(), {"--tensor", file});
  const ChildEnd end = RunChildGroup(program, arguments, limits);
  if (end.interrupted) throw Error("interrupted", "nothing was measured yet; run it again");
  if (!end.out.empty()) return StatementFromMessage(end.out).identity;

  const std::string name = "the kernel library " + library;
  std::string debug = "debug it with: gdb --args";
  for (const std::string& argument : arguments) debug += " " + argument;
  if (!end.timed_out) throw Error(Printable(HowItEnded(name, end)), debug);
  throw Error(fmt::format("{} did not load within {:.3g} s", name, end.seconds),
              "a constructor or fa_profile_kernel_name() hangs, in it or in a library that it links; " + debug);
}

}  // namespace fa_profile
