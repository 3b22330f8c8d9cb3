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

/// The piece of a case, or of one part of it; null where the recording has none.
template <typename Piece>
const Piece* FindPiece(const std::vector<Piece>& pieces, std::int64_t case_id, const std::string& part) {
  const auto found =
      std::ranges::find_if(pieces, [&](const Piece& piece) { return piece.case_id == case_id && piece.part == part; });
  return found == pieces.end() ? nullptr : &*found;
}

/// What the recording measured inside the kernels of an entry. Nothing is owned.
struct Measured {
  const PcSampling* sampling = nullptr;
  const SassCounting* counting = nullptr;
  bool own = true;  ///< of these kernels alone; false: of the whole call that they are a part of
};

Measured FindMeasured(const Recording& recording, const ProfileEntry& entry);

/// The parts of a case that launch a kernel, in launch order.
class CallParts {
 public:
  CallParts(const Recording& recording, std::int64_t case_id);

  bool several() const { return parts_.size() > 1; }
  /// The parts that launch this function.
  std::vector<std::string> Of(const DeviceFunction& function) const;
  /// Their names, joined: "qk + pv"; kUnattributed where there are none.
  std::string NameOf(const DeviceFunction& function) const;
  /// The functions of one part of the call; nothing when another part runs one of them too, because their samples
  /// cannot be told apart.
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
  std::optional<PcSampling> samples;             ///< without the branch skid where counts allow; absent: not sampled
};

/// Reads of `entry`: case_id, part. Pointers are into the recording.
MeasuredCode FindMeasuredCode(const Recording& recording, const ProfileEntry& entry);

/// Why a call without measured functions has none, in words.
std::string WhyNoCode(const Recording& recording);

}  // namespace fa_profile::analyze
