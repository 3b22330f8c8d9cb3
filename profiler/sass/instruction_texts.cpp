#include "fa_profile/instruction_texts.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "byte_reader.h"
#include "elf_file.h"

namespace fa_profile::sass {
namespace {

// Bits 105 to 121 of an instruction say how long it stalls and which scoreboards it sets and awaits, which nvdisasm
// does not print with -json. Bits 122 to 125 are in the text: ".reuse".
constexpr unsigned kFirstHiddenBit = 105 - 64;
constexpr std::uint64_t kHiddenBits = (std::uint64_t{1} << 17U) - 1;

/// Ends each field of a stored text; nvdisasm prints none.
constexpr char kEnd = '\n';

InstructionTexts::Text Read(std::string_view texts, std::uint32_t place) {
  texts.remove_prefix(place);
  const auto field = [&texts] {
    const std::string_view text = texts.substr(0, texts.find(kEnd));
    texts.remove_prefix(text.size() + 1);
    return text;
  };
  InstructionTexts::Text text{.predicate = field(), .opcode = field(), .operands = field(), .target = std::nullopt};
  const std::string_view target = field();
  std::int64_t value = 0;
  if (std::from_chars(target.data(), target.data() + target.size(), value).ec == std::errc()) text.target = value;
  return text;
}

}  // namespace

std::size_t InstructionTexts::Hash::operator()(const Key& key) const {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = key.low * kFactor;
  hash = (hash ^ hash >> 32U ^ key.high ^ key.layout << 48U) * kFactor;
  return hash ^ hash >> 32U;
}

std::vector<InstructionTexts::Key> InstructionTexts::KeysOf(std::string_view layout,
                                                            std::span<const std::uint8_t> code) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = layouts_.emplace(layout, layouts_.size()).first->second;
  }
  std::vector<Key> keys;
  keys.reserve(code.size() / kInstructionBytes);
  ByteReader reader(code);
  while (reader.left() >= kInstructionBytes) {
    Key& key = keys.emplace_back();
    key.low = reader.U64();
    key.high = reader.U64() & ~(kHiddenBits << kFirstHiddenBit);
    key.layout = number;
  }
  return keys;
}

void InstructionTexts::ForKnown(const std::vector<Key>& keys,
                                const std::function<void(std::size_t index, const Text& text)>& take) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (const std::optional<Text> text = Find(keys[i])) take(i, *text);
  }
}

void InstructionTexts::Add(const std::vector<std::pair<Key, Text>>& texts) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, text] : texts) {
    if (newer_.places.size() >= most_ / 2) older_ = std::exchange(newer_, {});
    AddToNewer(key, text);
  }
}

bool InstructionTexts::Claim(const Key& key) {
  const std::lock_guard lock(mutex_);
  return claimed_.insert(key).second;
}

void InstructionTexts::Release(const std::vector<Key>& keys) {
  {
    const std::lock_guard lock(mutex_);
    for (const Key& key : keys) claimed_.erase(key);
  }
  released_.notify_all();
}

void InstructionTexts::Await(const std::vector<Key>& keys) {
  std::unique_lock lock(mutex_);
  for (const Key& key : keys) {
    released_.wait(lock, [&] { return !claimed_.contains(key); });
  }
}

std::optional<InstructionTexts::Text> InstructionTexts::Find(const Key& key) {
  if (const auto found = newer_.places.find(key); found != newer_.places.end())
    return Read(newer_.texts, found->second);
  const auto found = older_.places.find(key);
  if (found == older_.places.end()) return std::nullopt;
  const Text text = Read(older_.texts, found->second);
  if (newer_.places.size() < most_ / 2) AddToNewer(key, text);
  return text;
}

void InstructionTexts::AddToNewer(const Key& key, const Text& text) {
  if (!newer_.places.emplace(key, static_cast<std::uint32_t>(newer_.texts.size())).second) return;
  for (const std::string_view field : {text.predicate, text.opcode, text.operands}) (newer_.texts += field) += kEnd;
  if (text.target) newer_.texts += std::to_string(*text.target);
  newer_.texts += kEnd;
}

}  // namespace fa_profile::sass
