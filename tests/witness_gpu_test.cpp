// What the witness sees: kernels are counted, and reading results leaves no trace.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "device_tensors.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "gpu.h"
#include "witness.h"

namespace fa_profile::judge {
namespace {

class WitnessGpuTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Device device_ = collect::OpenDevice(0);
  const std::unique_ptr<collect::GpuApi> gpu_ = collect::OpenGpuApi(device_, /*flush_cache=*/false, {});
  std::optional<Witness> witness_{std::in_place, *gpu_, /*longest_ns=*/0.0};
  const DeviceMemory memory_{kBytes};
  const HostMemory host_{kBytes};
};

TEST_F(WitnessGpuTest, AnIdleDeviceExecutesNothing) {
  for (int i = 0; i < 3; ++i) {
    const Watched seen = witness_->Watch([] {});
    EXPECT_EQ(seen.counts.instructions, 0);
    EXPECT_EQ(seen.busy_ns, 0);
  }
}

TEST_F(WitnessGpuTest, CapturingResultsIsNotSeen) {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{4096}, std::size_t{1'000'001}, kBytes}) {
    Capture(host_.bytes().first(bytes), memory_.get());  // the first one sets up the copy engine
    const Watched seen = witness_->Watch([] {}, [&] { Capture(host_.bytes().first(bytes), memory_.get()); });
    EXPECT_EQ(seen.counts.instructions, 0) << bytes;
    EXPECT_TRUE(seen.quiet_after) << bytes;
  }
}

TEST_F(WitnessGpuTest, WorkAfterTheCallsAndBeforeTheirResultsAreReadIsCounted) {
  const auto work = [&] { PoisonBytes(memory_); };
  work();
  const Watched first = witness_->Watch(work);
  EXPECT_GT(first.counts.instructions, 1e5);
  const Watched late = witness_->Watch([] {}, work);
  EXPECT_NEAR(late.counts.instructions, first.counts.instructions, 0.01 * first.counts.instructions);
}

TEST_F(WitnessGpuTest, LongWorkIsReadLessOften) {
  witness_.reset();
  witness_.emplace(*gpu_, 200e6);
  const Watched seen = witness_->Watch([&] {
    PoisonBytes(memory_);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    PoisonBytes(memory_);
  });
  EXPECT_TRUE(seen.complete);
  EXPECT_GT(seen.busy_ns, 149e6);
}

}  // namespace
}  // namespace fa_profile::judge
