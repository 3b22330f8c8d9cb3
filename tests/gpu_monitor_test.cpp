#include "fa_profile/gpu_monitor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "test_files.h"

namespace fa_profile::collect::gpu_monitor_test {
namespace {

using ::testing::Test;

void WaitForGpm() { std::this_thread::sleep_for(std::chrono::milliseconds(110)); }

/// A host as a script describes it: fake_nvml/fake_nvml.cpp. The fake ends the program when it is misused.
class GpuMonitorTest : public Test {
 protected:
  GpuMonitorTest() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    script_ = std::filesystem::path(::testing::TempDir()) / ("nvml." + name + "." + std::to_string(getpid()));
    Say("");
    setenv("FAKE_NVML_SCRIPT", script_.c_str(), 1);
  }
  ~GpuMonitorTest() override { std::filesystem::remove(script_); }

  void Say(const std::string& script) const { std::ofstream(script_) << script; }

 private:
  std::filesystem::path script_;
};

TEST_F(GpuMonitorTest, ReportsTheAnswersOfNvmlForEachGpu) {
  GpuMonitor monitor(FAKE_NVML);
  const HostReading host = monitor.Read();
  EXPECT_TRUE(host.nvml);
  EXPECT_EQ(host.nvml_error, "");
  EXPECT_TRUE(host.gpm);
  EXPECT_EQ(host.gpm_error, "");
  EXPECT_EQ(host.driver_version, "580.0-fake");
  ASSERT_EQ(host.gpus.size(), 2U);
  const GpuReading& gpu = host.gpus[1];
  EXPECT_EQ(gpu.index, 1);
  EXPECT_TRUE(gpu.up);
  EXPECT_EQ(gpu.error, "");
  EXPECT_EQ(gpu.uuid, "GPU-fake-1");
  EXPECT_EQ(gpu.name, "Fake H200");
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.sm_clock_hz, 1001e6);
  EXPECT_EQ(gpu.sm_clock_max_hz, 1980e6);
  EXPECT_EQ(gpu.memory_clock_hz, 3001e6);
  EXPECT_EQ(gpu.power_watts, 251.5);
  EXPECT_EQ(gpu.power_limit_watts, 700.0);
  EXPECT_EQ(gpu.energy_joules, 5000000000.5);
  EXPECT_EQ(gpu.temperature_celsius, 41.0);
  EXPECT_EQ(gpu.memory_used_bytes, 2e9);
  EXPECT_EQ(gpu.memory_total_bytes, 100e9);
  EXPECT_EQ(gpu.busy_ratio, 0.75);
  EXPECT_EQ(gpu.throttled, (std::map<std::string, bool>{{"sw_power_cap", true},
                                                        {"hw_slowdown", false},
                                                        {"sw_thermal", false},
                                                        {"hw_thermal", true},
                                                        {"hw_power_brake", false},
                                                        {"sync_boost", false}}));
  EXPECT_EQ(gpu.ecc_corrected, 7U);
  EXPECT_EQ(gpu.ecc_uncorrected, 0U);
  EXPECT_TRUE(gpu.xid_errors.empty());
}

TEST_F(GpuMonitorTest, GpmRatiosNeedTwoReadings) {
  GpuMonitor monitor(FAKE_NVML);
  EXPECT_FALSE(monitor.Read().gpus[1].tensor_active_ratio.has_value());
  WaitForGpm();
  const GpuReading gpu = monitor.Read().gpus[1];
  EXPECT_EQ(gpu.sm_active_ratio, 0.80);
  EXPECT_EQ(gpu.sm_occupancy_ratio, 0.12);
  EXPECT_EQ(gpu.tensor_active_ratio, 0.79);
  EXPECT_EQ(gpu.dram_active_ratio, 0.14);
}

TEST_F(GpuMonitorTest, AReadingTooSoonHasNoGpmRatiosAndTheNextCoversBothIntervals) {
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  const HostReading soon = monitor.Read();  // the fake would end the program at another sample
  EXPECT_TRUE(soon.gpm);
  EXPECT_FALSE(soon.gpus[0].tensor_active_ratio.has_value());
  WaitForGpm();
  EXPECT_EQ(monitor.Read().gpus[0].tensor_active_ratio, 0.78);
}

TEST_F(GpuMonitorTest, AMissingLibraryIsReportedAndTriedAgain) {
  const std::filesystem::path library =
      std::filesystem::path(::testing::TempDir()) / ("libnvml." + std::to_string(getpid()));
  GpuMonitor monitor(library);
  const HostReading absent = monitor.Read();
  EXPECT_FALSE(absent.nvml);
  EXPECT_TRUE(Contains(absent.nvml_error, library.string() + " (part of the driver) cannot be loaded"));
  EXPECT_FALSE(absent.gpm);
  EXPECT_EQ(absent.gpm_error, "NVML is not available");
  EXPECT_TRUE(absent.gpus.empty());

  std::filesystem::create_symlink(FAKE_NVML, library);
  EXPECT_EQ(monitor.Read().gpus.size(), 2U);
  std::filesystem::remove(library);
}

