#include "fa_profile/inject_protocol.h"

#include <nlohmann/json.hpp>

namespace fa_profile {

std::string WriteSession(const Session& session) {
  return nlohmann::json{{"tool_version", session.tool_version}, {"tool_commit", session.tool_commit},
                        {"created_at", session.created_at},     {"command_line", session.command_line},
                        {"metric_set", session.metric_set},     {"replay_mode", session.replay_mode},
                        {"cache_policy", session.cache_policy}}
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Session ReadSession(const std::string& json) {
  const nlohmann::json value = nlohmann::json::parse(json);
  Session session;
  session.tool_version = value.value("tool_version", "");
  session.tool_commit = value.value("tool_commit", "");
  session.created_at = value.value("created_at", "");
  session.command_line = value.value("command_line", "");
  session.metric_set = value.value("metric_set", "");
  session.replay_mode = value.value("replay_mode", "");
  session.cache_policy = value.value("cache_policy", "");
  return session;
}

}  // namespace fa_profile
