#include "fa_profile/sha256.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <array>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile {
namespace {

class Hash {
 public:
  Hash() {
    if (const int status = gnutls_hash_init(&handle_, GNUTLS_DIG_SHA256); status < 0) {
      throw Error("gnutls_hash_init", gnutls_strerror_name(status), gnutls_strerror(status),
                  "this GnuTLS lacks SHA-256: install the distribution's GnuTLS");
    }
  }
  ~Hash() { gnutls_hash_deinit(handle_, nullptr); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  void Add(const char* bytes, std::size_t count) { (void)gnutls_hash(handle_, bytes, count); }

  std::string Digits() {
    std::array<unsigned char, 32> digest{};
    gnutls_hash_output(handle_, digest.data());
    return fmt::format("{:02x}", fmt::join(digest, ""));
  }

 private:
  gnutls_hash_hd_t handle_ = nullptr;
};

}  // namespace

std::string Sha256(std::string_view bytes) {
  Hash hash;
  hash.Add(bytes.data(), bytes.size());
  return hash.Digits();
}

std::string Sha256OfFile(const std::string& path) {
  Hash hash;
  const Descriptor file = OpenFile(path);
  std::array<char, 1 << 16> buffer{};
  while (const std::size_t count = ReadSome(file.get(), path, buffer)) hash.Add(buffer.data(), count);
  return hash.Digits();
}

}  // namespace fa_profile
