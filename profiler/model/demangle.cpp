#include "fa_profile/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace fa_profile {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kInternal = "_INTERNAL_";  // nvcc's scope of a file's own functions, with a hash of the file

// Behind the bracket that closes the one at `open`; the end of the text when none does. '<' and '>' may also compare:
// '>' closes only a '<' that no other bracket was opened after, and another bracket closes over a '<' that is open.
std::size_t Behind(std::string_view text, std::size_t open) {
  static constexpr std::string_view kOpening = "(<[{";
  static constexpr std::string_view kClosing = ")>]}";
  std::string opened;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (kOpening.find(text[i]) != std::string_view::npos) opened += text[i];
    const std::size_t kind = kClosing.find(text[i]);
    if (kind == std::string_view::npos || (text[i] == '>' && text[i - 1] == '-')) continue;
    while (text[i] != '>' && opened.size() > 1 && opened.back() == '<') opened.pop_back();
    if (opened.back() == kOpening[kind]) opened.pop_back();
    if (opened.empty()) return i + 1;
  }
  return text.size();
}

// Behind the operator's name that begins at `start`, which "operator" does.
std::size_t BehindOperator(std::string_view text, std::size_t start) {
  static constexpr std::string_view kSymbols[] = {
      "<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "==", "!=",
      "&&",  "||",  "++",  "--",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
      ">",   "=",   "!",   "+",   "-",  "*",  "/",  "%",  "^",  "&",  "|",  "~",  ","};
  std::size_t i = start + 8;
  for (const std::string_view symbol : kSymbols) {
    if (!text.substr(i).starts_with(symbol)) continue;
    i += symbol.size();
    return text.substr(i).starts_with(" <") ? i + 1 : i;  // "operator< <int>"
  }
  while (i < text.size() && text[i] != '(') i = text[i] == '<' ? Behind(text, i) : i + 1;  // "operator bool"
  return i;
}

// A function in its demangled name.
struct FoundName {
  std::size_t start = 0;      // of the name itself
  std::size_t arguments = 0;  // of its template
  std::size_t end = 0;        // of the name itself with them
  std::string path;           // with its scopes, without arguments of any kind
  bool has_spaces = false;
  bool has_parameters = false;
};

FoundName FindName(std::string_view text) {
  FoundName found;
  std::size_t scope = 0;  // where in the path the newest name begins
  const auto begin = [&](std::size_t at) {
    found.start = at;
    found.arguments = std::string_view::npos;
    scope = found.path.size();
  };
  begin(0);
  std::size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    const std::size_t from = i;
    if (i == found.start && rest.starts_with("operator") && rest.size() > 8 &&
        std::isalnum(static_cast<unsigned char>(rest[8])) == 0 && rest[8] != '_') {
      i = BehindOperator(text, i);
      found.path += text.substr(from, i - from);
      if (found.path.ends_with(' ')) found.path.pop_back();
    } else if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size();
      found.path += "anonymous";
    } else if (rest[0] == '(' && i > found.start) {
      std::size_t behind = Behind(text, i);
      if (text.substr(behind).starts_with(" const::")) behind += 6;
      if (!text.substr(behind).starts_with("::")) {
        found.has_parameters = true;
        break;
      }
      i = behind;  // the parameters of a function in which the name is local
    } else if (rest[0] == '(' || rest[0] == '<' || rest[0] == '[' || rest[0] == '{') {
      if (rest[0] == '<' && i > found.start) found.arguments = std::min(found.arguments, i);
      i = Behind(text, i);
      if (from == found.start) found.path += text.substr(from, i - from);
    } else if (rest.starts_with("::")) {
      i += 2;
      if (found.path.compare(scope, kInternal.size(), kInternal) == 0) {
        found.path.resize(scope);
      } else {
        found.path += "::";
      }
      begin(i);
    } else if (rest[0] == ' ') {
      ++i;
      found.path.clear();  // it was of the return type
      found.has_spaces = true;
      begin(i);
    } else {
      found.path += rest[0];
      ++i;
    }
  }
  found.end = std::min(i, text.size());
  found.arguments = std::min(found.arguments, found.end);
  return found;
}

}  // namespace

std::string Demangle(const char* symbol) {
  if (symbol == nullptr) return "?";
  if (std::string_view(symbol).substr(0, 2) != "_Z") return symbol;  // "f" would come back as a type: "float"
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::string(text.get()) : std::string(symbol);
}

std::string FunctionName(const std::string& demangled) {
  const FoundName found = FindName(demangled);
  return found.start == found.end ? demangled : demangled.substr(found.start, found.end - found.start);
}

std::string BaseName(const std::string& demangled) {
  const FoundName found = FindName(demangled);
  if (found.start == found.end) return demangled;
  std::string name = demangled.substr(found.start, found.arguments - found.start);
  if (name.ends_with(' ')) name.pop_back();
  return name;
}

std::string QualifiedName(const std::string& demangled) {
  FoundName found = FindName(demangled);
  const bool is_function = found.has_parameters || !found.has_spaces;
  if (!is_function || found.path.empty()) return demangled;
  return std::move(found.path);
}

std::string ShortName(const std::string& demangled, std::size_t most) {
  const std::string name = FunctionName(demangled);
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool scope = name[i] == ':' && i + 1 < name.size() && name[i + 1] == ':';
    if (!scope) {
      text += name[i];
      continue;
    }
    ++i;
    // The function that a lambda is in tells more than the lambda.
    if (name.compare(i + 1, 7, "{lambda") == 0) {
      text += "::";
    } else if (text.ends_with(kAnonymous)) {
      text.resize(text.size() - kAnonymous.size());
    } else {
      while (!text.empty() && (std::isalnum(static_cast<unsigned char>(text.back())) != 0 || text.back() == '_')) {
        text.pop_back();
      }
    }
  }
  if (text.size() <= most) return text;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : demangled) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string tail = "~";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) tail += kDigits[((hash ^ (hash >> 16U)) >> shift) & 15U];
  return text.substr(0, most - std::min(most, tail.size())) + tail;
}

}  // namespace fa_profile
