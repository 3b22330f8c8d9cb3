// What `fa-profile -- PROGRAM` must never do: end a program differently, change what it computes, hang, or lose its
// work.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>

#include "fa_profile/device.h"
#include "fa_profile/recording_file.h"
#include "test_files.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class ProgramsGpuTest : public FolderTest {
 protected:
  void SetUp() override {
    if (collect::DeviceCount() == 0) GTEST_SKIP() << "no GPU here";
  }

  // A hang is exit code 124.
  Outcome Shell(const std::string& command) const {
    const std::string out = (folder_ / "out").string();
    const std::string err = (folder_ / "err").string();
    const int status =
        std::system(("cd " + folder_.string() + " && timeout 600 " + command + " >" + out + " 2>" + err).c_str());
    return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), ReadFile(out), ReadFile(err)};
  }
  Outcome WatchedProgram(const std::string& program, const std::string& options, const std::string& mode) const {
    return Shell(std::string(FA_PROFILE_PROGRAM) + " --force -o w.fap " + options + " -- " + program + " " + mode);
  }
  Outcome Watched(const std::string& options, const std::string& mode) const {
    return WatchedProgram(FA_PROFILE_WATCHED_PROGRAM, options, mode);
  }
  Recording Recorded(const std::string& name = "w.fap") const {
    return store::RecordingReader((folder_ / name).string()).Load();
  }
  bool Exists(const std::string& name) const { return fs::exists(folder_ / name); }

  static bool Lost(const Recording& recording, const std::string& kind) {
    return std::any_of(recording.losses.begin(), recording.losses.end(),
                       [&](const DataLoss& loss) { return loss.kind == kind; });
  }
  static bool HasRange(const Recording& recording, const std::string& kernel) {
    return std::ranges::any_of(recording.ranges, [&](const Range& range) {
      return std::ranges::any_of(
          recording.cases, [&](const Case& entry) { return entry.id == range.case_id && entry.kernel == kernel; });
    });
  }
  static std::int64_t Launches(const Recording& recording, const std::string& kernel) {
    std::int64_t launches = 0;
    for (const Case& entry : recording.cases) {
      if (!entry.kernel.starts_with(kernel)) continue;
      for (const KernelWork& work : recording.kernel_work) launches += work.case_id == entry.id ? work.launches : 0;
    }
    return launches;
  }
};

class WatchedModeTest : public ProgramsGpuTest, public testing::WithParamInterface<const char*> {};

