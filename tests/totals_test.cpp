#include "fa_profile/totals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "fa_profile/analyze.h"
#include "fa_profile/contribution.h"
#include "fa_profile/error.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/stall_reasons.h"
#include "fa_profile/totals_json.h"
#include "program_recording.h"

namespace fa_profile::prom::totals_test {
namespace {

const Recording& Bundled() {
  static const Recording recording = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load();
  return recording;
}

const Totals& OfBundled() {
  static const Totals totals = Contribution(Bundled(), analyze::Analyze(Bundled()));
  return totals;
}

const std::map<std::string, KernelTotals>& Kernels(const Totals& totals) { return totals.gpus.at(0).kernels; }

TEST(TotalsTest, PhaseCyclesAddUpToTheKernelsCycles) {
  ASSERT_GE(Kernels(OfBundled()).size(), 7U);
  for (const auto& [name, kernel] : Kernels(OfBundled())) {
    ASSERT_TRUE(kernel.sm_active_cycles) << name;
    const double sum = std::accumulate(kernel.phases.begin(), kernel.phases.end(), 0.0,
                                       [](double so_far, const auto& phase) { return so_far + phase.second.cycles; });
    EXPECT_NEAR(sum / *kernel.sm_active_cycles, 1, 1e-6) << name;
  }
}

TEST(TotalsTest, StallCyclesAreScaledToTheResidentWarps) {
  for (const auto& [name, kernel] : Kernels(OfBundled())) {
    double sum = 0;
    for (const auto& [phase, totals] : kernel.phases) {
      for (const auto& [reason, cycles] : totals.stall_cycles) sum += cycles;
    }
    // All samples but those that issued: a good part of the warps' cycles, never more than all.
    EXPECT_GT(sum, 0.3 * *kernel.warps_active_cycles) << name;
    EXPECT_LE(sum, *kernel.warps_active_cycles * 1.000001) << name;
  }
}

TEST(TotalsTest, TheHistogramCountsEveryTimedCall) {
  for (const Case& entry : Bundled().cases) {
    for (const Timing& timing : Bundled().timings) {
      if (timing.case_id != entry.id || !timing.part.empty()) continue;
      const ShapeTotals& shape = Kernels(OfBundled()).at(entry.kernel).shapes.at(ShapeBucket(entry.shape));
      EXPECT_EQ(std::accumulate(shape.duration_counts.begin(), shape.duration_counts.end(), 0.0), shape.launches);
      EXPECT_GE(shape.launches, static_cast<double>(timing.durations_ns.size())) << entry.kernel;
      EXPECT_GT(shape.duration_sum_seconds, 0);
      EXPECT_GT(shape.flops, 0);
    }
  }
}

TEST(TotalsTest, LaunchesOfAWatchedProgramAreAllThatWereSeen) {
  Recording recording = sample::MakeProgramRecording();
  recording.timings = {{1, "", "activity", {90'000, 190'000, 200'000}}, {4, "", "activity", {50'000}}};
  const Totals totals = Contribution(recording, analyze::Analyze(recording));
  const ShapeTotals& flash = Kernels(totals).at("flash::flash_fwd_kernel").shapes.at("none");
  EXPECT_EQ(flash.launches, 1600);
  EXPECT_DOUBLE_EQ(flash.duration_sum_seconds, 0.32);
  EXPECT_EQ(flash.duration_counts[3], 533) << "a third of the sample takes 50 to 100 us";
  EXPECT_EQ(flash.duration_counts[4], 1067);
  const ShapeTotals& split = Kernels(totals).at("cutlass::splitk_kernel").shapes.at("none");
  EXPECT_EQ(split.launches, 1) << "without a sample by the mean, 60 us";
  EXPECT_EQ(split.duration_counts[3], 1);
  EXPECT_EQ(Kernels(totals).at("at::native::elementwise_kernel").shapes.at("none").launches, 1000)
      << "both of its instantiations";
  EXPECT_EQ(Kernels(totals).at("cutlass::gemm_kernel").origin, "program");
}

// At 2,16,2048,128, its costliest shape, the specimen's scalar P.V takes most; at the smaller ones its softmax does.
TEST(TotalsTest, PhaseRatiosAreOfEachShapeBucketAndWeighShapesByTheirTime) {
  const auto& shapes = Kernels(OfBundled()).at("serial_softmax").shapes;
  EXPECT_NEAR(shapes.at("le_512").phase_ratios.at("softmax"), 0.56, 0.01);
  const double weighted = (5.274 * 0.56 + 23.638 * 0.41) / (5.274 + 23.638);
  EXPECT_NEAR(shapes.at("le_2048").phase_ratios.at("softmax"), weighted, 0.01);
  for (const auto& [name, kernel] : Kernels(OfBundled())) {
    for (const auto& [bucket, shape] : kernel.shapes) {
      const double sum = std::accumulate(shape.phase_ratios.begin(), shape.phase_ratios.end(), 0.0,
                                         [](double so_far, const auto& phase) { return so_far + phase.second; });
      EXPECT_NEAR(sum, 1, 1e-9) << name << " " << bucket;
    }
  }
}

TEST(TotalsTest, AShapeThatANewerRecordingLacksKeepsItsPhaseRatios) {
  Totals first;
  first.gpus[0].kernels["k"].phases = {{"qk", {}}, {"pv", {}}};
  Totals second = first;
  Totals third = first;
  first.gpus[0].kernels["k"].shapes["le_512"].phase_ratios = {{"qk", 0.4}, {"pv", 0.6}};
  second.gpus[0].kernels["k"].shapes["le_2048"].phase_ratios = {{"qk", 1}};
  third.gpus[0].kernels["k"].shapes["le_512"].phase_ratios = {{"pv", 1}};
  Totals totals;
  Merge(totals, first);
  Merge(totals, second);
  using Ratios = std::map<std::string, double>;
  EXPECT_EQ(Kernels(totals).at("k").shapes.at("le_512").phase_ratios, (Ratios{{"qk", 0.4}, {"pv", 0.6}}));
  Merge(totals, third);
  EXPECT_EQ(Kernels(totals).at("k").shapes.at("le_512").phase_ratios, (Ratios{{"pv", 1}}));
  EXPECT_EQ(Kernels(totals).at("k").shapes.at("le_2048").phase_ratios, (Ratios{{"qk", 1}}));
}

TEST(TotalsTest, TheSharesOfFoldedPhasesAreInOther) {
  Totals from;
  KernelTotals& kernel = from.gpus[0].kernels["k"];
  for (int i = 0; i < kMaxPhaseLabels + 2; ++i) {
    const std::string phase = std::string("p").append(std::to_string(i));
    kernel.phases[phase].cycles = 1;
    kernel.shapes["none"].phase_ratios[phase] = 0.1;
  }
  Totals totals;
  Merge(totals, from);
  const auto& ratios = Kernels(totals).at("k").shapes.at("none").phase_ratios;
  EXPECT_EQ(ratios.size(), static_cast<std::size_t>(kMaxPhaseLabels) + 1);
  EXPECT_DOUBLE_EQ(ratios.at("other"), 0.2);
}

TEST(TotalsTest, AnIncorrectKernelHasNoTimes) {
  Recording wrong = Bundled();
  for (Verification& verification : wrong.verifications) verification.draws_passed = 0;
  const Totals totals = Contribution(wrong, analyze::Analyze(wrong));
  for (const auto& [name, kernel] : Kernels(totals)) {
    EXPECT_EQ(kernel.gauges.at("faprof_kernel_correct"), 0) << name;
    for (const auto& [bucket, shape] : kernel.shapes) {
      EXPECT_EQ(shape.launches, 0) << name;
      EXPECT_EQ(shape.flops, 0) << name;
    }
  }
}

TEST(TotalsTest, MergingTwiceDoublesSumsAndKeepsGauges) {
  Totals totals;
  Merge(totals, OfBundled());
  Merge(totals, OfBundled());
  for (const auto& [name, once] : Kernels(OfBundled())) {
    const KernelTotals& twice = Kernels(totals).at(name);
    EXPECT_DOUBLE_EQ(*twice.sm_active_cycles, 2 * *once.sm_active_cycles);
    EXPECT_EQ(twice.gauges, once.gauges);
    for (const auto& [phase, sums] : once.phases) {
      EXPECT_DOUBLE_EQ(twice.phases.at(phase).cycles, 2 * sums.cycles);
      EXPECT_DOUBLE_EQ(twice.phases.at(phase).instructions.value_or(0), 2 * sums.instructions.value_or(0));
    }
    for (const auto& [bucket, shape] : once.shapes) {
      EXPECT_EQ(twice.shapes.at(bucket).launches, 2 * shape.launches);
      EXPECT_EQ(twice.shapes.at(bucket).phase_ratios, shape.phase_ratios);
    }
  }
}

TEST(TotalsTest, JsonKeepsEveryBit) {
  const Totals again = TotalsFromJson(ToJson(OfBundled()));
  EXPECT_EQ(ToJson(again), ToJson(OfBundled()));
  EXPECT_EQ(*Kernels(again).at("wmma").sm_active_cycles, *Kernels(OfBundled()).at("wmma").sm_active_cycles);
}

TEST(TotalsTest, InvalidTotalsAreAnError) {
  const std::string good = ToJson(OfBundled());
  EXPECT_THROW(TotalsFromJson(""), Error);
  EXPECT_THROW(TotalsFromJson("[]"), Error);
  EXPECT_THROW(TotalsFromJson(good.substr(0, good.size() / 2)), Error);
  EXPECT_THROW(TotalsFromJson(R"({"version":2,"folded":0,"gpus":[]})"), Error);
  EXPECT_THROW(TotalsFromJson(R"({"version":1,"folded":null,"gpus":[]})"), Error);
  EXPECT_NO_THROW(TotalsFromJson(R"({"version":1,"folded":0,"gpus":[]})"));
}

TEST(TotalsTest, ARecordingWithNumbersThatMustNotBeCountedIsAnError) {
  const auto refused = [](const std::function<void(Recording&)>& change) {
    Recording recording = Bundled();
    change(recording);
    try {
      (void)Contribution(recording, analyze::Analyze(recording));
      return std::string();
    } catch (const Error& error) {
      return error.message();
    }
  };
  const auto cycles = [](double value) {
    return [value](Recording& recording) {
      for (Range& range : recording.ranges) range.metrics["sm__cycles_active.sum"] = value;
    };
  };
  EXPECT_EQ(refused([](Recording&) {}), "");
  EXPECT_NE(refused(cycles(-1)), "");
  EXPECT_NE(refused(cycles(2e30)), "");
  EXPECT_NE(refused([](Recording& recording) { recording.device.ordinal = kMostGpus; }), "");
  EXPECT_NE(refused([](Recording& recording) { recording.device.ordinal = -1; }), "");
}

TEST(TotalsTest, AnErrorAboutANumberSaysWhichItIs) {
  Totals totals;
  totals.gpus[3].kernels["k"].phases["softmax"].cycles = -5;
  try {
    CheckTotals(totals, 1e30);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "kernel 'k', phase 'softmax': cycles is -5 and must be from 0 to 1e+30: it is not counted");
  }
}

TEST(TotalsTest, KernelsBeyondTheLimitAreLabelledOther) {
  Totals totals;
  for (int i = 0; i < kMaxKernelLabels + 5; ++i) {
    Totals one;
    KernelTotals& kernel = one.gpus[0].kernels[std::string("k").append(std::to_string(i))];
    kernel.sm_active_cycles = 1;
    kernel.gauges["faprof_kernel_registers"] = 40;
    Merge(totals, one);
  }
  EXPECT_EQ(Kernels(totals).size(), static_cast<std::size_t>(kMaxKernelLabels) + 1);
  EXPECT_EQ(*Kernels(totals).at("other").sm_active_cycles, 5);
  EXPECT_TRUE(Kernels(totals).at("other").gauges.empty());  // five kernels have no registers in common
  EXPECT_EQ(totals.folded, 5);
}

TEST(TotalsTest, PhasesBeyondTheLimitAreLabelledOtherAndUnattributedStays) {
  Totals from;
  KernelTotals& kernel = from.gpus[0].kernels["k"];
  for (int i = 0; i < kMaxPhaseLabels + 3; ++i) kernel.phases[std::string("p").append(std::to_string(i))].cycles = 1;
  kernel.phases["unattributed"].cycles = 1;
  Totals totals;
  Merge(totals, from);
  const auto& phases = Kernels(totals).at("k").phases;
  EXPECT_EQ(phases.size(), static_cast<std::size_t>(kMaxPhaseLabels) + 2);
  EXPECT_EQ(phases.at("other").cycles, 3);
  EXPECT_EQ(phases.at("unattributed").cycles, 1);
}

// A page's sums of a kernel, the oldest page first, as Prometheus's increase() adds them up.
class Pages {
 public:
  explicit Pages(int kernels_beside = 0) : kernels_beside_(kernels_beside) {}

