// The order of waits, copies, products and releases of rung 8, played on a model of its barriers: every warp runs the
// kernel's own loops (hopper/schedule.h) with a recorder, and a scheduler that draws lots executes the records.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "hopper/schedule.h"

namespace fa_profile::hopper_schedule_test {
namespace {

using hopper::Operand;

constexpr int kWarps = 4;  // per warpgroup

/// One thing a warp does. A tile is named by its number over all items of the block.
struct Step {
  enum Kind { kWaitFull, kWaitEmpty, kLoad, kRelease, kReadBegins, kReadEnds, kSync, kArrive };
  Kind kind;
  Operand operand = Operand::kQ;
  int stage = 0;
  std::uint32_t parity = 0;
  int tile = 0;
  int barrier = 0;  // for kSync and kArrive
};

using Program = std::vector<Step>;

template <int kStages>
struct Recorder {
  Program program = {};
  hopper::Rings<kStages> rings = {};
  std::map<Operand, int> next_tile = {{Operand::kQ, 0}, {Operand::kK, 0}, {Operand::kV, 0}};

  void Add(Step::Kind kind, Operand operand) {
    const bool full = kind == Step::kWaitFull;
    program.push_back({kind, operand, rings.StageOf(operand),
                       full ? rings.FullParityOf(operand) : rings.EmptyParityOf(operand), next_tile[operand]});
  }
  void Next(Operand operand) {
    rings.Next(operand);
    ++next_tile[operand];
  }
};

template <int kStages>
struct RecordingProducer : Recorder<kStages> {
  void Load(Operand operand) {
    this->Add(Step::kWaitEmpty, operand);
    this->Add(Step::kLoad, operand);
    this->Next(operand);
  }
  void load_q() { Load(Operand::kQ); }
  void load_kv(Operand operand, int) { Load(operand); }
};

template <int kStages>
struct RecordingConsumer : Recorder<kStages> {
  int warpgroup = 0;
  int warpgroups = 1;
  int strips = 3;
  bool ping_pong = false;
  bool last_item = false;
  bool scores_under_way = false;
  bool output_under_way = false;
  bool useless_under_way = false;

  void sync(Operand operand) { this->Add(Step::kWaitFull, operand); }
  void release(Operand operand) {
    // Released tiles must not be read any more.
    EXPECT_FALSE(operand == Operand::kV ? output_under_way : scores_under_way);
    this->Add(Step::kRelease, operand);
    this->Next(operand);
  }
  void take_turn() {
    if (ping_pong) this->program.push_back({.kind = Step::kSync, .barrier = hopper::TurnOf(warpgroup)});
  }
  void pass_turn(bool last_tile) {
    const int next = hopper::TurnAfter(warpgroup, warpgroups, last_tile && last_item);
    if (ping_pong && next != 0) this->program.push_back({.kind = Step::kArrive, .barrier = next});
  }
  void qk() {
    EXPECT_FALSE(scores_under_way);
    scores_under_way = true;
    this->Add(Step::kReadBegins, Operand::kQ);
    this->Add(Step::kReadBegins, Operand::kK);
  }
  void pv() {
    EXPECT_FALSE(output_under_way);
    output_under_way = true;
    this->Add(Step::kReadBegins, Operand::kV);
  }
  // Groups of products end in order: `newer` ones may continue.
  void await_scores(int newer) {
    EXPECT_TRUE(scores_under_way);
    EXPECT_EQ(newer, output_under_way ? 1 : 0);
    scores_under_way = false;
    this->Add(Step::kReadEnds, Operand::kQ);
    this->Add(Step::kReadEnds, Operand::kK);
  }
  void start_scores(bool next) {
    useless_under_way = !next;  // whatever they read
    if (!next) return;
    sync(Operand::kQ);
    sync(Operand::kK);
    qk();
  }
  void await_output(int newer) {
    EXPECT_TRUE(output_under_way);
    EXPECT_EQ(newer, scores_under_way || useless_under_way ? 1 : 0) << "scores would be waited for";
    output_under_way = false;
    this->Add(Step::kReadEnds, Operand::kV);
  }
  bool has_rows() const { return warpgroup < strips; }
  void softmax(int) { EXPECT_FALSE(scores_under_way); }
  void rescale() { EXPECT_FALSE(output_under_way); }
  void convert() {
    EXPECT_FALSE(scores_under_way);
    EXPECT_FALSE(output_under_way) << "PV reads the registers that convert() writes";
  }
};

/// An mbarrier: a phase ends when all arrivals and copies of it have come.
struct Barrier {
  int arrivals = 1;  // a phase needs
  int pending = 1;
  int copies = 0;
  int phase = 0;

  bool Passes(std::uint32_t parity) const { return static_cast<std::uint32_t>(phase % 2) != parity; }
  void Arrive() {
    --pending;
    EndPhase();
  }
  void EndPhase() {
    if (pending > 0 || copies > 0) return;
    ++phase;
    pending = arrivals;
  }
};

/// A named barrier of the warps of two warpgroups.
struct NamedBarrier {
  int arrived = 0;
  int generation = 0;

