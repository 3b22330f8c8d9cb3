#include "fa_profile/contribute.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "fa_profile/contribution.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/sha256.h"
#include "fa_profile/totals_json.h"

namespace fa_profile::serve {
namespace {

// More than the recording of a sane run needs; the bundled one takes 0.2 s and 68 MB.
[[maybe_unused]] constexpr rlim_t kMostMemoryBytes = rlim_t{4} << 30U;
// Shorter than the time that a service manager gives the exporter to end.
constexpr unsigned kMostSeconds = 20;

// The name of this process's stdin, which SQLite can open.
constexpr const char* kStdin = "/proc/self/fd/0";

}  // namespace

void PrintContribution(std::ostream& out) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory takes terabytes of addresses
  const rlimit memory{kMostMemoryBytes, kMostMemoryBytes};
  (void)setrlimit(RLIMIT_AS, &memory);
#endif
  (void)alarm(kMostSeconds);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // useless without the exporter
  nlohmann::json answer;
  try {
    const auto [recording, profile] = load::LoadProfile(kStdin);
    const Totals totals = prom::Contribution(recording, profile);
    answer["totals"] = nlohmann::json::parse(prom::ToJson(totals));
    answer["sha256"] = Sha256OfFile(kStdin);
  } catch (const Error& error) {
    // The exporter knows the recording's name, and puts it in front of the message.
    answer = {{"error", Replaced(error.message(), kStdin, "it")}};
  } catch (const std::bad_alloc&) {
    answer = {{"error", "reading it takes more than 4 GiB of memory"}};
  }
  out << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace fa_profile::serve
