#include "fa_profile/strict_yaml.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "fa_profile/error.h"
#include "fa_profile/utf8.h"

namespace fa_profile {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr int kDeepest = 8;
constexpr int kMostNodes = 100'000;
constexpr const char* kQuoteStar = "a pattern that begins with * has to be quoted: \"*\"";

/// Controls, and characters that are invisible or change the text's direction: a reviewer would not see them.
bool IsInvisible(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || c >= 0xE0000;
}

/// Whether YAML 1.2 (core schema) reads an unquoted scalar as something other than text.
bool IsNoText(const std::string& text) {
  static const RE2 kNoText(
      R"(~?|null|Null|NULL|true|True|TRUE|false|False|FALSE)"
      R"(|[-+]?(\.(inf|Inf|INF|nan|NaN|NAN)|0[xo][0-9a-fA-F]*|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?))");
  return RE2::FullMatch(text, kNoText);
}

/// Checks the file as it is parsed, before anything is built from it.
class StructureCheck final : public YAML::EventHandler {
 public:
  explicit StructureCheck(const StrictYaml& yaml) : yaml_(yaml) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) yaml_.Fail(mark, "only one YAML document is expected", "remove what follows the first");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { CheckNode(mark, "?", anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    yaml_.Fail(mark, "aliases (*name) are not allowed", std::string(kQuoteStar) + "; otherwise write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string&) override {
    CheckNode(mark, tag, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    CheckNode(mark, tag, anchor);
    Deeper(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    CheckNode(mark, tag, anchor);
    Deeper(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void CheckNode(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) yaml_.Fail(mark, "anchors (&name) are not allowed", "write the value out where it is used");
    if (!tag.empty() && tag != "?" && tag != "!") yaml_.Fail(mark, "tags (!name) are not allowed", "remove it");
    if (++nodes_ > kMostNodes) yaml_.Fail(mark, "the file has too many values", yaml_.see());
  }
  void Deeper(const YAML::Mark& mark) {
    if (++depth_ > kDeepest) yaml_.Fail(mark, "lists and mappings are nested too deeply", yaml_.see());
  }

  const StrictYaml& yaml_;
  int documents_ = 0;
  int depth_ = 0;
  int nodes_ = 0;
};

}  // namespace

std::string Quoted(const std::string& text) {
  constexpr std::size_t kShown = 40;
  std::string shown = "'";
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character character = DecodeUtf8(rest);
    if (shown.size() > kShown) return shown + "...'";
    // Bytes that are not UTF-8 have the code point 0, which is a control.
    shown += IsInvisible(character.code_point) ? "\xEF\xBF\xBD" : rest.substr(0, character.bytes);
    rest.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return shown + "'";
}

bool IsPlain(const YAML::Node& node) { return node.IsScalar() && node.Tag() == "?"; }

void StrictYaml::Fail(const YAML::Mark& mark, const std::string& message, const std::string& hint) const {
  if (mark.is_null()) throw Error(file_ + ": " + message, hint);
  throw Error(fmt::format("{}:{}:{}: {}", file_, mark.line + 1, mark.column + 1, message), hint);
}

void StrictYaml::RequireVisibleText(std::string_view text) const {
  YAML::Mark mark;
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    if (character.bytes == 0) Fail(mark, "is not UTF-8", "save the file in UTF-8");
    const bool line_break = character.code_point == '\n' || text.starts_with("\r\n");
    if (character.code_point == '\t') Fail(mark, "contains a tab", "replace it with spaces");
    if (!line_break && IsInvisible(character.code_point)) {
      Fail(mark, fmt::format("contains the invisible character U+{:04X}", character.code_point),
           "remove it: a reviewer cannot see it");
    }
    mark.column = character.code_point == '\n' ? 0 : mark.column + 1;
    mark.line += character.code_point == '\n' ? 1 : 0;
    text.remove_prefix(character.bytes);
  }
}

// Not YAML::LoadAll(): yaml-cpp 0.7 makes endless documents from some texts (",0").
void StrictYaml::RequirePlainStructure(const std::string& text) const {
  StructureCheck check(*this);
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  (void)parser.HandleNextDocument(check);
  (void)parser.HandleNextDocument(check);
}

YAML::Node StrictYaml::Load(const std::string& text) const {
  if (text.size() > kLargestFile) throw Error(file_ + " is larger than 1 MiB", see_);
  RequireVisibleText(text);
  try {
    RequirePlainStructure(text);
    return YAML::Load(text);
  } catch (const YAML::Exception& problem) {
    const bool of_star = problem.msg.find("alias") != std::string::npos ||  //
                         problem.msg.find("anchor") != std::string::npos;
    Fail(problem.mark, "is not YAML: " + problem.msg, of_star ? kQuoteStar : see_);
  }
}

void StrictYaml::ReadMap(const YAML::Node& node, const std::string& what, const std::vector<Field>& fields) const {
  std::vector<std::string> keys;
  for (const Field& field : fields) keys.push_back(field.key);
  const std::string hint = fmt::format("{} can have {}", what, fmt::join(keys, ", "));
  if (!node.IsMap()) Fail(node, what + " must be a mapping", hint);
  std::set<std::string> seen;
  for (const auto& item : node) {
    if (!item.first.IsScalar()) Fail(item.first, "a key must be text", hint);
    const std::string& key = item.first.Scalar();
    const auto field = std::ranges::find(fields, key, &Field::key);
    if (field == fields.end()) Fail(item.first, "unknown key " + Quoted(key) + DidYouMean(key, keys), hint);
    if (!seen.insert(key).second) Fail(item.first, "duplicate key " + Quoted(key), "keep one of them");
    field->read(item.second);
  }
}

std::string StrictYaml::Text(const YAML::Node& node, const std::string& what, std::size_t longest) const {
  const std::string hint = what + " is text; quote it if it looks like a number";
  if (!node.IsScalar() || (IsPlain(node) && IsNoText(node.Scalar()))) Fail(node, what + " must be text", hint);
  std::size_t length = 0;
  for (std::string_view rest = node.Scalar(); !rest.empty(); ++length) {
    const Utf8Character character = DecodeUtf8(rest);
    if (IsInvisible(character.code_point)) {  // "\n" in quotes, or in a block
      Fail(node, what + " contains a line break or another invisible character", "write it on one line");
    }
    rest.remove_prefix(character.bytes);
  }
  if (node.Scalar().find_first_not_of(' ') == std::string::npos) Fail(node, what + " is empty", hint);
  if (length > longest) Fail(node, fmt::format("{} is longer than {} characters", what, longest), "shorten it");
  return node.Scalar();
}

}  // namespace fa_profile
