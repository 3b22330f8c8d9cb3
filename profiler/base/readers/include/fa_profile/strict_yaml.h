#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// YAML as a person writes and reviews it, from a file that anybody may have changed. Anything that makes a file mean
/// something other than it shows, or cost more than its size, is refused: anchors, aliases, tags, several documents,
/// tabs, invisible and direction-changing characters, text that is not UTF-8, nesting. Errors are "file:line:column:
/// what".
class StrictYaml {
 public:
  /// `file`: its name in errors. `see`: the hint if there is no better one ("docs/x.md explains the file").
  StrictYaml(std::string file, std::string see) : file_(std::move(file)), see_(std::move(see)) {}

  /// The root. `text` is at most 1 MiB.
  YAML::Node Load(const std::string& text) const;

  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& message, const std::string& hint) const;
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& message, const std::string& hint) const {
    Fail(node.Mark(), message, hint);
  }

  struct Field {
    std::string key;
    std::function<void(const YAML::Node& value)> read;
  };
  /// Reads a mapping. Unknown and duplicate keys are errors. `what`: "a rule".
  void ReadMap(const YAML::Node& node, const std::string& what, const std::vector<Field>& fields) const;

  /// One line of at most `longest` characters that is not blank. A number, a truth value or
  /// null must be quoted to count as text.
  std::string Text(const YAML::Node& node, const std::string& what, std::size_t longest) const;

  const std::string& see() const { return see_; }

 private:
  void RequireVisibleText(std::string_view text) const;
  void RequirePlainStructure(const std::string& text) const;

  std::string file_;
  std::string see_;
};

/// 'text', shortened if long, without characters that a terminal would interpret.
std::string Quoted(const std::string& text);

/// Whether the node is a scalar without quotes.
bool IsPlain(const YAML::Node& node);

}  // namespace fa_profile
