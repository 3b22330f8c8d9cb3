#include "password_checker.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <strings.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "bcrypt_hash.h"
#include "fa_profile/error.h"

namespace fa_profile::web {

std::optional<Credentials> Credentials::FromHeader(const char* value) {
  constexpr const char* kScheme = "Basic ";
  if (value == nullptr || strncasecmp(value, kScheme, std::strlen(kScheme)) != 0) return std::nullopt;
  std::string encoded = value + std::strlen(kScheme);
  gnutls_datum_t text{reinterpret_cast<unsigned char*>(encoded.data()), static_cast<unsigned int>(encoded.size())};
  gnutls_datum_t plain{};
  if (encoded.empty() || gnutls_base64_decode2(&text, &plain) != GNUTLS_E_SUCCESS) return std::nullopt;
  const std::string decoded(reinterpret_cast<const char*>(plain.data), plain.size);
  gnutls_free(plain.data);
  const std::size_t colon = decoded.find(':');
  if (colon == std::string::npos) return std::nullopt;
  return Credentials{decoded.substr(0, colon), decoded.substr(colon + 1)};
}

PasswordChecker::Question::Question(const PasswordChecker& checker, const Users& users, const Credentials& credentials)
    : password_(credentials.password) {
  const auto found = users.find(credentials.user);
  known_ = found != users.end();
  if (known_) {
    hash_ = found->second;
  } else if (!users.empty()) {
    // Hashes may differ in cost. Each unknown name always gets the same one, which cannot be guessed.
    const auto index = static_cast<unsigned char>(checker.KeyedHash("stand-in" + credentials.user)[0]) % users.size();
    hash_ = std::next(users.begin(), static_cast<std::ptrdiff_t>(index))->second;
  }
  // The hash has a fixed length and the name's length comes before it: no two questions share a text.
  key_ = checker.KeyedHash(hash_ + std::to_string(credentials.user.size()) + ":" + credentials.user + password_);
}

void PasswordChecker::Memory::Add(const std::string& key) {
  if (!keys_.insert(key).second) return;
  order_.push_back(key);
  if (order_.size() <= limit_) return;
  keys_.erase(order_.front());
  order_.pop_front();
}

PasswordChecker::PasswordChecker() {
  const int status = gnutls_rnd(GNUTLS_RND_KEY, secret_.data(), secret_.size());
  if (status != GNUTLS_E_SUCCESS) {
    throw Error("gnutls_rnd", gnutls_strerror_name(status), "the system has no random numbers");
  }
  worker_ = std::thread([this] { Work(); });
}

PasswordChecker::~PasswordChecker() { Stop(); }

std::string PasswordChecker::KeyedHash(const std::string& text) const {
  std::string result(gnutls_hmac_get_len(GNUTLS_MAC_SHA256), '\0');
  gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret_.data(), secret_.size(), text.data(), text.size(), result.data());
  return result;
}

std::optional<PasswordAnswer> PasswordChecker::Remembered(const Question& question) {
  const std::scoped_lock lock(mutex_);
  if (wrong_.Has(question.key_)) return PasswordAnswer::kWrong;
  // A correct answer only counts for a name that is still a user's.
  if (right_.Has(question.key_)) return question.known_ ? PasswordAnswer::kRight : PasswordAnswer::kWrong;
  return std::nullopt;
}

void PasswordChecker::Ask(Question question, const std::string& address, WebClock::time_point deadline, Done done) {
  {
    const std::scoped_lock lock(mutex_);
    if (!stopped_) {
      waiting_[address].push_back({std::move(question), deadline, std::move(done)});
      changed_.notify_one();
      return;
    }
  }
  done(PasswordAnswer::kBusy);
}

PasswordChecker::Waiting PasswordChecker::Next() {
  auto turn = waiting_.upper_bound(last_address_);
  if (turn == waiting_.end()) turn = waiting_.begin();
  last_address_ = turn->first;
  Waiting next = std::move(turn->second.front());
  turn->second.pop_front();
  if (turn->second.empty()) waiting_.erase(turn);
  return next;
}

void PasswordChecker::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Waiting next = Next();
    const bool over = stopped_ || WebClock::now() > next.deadline;
    lock.unlock();
    // Several requests may have come with the same password before the first was answered.
    std::optional<PasswordAnswer> answer = over ? PasswordAnswer::kBusy : Remembered(next.question);
    if (!answer.has_value()) {
      const bool right = BcryptMatches(next.question.password_, next.question.hash_) && next.question.known_;
      answer = right ? PasswordAnswer::kRight : PasswordAnswer::kWrong;
      const std::scoped_lock remember(mutex_);
      (right ? right_ : wrong_).Add(next.question.key_);
    }
    next.done(*answer);
    lock.lock();
  }
}

void PasswordChecker::Stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }
  if (worker_.joinable()) worker_.join();
}

}  // namespace fa_profile::web
