#include "fa_profile/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "fa_profile/error.h"
#include "fa_profile/text.h"
#include "fa_profile/utf8.h"

namespace fa_profile::top {
namespace {

constexpr std::size_t kShownOfALine = 60;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = DecodeUtf8(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

/// A number as Go writes and reads it: 1.5, 1e+06, +Inf, NaN. Absent: it is none.
std::optional<double> ParseNumber(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+')) return std::nullopt;
  double value = 0.0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc::result_out_of_range) return std::nullopt;
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// What is left of a line. Each function takes what it names from its front, and gives false where that is not there.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  bool TakeSample(MetricSample& sample) {
    if (!TakeName(sample.name, /*colons=*/true)) return false;
    SkipBlanks();
    if (Take('{') && !TakeLabels(sample.labels)) return false;
    if (!TakeNumber(sample.value)) return false;
    SkipBlanks();
    return rest_.empty() || TakeTimestamp();
  }

 private:
  void SkipBlanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool TakeName(std::string& name, bool colons) {
    std::size_t end = 0;
    while (end < rest_.size() &&
           (IsLetter(rest_[end]) || (colons && rest_[end] == ':') || (end > 0 && IsDigit(rest_[end])))) {
      ++end;
    }
    name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return end > 0;
  }

  bool TakeLabels(std::map<std::string, std::string>& labels) {
    for (bool first = true;; first = false) {
      SkipBlanks();
      if (Take('}')) return true;
      if (!first && !Take(',')) return false;
      SkipBlanks();
      if (!first && Take('}')) return true;  // a comma may end the list
      std::string name;
      std::string value;
      if (!TakeName(name, /*colons=*/false)) return false;
      SkipBlanks();
      if (!Take('=')) return false;
      SkipBlanks();
      if (!TakeQuoted(value) || !labels.emplace(std::move(name), std::move(value)).second) return false;
    }
  }

  bool TakeQuoted(std::string& value) {
    if (!Take('"')) return false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\') {
        value += c;
      } else if (!TakeEscaped(value)) {
        return false;
      }
    }
    return false;
  }

  bool TakeEscaped(std::string& value) {
    if (Take('n')) {
      value += '\n';
    } else if (Take('\\')) {
      value += '\\';
    } else if (Take('"')) {
      value += '"';
    } else {
      return false;
    }
    return true;
  }

  std::string_view TakeWord() {
    SkipBlanks();
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t"));
    rest_.remove_prefix(word.size());
    return word;
  }

  bool TakeNumber(double& value) {
    const auto number = ParseNumber(TakeWord());
    if (number) value = *number;
    return number.has_value();
  }

  bool TakeTimestamp() {
    const std::string_view word = TakeWord();
    std::int64_t time = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), time);
    SkipBlanks();
    return failed == std::errc() && end == word.data() + word.size() && rest_.empty();
  }

  std::string_view rest_;
};

}  // namespace

const std::string& MetricSample::Label(const std::string& label) const {
  static const std::string kNone;
  const auto found = labels.find(label);
  return found == labels.end() ? kNone : found->second;
}

void ReadMetricsText(std::string_view text, const std::function<void(const MetricSample&)>& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    MetricSample sample;
    if (!IsUtf8(line) || !Line(line.substr(begin)).TakeSample(sample)) {
      throw Error("line " + std::to_string(number) +
                      " is not a metric: " + Truncate(Printable(line.substr(0, 4 * kShownOfALine)), kShownOfALine),
                  "the page must have Prometheus's text format");
    }
    take(sample);
  }
}

}  // namespace fa_profile::top
