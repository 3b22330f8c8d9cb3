#include "fa_profile/evidence.h"

#include <set>

namespace fa_profile::gate {

Environment EnvironmentOf(const Device& device, const Session& session) {
  Environment environment;
  for (const EnvironmentField& field : kEnvironmentFields) {
    if (field.device_text != nullptr) environment.*field.text = device.*field.device_text;
    if (field.device_hertz != nullptr) environment.*field.hertz = device.*field.device_hertz;
    if (field.session_text != nullptr) environment.*field.text = session.*field.session_text;
  }
  return environment;
}

std::string CaseName(const CaseFacts& facts) {
  return facts.shape.empty() ? facts.kernel : facts.kernel + " " + facts.shape;
}

const std::string& CardOf(const Evidence& evidence, const ProcessSample& process) {
  return process.gpu_uuid.empty() ? evidence.environment.gpu_uuid : process.gpu_uuid;
}

std::vector<std::string> CardsOf(const Evidence& evidence) {
  std::set<std::string> cards;
  for (const ProcessSample& process : evidence.processes) cards.insert(CardOf(evidence, process));
  if (evidence.processes.empty()) cards.insert(evidence.environment.gpu_uuid);
  cards.erase("");
  return {cards.begin(), cards.end()};
}

std::optional<std::size_t> FindCase(const Evidence& evidence, const std::string& kernel, const std::string& shape) {
  for (std::size_t i = 0; i < evidence.cases.size(); ++i) {
    if (evidence.cases[i].kernel == kernel && evidence.cases[i].shape == shape) return i;
  }
  return std::nullopt;
}

std::vector<std::pair<std::size_t, double>> Values(const Evidence& evidence, std::size_t case_index,
                                                   const std::string& kind, const MetricKey& key) {
  std::vector<std::pair<std::size_t, double>> values;
  for (std::size_t i = 0; i < evidence.processes.size(); ++i) {
    const ProcessSample& process = evidence.processes[i];
    if (process.kind != kind || case_index >= process.values.size()) continue;
    const auto value = process.values[case_index].find(key);
    if (value != process.values[case_index].end()) values.emplace_back(i, value->second);
  }
  return values;
}

}  // namespace fa_profile::gate