  void Arrive() {
    if (++arrived < 2 * kWarps) return;
    arrived = 0;
    ++generation;
  }
};

using Place = std::pair<Operand, int>;  // operand, stage

/// A stage of shared memory.
struct Stage {
  int tile = -1;     // that is there
  int copy_of = -1;  // that is on its way; -1: none
  int readers = 0;
};

class Model {
 public:
  Model(std::vector<Program> programs, int consumer_warps, unsigned seed)
      : programs_(std::move(programs)),
        at_(programs_.size(), 0),
        waits_for_(programs_.size(), -1),
        consumer_warps_(consumer_warps),
        random_(seed) {}

  /// "" when all warps end and no tile is overwritten, missing or another one than was meant.
  std::string Run() {
    while (error_.empty()) {
      std::vector<std::size_t> ready;
      bool all_ended = true;
      for (std::size_t warp = 0; warp < programs_.size(); ++warp) {
        if (at_[warp] == programs_[warp].size()) continue;
        all_ended = false;
        if (IsReady(warp)) ready.push_back(warp);
      }
      // Choices after those of warps: the copies under way, which end in any order.
      const std::size_t choices = ready.size() + copies_.size();
      if (choices == 0) return all_ended ? "" : "deadlock";
      const std::size_t choice = std::uniform_int_distribution<std::size_t>(0, choices - 1)(random_);
      if (choice < ready.size()) {
        Execute(ready[choice]);
      } else {
        EndCopy(choice - ready.size());
      }
    }
    return error_;
  }

  int LeftAtNamedBarriers() const {
    int left = 0;
    for (const auto& [id, barrier] : named_) left += barrier.arrived;
    return left;
  }

 private:
  Barrier& Full(const Place& place) { return full_[place]; }
  Barrier& Empty(const Place& place) {
    return empty_.try_emplace(place, Barrier{consumer_warps_, consumer_warps_, 0, 0}).first->second;
  }

  bool IsReady(std::size_t warp) {
    const Step& step = programs_[warp][at_[warp]];
    const Place place{step.operand, step.stage};
    if (step.kind == Step::kWaitFull) return Full(place).Passes(step.parity);
    if (step.kind == Step::kWaitEmpty) return Empty(place).Passes(step.parity);
    if (step.kind == Step::kSync && waits_for_[warp] >= 0) return named_[step.barrier].generation > waits_for_[warp];
    return true;
  }

  void Execute(std::size_t warp) {
    const Step& step = programs_[warp][at_[warp]];
    const Place place{step.operand, step.stage};
    Stage& stage = stages_[place];
    if (step.kind == Step::kSync && waits_for_[warp] < 0) {  // arrives; continues once the others have
      waits_for_[warp] = named_[step.barrier].generation;
      named_[step.barrier].Arrive();
      return;
    }
    waits_for_[warp] = -1;
    ++at_[warp];
    if (step.kind == Step::kArrive) named_[step.barrier].Arrive();
    if (step.kind == Step::kRelease) Empty(place).Arrive();
    if (step.kind == Step::kReadEnds) --stage.readers;
    if (step.kind == Step::kReadBegins) {
      ++stage.readers;
      if (stage.tile != step.tile || stage.copy_of >= 0) error_ = "a warp reads another tile than it means";
    }
    if (step.kind == Step::kLoad) {
      if (stage.readers > 0 || stage.copy_of >= 0) error_ = "a tile is overwritten while it is in use";
      stage.copy_of = step.tile;
      ++Full(place).copies;
      Full(place).Arrive();
      copies_.push_back(place);
    }
  }

  void EndCopy(std::size_t index) {
    const Place place = copies_[index];
    copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(index));
    Stage& stage = stages_[place];
    if (stage.readers > 0) error_ = "a tile is overwritten while it is read";
    stage.tile = stage.copy_of;
    stage.copy_of = -1;
    --Full(place).copies;
    Full(place).EndPhase();
  }

