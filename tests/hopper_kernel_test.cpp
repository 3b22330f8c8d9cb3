// Rung 8's kernels, run thread by thread on an emulated GPU (hopper_emulator/) and compared with float64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "attention_reference.h"
#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"
#include "hopper/split_keys.cuh"
#include "hopper_emulator/gpu.h"
#include "hopper_emulator/tensor.h"

namespace fa_profile::hopper {

// The tensor maps of the emulated GPU.
cudaError_t EncodeMap(CUtensorMap& map, const void* tensor, CUtensorMapDataType, const AttentionParams& params,
                      int box_rows, bool) {
  const emulator::Tensor made{static_cast<std::uint16_t*>(const_cast<void*>(tensor)), params.head_dim, params.seqlen,
                              params.batch * params.num_heads, box_rows};
  std::memcpy(&map, &made, sizeof made);
  return cudaSuccess;
}

cudaError_t CountSms(int& sms) {
  sms = 2;
  return cudaSuccess;
}

}  // namespace fa_profile::hopper

namespace fa_profile::hopper_kernel_test {
namespace {

using emulator::Copies;

template <class Element>
std::uint16_t BitsOf(float x) {
  const std::uint32_t pair = hopper::Pack<Element>(x, 0.0F);
  return static_cast<std::uint16_t>(pair);
}

/// Tensors of one call, drawn afresh, as floats and as what the kernel gets.
template <class Element>
struct Tensors {
  explicit Tensors(const AttentionShape& asked) : shape(asked) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal(0.0F, 2.0F);  // maxima that move
    for (int tensor = 0; tensor < 3; ++tensor) {
      for (std::int64_t i = 0; i < shape.Elements(); ++i) {
        bits[tensor].push_back(BitsOf<Element>(normal(random)));
        values[tensor].push_back(hopper::ValueOf<Element>(bits[tensor].back()));
      }
    }
    out.assign(static_cast<std::size_t>(shape.Elements()), 0x7d7d);
  }

  AttentionParams Params() {
    AttentionParams params;
    params.batch = shape.batch;
    params.num_heads = shape.num_heads;
    params.seqlen = shape.seqlen;
    params.head_dim = shape.head_dim;
    params.causal = shape.causal;
    params.softmax_scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
    params.q = reinterpret_cast<const __half*>(bits[0].data());
    params.k = reinterpret_cast<const __half*>(bits[1].data());
    params.v = reinterpret_cast<const __half*>(bits[2].data());
    params.o = reinterpret_cast<__half*>(out.data());
    return params;
  }

  void ExpectCorrect() const {
    const std::vector<double> expected = AttentionReference(shape, values[0], values[1], values[2]);
    const double tolerance = std::is_same_v<Element, __half> ? 1e-3 : 8e-3;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = hopper::ValueOf<Element>(out[i]);
      const double bound = tolerance + tolerance * std::fabs(expected[i]);
      ASSERT_LE(std::fabs(value - expected[i]), bound)
          << shape.ToString() << " row " << i / static_cast<std::size_t>(shape.head_dim) << " column "
          << i % static_cast<std::size_t>(shape.head_dim);
    }
  }

  AttentionShape shape;
  std::vector<std::uint16_t> bits[3];
  std::vector<float> values[3];
  std::vector<std::uint16_t> out;
};

template <class T>
void ExpectForward(const AttentionShape& shape, Copies copies) {
  Tensors<typename T::Element> tensors(shape);
  hopper::Call call;
  ASSERT_EQ(hopper::MakeCall<T>(call, tensors.Params()), cudaSuccess);
  if (T::kPersistent && T::kCluster == 1 && !shape.causal) {
    call.order = hopper::WithNarrowItems(call.order, shape.seqlen, 2);
  }
  const int items = call.order.items();
  const unsigned clusters = static_cast<unsigned>(T::kPersistent && items > 2 ? 2 : items);
  const emulator::Launch launch{clusters * T::kCluster,  T::kThreads, T::kCluster,        1,
                                hopper::kSharedBytes<T>, copies,      T::kDependentLaunch};
  ASSERT_EQ(emulator::Run(launch, [&] { hopper::HopperForward<T>(call); }), "") << shape.ToString();
  tensors.ExpectCorrect();
}

template <class T>
void ExpectSplit(const AttentionShape& shape, Copies copies) {
  Tensors<typename T::Element> tensors(shape);
  hopper::SplitCall call;
  ASSERT_EQ(hopper::MakeSplitCall<T>(call, tensors.Params()), cudaSuccess);
  const auto heads = static_cast<unsigned>(shape.batch * shape.num_heads);
  const auto clusters = static_cast<unsigned>(hopper::Blocks(shape.seqlen, 64 * T::kQueries));
  const emulator::Launch launch{
      heads * clusters * T::kCluster, T::kThreads, T::kCluster, heads, T::kSharedBytes, copies, T::kDependentLaunch};
  ASSERT_EQ(emulator::Run(launch, [&] { hopper::HopperSplitKeys<T>(call); }), "") << shape.ToString();
  tensors.ExpectCorrect();
}

using hopper::Plain64;
template <class T>
struct All : hopper::Polynomial<hopper::Persistent<T>, 3> {
  static constexpr bool kPingPong = true;
};

TEST(HopperKernelTest, PlainIsCorrect) {
  ExpectForward<Plain64>({1, 1, 200, 64, false}, Copies::kAtOnce);
  ExpectForward<Plain64>({1, 1, 200, 64, true}, Copies::kAsLateAsPossible);
  ExpectForward<Plain64>({1, 1, 1, 64, false}, Copies::kAsLateAsPossible);
}

