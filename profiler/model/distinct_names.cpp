#include "fa_profile/distinct_names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "fa_profile/demangle.h"

namespace fa_profile {
namespace {

constexpr int kDeepestTakenApart = 32;  // nesting of arguments that are split; deeper ones are compared as text

/// A type or value, and its template arguments.
struct Node {
  std::string head;  // without namespaces
  std::vector<Node> arguments;
};

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// "half_t" for "cutlass::half_t", "1" for "(bool)1"; a scope in brackets is left alone.
std::string WithoutNamespaces(std::string_view text) {
  const std::size_t cast = text.starts_with('(') ? text.find(')') : std::string_view::npos;
  if (cast != std::string_view::npos && cast + 1 < text.size() && text[cast + 1] != ':') text.remove_prefix(cast + 1);
  const std::size_t bracket = std::min(text.find_first_of("(<[{"), text.size());
  const std::size_t scope = text.substr(0, bracket).rfind("::");
  return std::string(scope == std::string_view::npos ? text : text.substr(scope + 2));
}

Node Parse(std::string_view text, int depth = 0) {
  text = Trimmed(text);
  const std::size_t open = text.find('<');
  if (depth == kDeepestTakenApart || open == std::string_view::npos || !text.ends_with('>'))
    return {WithoutNamespaces(text), {}};
  Node node{WithoutNamespaces(Trimmed(text.substr(0, open))), {}};
  int nested = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = begin; i + 1 < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(' || text[i] == '{' || text[i] == '[') ++nested;
    if (text[i] == '>' || text[i] == ')' || text[i] == '}' || text[i] == ']') --nested;
    if (nested < 0) return {WithoutNamespaces(text), {}};  // "a<b>::c<d>", or '>' compares
    if (text[i] != ',' || nested > 0) continue;
    node.arguments.push_back(Parse(text.substr(begin, i - begin), depth + 1));
    begin = i + 1;
  }
  node.arguments.push_back(Parse(text.substr(begin, text.size() - 1 - begin), depth + 1));
  return node;
}

std::string TextOf(const Node& node) {
  std::string text = node.head;
  for (std::size_t i = 0; i < node.arguments.size(); ++i) text += (i == 0 ? "<" : ",") + TextOf(node.arguments[i]);
  return node.arguments.empty() ? text : text + ">";
}

/// Skips templates whose name says nothing: CUTLASS' and FlashAttention's shells around the kernel's own class.
const Node* Unwrapped(const Node* node) {
  const auto is_wrapper = [](const std::string& head) {
    return head == "device_kernel" || head == "Kernel" || head == "Kernel2" || head.starts_with("enable_sm");
  };
  while (is_wrapper(node->head) && node->arguments.size() == 1 && !node->arguments.front().arguments.empty()) {
    node = &node->arguments.front();
  }
  return node;
}

using Texts = std::vector<std::string>;  // one per kernel

/// Adds the arguments in which nodes differ.
void AddDifferences(const std::vector<const Node*>& nodes, std::vector<Texts>& differences) {
  const Node& first = *nodes.front();
  const bool alike = std::ranges::all_of(nodes, [&](const Node* node) {
    return node->head == first.head && node->arguments.size() == first.arguments.size();
  });
  if (!alike) {
    Texts texts;
    for (const Node* const node : nodes) texts.push_back(TextOf(*node));
    if (std::ranges::find(differences, texts) == differences.end()) differences.push_back(std::move(texts));
    return;
  }
  for (std::size_t i = 0; i < first.arguments.size(); ++i) {
    std::vector<const Node*> arguments;
    for (const Node* const node : nodes) arguments.push_back(&node->arguments[i]);
    AddDifferences(arguments, differences);
  }
}

}  // namespace

std::map<std::string, std::string> DistinctNames(const std::vector<std::string>& demangled) {
  std::map<std::string, Node> roots;
  for (const std::string& name : demangled) roots.try_emplace(name, Parse(FunctionName(name)));
  struct Group {
    std::vector<const std::string*> names;
    std::vector<const Node*> nodes;
  };
  std::map<std::pair<std::string, std::size_t>, Group> groups;  // by name and number of arguments
  for (const auto& [name, root] : roots) {
    const Node* const node = Unwrapped(&root);
    Group& group = groups[{node->head, node->arguments.size()}];
    group.names.push_back(&name);
    group.nodes.push_back(node);
  }
  std::map<std::string, std::string> labels;
  for (const auto& [key, group] : groups) {
    std::vector<Texts> differences;
    AddDifferences(group.nodes, differences);
    for (std::size_t kernel = 0; kernel < group.names.size(); ++kernel) {
      std::string& label = labels[*group.names[kernel]];
      label = key.first;
      for (std::size_t i = 0; i < differences.size(); ++i) label += (i == 0 ? "<" : ",") + differences[i][kernel];
      if (!differences.empty()) label += ">";
    }
  }
  return labels;
}

}  // namespace fa_profile
