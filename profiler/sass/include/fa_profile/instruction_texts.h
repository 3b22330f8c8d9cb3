#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fa_profile::sass {

/// What nvdisasm printed for instructions, by their bytes: it takes 30 µs for each, and most of a package's come again.
/// A limited number is kept, those that were used last. Any number of threads may use one.
class InstructionTexts {
 public:
  /// What an instruction's text depends on: those of its bytes that are printed, and a number for KeysOf()'s layout.
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint64_t layout = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  /// Operands without a branch's target, which counts from the instruction itself.
  struct Text {
    std::string_view predicate;
    std::string_view opcode;
    std::string_view operands;
    std::optional<std::int64_t> target;
  };

  explicit InstructionTexts(std::size_t most = std::size_t{1} << 20U) : most_(most) {}
  InstructionTexts(const InstructionTexts&) = delete;
  InstructionTexts& operator=(const InstructionTexts&) = delete;

  /// Keys of a function's instructions, 16 bytes each. `layout`: what the code is for, as in its cubin's header.
  std::vector<Key> KeysOf(std::string_view layout, std::span<const std::uint8_t> code);

  /// Calls `take` with what is known of them, and their indices.
  void ForKnown(const std::vector<Key>& keys, const std::function<void(std::size_t index, const Text& text)>& take);

  void Add(const std::vector<std::pair<Key, Text>>& texts);

  /// Threads do not have the same printed. True: the caller must, and then call Release(). False: another thread does.
  bool Claim(const Key& key);
  void Release(const std::vector<Key>& keys);
  /// Waits until all have been released.
  void Await(const std::vector<Key>& keys);

 private:
  /// Texts one after another take a third of the memory of strings.
  struct Table {
    std::unordered_map<Key, std::uint32_t, Hash> places;
    std::string texts;
  };
  std::optional<Text> Find(const Key& key);
  void AddToNewer(const Key& key, const Text& text);

  const std::size_t most_;
  std::mutex mutex_;  // for all below
  std::map<std::string, std::uint64_t, std::less<>> layouts_;
  Table newer_;  // has at most half of `most_`, and then becomes the older
  Table older_;
  std::unordered_set<Key, Hash> claimed_;
  std::condition_variable released_;
};

}  // namespace fa_profile::sass
