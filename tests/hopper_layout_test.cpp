// The index arithmetic of rung 8, checked against a model of the hardware: TMA's swizzle, WGMMA's descriptors and
// registers, as described in the PTX ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "hopper/exponential.h"
#include "hopper/layout.h"
#include "hopper/merge.h"
#include "hopper/schedule.h"

namespace fa_profile::hopper_layout_test {
namespace {

using hopper::kAtomBytes;
using hopper::kStepDepth;

/// Shared memory that holds the number of a tensor's element in each pair of bytes; -1: not written.
class SharedMemory {
 public:
  /// TMA: a box of 64 columns and `rows` rows, from `column` on of a tensor with `columns` columns. In shared memory
  /// the box's row r begins at base + 128 r, and the 16-byte chunk of an address is exchanged by the address's bits 7
  /// to 9.
  void LoadBox(std::uint32_t base, int rows, int column, int columns) {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < 64; ++c) {
        const std::uint32_t chunk = static_cast<std::uint32_t>(c) / 8;
        const std::uint32_t line = base + 128 * static_cast<std::uint32_t>(r);
        const std::uint32_t swizzled = chunk ^ (line / 128 % 8);
        halves_[(line + 16 * swizzled) / 2 + static_cast<std::uint32_t>(c) % 8] = r * columns + column + c;
      }
    }
  }

  int At(std::uint32_t address) const { return halves_.at(address / 2); }

 private:
  std::vector<int> halves_ = std::vector<int>(128 * 1024, -1);
};

/// A tile of `rows` rows and `columns` columns as the kernel loads it, from `base` on.
SharedMemory LoadTile(std::uint32_t base, int rows, int columns) {
  SharedMemory memory;
  for (int slab = 0; slab < columns / 64; ++slab) {
    memory.LoadBox(base + static_cast<std::uint32_t>(slab) * hopper::SlabBytes(rows), rows, 64 * slab, columns);
  }
  return memory;
}

/// The fields that WGMMA reads from a descriptor.
struct Descriptor {
  explicit Descriptor(std::uint64_t bits)
      : start(static_cast<std::uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<std::uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<std::uint32_t>(bits >> 32 & 0x3fff) << 4),
        base_offset(static_cast<int>(bits >> 49 & 7)),
        swizzle(static_cast<int>(bits >> 62)),
        rest(bits & ~(0x3fffULL | 0x3fffULL << 16 | 0x3fffULL << 32 | 7ULL << 49 | 3ULL << 62)) {}

  std::uint32_t start, leading, stride;
  int base_offset, swizzle;
  std::uint64_t rest;
};

std::uint32_t Swizzled(std::uint32_t address) { return address ^ (address / 128 % 8 * 16); }

// The canonical layouts of the PTX ISA for a 128-byte swizzle and elements of 2 bytes (T = 8 of them are 16 bytes):
// K-major ((8,m),(T,2)):((8T,SBO),(1,T)), MN-major ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)).
std::uint32_t KMajorAddress(const Descriptor& d, int mn, int k) {
  const auto row = static_cast<std::uint32_t>(mn);
  return Swizzled(d.start + row % 8 * 128 + row / 8 * d.stride + static_cast<std::uint32_t>(k) * 2);
}
std::uint32_t MnMajorAddress(const Descriptor& d, int mn, int k) {
  const auto column = static_cast<std::uint32_t>(mn);
  const auto row = static_cast<std::uint32_t>(k);
  return Swizzled(d.start + column % 64 * 2 + column / 64 * d.leading + row % 8 * 128 + row / 8 * d.stride);
}

TEST(HopperLayoutTest, ADescriptorHasTheFieldsOfThePtxIsa) {
  const Descriptor d{hopper::MatrixDescriptor(0x12340, 22528, 1024)};
  EXPECT_EQ(d.start, 0x12340U);
  EXPECT_EQ(d.leading, 22528U);
  EXPECT_EQ(d.stride, 1024U);
  EXPECT_EQ(d.base_offset, 0);
  EXPECT_EQ(d.swizzle, 1);
  EXPECT_EQ(d.rest, 0U);
  EXPECT_EQ(hopper::KMajorDescriptor(0x400), 0x4000004000010040ULL);
}

