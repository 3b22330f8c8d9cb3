#include "fa_profile/phase_map_file.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "fa_profile/error.h"
#include "fa_profile/phases.h"

namespace fa_profile {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kLongestName = 64;
constexpr int kLastLine = 100'000'000;
constexpr const char* kSeeDocs = "docs/phase-map.md has an example";
const std::vector<std::string> kKeys = {"functions", "lines", "opcodes"};

std::string Quoted(const std::string& text) {
  constexpr std::size_t kShown = 40;
  return "'" + (text.size() <= kShown ? text : text.substr(0, kShown) + "...") + "'";
}

/// Where the last document began that a parser told of.
struct DocumentStart final : YAML::EventHandler {
  YAML::Mark mark = YAML::Mark::null_mark();

  void OnDocumentStart(const YAML::Mark& at) override { mark = at; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

class MapReader {
 public:
  explicit MapReader(std::string name) : name_(std::move(name)) {}

  PhaseMap Read(const std::string& text) {
    const YAML::Node root = Parse(text);
    if (!root.IsMap()) Fail(root, "a mapping with the key 'phases' is expected", kSeeDocs);
    PhaseMap map{"phase map " + name_, {}};
    bool found = false;
    for (const auto& item : root) {
      const std::string key = Text(item.first, "a key");
      if (key != "phases") {
        Fail(item.first, "unknown key " + Quoted(key) + DidYouMean(key, {"phases"}), "the only key here is 'phases'");
      }
      if (found) Fail(item.first, "'phases' stands here twice", "put all phases under one of them");
      found = true;
      ReadPhases(item.second, map);
    }
    if (!found) Fail(root, "there is no key 'phases'", kSeeDocs);
    return map;
  }

 private:
  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& message, const std::string& hint) const {
    if (mark.is_null()) throw Error(name_ + ": " + message, hint);
    throw Error(fmt::format("{}:{}:{}: {}", name_, mark.line + 1, mark.column + 1, message), hint);
  }
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& message, const std::string& hint) const {
    Fail(node.Mark(), message, hint);
  }

  // Not YAML::LoadAll(): yaml-cpp 0.7 makes documents without end of some texts (",0").
  YAML::Node Parse(const std::string& text) const {
    try {
      DocumentStart start;
      std::istringstream stream(text);
      YAML::Parser parser(stream);
      (void)parser.HandleNextDocument(start);
      if (parser.HandleNextDocument(start)) Fail(start.mark, "only one YAML document is expected", kSeeDocs);
      return YAML::Load(text);
    } catch (const YAML::Exception& problem) {
      Fail(problem.mark, "this is not YAML: " + problem.msg, kSeeDocs);
    }
  }

  std::string Text(const YAML::Node& node, const char* what) const {
    if (!node.IsScalar()) Fail(node, std::string(what) + " must be a text", kSeeDocs);
    return node.Scalar();
  }

  void ReadPhases(const YAML::Node& node, PhaseMap& map) {
    if (!node.IsMap() || node.size() == 0) {
      Fail(node, "'phases' must be a mapping from names to what belongs to them", kSeeDocs);
    }
    for (const auto& item : node) {
      PhaseRule rule;
      rule.phase = Text(item.first, "the name of a phase");
      CheckName(item.first, rule.phase);
      if (std::ranges::find(map.rules, rule.phase, &PhaseRule::phase) != map.rules.end()) {
        Fail(item.first, "phase " + Quoted(rule.phase) + " stands here twice", "put both together, or rename one");
      }
      ReadRule(item.second, rule);
      if (rule.functions.empty() && rule.lines.empty() && rule.opcodes.empty()) {
        Fail(item.first, "nothing belongs to phase " + Quoted(rule.phase), "give it functions, lines or opcodes");
      }
      map.rules.push_back(std::move(rule));
    }
  }

