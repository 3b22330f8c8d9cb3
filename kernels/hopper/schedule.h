#pragma once

// In which order the warps of rung 8 wait, load, multiply and release. The kernel runs these functions with its phases;
// tests/hopper_schedule_test.cpp runs them with recorders and plays the records against each other, in search of a
// deadlock or of a tile that is overwritten while it is read.

#include <cstdint>

#include "hopper/layout.h"

#ifdef __CUDACC__
#define FA_HOPPER_ROLE __device__ __forceinline__
#else
#define FA_HOPPER_ROLE inline
#endif

namespace fa_profile::hopper {

enum class Operand { kQ, kK, kV };

/// A place in a ring of stages. The barrier of a stage completes a phase each time round; a wait names the phase by its
/// parity. On a fresh barrier the phase before the first counts as complete: the first time round every stage is empty.
template <int kStages>
struct Ring {
  int stage = 0;
  std::uint32_t full = 0;  // the parity by which a consumer waits for the stage to be full

  /// The parity by which a producer waits for the stage to be empty.
  FA_HOPPER_BOTH constexpr std::uint32_t empty() const { return full ^ 1U; }

  FA_HOPPER_BOTH constexpr void Next() {
    if (++stage == kStages) {
      stage = 0;
      full ^= 1U;
    }
  }
};

/// Where one thread is in the rings of Q, K and V.
template <int kStages>
struct Rings {
  Ring<1> q = {};
  Ring<kStages> k = {};
  Ring<kStages> v = {};