TEST(HopperLayoutTest, TileOffsetIsWhereTmaPutsAnElement) {
  for (const int columns : {64, 128}) {
    for (const int rows : {64, 128, 176, 192}) {
      const SharedMemory memory = LoadTile(3 * kAtomBytes, rows, columns);
      for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
          ASSERT_EQ(memory.At(3 * kAtomBytes + hopper::TileOffset(rows, row, column)), row * columns + column);
        }
      }
    }
  }
}

// Q: 64 rows of a tile of 64 per warpgroup; K: all rows of a tile.
TEST(HopperLayoutTest, EveryStepOfAKMajorOperandReadsItsRowsAndColumns) {
  for (const int columns : {64, 128}) {
    for (const int rows : {64, 96, 128, 160, 176, 192}) {
      const std::uint32_t base = 5 * kAtomBytes;
      const SharedMemory memory = LoadTile(base, rows, columns);
      for (int first = 0; first + 64 <= rows; first += 64) {
        const int count = first == 0 ? rows : 64;
        const std::uint64_t whole = hopper::KMajorDescriptor(base + hopper::SlabBytes(first));
        for (int step = 0; step < columns / kStepDepth; ++step) {
          const Descriptor d{hopper::Advance(whole, hopper::KMajorStep(rows, step))};
          for (int row = 0; row < count; ++row) {
            for (int k = 0; k < kStepDepth; ++k) {
              ASSERT_EQ(memory.At(KMajorAddress(d, row, k)), (first + row) * columns + step * kStepDepth + k)
                  << columns << " columns, " << rows << " rows, from " << first << ", step " << step;
            }
          }
        }
      }
    }
  }
}

TEST(HopperLayoutTest, EveryStepOfAnMnMajorOperandReadsItsKeysAndColumns) {
  for (const int columns : {64, 128}) {
    for (const int keys : {64, 96, 128, 160, 176, 192}) {
      const std::uint32_t base = 7 * kAtomBytes;
      const SharedMemory memory = LoadTile(base, keys, columns);
      const std::uint64_t whole = hopper::MnMajorDescriptor(base, keys);
      for (int step = 0; step < keys / kStepDepth; ++step) {
        const Descriptor d{hopper::Advance(whole, hopper::MnMajorStep(step))};
        for (int column = 0; column < columns; ++column) {
          for (int k = 0; k < kStepDepth; ++k) {
            ASSERT_EQ(memory.At(MnMajorAddress(d, column, k)), (step * kStepDepth + k) * columns + column);
          }
        }
      }
    }
  }
}

TEST(HopperLayoutTest, ADescriptorReachesTheLastStepOfTheHighestTile) {
  const std::uint32_t last = 227 * 1024 / kAtomBytes * kAtomBytes - 176 * 256;
  const Descriptor d{hopper::Advance(hopper::MnMajorDescriptor(last, 176), hopper::MnMajorStep(10))};
  EXPECT_EQ(d.start, last + 10 * 2048);
  EXPECT_EQ(d.leading, 176U * 128);
  EXPECT_EQ(d.rest, 0U);
}

TEST(HopperLayoutTest, AccumulatorAndFragmentCoverTheirMatricesOnce) {
  std::set<std::pair<int, int>> accumulator;
  std::set<std::pair<int, int>> fragment;
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < 64; ++i) {
      accumulator.emplace(hopper::AccumulatorRow(thread, i), hopper::AccumulatorColumn(thread, i));
    }
    for (int i = 0; i < 8; ++i) {
      fragment.emplace(hopper::FragmentRow(thread, i / 2), hopper::FragmentColumn(thread, i / 2, i % 2));
    }
  }
  EXPECT_EQ(accumulator.size(), 64U * 128);
  EXPECT_EQ(*accumulator.rbegin(), (std::pair{63, 127}));
  EXPECT_EQ(fragment.size(), 64U * 16);
  EXPECT_EQ(*fragment.rbegin(), (std::pair{63, 15}));
}

