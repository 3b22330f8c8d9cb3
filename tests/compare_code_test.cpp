#include "fa_profile/compare_code.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sample_cubins.h"
#include "sample_recording.h"

namespace fa_profile::load::compare_code_test {
namespace {

using Answer = std::map<std::string, bool>;

/// The sample, in which `mma` is a kernel of a real cubin.
Recording WithCode(const char* symbol, const char* name) {
  Recording recording = sample::MakeRecording();
  recording.functions[0].name = symbol;
  recording.launches[0].kernel_name = name;
  recording.cubins = {{1, recording.functions[0].cubin_crc, SampleCubin("sm_90a.cubin")}};
  return recording;
}
Recording Reduce() { return WithCode(kReduce, "void sample::reduce<128>(float const*, float*)"); }

TEST(CompareCodeTest, EqualCodeInAnEqualLaunchIsTheSame) {
  EXPECT_EQ(CompareCode(Reduce(), Reduce()), (Answer{{"mma@1,8,512,64", true}}));
  Recording other = Reduce();
  other.timings.clear();
  other.launches[0].start_ns += 5;
  EXPECT_EQ(CompareCode(Reduce(), other), (Answer{{"mma@1,8,512,64", true}}));
}

TEST(CompareCodeTest, OtherCodeOrAnotherLaunchIsNotTheSame) {
  EXPECT_EQ(CompareCode(Reduce(), WithCode(kIndexed, "sample::indexed(int const*, float*)")),
            (Answer{{"mma@1,8,512,64", false}}));
  Recording other = Reduce();
  other.launches[0].grid[0] *= 2;
  EXPECT_EQ(CompareCode(Reduce(), other), (Answer{{"mma@1,8,512,64", false}}));
}

TEST(CompareCodeTest, ACaseWithoutItsWholeCodeIsNotCompared) {
  Recording other = Reduce();
  other.cubins.clear();
  EXPECT_EQ(CompareCode(Reduce(), other), Answer{});
  other = Reduce();
  other.cubins[0].bytes.resize(100);
  EXPECT_EQ(CompareCode(Reduce(), other), Answer{});
  other = Reduce();
  other.launches.push_back(other.launches[0]);
  other.launches.back().kernel_name = "a_kernel_that_was_not_seen_inside";
  EXPECT_EQ(CompareCode(Reduce(), other), Answer{});
  other = Reduce();
  other.samplings.clear();
  other.countings.clear();
  EXPECT_EQ(CompareCode(Reduce(), other), Answer{});
  other = Reduce();
  other.cases[0].kernel = "renamed";
  EXPECT_EQ(CompareCode(Reduce(), other), Answer{});
}

}  // namespace
}  // namespace fa_profile::load::compare_code_test
