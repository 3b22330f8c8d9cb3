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
constexpr std::string_view kInternal = "_INTERNAL_";  // nvcc's scope for a file's own functions, with a hash of the
                                                      // file

// The position after the bracket that closes the one at `open`; the end of the text if none does. '<' and '>' may also
// compare: '>' only closes a '<' after which no other bracket was opened, and another bracket may close while a '<' is
// open.
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

// The position after the operator name that begins at `start` with "operator".
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
  std::size_t start = 0;      // start of the name itself
  std::size_t arguments = 0;  // start of its template arguments
  std::size_t end = 0;        // end of the name itself including them
  std::string path;           // with its scopes, without arguments of any kind
  bool has_spaces = false;
  bool has_parameters = false;
};

/// Reads a demangled name from left to right: return type, scopes, the function, its parameters.
class NameReader {
 public:
  explicit NameReader(std::string_view text) : text_(text) { BeginName(0); }

  FoundName Read() {
    while (at_ < text_.size() && !found_.has_parameters) ReadPart();
    found_.end = std::min(at_, text_.size());
    found_.arguments = std::min(found_.arguments, found_.end);
    return std::move(found_);
  }

 private:
  void ReadPart() {
    const std::string_view rest = text_.substr(at_);
    if (IsOperator(rest)) {
      ReadOperator();
    } else if (rest.starts_with(kAnonymous)) {
      at_ += kAnonymous.size();
      found_.path += "anonymous";
    } else if (rest[0] == '(' && at_ > found_.start) {
      ReadParameters();
    } else if (rest[0] == '(' || rest[0] == '<' || rest[0] == '[' || rest[0] == '{') {
      ReadBrackets();
    } else if (rest.starts_with("::")) {
      EndScope();
    } else if (rest[0] == ' ') {
      found_.path.clear();  // the path so far was the return type's
      found_.has_spaces = true;
      BeginName(at_ + 1);
    } else {
      found_.path += rest[0];
      ++at_;
    }
  }

  void BeginName(std::size_t at) {
    at_ = at;
    found_.start = at;
    found_.arguments = std::string_view::npos;
    scope_ = found_.path.size();
  }

  bool IsOperator(std::string_view rest) const {
    constexpr std::size_t kWord = 8;  // "operator"
    return at_ == found_.start && rest.starts_with("operator") && rest.size() > kWord &&
           std::isalnum(static_cast<unsigned char>(rest[kWord])) == 0 && rest[kWord] != '_';
  }

  void ReadOperator() {
    const std::size_t from = at_;
    at_ = BehindOperator(text_, at_);
    found_.path += text_.substr(from, at_ - from);
    if (found_.path.ends_with(' ')) found_.path.pop_back();
  }

  // Reads the function's own parameters, or those of a function in which the name is local.
  void ReadParameters() {
    std::size_t behind = Behind(text_, at_);
    if (text_.substr(behind).starts_with(" const::")) behind += 6;
    found_.has_parameters = !text_.substr(behind).starts_with("::");
    if (!found_.has_parameters) at_ = behind;
  }

  void ReadBrackets() {
    const std::size_t from = at_;
    if (text_[at_] == '<' && at_ > found_.start) found_.arguments = std::min(found_.arguments, at_);
    at_ = Behind(text_, at_);
    if (from == found_.start) found_.path += text_.substr(from, at_ - from);
  }

  void EndScope() {
    if (found_.path.compare(scope_, kInternal.size(), kInternal) == 0) {
      found_.path.resize(scope_);
    } else {
      found_.path += "::";
    }
    BeginName(at_ + 2);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t scope_ = 0;  // where in the path the newest name begins
  FoundName found_;
};

FoundName FindName(std::string_view text) { return NameReader(text).Read(); }

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
    // The function that contains a lambda says more than the lambda.
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
