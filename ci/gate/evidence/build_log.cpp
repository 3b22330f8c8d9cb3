#include "build_log.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "fa_profile/demangle.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostText = 300;
constexpr std::size_t kMostLine = 8192;  // nvcc's command lines are long; the rest is ignored

/// Takes a log line by line.
class LogReader {
 public:
  explicit LogReader(const std::string& architecture) : architecture_(architecture) {}

  void Take(std::string_view raw) {
    const std::string line = Plain(raw);
    if (RE2::PartialMatch(line, object_, &unit_) || RE2::PartialMatch(line, source_, &unit_)) return;
    CompilerWarning warning;
    if (ReadSpills(line, warning) || ReadTool(line, warning) || ReadPlaced(line, warning)) Add(std::move(warning));
  }

  std::vector<CompilerWarning> Warnings() && { return std::move(warnings_); }

 private:
  // Without colours and other control characters; non-ASCII bytes become '?'.
  std::string Plain(std::string_view line) const {
    std::string plain(line.substr(0, kMostLine));
    RE2::GlobalReplace(&plain, colour_, "");
    RE2::GlobalReplace(&plain, control_, "");
    RE2::GlobalReplace(&plain, not_ascii_, "?");
    return plain;
  }

  // ptxas -v prints three lines; the third has the spills.
  bool ReadSpills(const std::string& line, CompilerWarning& warning) {
    std::string built_for;
    if (RE2::PartialMatch(line, entry_, &built_for)) counts_ = architecture_.empty() || built_for == architecture_;
    std::string spills;
    if (RE2::PartialMatch(line, function_line_, &function_) || function_.empty() ||
        !RE2::PartialMatch(line, stack_, &spills)) {
      return false;
    }
    warning.symbol = std::exchange(function_, {});
    warning.text = "ptxas: " + spills;
    return counts_ && !spills.starts_with("0 bytes spill stores, 0 bytes spill loads");
  }

  bool ReadTool(const std::string& line, CompilerWarning& warning) const {
    std::string& text = warning.text;
    if (!RE2::PartialMatch(line, tool_warning_, &text) && !RE2::PartialMatch(line, tool_note_, &text)) return false;
    if (RE2::PartialMatch(text, quoted_, &warning.symbol)) {
      text.replace(text.find(warning.symbol), warning.symbol.size(), FunctionName(Demangle(warning.symbol.c_str())));
    }
    return true;
  }

  // The line number is not part of the text: every edit above it changes it.
  bool ReadPlaced(const std::string& line, CompilerWarning& warning) const {
    std::string name;
    int number = 0;
    if (!RE2::PartialMatch(line, placed_, &warning.file, &name, &number, &warning.text)) return false;
    warning.line = number;
    warning.text.insert(0, name + ": ");
    return true;
  }

  void Add(CompilerWarning warning) {
    warning.unit = unit_;
    warning.text.resize(std::min(warning.text.size(), kMostText));
    if (seen_.emplace(warning.text, warning.symbol, warning.file, warning.unit).second) {
      warnings_.push_back(std::move(warning));
    }
  }

  const RE2 colour_{R"(\x1b\[[^@-~]*[@-~]?)", RE2::Latin1};
  const RE2 control_{R"([\x00-\x08\x0a-\x1f])", RE2::Latin1};
  const RE2 not_ascii_{R"([\x7f-\xff])", RE2::Latin1};
  // "[3/9] Building CUDA object tests/x.dir/wmma.cu.o", or nvcc's own command line with its source.
  const RE2 object_{R"(Building CUDA object (?:.*[/\\])?(.+)\.o)"};
  const RE2 source_{R"(nvcc.*? (?:\S*[/\\])?([^\s/\\]+\.cu)(?: |$))"};
  const RE2 entry_{R"(Compiling entry function '[^']*' for '([^']*)')"};
  const RE2 function_line_{R"(Function properties for (\S+))"};
  const RE2 stack_{R"( bytes stack frame, (.*?)\s*$)"};
  // "ptxas warning : text", "ptxas x.ptx, line 9; warning : text", and ptxas's notes on lost performance.
  const RE2 tool_warning_{R"((?:ptxas|nvlink).*?warning ?:\s*(\S.*?)\s*$)"};
  const RE2 tool_note_{R"((?:ptxas|nvlink).*?(Potential Performance Loss.*?)\s*$)"};
  const RE2 quoted_{"'([^']+)'"};
  // "x.cu(12): warning #177-D: text", "warning: x.hpp(91): Warning: text", perhaps after a log's time stamp.
  const RE2 placed_{R"((\S*?([^\s/\\]+))\(([0-9]{1,9})[^()]*\): [wW]arning\s*:?\s*(\S.*?)\s*$)"};

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

}  // namespace fa_profile::gate
