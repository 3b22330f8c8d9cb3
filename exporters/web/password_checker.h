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

namespace fa_profile {

/// User and password of an `Authorization: Basic ...` header; nothing when it is no such header.
struct Credentials {
  std::string user;
  std::string password;

  static std::optional<Credentials> FromHeader(const char* value);
};

enum class Verdict { kRight, kWrong, kBusy };

/// Checks passwords against bcrypt hashes, which is slow on purpose: in one thread of its own, so that it holds up no
/// other request, and each pair of user and password once. Addresses take turns, so that one that sends wrong passwords
/// all day delays the others by one check at most. Every method may be called from any thread.
class PasswordChecker {
 public:
  using Users = std::map<std::string, std::string>;  // name -> hash
  using Done = std::function<void(Verdict)>;         // must not throw

  PasswordChecker();
  ~PasswordChecker();
  PasswordChecker(const PasswordChecker&) = delete;
  PasswordChecker& operator=(const PasswordChecker&) = delete;

  /// One question: the credentials and the hash they are held against. An unknown user's are held against the hash of
  /// one of the users, so that the answer takes as long as for a wrong password, and are wrong whatever comes out.
  class Question {
   public:
    Question(const PasswordChecker& checker, const Users& users, const Credentials& credentials);

   private:
    friend class PasswordChecker;
    std::string key_;  // what its answer is remembered by: a keyed hash, so that no password stays in memory
    std::string password_;
    std::string hash_;
    bool known_;
  };

  /// The answer, if it was given before.
  std::optional<Verdict> Remembered(const Question& question);
  /// `done` is called exactly once, from another thread or, once stopped, from this one. kBusy: not before `deadline`,
  /// or stopped.
  void Ask(Question question, const std::string& address, WebClock::time_point deadline, Done done);
  /// Answers all that still wait with kBusy.
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
  // Apart, so that any number of wrong passwords makes no right one be forgotten.
  Memory right_{256};
  Memory wrong_{4096};
  std::map<std::string, std::deque<Waiting>> waiting_;  // by address; no deque is empty
  std::string last_address_;
  std::thread worker_;
};

}  // namespace fa_profile
