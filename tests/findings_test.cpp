#include "fa_profile/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/metric_catalogue.h"
#include "findings_fixture.h"

namespace fa_profile::analyze::findings_test {
namespace {

DeviceFunction WithCode(std::vector<Instruction> code) {
  DeviceFunction function;
  function.name = "kernel";
  function.instructions = std::move(code);
  return function;
}

/// A rule, a kernel in which it fires and one close to it in which it does not.
struct Row {
  const char* id;
  const char* phase;  ///< that the finding names
  std::function<void(ProfileEntry&)> fires;
  std::function<void(ProfileEntry&)> is_close;
};

const std::vector<Row>& Table() {
  static const std::vector<Row> rows{
      {"not-correct", "", [](ProfileEntry& e) { e.verification->draws_passed = 9; }, [](ProfileEntry&) {}},
      {"bottleneck-phase", "qk", [](ProfileEntry&) {}, [](ProfileEntry& e) { e.phases.reset(); }},
      {"serial-softmax", "softmax",
       [](ProfileEntry& e) {
         Set(e, "softmax", {{"phase_threads_per_instruction", 4.0}});
       },
       [](ProfileEntry& e) {
         Set(e, "softmax", {{"phase_threads_per_instruction", 4.1}});
       }},
      {"serial-phase", "pv",
       [](ProfileEntry& e) {
         Set(e, "pv", {{"phase_threads_per_instruction", 1.0}});
       },
       // A producer's one thread issues copies: little of the time.
       [](ProfileEntry& e) {
         Set(e, "pv", {{"phase_threads_per_instruction", 1.0}, {"phase_time_ratio", 0.19}});
       }},
      {"tensor-idle", "softmax",
       [](ProfileEntry& e) {
         e.metrics["tensor_core_utilization_ratio"] = 0.05;
         Set(e, "softmax", {{"phase_time_ratio", 0.55}});
       },
       [](ProfileEntry& e) {
         e.metrics["tensor_core_utilization_ratio"] = 0.11;
         Set(e, "softmax", {{"phase_time_ratio", 0.55}});
       }},
      {"tensor-absent", "",
       [](ProfileEntry& e) {
         e.metrics["hmma_instructions"] = 0;
         Set(e, "qk", {{"phase_tensor_instructions", 0}});
         Set(e, "pv", {{"phase_tensor_instructions", 0}});
       },
       [](ProfileEntry& e) {  // too little work to matter
         e.metrics["hmma_instructions"] = 0;
         e.metrics["shape_flops"] = 9e7;
         Set(e, "qk", {{"phase_tensor_instructions", 0}});
         Set(e, "pv", {{"phase_tensor_instructions", 0}});
       }},
      {"bank-conflicts", "pv",
       [](ProfileEntry& e) {
         Set(e, "pv", {{"phase_bank_conflict_ratio", 0.5}, {"phase_bank_conflicts", 5e4}});
       },
       [](ProfileEntry& e) {
         Set(e, "pv", {{"phase_bank_conflict_ratio", 0.09}, {"phase_bank_conflicts", 9e3}});
       }},
      {"uncoalesced", "qk",
       [](ProfileEntry& e) {
         Set(e, "qk", {{"phase_global_sectors", 1e6}, {"phase_coalescing_ratio", 0.125}});
       },
       [](ProfileEntry& e) {
         Set(e, "qk", {{"phase_global_sectors", 1e6}, {"phase_coalescing_ratio", 0.67}});
       }},
      {"uncoalesced", "",
       [](ProfileEntry& e) {
         e.phases.reset();
         e.metrics["global_load_sectors_per_request"] = 32;
       },
       [](ProfileEntry& e) {  // 16 bytes a thread
         e.phases.reset();
         e.metrics["global_load_sectors_per_request"] = 16;
       }},
      {"exp-bound", "softmax",
       [](ProfileEntry& e) {
         Set(e, "softmax", {{"phase_mufu_utilization_ratio", 0.65}});
       },
       [](ProfileEntry& e) {
         Set(e, "softmax", {{"phase_mufu_utilization_ratio", 0.55}});
       }},
      {"exp-bound", "",
       [](ProfileEntry& e) {
         e.phases.reset();
         e.metrics["xu_pipe_ratio"] = 0.95;
       },
       [](ProfileEntry& e) {
         e.phases.reset();
         e.metrics["xu_pipe_ratio"] = 0.3;
       }},
      {"wait-for-copy", "pv",
       [](ProfileEntry& e) {
         e.metrics["warps_active_cycles"] = 1e6;
         Set(e, "pv", {{"phase_threads_per_instruction", 32.0}});
         e.phases->async_waits = {{"mbarrier", "pv", "k.cu:7", 1000.0, 150.0, {}, {}, {}}};
       },
       [](ProfileEntry& e) {  // for products, which are pv's own work
         e.metrics["warps_active_cycles"] = 1e6;
         Set(e, "pv", {{"phase_threads_per_instruction", 32.0}});
         e.phases->async_waits = {{"matrix", "pv", "k.cu:7", 1000.0, 150.0, 10.0, {}, {}}};
       }},
      {"wait-for-copy", "qk",
       [](ProfileEntry& e) {
         PhaseOf(e, "qk").stalls = {{"long_scoreboard", 0.6}};
       },
       [](ProfileEntry& e) {  // the memory is at its limit: waiting is the transfer
         PhaseOf(e, "qk").stalls = {{"long_scoreboard", 0.6}};
         e.metrics["memory_sol_ratio"] = 0.9;
       }},
      {"local-memory", "softmax",
       [](ProfileEntry& e) {
         Set(e, "softmax", {{"phase_local_sectors", 5e4}});
         Set(e, "qk", {{"phase_global_sectors", 1e5}, {"phase_coalescing_ratio", 1.0}});
       },
       [](ProfileEntry& e) {  // one spill at the start
         Set(e, "softmax", {{"phase_local_sectors", 500}});
         Set(e, "qk", {{"phase_global_sectors", 1e5}, {"phase_coalescing_ratio", 1.0}});
       }},
      {"local-memory", "",
       [](ProfileEntry& e) {
         e.phases.reset();
         e.metrics["local_memory_bytes"] = 1e6;
         e.metrics["l1_global_bytes"] = 1e6;
       },
       [](ProfileEntry& e) {  // a stack frame that is never touched
         e.phases.reset();
         e.metrics["local_memory_bytes"] = 0;
         e.launches[0].local_memory_per_thread_bytes = 64;
       }},
      {"low-occupancy", "",
       [](ProfileEntry& e) {
         e.occupancy = Occupancy{0.016, 1, {"shared memory"}, 4.0};
         e.metrics["achieved_occupancy_ratio"] = 0.016;
         e.metrics["issue_slot_utilization_ratio"] = 0.03;
         e.stalls = {{"long_scoreboard", 0.9}};
       },
       [](ProfileEntry& e) {  // one block an SM that keeps the tensor cores busy: right as it is
         e.occupancy = Occupancy{0.125, 1, {"shared memory"}, 1.0};
         e.metrics["achieved_occupancy_ratio"] = 0.125;
         e.metrics["issue_slot_utilization_ratio"] = 0.1;
         e.metrics["tensor_core_utilization_ratio"] = 0.9;
         e.stalls = {{"long_scoreboard", 0.6}};
       }},
      {"small-grid", "",
       [](ProfileEntry& e) {
         e.occupancy = Occupancy{0.5, 8, {"registers"}, 2.0 / 1056};
       },
       [](ProfileEntry& e) {
         e.occupancy = Occupancy{0.5, 8, {"registers"}, 0.51};
       }},
      {"reduced-clock", "",
       [](ProfileEntry& e) {
         e.timing.emplace();
         e.timing->sm_clock_hz = 1.6e9;
       },
       [](ProfileEntry& e) {
         e.timing.emplace();
         e.timing->sm_clock_hz = 1.9e9;
       }},
      {"launch-gaps", "", [](ProfileEntry& e) { e.metrics["gap_timing_seconds"] = 1.2e-5; },
       [](ProfileEntry& e) { e.metrics["gap_timing_seconds"] = 0.9e-5; }},
  };
  return rows;
}

TEST(FindingsTest, EachRuleFiresOnItsKernelAndNotOnAlmostTheSameOne) {
  for (const Row& row : Table()) {
    SCOPED_TRACE(row.id);
    const std::vector<Finding> findings = Found(row.fires);
    const Finding* const finding = Find(findings, row.id);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->phase, row.phase);
    EXPECT_FALSE(finding->evidence.empty());
    EXPECT_FALSE(finding->cure.empty());
    EXPECT_GE(finding->weight, 0.0);
    EXPECT_LE(finding->weight, 1.0);
    EXPECT_EQ(Find(Found(row.is_close), row.id), nullptr);
  }
}

TEST(FindingsTest, MetricsThatEvidenceQuotesAreInACatalogue) {
  for (const Row& row : Table()) {
    SCOPED_TRACE(row.id);
    const std::vector<Finding> findings = Found(row.fires);
    const Finding* const finding = Find(findings, row.id);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->metrics.empty(), finding->id == "not-correct");
    for (const std::string& id : finding->metrics) {
      EXPECT_TRUE(FindMetric(id) != nullptr || FindPhaseMetric(id) != nullptr) << id;
    }
  }
}

