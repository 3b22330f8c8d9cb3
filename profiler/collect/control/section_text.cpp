#include "section_text.h"

#include <cctype>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

constexpr int kMaxDepth = 100;                            // Nsight Compute's files need 12; recursion must end
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  // its largest file has 1.4 MB

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  // Fields up to `close`, which is consumed; at depth 0 up to the end of the text.
  void Fields(TextField& message, char close, int depth) {
    if (depth > kMaxDepth) Fail("messages are nested deeper than " + std::to_string(kMaxDepth));
    for (;;) {
      SkipBlanks();
      if (rest_.empty()) {
        if (depth > 0)
          Fail(std::string("the text ends where a '") + close + "' should close the message of line " +
               std::to_string(message.line));
        return;
      }
      if (depth > 0 && rest_.front() == close) {
        Take();
        return;
      }
      Field(message, depth);
      SkipBlanks();
      if (Next(',') || Next(';')) Take();
    }
  }

 private:
  void Field(TextField& parent, int depth) {
    const int line = line_;
    const std::string name(Word());
    if (name.empty()) Fail("a field name was expected, not " + Here());
    SkipBlanks();
    const bool colon = Next(':');
    if (colon) {
      Take();
      SkipBlanks();
    }
    if (!Next('[')) {
      Value(parent, name, line, colon, depth);
      return;
    }
    Take();
    for (SkipBlanks(); !Next(']'); SkipBlanks()) {
      Value(parent, name, line, true, depth);
      SkipBlanks();
      if (Next(',')) {
        Take();
      } else if (!Next(']')) {
        Fail("',' or ']' was expected in a list, not " + Here());
      }
    }
    Take();
  }

  void Value(TextField& parent, const std::string& name, int line, bool scalar_allowed, int depth) {
    TextField field;
    field.name = name;
    field.line = line;
    if (Next('{') || Next('<')) {
      field.is_message = true;
      const char close = Take() == '{' ? '}' : '>';
      Fields(field, close, depth + 1);
    } else if (!scalar_allowed) {
      Fail("':' or a message was expected after " + name + ", not " + Here());
    } else if (Next('"') || Next('\'')) {
      for (; Next('"') || Next('\''); SkipBlanks()) field.scalar += String();  // adjacent strings are one
    } else {
      field.scalar = Word();
      if (field.scalar.empty()) Fail("a value was expected for " + name + ", not " + Here());
    }
    parent.fields.push_back(std::move(field));
  }

  std::string String() {
    const char quote = Take();
    std::string value;
    while (!Next(quote)) {
      if (rest_.empty() || Next('\n')) Fail("a string does not end on its line");
      char c = Take();
      if (c == '\\' && !rest_.empty() && !Next('\n')) {
        c = Take();
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      value += c;
    }
    Take();
    return value;
  }

  // A field name, number or enumerator.
  std::string_view Word() {
    std::size_t size = 0;
    while (size < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 ||
                                   std::string_view("_.+-").find(rest_[size]) != std::string_view::npos)) {
      ++size;
    }
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }

  void SkipBlanks() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') {
        while (!rest_.empty() && rest_.front() != '\n') rest_.remove_prefix(1);
      } else if (std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
        Take();
      } else {
        return;
      }
    }
  }

  bool Next(char c) const { return !rest_.empty() && rest_.front() == c; }

  char Take() {
    const char c = rest_.front();
    if (c == '\n') ++line_;
    rest_.remove_prefix(1);
    return c;
  }

  std::string Here() const {
    if (rest_.empty()) return "the end of the text";
    const unsigned char c = static_cast<unsigned char>(rest_.front());
    return std::isprint(c) != 0 ? std::string("'") + rest_.front() + "'" : "byte " + std::to_string(c);
  }

  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(file_ + ":" + std::to_string(line_) + ": " + what,
                "is it a .section file of Nsight Compute (protobuf text format)?");
  }

  std::string_view rest_;
  const std::string& file_;
  int line_ = 1;
};

}  // namespace

std::string_view TextField::Scalar(std::string_view field) const {
  for (const TextField& candidate : fields) {
    if (candidate.name == field && !candidate.is_message) return candidate.scalar;
  }
  return {};
}

TextField ParseTextFormat(std::string_view text, const std::string& file) {
  if (text.size() > kMaxBytes) throw Error(file + ":1: the file is larger than 64 MB");
  TextField message;
  message.is_message = true;
  Parser(text, file).Fields(message, '\0', 0);
  return message;
}

}  // namespace fa_profile