TEST_F(GpuMonitorTest, ALibraryWithoutNvmlIsReported) {
  GpuMonitor monitor("libc.so.6");
  const HostReading host = monitor.Read();
  EXPECT_FALSE(host.nvml);
  EXPECT_TRUE(Contains(host.nvml_error, "nvmlInit_v2")) << host.nvml_error;
}

TEST_F(GpuMonitorTest, AFailingInitIsReportedWithAHintAndTriedAgain) {
  Say("fail nvmlInit_v2 18\n");
  GpuMonitor monitor(FAKE_NVML);
  const HostReading mismatch = monitor.Read();
  EXPECT_FALSE(mismatch.nvml);
  EXPECT_TRUE(Contains(mismatch.nvml_error, "nvmlInit_v2: Driver/library version mismatch (18); "))
      << mismatch.nvml_error;
  EXPECT_TRUE(Contains(mismatch.nvml_error, "reboot")) << mismatch.nvml_error;
  Say("fail nvmlInit_v2 4\n");
  EXPECT_TRUE(Contains(monitor.Read().nvml_error, "/dev/nvidiactl"));
  Say("");
  EXPECT_TRUE(monitor.Read().nvml);
}

TEST_F(GpuMonitorTest, WhenListingFailsNvmlIsReopenedAndKnownGpusStayListed) {
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  Say("once nvmlDeviceGetCount_v2 1\n");
  const HostReading failed = monitor.Read();
  EXPECT_FALSE(failed.nvml);
  EXPECT_TRUE(Contains(failed.nvml_error, "nvmlDeviceGetCount_v2")) << failed.nvml_error;
  ASSERT_EQ(failed.gpus.size(), 2U);
  EXPECT_FALSE(failed.gpus[1].up);
  EXPECT_EQ(failed.gpus[1].uuid, "GPU-fake-1");
  EXPECT_EQ(failed.gpus[1].error, failed.nvml_error);
  EXPECT_FALSE(failed.gpus[1].power_watts.has_value());
  WaitForGpm();
  const HostReading again = monitor.Read();
  EXPECT_TRUE(again.nvml);
  EXPECT_TRUE(again.gpus[1].up);
  EXPECT_FALSE(again.gpus[1].tensor_active_ratio.has_value()) << "a sample does not outlive the NVML it came from";
}

TEST_F(GpuMonitorTest, ALostGpuIsReportedWhileOthersAreReadAndItsReturnIsNoticed) {
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  Say("lost 0\n");
  WaitForGpm();
  const HostReading host = monitor.Read();
  EXPECT_TRUE(host.nvml);
  EXPECT_FALSE(host.gpus[0].up);
  EXPECT_TRUE(Contains(host.gpus[0].error, "GPU is lost (15); ")) << host.gpus[0].error;
  EXPECT_EQ(host.gpus[0].uuid, "GPU-fake-0");
  EXPECT_FALSE(host.gpus[0].sm_clock_hz.has_value());
  EXPECT_TRUE(host.gpus[0].throttled.empty());
  EXPECT_EQ(host.gpm_error, "GPU 0: it does not answer");
  EXPECT_TRUE(host.gpus[1].up);
  EXPECT_EQ(host.gpus[1].tensor_active_ratio, 0.79);
  Say("");
  WaitForGpm();
  EXPECT_TRUE(monitor.Read().gpus[0].up);
}

TEST_F(GpuMonitorTest, AGpuLostDuringAReadingIsDown) {
  Say("fail nvmlDeviceGetPowerUsage 15 1\n");
  GpuMonitor monitor(FAKE_NVML);
  const GpuReading gpu = monitor.Read().gpus[1];
  EXPECT_FALSE(gpu.up);
  EXPECT_TRUE(Contains(gpu.error, "GPU is lost")) << gpu.error;
}

TEST_F(GpuMonitorTest, AGpuThatNeedsAResetIsDownWithAHint) {
  Say("reset 1\n");
  GpuMonitor monitor(FAKE_NVML);
  const HostReading host = monitor.Read();
  EXPECT_FALSE(host.gpus[1].up);
  EXPECT_TRUE(Contains(host.gpus[1].error, "nvidia-smi --gpu-reset")) << host.gpus[1].error;
  EXPECT_TRUE(host.gpus[0].up);
}