TEST_P(WatchedModeTest, AProgramEndsAndComputesAsItDoesAlone) {
  const std::string mode = GetParam();
  const Outcome alone = Shell(std::string(FA_PROFILE_WATCHED_PROGRAM) + " " + mode);
  ASSERT_NE(alone.exit_code, 9) << alone.out;
  ASSERT_NE(alone.exit_code, 124);
  for (const char* const options : {"--replay none", "--replay none --phases on --record-all 0", "--ncu-set basic",
                                    "--ncu-set full", "--ncu-set basic --replay kernel"}) {
    // CUPTI's own replay of a kernel that waits for a later launch cannot end: docs/programs.md, Limits.
    if (mode == "waiting" && std::string(options).find("kernel") != std::string::npos) continue;
    const Outcome watched = Watched(options, mode);
    EXPECT_EQ(watched.exit_code, alone.exit_code) << mode << " " << options << ": " << watched.err;
    EXPECT_EQ(watched.out, alone.out) << mode << " " << options << ": " << watched.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, WatchedModeTest,
                         testing::Values("plain", "once", "graphs", "ranges", "selected", "threads", "waiting",
                                         "memory", "reset", "children", "fork", "exit7", "_exit", "abort", "kill",
                                         "term", "throw", "profiler", "late_profiler", "profiler_threads", "eager",
                                         "exit_launching"),
                         [](const auto& mode) { return std::string(mode.param[0] == '_' ? "now" : "") + mode.param; });

TEST_F(ProgramsGpuTest, AProgramThatLimitsItselfEndsAndComputesAsItDoesAlone) {
  for (const std::string mode : {"as", "fsize", "nofile"}) {
    const Outcome alone = Shell(std::string(FA_PROFILE_LIMITED_PROGRAM) + " " + mode);
    ASSERT_EQ(alone.exit_code, 11) << mode << alone.out;
    for (const char* const options : {"--replay none", "--ncu-set basic", "--ncu-set full"}) {
      const Outcome watched = Shell(std::string(FA_PROFILE_PROGRAM) + " --force -o w.fap " + options +
                                    " -- " FA_PROFILE_LIMITED_PROGRAM " " + mode);
      EXPECT_EQ(watched.exit_code, 11) << mode << " " << options << ": " << watched.err;
      EXPECT_EQ(watched.out, alone.out) << mode << " " << options << ": " << watched.err;
    }
  }
}

TEST_F(ProgramsGpuTest, AProcessThatOutlivesTheProgramIsNamedAndRecordsToItsEnd) {
  const Outcome watched = Shell(std::string(FA_PROFILE_PROGRAM) +
                                " --replay none --force -o w.fap -- " FA_PROFILE_LIMITED_PROGRAM " daemon");
  EXPECT_EQ(watched.exit_code, 11) << watched.err;
  EXPECT_TRUE(Contains(watched.err, "still runs and is not in the report"));
  // Either may have been the first to use the GPU.
  const auto whole = [this] {
    return std::count_if(fs::directory_iterator(folder_), fs::directory_iterator(),
                         [](const fs::directory_entry& file) { return file.path().extension() == ".fap"; });
  };
  for (int k = 0; k < 600 && whole() < 2; ++k) usleep(100'000);
  EXPECT_EQ(whole(), 2);
}

TEST_F(ProgramsGpuTest, GraphsThatTheGpuLaunchesAreNamedAsALoss) {
  const Outcome alone = Shell(FA_PROFILE_DEVICE_GRAPH);
  ASSERT_EQ(alone.exit_code, 0) << alone.out;
  const Outcome watched =
      Shell(std::string(FA_PROFILE_PROGRAM) + " --replay none --force -o w.fap -- " FA_PROFILE_DEVICE_GRAPH);
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  EXPECT_EQ(watched.out, alone.out);
  const Recording recording = Recorded();
  const auto loss = std::find_if(recording.losses.begin(), recording.losses.end(), [](const DataLoss& candidate) {
    return candidate.subject == "CUDA graphs that were instantiated for device launch";
  });
  ASSERT_NE(loss, recording.losses.end());
  EXPECT_EQ(loss->count, 2);
}

TEST_F(ProgramsGpuTest, EveryLaunchIsCountedAndTimed) {
  ASSERT_EQ(Watched("--replay none", "plain").exit_code, 0);
  const Recording recording = Recorded();
  EXPECT_EQ(Launches(recording, "Mix<<<256, 256>>>"), 6000);
  EXPECT_EQ(Launches(recording, "Rotate<<<256, 256>>>"), 6000);
  std::int64_t busy_ns = 0;
  std::int64_t watched_ns = 0;
  for (const WatchWindow& window : recording.watch_windows) {
    busy_ns += window.busy_ns;
    watched_ns += window.end_ns - window.start_ns;
  }
  EXPECT_GT(busy_ns, 0);
  EXPECT_LE(busy_ns, watched_ns);
  EXPECT_FALSE(Lost(recording, "activity_dropped"));
}

TEST_F(ProgramsGpuTest, OfASampleTheLaunchesAreCountedAndTheirTimeIsEstimated) {
  for (const char* const mode : {"long", "graph"}) {
    ASSERT_EQ(Watched("--replay none --record-all always", mode).exit_code, 0);
    const Recording whole = Recorded();
    ASSERT_EQ(Watched("--replay none --record-all 0", mode).exit_code, 0);
    const Recording sample = Recorded();
    std::int64_t unrecorded_ns = 0;
    for (const WatchWindow& window : sample.watch_windows) unrecorded_ns += window.unrecorded_ns;
    EXPECT_GT(unrecorded_ns, 0) << mode;
    const auto expected = static_cast<double>(Launches(whole, "Mix<<<"));
    EXPECT_NEAR(static_cast<double>(Launches(sample, "Mix<<<")), expected, 0.02 * expected) << mode;
    const auto mean_ns = [](const Recording& recording) {
      double launches = 0.0;
      double total_ns = 0.0;
      for (const KernelWork& work : recording.kernel_work) {
        launches += static_cast<double>(work.launches);
        total_ns += static_cast<double>(work.total_ns);
      }
      return total_ns / launches;
    };
    EXPECT_NEAR(mean_ns(sample), mean_ns(whole), 0.05 * mean_ns(whole)) << mode;
    for (const KernelWork& work : sample.kernel_work) EXPECT_LT(work.max_ns, 20'000'000) << mode;
  }
}

TEST_F(ProgramsGpuTest, KernelsOfGraphsAreCountedAsSuch) {
  ASSERT_EQ(Watched("--replay none", "graphs").exit_code, 0);
  const Recording recording = Recorded();
  EXPECT_EQ(Launches(recording, "Mix<<<"), 60 * (100 + 40 * 20));
  std::int64_t in_graphs = 0;
  for (const KernelWork& work : recording.kernel_work) in_graphs += work.graph_launches;
  EXPECT_EQ(in_graphs, 2 * 60 * 40 * 20);
}

TEST_F(ProgramsGpuTest, KernelsBelongToTheNvtxRangesTheyAreLaunchedIn) {
  const Outcome watched = Watched("--replay none", "ranges");
  ASSERT_EQ(watched.exit_code, 0) << watched.err;
  std::map<std::string, NvtxWork> ranges;
  for (const NvtxWork& work : Recorded().nvtx_work) {
    NvtxWork& range = ranges[work.path];
    range.ranges += work.ranges;
    range.launches += work.launches;
    range.gpu_ns += work.gpu_ns;
    range.host_ns += work.host_ns;
  }
  const auto expect = [&](const std::string& path, std::int64_t count, std::int64_t launches) {
    ASSERT_TRUE(ranges.contains(path)) << path;
    EXPECT_EQ(ranges[path].ranges, count) << path;
    EXPECT_EQ(ranges[path].launches, launches) << path;
    EXPECT_EQ(ranges[path].gpu_ns > 0, launches > 0) << path;
    EXPECT_EQ(ranges[path].host_ns > 0, count > 0) << path;
  };
  expect("whole", 1, 100 * (2 + 40 + 2));
  expect("whole / step", 100, 100 * (2 + 40 + 2));
  expect("whole / step / attn", 100, 200);
  expect("whole / step / lib: inner", 100, 200);
  expect("whole / step / capture", 0, 4000);  // where the graph's kernels were captured
  expect("thread", 1, 2);
  EXPECT_NE(watched.err.find("NVTX ranges"), std::string::npos) << watched.err;
}

TEST_F(ProgramsGpuTest, SpreadCountersOfOneLaunchAreExact) {
  ASSERT_EQ(Watched("--metrics sm__warps_launched.sum,smsp__inst_executed.sum", "long").exit_code, 0);
  const Recording recording = Recorded();
  ASSERT_EQ(recording.ranges.size(), 2U);
  for (const Range& range : recording.ranges) {
    EXPECT_EQ(range.metrics.at("sm__warps_launched.sum"), 256 * 256 / 32) << range.name;
  }
  EXPECT_GT(Launches(recording, "Mix<<<256, 256>>>"), 249000);
}

TEST_F(ProgramsGpuTest, ThePassesOfTheSetFullAreSpreadOverRepetitions) {
  ASSERT_EQ(Watched("--ncu-set full", "long").exit_code, 0);
  const Recording recording = Recorded();
  ASSERT_EQ(recording.ranges.size(), 2U);
  for (const Range& range : recording.ranges) EXPECT_GT(range.metrics.size(), 1500U);
  EXPECT_FALSE(Lost(recording, "pass_missing"));
}

TEST_F(ProgramsGpuTest, KernelsHaveSamplesAndInstructionsBesideTheirCounters) {
  for (const char* const options : {"--ncu-set full", "--replay none --phases on"}) {
    ASSERT_EQ(Watched(options, "long").exit_code, 0);
    const Recording recording = Recorded();
    ASSERT_EQ(recording.samplings.size(), 2U) << options;
    for (const PcSampling& sampling : recording.samplings) {
      EXPECT_GT(sampling.total_samples, 100U) << options;
      EXPECT_GT(sampling.launches, 100000) << options;
      for (const PcSample& sample : sampling.samples) {
        const auto function =
            std::find_if(recording.functions.begin(), recording.functions.end(),
                         [&](const DeviceFunction& candidate) { return candidate.id == sample.function_id; });
        ASSERT_NE(function, recording.functions.end());
        EXPECT_TRUE(std::any_of(function->instructions.begin(), function->instructions.end(),
                                [&](const Instruction& i) { return i.offset == sample.offset && !i.opcode.empty(); }))
            << function->name << " " << sample.offset;
      }
    }
    EXPECT_FALSE(Lost(recording, "phases_not_sampled")) << options;
  }
}

// Only for a launch that CUPTI patches: the program computes the same as by itself (WatchedModeTest).
TEST_F(ProgramsGpuTest, InstructionsOfALaunchAreCountedAfterItsCounters) {
  ASSERT_EQ(Watched("--metrics smsp__inst_executed.sum --phases on", "long").exit_code, 0);
  const Recording recording = Recorded();
  ASSERT_EQ(recording.countings.size(), 2U);
  for (const SassCounting& counting : recording.countings) {
    double executed = 0.0;
    for (const SassCount& count : counting.counts) {
      executed += static_cast<double>(count.values.at("smsp__sass_inst_executed"));
    }
    const auto range = std::find_if(recording.ranges.begin(), recording.ranges.end(),
                                    [&](const Range& candidate) { return candidate.case_id == counting.case_id; });
    ASSERT_NE(range, recording.ranges.end());
    EXPECT_EQ(executed, range->metrics.at("smsp__inst_executed.sum"));
  }
  EXPECT_FALSE(Lost(recording, "counts_missing"));
}

TEST_F(ProgramsGpuTest, TimesOfAGraphsKernelsAreTheirOwn) {
  ASSERT_EQ(Watched("--ncu-set full", "graph").exit_code, 0);
  constexpr std::int64_t kMostNs = 20'000'000;  // for kernels of a few microseconds; opening the profiler takes longer
  for (const KernelWork& work : Recorded().kernel_work) EXPECT_LT(work.max_ns, kMostNs);
}

TEST_F(ProgramsGpuTest, KernelsOfAGraphAreMeasuredOneByOne) {
  for (const char* const options : {"--metrics sm__warps_launched.sum", "--ncu-set full"}) {
    ASSERT_EQ(Watched(options, "graph").exit_code, 0);
    const Recording recording = Recorded();
    ASSERT_EQ(recording.ranges.size(), 2U) << options;
    for (const Range& range : recording.ranges) {
      if (std::string(options) == "--ncu-set full") {
        EXPECT_GT(range.metrics.size(), 1500U);
      } else {
        EXPECT_EQ(range.metrics.at("sm__warps_launched.sum"), 256 * 256 / 32);
      }
    }
    EXPECT_FALSE(Lost(recording, "pass_missing")) << options;
    EXPECT_FALSE(Lost(recording, "activity_dropped")) << options;
    EXPECT_FALSE(Lost(recording, "counters_not_measured")) << options;
  }
}

// Branches that wait for each other, child graphs, nodes that are changed and switched off, calls of the host, threads:
// the program checks each launch.
TEST_F(ProgramsGpuTest, GraphsOfAllShapesComputeWhatTheyComputeAlone) {
  for (const char* const options : {"--metrics sm__warps_launched.sum", "--ncu-set full", "--replay none"}) {
    const Outcome watched = WatchedProgram(FA_PROFILE_GRAPH_SHAPES, options, "3000");
    EXPECT_EQ(watched.exit_code, 0) << options << ": " << watched.out << watched.err;
    if (std::string(options) == "--replay none") continue;
    const Recording recording = Recorded();
    for (const char* const kernel : {"Add<<<1, 32>>>", "Add<<<2, 32>>>", "Twice<<<1, 32>>>"}) {
      EXPECT_TRUE(HasRange(recording, kernel)) << options << ": " << kernel;
    }
    EXPECT_FALSE(HasRange(recording, "WaitFor<<<1, 32>>>")) << "it does not end alone";
  }
}

TEST_F(ProgramsGpuTest, KernelReplayMeasuresTheFirstLaunchOfEachClass) {
  ASSERT_EQ(Watched("--metrics sm__warps_launched.sum --replay kernel", "once").exit_code, 0);
  const Recording recording = Recorded();
  ASSERT_EQ(recording.ranges.size(), 2U);
  ASSERT_EQ(recording.cases.size(), 2U);
  EXPECT_EQ(recording.cases[0].kernel, "Mix<<<256, 256>>>");
  EXPECT_EQ(recording.ranges[0].metrics.at("sm__warps_launched.sum"), 256 * 256 / 32);
}

TEST_F(ProgramsGpuTest, AProgramThatDoesNotRepeatSaysHowToMeasureIt) {
  const Outcome watched = Watched("--ncu-set basic", "once");
  EXPECT_EQ(watched.exit_code, 0);
  EXPECT_TRUE(Lost(Recorded(), "counters_not_measured"));
  EXPECT_NE(watched.err.find("--replay kernel"), std::string::npos) << watched.err;
}

TEST_F(ProgramsGpuTest, EachProcessHasARecording) {
  const Outcome watched = Watched("--replay none", "children");
  EXPECT_EQ(watched.exit_code, 0);
  EXPECT_EQ(Launches(Recorded(), "Mix<<<"), 6000);
  const std::size_t at = watched.err.find("also recorded: ");
  ASSERT_NE(at, std::string::npos) << watched.err;
  const std::size_t begin = at + 15;
  const std::string other = watched.err.substr(begin, watched.err.find(' ', begin) - begin);
  EXPECT_EQ(Launches(store::RecordingReader(other).Load(), "Mix<<<"), 6000);
  EXPECT_EQ(Watched("--replay none --processes root", "children").err.find("also recorded"), std::string::npos);
}

TEST_F(ProgramsGpuTest, AKilledProgramLeavesWhatWasRecorded) {
  EXPECT_EQ(Watched("--replay none", "kill").exit_code, 128 + 9);
  EXPECT_TRUE(Exists("w.fap.part"));
  EXPECT_FALSE(Recorded("w.fap.part").session.complete);
}

TEST_F(ProgramsGpuTest, TheExitCodeOfTheReportIsAChoice) {
  EXPECT_EQ(Watched("--replay none --exit-code report", "exit7").exit_code, 0);
}

TEST_F(ProgramsGpuTest, OnlyWhatTheProgramAsksForIsRecorded) {
  for (const char* const options : {"--replay none", "--replay none --phases on"}) {
    ASSERT_EQ(Watched(std::string(options) + " --profile-from-start off", "selected").exit_code, 0);
    const Recording recording = Recorded();
    EXPECT_EQ(Launches(recording, "Mix<<<"), 100000) << options;
    EXPECT_EQ(Launches(recording, "Rotate<<<256, 256>>>"), 100000) << options;
    EXPECT_EQ(Launches(recording, "Rotate<<<1, 32>>>"), 1000) << options;
  }
  const Outcome never = Watched("--replay none --profile-from-start off", "plain");
  EXPECT_EQ(never.exit_code, 0);
  EXPECT_EQ(Launches(Recorded(), "Mix<<<"), 0);
  EXPECT_NE(never.err.find("did not call cudaProfilerStart"), std::string::npos) << never.err;
}

TEST_F(ProgramsGpuTest, LaunchesAreSelectedByRangeAndNumber) {
  ASSERT_EQ(Watched("--metrics sm__warps_launched.sum --nvtx wanted --phases off", "selected").exit_code, 0);
  Recording recording = Recorded();
  ASSERT_EQ(recording.ranges.size(), 2U) << "the kernel that is launched outside has no counters";
  for (const Range& range : recording.ranges) {
    EXPECT_EQ(range.metrics.at("sm__warps_launched.sum"), 256 * 256 / 32) << range.name;
  }
  ASSERT_EQ(Watched("--metrics sm__warps_launched.sum --replay kernel --kernel Rotate --launch-skip 20010", "selected")
                .exit_code,
            0);
  recording = Recorded();
  ASSERT_EQ(recording.ranges.size(), 2U) << "the first of each class";
  ASSERT_EQ(Watched("--metrics sm__warps_launched.sum --replay kernel --launch-count 1", "selected").exit_code, 0);
  EXPECT_EQ(Recorded().ranges.size(), 1U);
}

TEST_F(ProgramsGpuTest, AProgramThatProfilesItselfSeesWhatItSeesAlone) {
  const Outcome alone = Shell(FA_PROFILE_WATCHED_PROGRAM " profiler");
  constexpr char kSeen[] = "own profiler: CUPTI's result 0, 1000 kernels\n";
  EXPECT_EQ(alone.out.find(std::string(kSeen) + kSeen), 0U) << alone.out;
  for (const char* const mode : {"profiler", "late_profiler"}) {
    for (const char* const options : {"--replay none", "--replay none --phases on", "--ncu-set full"}) {
      const Outcome watched = Watched(options, mode);
      EXPECT_EQ(watched.out, alone.out) << mode << " " << options << ": " << watched.err;
      const Recording recording = Recorded();
      EXPECT_TRUE(std::any_of(recording.losses.begin(), recording.losses.end(), [](const DataLoss& loss) {
        return loss.reason.starts_with("libown_profiler.so uses CUPTI itself");
      })) << watched.err;
      // Earlier data is kept.
      EXPECT_GT(Launches(recording, "Mix<<<256, 256>>>"), 59000) << mode << " " << options;
      EXPECT_LE(Launches(recording, "Mix<<<256, 256>>>"), 60000) << mode << " " << options;
      EXPECT_FALSE(Lost(recording, "activity_without_times")) << mode << " " << options;
    }
  }
}

TEST_F(ProgramsGpuTest, AProfilerThatIsOnBeforeCudaKeepsCupti) {
  const Outcome alone = Shell(FA_PROFILE_WATCHED_PROGRAM " profiler_first");
  const Outcome watched = Watched("--replay none", "profiler_first");
  EXPECT_EQ(watched.out, alone.out) << watched.err;
  EXPECT_NE(watched.err.find("is attached to this program"), std::string::npos) << watched.err;
}

TEST_F(ProgramsGpuTest, ADelayAndADurationSelectATime) {
  ASSERT_EQ(Watched("--replay none --delay 0.05 --duration 0.1", "plain").exit_code, 0);
  const Recording recording = Recorded();
  EXPECT_LT(Launches(recording, "Mix<<<"), 6000);
  for (const KernelWork& work : recording.kernel_work) EXPECT_GT(work.launches, 0);
}

}  // namespace
}  // namespace fa_profile
