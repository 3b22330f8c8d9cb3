#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/profile.h"

namespace fa_profile {

/// One metric of one entry, or of one of its phases, on both sides.
struct MetricChange {
  std::string kernel;
  std::string part;
  std::string shape;   ///< Shape::ToString(), or empty
  std::string phase;   ///< empty: the whole entry
  std::string metric;  ///< catalogue id; from the phase catalogue if there is a phase
  std::optional<double> before;
  std::optional<double> after;
  std::optional<double> ratio;  ///< after / before - 1; absent when before is 0 or either side is absent
  /// "better", "worse", "same", "changed" (no polarity), "new", "gone"; "not counted": by the side that lacks it; "not
  /// comparable": the values differ, and so do the circumstances (ProfileDiff::incomparable).
  std::string judgement;
  std::optional<std::size_t> entry;  ///< index of its entries in ProfileDiff::entries; absent: for the whole program
};

/// A place where warps wait for asynchronous work (AsyncWait).
struct WaitSide {
  std::string place;
  double waits = 0.0;              ///< by warps, in one call
  double waited_cycles = 0.0;      ///< mean of one wait
  double warps_ratio = 0.0;        ///< all these waits, relative to the time of all warps
  std::vector<PhasePlace> copies;  ///< as in AsyncWait
};

/// The same place on both sides.
struct WaitChange {
  std::size_t entry = 0;  ///< index in ProfileDiff::entries
  std::string kernel;
  std::string part;
  std::string shape;
  std::string phase;
  std::string kind;  ///< AsyncWait::kind
  std::optional<WaitSide> before;
  std::optional<WaitSide> after;
  double cost_ratio = 0.0;  ///< cycles waited after minus those before, relative to the cycles of all warps before
  std::string judgement;    ///< "better", "worse", "new", "gone", "not comparable"; "same": cost_ratio is below 0.01
};

/// A finding that only one side has: the same rule finds nothing in this phase on the other.
struct FindingChange {
  std::size_t entry = 0;  ///< index in ProfileDiff::entries
  std::string kernel;
  std::string part;
  std::string shape;
  Finding finding;
  std::string judgement;  ///< "new", "gone"
};

/// Indices of one entry in both profiles.
struct EntryPair {
  std::size_t before = 0;
  std::size_t after = 0;
};

/// What changed between two profiles, entry by entry (matched by kernel, part and shape).
struct ProfileDiff {
  std::vector<std::string> incomparable;  ///< reasons: other GPU, driver, clock policy, metric set
  std::vector<std::string> notes;         ///< what the judgements allow for: two cards of one model
  std::vector<std::string> not_compared;  ///< parts of entries, and why: phases of two models
  std::vector<EntryPair> entries;         ///< entries that are compared, in the order of `before`
  std::vector<MetricChange> changes;      ///< largest relative change first within an entry; then those of its phases
  std::vector<WaitChange> waits;          ///< from both sides' PC samples; largest change first within an entry
  std::vector<FindingChange> findings;    ///< new ones first within an entry, if both sides were measured alike
  std::vector<std::string> only_before;   ///< entries without a partner
  std::vector<std::string> only_after;
};

}  // namespace fa_profile
