#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "findings_fixture.h"

namespace fa_profile::analyze::finding_thresholds_test {
namespace {

/// A kernel in which a rule fires, but for one number; the number on either side of the rule's threshold.
struct Edge {
  const char* id;
  const char* number;
  std::function<void(ProfileEntry&, double)> change;
  double fires;
  double just_not;
};

std::vector<Edge> EdgesOfThePhases() {
  const auto conflicts = [](ProfileEntry& e, double ratio, double share) {
    Set(e, "pv", {{"phase_bank_conflict_ratio", ratio}, {"phase_time_ratio", share}});
  };
  const auto sectors = [](ProfileEntry& e, double pv, double useful, double share) {
    Set(e, "qk", {{"phase_global_sectors", 1000 - pv}, {"phase_coalescing_ratio", 1.0}});
    Set(e, "pv", {{"phase_global_sectors", pv}, {"phase_coalescing_ratio", useful}, {"phase_time_ratio", share}});
  };
  const auto exponentials = [](ProfileEntry& e, double busy, double share) {
    Set(e, "softmax", {{"phase_mufu_utilization_ratio", busy}, {"phase_time_ratio", share}});
  };
  const auto waits = [](ProfileEntry& e, double wait, double share, double memory) {
    Set(e, "qk", {{"phase_time_ratio", share}});
    PhaseOf(e, "qk").stalls = {{"long_scoreboard", wait}};
    e.metrics["memory_sol_ratio"] = memory;
  };
  const auto late = [](ProfileEntry& e, double cycles, double threads) {
    e.metrics["warps_active_cycles"] = 1e6;
    Set(e, "pv", {{"phase_threads_per_instruction", threads}});
    e.phases->async_waits = {{"mbarrier", "pv", "k.cu:7", 100.0, cycles, {}, {}, {}}};
  };
  const auto alone = [](ProfileEntry& e, double overlap, double waits_of_a_warp) {
    e.metrics["tensor_core_utilization_ratio"] = 0.3;
    Set(e, "softmax", {{"phase_time_ratio", 0.3}});
    Launch launch;
    launch.grid = {2, 1, 1};
    launch.block = {128, 1, 1};
    e.launches = {launch};  // 8 warps
    e.phases->async_waits = {{"matrix", "pv", "k.cu:7", 8.0 * waits_of_a_warp, 10.0, 0.0, {}, {}}};
    e.phases->overlap = ProductOverlap{overlap, {}};
  };
  const auto threads = [](const char* phase) {
    return [phase](ProfileEntry& e, double v) { Set(e, phase, {{"phase_threads_per_instruction", v}}); };
  };
  const auto serial_time = [](const char* phase) {
    return [phase](ProfileEntry& e, double v) {
      Set(e, phase, {{"phase_threads_per_instruction", 1.0}, {"phase_time_ratio", v}});
    };
  };
  return {
      {"serial-softmax", "threads", threads("softmax"), 4.0, 4.01},
      {"serial-softmax", "time", serial_time("softmax"), 0.20, 0.199},
      {"serial-phase", "threads", threads("pv"), 4.0, 4.01},
      {"serial-phase", "time", serial_time("pv"), 0.20, 0.199},
      {"bank-conflicts", "ratio", [=](auto& e, double v) { conflicts(e, v, 0.3); }, 0.10, 0.099},
      {"bank-conflicts", "time", [=](auto& e, double v) { conflicts(e, 0.5, v); }, 0.05, 0.049},
      {"uncoalesced", "sectors of 1000", [=](auto& e, double v) { sectors(e, v, 0.125, 0.3); }, 100, 99},
      {"uncoalesced", "useful", [=](auto& e, double v) { sectors(e, 500, v, 0.3); }, 0.50, 0.501},
      {"uncoalesced", "time", [=](auto& e, double v) { sectors(e, 500, 0.125, v); }, 0.05, 0.049},
      {"exp-bound", "busy", [=](auto& e, double v) { exponentials(e, v, 0.3); }, 0.60, 0.599},
      {"exp-bound", "time", [=](auto& e, double v) { exponentials(e, 0.9, v); }, 0.05, 0.049},
      // The units of a phase that overlaps with others are busy for longer than its share of the time.
      {"exp-bound", "busy in the whole kernel",
       [=](auto& e, double v) {
         exponentials(e, 0.9, 0.5);
         e.metrics["xu_pipe_ratio"] = v;
       },
       0.301, 0.299},
      {"wait-for-copy", "waiting samples", [=](auto& e, double v) { waits(e, v, 0.4, 0.4); }, 0.50, 0.499},
      {"wait-for-copy", "time", [=](auto& e, double v) { waits(e, 0.6, v, 0.4); }, 0.20, 0.199},
      {"wait-for-copy", "memory", [=](auto& e, double v) { waits(e, 0.6, 0.4, v); }, 0.599, 0.60},
      {"wait-for-copy", "at an mbarrier", [=](auto& e, double v) { late(e, v, 32.0); }, 1000.0, 999.0},
      {"wait-for-copy", "threads at an mbarrier", [=](auto& e, double v) { late(e, 1500.0, v); }, 4.01, 4.0},
      {"no-overlap", "overlap", [=](auto& e, double v) { alone(e, v, 8.0); }, 0.199, 0.20},
      {"no-overlap", "products of a warp", [=](auto& e, double v) { alone(e, 0.0, v); }, 4.1, 4.0},
      {"tensor-idle", "tensor pipe",
       [](ProfileEntry& e, double v) {
         e.metrics["tensor_core_utilization_ratio"] = v;
         Set(e, "softmax", {{"phase_time_ratio", 0.55}});
       },
       0.0999, 0.10},
      {"tensor-idle", "time of softmax, with 1/16 that is nobody's, 0.3 of qk and 0.2 of pv",
       [](ProfileEntry& e, double v) {
         e.metrics["tensor_core_utilization_ratio"] = 0.05;
         Set(e, "qk", {{"phase_time_ratio", 0.3}});
         Set(e, "softmax", {{"phase_time_ratio", v}});
         Set(e, "pv", {{"phase_time_ratio", 0.2}});
         Set(e, kUnattributed, {{"phase_time_ratio", 0.0625}});
       },
       0.4375, 0.4374},
      {"tensor-idle", "time of qk, which has tensor instructions, beside softmax's 0.47",
       [](ProfileEntry& e, double v) {
         e.metrics["tensor_core_utilization_ratio"] = 0.05;
         Set(e, "qk", {{"phase_time_ratio", v}});
         Set(e, "softmax", {{"phase_time_ratio", 0.47}});
         Set(e, "pv", {{"phase_time_ratio", 0.0}});
       },
       0.46, 0.48},
  };
}

std::vector<Edge> EdgesOfInferredPhases() {
  const auto inferred = [](ProfileEntry& e, double qk, double softmax, double other) {
    e.phases->inference.emplace().tile.emplace();
    e.phases->phases = {Phase("qk", qk), Phase("softmax", softmax), Phase("rescale", other), Phase("setup", other)};
  };
  const auto again = [=](ProfileEntry& e, double per_score, double softmax) {
    inferred(e, 0.5, softmax, 0.0);
    e.phases->inference->exponentials_per_score = per_score;
  };
  const auto overlap = [=](ProfileEntry& e, double softmax, double active) {
    inferred(e, 0.5, softmax, 0.0);
    e.phases->inference->tile->overlaps_exponentials = false;
    e.metrics["tensor_core_utilization_ratio"] = active;
  };
  return {
      {"softmax-bound", "time", [=](auto& e, double v) { inferred(e, 0.3, v, 0.0); }, 0.40, 0.399},
      {"softmax-bound", "time of products", [=](auto& e, double v) { inferred(e, v, 0.45, 0.0); }, 0.449, 0.45},
      {"exponentials-again", "for each score", [=](auto& e, double v) { again(e, v, 0.3); }, 1.5, 1.49},
      {"exponentials-again", "time", [=](auto& e, double v) { again(e, 2.0, v); }, 0.05, 0.049},
      {"exponentials-again", "threads",
       [=](auto& e, double v) {
         again(e, 2.0, 0.3);
         Set(e, "softmax", {{"phase_threads_per_instruction", v}});
       },
       4.01, 4.0},
      {"rescale-every-tile", "time",
       [=](auto& e, double v) {
         inferred(e, 0.4, 0.3, v);
         e.phases->inference->tile->rescale = "every tile";
       },
       0.05, 0.049},
      {"no-overlap", "time", [=](auto& e, double v) { overlap(e, v, 0.3); }, 0.20, 0.199},
      {"no-overlap", "tensor pipe", [=](auto& e, double v) { overlap(e, 0.3, v); }, 0.599, 0.60},
      {"setup-bound", "time", [=](auto& e, double v) { inferred(e, 0.4, 0.3, v); }, 0.20, 0.199},
  };
}

/// Each speed of light on either side of what makes a unit busy.
void AddEdgesOfBusyUnits(const char* id, const std::function<void(ProfileEntry&)>& fires, std::vector<Edge>& edges) {
  for (const char* unit :
       {"compute_sol_ratio", "memory_sol_ratio", "tensor_core_utilization_ratio", "dram_sol_ratio"}) {
    const auto change = [=](ProfileEntry& e, double v) {
      fires(e);
      e.metrics[unit] = v;
    };
    edges.push_back({id, unit, change, 0.599, 0.60});
  }
}

std::vector<Edge> EdgesOfTheKernel() {
  const auto few_warps = [](ProfileEntry& e) {
    e.occupancy = Occupancy{0.1, 1, {"shared memory"}, 4.0};
    e.metrics["achieved_occupancy_ratio"] = 0.1;
    e.metrics["issue_slot_utilization_ratio"] = 0.1;
    e.stalls = {{"long_scoreboard", 0.5}, {"short_scoreboard", 0.3}};
  };
  const auto small_grid = [](ProfileEntry& e) { e.occupancy = Occupancy{0.5, 8, {"registers"}, 0.1}; };
  const auto metric = [](const auto& fires, const char* id) {
    return [=](ProfileEntry& e, double v) {
      fires(e);
      e.metrics[id] = v;
    };
  };
  const auto whole = [](ProfileEntry& e) { e.phases.reset(); };
  const auto no_tensor = [](ProfileEntry& e) {
    e.metrics["hmma_instructions"] = 0;
    e.phases.reset();
  };
  const auto local = [](ProfileEntry& e) { Set(e, "qk", {{"phase_global_sectors", 9900}}); };
  const auto occupancy = [=](const auto& change) {
    return [=](ProfileEntry& e, double v) {
      few_warps(e);
      change(e, v);
    };
  };
  const auto two_stalls = [](ProfileEntry& e, double v) {
    e.stalls = {{"long_scoreboard", v / 2}, {"short_scoreboard", v / 2}, {"wait", 1.0 - v}};
  };
  std::vector<Edge> edges{
      {"tensor-absent", "FLOPs", metric(no_tensor, "shape_flops"), 1e8, 0.99e8},
      {"tensor-absent", "HMMA", metric(no_tensor, "hmma_instructions"), 0, 1},
      {"tensor-absent", "GMMA", metric(no_tensor, "gmma_instructions"), 0, 1},
      {"uncoalesced", "sectors per load", metric(whole, "global_load_sectors_per_request"), 20, 19.9},
      {"exp-bound", "pipe", metric(whole, "xu_pipe_ratio"), 0.60, 0.599},
      {"local-memory", "sectors beside 9900 global ones",
       [=](ProfileEntry& e, double v) {
         local(e);
         Set(e, "pv", {{"phase_local_sectors", v}});
       },
       101, 99},
      {"low-occupancy", "achieved", metric(few_warps, "achieved_occupancy_ratio"), 0.25, 0.251},
      {"low-occupancy", "issue slots used", metric(few_warps, "issue_slot_utilization_ratio"), 0.299, 0.301},
      {"low-occupancy", "warp-cycles that wait for memory", occupancy(two_stalls), 0.401, 0.399},
      {"low-occupancy", "waves", occupancy([](ProfileEntry& e, double v) { e.occupancy->waves = v; }), 1.0, 0.99},
      {"small-grid", "waves",
       [](ProfileEntry& e, double v) {
         e.occupancy = Occupancy{0.5, 8, {"registers"}, v};
       },
       0.499, 0.50},
      {"reduced-clock", "GHz of 1.98",
       [](ProfileEntry& e, double v) {
         e.timing.emplace();
         e.timing->sm_clock_hz = v * 1e9;
       },
       1.781, 1.783},
      {"launch-gaps", "of 100 us", [](ProfileEntry& e, double v) { e.metrics["gap_timing_seconds"] = v * 1e-6; }, 10.01,
       9.99},
  };
  AddEdgesOfBusyUnits("low-occupancy", few_warps, edges);
  AddEdgesOfBusyUnits("small-grid", small_grid, edges);
  return edges;
}

TEST(FindingThresholdsTest, EachRuleFiresExactlyBeyondItsThreshold) {
  std::vector<Edge> edges = EdgesOfThePhases();
  for (Edge& edge : EdgesOfInferredPhases()) edges.push_back(std::move(edge));
  for (Edge& edge : EdgesOfTheKernel()) edges.push_back(std::move(edge));
  std::set<std::string> tested{"not-correct", "bottleneck-phase", "device-printf"};  // have no threshold
  for (const Edge& edge : edges) {
    SCOPED_TRACE(std::string(edge.id) + ", " + edge.number);
    EXPECT_NE(Find(Found([&](ProfileEntry& e) { edge.change(e, edge.fires); }), edge.id), nullptr);
    EXPECT_EQ(Find(Found([&](ProfileEntry& e) { edge.change(e, edge.just_not); }), edge.id), nullptr);
    tested.insert(edge.id);
  }
  EXPECT_EQ(tested.size(), FindingRules().size());
}

TEST(FindingThresholdsTest, WithoutASpeedOfLightNoUnitIsReportedAsIdle) {
  const auto change = [](ProfileEntry& e, const char* unknown) {
    e.occupancy = Occupancy{0.016, 1, {"shared memory"}, 4.0};
    e.metrics["achieved_occupancy_ratio"] = 0.016;
    e.metrics["issue_slot_utilization_ratio"] = 0.03;
    e.stalls = {{"long_scoreboard", 0.9}};
    PhaseOf(e, "qk").stalls = {{"long_scoreboard", 0.6}};
    e.metrics.erase(unknown);
  };
  const auto small = [&](ProfileEntry& e, const char* unknown) {
    change(e, unknown);
    e.occupancy->waves = 0.1;
  };
  for (const char* unknown : {"compute_sol_ratio", "memory_sol_ratio"}) {
    SCOPED_TRACE(unknown);
    EXPECT_EQ(Find(Found([&](ProfileEntry& e) { change(e, unknown); }), "low-occupancy"), nullptr);
    EXPECT_EQ(Find(Found([&](ProfileEntry& e) { small(e, unknown); }), "small-grid"), nullptr);
  }
  EXPECT_NE(Find(Found([&](ProfileEntry& e) { change(e, "compute_sol_ratio"); }), "wait-for-copy"), nullptr);
  EXPECT_EQ(Find(Found([&](ProfileEntry& e) { change(e, "memory_sol_ratio"); }), "wait-for-copy"), nullptr);
  EXPECT_NE(Find(Found([&](ProfileEntry& e) { change(e, "no such metric"); }), "low-occupancy"), nullptr);
  EXPECT_NE(Find(Found([&](ProfileEntry& e) { small(e, "no such metric"); }), "small-grid"), nullptr);
}

}  // namespace
}  // namespace fa_profile::analyze::finding_thresholds_test
