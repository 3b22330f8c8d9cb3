#include "bcrypt_hash.h"

#include <crypt.h>
#include <gnutls/gnutls.h>

#include <algorithm>
#include <memory>

namespace fa_profile {
namespace {

// $2y$10$ + 22 characters of salt + 31 of hash
constexpr std::size_t kLength = 60;
constexpr std::size_t kDigits = 7;
constexpr int kLeastCost = 4;
// A check of cost 16 takes about 5 s; a scrape waits 10 s.
constexpr int kGreatestCost = 16;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHashDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '/';
}

}  // namespace

std::string ProblemOfBcryptHash(const std::string& hash) {
  const bool bcrypt = hash.size() == kLength &&
                      (hash.starts_with("$2a$") || hash.starts_with("$2b$") || hash.starts_with("$2y$")) &&
                      IsDigit(hash[4]) && IsDigit(hash[5]) && hash[6] == '$' &&
                      std::all_of(hash.begin() + kDigits, hash.end(), IsHashDigit);
  if (!bcrypt) return "is not a bcrypt hash ($2a$, $2b$ or $2y$)";
  const int cost = (hash[4] - '0') * 10 + (hash[5] - '0');
  if (cost < kLeastCost || cost > kGreatestCost)
    return "has cost " + std::to_string(cost) + "; the cost must be 4 to 16";
  return "";
}

bool BcryptMatches(const std::string& password, const std::string& hash) {
  // crypt_r() would stop at a NUL and take the part before it for the password.
  if (password.find('\0') != std::string::npos) return false;
  const auto data = std::make_unique<crypt_data>();  // 32 KiB
  const char* made = crypt_r(password.c_str(), hash.c_str(), data.get());
  const bool same = made != nullptr && hash.size() == kLength && std::string(made).size() == kLength &&
                    gnutls_memcmp(made, hash.data(), kLength) == 0;
  gnutls_memset(data.get(), 0, sizeof *data);
  return same;
}

}  // namespace fa_profile
