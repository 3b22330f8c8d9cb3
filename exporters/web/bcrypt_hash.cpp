#include "bcrypt_hash.h"

#include <crypt.h>
#include <gnutls/gnutls.h>
#include <re2/re2.h>

#include <memory>

namespace fa_profile::web {
namespace {

constexpr std::size_t kLength = 60;
// A check of cost 16 takes about 5 s; a scrape waits 10 s.
constexpr int kLeastCost = 4;
constexpr int kGreatestCost = 16;

}  // namespace

std::string ProblemOfBcryptHash(const std::string& hash) {
  // The cost, 22 characters of salt and 31 of hash.
  static const RE2 kBcrypt("\\$2[aby]\\$([0-9]{2})\\$[./0-9A-Za-z]{53}");
  int cost = 0;
  if (!RE2::FullMatch(hash, kBcrypt, &cost)) return "is not a bcrypt hash ($2a$, $2b$ or $2y$)";
  if (cost < kLeastCost || cost > kGreatestCost)
    return "has cost " + std::to_string(cost) + "; the cost must be 4 to 16";
  return "";
}

bool BcryptMatches(const std::string& password, const std::string& hash) {
  // crypt_r() would stop at a NUL and use the part before it as the password.
  if (password.find('\0') != std::string::npos) return false;
  const auto data = std::make_unique<crypt_data>();  // 32 KiB
  const char* made = crypt_r(password.c_str(), hash.c_str(), data.get());
  const bool same = made != nullptr && hash.size() == kLength && std::string(made).size() == kLength &&
                    gnutls_memcmp(made, hash.data(), kLength) == 0;
  gnutls_memset(data.get(), 0, sizeof *data);
  return same;
}

}  // namespace fa_profile::web