  void CheckName(const YAML::Node& node, const std::string& name) const {
    const bool fits = !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == ' ' || c == '.';
    });
    if (!fits) {
      Fail(node, Quoted(name) + " is no name for a phase",
           fmt::format("use up to {} letters, digits, blanks and _ - .", kLongestName));
    }
  }

  void ReadRule(const YAML::Node& node, PhaseRule& rule) {
    if (!node.IsMap()) Fail(node, "phase " + Quoted(rule.phase) + " must have functions, lines or opcodes", kSeeDocs);
    std::set<std::string> seen;
    for (const auto& item : node) {
      const std::string key = Text(item.first, "a key");
      if (!seen.insert(key).second) Fail(item.first, Quoted(key) + " stands here twice", "put both lists together");
      if (key == "functions") {
        ForEach(item.second, key, [&](const YAML::Node& at, const std::string& text) { AddFunction(at, text, rule); });
      } else if (key == "lines") {
        ForEach(item.second, key, [&](const YAML::Node& at, const std::string& text) { AddLines(at, text, rule); });
      } else if (key == "opcodes") {
        ForEach(item.second, key, [&](const YAML::Node& at, const std::string& text) { AddOpcode(at, text, rule); });
      } else {
        Fail(item.first, "unknown key " + Quoted(key) + DidYouMean(key, kKeys),
             "a phase has functions, lines, opcodes");
      }
    }
  }

  /// A list of texts, or one text.
  template <typename Add>
  void ForEach(const YAML::Node& node, const std::string& key, Add add) const {
    if (node.IsScalar()) return add(node, node.Scalar());
    if (!node.IsSequence()) Fail(node, Quoted(key) + " must be a list of texts", kSeeDocs);
    for (const YAML::Node& item : node) add(item, Text(item, "each of them"));
  }

  void AddFunction(const YAML::Node& node, const std::string& text, PhaseRule& rule) {
    const bool fits = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c >= 0x80;
    });
    if (!fits) {
      Fail(node, Quoted(text) + " is no function's base name",
           "give it without scope, template arguments and parentheses: softmax for fa::softmax<64>()");
    }
    Claim(node, "function " + Quoted(text), text, rule.phase);
    rule.functions.push_back(text);
  }

  void AddOpcode(const YAML::Node& node, const std::string& text, PhaseRule& rule) {
    const bool fits =
        !text.empty() && text.size() <= kLongestName && std::isupper(static_cast<unsigned char>(text[0])) != 0;
    if (!fits) {
      Fail(node, Quoted(text) + " is no machine opcode or beginning of one",
           "opcodes are written as nvdisasm does: HMMA, MUFU.EX2, LDG");
    }
    Claim(node, "opcode " + Quoted(text), "." + text, rule.phase);
    rule.opcodes.push_back(text);
  }

  /// No two phases may name the same.
  void Claim(const YAML::Node& node, const std::string& what, const std::string& key, const std::string& phase) {
    const auto [owner, is_new] = owners_.emplace(key, phase);
    if (!is_new && owner->second != phase) {
      Fail(node, what + " is in phase " + Quoted(owner->second) + " already",
           "an instruction has one phase: leave one out");
    }
  }

  /// "kernel.cu:120-180", or one line "kernel.cu:120".
  void AddLines(const YAML::Node& node, const std::string& text, PhaseRule& rule) {
    const char* const hint = "give a file and its first and last line: kernel.cu:120-180";
    const std::size_t colon = text.rfind(':');
    PhaseRule::Lines lines;
    const char* at = text.data() + (colon == std::string::npos ? text.size() : colon + 1);
    const char* const end = text.data() + text.size();
    bool fits = colon != std::string::npos && colon > 0 && ReadNumber(at, end, lines.first);
    lines.last = lines.first;
    if (fits && at != end) fits = *at++ == '-' && ReadNumber(at, end, lines.last) && at == end;
    if (!fits) Fail(node, Quoted(text) + " is no range of lines", hint);
    lines.file = text.substr(0, colon);
    if (lines.last < lines.first) {
      Fail(node, fmt::format("the range {} ends before it begins", Quoted(text)),
           fmt::format("did you mean {}:{}-{}?", lines.file, lines.last, lines.first));
    }
    for (const auto& [phase, other] : lines_) {
      if (phase == rule.phase || !SameFile(other.file, lines.file)) continue;
      if (other.first > lines.last || lines.first > other.last) continue;
      Fail(node,
           fmt::format("lines {}-{} of {} are in phase {} already", std::max(lines.first, other.first),
                       std::min(lines.last, other.last), lines.file, Quoted(phase)),
           "an instruction has one phase: let one range end before the other begins");
    }
    lines_.emplace_back(rule.phase, lines);
    rule.lines.push_back(std::move(lines));
  }

  static bool ReadNumber(const char*& at, const char* end, int& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 1 || value > kLastLine) return false;
    at = next;
    return true;
  }

  /// A rule's file is a path or the end of one: either may be the end of the other.
  static bool SameFile(const std::string& a, const std::string& b) {
    const std::string& longer = a.size() >= b.size() ? a : b;
    const std::string& shorter = a.size() >= b.size() ? b : a;
    if (!longer.ends_with(shorter)) return false;
    return longer.size() == shorter.size() || shorter.front() == '/' ||
           longer[longer.size() - shorter.size() - 1] == '/';
  }

  std::string name_;
  std::map<std::string, std::string> owners_;  // phase by function name, or by "." and opcode
  std::vector<std::pair<std::string, PhaseRule::Lines>> lines_;
};