TEST(FindingsTest, UnknownCodeGetsNoAdvice) {
  const auto change = [](const char* phase) {
    return [phase](ProfileEntry& e) {
      Set(e, phase,
          {{"phase_time_ratio", 0.3},
           {"phase_threads_per_instruction", 1.0},
           {"phase_bank_conflict_ratio", 0.5},
           {"phase_global_sectors", 1e6},
           {"phase_coalescing_ratio", 0.125},
           {"phase_mufu_utilization_ratio", 0.9}});
      PhaseOf(e, phase).stalls = {{"long_scoreboard", 0.6}};
    };
  };
  const std::vector<Finding> named = Found(change("pv"));
  const std::vector<Finding> unnamed = Found(change(kUnattributed));
  for (const char* id : {"serial-phase", "bank-conflicts", "uncoalesced", "exp-bound", "wait-for-copy"}) {
    EXPECT_NE(Find(named, id), nullptr) << id;
    EXPECT_EQ(Find(unnamed, id), nullptr) << id;
  }
  // Local memory is a fact of the whole kernel; only the phase cannot be named.
  const std::vector<Finding> spills = Found([](ProfileEntry& e) {
    Set(e, kUnattributed, {{"phase_local_sectors", 1e4}});
    Set(e, "pv", {{"phase_local_sectors", 1e3}});
  });
  ASSERT_NE(Find(spills, "local-memory"), nullptr);
  EXPECT_EQ(Find(spills, "local-memory")->phase, "pv");
}