  FA_HOPPER_BOTH constexpr int StageOf(Operand operand) const {
    return operand == Operand::kQ ? 0 : operand == Operand::kK ? k.stage : v.stage;
  }
  FA_HOPPER_BOTH constexpr std::uint32_t FullParityOf(Operand operand) const {
    return operand == Operand::kQ ? q.full : operand == Operand::kK ? k.full : v.full;
  }
  FA_HOPPER_BOTH constexpr std::uint32_t EmptyParityOf(Operand operand) const {
    return operand == Operand::kQ ? q.empty() : operand == Operand::kK ? k.empty() : v.empty();
  }
  FA_HOPPER_BOTH constexpr void Next(Operand operand) {
    if (operand == Operand::kQ) q.Next();
    if (operand == Operand::kK) k.Next();
    if (operand == Operand::kV) v.Next();
  }
};

/// Ping-pong: a named barrier for each warpgroup hands it the turn to issue products. The barrier of `warpgroup`.
FA_HOPPER_BOTH constexpr int TurnOf(int warpgroup) { return 1 + warpgroup; }

/// The barrier at which `warpgroup` arrives after its turn; 0: none, because the turn would not be taken. `last`: it
/// was its last turn.
FA_HOPPER_BOTH constexpr int TurnAfter(int warpgroup, int warpgroups, bool last) {
  if (warpgroup + 1 < warpgroups) return TurnOf(warpgroup + 1);
  return last ? 0 : TurnOf(0);
}

/// The loads of one work item, of `tiles` key tiles, in the order in which the consumers need them: QK of a tile comes
/// before PV of the tile before.
template <class Producer>
FA_HOPPER_ROLE void LoadItem(Producer& producer, int tiles) {
  if (tiles == 0) return;
  producer.load_q();
  producer.load_kv(Operand::kK, 0);
  for (int tile = 1; tile < tiles; ++tile) {
    producer.load_kv(Operand::kK, tile);
    producer.load_kv(Operand::kV, tile - 1);
  }
  producer.load_kv(Operand::kV, tiles - 1);
}

/// One product after the other, each waited for.
template <class Consumer>
FA_HOPPER_ROLE void ConsumeInTurn(Consumer& consumer, int tiles) {
  consumer.sync(Operand::kQ);
  for (int tile = 0; tile < tiles; ++tile) {
    consumer.sync(Operand::kK);
    consumer.take_turn();
    consumer.qk();
    consumer.pass_turn(tile == tiles - 1);
    consumer.await_scores(0);
    consumer.release(Operand::kK);
    if (tile == tiles - 1) consumer.release(Operand::kQ);
    consumer.softmax(tile);
    consumer.rescale();
    consumer.convert();
    consumer.sync(Operand::kV);
    consumer.pv();
    consumer.await_output(0);
    consumer.release(Operand::kV);
  }
}

/// From the scores of an item's first tile to the last PV, which is issued and not waited for. QK of the next tile is
/// issued before PV of this one, so that the tensor cores have PV to do while the warps compute the next exponentials.
template <class Consumer>
FA_HOPPER_ROLE void ConsumeFromScores(Consumer& consumer, int tiles) {
  consumer.await_scores(0);
  consumer.release(Operand::kK);
  if (tiles == 1) consumer.release(Operand::kQ);
  consumer.softmax(0);
  consumer.convert();
  for (int tile = 1; tile < tiles; ++tile) {
    consumer.sync(Operand::kK);
    consumer.take_turn();
    consumer.qk();
    consumer.sync(Operand::kV);
    consumer.pv();
    consumer.pass_turn(tile == tiles - 1);
    consumer.await_scores(1);  // PV is the newer one, and may go on
    consumer.release(Operand::kK);
    if (tile == tiles - 1) consumer.release(Operand::kQ);
    consumer.softmax(tile);
    consumer.await_output(0);
    consumer.release(Operand::kV);
    consumer.rescale();
    consumer.convert();
  }
  consumer.sync(Operand::kV);
  consumer.pv();
}

/// The same for one item alone.
template <class Consumer>
FA_HOPPER_ROLE void ConsumeOverlapped(Consumer& consumer, int tiles) {
  consumer.sync(Operand::kQ);
  consumer.sync(Operand::kK);
  consumer.take_turn();
  consumer.qk();
  consumer.pass_turn(tiles == 1);
  ConsumeFromScores(consumer, tiles);
  consumer.await_output(0);
  consumer.release(Operand::kV);
}

/// Or with the scores of the item's first tile under way, and those of the next item's left so. `next`: whether there
/// is one in which this warpgroup has rows.
template <class Consumer>
FA_HOPPER_ROLE void ConsumeContinued(Consumer& consumer, int tiles, bool next) {
  ConsumeFromScores(consumer, tiles);
  consumer.start_scores(next);
  consumer.await_output(1);  // QK is the newer one
  consumer.release(Operand::kV);
}

/// A warpgroup without rows of the item keeps step with the others: it gives back each tile, and its turns.
template <class Consumer>
FA_HOPPER_ROLE void PassItem(Consumer& consumer, int tiles) {
  if (tiles == 0) return;
  consumer.sync(Operand::kQ);
  consumer.release(Operand::kQ);
  for (int tile = 0; tile < tiles; ++tile) {
    consumer.sync(Operand::kK);
    consumer.take_turn();
    consumer.pass_turn(tile == tiles - 1);
    consumer.release(Operand::kK);
    consumer.sync(Operand::kV);
    consumer.release(Operand::kV);
  }
}

/// All of a warpgroup's work at an item. Every warpgroup of a block walks over the same tiles.
template <bool kOverlap, class Consumer>
FA_HOPPER_ROLE void ConsumeItem(Consumer& consumer, int tiles) {
  if (tiles == 0) return;
  if constexpr (kOverlap) {
    ConsumeOverlapped(consumer, tiles);
  } else {
    ConsumeInTurn(consumer, tiles);
  }
}

/// Keys [0, KeyEnd) count for query `row`.
FA_HOPPER_BOTH constexpr int KeyEnd(int row, int seqlen, bool causal) {
  return causal && row + 1 < seqlen ? row + 1 : seqlen;
}

FA_HOPPER_BOTH constexpr int Blocks(int count, int size) { return (count + size - 1) / size; }

/// How many tiles of `keys` keys the rows [row, row + rows) need; rows past the end need what the last row needs.
FA_HOPPER_BOTH constexpr int TileCount(int row, int rows, int keys, int seqlen, bool causal) {
  return Blocks(KeyEnd(row + rows - 1, seqlen, causal), keys);
}

/// Whether some of the rows from `row` on must not see some key of the tile that begins at `key`.
FA_HOPPER_BOTH constexpr bool NeedsMask(int row, int key, int keys, int seqlen, bool causal) {
  return key + keys > KeyEnd(row, seqlen, causal);
}

/// How long `heads` heads of `seqlen` rows take with blocks of `rows` rows, one an SM: waves times rows. The last wave
/// takes as long as a full one, so fewer rows a block may be quicker.
FA_HOPPER_BOTH constexpr std::int64_t WaveRows(int heads, int seqlen, int rows, int sms) {
  return std::int64_t{Blocks(heads * Blocks(seqlen, rows), sms)} * rows;
}

/// A work item: `strips` strips of 64 query rows, from `strip` on, of `head`, counted over batch and heads.
struct Item {
  int head;
  int strip;
  int strips;
};

/// A positive number that the host knows and a kernel divides by, without the hundred cycles of an integer division: a
/// multiplication gives the quotient or one less (Granlund and Montgomery, "Division by Invariant Integers using
/// Multiplication", 1994). Of 0 it is 1: nothing is divided by it then.
class Divisor {
 public:
  constexpr Divisor(int value = 1)  // NOLINT(google-explicit-constructor): it is a number
      : value_(value), reciprocal_(~0U / (value > 0 ? static_cast<std::uint32_t>(value) : 1U)) {}
  FA_HOPPER_BOTH constexpr operator int() const { return value_; }  // NOLINT(google-explicit-constructor)