std::string BaseName(const std::string& function) {
  const std::string scoped = function.substr(0, function.find_first_of("<("));
  const std::size_t scope = scoped.rfind("::");
  const std::string base = scope == std::string::npos ? scoped : scoped.substr(scope + 2);
  return base.substr(base.rfind(' ') + 1);  // "void softmax"
}

std::vector<std::string> FunctionsIn(const Recording& recording) {
  std::set<std::string> names;
  for (const DeviceFunction& function : recording.functions) {
    for (const Instruction& instruction : function.instructions) {
      // What a kernel calls itself; what that calls is its own business.
      if (instruction.frames.size() < 2) continue;
      const InlineFrame& called = instruction.frames[instruction.frames.size() - 2];
      if (std::string base = BaseName(called.function); !base.empty()) names.insert(std::move(base));
    }
  }
  return {names.begin(), names.end()};
}

/// The functions and opcodes that the recorded instructions have.
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

PhaseMap LoadPhaseMap(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof())) {
    throw Error("the phase map " + path + " cannot be read", "does the file exist, and may you read it?");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestFile) throw Error("the phase map " + path + " is larger than 1 MiB", kSeeDocs);
  return ParsePhaseMap(text, path);
}

std::vector<std::string> RequirePhases(const Recording& recording, const PhaseMap& map) {
  std::set<std::string> named;
  bool code = false;
  for (const DeviceFunction& function : recording.functions) {
    code = code || !function.instructions.empty();
    for (const std::string& phase : PhasesOf(function, map)) named.insert(phase);
  }
  named.erase(kUnattributed);
  if (!code) {
    throw Error("the recording has no machine code, so a phase map names nothing in it",
                "record with --ncu-set full, detailed or phases, or with --phases on, where nvdisasm is found");
  }
  if (named.empty()) {
    const std::vector<std::string> functions = FunctionsIn(recording);
    if (functions.empty()) {
      throw Error("the " + map.name + " names no instruction of any kernel in the recording",
                  "its code has no line information: build with -lineinfo, or give opcodes");
    }
    throw Error("the " + map.name + " names no instruction of any kernel in the recording" + NearNames(map, functions),
                fmt::format("the functions there are {}", fmt::join(functions, ", ")));
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

}  // namespace fa_profile