TEST(HopperLayoutTest, AThreadsScoresAreTheProbabilitiesThatItsFragmentNeeds) {
  for (int thread = 0; thread < 128; ++thread) {
    for (int step = 0; step < 11; ++step) {
      for (int i = 0; i < 4; ++i) {
        for (int half = 0; half < 2; ++half) {
          const int score = hopper::ScoreOfFragment(step, i, half);
          EXPECT_EQ(hopper::AccumulatorRow(thread, score), hopper::FragmentRow(thread, i));
          EXPECT_EQ(hopper::AccumulatorColumn(thread, score),
                    step * kStepDepth + hopper::FragmentColumn(thread, i, half));
        }
      }
    }
  }
}

// The mask adds the column of element 0 of a thread to that of element i of thread 0.
TEST(HopperLayoutTest, AColumnIsTheThreadsPlusTheElements) {
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < 88; ++i) {
      EXPECT_EQ(hopper::AccumulatorColumn(thread, i),
                hopper::AccumulatorColumn(thread, 0) + hopper::AccumulatorColumn(0, i));
    }
  }
}

TEST(HopperExponentialTest, ThePolynomialIsWithinItsErrorAndEndsAtZero) {
  double worst = 0.0;
  for (float x = -40.0F; x <= 9.0F; x += 1.0F / 1024) {
    const double power = std::exp2(static_cast<double>(x));
    worst = std::max(worst, std::fabs(hopper::Exp2OnFma(x) - power) / power);
  }
  EXPECT_LT(worst, 8e-5);
  EXPECT_LT(hopper::Exp2OnFma(-200.0F), 1e-37F);
  EXPECT_LT(hopper::Exp2OnFma(-std::numeric_limits<float>::infinity()), 1e-37F);
  EXPECT_GE(hopper::Exp2OnFma(-126.0F), 0.0F);
}

TEST(HopperExponentialTest, AsManyOf16AsAskedForTakeThePolynomial) {
  for (int of_16 = 0; of_16 <= 16; ++of_16) {
    int count = 0;
    for (int i = 0; i < 64; ++i) count += hopper::IsOnFma(i, of_16) ? 1 : 0;
    EXPECT_EQ(count, 4 * of_16);
  }
}

TEST(HopperTilesTest, TilesHoldEveryVisibleKeyAndNoTileInVain) {
  for (const int keys : {64, 128, 176}) {
    for (const int rows : {64, 128, 192}) {
      for (int seqlen = 1; seqlen < 420; seqlen += seqlen < 20 ? 1 : 7) {
        for (const bool causal : {false, true}) {
          for (int row = 0; row < seqlen; row += rows) {
            const int last_row = std::min(row + rows, seqlen) - 1;
            const int visible = causal ? last_row + 1 : seqlen;
            const int tiles = hopper::TileCount(row, rows, keys, seqlen, causal);
            EXPECT_GE(tiles * keys, visible);
            EXPECT_LT((tiles - 1) * keys, visible);
          }
        }
      }
    }
  }
}

TEST(HopperTilesTest, ATileIsMaskedWhereARowMustNotSeeAllOfIt) {
  for (const bool causal : {false, true}) {
    for (const int seqlen : {1, 63, 128, 129, 300}) {
      for (int row = 0; row < seqlen; row += 16) {
        for (int key = 0; key < seqlen; key += 64) {
          bool partly_hidden = false;
          for (int r = row; r < row + 16; ++r) {
            const int end = causal ? std::min(r + 1, seqlen) : seqlen;
            if (key + 64 > end) partly_hidden = true;
          }
          EXPECT_EQ(hopper::NeedsMask(row, key, 64, seqlen, causal), partly_hidden);
        }
      }
    }
  }
}

TEST(HopperOrderTest, WavesCountTheLastOneInFull) {
  EXPECT_EQ(hopper::WaveRows(64, 2048, 192, 132), 6 * 192);  // 704 blocks
  EXPECT_EQ(hopper::WaveRows(64, 2048, 128, 132), 8 * 128);  // 1024 blocks
  EXPECT_EQ(hopper::WaveRows(1, 1, 192, 132), 192);
}

