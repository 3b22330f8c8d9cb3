#include "fa_profile/spread_session.h"

#include <utility>

namespace fa_profile::collect {

SpreadSession::SpreadSession(const MetricPlan& plan, RangeProfiler& profiler, std::vector<std::string> wanted,
                             std::int64_t patience)
    : plan_(plan),
      profiler_(profiler),
      wanted_(std::move(wanted)),
      patience_(patience),
      measured_(wanted_.size(), false),
      awaited_(wanted_.size(), true),
      passes_of_(wanted_.size(), 0) {
  profiler_.Configure(plan_, wanted_.size(), Replay::kUser);
}

bool SpreadSession::Wants(std::optional<std::size_t> index, std::int64_t kernels) {
  if (done_) return false;
  if (index && !measured_[*index]) return true;
  launches_without_ += kernels;
  return false;
}

void SpreadSession::Open(std::size_t index) {
  if (!started_) {
    profiler_.Start();
    started_ = true;
  }
  profiler_.PushRange(wanted_[index]);
  measured_[index] = true;
  awaited_[index] = true;
  ++passes_of_[index];
  launches_without_ = 0;
}

bool SpreadSession::Close() {
  profiler_.PopRange();
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (awaited_[i] && !measured_[i]) return false;
  }
  return EndPass();
}

bool SpreadSession::EndPass() {
  if (!started_) return done_;
  started_ = false;
  ++passes_taken_;
  awaited_ = std::exchange(measured_, std::vector<bool>(wanted_.size(), false));
  launches_without_ = 0;
  const bool all = profiler_.Stop();
  // A plan states its passes; more than a few beyond them means that CUPTI will never be satisfied.
  done_ = all || passes_taken_ >= plan_.passes + 8;
  return done_;
}

}  // namespace fa_profile::collect
