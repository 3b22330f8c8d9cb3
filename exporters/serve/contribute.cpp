#include "fa_profile/contribute.h"

#include <gnutls/crypto.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <ostream>
#include <nlohmann/json.hpp>

#include "fa_profile/error.h"
#include "fa_profile/totals.h"
#include "fa_profile/load_profile.h"

namespace fa_profile {
namespace {

// What no recording of a sane run needs; the bundled one takes 0.2 s and 68 MB.
[[maybe_unused]] constexpr rlim_t kMostMemoryBytes = rlim_t{4} << 30U;
// Shorter than what a service manager waits for the exporter to end.
constexpr unsigned kMostSeconds = 20;

// The name of this process's stdin, by which SQLite can open it.
constexpr const char* kStdin = "/proc/self/fd/0";

std::string Sha256OfStdin() {
  gnutls_hash_hd_t hash = nullptr;
  if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) != 0) throw Error("SHA-256 is not available in GnuTLS");
  std::array<char, 1 << 16> buffer{};
  for (off_t offset = 0;;) {
    const ssize_t count = pread(STDIN_FILENO, buffer.data(), buffer.size(), offset);
    if (count <= 0) break;
    (void)gnutls_hash(hash, buffer.data(), static_cast<std::size_t>(count));
    offset += count;
  }
  std::array<unsigned char, 32> digest{};
  gnutls_hash_deinit(hash, digest.data());
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 15U];
  }
  return text;
}

}  // namespace

void PrintContribution(std::ostream& out) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose shadow memory takes terabytes of addresses
  const rlimit memory{kMostMemoryBytes, kMostMemoryBytes};
  (void)setrlimit(RLIMIT_AS, &memory);
#endif
  (void)alarm(kMostSeconds);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // of no use to anybody without the exporter
  nlohmann::json answer;
  try {
    const auto [recording, profile] = LoadProfile(kStdin);
    const Totals totals = Contribution(recording, profile, static_cast<double>(std::time(nullptr)));
    if (!(LargestSum(totals) <= kMostOfAContribution)) throw Error("it holds numbers that nothing can have measured");
    answer["totals"] = nlohmann::json::parse(ToJson(totals));
    answer["sha256"] = Sha256OfStdin();
  } catch (const Error& error) {
    answer = {{"error", error.message()}};
  } catch (const std::bad_alloc&) {
    answer = {{"error", "reading it takes more than 4 GiB of memory"}};
  }
  out << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace fa_profile