TEST(HopperOrderTest, DivisorsDivide) {
  constexpr int kMost = std::numeric_limits<int>::max();
  std::mt19937 random(5);
  for (int value : {1, 2, 3, 7, 11, 86, 4096, 65535, 65537, kMost - 1, kMost}) {
    const hopper::Divisor divisor(value);
    EXPECT_EQ(int{divisor}, value);
    std::vector<int> dividends{
        0, 1, value - 1, value, kMost - 1, kMost, kMost / value * value, kMost / value * value - 1};
    for (int i = 0; i < 1000; ++i) dividends.push_back(static_cast<int>(random() >> 1U));
    for (const int dividend : dividends) {
      ASSERT_EQ(dividend / divisor, dividend / value) << dividend << " / " << value;
      ASSERT_EQ(dividend % divisor, dividend % value) << dividend << " % " << value;
    }
  }
}

TEST(HopperOrderTest, EveryItemComesOnceAndTheLongestFirst) {
  for (const bool longest_first : {false, true}) {
    for (const int heads : {1, 2, 7, 16}) {
      for (const int row_blocks : {1, 3, 11}) {
        for (const int group : {1, 3, 16}) {
          if (group > heads) continue;
          const hopper::Order order{heads, row_blocks, 3, group, longest_first};
          std::set<std::pair<int, int>> seen;
          std::map<int, int> last_block;
          for (int i = 0; i < order.items(); ++i) {
            const hopper::Item item = order.At(i);
            const int row_block = item.strip / 3;
            ASSERT_TRUE(item.head >= 0 && item.head < heads && item.strip >= 0 && row_block < row_blocks);
            EXPECT_EQ(item.strip % 3, 0);
            EXPECT_EQ(item.strips, 3);
            seen.emplace(item.head, row_block);
            EXPECT_GE(item.head / group, i / (group * row_blocks));
            if (last_block.contains(item.head)) {
              EXPECT_EQ(row_block - last_block[item.head], longest_first ? -1 : 1);
            }
            last_block[item.head] = row_block;
          }
          EXPECT_EQ(seen.size(), static_cast<std::size_t>(order.items()));
        }
      }
    }
  }
}

TEST(HopperOrderTest, NarrowItemsFillTheLastWaveAndCoverEveryRowOnce) {
  const hopper::Order whole{64, 11, 3, 1, false};
  const hopper::Order order = hopper::WithNarrowItems(whole, 2048, 132);
  EXPECT_EQ(hopper::TimeOf(whole, 132), 6.0);
  EXPECT_EQ(hopper::TimeOf(order, 132), 5.5);  // 640 full items and 128 narrow ones
  std::set<std::pair<int, int>> strips;
  for (int i = 0; i < order.items(); ++i) {
    const hopper::Item item = order.At(i);
    for (int strip = item.strip; strip < item.strip + item.strips; ++strip) {
      EXPECT_TRUE(strips.emplace(item.head, strip).second);
      EXPECT_LT(strip, 32);
    }
  }
  EXPECT_EQ(strips.size(), 64U * 32U);
  EXPECT_EQ(hopper::WithNarrowItems({64, 8, 3, 1, false}, 1536, 132).narrow, 0);  // whole row blocks
  EXPECT_EQ(hopper::WithNarrowItems({1, 1, 3, 1, false}, 64, 132).narrow, 0);
}