TEST_F(GpuMonitorTest, AGpuThatIsNoLongerListedStaysVisible) {
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  Say("gpus 1\n");
  const HostReading host = monitor.Read();
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_FALSE(host.gpus[1].up);
  EXPECT_EQ(host.gpus[1].uuid, "GPU-fake-1");
  EXPECT_EQ(host.gpus[1].error, "NVML does not list it any more");
  EXPECT_TRUE(host.gpus[0].up);
  Say("");
  WaitForGpm();
  EXPECT_TRUE(monitor.Read().gpus[1].up);
}

TEST_F(GpuMonitorTest, AHostWithoutAGpuIsNotAFailure) {
  Say("gpus 0\n");
  GpuMonitor monitor(FAKE_NVML);
  const HostReading host = monitor.Read();
  EXPECT_TRUE(host.nvml);
  EXPECT_TRUE(host.gpus.empty());
  EXPECT_FALSE(host.gpm);
  EXPECT_EQ(host.gpm_error, "NVML lists no GPU");
}

TEST_F(GpuMonitorTest, AnAnswerThatFailsOnceIsAbsentOnce) {
  Say("once nvmlDeviceGetPowerUsage 999\n");
  GpuMonitor monitor(FAKE_NVML);
  const GpuReading first = monitor.Read().gpus[0];
  EXPECT_TRUE(first.up);
  EXPECT_FALSE(first.power_watts.has_value());
  EXPECT_EQ(first.temperature_celsius, 40.0);
  EXPECT_EQ(monitor.Read().gpus[0].power_watts, 250.5);
}

// Each function that fills something in, and nothing else may change with it.
TEST_F(GpuMonitorTest, UnsupportedValuesAreAbsent) {
  Say("fail nvmlDeviceGetClockInfo 3\nfail nvmlDeviceGetMaxClockInfo 3\nfail nvmlDeviceGetPowerUsage 3\n"
      "fail nvmlDeviceGetEnforcedPowerLimit 3\nfail nvmlDeviceGetTotalEnergyConsumption 3\n"
      "fail nvmlDeviceGetTemperature 3\nfail nvmlDeviceGetMemoryInfo 3\nfail nvmlDeviceGetUtilizationRates 3\n"
      "fail nvmlDeviceGetCurrentClocksEventReasons 3\nfail nvmlDeviceGetCurrentClocksThrottleReasons 3\n"
      "fail nvmlDeviceGetTotalEccErrors 3\nfail nvmlDeviceRegisterEvents 3\nfail nvmlDeviceGetMigMode 3\n"
      "fail nvmlDeviceGetName 3\nfail nvmlDeviceGetCudaComputeCapability 3\nfail nvmlSystemGetDriverVersion 3\n"
      "fail nvmlGpmQueryDeviceSupport 3\nxid 0 31\n");
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  WaitForGpm();
  const HostReading host = monitor.Read();
  EXPECT_TRUE(host.nvml);
  EXPECT_EQ(host.driver_version, "");
  EXPECT_EQ(host.gpm_error, "GPU 0, 1: no GPM: it needs Hopper or newer");
  const GpuReading& gpu = host.gpus[0];
  EXPECT_TRUE(gpu.up);
  EXPECT_EQ(gpu.uuid, "GPU-fake-0");
  EXPECT_EQ(gpu.name, "");
  EXPECT_EQ(gpu.compute_capability, "");
  for (const auto& value :
       {gpu.sm_clock_hz, gpu.sm_clock_max_hz, gpu.memory_clock_hz, gpu.power_watts, gpu.power_limit_watts,
        gpu.energy_joules, gpu.temperature_celsius, gpu.memory_used_bytes, gpu.memory_total_bytes, gpu.busy_ratio,
        gpu.sm_active_ratio, gpu.sm_occupancy_ratio, gpu.tensor_active_ratio, gpu.dram_active_ratio}) {
    EXPECT_FALSE(value.has_value());
  }
  EXPECT_TRUE(gpu.throttled.empty());
  EXPECT_FALSE(gpu.ecc_corrected.has_value());
  EXPECT_FALSE(gpu.ecc_uncorrected.has_value());
  EXPECT_TRUE(gpu.xid_errors.empty());
}

TEST_F(GpuMonitorTest, ThrottleReasonsAreReadFromOlderDriversToo) {
  Say("fail nvmlDeviceGetCurrentClocksEventReasons 13\n");
  GpuMonitor monitor(FAKE_NVML);
  const GpuReading gpu = monitor.Read().gpus[0];
  ASSERT_EQ(gpu.throttled.size(), 6U);
  EXPECT_TRUE(gpu.throttled.at("sync_boost"));
  EXPECT_FALSE(gpu.throttled.at("sw_power_cap"));
}

