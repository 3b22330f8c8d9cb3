#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/code_listing.h"
#include "fa_profile/gpu_time.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Splits `whole` by ratios, which are not negative and add up to at most 1. Pieces are rounded so that the sums of the
/// first, the first two, ... are off by less than 1.
std::vector<std::int64_t> Portions(std::int64_t whole, const std::vector<double>& ratios);

/// More than any time here, and small enough that sums of a few do not overflow.
inline constexpr std::int64_t kMostWholeNs = std::int64_t{1} << 61;

/// A time from a recording, which may be any number: 0 to kMostWholeNs, rounded.
std::int64_t WholeNs(double ns);
std::int64_t WholeNs(std::int64_t ns);
/// From `start` to `end`; 0 if it ends first.
std::int64_t WholeNs(std::int64_t start_ns, std::int64_t end_ns);

/// A source line's share of a phase.
struct LineRatio {
  std::string name;  ///< "mma.cu:61"
  std::string file;  ///< its path
  int line = 0;
  double ratio = 0.0;
};

/// A phase's share of a kernel.
struct PhaseRatio {
  std::string name;
  double ratio = 0.0;
  double samples = 0.0;
  std::vector<LineRatio> lines;  ///< largest first; those below a thousandth of the kernel are left out
};

/// Shares of kernels' phases and lines, by entry. Names are short: a tree repeats them.
class CodeShares {
 public:
  CodeShares(const Recording& recording, const Profile& profile, const std::optional<PhaseMap>& map,
             PhaseSource source);

  /// For the kernels of a case, or for one part of it; for one function (demangled) if there are several. Empty if
  /// nothing was sampled. Most time first.
  std::vector<PhaseRatio> Of(std::int64_t case_id, const std::string& part, const std::string& function) const;

 private:
  struct Code {
    std::vector<InstructionListing> listings;
    std::map<std::string, double> times;  ///< times of phases, if the entry has one kernel
  };
  std::map<std::pair<std::int64_t, std::string>, Code> codes_;
};

/// Phases and, with `lines`, source lines of a kernel that took `ns`.
std::vector<GpuTimeNode> PhaseNodes(const std::vector<PhaseRatio>& phases, std::int64_t ns, bool lines);

}  // namespace fa_profile::analyze
