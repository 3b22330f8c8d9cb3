#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/counter_session.h"
#include "fa_profile/instruction_round.h"
#include "fa_profile/measured_program.h"
#include "fa_profile/spread_session.h"

namespace fa_profile::collect {

/// Measures the counters of up to 24 launch classes at a time: first those that say what limits them, then, of large
/// classes, all. Our own thread chooses them, the threads that launch
/// take the passes, our own thread writes. All calls under the gate's lock, but for Write().
///
///     kIdle ── Choose() ──> kChosen ── Begin(): GPU idle ──> kTaking ── Tick(): 10 without a range ──> kExpired
///       ^                      │                                │                                         │
///       ├─ Tick(): 10 without ─┘         all passes are taken   │      Begin(): any launch, GPU idle      │
///       └─ image to Write(), classes to InstructionRound::Ask() ┴─────────────────────────────────────────┘
///
/// Abandon() leads from everywhere to kOver: nothing is measured any more.
///
/// One launch, from Begin() to End():
///
///     kNone ─┬─ a chosen class of unknown end ──> kProbe ──> the class ends alone, or waits for others
///            ├─ a class that this pass lacks  ──> kRange ──> the range is closed; it may end the pass and the round
///            └─ Replay::kKernel, a new class  ──> kReplay ─> image to Write()
class CounterRound {
 public:
  CounterRound(MeasuredProgram& program, InstructionRound& instructions)
      : program_(program), instructions_(instructions) {}

  // On our own thread.
  /// Choose() may find classes.
  bool MayChoose() const { return program_.plan.replay == Replay::kUser && round_ == Round::kIdle; }
  /// Picks candidates that were not measured yet, those with the largest share first: the large ones, and when none is
  /// left, small ones until those before them make 95 % of the time.
  void Choose(std::span<const LaunchCandidate> candidates);
  /// Ten times a second.
  void Tick();
  /// Which metrics of the plan: a class gets the first ones, which few launches have, before it gets all.
  enum Depth { kFirst, kAll };
  /// The contents of one measured image.
  struct Measured {
    CounterData data;
    std::vector<std::string> keys;   ///< in range order
    std::vector<std::string> names;  ///< names of the ranges; empty: CUPTI named them
    std::vector<int> passes;         ///< passes taken of each; empty: all; 0: its range is not written
    std::optional<Launch> launch{};  ///< the launch that CUPTI replayed
    Depth depth = kAll;
  };
  /// The next image to write; none: nothing is left, or the first record of its class may still come. `at_end`: nothing
  /// more will come.
  std::optional<Measured> TakeMeasured(bool at_end);
  /// Called without the lock. Missing passes become losses. Throws Error.
  std::vector<DataLoss> Write(Measured measured);

  /// Each launch must be checked.
  bool waits() const;
  /// The class's next launch may be measured at this place in the program: a class is measured at one place, alone or
  /// in one node of a graph, because another node may give the same kernel other work.
  bool IsPlace(const LaunchCall& call, const std::string& key) const;
  /// Begin() may act on this node of a graph.
  bool MayTake(const LaunchCall& node, const std::string& key);
  /// Before a launch, on its thread. If not kNone, End() must follow. `selected`: the user wants this one. Throws
  /// Error.
  LaunchUse Begin(const LaunchCall& call, const std::string& key, bool selected);
  /// After the launch. Throws Error: CUPTI failed, or the device reports an error.
  void End();

  /// A range profiler is open: closing it makes CUPTI wait for the GPU.
  bool open() const { return profiler_ != nullptr; }
  /// Passes are being taken.
  bool taking() const { return passes_.has_value(); }
  /// CUPTI's plan exists: from here on, checking launches takes time.
  bool planned() const { return sessions_[kFirst] || sessions_[kAll]; }
  /// Ends the current pass and keeps what it collected. With the GPU idle, between two launches. A failure is a loss.
  void CutShort();
  /// Closes everything that is open, for good. What was measured before may be written.
  void Abandon();
  /// The chosen classes count as not measured.
  void ForgetChosen();

  /// At the end of the program, for classes that were never measured.
  std::vector<DataLoss> Losses(std::span<const LaunchCandidate> candidates);
  std::int64_t ranges() const { return ranges_; }
  std::int64_t replayed_launches() const { return replayed_launches_; }

 private:
  enum class Round { kIdle, kChosen, kTaking, kExpired, kOver };
  enum class Step { kNone, kProbe, kRange, kReplay };
  struct UnderWay {
    Step step = Step::kNone;
    std::string key{};
    Launch launch{};  // for kReplay
  };
  // Where in the program a launch is: a node of a graph, or on its own.
  struct Place {
    std::uint32_t graph = 0;
    int node = 0;
    bool operator==(const Place&) const = default;
  };
  enum Size { kLarge, kSmall };  // kSmall: below the plan's least share; no instructions are counted
  // What is known so far about a launch class.
  struct Class {
    enum class Turn { kOpen, kTaken } turn = Turn::kOpen;                // kTaken: it is measured, or was
    enum class Ends { kUnknown, kAlone, kWaits } ends = Ends::kUnknown;  // kWaits: for another launch
    Size size = kLarge;
    double mean_ns = 0.0;           // of one launch; 0: unknown
    std::optional<Place> place{};   // where it is measured
    std::optional<Place> probed{};  // where `ends` was determined
    bool has_first = false;         // the plan's first metrics
    int left_early = 0;             // rounds that ended with few of its passes
  };

  bool Wants(const std::string& key);
  Depth DepthOf(const std::string& key) const;
  void Promote(const std::string& key);
  void Reopen(Class& left);
  LaunchUse BeginProbe(const LaunchCall& call, const std::string& key);
  LaunchUse BeginPass(const LaunchCall& call, const std::string& key, bool may_be_measured);
  LaunchUse BeginReplay(const LaunchCall& call, const std::string& key);
  std::optional<std::size_t> Chosen(const std::string& key) const;
  bool OpenProfiler();
  bool OpenPasses();
  void EndProbe(const std::string& key);
  void EndRange();
  void EndRound();
  void TakeImage();
  static bool HasPasses(const Measured& measured);
  // False: partial_ has more passes of the class. Otherwise those are dropped.
  bool IsBest(const std::string& key, Depth depth, int passes);
  // How much of all that is wanted these passes have.
  double ShareOf(Depth depth, int passes) const;
  bool IsMeasuredAgain(Class& measured, int passes);
  void KeepPartial();

  MeasuredProgram& program_;
  InstructionRound& instructions_;
  Round round_ = Round::kIdle;
  UnderWay under_way_;
  std::map<std::string, Class> classes_;                   // by key
  std::array<int, 2> taken_{};                             // classes by size: chosen now, or measured
  std::vector<std::string> chosen_;                        // keys of this round, in the order of its ranges
  int ticks_ = 0;                                          // since the last range
  Depth depth_ = kAll;                                     // of this round
  std::array<std::optional<CounterSession>, 2> sessions_;  // by depth
  std::unique_ptr<RangeProfiler> profiler_;
  std::optional<SpreadSession> passes_;
  std::deque<Measured> measured_;
  std::deque<Measured> partial_;  // of classes that may be measured again; written at the end if not
  std::int64_t ranges_ = 0;
  std::int64_t replayed_launches_ = 0;
};

}  // namespace fa_profile::collect
