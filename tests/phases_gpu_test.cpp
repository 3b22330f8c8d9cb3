// Inside kernels on a real GPU, through the program: who the bottleneck is, that sums close, that sampling does not
// disturb, and that shares agree with clocks read inside the kernels.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/device.h"
#include "fa_profile/recording_file.h"
#include "rungs.h"
#include "test_files.h"

namespace fa_profile {
namespace {

using Json = nlohmann::json;

class PhasesGpuTest : public FolderTest {
 protected:
  void SetUp() override {
    if (collect::DeviceCount() == 0) GTEST_SKIP() << "no GPU here: " << collect::WhyNoDevice();
    setenv("XDG_CACHE_HOME", (std::filesystem::temp_directory_path() / "fa-profile-gpu-cache").c_str(), 1);
  }
  /// The report of a run with set full; one entry a kernel, by id.
  std::map<std::string, Json> Profile(const std::string& options) const {
    const std::string command = std::string(FA_PROFILE_PROGRAM) + " --ncu-set full --draws 2 --raw none --force -o " +
                                RecordingPath() + " --format json " + options + " > " + (folder_ / "out").string() +
                                " 2> " + (folder_ / "err").string();
    const int status = std::system(command.c_str());
    std::ifstream err(folder_ / "err");
    EXPECT_EQ(status, 0) << command << "\n" << err.rdbuf();
    std::ifstream out(folder_ / "out");
    std::map<std::string, Json> entries;
    const Json report = Json::parse(out, nullptr, /*allow_exceptions=*/false);
    if (report.is_discarded()) return entries;
    for (const Json& entry : report.at("entries")) {
      if (entry.at("part").is_null()) entries[entry.at("kernel")] = entry;
    }
    return entries;
  }
  std::string RecordingPath() const { return (folder_ / "r.fap").string(); }
};

const std::size_t kRungs = RungsOfFiles(FA_PROFILE_SOURCE).size();

std::string KernelLib(const std::string& name) { return std::string(FA_PROFILE_KERNEL_LIBS) + "/" + name + ".so"; }

const Json* PhaseOf(const Json& entry, const std::string& name) {
  for (const Json& phase : entry.at("phases").at("phases")) {
    if (phase.at("phase") == name) return &phase;
  }
  return nullptr;
}

double Metric(const Json& entry, const std::string& phase, const std::string& metric) {
  const Json* const found = PhaseOf(entry, phase);
  if (found == nullptr) return 0.0;
  const Json& value = found->at("metrics").at(metric);
  return value.is_null() ? 0.0 : value.get<double>();
}

const Json* FindingOf(const Json& entry, const std::string& id) {
  for (const Json& finding : entry.at("findings")) {
    if (finding.at("id") == id) return &finding;
  }
  return nullptr;
}

TEST_F(PhasesGpuTest, EachRungHasABottleneckAndItsSumsClose) {
  const std::map<std::string, Json> entries = Profile("");
  ASSERT_EQ(entries.size(), kRungs);
  for (const auto& [kernel, entry] : entries) {
    ASSERT_FALSE(entry.at("phases").is_null()) << kernel;
    EXPECT_EQ(entry.at("phases").at("dropped_samples"), 0) << kernel;
    EXPECT_NE(FindingOf(entry, "bottleneck-phase"), nullptr) << kernel;
    for (const Json& closure : entry.at("phases").at("closures")) {
      EXPECT_TRUE(closure.at("closes").get<bool>()) << kernel << " " << closure;
      // The kernels of cuBLAS and rung 8 poll: they never execute the same number of instructions twice.
      if (closure.at("quantity") == "instructions" && kernel != "cublas" && kernel != "hopper") {
        EXPECT_EQ(closure.at("phases"), closure.at("whole")) << kernel;
      }
    }
  }
  const Json& serial = entries.at("serial_softmax");
  const Json* const finding = FindingOf(serial, "serial-softmax");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->at("phase"), "softmax");
  EXPECT_GT(Metric(serial, "softmax", "phase_time_ratio"), 0.50);
  EXPECT_LT(Metric(serial, "softmax", "phase_time_ratio"), 0.65);
  EXPECT_GT(Metric(serial, "pv", "phase_time_ratio"), 0.35);
  EXPECT_LT(Metric(serial, "pv", "phase_time_ratio"), 0.45);
  EXPECT_LT(Metric(serial, "qk", "phase_time_ratio"), 0.03);
  EXPECT_LT(Metric(serial, "softmax", "phase_threads_per_instruction"), 1.5);
  EXPECT_EQ(FindingOf(entries.at("mma"), "serial-softmax"), nullptr);
  EXPECT_EQ(FindingOf(entries.at("mma"), "bank-conflicts"), nullptr);
}

TEST_F(PhasesGpuTest, AMutantOfRung7ChangesTheBottleneck) {
  const std::map<std::string, Json> entries =
      Profile("--kernel '^mma' --kernel-lib " + KernelLib("mma_serial_softmax") + " --kernel-lib " +
              KernelLib("mma_conflicting_pv"));
  ASSERT_EQ(entries.size(), 3U);
  const Json& serial = entries.at("mma_serial_softmax");
  ASSERT_NE(FindingOf(serial, "serial-softmax"), nullptr) << serial.at("findings");
  EXPECT_EQ(FindingOf(serial, "bottleneck-phase")->at("phase"), "softmax");
  EXPECT_GT(Metric(serial, "softmax", "phase_time_ratio"),
            Metric(entries.at("mma"), "softmax", "phase_time_ratio") + 0.2);

  const Json& conflicts = entries.at("mma_conflicting_pv");
  ASSERT_NE(FindingOf(conflicts, "bank-conflicts"), nullptr) << conflicts.at("findings");
  EXPECT_EQ(FindingOf(conflicts, "bank-conflicts")->at("phase"), "pv");
  EXPECT_GT(Metric(conflicts, "pv", "phase_bank_conflicts"), 0.0);
  EXPECT_EQ(Metric(conflicts, "qk", "phase_bank_conflicts"), 0.0);
  EXPECT_EQ(Metric(entries.at("mma"), "pv", "phase_bank_conflicts"), 0.0);
}

/// Programs whose fault is known (tests/mutants), launch by launch; two of them must have none.
TEST_F(PhasesGpuTest, EachMutantProgramHasItsFinding) {
  const std::map<std::string, std::string> expected = {
      {"coalesced", ""},           {"uncoalesced", "uncoalesced"},        {"runtime_index", "local-memory"},
      {"spills", "local-memory"},  {"tiny_grid", "small-grid"},           {"mufu_bound", "exp-bound"},
      {"occupancy_is_enough", ""}, {"occupancy_matters", "low-occupancy"}};
  for (const auto& [mutant, finding] : expected) {
    const std::string command = std::string(FA_PROFILE_PROGRAM) + " --ncu-set full --replay kernel --force -o " +
                                RecordingPath() + " -- " + FA_PROFILE_MUTANTS + " " + mutant + " > /dev/null 2>&1 && " +
                                FA_PROFILE_PROGRAM + " report --format json " + RecordingPath() + " > " +
                                (folder_ / "out").string();
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream out(folder_ / "out");
    std::vector<std::string> found;
    const Json report = Json::parse(out);
    ASSERT_EQ(report.at("entries").size(), 1U) << mutant;
    for (const Json& one : report.at("entries")[0].at("findings")) found.push_back(one.at("id"));
    EXPECT_EQ(found, finding.empty() ? std::vector<std::string>{} : std::vector<std::string>{finding}) << mutant;
  }
}

/// Measured on an H200: 13 of the ladder's 14 calls within 2 %, wmma at the larger shape 2.6 to 3.1 % slower. What is
/// over 2 % the recording says; that nothing is over 5 % is asked here.
TEST_F(PhasesGpuTest, SamplingSlowsAKernelDownByLessThan5Percent) {
  ASSERT_EQ(Profile("--shape 1,8,512,64 --shape 4,16,1024,64").size(), kRungs);
  const fa_profile::Recording recording = store::RecordingReader(RecordingPath()).Load({.metrics = std::nullopt});
  EXPECT_EQ(recording.samplings.size(), 2 * kRungs);
  for (const fa_profile::PcSampling& sampling : recording.samplings) {
    for (const fa_profile::Timing& timing : recording.timings) {
      if (timing.case_id != sampling.case_id || timing.part != sampling.part) continue;
      std::vector<double> times = timing.durations_ns;
      std::ranges::sort(times);
      ASSERT_TRUE(sampling.call_ns);
      EXPECT_LT(*sampling.call_ns / times.at(times.size() / 2), 1.05) << sampling.case_id << " " << sampling.part;
    }
  }
  for (const DataLoss& loss : recording.losses) {
    EXPECT_NE(loss.kind, "samples_dropped") << loss.subject;
    EXPECT_NE(loss.kind, "samples_unnamed") << loss.subject;
    EXPECT_NE(loss.kind, "not_disassembled") << loss.subject << " " << loss.reason;
  }
}

/// Shares by clock reads inside the kernels (tests/phase_truth), waits added to the phase waited for as its notes say.
TEST_F(PhasesGpuTest, SharesAgreeWithClocksInsideTheKernel) {
  const std::string truth_file = (folder_ / "truth.json").string();
  ASSERT_EQ(std::system((std::string(FA_PROFILE_PHASE_TRUTH) + " " + truth_file + " > /dev/null").c_str()), 0);
  const Json truth = Json::parse(std::ifstream(truth_file));
  const std::map<std::string, Json> entries = Profile("--kernel '^(serial_softmax|mma)$' --shape 4,16,1024,64");
  ASSERT_EQ(entries.size(), 2U);
  int compared = 0;
  for (const Json& kernel : truth) {
    if (kernel.at("shape") != "4,16,1024,64") continue;
    const Json& entry = entries.at(kernel.at("rung"));
    std::map<std::string, double> shares;
    for (const auto& [lap, clocks] : kernel.at("clock_share").items()) {
      const std::string wait = "wait ";
      const std::string phase = lap.rfind(wait, 0) == 0 ? lap.substr(wait.size()) : lap;
      shares[phase] += clocks.at("all_warps").get<double>();
    }
    for (const auto& [phase, share] : shares) {
      // A barrier's wait is charged to the phase waited for; in the clocks of rung 7 it is sync's.
      if (phase == "sync") continue;
      constexpr double kFivePoints = 0.05;
      EXPECT_NEAR(Metric(entry, phase, "phase_time_ratio"), share, kFivePoints) << entry.at("kernel") << " " << phase;
      ++compared;
    }
  }
  EXPECT_GE(compared, 12);
}

}  // namespace
}  // namespace fa_profile
