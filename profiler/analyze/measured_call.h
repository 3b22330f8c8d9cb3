#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The piece for a case, or for one part of it; null if the recording has none.
template <typename Piece>
const Piece* FindPiece(const std::vector<Piece>& pieces, std::int64_t case_id, const std::string& part) {
  const auto found =
      std::ranges::find_if(pieces, [&](const Piece& piece) { return piece.case_id == case_id && piece.part == part; });
  return found == pieces.end() ? nullptr : &*found;
}

/// Measurements inside an entry's kernels. Nothing is owned.
struct Measured {
  const PcSampling* sampling = nullptr;
  const SassCounting* counting = nullptr;
  bool own = true;  ///< only of these kernels; false: of the whole call that they belong to
};

Measured FindMeasured(const Recording& recording, const ProfileEntry& entry);

/// The parts of a case that launch a kernel, in launch order.
class CallParts {
 public:
  CallParts(const Recording& recording, std::int64_t case_id);

  bool several() const { return parts_.size() > 1; }
  /// The parts that launch this function.
  std::vector<std::string> Of(const DeviceFunction& function) const;
  /// Their names, joined: "qk + pv"; kUnattributed if there are none.
  std::string NameOf(const DeviceFunction& function) const;
  /// The functions of one part of the call; nothing if another part also runs one of them, because their samples cannot
  /// be separated.
  std::optional<std::vector<const DeviceFunction*>> OnlyOf(const std::vector<const DeviceFunction*>& functions,
                                                           const std::string& part) const;

 private:
  std::vector<std::string> parts_;
  std::map<std::string, std::vector<std::string>> by_kernel_;
};

/// An entry's measured code, for views of its instructions.
struct MeasuredCode {
  Measured measured;
  CallParts parts;
  std::vector<const DeviceFunction*> functions;  ///< in the recording's order
  std::optional<PcSampling> samples;             ///< without the branch skid if counts allow; absent: not sampled
};

/// Fields read from `entry`: case_id, part. Pointers into the recording.
MeasuredCode FindMeasuredCode(const Recording& recording, const ProfileEntry& entry);

/// Why a call without measured functions has none, in words.
std::string WhyNoCode(const Recording& recording);

}  // namespace fa_profile::analyze
