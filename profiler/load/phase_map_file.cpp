#include "fa_profile/phase_map_file.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>

#include "fa_profile/demangle.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/phases.h"
#include "fa_profile/strict_yaml.h"

namespace fa_profile::load {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kLongestName = 64;
constexpr int kLastLine = 100'000'000;
constexpr const char* kSeeDocs = "docs/phase-map.md has an example";

class MapReader {
 public:
  explicit MapReader(const std::string& name) : yaml_(name, kSeeDocs), map_{"phase map " + name, {}} {}

  PhaseMap Read(const std::string& text) {
    const YAML::Node root = yaml_.Load(text);
    bool found = false;
    yaml_.ReadMap(root, "a phase map", {{"phases", [&](const YAML::Node& node) {
                                           found = true;
                                           ReadPhases(node);
                                         }}});
    if (!found) yaml_.Fail(root, "the key 'phases' is missing", kSeeDocs);
    return std::move(map_);
  }

 private:
  using Add = void (MapReader::*)(const YAML::Node&, const std::string&, PhaseRule&);

  void ReadPhases(const YAML::Node& node) {
    if (!node.IsMap() || node.size() == 0) {
      yaml_.Fail(node, "'phases' must be a mapping from phase names to code", kSeeDocs);
    }
    for (const auto& item : node) {
      PhaseRule rule;
      rule.phase = Text(item.first, "the name of a phase");
      CheckName(item.first, rule.phase);
      if (std::ranges::find(map_.rules, rule.phase, &PhaseRule::phase) != map_.rules.end()) {
        yaml_.Fail(item.first, "duplicate phase " + Quoted(rule.phase), "merge the two, or rename one");
      }
      const auto list = [&](Add add) {
        return [this, add, &rule](const YAML::Node& value) { ForEach(value, add, rule); };
      };
      yaml_.ReadMap(item.second, "phase " + Quoted(rule.phase),
                    {{"functions", list(&MapReader::AddFunction)},
                     {"lines", list(&MapReader::AddLines)},
                     {"opcodes", list(&MapReader::AddOpcode)}});
      if (rule.functions.empty() && rule.lines.empty() && rule.opcodes.empty()) {
        yaml_.Fail(item.first, "phase " + Quoted(rule.phase) + " is empty", "give it functions, lines or opcodes");
      }
      map_.rules.push_back(std::move(rule));
    }
  }

  // A name may look like a number.
  std::string Text(const YAML::Node& node, const char* what) const {
    if (!node.IsScalar()) yaml_.Fail(node, std::string(what) + " must be text", kSeeDocs);
    return node.Scalar();
  }

  void CheckName(const YAML::Node& node, const std::string& name) const {
    const bool fits = !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == ' ' || c == '.';
    });
    if (!fits) {
      yaml_.Fail(node, Quoted(name) + " cannot be the name of a phase",
                 fmt::format("use up to {} letters, digits, blanks and _ - .", kLongestName));
    }
  }

  /// A list of texts, or one text.
  void ForEach(const YAML::Node& node, Add add, PhaseRule& rule) {
    if (node.IsScalar()) return (this->*add)(node, node.Scalar(), rule);
    if (!node.IsSequence()) yaml_.Fail(node, "must be a list of texts", kSeeDocs);
    for (const YAML::Node& item : node) (this->*add)(item, Text(item, "an item of the list"), rule);
  }

  void AddFunction(const YAML::Node& node, const std::string& text, PhaseRule& rule) {
    const bool fits = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c >= 0x80;
    });
    if (!fits) {
      yaml_.Fail(node, Quoted(text) + " is not the base name of a function",
                 "give it without scope, template arguments and parentheses: softmax for fa::softmax<64>()");
    }
    Claim(node, "function " + Quoted(text), text, rule.phase);
    rule.functions.push_back(text);
  }

  void AddOpcode(const YAML::Node& node, const std::string& text, PhaseRule& rule) {
    const bool fits =
        !text.empty() && text.size() <= kLongestName && std::isupper(static_cast<unsigned char>(text[0])) != 0;
    if (!fits) {
      yaml_.Fail(node, Quoted(text) + " is not a machine opcode or the beginning of one",
                 "opcodes are written as nvdisasm does: HMMA, MUFU.EX2, LDG");
    }
    Claim(node, "opcode " + Quoted(text), "." + text, rule.phase);
    rule.opcodes.push_back(text);
  }

  /// No two phases may name the same.
  void Claim(const YAML::Node& node, const std::string& what, const std::string& key, const std::string& phase) {
    const auto [owner, is_new] = owners_.emplace(key, phase);
    if (!is_new && owner->second != phase) {
      yaml_.Fail(node, what + " is already in phase " + Quoted(owner->second),
                 "an instruction has one phase: leave one out");
    }
  }

  /// "kernel.cu:120-180", or one line "kernel.cu:120".
  void AddLines(const YAML::Node& node, const std::string& text, PhaseRule& rule) {
    const char* const hint = "give a file and its first and last line: kernel.cu:120-180";
    PhaseRule::Lines lines;
    bool fits = RE2::FullMatch(text, "(.+):([0-9]+)-([0-9]+)", &lines.file, &lines.first, &lines.last);
    if (!fits) {
      fits = RE2::FullMatch(text, "(.+):([0-9]+)", &lines.file, &lines.first);
      lines.last = lines.first;
    }
    if (!fits || std::min(lines.first, lines.last) < 1 || std::max(lines.first, lines.last) > kLastLine) {
      yaml_.Fail(node, Quoted(text) + " is not a range of lines", hint);
    }
    if (lines.last < lines.first) {
      yaml_.Fail(node, fmt::format("the range {} ends before it begins", Quoted(text)),
                 fmt::format("did you mean {}:{}-{}?", lines.file, lines.last, lines.first));
    }
    for (const auto& [phase, other] : lines_) {
      if (phase == rule.phase || !SameFile(other.file, lines.file)) continue;
      if (other.first > lines.last || lines.first > other.last) continue;
      yaml_.Fail(node,
                 fmt::format("lines {}-{} of {} are already in phase {}", std::max(lines.first, other.first),
                             std::min(lines.last, other.last), lines.file, Quoted(phase)),
                 "an instruction has one phase: let one range end before the other begins");
    }
    lines_.emplace_back(rule.phase, lines);
    rule.lines.push_back(std::move(lines));
  }

  /// A rule's file is a path or the end of one: either may be the end of the other.
  static bool SameFile(const std::string& a, const std::string& b) {
    const std::string& longer = a.size() >= b.size() ? a : b;
    const std::string& shorter = a.size() >= b.size() ? b : a;
    if (!longer.ends_with(shorter)) return false;
    return longer.size() == shorter.size() || shorter.front() == '/' ||
           longer[longer.size() - shorter.size() - 1] == '/';
  }

  StrictYaml yaml_;
  PhaseMap map_;
  std::map<std::string, std::string> owners_;  // phase by function name, or by "." and opcode
  std::vector<std::pair<std::string, PhaseRule::Lines>> lines_;
};

