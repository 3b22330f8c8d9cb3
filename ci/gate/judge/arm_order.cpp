#include "fa_profile/arm_order.h"

#include <array>

namespace fa_profile::gate {

std::vector<PairArm> ArmOrder(int pair) {
  using enum PairArm;
  static constexpr std::array<std::array<PairArm, 3>, 6> kOrders = {{{kBase, kCandidate, kControl},
                                                                     {kControl, kCandidate, kBase},
                                                                     {kCandidate, kControl, kBase},
                                                                     {kBase, kControl, kCandidate},
                                                                     {kControl, kBase, kCandidate},
                                                                     {kCandidate, kBase, kControl}}};
  const auto& order = kOrders.at(static_cast<std::size_t>(pair) % kOrders.size());
  return {order.begin(), order.end()};
}

}  // namespace fa_profile::gate
