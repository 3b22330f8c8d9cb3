#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/findings.h"

namespace fa_profile {

inline Device H200() {
  Device device;
  device.compute_capability_major = 9;
  device.sm_count = 132;
  device.sm_clock_max_hz = 1'980'000'000;
  return device;
}

inline PhaseEntry Phase(std::string name, double share, std::map<std::string, double> metrics = {},
                        std::vector<StallShare> stalls = {}) {
  metrics.emplace("phase_time_ratio", share);
  metrics.emplace("phase_time_seconds", share * 1e-4);
  metrics.emplace("phase_threads_per_instruction", 32.0);
  metrics.emplace("phase_tensor_instructions", 0.0);
  return {std::move(name), std::move(metrics), std::move(stalls)};
}

/// A kernel in order: tensor cores busy, grid large enough, no conflicts, all loads coalesced.
inline ProfileEntry Healthy() {
  ProfileEntry entry;
  entry.kernel = "k";
  entry.shape = AttentionShape{1, 8, 512, 64, false};
  entry.verification = Verification{};
  entry.verification->draws = entry.verification->draws_passed = 10;
  entry.metrics = {{"shape_flops", 5.4e8},
                   {"hmma_instructions", 131072},
                   {"compute_sol_ratio", 0.5},
                   {"memory_sol_ratio", 0.4},
                   {"duration_seconds", 1e-4},
                   {"tensor_core_utilization_ratio", 0.45},
                   {"achieved_occupancy_ratio", 0.12},
                   {"issue_slot_utilization_ratio", 0.4}};
  entry.occupancy = Occupancy{0.125, 1, {"registers"}, 0.97};
  entry.launches.resize(1);
  entry.stalls = {{"wait", 0.3}, {"long_scoreboard", 0.15}, {"barrier", 0.05}};
  entry.phases = PhaseTable{};
  entry.phases->phases = {
      Phase("qk", 0.4, {{"phase_tensor_instructions", 65536}}, {{"wait", 0.5}, {"math_pipe_throttle", 0.2}}),
      Phase("softmax", 0.3, {{"phase_exponentials", 2e6}, {"phase_mufu_utilization_ratio", 0.5}}),
      Phase("pv", 0.25, {{"phase_tensor_instructions", 65536}, {"phase_shared_wavefronts", 1e5}}),
      Phase(kUnattributed, 0.05)};
  return entry;
}

inline PhaseEntry& PhaseOf(ProfileEntry& entry, const std::string& name) {
  return *std::ranges::find(entry.phases->phases, name, &PhaseEntry::name);
}

inline void Set(ProfileEntry& entry, const std::string& phase, const std::map<std::string, double>& metrics) {
  for (const auto& [id, value] : metrics) PhaseOf(entry, phase).metrics[id] = value;
}

inline std::vector<Finding> Found(const std::function<void(ProfileEntry&)>& change) {
  ProfileEntry entry = Healthy();
  change(entry);
  return analyze::FindProblems(entry, H200());
}

inline const Finding* Find(const std::vector<Finding>& findings, const std::string& id) {
  const auto found = std::ranges::find(findings, id, &Finding::id);
  return found == findings.end() ? nullptr : &*found;
}

}  // namespace fa_profile
