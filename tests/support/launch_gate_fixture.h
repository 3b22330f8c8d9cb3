#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/launch_gate.h"
#include "fake_program.h"

/// A launch gate on a program and a GPU that are faked.
namespace fa_profile::collect {

inline const LaunchCall kA = KernelLaunch("a");
inline const LaunchCall kB = KernelLaunch("b");

class LaunchGateTest : public testing::Test {
 protected:
  using Way = LaunchGate::Way;

  explicit LaunchGateTest(CounterPlan plan = {{"x.sum"}, Replay::kUser, 0.01, 8, false, false}) {
    program_.gpu.passes_needed = 2;
    gate_.emplace(program_, program_, program_, std::move(plan));
  }

  static std::string NameOf(const LaunchCall& call) { return call.symbol != nullptr ? call.symbol : "graph"; }
  // The driver's call of a thread of the program.
  Way Launch(const LaunchCall& call) {
    const Way way = gate_->Enter(call);
    program_.gpu.calls.push_back(NameOf(call));
    gate_->Leave();
    return way;
  }
  // Launches were seen, our thread chose these classes, and each was probed: the next launch of one opens a range.
  void ChooseProbed(const std::vector<LaunchCall>& calls) {
    (void)Launch(calls.front());
    for (const LaunchCall& call : calls) program_.AddCandidate(KeyOf(call));
    gate_->Tick();
    for (const LaunchCall& call : calls) ASSERT_EQ(Launch(call), Way::kAlone);
    (void)program_.gpu.TakeCalls();
  }
  // The next launch of `kA` takes the second pass.
  void TakeFirstPass() {
    ChooseProbed({kA});
    ASSERT_EQ(Launch(kA), Way::kAlone);
    (void)program_.gpu.TakeCalls();
  }
  std::string Kinds(const std::vector<DataLoss>& losses) {
    std::string kinds;
    for (const DataLoss& loss : losses) kinds += (kinds.empty() ? "" : " ") + loss.kind;
    return kinds;
  }
  std::int64_t Counted() {
    std::int64_t all = 0;
    const AskedLaunches asked = gate_->TakeCounts();
    for (const auto& [kernel, launches] : asked.kernels) all += launches;
    for (const auto& [graph, launches] : asked.graphs) all += launches;
    return all;
  }

  FakeProgram program_;
  std::optional<LaunchGate> gate_;
};

}  // namespace fa_profile::collect
