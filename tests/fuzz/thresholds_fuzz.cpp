// Text that is not a threshold file gives an Error and nothing else: no crash, no endless loop, no memory without
// bound. What is accepted keeps its promises: every limit is a number in its range, every rule names a metric and
// demands something, and every exception has an owner, a reason and an end. And it can be explained.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/thresholds.h"

namespace {

using fa_profile::gate::Severity;
using fa_profile::gate::ThresholdRule;
using fa_profile::gate::Thresholds;

bool IsWithin(double value, double most) { return std::isfinite(value) && value >= 0.0 && value <= most; }

bool IsWhole(const ThresholdRule& rule) {
  for (const auto& limit : {rule.relative, rule.absolute, rule.minimum, rule.maximum}) {
    if (limit && !IsWithin(*limit, 1e24)) return false;
  }
  const bool limited = rule.relative || rule.absolute || rule.minimum || rule.maximum;
  if (!limited && !rule.severity) return false;
  if (rule.severity == Severity::kOff && (limited || rule.reason.empty())) return false;
  if (rule.minimum && rule.maximum && *rule.minimum > *rule.maximum) return false;
  if (rule.exception != !rule.expires.empty()) return false;
  if (rule.exception && (rule.owner.empty() || rule.reason.empty() || rule.expires.size() != 10)) return false;
  return rule.line > 0 && !rule.kernel.empty() && !rule.shape.empty() &&
         fa_profile::gate::UnitOf(rule.phase, rule.metric).has_value();
}

bool IsWhole(const Thresholds& read) {
  for (const ThresholdRule& rule : read.rules) {
    if (!IsWhole(rule)) return false;
  }
  for (const double share : {read.duration.relative, read.phase_time.relative, read.phase_time.absolute,
                             read.counter_relative, read.budget, read.most_dropped_pairs}) {
    if (!IsWithin(share, 1.0)) return false;
  }
  return read.rules.size() <= 1000 && read.regression_level > 0.0 && read.regression_level <= read.suspect_level &&
         IsWithin(read.suspect_level, 0.5) && IsWithin(read.counter_aa_ranges, 1000.0);
}

Thresholds Read(const std::uint8_t* data, std::size_t size) {
  return fa_profile::gate::ParseThresholds({reinterpret_cast<const char*>(data), size}, "t.yaml");
}

}  // namespace

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    (void)Read(data, size);
    return true;
  } catch (const fa_profile::Error&) {
    return false;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Thresholds read = Read(data, size);
    if (!IsWhole(read)) std::abort();
    (void)fa_profile::gate::ExplainThresholds(read, {{"mma", "1,8,512,64"}, {"wmma", ""}}, "2026-11-21");
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
  }
  return 0;
}