TEST(FindingsTest, APhaseWithoutThreadCountsIsNotReportedAsSerial) {
  const auto change = [](ProfileEntry& e) { PhaseOf(e, "softmax").metrics.erase("phase_threads_per_instruction"); };
  EXPECT_EQ(Find(Found(change), "serial-softmax"), nullptr);
}

TEST(FindingsTest, UnusedTensorCoresAreNotReportedAsIdle) {
  const auto idle = [](double instructions) {
    return Found([=](ProfileEntry& e) {
      e.metrics["tensor_core_utilization_ratio"] = 0.0;
      Set(e, "qk", {{"phase_tensor_instructions", instructions}});
      Set(e, "softmax", {{"phase_time_ratio", 0.55}});
      Set(e, "pv", {{"phase_tensor_instructions", 0}});
    });
  };
  EXPECT_NE(Find(idle(1), "tensor-idle"), nullptr);
  EXPECT_EQ(Find(idle(0), "tensor-idle"), nullptr);
}

TEST(FindingsTest, IdleTensorCoresAreNotTheAdviceForTheLongestPhase) {
  const std::vector<Finding> findings = Found([](ProfileEntry& e) {
    e.metrics["tensor_core_utilization_ratio"] = 0.05;
    Set(e, "softmax", {{"phase_time_ratio", 0.55}});
    PhaseOf(e, "softmax").stalls = {{"wait", 0.5}};
  });
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].phase, findings[1].phase);
  EXPECT_NE(findings[0].cure.find("more independent work"), std::string::npos);
}

TEST(FindingsTest, ExponentialsOfTheWholeKernelAreJudgedOnlyWithoutPhases) {
  const std::vector<Finding> findings = Found([](ProfileEntry& e) { e.metrics["xu_pipe_ratio"] = 0.95; });
  EXPECT_EQ(Find(findings, "exp-bound"), nullptr);
}

TEST(FindingsTest, MissingTensorCoreUseIsReportedOnlyWhereTheChipAndTheWorkAllowIt) {
  const auto without = [](ProfileEntry& e) {
    e.metrics["hmma_instructions"] = 0;
    Set(e, "qk", {{"phase_tensor_instructions", 0}});
    Set(e, "pv", {{"phase_tensor_instructions", 0}});
  };
  ProfileEntry entry = Healthy();
  without(entry);
  Device volta = H200();
  volta.compute_capability_major = 7;
  EXPECT_NE(Find(FindProblems(entry, volta), "tensor-absent"), nullptr);
  Device pascal = H200();
  pascal.compute_capability_major = 6;
  EXPECT_EQ(Find(FindProblems(entry, pascal), "tensor-absent"), nullptr);
  entry.shape.reset();
  EXPECT_EQ(Find(FindProblems(entry, H200()), "tensor-absent"), nullptr);
  // Counted per instruction, where the range profiler counted none.
  EXPECT_EQ(Find(Found([&](ProfileEntry& e) {
                   without(e);
                   Set(e, "pv", {{"phase_tensor_instructions", 1}});
                 }),
                 "tensor-absent"),
            nullptr);
  EXPECT_EQ(Find(Found([&](ProfileEntry& e) {  // nothing was counted: nothing is known
                   e.phases.reset();
                   e.metrics.erase("hmma_instructions");
                 }),
                 "tensor-absent"),
            nullptr);
}

