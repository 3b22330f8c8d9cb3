// Launches of CUDA graphs before the launch gate, which makes them node by node, on a program and a GPU that are faked.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/launch_gate.h"
#include "fake_program.h"

namespace fa_profile::collect::graph_gate_test {
namespace {

using Way = LaunchGate::Way;

class GraphGateTest : public testing::Test {
 protected:
  explicit GraphGateTest(CounterPlan plan = {{"x.sum"}, Replay::kUser, 0.01, 8, true, false}) {
    program_.gpu.passes_needed = 2;
    gate_.emplace(program_, program_, program_, std::move(plan));
  }

  FakeGraph& AddGraph(std::uint32_t id, const std::vector<const char*>& symbols) {
    return *(program_.graphs[id] = std::make_shared<FakeGraph>(program_.gpu.calls, id, symbols));
  }
  // The driver's call of a thread of the program.
  Way Launch(const LaunchCall& call) {
    const Way way = gate_->Enter(call);
    if (way != Way::kReplaced) program_.gpu.calls.emplace_back(call.symbol != nullptr ? call.symbol : "graph");
    gate_->Leave();
    return way;
  }
  // Launches were seen, and our thread chose these kernels.
  void Choose(const std::vector<const char*>& symbols) {
    (void)Launch(KernelLaunch("first"));
    for (const char* const symbol : symbols) program_.AddCandidate(KeyOf(KernelLaunch(symbol)));
    gate_->Tick();
    (void)program_.gpu.TakeCalls();
  }
  void ChooseProbed(const LaunchCall& graph, const std::vector<const char*>& symbols) {
    Choose(symbols);
    ASSERT_EQ(Launch(graph), Way::kReplaced);
    (void)program_.gpu.TakeCalls();
  }
  static std::string Subjects(const std::vector<DataLoss>& losses) {
    std::string all;
    for (const DataLoss& loss : losses) all += (all.empty() ? "" : ", ") + loss.kind + " " + loss.subject;
    return all;
  }

