#include "markdown_text.h"

#include <algorithm>
#include <cctype>

#include "fa_profile/edit_text.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

bool IsHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool IsLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// "1.", "1)", "-", "+", "---": a first word that begins a list or is a horizontal line.
bool BeginsBlock(std::string_view word) {
  if (word.find_first_not_of("-+=") == std::string_view::npos) return true;
  const std::size_t digits = word.find_first_not_of("0123456789");
  return digits == word.size() - 1 && (word.back() == '.' || word.back() == ')');
}

/// Whether a word has no special meaning. `first`: it is the first in its line.
bool IsPlainWord(std::string_view word, bool first) {
  if (first && BeginsBlock(word)) return false;
  if (word == "->") return !first;
  const std::string lower = Lower(std::string(word));
  const auto allowed = [](char c) {
    return IsLetterOrDigit(c) || std::string_view(".,:;%()+-/'=?").find(c) != std::string_view::npos;
  };
  if (!std::ranges::all_of(lower, allowed)) return false;
  // Addresses; "GH-1"; "%1", a milestone of GitLab; ":name:", an emoji; 7 hexadecimal digits, a commit.
  if (lower.find("://") != std::string::npos || lower.find("www.") != std::string::npos) return false;
  if (lower.find("gh-") != std::string::npos) return false;
  if (lower.size() > 1 && lower[0] == '/') return false;
  if (lower[0] == '%' && lower.find_first_not_of(".,:;)", 1) != std::string::npos)
    return false;  // "5 %, 6 %)" is plain
  if (std::ranges::count(lower, ':') > 1) return false;
  std::size_t run = 0;
  for (const char c : lower) {
    run = IsHex(c) ? run + 1 : 0;
    if (run >= 7) return false;
  }
  return true;
}

/// Text that cannot end a code span.
std::string InSpan(const std::string& text) {
  std::string held;
  for (const char c : text) {
    if (c == '`') {
      held += '\'';
    } else if (c == '|') {
      held += "\xC2\xA6";  // a broken bar
    } else {
      held += c;
    }
  }
  return held;
}

}  // namespace

std::string MarkdownCode(std::string_view text, std::size_t most) {
  const std::string line = SafeLine(text, most);
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos) return "-";
  return std::string("`").append(InSpan(line.substr(first, line.find_last_not_of(' ') - first + 1))).append("`");
}

std::string MarkdownProse(std::string_view text, std::size_t most) {
  const std::string line = SafeLine(text, most);
  std::string prose, span;
  const auto close = [&] {
    if (!span.empty()) prose.append(prose.empty() ? "`" : " `").append(InSpan(span)).append("`");
    span.clear();
  };
  for (std::size_t start = 0; start < line.size();) {
    const std::size_t end = std::min(line.find(' ', start), line.size());
    const std::string word = line.substr(start, end - start);
    start = end + 1;
    if (word.empty()) continue;
    if (IsPlainWord(word, prose.empty() && span.empty())) {
      close();
      prose.append(prose.empty() ? "" : " ").append(word);
    } else {
      span.append(span.empty() ? "" : " ").append(word);
    }
  }
  close();
  return prose;
}

std::string MarkdownBlock(std::string_view line) {
  std::size_t longest = 2;  // the shortest fence has three
  std::size_t run = 0;
  for (const char c : line) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  std::string block = "\n";
  return block.append(fence).append("sh\n").append(line).append("\n").append(fence).append("\n");
}

}  // namespace fa_profile::gate