  /// `dividend` is 0 or more.
  FA_HOPPER_BOTH friend constexpr int operator/(int dividend, const Divisor& divisor) {
    const auto n = static_cast<std::uint32_t>(dividend);
    const auto quotient = static_cast<int>(std::uint64_t{n} * divisor.reciprocal_ >> 32U);
    return dividend - quotient * divisor.value_ >= divisor.value_ ? quotient + 1 : quotient;
  }
  FA_HOPPER_BOTH friend constexpr int operator%(int dividend, const Divisor& divisor) {
    return dividend - dividend / divisor * divisor.value_;
  }

 private:
  int value_;
  std::uint32_t reciprocal_;  // floor((2^32 - 1) / value)
};

/// The order of work: one head after the other. With a causal mask the last row blocks have the most keys and come
/// first: heads go in groups whose K and V fit into L2 together, and of a group the last row blocks of all its heads.
/// Behind them come the narrow items, of one strip each: the rows that are left of each head.
struct Order {
  int heads;
  Divisor row_blocks;  // of a head
  int block_strips;
  int heads_per_group;
  bool longest_first;
  Divisor narrow = 0;  // of a head

  FA_HOPPER_BOTH constexpr int items() const { return heads * (row_blocks + narrow); }
  FA_HOPPER_BOTH constexpr Item At(int index) const {
    if (index >= heads * row_blocks) {
      const int left = index - heads * row_blocks;
      return {left / narrow, row_blocks * block_strips + left % narrow, 1};
    }
    if (!longest_first) return {index / row_blocks, index % row_blocks * block_strips, block_strips};
    const int group = index / (heads_per_group * row_blocks);
    const int first_head = group * heads_per_group;
    const int within = index - first_head * row_blocks;
    const int left = heads - first_head;
    const int group_heads = left < heads_per_group ? left : heads_per_group;
    const int row_block = row_blocks - 1 - within / group_heads;
    return {first_head + within % group_heads, row_block * block_strips, block_strips};
  }
};

/// How long the order takes on `blocks` blocks, which take item after item, in full items. A narrow one takes about
/// half as long as a full one of three strips: one warpgroup alone hides little of its waits.
constexpr double kNarrowTime = 0.5;
constexpr double TimeOf(const Order& order, int blocks) {
  const int full = order.heads * order.row_blocks;
  double longest = 0.0;
  for (int block = 0; block < blocks; ++block) {
    const int all_before = block < order.items() ? (order.items() - block - 1) / blocks + 1 : 0;
    const int full_before = block < full ? (full - block - 1) / blocks + 1 : 0;
    const double time = full_before + kNarrowTime * (all_before - full_before);
    longest = time > longest ? time : longest;
  }
  return longest;
}

/// `order`, or with the rows past the last whole row block in narrow items where that takes less time.
constexpr Order WithNarrowItems(const Order& order, int seqlen, int blocks) {
  Order narrow = order;
  const int strips = Blocks(seqlen, kWarpgroupRows);
  narrow.row_blocks = strips / order.block_strips;
  narrow.narrow = strips % order.block_strips;
  const bool can = narrow.row_blocks > 0 && narrow.narrow > 0;
  return can && TimeOf(narrow, blocks) < TimeOf(order, blocks) ? narrow : order;
}

}  // namespace fa_profile::hopper