TEST(HopperKernelTest, OverlappedIsCorrect) {
  ExpectForward<hopper::Overlap<Plain64>>({1, 1, 300, 64, false}, Copies::kAtOnce);
  ExpectForward<hopper::Overlap<Plain64>>({1, 1, 300, 64, true}, Copies::kAsLateAsPossible);
}

TEST(HopperKernelTest, AllSwitchesTogetherAreCorrect) {
  ExpectForward<All<Plain64>>({1, 2, 330, 64, false}, Copies::kAtOnce);
  ExpectForward<All<Plain64>>({1, 2, 330, 64, true}, Copies::kAsLateAsPossible);
  ExpectForward<All<Plain64>>({1, 3, 250, 64, false}, Copies::kAsLateAsPossible);  // with narrow items
}

TEST(HopperKernelTest, ItemsThatAreContinuedAreCorrect) {
  ExpectForward<hopper::Polynomial<hopper::Continued<Plain64>, 3>>({1, 3, 250, 64, false}, Copies::kAtOnce);
  ExpectForward<hopper::Polynomial<hopper::Continued<Plain64>, 3>>({1, 1, 200, 64, true}, Copies::kAsLateAsPossible);
}

TEST(HopperKernelTest, SumsByTheProductAreCorrect) {
  ExpectForward<hopper::Chosen64>({1, 3, 250, 64, false}, Copies::kAtOnce);
  ExpectForward<hopper::Chosen64>({1, 1, 300, 64, true}, Copies::kAsLateAsPossible);
  ExpectForward<hopper::Chosen128>({1, 2, 200, 128, false}, Copies::kAsLateAsPossible);
  ExpectForward<hopper::Rows128>({1, 1, 1, 64, false}, Copies::kAtOnce);
  ExpectForward<hopper::Bf16<hopper::Chosen128>>({1, 1, 140, 128, true}, Copies::kAtOnce);
}

template <class T>
struct Impatient : T {
  static constexpr bool kDependentLaunch = false;
};

TEST(HopperKernelTest, ATensorTouchedBeforeTheKernelBeforeHasEndedIsSeen) {
  using T = Impatient<hopper::Chosen64>;
  Tensors<T::Element> tensors({1, 1, 100, 64, false});
  hopper::Call call;
  ASSERT_EQ(hopper::MakeCall<T>(call, tensors.Params()), cudaSuccess);
  const emulator::Launch launch{1, T::kThreads, 1, 1, hopper::kSharedBytes<T>, Copies::kAtOnce, true};
  EXPECT_NE(emulator::Run(launch, [&] { hopper::HopperForward<T>(call); }).find("before the kernel before has ended"),
            std::string::npos);
}

TEST(HopperKernelTest, HeadDimension128IsCorrect) {
  using hopper::Plain128;
  ExpectForward<Plain128>({1, 1, 150, 128, true}, Copies::kAtOnce);
  ExpectForward<All<Plain128>>({1, 2, 200, 128, false}, Copies::kAsLateAsPossible);
  ExpectForward<hopper::Bf16<All<hopper::Tile<128, 2, 96, 1>>>>({1, 1, 140, 128, true}, Copies::kAtOnce);
}

template <class T>
struct Paired : T {
  static constexpr int kCluster = 2;
};

TEST(HopperKernelTest, RowBlocksThatShareTheirCopiesAreCorrect) {
  ExpectForward<Paired<All<Plain64>>>({1, 1, 450, 64, true}, Copies::kAtOnce);
  ExpectForward<Paired<hopper::Tile<64, 2, 64, 2>>>({1, 2, 150, 64, false}, Copies::kAsLateAsPossible);
}

template <class T>
struct CopyToPush : T {
  static constexpr bool kCopyToPush = true;
};

TEST(HopperKernelTest, PartsThatAreCopiedAreCorrect) {
  ExpectSplit<CopyToPush<hopper::SplitTile<64, 2, 1, 2, 128>>>({1, 1, 300, 64, false}, Copies::kAsLateAsPossible);
  ExpectSplit<CopyToPush<hopper::SplitTile<64, 4, 1, 1, 128>>>({1, 1, 300, 64, true}, Copies::kAtOnce);
}

TEST(HopperKernelTest, SplitKeysAreCorrect) {
  ExpectSplit<hopper::SplitKeys64>({1, 1, 300, 64, false}, Copies::kAtOnce);
  ExpectSplit<hopper::SplitKeys64>({1, 1, 300, 64, false}, Copies::kAsLateAsPossible);
  ExpectSplit<hopper::SplitKeys128>({1, 1, 150, 128, true}, Copies::kAtOnce);
  ExpectSplit<hopper::SplitTile<64, 2, 2, 2, 128>>({1, 1, 150, 64, true}, Copies::kAsLateAsPossible);
  ExpectSplit<hopper::SplitTile<64, 2, 4, 2, 64>>({1, 1, 200, 64, true}, Copies::kAtOnce);
  ExpectSplit<hopper::SplitTile<64, 1, 2, 2, 128>>({1, 2, 70, 64, false}, Copies::kAsLateAsPossible);
  ExpectSplit<hopper::SplitTile<64, 4, 1, 1, 64>>({1, 1, 190, 64, true}, Copies::kAsLateAsPossible);
  ExpectSplit<hopper::SplitTile<64, 4, 1, 4, 32>>({1, 1, 100, 64, true}, Copies::kAtOnce);
  ExpectSplit<hopper::SplitTile<128, 2, 2, 2, 64>>({1, 1, 200, 128, false}, Copies::kAsLateAsPossible);
}

}  // namespace
}  // namespace fa_profile::hopper_kernel_test