/// Everything in one block's memory is written once: places do not overlap, and are inside.
template <class Merge, int kSplits, int kWarpgroups>
void ExpectPartsApart() {
  std::set<std::uint32_t> taken;
  const auto expect_free = [&](std::uint32_t at, std::uint32_t bytes) {
    EXPECT_EQ(at % bytes, 0U);
    EXPECT_LE(at + bytes, static_cast<std::uint32_t>(Merge::kBytes));
    for (std::uint32_t byte = at; byte < at + bytes; byte += 4) EXPECT_TRUE(taken.insert(byte).second) << at;
  };
  for (int from = 0; from < kWarpgroups; ++from) {
    for (int row = 0; row < 64; ++row) expect_free(Merge::StatisticsAt(from, row), 8);
    for (int to = 0; to < kWarpgroups; ++to) {
      for (int place = 0; to != from && place < Merge::kVectors * 128; ++place) {
        expect_free(Merge::ExchangedAt(to, from, place / 128, place % 128), 16);
      }
    }
  }
  const int me = kSplits - 1;
  for (int from = 0; from < me; ++from) {
    for (int warp = 0; warp < 4 * kWarpgroups; ++warp) {
      if (Merge::OwnerOf(warp % 4) != me) continue;
      for (int place = 0; place < (Merge::kVectors + 1) * 32; ++place) {
        expect_free(Merge::ReceivedAt(me, from, warp / 4, warp % 4, place / 32, place % 32), 16);
      }
    }
  }
}

TEST(HopperMergeTest, PartsLieApartAndEveryRowHasAnOwner) {
  ExpectPartsApart<hopper::MergeLayout<64, 2, 2>, 2, 2>();
  ExpectPartsApart<hopper::MergeLayout<64, 4, 1>, 4, 1>();
  ExpectPartsApart<hopper::MergeLayout<64, 1, 4>, 1, 4>();
  ExpectPartsApart<hopper::MergeLayout<128, 4, 2>, 4, 2>();
  using Two = hopper::MergeLayout<64, 2, 2>;
  EXPECT_EQ((std::vector<int>{Two::OwnerOf(0), Two::OwnerOf(1), Two::OwnerOf(2), Two::OwnerOf(3)}),
            (std::vector<int>{0, 0, 1, 1}));
}

TEST(HopperMergeTest, BlocksThatShareKeysAreThoseOfTheSameSplit) {
  EXPECT_EQ(hopper::SharersOf(0, 2, 1), 0b1U);
  EXPECT_EQ(hopper::SharersOf(1, 2, 4), 0b10101010U);
  EXPECT_EQ(hopper::SharersOf(3, 4, 2), 0b10001000U);
}

TEST(HopperMergeTest, PartsMergeToTheSoftmaxOfAllKeys) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0F, 4.0F);
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<float> scores(96);
    std::vector<float> values(96);
    for (float& x : scores) x = normal(random);
    for (float& x : values) x = normal(random);
    const int visible = 1 + draw % 96;  // parts of 24 keys: the last ones may see none
    double sum = 0.0;
    double out = 0.0;
    for (int key = 0; key < visible; ++key) {
      sum += std::exp2(static_cast<double>(scores[key]));
      out += std::exp2(static_cast<double>(scores[key])) * values[key];
    }
    float max[4];
    float part_sum[4] = {};
    float part_out[4] = {};
    float all = -std::numeric_limits<float>::infinity();
    for (int part = 0; part < 4; ++part) {
      max[part] = -std::numeric_limits<float>::infinity();
      const int end = std::min(24 * part + 24, visible);
      for (int key = 24 * part; key < end; ++key) max[part] = std::max(max[part], scores[key]);
      for (int key = 24 * part; key < end; ++key) {
        part_sum[part] += std::exp2(scores[key] - max[part]);
        part_out[part] += std::exp2(scores[key] - max[part]) * values[key];
      }
      if (end <= 24 * part) part_out[part] = std::numeric_limits<float>::quiet_NaN();  // never written
      all = std::max(all, max[part]);
    }
    float merged_sum = 0.0F;
    float merged_out = 0.0F;
    for (int part = 0; part < 4; ++part) {
      const float weight = hopper::PartWeight(max[part], all, [](float x) { return std::exp2(x); });
      if (weight == 0.0F) continue;
      merged_sum += weight * part_sum[part];
      merged_out += weight * part_out[part];
    }
    EXPECT_NEAR(merged_out / merged_sum, out / sum, 1e-5 * (1.0 + std::fabs(out / sum)));
  }
}

}  // namespace
}  // namespace fa_profile::hopper_layout_test
