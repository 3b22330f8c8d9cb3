#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fa_profile {

/// Limits on input (docs/gate-reference.md).
inline constexpr std::size_t kLargestJson = std::size_t{64} << 20U;
inline constexpr int kDeepestJson = 16;
inline constexpr std::size_t kMostJsonValues = 2'000'000;
inline constexpr std::size_t kLongestText = 4096;

/// A file's name in errors, and the cure.
struct JsonFile {
  std::string name;
  std::string hint;
};

/// A place in a document that is read once, field by field. Anything unexpected throws Error with the file, the place
/// as a JSON pointer, and what is wrong there. It refers to the document and the file: both outlive it.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, const JsonFile& file, std::string at = {})
      : value_(&value), file_(&file), at_(std::move(at)) {}

  /// Requires an object with no other keys than these: an ignored key would seem to have an effect.
  void RequireOnly(const std::vector<const char*>& keys) const;
  JsonNode At(const char* key) const;
  std::optional<JsonNode> Find(const char* key) const;  ///< absent: no such key
  std::vector<JsonNode> Items(std::size_t most) const;
  std::vector<std::pair<std::string, JsonNode>> Members(std::size_t most) const;

  std::string Text() const;
  bool Flag() const;
  std::int64_t Integer(std::int64_t low, std::int64_t high) const;
  double Number() const;  ///< finite
  std::vector<std::string> Texts(std::size_t most) const;

  const nlohmann::json& value() const { return *value_; }
  [[noreturn]] void Fail(const std::string& message) const;
  [[noreturn]] void Fail(const std::string& message, const std::string& hint) const;

 private:
  const nlohmann::json* value_;
  const JsonFile* file_;
  std::string at_;
};

/// Parses hostile JSON. Throws Error, with line and column, for invalid JSON, for a duplicate key, text that is not
/// UTF-8 or too long, a number beyond a double, and anything over the limits above.
nlohmann::json ParseStrictJson(const std::string& text, const JsonFile& file);

/// Throws Error unless the document is a `format` of a version from 1 to `newest`.
void RequireFormat(const JsonNode& document, const std::string& format, int newest);

/// The second half: requires a version from 1 to `newest`.
void RequireVersion(const JsonNode& document, std::int64_t newest);

/// Text from a file as part of a message: ASCII, quoted, with characters that a terminal would interpret escaped, and
/// not long.
std::string QuotedText(const std::string& text);

}  // namespace fa_profile
