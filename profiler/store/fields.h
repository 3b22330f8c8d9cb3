#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "fa_profile/error.h"
#include "validate.h"

namespace fa_profile::store {

/// The fields of one piece, each checked by what it is. `piece` names it in the error: "launch 5".
class Fields {
 public:
  explicit Fields(std::string piece) : piece_(std::move(piece)) {}

  const Fields& Id(std::string_view field, std::int64_t id) const {
    if (id <= 0) Refuse(field, std::to_string(id), "ids are above 0");
    return *this;
  }
  const Fields& Count(std::string_view field, std::int64_t value) const {
    if (value < 0) Refuse(field, std::to_string(value), "it cannot be negative");
    return *this;
  }
  const Fields& Finite(std::string_view field, double value) const {
    if (!std::isfinite(value)) Refuse(field, std::to_string(value), "an unknown value is left out, not written");
    return *this;
  }
  const Fields& Text(std::string_view field, std::string_view text, std::size_t limit = kMaxTextBytes) const {
    if (text.size() > limit) {
      Refuse(field, std::to_string(text.size()) + " bytes", "the limit is " + std::to_string(limit));
    }
    return *this;
  }
  [[noreturn]] void Refuse(std::string_view field, const std::string& value, const std::string& why) const {
    throw Error(piece_ + ": " + std::string(field) + " is " + value + ", but " + why);
  }

 private:
  std::string piece_;
};

/// "launch 5".
inline std::string Numbered(const char* kind, std::int64_t id) { return std::string(kind) + ' ' + std::to_string(id); }

}  // namespace fa_profile::store
