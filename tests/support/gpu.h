#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

namespace fa_profile {

/// Skips every test of the program where there is no GPU.
class NeedsDevice final : public testing::Environment {
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU here";
  }
};
[[maybe_unused]] inline testing::Environment* const kNeedsDevice = testing::AddGlobalTestEnvironment(new NeedsDevice);

}  // namespace fa_profile