  // Counts a recording of a kernel, and makes the page.
  void Record(const std::string& kernel, const std::string& phase = "qk") {
    Totals one;
    one.gpus[0].kernels[kernel].sm_active_cycles = 10;
    one.gpus[0].kernels[kernel].phases[phase].cycles = 10;
    Merge(totals_, one, History());
    Scrape();
  }
  void RecordOthers() {
    for (int i = 0; i < kernels_beside_; ++i) Record(std::string("other").append(std::to_string(i)));
  }
  // So long that every kernel may be hidden, and what is held is shown.
  void Pass() {
    AgeKernels(held_, 200, 100);
    AgeKernels(totals_, 200);
    Scrape();
  }
  double Increase(const std::string& series) const {
    double sum = 0;
    std::optional<double> last;
    for (const auto& page : pages_) {
      const auto found = page.find(series);
      if (found == page.end()) continue;
      if (last) sum += found->second < *last ? found->second : found->second - *last;
      last = found->second;
    }
    return sum;
  }
  bool Shows(const std::string& series) const { return pages_.back().contains(series); }
  const Totals& totals() const { return totals_; }

 private:
  PageHistory History() { return {&held_, 100}; }
  void Scrape() {
    auto& page = pages_.emplace_back();
    for (const auto& [name, kernel] : Kernels(totals_)) {
      if (kernel.hidden) continue;
      const KernelTotals* const held = FindKernel(held_, 0, name);
      const KernelTotals& shown = held == nullptr ? kernel : *held;
      page[name] = *shown.sm_active_cycles;
      for (const auto& [phase, sums] : shown.phases) page[name + " " + phase] = sums.cycles;
    }
  }