TEST(FindingsTest, EveryRuleOfTheTableIsTested) {
  // They look at instructions: the first below, the others in inferred_findings_test.cpp.
  std::set<std::string> tested{"device-printf",      "exponentials-again", "no-overlap",
                               "rescale-every-tile", "setup-bound",        "softmax-bound"};
  for (const Row& row : Table()) tested.insert(row.id);
  for (const FindingRule& rule : FindingRules()) EXPECT_TRUE(tested.contains(rule.id)) << rule.id;
  EXPECT_EQ(tested.size(), FindingRules().size());
}

TEST(FindingsTest, AHealthyKernelGetsOnlyItsLongestPhase) {
  const std::vector<Finding> findings = Found([](ProfileEntry&) {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].evidence,
            "qk takes 40 % of the time (40.0 us): wait 50 %, math_pipe_throttle 20 % of its samples");
  EXPECT_NE(findings[0].cure.find("more independent work"), std::string::npos);
}

TEST(FindingsTest, TheCureOfAPhaseWithoutSharedMemoryDoesNotNameIt) {
  const auto cure = [](const char* reason, std::optional<double> wavefronts) {
    return Found([&](ProfileEntry& entry) {
             for (PhaseEntry& phase : entry.phases->phases) {
               if (phase.name != "qk") continue;
               phase.stalls = {{reason, 0.9}};
               phase.metrics.erase("phase_shared_wavefronts");
               if (wavefronts) phase.metrics["phase_shared_wavefronts"] = *wavefronts;
             }
           })[0]
        .cure;
  };
  for (const char* reason : {"short_scoreboard", "mio_throttle"}) {
    EXPECT_TRUE(cure(reason, 1e6).find("shared") != std::string::npos) << cure(reason, 1e6);
    EXPECT_EQ(cure(reason, std::nullopt), cure(reason, 1e6)) << "not counted";
    EXPECT_NE(cure(reason, 0.0).find("constants"), std::string::npos) << cure(reason, 0.0);
  }
  EXPECT_EQ(cure("wait", 0.0), cure("wait", 1e6));
}

TEST(FindingsTest, SerialSoftmaxComesAfterTheBottleneckWithItsNumbers) {
  const std::vector<Finding> findings = Found([](ProfileEntry& entry) {
    Set(entry, "softmax",
        {{"phase_threads_per_instruction", 1.02}, {"phase_time_ratio", 0.56}, {"phase_time_seconds", 322e-6}});
    entry.metrics["tensor_core_utilization_ratio"] = 0.001;
    entry.stalls = {{"barrier", 0.64}};
  });
  ASSERT_GE(findings.size(), 3U);
  EXPECT_EQ(findings[0].id, "bottleneck-phase");
  EXPECT_EQ(findings[0].cure, "see serial-softmax, which is found in this phase too");
  EXPECT_EQ(findings[0].cause, "serial-softmax");
  EXPECT_EQ(findings[1].id, "serial-softmax");
  EXPECT_EQ(findings[1].cause, "");
  EXPECT_EQ(findings[1].evidence,
            "softmax takes 56 % of the time (322 us) with 1.0 of 32 threads per instruction; 64 % of all warp-cycles "
            "wait at a barrier");
  EXPECT_EQ(findings[2].id, "tensor-idle");
  EXPECT_EQ(findings[2].cause, "serial-softmax") << findings[2].phase;
}

TEST(FindingsTest, AnIncorrectKernelGetsNoOtherFinding) {
  const std::vector<Finding> findings = Found([](ProfileEntry& entry) {
    entry.verification->draws_passed = 3;
    entry.verification->max_error_ratio = 17.5;
    entry.verification->nonfinite = 2;
    Set(entry, "softmax", {{"phase_threads_per_instruction", 1.0}});
  });
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "not-correct");
  EXPECT_EQ(findings[0].evidence,
            "3 of 10 draws fit the reference, worst error 17.5 of the tolerance, 2 NaN or infinite");
}

