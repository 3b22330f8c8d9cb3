#include "fa_profile/inject_protocol.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace fa_profile::inject {

std::string WriteInjectPlan(const InjectPlan& plan) {
  return nlohmann::json{{"tool_version", plan.session.tool_version},
                        {"tool_commit", plan.session.tool_commit},
                        {"created_at", plan.session.created_at},
                        {"command_line", plan.session.command_line},
                        {"metric_set", plan.session.metric_set},
                        {"replay_mode", plan.session.replay_mode},
                        {"cache_policy", plan.session.cache_policy},
                        {"metrics", plan.metrics},
                        {"built_in_set", plan.built_in_set},
                        {"output", plan.output},
                        {"overwrite", plan.overwrite},
                        {"kernel_pattern", plan.kernel_pattern},
                        {"nvtx_pattern", plan.nvtx_pattern},
                        {"launch_skip", plan.launch_skip},
                        {"launch_count", plan.launch_count},
                        {"from_start", plan.from_start},
                        {"max_classes", plan.max_classes},
                        {"replay", static_cast<int>(plan.replay)},
                        {"least_share_ratio", plan.least_share_ratio},
                        {"phases", plan.phases},
                        {"delay_s", plan.delay_s},
                        {"duration_s", plan.duration_s},
                        {"record_all_s", plan.record_all_s},
                        {"children", plan.children},
                        {"cache_dir", plan.cache_dir}}
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

InjectPlan ReadInjectPlan(const std::string& json) {
  const nlohmann::json value = nlohmann::json::parse(json);
  InjectPlan plan;
  value.at("tool_version").get_to(plan.session.tool_version);
  value.at("tool_commit").get_to(plan.session.tool_commit);
  value.at("created_at").get_to(plan.session.created_at);
  value.at("command_line").get_to(plan.session.command_line);
  value.at("metric_set").get_to(plan.session.metric_set);
  value.at("replay_mode").get_to(plan.session.replay_mode);
  value.at("cache_policy").get_to(plan.session.cache_policy);
  value.at("metrics").get_to(plan.metrics);
  value.at("built_in_set").get_to(plan.built_in_set);
  value.at("output").get_to(plan.output);
  value.at("overwrite").get_to(plan.overwrite);
  value.at("kernel_pattern").get_to(plan.kernel_pattern);
  value.at("nvtx_pattern").get_to(plan.nvtx_pattern);
  value.at("launch_skip").get_to(plan.launch_skip);
  value.at("launch_count").get_to(plan.launch_count);
  value.at("from_start").get_to(plan.from_start);
  value.at("max_classes").get_to(plan.max_classes);
  plan.replay = static_cast<ProgramReplay>(value.at("replay").get<int>());
  value.at("least_share_ratio").get_to(plan.least_share_ratio);
  value.at("phases").get_to(plan.phases);
  value.at("delay_s").get_to(plan.delay_s);
  value.at("duration_s").get_to(plan.duration_s);
  value.at("record_all_s").get_to(plan.record_all_s);
  value.at("children").get_to(plan.children);
  value.at("cache_dir").get_to(plan.cache_dir);
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
      continue;  // it does not tell processes apart
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
