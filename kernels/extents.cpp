#include "fa_profile/extents.h"

#include <algorithm>
#include <charconv>

#include "fa_profile/error.h"
#include "fa_profile/kernel_abi_2.h"

namespace fa_profile {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

// A recursive descent over the grammar of fa_profile_tensor::shape. A text has at most FA_PROFILE_LONGEST_TEXT
// characters, which bounds the recursion.
class ExtentParser {
 public:
  ExtentParser(std::string_view text, std::span<const ShapeParameter> parameters)
      : text_(text), rest_(text), parameters_(parameters) {}

  std::vector<std::int64_t> Extents() {
    std::vector<std::int64_t> extents;
    do {
      const std::int64_t extent = Sum();
      if (extent < 1) Refuse("has the extent " + std::to_string(extent) + ", and the least is 1");
      extents.push_back(extent);
    } while (Take(','));
    if (!Peek().empty()) Refuse("has '" + std::string(Peek()) + "' where an operator or a comma should be");
    if (extents.size() > FA_PROFILE_MOST_DIMENSIONS) Refuse("has more than 8 extents");
    return extents;
  }

 private:
  std::int64_t Sum() {
    std::int64_t value = Product();
    for (;;) {
      if (Take('+')) {
        if (__builtin_add_overflow(value, Product(), &value)) RefuseOverflow();
      } else if (Take('-')) {
        if (__builtin_sub_overflow(value, Product(), &value)) RefuseOverflow();
      } else {
        return value;
      }
    }
  }

  std::int64_t Product() {
    std::int64_t value = Factor();
    for (;;) {
      if (Take('*')) {
        if (__builtin_mul_overflow(value, Factor(), &value)) RefuseOverflow();
      } else if (Take('/')) {
        value = Quotient(value, Factor());
      } else {
        return value;
      }
    }
  }

  // Rounds down, as the header promises.
  std::int64_t Quotient(std::int64_t value, std::int64_t by) const {
    if (by == 0) Refuse("divides by zero");
    if (by == -1) {
      if (__builtin_sub_overflow(std::int64_t{0}, value, &value)) RefuseOverflow();
      return value;
    }
    return value / by - (value % by != 0 && (value < 0) != (by < 0) ? 1 : 0);
  }

  std::int64_t Factor() {
    if (Take('(')) {
      const std::int64_t value = Sum();
      if (!Take(')')) Refuse("lacks a ')'");
      return value;
    }
    const std::string_view word = Word();
    if (word.empty()) Refuse(Peek().empty() ? "ends where a number should be" : "lacks a number or a parameter");
    if (word[0] < '0' || word[0] > '9') return ValueOf(word);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) Refuse("has the bad number " + std::string(word));
    return value;
  }

  std::int64_t ValueOf(std::string_view name) const {
    const auto found = std::ranges::find(parameters_, name, &ShapeParameter::name);
    if (found != parameters_.end()) return found->value;
    Refuse("names '" + std::string(name) + "', which is not a parameter");
  }

  std::string_view Word() {
    constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const std::string_view word = Peek().substr(0, Peek().find_first_not_of(kWord));
    rest_.remove_prefix(word.size());
    return word;
  }

  // The rest of the text, without leading blanks.
  std::string_view Peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    return rest_;
  }

  bool Take(char character) {
    if (!Peek().starts_with(character)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error("the shape '" + std::string(text_) + "' " + why);
  }
  [[noreturn]] void RefuseOverflow() const { Refuse("has a value beyond 64 bits"); }

  std::string_view text_;
  std::string_view rest_;
  std::span<const ShapeParameter> parameters_;
};

}  // namespace

std::vector<std::int64_t> ExtentsOf(std::string_view text, std::span<const ShapeParameter> parameters) {
  std::vector<std::int64_t> extents = ExtentParser(text, parameters).Extents();
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    if (!__builtin_mul_overflow(elements, extent, &elements) && elements <= kMostElements) continue;
    throw Error("the shape '" + std::string(text) + "' has more than 2^40 elements");
  }
  return extents;
}

std::int64_t ElementsOf(std::span<const std::int64_t> extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return elements;
}

std::string PlaceOf(std::int64_t index, std::span<const std::int64_t> extents) {
  std::string text;
  for (std::size_t i = extents.size(); i-- > 0;) {
    text.insert(0, (i == 0 ? "" : ",") + std::to_string(index % extents[i]));
    index /= extents[i];
  }
  return "[" + text + "]";
}

}  // namespace fa_profile