TEST_F(GpuMonitorTest, AGpuBeforeHopperOrInMigModeHasNoGpmAndTheOthersDo) {
  Say("gpus 4\nold 0\nmig 2\n");
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  WaitForGpm();
  const HostReading host = monitor.Read();
  EXPECT_TRUE(host.gpm);
  EXPECT_EQ(host.gpm_error,
            "GPU 2: MIG mode is on: GPM answers for instances only, not for the device; "
            "GPU 0: no GPM: it needs Hopper or newer");
  EXPECT_TRUE(host.gpus[2].up);
  EXPECT_TRUE(host.gpus[2].power_watts.has_value());
  EXPECT_FALSE(host.gpus[0].tensor_active_ratio.has_value());
  EXPECT_FALSE(host.gpus[2].tensor_active_ratio.has_value());
  EXPECT_EQ(host.gpus[3].tensor_active_ratio, 0.81);
}

TEST_F(GpuMonitorTest, AFailedGpmSampleIsReportedAndNotUsed) {
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  WaitForGpm();
  Say("fail nvmlGpmSampleGet 999 0\n");
  const HostReading failed = monitor.Read();
  EXPECT_TRUE(failed.gpm) << "GPU 1 gave one";
  EXPECT_EQ(failed.gpm_error, "GPU 0: nvmlGpmSampleGet: fake error (999)");
  EXPECT_FALSE(failed.gpus[0].tensor_active_ratio.has_value());
  Say("");
  WaitForGpm();
  EXPECT_FALSE(monitor.Read().gpus[0].tensor_active_ratio.has_value()) << "the first sample again";
  WaitForGpm();
  EXPECT_EQ(monitor.Read().gpus[0].tensor_active_ratio, 0.78);
}

TEST_F(GpuMonitorTest, OnlyTheGpmMetricThatFailsIsAbsent) {
  Say("fail metric5 3\n");
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  WaitForGpm();
  const GpuReading gpu = monitor.Read().gpus[0];
  EXPECT_FALSE(gpu.tensor_active_ratio.has_value());
  EXPECT_EQ(gpu.sm_active_ratio, 0.80);
}

TEST_F(GpuMonitorTest, XidErrorCountsArePerGpuAndPersist) {
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  Say("xid 0 31\nxid 0 31\nxid 1 79\n");
  const HostReading host = monitor.Read();
  EXPECT_EQ(host.gpus[0].xid_errors, (std::map<std::uint64_t, std::uint64_t>{{31, 2}}));
  EXPECT_EQ(host.gpus[1].xid_errors, (std::map<std::uint64_t, std::uint64_t>{{79, 1}}));
  // Its last words, then none: what it reported stays reported, even over a failure of NVML itself.
  Say("xid 0 31\nxid 0 31\nxid 1 79\nxid 1 79\nlost 1\n");
  const GpuReading lost = monitor.Read().gpus[1];
  EXPECT_FALSE(lost.up);
  EXPECT_EQ(lost.xid_errors.at(79), 2U);
  Say("xid 0 31\nxid 0 31\nxid 1 79\nxid 1 79\nfail nvmlDeviceGetCount_v2 9\n");
  EXPECT_EQ(monitor.Read().gpus[1].xid_errors.at(79), 2U);
  Say("xid 0 31\nxid 0 31\nxid 1 79\nxid 1 79\n");
  EXPECT_EQ(monitor.Read().gpus[0].xid_errors.at(31), 2U);
}

TEST_F(GpuMonitorTest, CountsArePreservedWhenTheUuidArrivesLate) {
  Say("fail nvmlDeviceGetUUID 999 0\n");
  GpuMonitor monitor(FAKE_NVML);
  EXPECT_EQ(monitor.Read().gpus[0].uuid, "");
  Say("xid 0 31\n");
  const GpuReading gpu = monitor.Read().gpus[0];
  EXPECT_EQ(gpu.uuid, "GPU-fake-0");
  EXPECT_EQ(gpu.xid_errors.size(), 1U);
}

TEST_F(GpuMonitorTest, AReplacedGpuStartsItsCountsAtZero) {
  GpuMonitor monitor(FAKE_NVML);
  (void)monitor.Read();
  Say("xid 0 31\n");
  EXPECT_EQ(monitor.Read().gpus[0].xid_errors.size(), 1U);
  Say("xid 0 31\nuuid 0 GPU-other\n");
  WaitForGpm();
  const GpuReading other = monitor.Read().gpus[0];
  EXPECT_EQ(other.uuid, "GPU-other");
  EXPECT_TRUE(other.xid_errors.empty());
  EXPECT_FALSE(other.tensor_active_ratio.has_value()) << "the sample before was of the other GPU";
}

}  // namespace
}  // namespace fa_profile::collect::gpu_monitor_test
