#pragma once

#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// Version of trial data as JSON (docs/gate-reference.md). A reader takes its own version and older ones.
inline constexpr int kTrialDataVersion = 2;

/// A kernel made slower on purpose, and what the gate has to find.
struct MutantFacts {
  std::string kernel;         ///< its id in the evidence: "mma_softmax_5"
  std::string base;           ///< the kernel it was made from, in the same evidence
  std::string phase;          ///< the phase made slower, which the gate has to name; empty: none
  bool faster_tiers = false;  ///< tiers 0 and 1 must also find it
};

/// Recorded processes of equal code and of mutants, in the order in which they ran (docs/gate-reference.md).
struct TrialData {
  std::string name;                      ///< name of its file; not in the JSON
  Evidence same_code;                    ///< timing processes, and recording processes with phases
  std::vector<Evidence> more_same_code;  ///< timing processes on other GPUs, for runs that share no process
  Evidence mutants;                      ///< timing and recording processes of the base kernels and the mutants
  std::vector<MutantFacts> facts;
};

/// Reads JSON in the format of docs/gate-reference.md. Hostile input: throws Error like EvidenceFromJson(), and for a
/// mutant that the evidence does not have.
TrialData TrialDataFromJson(const std::string& text, const std::string& name);

/// The same from a file.
TrialData ReadTrialData(const std::string& path);

}  // namespace fa_profile::gate
