#include "section_text.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "fa_profile/error.h"

namespace fa_profile::collect {
namespace {

constexpr int kMaxDepth = 100;  // Nsight Compute's files need 12; recursion must end

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : rest_(text), file_(file) { Advance(); }

  // Fields up to `close`, which is consumed; at depth 0 up to the end of the text.
  void Fields(TextField& message, char close, int depth) {
    if (depth > kMaxDepth) Fail("messages are nested deeper than " + std::to_string(kMaxDepth));
    while (depth == 0 || !Skip(close)) {
      if (token_.empty() && depth == 0) return;
      if (token_.empty()) {
        Fail(std::string("the text ends where a '") + close + "' should close the message of line " +
             std::to_string(message.line));
      }
      Field(message, depth);
      if (!Skip(',')) Skip(';');
    }
  }

 private:
  void Field(TextField& parent, int depth) {
    TextField field;
    field.line = line_;
    field.name = Word("a field name was expected");
    const bool colon = Skip(':');
    if (!Skip('[')) return Value(parent, field, colon, depth);
    while (!Skip(']')) {
      Value(parent, field, true, depth);
      if (!Skip(',') && token_ != "]") Fail("',' or ']' was expected in a list, not " + Here());
    }
  }

  // `field` has its name and line.
  void Value(TextField& parent, TextField field, bool scalar_allowed, int depth) {
    if (token_ == "{" || token_ == "<") {
      field.is_message = true;
      const char close = token_ == "{" ? '}' : '>';
      Advance();
      Fields(field, close, depth + 1);
    } else if (!scalar_allowed) {
      Fail("':' or a message was expected after " + field.name + ", not " + Here());
    } else if (IsString()) {
      for (; IsString(); Advance()) field.scalar += Unquoted();  // adjacent strings are one
    } else {
      field.scalar = Word("a value was expected for " + field.name);
    }
    parent.fields.push_back(std::move(field));
  }

  bool IsString() const { return token_.starts_with('"') || token_.starts_with('\''); }

  std::string Unquoted() const {
    if (token_.size() < 2) Fail("a string does not end on its line");
    std::string value;
    for (std::size_t i = 1; i + 1 < token_.size(); ++i) {
      const bool escaped = token_[i] == '\\';
      const char c = token_[escaped ? ++i : i];
      value += escaped && c == 'n' ? '\n' : escaped && c == 't' ? '\t' : c;
    }
    return value;
  }

  // A field name, number or enumerator.
  std::string Word(const std::string& expected) {
    const bool is_word = !token_.empty() && (std::isalnum(static_cast<unsigned char>(token_[0])) != 0 ||
                                             std::string_view("_.+-").find(token_[0]) != std::string_view::npos);
    if (!is_word) Fail(expected + ", not " + Here());
    std::string word(token_);
    Advance();
    return word;
  }

  bool Skip(char c) {
    if (token_ != std::string_view(&c, 1)) return false;
    Advance();
    return true;
  }

  // To the next token: a word, a string, another character; nothing at the end of the text.
  void Advance() {
    re2::StringPiece blanks;
    re2::StringPiece token;
    re2::StringPiece rest(rest_);
    (void)RE2::Consume(&rest, next_, &blanks, &token);  // matches whatever comes
    line_ += static_cast<int>(std::ranges::count(blanks, '\n'));
    token_ = {token.data(), token.size()};
    rest_.remove_prefix(blanks.size() + token.size());
  }

  std::string Here() const {
    if (token_.empty()) return "the end of the text";
    const unsigned char c = static_cast<unsigned char>(token_.front());
    return std::isprint(c) != 0 ? std::string("'") + token_.front() + "'" : "byte " + std::to_string(c);
  }

  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(file_ + ":" + std::to_string(line_) + ": " + what,
                "is it a .section file of Nsight Compute (protobuf text format)?");
  }

  const RE2 next_{R"(((?:[\s\v]|#[^\n]*)*)([\w.+-]+|"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'|(?s:.))?)",
                  RE2::Latin1};
  std::string_view rest_;
  std::string_view token_;
  const std::string& file_;
  int line_ = 1;  // of the token
};

}  // namespace

std::string_view TextField::Scalar(std::string_view field) const {
  for (const TextField& candidate : fields) {
    if (candidate.name == field && !candidate.is_message) return candidate.scalar;
  }
  return {};
}

TextField ParseTextFormat(std::string_view text, const std::string& file) {
  TextField message;
  message.is_message = true;
  Parser(text, file).Fields(message, '\0', 0);
  return message;
}

}  // namespace fa_profile::collect