  std::vector<Program> programs_;
  std::vector<std::size_t> at_;
  std::vector<int> waits_for_;  // the generation of the named barrier at which a warp has arrived; -1: at none
  int consumer_warps_;
  std::mt19937 random_;
  std::map<Place, Barrier> full_, empty_;
  std::map<Place, Stage> stages_;
  std::map<int, NamedBarrier> named_;
  std::vector<Place> copies_;
  std::string error_;
};

struct Case {
  int warpgroups;
  bool ping_pong;
  std::vector<int> tiles;  // for each item
  int last_strips = 3;     // for the last item: warpgroups with rows
  bool continued = false;
};

/// The producer's program, followed by those of the consumers' warps.
template <int kStages, bool kOverlap>
std::vector<Program> Record(const Case& c) {
  RecordingProducer<kStages> producer;
  for (const int tiles : c.tiles) hopper::LoadItem(producer, tiles);
  std::vector<Program> programs{producer.program};
  for (int warpgroup = 0; warpgroup < c.warpgroups; ++warpgroup) {
    RecordingConsumer<kStages> consumer;
    consumer.warpgroup = warpgroup;
    consumer.warpgroups = c.warpgroups;
    consumer.ping_pong = c.ping_pong;
    if (c.ping_pong && warpgroup == c.warpgroups - 1) {
      consumer.program.push_back({.kind = Step::kArrive, .barrier = hopper::TurnOf(0)});
    }
    for (std::size_t item = 0; item < c.tiles.size(); ++item) {
      consumer.last_item = item + 1 == c.tiles.size();
      consumer.strips = consumer.last_item ? c.last_strips : 3;
      const bool continued = c.continued && item + 1 < c.tiles.size();
      if (!consumer.has_rows()) {
        hopper::PassItem(consumer, c.tiles[item]);
      } else if (c.continued) {
        if (item == 0) consumer.start_scores(true);
        hopper::ConsumeContinued(consumer, c.tiles[item],
                                 continued && (item + 2 < c.tiles.size() || warpgroup < c.last_strips));
      } else {
        hopper::ConsumeItem<kOverlap>(consumer, c.tiles[item]);
      }
    }
    for (int warp = 0; warp < kWarps; ++warp) programs.push_back(consumer.program);
  }
  return programs;
}

template <int kStages, bool kOverlap>
void ExpectSafe(const Case& c, unsigned draws) {
  const std::vector<Program> programs = Record<kStages, kOverlap>(c);
  for (unsigned seed = 0; seed < draws; ++seed) {
    Model model(programs, c.warpgroups * kWarps, seed);
    ASSERT_EQ(model.Run(), "") << kStages << " stages, " << c.warpgroups << " warpgroups, " << c.tiles.front()
                               << " tiles, draw " << seed;
    EXPECT_EQ(model.LeftAtNamedBarriers(), 0);
  }
}

template <int kStages>
void ExpectSafeWithStages() {
  for (const int warpgroups : {2, 3}) {
    for (const bool ping_pong : {false, true}) {
      for (int tiles = 0; tiles <= 9; ++tiles) {
        // An item without tiles takes no turns, so ping-pong is only tried with tiles.
        if (tiles == 0 && ping_pong) continue;
        const Case c{warpgroups, ping_pong, {tiles, tiles == 0 ? 0 : 3, tiles}, 1 + tiles % 3};
        ExpectSafe<kStages, false>(c, 2);
        ExpectSafe<kStages, true>(c, 2);
        if (tiles == 0 || ping_pong) continue;
        ExpectSafe<kStages, true>({warpgroups, false, c.tiles, c.last_strips, true}, 2);
      }
    }
  }
}

TEST(HopperScheduleTest, NoDeadlockAndNoEarlyOverwriteWithOneStage) { ExpectSafeWithStages<1>(); }
TEST(HopperScheduleTest, NoDeadlockAndNoEarlyOverwriteWithTwoStages) { ExpectSafeWithStages<2>(); }
TEST(HopperScheduleTest, NoDeadlockAndNoEarlyOverwriteWithThreeStages) { ExpectSafeWithStages<3>(); }
TEST(HopperScheduleTest, NoDeadlockAndNoEarlyOverwriteWithFourStages) { ExpectSafeWithStages<4>(); }

// The model finds what it is there to find.
std::string FirstFault(const std::vector<Program>& programs) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Model model(programs, 2 * kWarps, seed);
    if (std::string fault = model.Run(); !fault.empty()) return fault;
  }
  return "";
}

TEST(HopperScheduleTest, AReleaseBeforeTheProductsEndIsFound) {
  std::vector<Program> programs = Record<1, true>({2, false, {6}});
  for (Program& program : programs) {
    for (std::size_t i = 1; i < program.size(); ++i) {
      const bool of_k = program[i].operand == Operand::kK;
      if (of_k && program[i].kind == Step::kRelease) std::swap(program[i], program[i - 1]);
    }
  }
  EXPECT_NE(FirstFault(programs), "");
}

TEST(HopperScheduleTest, AForgottenReleaseIsADeadlock) {
  std::vector<Program> programs = Record<2, true>({2, false, {6}});
  std::erase_if(programs.back(), [](const Step& step) { return step.kind == Step::kRelease && step.tile == 1; });
  EXPECT_EQ(FirstFault(programs), "deadlock");
}

TEST(HopperScheduleTest, AWrongParityIsFound) {
  std::vector<Program> programs = Record<2, true>({2, false, {6}});
  for (Step& step : programs.front()) {
    if (step.kind == Step::kWaitEmpty) step.parity ^= 1U;
  }
  EXPECT_NE(FirstFault(programs), "");
}

TEST(HopperScheduleTest, ATurnThatIsNotPassedIsADeadlock) {
  std::vector<Program> programs = Record<2, true>({2, true, {6}});
  for (std::size_t warp = 1; warp <= kWarps; ++warp) {
    std::erase_if(programs[warp], [](const Step& step) { return step.kind == Step::kArrive; });
  }
  EXPECT_EQ(FirstFault(programs), "deadlock");
}

}  // namespace
}  // namespace fa_profile::hopper_schedule_test
