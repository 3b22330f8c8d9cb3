#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fa_profile/metric_host.h"

namespace fa_profile::collect {

/// What determines a plan; equal requests have equal plans.
struct PlanRequest {
  std::string chip;
  std::uint32_t cupti_version = 0;
  std::span<const std::uint8_t> availability;
  std::span<const std::string> metrics;  ///< as asked, in order
};

/// The plan stored for `request` under `cache_dir`, or nothing: absent, unreadable, of another format version, damaged
/// (checksum), or stored for another request that happens to have the same hash.
std::optional<MetricPlan> ReadCachedPlan(const std::string& cache_dir, const PlanRequest& request);

/// Stores `plan`, so that a reader sees either the old file or the complete new one. Creates `cache_dir`. Returns false
/// when it cannot be written, which only costs time at the next run.
bool WriteCachedPlan(const std::string& cache_dir, const PlanRequest& request, const MetricPlan& plan);

}  // namespace fa_profile::collect
