#include "fa_profile/inject_protocol.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "fa_profile/error.h"

namespace fa_profile::inject {
namespace {

// The fields of the plan's text, in this order: for each, the length of its value, a colon, and the value. Reader and
// writer come from one build. Not JSON: when memory runs out, nlohmann's destructors end the process.
template <typename Plan, typename Visit>
void ForEachField(Plan& plan, const Visit& visit) {
  visit(plan.session.tool_version);
  visit(plan.session.tool_commit);
  visit(plan.session.created_at);
  visit(plan.session.command_line);
  visit(plan.session.metric_set);
  visit(plan.session.replay_mode);
  visit(plan.session.cache_policy);
  visit(plan.metrics);
  visit(plan.first_metrics);
  visit(plan.built_in_set);
  visit(plan.output);
  visit(plan.overwrite);
  visit(plan.kernel_pattern);
  visit(plan.nvtx_pattern);
  visit(plan.launch_skip);
  visit(plan.launch_count);
  visit(plan.from_start);
  visit(plan.max_classes);
  visit(plan.replay);
  visit(plan.least_share_ratio);
  visit(plan.phases);
  visit(plan.delay_s);
  visit(plan.duration_s);
  visit(plan.record_all_s);
  visit(plan.children);
  visit(plan.cache_dir);
}

double AsNumber(double value) { return value; }
template <typename Field>
std::int64_t AsNumber(Field value) {
  return static_cast<std::int64_t>(value);
}

class PlanReader {
 public:
  explicit PlanReader(std::string_view text) : left_(text) {}
  std::string_view Text() {
    const std::size_t colon = left_.find(':');
    const auto length = Parse<std::size_t>(left_.substr(0, colon));
    // A newline follows the value.
    if (colon == std::string_view::npos || length >= left_.size() - colon - 1) Refuse();
    const std::string_view value = left_.substr(colon + 1, length);
    left_.remove_prefix(colon + length + 2);
    return value;
  }
  template <typename Value>
  Value Number() {
    return Parse<Value>(Text());
  }

 private:
  [[noreturn]] static void Refuse() { throw Error("fa-profile's plan for this program is damaged"); }
  template <typename Value>
  static Value Parse(std::string_view text) {
    Value value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) Refuse();
    return value;
  }

  std::string_view left_;
};

}  // namespace

std::string WriteInjectPlan(const InjectPlan& plan) {
  std::string text;
  const auto write = [&text](const std::string& value) { text += fmt::format("{}:{}\n", value.size(), value); };
  ForEachField(plan, [&](const auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, std::vector<std::string>>) {
      write(std::to_string(field.size()));
      for (const std::string& value : field) write(value);
    } else if constexpr (std::is_same_v<Field, std::string>) {
      write(field);
    } else {
      write(fmt::format("{}", AsNumber(field)));
    }
  });
  return text;
}

InjectPlan ReadInjectPlan(const std::string& text) {
  PlanReader reader(text);
  InjectPlan plan;
  ForEachField(plan, [&reader](auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, std::vector<std::string>>) {
      for (auto left = reader.Number<std::size_t>(); left > 0; --left) field.emplace_back(reader.Text());
    } else if constexpr (std::is_same_v<Field, std::string>) {
      field = reader.Text();
    } else {
      field = static_cast<Field>(reader.Number<decltype(AsNumber(field))>());
    }
  });
  return plan;
}

std::string ExpandOutput(const std::string& output, bool first) {
  std::string path;
  bool has_sign = false;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const char sign = output[i] == '%' && i + 1 < output.size() ? output[i + 1] : '\0';
    const std::size_t close = sign == 'q' ? output.find('}', i) : std::string::npos;
    if (sign == 'p') {
      path += std::to_string(getpid());
    } else if (sign == 'h') {
      std::array<char, 256> host{};
      path += gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
      ++i;
      continue;  // it does not distinguish processes
    } else if (close != std::string::npos && output.compare(i, 3, "%q{") == 0) {
      const char* const value = std::getenv(output.substr(i + 3, close - i - 3).c_str());
      for (const char* c = value; c != nullptr && *c != '\0'; ++c) path += *c == '/' ? '_' : *c;
      i = close - 1;
    } else if (sign == '%') {
      path += '%';
      ++i;
      continue;
    } else {
      path += output[i];
      continue;
    }
    has_sign = true;
    ++i;
  }
  if (first || has_sign) return path;
  const std::size_t ending = path.ends_with(".fap") ? path.size() - 4 : path.size();
  return path.substr(0, ending) + "." + std::to_string(getpid()) + path.substr(ending);
}

}  // namespace fa_profile::inject