TEST(FindingsTest, AbsentMetricsFireNoRule) {
  EXPECT_TRUE(FindProblems(ProfileEntry{}, Device{}).empty());
  ProfileEntry entry;
  entry.phases = PhaseTable{};
  entry.phases->phases = {{"softmax", {}, {}}, {kUnattributed, {}, {}}};
  EXPECT_TRUE(FindProblems(entry, Device{}).empty());
}

TEST(FindingsTest, FindingsAreSortedByWeightThenByTableOrder) {
  const std::vector<Finding> findings = Found([](ProfileEntry& entry) {
    entry.metrics["gap_timing_seconds"] = 9e-5;
    Set(entry, "pv", {{"phase_bank_conflict_ratio", 0.5}});
  });
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::greater<>(), &Finding::weight));
  EXPECT_EQ(findings[0].id, "launch-gaps");
}

TEST(FindingsTest, CodeWithoutAPhaseIsReportedAsUnknown) {
  const std::vector<Finding> findings = Found([](ProfileEntry& entry) {
    Set(entry, kUnattributed, {{"phase_time_ratio", 0.9}});
  });
  ASSERT_FALSE(findings.empty());
  EXPECT_NE(findings[0].cure.find("-lineinfo"), std::string::npos);
}

// nvcc 13's code for printf("%d", i), and for a call of one of the program's functions.
TEST(FindingsTest, ADevicePrintfIsFoundAsACallToAnExternal) {
  const InlineFrame frame{"kernel(float*)", "/src/kernel.cu", 17};
  const DeviceFunction with = WithCode({{0x120, "", "MOV", "R0, 0x40", {}},
                                        {0x130, "", "LDC.64", "R10, c[0x4][R0]", {}},
                                        {0x140, "", "STL.64", "[R1], R8", {}},
                                        {0x180, "", "CALL.ABS.NOINC", "R10", {frame}}});
  const DeviceFunction without = WithCode({{0x100, "", "LDC.64", "R10, c[0x3][R0]", {}},  // a function pointer
                                           {0x180, "", "CALL.ABS.NOINC", "R10", {frame}},
                                           {0x1b0, "", "CALL.REL.NOINC", "$kernel$other", {}}});
  const std::vector<const DeviceFunction*> functions{&with};
  const std::vector<Finding> findings = FindProblems(Healthy(), H200(), functions);
  const Finding* const finding = Find(findings, "device-printf");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence, "1 call into the device runtime (printf, assert or malloc), the first at kernel.cu:17");
  EXPECT_EQ(finding->place, "kernel.cu:17");
  const std::vector<const DeviceFunction*> others{&without};
  EXPECT_EQ(Find(FindProblems(Healthy(), H200(), others), "device-printf"), nullptr);
}

// PyTorch's indexing kernels: printf is called before an assertion fails.
TEST(FindingsTest, ACallThatNeverRanIsNoFinding) {
  DeviceFunction with =
      WithCode({{0x130, "", "LDC.64", "R10, c[0x4][R0]", {}}, {0x180, "", "CALL.ABS.NOINC", "R10", {}}});
  with.id = 7;
  const std::vector<const DeviceFunction*> functions{&with};
  SassCounting counting;
  counting.counts = {{7, 0x130, {{"smsp__sass_inst_executed", 32}}}};
  EXPECT_EQ(Find(FindProblems(Healthy(), H200(), functions, &counting), "device-printf"), nullptr);
  counting.counts[0].function_id = 8;
  EXPECT_NE(Find(FindProblems(Healthy(), H200(), functions, &counting), "device-printf"), nullptr) << "not counted";
  counting.counts = {{7, 0x180, {{"smsp__sass_inst_executed", 1}}}};
  EXPECT_NE(Find(FindProblems(Healthy(), H200(), functions, &counting), "device-printf"), nullptr);
}

TEST(FindingsTest, RulesHaveAStoryAndStableIds) {
  std::set<std::string> ids;
  for (const FindingRule& rule : FindingRules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_EQ(rule.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos) << rule.id;
    EXPECT_EQ(&RequireFinding(rule.id), &rule);
    EXPECT_GE(rule.story.size(), 200U) << rule.id;
    for (const std::string* text : {&rule.title, &rule.condition, &rule.weight, &rule.source, &rule.cure}) {
      EXPECT_FALSE(text->empty()) << rule.id;
      EXPECT_EQ(text->find_first_of("\n{}"), std::string::npos) << rule.id;
    }
  }
  EXPECT_THROW((void)RequireFinding("serial"), Error);
}

}  // namespace
}  // namespace fa_profile::analyze::findings_test
