#pragma once

#include <cstddef>

namespace fa_profile::analyze {

/// Counts steps, so that no text, however strange, takes long: stages spend steps as they go, and stop when none are
/// left. The limit is eight times the need of FlashAttention 3's largest kernels, and takes less than a second.
class StepBudget {
 public:
  explicit StepBudget(std::size_t limit = 50'000'000) : limit_(limit) {}

  /// False once the limit is exceeded, and from then on.
  bool Spend(std::size_t steps = 1) {
    spent_ += steps;
    return spent_ <= limit_;
  }

  bool exhausted() const { return spent_ > limit_; }
  std::size_t spent() const { return spent_; }

 private:
  std::size_t limit_;
  std::size_t spent_ = 0;
};

}  // namespace fa_profile::analyze
