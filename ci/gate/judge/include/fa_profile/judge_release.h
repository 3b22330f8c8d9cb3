#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/gate.h"
#include "fa_profile/release.h"
#include "fa_profile/thresholds.h"

namespace fa_profile::gate {

/// A property of a kernel's code that changed, or that a rule forbids.
struct ReleaseChange {
  std::string metric{};  ///< as rules name it: "loop_local_accesses"
  std::string label{};
  std::string unit{};
  std::optional<double> before{};  ///< absent: unknown, or a new kernel
  std::optional<double> after{};
  Verdict verdict = Verdict::kPass;  ///< PASS: changed, and worse by no limit
  bool blocking = false;             ///< counts for the verdict; false: a warning or a note
  std::string rule{};                ///< "limits.yaml:12", or empty: the default
};

/// A kernel for one architecture whose code is not the same in both releases.
struct ReleaseRow {
  enum class Kind { kChanged, kNew, kLost };
  Kind kind = Kind::kChanged;
  std::optional<ReleaseCode> before{};  ///< absent: kNew, or PTX
  std::optional<ReleaseCode> after{};   ///< absent: kLost, or PTX
  std::string kernel{};
  std::string architecture{};
  std::string file{};
  Verdict verdict = Verdict::kPass;
  bool is_allowed = false;               ///< lost, as was allowed
  std::vector<ReleaseChange> changes{};  ///< blocking ones first
};

/// The kernels for one architecture.
struct ReleaseArchitecture {
  std::string name{};  ///< "sm_90a"; "PTX compute_90", "LTO-IR compute_90": what a driver or linker compiles
  int before = 0;
  int after = 0;
  int same = 0;
  int changed = 0;
  int worse = 0;     ///< of the changed: REGRESSION
  int improved = 0;  ///< of the changed: IMPROVED
  int added = 0;
  int lost = 0;
  std::int64_t bytes_before = 0;  ///< of code
  std::int64_t bytes_after = 0;
  Verdict verdict = Verdict::kPass;
  bool is_allowed = false;  ///< all of it is lost, as was allowed
};

struct ReleaseSide {
  std::string origin{};
  std::int64_t package_bytes = 0;
  std::int64_t code_bytes = 0;
  int files = 0;
  int kernels = 0;  ///< in machine code, for each architecture and in each file
  int names = 0;    ///< those with different names
};

struct ReleaseResult {
  Verdict verdict = Verdict::kPass;
  std::string headline;  ///< after the verdict: "3 of 120 changed kernels are worse; sm_70 is gone"
  ReleaseSide before, after;
  std::vector<ReleaseArchitecture> architectures;
  std::vector<ReleaseRow> rows;      ///< worst first
  std::vector<std::string> unknown;  ///< why it cannot be PASS, one line each
  std::vector<std::string> notes;
};

struct ReleaseLimits {
  Thresholds thresholds;
  std::function<bool(const std::string& name)> may_be_lost{};  ///< a kernel or an architecture; absent: none
  std::string today;                                           ///< UTC date, by which exceptions expire
  bool partial = false;                                        ///< only some kernels were read: rules may match none
};

/// Compares two releases kernel by kernel and architecture by architecture. A kernel is paired with the one of the same
/// name; in the same file, or with equal code, before others. If names do not match, function and template arguments
/// have to, and have to be unique. Equal code is the same.
///
/// REGRESSION, unless a rule says otherwise: loads or stores of local memory in loops grow, or appear anywhere; a stack
/// frame appears; the theoretical occupancy falls (SUSPECT: for fewer
/// accesses of local memory in loops); matrix instructions are gone; code is built with -G; a kernel or an
/// architecture is lost. SUSPECT: much more instructions or registers (Thresholds::code_*). INCONCLUSIVE: code was not
/// read, or its properties are not known. Pure. Throws Error like RequireRulesMatch().
ReleaseResult JudgeRelease(const Release& before, const Release& after, const ReleaseLimits& limits);

/// As for GateResult.
int ExitCode(const ReleaseResult& result, bool strict);

}  // namespace fa_profile::gate
