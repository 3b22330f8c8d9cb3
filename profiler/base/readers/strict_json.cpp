#include "fa_profile/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

using Json = nlohmann::json;

std::string Kind(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "text";
    case Json::value_t::boolean:
      return "true or false";
    default:
      return "a number";
  }
}

// A key as part of a JSON pointer.
std::string PointerKey(const std::string& key) {
  const bool plain = std::all_of(key.begin(), key.end(), [](unsigned char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
  });
  return plain ? key : QuotedText(key);
}

// Refuses, during parsing, anything that would cost memory or be lost in the resulting value.
class Guard {
 public:
  explicit Guard(const JsonFile& file) : file_(file) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth >= kDeepestJson) {
      throw Error(fmt::format("{} is nested deeper than {} levels", file_.name, kDeepestJson), file_.hint);
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw Error(fmt::format("{}: duplicate key {} in an object", file_.name,
                              QuotedText(parsed.get_ref<const std::string&>())),
                  "keep one of them; " + file_.hint);
    }
    if ((event == Event::key || event == Event::value) && parsed.is_string() &&
        parsed.get_ref<const std::string&>().size() > kLongestText) {
      throw Error(fmt::format("{} has text of more than {} bytes", file_.name, kLongestText), file_.hint);
    }
    if (++values_ > kMostJsonValues) {
      throw Error(fmt::format("{} has more than {} values", file_.name, kMostJsonValues), file_.hint);
    }
    return true;
  }

 private:
  const JsonFile& file_;
  std::vector<std::set<std::string>> keys_;
  std::size_t values_ = 0;
};

}  // namespace

std::string QuotedText(const std::string& text) {
  constexpr std::size_t kShown = 60;
  const bool whole = text.size() <= kShown;
  return Json(text.substr(0, kShown)).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) +
         (whole ? "" : "...");
}

Json ParseStrictJson(const std::string& text, const JsonFile& file) {
  if (text.size() > kLargestJson) {
    throw Error(fmt::format("{} is larger than {} MiB", file.name, kLargestJson >> 20U), file.hint);
  }
  if (text.empty()) throw Error(file.name + " is empty", file.hint);
  try {
    // By reference: the parser copies its callback.
    Guard guard(file);
    return Json::parse(
        text, [&guard](int depth, Json::parse_event_t event, Json& parsed) { return guard(depth, event, parsed); });
  } catch (const Json::parse_error& error) {
    // The parser's own words quote the file.
    const std::size_t end = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto begin = text.begin();
    const auto at = begin + static_cast<std::ptrdiff_t>(end);
    const auto line = std::count(begin, at, '\n') + 1;
    const std::size_t line_start = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    throw Error(fmt::format("{}:{}:{}: not valid JSON from this point", file.name, line,
                            line_start == std::string::npos ? end + 1 : end - line_start),
                file.hint);
  } catch (const Json::out_of_range&) {
    throw Error(file.name + " has a number out of range", file.hint);
  }
}

void RequireFormat(const JsonNode& document, const std::string& format, int newest) {
  const std::string other_format = "is not in the format '" + format + "'";
  if (!document.value().is_object()) document.Fail(other_format);
  const auto name = document.value().find("format");
  if (name == document.value().end() || *name != format) document.Fail(other_format);
  RequireVersion(document, newest);
}

void RequireVersion(const JsonNode& document, std::int64_t newest) {
  const std::int64_t version = document.At("version").Integer(1, 1'000'000);
  if (version > newest) {
    document.Fail(
        fmt::format("was written by a newer fa-profile: version {}, and this one reads up to {}", version, newest),
        "use that fa-profile, or a newer one");
  }
}

void JsonNode::Fail(const std::string& message, const std::string& hint) const {
  // For the whole file, a message that begins with a verb continues its sentence.
  const bool is_sentence =
      at_.empty() && (message.starts_with("is ") || message.starts_with("was ") || message.starts_with("has "));
  throw Error(file_->name + (is_sentence ? " " : ": ") + (at_.empty() ? "" : at_ + ": ") + message, hint);
}

void JsonNode::Fail(const std::string& message) const { Fail(message, file_->hint); }

void JsonNode::RequireOnly(const std::vector<const char*>& keys) const {
  if (!value_->is_object()) Fail("is " + Kind(*value_) + ", not an object");
  for (const auto& [key, _] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      Fail("unknown key " + QuotedText(key) + DidYouMean(key, {keys.begin(), keys.end()}));
    }
  }
}

std::optional<JsonNode> JsonNode::Find(const char* key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return JsonNode(*found, *file_, at_ + "/" + key);
}

JsonNode JsonNode::At(const char* key) const {
  const std::optional<JsonNode> found = Find(key);
  if (!found) Fail("lacks \"" + std::string(key) + "\"");
  return *found;
}

std::vector<JsonNode> JsonNode::Items(std::size_t most) const {
  if (!value_->is_array()) Fail("is " + Kind(*value_) + ", not a list");
  if (value_->size() > most) Fail(fmt::format("has {} items, more than {}", value_->size(), most));
  std::vector<JsonNode> items;
  for (std::size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], *file_, fmt::format("{}/{}", at_, i));
  return items;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::Members(std::size_t most) const {
  if (!value_->is_object()) Fail("is " + Kind(*value_) + ", not an object");
  if (value_->size() > most) Fail(fmt::format("has {} keys, more than {}", value_->size(), most));
  std::vector<std::pair<std::string, JsonNode>> members;
  for (const auto& [key, member] : value_->items()) {
    members.emplace_back(key, JsonNode(member, *file_, at_ + "/" + PointerKey(key)));
  }
  return members;
}

std::string JsonNode::Text() const {
  if (!value_->is_string()) Fail("is " + Kind(*value_) + ", not text");
  return value_->get<std::string>();
}

std::vector<std::string> JsonNode::Texts(std::size_t most) const {
  std::vector<std::string> texts;
  for (const JsonNode& item : Items(most)) texts.push_back(item.Text());
  return texts;
}

bool JsonNode::Flag() const {
  if (!value_->is_boolean()) Fail("is " + Kind(*value_) + ", not true or false");
  return value_->get<bool>();
}

std::int64_t JsonNode::Integer(std::int64_t low, std::int64_t high) const {
  if (!value_->is_number_integer()) Fail("is " + Kind(*value_) + " where a whole number is expected");
  const bool fits =
      !value_->is_number_unsigned() ||
      value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = fits ? value_->get<std::int64_t>() : 0;
  if (!fits || number < low || number > high) Fail(fmt::format("is not from {} to {}", low, high));
  return number;
}

double JsonNode::Number() const {
  if (!value_->is_number()) Fail("is " + Kind(*value_) + ", not a number");
  return value_->get<double>() + 0.0;  // the parser refuses numbers that are not finite; -0.0 becomes 0.0
}

}  // namespace fa_profile
