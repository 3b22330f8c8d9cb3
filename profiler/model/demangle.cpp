#include "fa_profile/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace fa_profile {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

// Behind the bracket that closes the one at `open`; the end of the text when none does.
std::size_t Behind(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || (c == '>' && text[i - 1] != '-') || c == ']' || c == '}') --depth;
    if (depth == 0) return i + 1;
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

// Where in a demangled name the function's own begins, its template arguments begin, and it ends.
struct NamePlace {
  std::size_t start = 0;
  std::size_t arguments = 0;
  std::size_t end = 0;
};

NamePlace FindName(std::string_view text) {
  NamePlace place;
  const auto begin = [&place](std::size_t at) { place = {at, std::string_view::npos, 0}; };
  begin(0);
  std::size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    if (i == place.start && rest.starts_with("operator") && rest.size() > 8 &&
        std::isalnum(static_cast<unsigned char>(rest[8])) == 0 && rest[8] != '_') {
      i = BehindOperator(text, i);
    } else if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size();
    } else if (rest[0] == '(' && i > place.start) {
      std::size_t behind = Behind(text, i);
      if (text.substr(behind).starts_with(" const::")) behind += 6;
      if (!text.substr(behind).starts_with("::")) break;
      i = behind;  // the parameters of a function in which the name is local
    } else if (rest[0] == '(' || rest[0] == '<' || rest[0] == '[' || rest[0] == '{') {
      if (rest[0] == '<' && i > place.start) place.arguments = std::min(place.arguments, i);
      i = Behind(text, i);
    } else if (rest.starts_with("::") || rest[0] == ' ') {
      i += rest[0] == ' ' ? 1 : 2;
      begin(i);
    } else {
      ++i;
    }
  }
  place.end = std::min(i, text.size());
  place.arguments = std::min(place.arguments, place.end);
  return place;
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
  const NamePlace place = FindName(demangled);
  return place.start == place.end ? demangled : demangled.substr(place.start, place.end - place.start);
}

std::string BaseName(const std::string& demangled) {
  const NamePlace place = FindName(demangled);
  if (place.start == place.end) return demangled;
  std::string name = demangled.substr(place.start, place.arguments - place.start);
  if (name.ends_with(' ')) name.pop_back();
  return name;
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