std::vector<std::string> FunctionsIn(const Recording& recording) {
  std::set<std::string> names;
  for (const DeviceFunction& function : recording.functions) {
    for (const Instruction& instruction : function.instructions) {
      // Functions that a kernel calls itself; what those call belongs to them.
      if (instruction.frames.size() < 2) continue;
      const InlineFrame& called = instruction.frames[instruction.frames.size() - 2];
      if (std::string base = BaseName(called.function); !base.empty()) names.insert(std::move(base));
    }
  }
  return {names.begin(), names.end()};
}

/// The functions and opcodes in the recorded instructions.
class Vocabulary {
 public:
  explicit Vocabulary(const Recording& recording) {
    for (const DeviceFunction& function : recording.functions) {
      for (const Instruction& instruction : function.instructions) {
        if (!instruction.opcode.empty()) opcodes_.insert(instruction.opcode);
        for (const InlineFrame& frame : instruction.frames) full_names_.insert(frame.function);
      }
    }
    for (const std::string& name : full_names_) functions_.insert(BaseName(name));
  }

  void AddUnknown(const PhaseRule& rule, std::vector<std::string>& unknown) const {
    for (const std::string& name : rule.functions) {
      if (!functions_.contains(name)) unknown.push_back(fmt::format("function '{}' of phase '{}'", name, rule.phase));
    }
    if (opcodes_.empty()) return;  // nvdisasm was missing
    for (const std::string& opcode : rule.opcodes) {
      const auto first = opcodes_.lower_bound(opcode);
      if (first != opcodes_.end() && first->starts_with(opcode)) continue;
      unknown.push_back(fmt::format("opcode '{}' of phase '{}'", opcode, rule.phase));
    }
  }

 private:
  std::set<std::string> opcodes_;
  std::set<std::string> full_names_;
  std::set<std::string> functions_;
};

/// "; did you mean ...?" for the first function that the map names.
std::string NearNames(const PhaseMap& map, const std::vector<std::string>& functions) {
  for (const PhaseRule& rule : map.rules) {
    for (const std::string& name : rule.functions) {
      if (std::string near = DidYouMean(name, functions); !near.empty()) return near;
    }
  }
  return {};
}

}  // namespace

PhaseMap ParsePhaseMap(const std::string& text, const std::string& name) { return MapReader(name).Read(text); }

PhaseMap LoadPhaseMap(const std::string& path) { return ParsePhaseMap(ReadFile(path, kLargestFile), path); }

std::vector<std::string> RequirePhases(const Recording& recording, const PhaseMap& map) {
  std::set<std::string> named;
  bool code = false;
  for (const DeviceFunction& function : recording.functions) {
    code = code || !function.instructions.empty();
    for (const std::string& phase : analyze::PhasesOf(function, map)) named.insert(phase);
  }
  named.erase(kUnattributed);
  if (!code) {
    throw Error("the recording has no machine code, so a phase map matches nothing in it",
                "record with --ncu-set full, detailed or phases, or with --phases on, where nvdisasm is found");
  }
  if (named.empty()) {
    const std::vector<std::string> functions = FunctionsIn(recording);
    throw Error("no instruction in the recording belongs to a phase of the " + map.name + NearNames(map, functions),
                functions.empty() ? "its code has no line information: build with -lineinfo, or give opcodes"
                                  : fmt::format("the functions in it are {}", fmt::join(functions, ", ")));
  }
  const Vocabulary vocabulary(recording);
  std::vector<std::string> unused;
  for (const PhaseRule& rule : map.rules) {
    if (named.contains(rule.phase)) {
      vocabulary.AddUnknown(rule, unused);
    } else {
      unused.push_back(fmt::format("phase '{}'", rule.phase));
    }
  }
  return unused;
}

}  // namespace fa_profile::load
