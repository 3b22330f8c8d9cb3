#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "fa_profile/text.h"
#include "fa_profile/trace_report.h"
#include "json_parts.h"

namespace fa_profile::exporters {
namespace {

constexpr const char* kSpeedscopeSchema = "https://www.speedscope.app/file-format-schema.json";

/// Calls `take(stack, ns)` for each node with more time than its nested nodes: the nodes from the outermost to it, and
/// the difference.
template <typename Take>
void ForEachStack(const std::vector<GpuTimeNode>& nodes, std::vector<const GpuTimeNode*>& stack, const Take& take) {
  for (const GpuTimeNode& node : nodes) {
    stack.push_back(&node);
    std::int64_t own_ns = node.ns;
    for (const GpuTimeNode& nested : node.nested) own_ns -= nested.ns;
    if (own_ns > 0) take(stack, own_ns);
    ForEachStack(node.nested, stack, take);
    stack.pop_back();
  }
}

template <typename Take>
void ForEachStack(const GpuTime& time, const Take& take) {
  std::vector<const GpuTimeNode*> stack;
  ForEachStack(time.nodes, stack, take);
}

std::string FoldedName(const GpuTimeNode& node) {
  std::string name = SafeLine(node.name);
  std::ranges::replace(name, ';', ',');
  return name.empty() ? "?" : name;
}

/// Frames by their index in the list that a speedscope file shares among its stacks.
class SpeedscopeFrames {
 public:
  std::size_t IndexOf(const GpuTimeNode& node) {
    const auto [place, is_new] = indices_.try_emplace({node.name, node.file, node.line}, indices_.size());
    if (is_new) {
      nlohmann::ordered_json frame{{"name", SafeLine(node.name)}};
      if (!node.file.empty()) {
        frame["file"] = SafeLine(node.file);
        frame["line"] = node.line;
      }
      frames_.push_back(std::move(frame));
    }
    return place->second;
  }

  nlohmann::ordered_json Take() { return std::move(frames_); }

 private:
  std::map<std::tuple<std::string, std::string, int>, std::size_t> indices_;
  nlohmann::ordered_json frames_ = nlohmann::ordered_json::array();
};

}  // namespace

void WriteFolded(std::ostream& out, const GpuTime& time) {
  ForEachStack(time, [&](const std::vector<const GpuTimeNode*>& stack, std::int64_t ns) {
    const char* between = "";
    for (const GpuTimeNode* const node : stack) {
      out << between << FoldedName(*node);
      between = ";";
    }
    out << ' ' << ns << '\n';
  });
}

void WriteSpeedscope(std::ostream& out, const GpuTime& time) {
  SpeedscopeFrames frames;
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  nlohmann::ordered_json weights = nlohmann::ordered_json::array();
  ForEachStack(time, [&](const std::vector<const GpuTimeNode*>& stack, std::int64_t ns) {
    nlohmann::ordered_json sample = nlohmann::ordered_json::array();
    for (const GpuTimeNode* const node : stack) sample.push_back(frames.IndexOf(*node));
    samples.push_back(std::move(sample));
    weights.push_back(ns);
  });
  const nlohmann::ordered_json profile{{"type", "sampled"},
                                       {"name", "GPU time"},
                                       {"unit", "nanoseconds"},
                                       {"startValue", 0},
                                       {"endValue", time.total_ns},
                                       {"samples", std::move(samples)},
                                       {"weights", std::move(weights)}};
  WriteJsonDocument(out, {{"$schema", kSpeedscopeSchema},
                          {"exporter", "fa-profile"},
                          {"name", "GPU time"},
                          {"activeProfileIndex", 0},
                          {"shared", {{"frames", frames.Take()}}},
                          {"profiles", nlohmann::ordered_json::array({profile})}});
}

}  // namespace fa_profile::exporters
