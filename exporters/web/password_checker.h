#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "connections.h"

namespace fa_profile::web {

/// User and password from an `Authorization: Basic ...` header; absent for any other header.
struct Credentials {
  std::string user;
  std::string password;

  static std::optional<Credentials> FromHeader(const char* value);
};

enum class PasswordAnswer { kRight, kWrong, kBusy };

/// Checks passwords against bcrypt hashes, which is slow on purpose: in one separate thread, so that other requests do
/// not wait, and once per pair of user and password. Addresses take turns, so that one that sends wrong passwords all
/// day delays the others by at most one check. Every method may be called from any thread.
class PasswordChecker {
 public:
  using Users = std::map<std::string, std::string>;  // name -> hash
  using Done = std::function<void(PasswordAnswer)>;  // must not throw

  PasswordChecker();
  ~PasswordChecker();
  PasswordChecker(const PasswordChecker&) = delete;
  PasswordChecker& operator=(const PasswordChecker&) = delete;

  /// Credentials and the hash to compare them with. An unknown user's are compared with the hash of one of the users,
  /// so that the answer takes as long as for a wrong password; they are always wrong.
  class Question {
   public:
    Question(const PasswordChecker& checker, const Users& users, const Credentials& credentials);

   private:
    friend class PasswordChecker;
    std::string key_;  // a keyed hash for remembering the answer: no password stays in memory
    std::string password_;
    std::string hash_;
    bool known_;
  };

  /// The answer, if it is known already.
  std::optional<PasswordAnswer> Remembered(const Question& question);
  /// Calls `done` exactly once: from another thread or, once stopped, from this one. kBusy: not answered before
  /// `deadline`, or stopped.
  void Ask(Question question, const std::string& address, WebClock::time_point deadline, Done done);
  /// Answers all waiting questions with kBusy.
  void Stop();

 private:
  /// The newest answers of one kind, by key.
  class Memory {
   public:
    explicit Memory(std::size_t limit) : limit_(limit) {}
    bool Has(const std::string& key) const { return keys_.contains(key); }
    void Add(const std::string& key);

   private:
    const std::size_t limit_;
    std::set<std::string> keys_;
    std::deque<std::string> order_;
  };

  struct Waiting {
    Question question;
    WebClock::time_point deadline;
    Done done;
  };

  std::string KeyedHash(const std::string& text) const;
  Waiting Next();
  void Work();

  std::array<unsigned char, 32> secret_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  // Two memories, so that wrong passwords never push out a correct one.
  Memory right_{256};
  Memory wrong_{4096};
  std::map<std::string, std::deque<Waiting>> waiting_;  // by address; no deque is empty
  std::string last_address_;
  std::thread worker_;
};

}  // namespace fa_profile::web
