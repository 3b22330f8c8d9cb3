#include "fa_profile/ptx.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "fa_profile/host_code.h"
#include "fa_profile/text.h"

namespace fa_profile::sass {
namespace {

bool IsNameByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }
bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Without comments. A path in quotes may have "//".
std::string WithoutComments(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      i += end == std::string_view::npos ? rest.size() : end + 2;
      kept += ' ';
    } else if (rest[0] == '"') {
      const std::size_t end = std::min(rest.find_first_of("\"\n", 1), rest.size() - 1);
      kept += rest.substr(0, end + 1);
      i += end + 1;
    } else {
      kept += rest[0];
      ++i;
    }
  }
  return kept;
}

/// Lines that only say where code comes from, or for whom the file is.
bool IsDropped(std::string_view line) {
  constexpr std::array<std::string_view, 8> kBegins = {".loc",          ".file",   ".version",       ".target",
                                                       ".address_size", "$L__tmp", "$L__func_begin", "$L__func_end"};
  const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
  return std::ranges::any_of(kBegins, [&](std::string_view word) { return line.substr(begin).starts_with(word); });
}

/// One space between words, and no numbers that change when a kernel is added in front: "$L__BB7_2", "__local_depot7".
std::string Plain(std::string_view text) {
  constexpr std::array<std::string_view, 2> kNumbered = {"$L__BB", "__local_depot"};
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    if (IsSpace(text[i])) {
      if (!plain.empty() && plain.back() != ' ') plain += ' ';
      ++i;
      continue;
    }
    const auto word =
        std::ranges::find_if(kNumbered, [&](std::string_view begin) { return text.substr(i).starts_with(begin); });
    if (word == kNumbered.end()) {
      plain += text[i++];
      continue;
    }
    plain += *word;
    for (i += word->size(); i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;) ++i;
  }
  HidePathHashes(plain);
  return plain;
}

/// A function or variable of a file.
struct Item {
  std::string name;
  bool is_kernel = false;
  bool is_function = false;  ///< with a body, and not a kernel
  std::uint64_t hash = 0;
  std::set<std::string, std::less<>> words;  ///< names in its text
};

std::string NameAt(std::string_view text, std::size_t at) {
  while (at < text.size() && !IsNameByte(text[at])) ++at;
  std::size_t end = at;
  while (end < text.size() && IsNameByte(text[end])) ++end;
  return std::string(text.substr(at, end - at));
}

std::string VariableName(std::string_view text) {
  std::size_t end = std::min(text.find_first_of("[=;"), text.size());
  while (end > 0 && !IsNameByte(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && IsNameByte(text[begin - 1])) --begin;
  return std::string(text.substr(begin, end - begin));
}

/// `text`: as it is in the file.
Item ItemOf(std::string_view text) {
  Item item;
  const std::string_view head = text.substr(0, text.find('{'));
  constexpr std::string_view kEntry = ".entry";
  constexpr std::string_view kFunction = ".func";
  if (const std::size_t entry = head.find(kEntry); entry != std::string_view::npos) {
    item.is_kernel = head.size() < text.size();
    item.name = NameAt(text, entry + kEntry.size());
  } else if (const std::size_t function = head.find(kFunction); function != std::string_view::npos) {
    item.is_function = head.size() < text.size();
    std::size_t at = function + kFunction.size();
    while (at < head.size() && IsSpace(head[at])) ++at;
    if (at < head.size() && head[at] == '(') at = std::min(head.find(')', at), head.size());  // what it returns
    item.name = NameAt(text, at);
  } else {
    item.name = VariableName(head);
  }
  item.hash = Fnv1a(Plain(text));
  for (std::size_t i = 0; i < text.size();) {
    if (!IsNameByte(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && IsNameByte(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    if (std::isdigit(static_cast<unsigned char>(word[0])) == 0 && word != item.name && !item.words.contains(word)) {
      item.words.emplace(word);
    }
    i = end;
  }
  return item;
}

std::vector<Item> ItemsOf(const std::string& text) {
  std::vector<Item> items;
  std::string current;
  int depth = 0;
  bool is_value = false;  // the braces belong to a variable
  const auto end_item = [&] {
    const std::size_t begin = std::min(current.find_first_not_of(" \t\r\n;"), current.size());
    const std::string_view item = std::string_view(current).substr(begin);
    if (!item.empty() && !item.starts_with(".section")) items.push_back(ItemOf(item));
    current.clear();
    is_value = false;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end;
    if (IsDropped(line)) continue;
    for (const char c : line) {
      current += c;
      if (c == '{') ++depth;
      if (c == '=' && depth == 0) is_value = true;
      if (c == '}') depth = std::max(depth - 1, 0);
      if (depth == 0 && (c == ';' || (c == '}' && !is_value))) end_item();
    }
  }
  end_item();
  return items;
}

}  // namespace

std::vector<PtxKernel> ReadPtx(std::string_view text) {
  const std::vector<Item> items = ItemsOf(WithoutComments(text));
  std::multimap<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < items.size(); ++i) by_name.emplace(items[i].name, i);
  std::set<std::size_t> used;
  const auto hash_from = [&](std::vector<std::size_t> open) {
    std::set<std::size_t> reached(open.begin(), open.end());
    const std::size_t first = open.front();
    while (!open.empty()) {
      const Item& item = items[open.back()];
      open.pop_back();
      for (const std::string& word : item.words) {
        for (auto [found, last] = by_name.equal_range(word); found != last; ++found) {
          if (reached.insert(found->second).second) open.push_back(found->second);
        }
      }
    }
    used.insert(reached.begin(), reached.end());
    std::vector<std::string> hashes;
    for (const std::size_t i : reached) {
      if (i != first) hashes.push_back(std::to_string(items[i].hash));
    }
    std::ranges::sort(hashes);
    std::string all = std::to_string(items[first].hash);
    for (const std::string& hash : hashes) all += " " + hash;
    return Fnv1a(all);
  };
  std::vector<PtxKernel> kernels;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_kernel) kernels.push_back({items[i].name, hash_from({i})});
  }
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_function && !used.contains(i)) rest.push_back(i);
  }
  if (!rest.empty()) kernels.push_back({"", hash_from(std::move(rest))});
  return kernels;
}

}  // namespace fa_profile::sass