  int kernels_beside_;
  Totals totals_;
  Totals held_;
  std::vector<std::map<std::string, double>> pages_;
};

TEST(TotalsTest, IncreaseCountsEveryRecordingOfAKernelThatPauses) {
  Pages pages;
  for (int i = 1; i <= 3; ++i) {
    pages.Record("k");
    pages.Pass();
    EXPECT_EQ(pages.Increase("k"), 10 * i);
  }
}

TEST(TotalsTest, IncreaseCountsAPhaseThatIsNewAndAKernelThatIsHeld) {
  Pages pages;
  pages.Record("k", "qk");
  pages.Record("k", "qk");
  pages.Record("k", "pv");
  pages.Pass();
  EXPECT_EQ(pages.Increase("k"), 30);
  EXPECT_EQ(pages.Increase("k qk"), 20);
  EXPECT_EQ(pages.Increase("k pv"), 10);
}

TEST(TotalsTest, IncreaseCountsAKernelThatWasHidden) {
  Pages pages(kMaxKernelLabels);
  for (int i = 1; i <= 3; ++i) {
    pages.Record("k");
    pages.Pass();
    EXPECT_EQ(pages.Increase("k"), 10 * i);
    EXPECT_TRUE(pages.Shows("k"));
    pages.RecordOthers();
    EXPECT_FALSE(pages.Shows("k"));
    EXPECT_EQ(*Kernels(pages.totals()).at("k").sm_active_cycles, 10 * i);
    pages.Pass();
  }
  EXPECT_FALSE(Kernels(pages.totals()).contains("other"));
}

TEST(TotalsTest, KernelsThatAreKeptHaveALimitAndTheOldestIsForgotten) {
  Pages pages;
  pages.Record("first");
  for (std::size_t i = 0; i < kMostKernelsKept + 5; ++i) {
    pages.Pass();
    pages.Record(std::string("k").append(std::to_string(i)));
  }
  EXPECT_EQ(Kernels(pages.totals()).size(), kMostKernelsKept);
  EXPECT_FALSE(Kernels(pages.totals()).contains("first"));
  pages.Record("first");
  pages.Pass();
  EXPECT_EQ(pages.Increase("first"), 20) << "from zero, as after a reset";
}

TEST(TotalsTest, TheOldestKernelsAreHiddenAndNoneThatIsHeld) {
  Totals totals;
  totals.gpus[0].kernels["old"].idle_seconds = 200;
  totals.gpus[1].kernels["older"].idle_seconds = 300;
  totals.gpus[1].kernels["held"].idle_seconds = 400;
  totals.gpus[0].kernels["new"].idle_seconds = 100;
  Totals held;
  (void)held.gpus[1].kernels["held"];
  const PageHistory history{&held, 100};
  EXPECT_TRUE(HideOldest(totals, history));
  EXPECT_TRUE(totals.gpus[1].kernels["older"].hidden);
  EXPECT_FALSE(Kernels(totals).at("old").hidden);
  EXPECT_TRUE(HideOldest(totals, history));
  EXPECT_TRUE(Kernels(totals).at("old").hidden);
  EXPECT_FALSE(HideOldest(totals, history));
}

TEST(TotalsTest, TheStateOfAnEarlierVersionIsRead) {
  const Totals totals = TotalsFromJson(
      R"({"version":1,"folded":0,"gpus":[{"gpu":0,"uuid":"","kernels":{"k":{"shapes":{},"phases":{},"gauges":{},)"
      R"("bottleneck":"qk","origin":"ladder","commit":"","last_seen":1.8e9,"sm_active_cycles":7}}}]})");
  EXPECT_EQ(Kernels(totals).at("k").sm_active_cycles, 7);
  EXPECT_EQ(Kernels(totals).at("k").idle_seconds, 0);
}

// The label of a kernel of the ladder or of a library.
std::string LabelOf(const std::string& name) {
  ProfileEntry entry;
  entry.kernel = name;
  entry.origin = "ladder";
  return KernelLabel(entry);
}

// The label of a program's launch class, whose one launch has this name.
std::string ProgramLabelOf(const std::string& kernel_name) {
  ProfileEntry entry;
  entry.kernel = "k<<<64, 128>>>";
  entry.origin = "program";
  entry.launches.emplace_back().kernel_name = kernel_name;
  return KernelLabel(entry);
}

TEST(TotalsTest, TheLabelOfAProgramsKernelIsItsFunctionWithScopes) {
  EXPECT_EQ(ProgramLabelOf("void flash::fwd_kernel<128, true>(flash::Params const&)"), "flash::fwd_kernel");
  EXPECT_EQ(ProgramLabelOf("void Solver<double>::step<float>(int)"), "Solver::step");
  EXPECT_EQ(ProgramLabelOf("std::enable_if<true, void>::type ns::k<1>(float*)"), "ns::k");
  EXPECT_EQ(ProgramLabelOf("void at::(anonymous namespace)::softmax<float>(float*)"), "at::anonymous::softmax");
  EXPECT_EQ(ProgramLabelOf("_ZN6SolverIdE4stepEi"), "Solver::step") << "a mangled name";
  EXPECT_EQ(ProgramLabelOf("_ZN2ns49_GLOBAL__N__13234337_16_gpu_reference_cu_a95268ec13CompareKernelEPKdl"),
            "ns::anonymous::CompareKernel")
      << "as nvcc mangles it";
  EXPECT_EQ(ProgramLabelOf("fma_k"), "fma_k");
}

TEST(TotalsTest, KernelsOfAnonymousNamespacesHaveLabelsThatDiffer) {
  EXPECT_EQ(ProgramLabelOf("(anonymous namespace)::f(int)"), "anonymous::f");
  EXPECT_EQ(ProgramLabelOf("(anonymous namespace)::g(int)"), "anonymous::g");
}

TEST(TotalsTest, TheLabelOfAnotherKernelIsItsName) {
  EXPECT_EQ(LabelOf("mma"), "mma");
  EXPECT_EQ(LabelOf("fa3-hopper.v2"), "fa3-hopper.v2");
  EXPECT_NE(LabelOf("fast attention v1"), LabelOf("slow attention v1"));
}

TEST(TotalsTest, ALabelThatIsNotTheWholeNameEndsInAHashOfIt) {
  EXPECT_EQ(LabelOf("a\"b\nc"), "a_b_c~b0fc");
  EXPECT_EQ(LabelOf("evil\"} 1\nfaprof_fake"), "evil_1_faprof_fake~b5d9");
  EXPECT_NE(LabelOf("a b"), LabelOf("a_b"));
  EXPECT_NE(LabelOf("a b"), LabelOf("a/b"));
  EXPECT_NE(ProgramLabelOf("A::operator+(A const&)"), ProgramLabelOf("A::operator-(A const&)"));
  EXPECT_NE(ProgramLabelOf("f()::{lambda(int)#1}::operator()(int) const"),
            ProgramLabelOf("f()::{lambda(int)#2}::operator()(int) const"));
  EXPECT_EQ(LabelOf(std::string(1000, 'x')).size(), 64U);
  EXPECT_NE(LabelOf(std::string(1000, 'x')), LabelOf(std::string(1001, 'x')));
}

TEST(TotalsTest, AKernelNamedOtherIsNotCountedWithTheFoldedOnes) {
  EXPECT_EQ(LabelOf("other").substr(0, 6), "other~");
  EXPECT_EQ(LabelOf("").substr(0, 8), "unnamed~");
}

TEST(TotalsTest, DifferentKernelsOfAProgramHaveSumsApart) {
  Recording recording = sample::MakeProgramRecording();
  for (Launch& launch : recording.launches) {
    if (launch.case_id == 1) launch.kernel_name = "(anonymous namespace)::first(int)";
    if (launch.case_id == 4) launch.kernel_name = "(anonymous namespace)::second(int)";
  }
  const Totals totals = Contribution(recording, analyze::Analyze(recording));
  EXPECT_EQ(Kernels(totals).at("anonymous::first").shapes.at("none").launches, 1600);
  EXPECT_EQ(Kernels(totals).at("anonymous::second").shapes.at("none").launches, 3000);
}

TEST(TotalsTest, KernelsThatShareALabelAreCounted) {
  Recording recording = sample::MakeProgramRecording();
  EXPECT_EQ(Contribution(recording, analyze::Analyze(recording)).merged, 1) << "the two elementwise_kernels";
  for (Launch& launch : recording.launches) {
    if (launch.case_id == 1) launch.kernel_name = "void step<64>(int)";
    if (launch.case_id == 4) launch.kernel_name = "void step<128>(int)";
  }
  const Totals totals = Contribution(recording, analyze::Analyze(recording));
  EXPECT_EQ(Kernels(totals).at("step").shapes.at("none").launches, 4600);
  EXPECT_EQ(totals.folded, 0);
  const double merged = totals.merged;
  EXPECT_GE(merged, 1);
  Totals twice = totals;
  Merge(twice, totals);
  EXPECT_EQ(TotalsFromJson(ToJson(twice)).merged, 2 * merged);
}

TEST(TotalsTest, EveryStallReasonBelongsToAGroup) {
  std::set<std::string_view> groups;
  for (const PcSampling& sampling : Bundled().samplings) {
    for (const PcSample& sample : sampling.samples) {
      for (const auto& [reason, count] : sample.samples) groups.insert(StallGroupOf(reason));
    }
  }
  EXPECT_GE(groups.size(), 6U);
  EXPECT_EQ(groups.erase("issuing"), 1U) << "it has no series";
  EXPECT_EQ(StallGroups().size(), kMaxReasonLabels + 1U);
}

TEST(TotalsTest, ShapesHaveFourBucketsAndABucketForNone) {
  AttentionShape shape;
  shape.seqlen = 512;
  EXPECT_EQ(ShapeBucket(shape), "le_512");
  shape.seqlen = 513;
  EXPECT_EQ(ShapeBucket(shape), "le_2048");
  shape.seqlen = 8193;
  EXPECT_EQ(ShapeBucket(shape), "gt_8192");
  EXPECT_EQ(ShapeBucket(std::nullopt), "none");
}

TEST(TotalsTest, GaugesOfOldStatesGetTheirPresentNames) {
  Totals totals;
  totals.gpus[0].kernels["k"].gauges["faprof_exporter_overhead_ratio"] = 0.5;
  std::string old = ToJson(totals);
  const std::string present = "faprof_exporter_overhead_ratio";
  old.replace(old.find(present), present.size(), OldNameOf(present));
  EXPECT_EQ(TotalsFromJson(old), totals);
}

}  // namespace
}  // namespace fa_profile::prom::totals_test