  FakeProgram program_;
  std::optional<LaunchGate> gate_;
  const LaunchCall graph_ = GraphLaunch(7);
};

TEST_F(GraphGateTest, TheNodesAreLaunchedInItsPlaceAndMeasuredPassByPass) {
  AddGraph(7, {"a", nullptr, "b"});
  Choose({"a", "b"});
  EXPECT_EQ(Launch(graph_), Way::kReplaced) << "each node is probed";
  EXPECT_EQ(program_.gpu.TakeCalls(), "{ a set b }") << "CUPTI samples, and would not begin to record again";
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(program_.gpu.TakeCalls(),
            "{ room -trace -samples counters plan +measuring counters open:ranges +trace user:2 "
            "-trace start [class 0 a ] +trace set -trace [class 1 b ] stop +trace }");
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(program_.gpu.TakeCalls(),
            "{ -trace start [class 0 a ] set [class 1 b ] stop decode close:ranges } +trace -measuring")
      << "the trace begins before the sampling, which -measuring starts again";
  gate_->Tick();
  EXPECT_EQ(program_.cases, (std::vector<std::string>{KeyOf(KernelLaunch("a")), KeyOf(KernelLaunch("b"))}));
  EXPECT_EQ(program_.built.recording.ranges.size(), 2U);
  EXPECT_EQ(Launch(graph_), Way::kPasses) << "nothing is left to measure";
  EXPECT_EQ(Subjects(gate_->Finish()), "");
}

TEST_F(GraphGateTest, AGraphWithoutAChosenKernelIsLaunchedAsAWhole) {
  AddGraph(7, {"a"});
  AddGraph(8, {"b"});
  Choose({"a"});
  EXPECT_EQ(Launch(GraphLaunch(8)), Way::kPasses);
  EXPECT_EQ(Launch(GraphLaunch(9)), Way::kPasses) << "its nodes are not known";
  EXPECT_EQ(program_.gpu.TakeCalls(), "graph graph");
}

// The same kernel may do other work in another node.
TEST_F(GraphGateTest, AClassIsMeasuredAtOnePlaceOfTheProgram) {
  AddGraph(7, {"a", "a"});
  AddGraph(8, {"a"});
  ChooseProbed(graph_, {"a"});
  EXPECT_EQ(Launch(GraphLaunch(8)), Way::kPasses);
  EXPECT_EQ(Launch(KernelLaunch("a")), Way::kPasses);
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(program_.gpu.Count("[class 0"), 1);
  EXPECT_EQ(program_.gpu.Count("a"), 2);
}

TEST_F(GraphGateTest, AClassWhoseGraphIsGoneIsMeasuredElsewhere) {
  AddGraph(7, {"a"});
  AddGraph(8, {"a"});
  ChooseProbed(graph_, {"a"});
  for (int i = 0; i <= kMostTicksWithoutLaunch; ++i) gate_->Tick();
  gate_->Tick();
  EXPECT_EQ(Launch(GraphLaunch(8)), Way::kReplaced) << "the probe";
  EXPECT_EQ(Launch(GraphLaunch(8)), Way::kReplaced);
  EXPECT_EQ(program_.gpu.Count("[class 0"), 1);
}

TEST_F(GraphGateTest, OncePassedANodeDoesNotUnrollTheGraphAgain) {
  AddGraph(7, {"a"});
  AddGraph(8, {"b"});
  Choose({"a", "b"});
  for (int i = 0; i < 2; ++i) ASSERT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(Launch(graph_), Way::kPasses) << "it waits for the node of the other graph";
  ASSERT_EQ(Launch(GraphLaunch(8)), Way::kReplaced) << "the probe";
  ASSERT_EQ(Launch(GraphLaunch(8)), Way::kReplaced);
  EXPECT_EQ(Launch(graph_), Way::kReplaced) << "the second pass";
}

// If a program has graphs for several batch sizes, only one may come for a long time.
TEST_F(GraphGateTest, AGraphThatDoesNotComeIsNotWaitedForLong) {
  std::vector<const char*> symbols(100, nullptr);
  symbols.push_back("a");
  AddGraph(7, symbols);
  AddGraph(8, {"b"});
  Choose({"a", "b"});
  ASSERT_EQ(Launch(GraphLaunch(8)), Way::kReplaced) << "the probe";
  int launches = 0;
  for (; launches < 100 && program_.gpu.Count("[class 0") < 2; ++launches) (void)Launch(graph_);
  EXPECT_LT(launches, 20) << "of 101 nodes each";
}

// Another branch of the graph, or another stream, may have to end it.
TEST_F(GraphGateTest, ANodeThatDoesNotEndAloneIsNeverMeasuredAndTheOthersAre) {
  AddGraph(7, {"a", "b"});
  Choose({"a", "b"});
  program_.idle = {true, true, false, true};  // before the graph, before and after the first node
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(program_.gpu.Count("[class 0"), 0);
  EXPECT_EQ(program_.gpu.Count("[class 1"), 1);
  EXPECT_EQ(program_.gpu.Count("a"), 2);
  EXPECT_EQ(Subjects(gate_->Finish()).substr(0, 21), "launch_not_measured a");
}

TEST_F(GraphGateTest, WhileTheGpuIsBusyTheGraphIsLaunchedAsAWhole) {
  AddGraph(7, {"a"});
  Choose({"a"});
  program_.idle = {false, true};
  EXPECT_EQ(Launch(graph_), Way::kPasses);
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
}

// The program's call gets the driver's result; to launch the graph now would do the work of its first nodes twice.
TEST_F(GraphGateTest, ANodeThatTheDriverRefusesEndsMeasuring) {
  FakeGraph& graph = AddGraph(7, {"a", "b", "c"});
  ChooseProbed(graph_, {"a", "b"});
  graph.failing_node = 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("a node was not launched"), std::string::npos);
  EXPECT_EQ(program_.gpu.Count("c"), 0);
  EXPECT_EQ(program_.gpu.Count("]"), 2) << "its range is closed";
  EXPECT_EQ(program_.gpu.calls.back(), "-measuring");
  EXPECT_EQ(Launch(graph_), Way::kPasses);
}

TEST_F(GraphGateTest, WhenTheFirstNodeIsRefusedTheDriverLaunchesTheGraph) {
  AddGraph(7, {"a", "b"}).failing_node = 0;
  Choose({"a"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(Launch(graph_), Way::kPasses);
  (void)testing::internal::GetCapturedStderr();
  EXPECT_EQ(program_.gpu.Count("b"), 0);
  EXPECT_EQ(program_.gpu.Count("graph"), 1);
}

TEST_F(GraphGateTest, WhateverCuptiRefusesTheNodesAreLaunched) {
  AddGraph(7, {"a", nullptr, "b"});
  ChooseProbed(graph_, {"a", "b"});
  program_.gpu.failing_call = "[class 0";
  testing::internal::CaptureStderr();
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  (void)testing::internal::GetCapturedStderr();
  EXPECT_EQ(program_.gpu.Count("a"), 1);
  EXPECT_EQ(program_.gpu.Count("set"), 1);
  EXPECT_EQ(program_.gpu.Count("b"), 1);
  EXPECT_EQ(program_.gpu.Count("}"), 1);
  EXPECT_FALSE(gate_->Measures());
}

TEST_F(GraphGateTest, AnUnrolledLaunchIsNotCountedAmongTheRecordedOnes) {
  AddGraph(7, {"a", nullptr, "b"});
  ChooseProbed(graph_, {"a"});
  (void)gate_->TakeCounts();
  (void)Launch(graph_);
  const AskedLaunches asked = gate_->TakeCounts();
  EXPECT_EQ(asked.graphs.at(7), 0);
  EXPECT_EQ(asked.kernels.size(), 1U) << "while CUPTI samples, what is not measured is recorded";
  EXPECT_EQ(gate_->measured_launches(), 1);
  (void)Launch(graph_);
  EXPECT_TRUE(gate_->TakeCounts().kernels.empty()) << "after that its nodes leave no record";
  EXPECT_EQ(gate_->measured_launches(), 3);
}

TEST_F(GraphGateTest, ChoicesAreMadeNodeByNode) {
  AddGraph(7, {"a", nullptr, "b"});
  Choose({"a", "b"});
  program_.asks_one_by_one = true;
  program_.asked = 0;
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(program_.asked, 2);
  program_.takes = false;
  EXPECT_EQ(Launch(graph_), Way::kPasses);
  EXPECT_EQ(program_.asked, 4);
}

class GraphInstructionsTest : public GraphGateTest {
 protected:
  GraphInstructionsTest() : GraphGateTest({{"x.sum"}, Replay::kUser, 0.01, 8, false, true}) {}
};

TEST_F(GraphInstructionsTest, AfterTheCountersTheInstructionsOfTheSameNodeAreCounted) {
  AddGraph(7, {"a", "a"});
  ChooseProbed(graph_, {"a"});
  for (int i = 0; i < 2; ++i) ASSERT_EQ(Launch(graph_), Way::kReplaced);
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(program_.counted.size(), 1U);
  EXPECT_EQ(program_.counted.front().first, KeyOf(KernelLaunch("a")));
  EXPECT_EQ(Launch(graph_), Way::kPasses);
}

class GraphReplayTest : public GraphGateTest {
 protected:
  GraphReplayTest() : GraphGateTest({{"x.sum"}, Replay::kKernel, 0.01, 8, false, false}) {}
};

TEST_F(GraphReplayTest, TheFirstNodeOfEachClassIsReplayed) {
  AddGraph(7, {"a", "b", "a"});
  (void)Launch(KernelLaunch("first"));
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(graph_), Way::kReplaced);
  EXPECT_EQ(gate_->replayed_launches(), 3) << "the kernel before the graph, and two classes in it";
  EXPECT_EQ(Launch(graph_), Way::kPasses);
}

TEST_F(GraphReplayTest, OfAGraphWithBranchesNothingIsReplayed) {
  AddGraph(7, {"a", "b"}).branches = true;
  EXPECT_EQ(Launch(graph_), Way::kPasses);
  EXPECT_EQ(gate_->replayed_launches(), 0);
}

}  // namespace
}  // namespace fa_profile::collect::graph_gate_test
