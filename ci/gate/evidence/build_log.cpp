#include "build_log.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "fa_profile/demangle.h"

namespace fa_profile {
namespace {

constexpr std::size_t kMostText = 300;
constexpr std::size_t kMostLine = 8192;  // nvcc's command lines are long; the rest is ignored
constexpr auto kNone = std::string_view::npos;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

std::string_view FileName(std::string_view path) { return path.substr(path.find_last_of("/\\") + 1); }

// Without colours (ESC [ ... letter) and other control characters; non-ASCII bytes become '?'.
std::string Plain(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < std::min(line.size(), kMostLine); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
    } else if (static_cast<unsigned char>(line[i]) >= 0x7f) {
      plain += '?';
    } else if (line[i] >= ' ' || line[i] == '\t') {
      plain += line[i];
    }
  }
  return plain;
}

// The text after `what`; empty: not found.
std::string_view Behind(std::string_view line, std::string_view what) {
  const std::size_t at = line.find(what);
  return at == kNone ? std::string_view() : line.substr(at + what.size());
}

// The text between a pair of quotes; empty: no quotes.
std::string_view Quoted(std::string_view text) {
  const std::size_t open = text.find('\'');
  const std::size_t close = open == kNone ? kNone : text.find('\'', open + 1);
  return close == kNone ? std::string_view() : text.substr(open + 1, close - open - 1);
}

int ToInt(std::string_view digits) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// "[3/9] Building CUDA object tests/x.dir/wmma.cu.o", or nvcc's own command line with its source.
std::string UnitOf(std::string_view line) {
  if (const std::string_view object = Behind(line, "Building CUDA object "); !object.empty()) {
    const std::string_view name = FileName(Trim(object));
    return std::string(name.substr(0, name.rfind(".o")));
  }
  if (line.find("nvcc") == kNone) return {};
  std::string_view rest = line;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word.ends_with(".cu")) return std::string(FileName(word));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

// Warnings with a place: "x.cu(12): warning #177-D: text", "warning: x.hpp(91): Warning: text". The line number is not
// part of the text: every edit above changes it.
bool ReadPlaced(std::string_view line, CompilerWarning& warning) {
  std::size_t colon = line.find("): warning");
  if (colon == kNone) colon = line.find("): Warning");
  if (colon == kNone) return false;
  const std::size_t open = line.rfind('(', colon);
  if (open == kNone) return false;
  std::string_view path = Trim(line.substr(0, open));
  if (path.starts_with("warning: ")) path.remove_prefix(9);
  if (const std::size_t blank = path.rfind(' '); blank != kNone) path.remove_prefix(blank + 1);  // a log's time stamp
  constexpr std::size_t kWord = std::string_view("): warning").size();
  std::string_view text = Trim(line.substr(colon + kWord));
  if (text.starts_with(":")) text = Trim(text.substr(1));
  if (path.empty() || text.empty()) return false;
  warning.file = path;
  warning.line = ToInt(line.substr(open + 1, colon - open - 1));
  warning.text = std::string(FileName(path)).append(": ").append(text);
  return true;
}

// "ptxas warning : text", "ptxas x.ptx, line 9; warning : text", and ptxas's notes of lost performance.
bool ReadTool(std::string_view line, CompilerWarning& warning) {
  for (const std::string_view tool : {std::string_view("ptxas"), std::string_view("nvlink")}) {
    const std::size_t at = line.find(tool);
    if (at == kNone) continue;
    const std::string_view rest = line.substr(at + tool.size());
    std::string_view text = Trim(Behind(rest, "warning :"));
    if (text.empty()) text = Trim(Behind(rest, "warning:"));
    if (text.empty()) {
      const std::size_t loss = rest.find("Potential Performance Loss");
      if (loss == kNone) return false;
      text = Trim(rest.substr(loss));
    }
    warning.text = text;
    const std::string_view quoted = Quoted(text);
    if (!quoted.empty()) {
      warning.symbol = quoted;
      warning.text.replace(warning.text.find(quoted), quoted.size(), FunctionName(Demangle(warning.symbol.c_str())));
    }
    return true;
  }
  return false;
}

/// Takes a log line by line.
class LogReader {
 public:
  explicit LogReader(const std::string& architecture) : architecture_(architecture) {}

  void Take(std::string_view raw) {
    const std::string line = Plain(raw);
    if (std::string unit = UnitOf(line); !unit.empty()) {
      unit_ = std::move(unit);
      return;
    }
    CompilerWarning warning;
    if (ReadSpills(line, warning) || ReadTool(line, warning) || ReadPlaced(line, warning)) Add(std::move(warning));
  }

  std::vector<CompilerWarning> Warnings() && { return std::move(warnings_); }

 private:
  // ptxas -v prints three lines; the third is "64 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads".
  bool ReadSpills(std::string_view line, CompilerWarning& warning) {
    if (const std::string_view entry = Behind(line, "Compiling entry function "); !entry.empty()) {
      const std::string_view built_for = Quoted(Behind(entry, " for "));
      counts_ = architecture_.empty() || built_for == architecture_;
      return false;
    }
    if (const std::string_view name = Behind(line, "Function properties for "); !name.empty()) {
      function_ = Trim(name);
      return false;
    }
    const std::size_t at = line.find(" bytes stack frame, ");
    if (at == kNone || function_.empty()) return false;
    const std::string_view spills = Trim(Behind(line, " bytes stack frame, "));
    warning.symbol = std::move(function_);
    function_.clear();
    warning.text = std::string("ptxas: ").append(spills);
    return counts_ && !spills.starts_with("0 bytes spill stores, 0 bytes spill loads");
  }

  void Add(CompilerWarning warning) {
    warning.unit = unit_;
    warning.text.resize(std::min(warning.text.size(), kMostText));
    if (seen_.emplace(warning.text, warning.symbol, warning.file, warning.unit).second) {
      warnings_.push_back(std::move(warning));
    }
  }

  const std::string& architecture_;
  std::string unit_;
  std::string function_;
  bool counts_ = true;
  std::vector<CompilerWarning> warnings_;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen_;
};

}  // namespace

std::vector<CompilerWarning> ParseBuildLog(std::string_view log, const std::string& architecture) {
  LogReader reader(architecture);
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    reader.Take(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return std::move(reader).Warnings();
}

}  // namespace fa_profile
