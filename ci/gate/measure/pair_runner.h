#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/gate_build.h"
#include "fa_profile/gate_pair.h"
#include "fa_profile/private_folder.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/timing_sample.h"

namespace fa_profile::gate {

/// A kernel, by the base's name, and a shape.
using CaseId = std::pair<std::string, std::string>;

/// While it exists, Ctrl-C, SIGTERM and SIGHUP end the running child, whose process group gets no signals from the
/// terminal, and then end the run with an Error. One at a time.
class SignalsEndChildren {
 public:
  SignalsEndChildren();
  ~SignalsEndChildren();
  SignalsEndChildren(const SignalsEndChildren&) = delete;
  SignalsEndChildren& operator=(const SignalsEndChildren&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Starts the processes of a run of pairs one after the other and collects their results.
class PairRunner {
 public:
  /// `options` must outlive this. Throws Error if a build cannot be measured.
  explicit PairRunner(const PairOptions& options);

  /// Records each case of each build once, before anything is timed.
  void FirstLook();
  /// Selects the cases to measure from now on; cases that fail are removed.
  void Want(std::set<CaseId> timed, std::set<CaseId> recorded);
  /// Sets how many processes remain, for the progress bar.
  void Expect(int timings, int recordings);
  void WarmUp();
  void Time(PairArm arm, int pair, int stage);
  void Record(PairArm arm, int pair, int stage);

  const PairRun& run() const { return run_; }
  PairRun& run() { return run_; }
  bool nothing_to_time() const { return timed_.empty(); }
  /// Ends a pair: notes a loss if another process uses the GPU.
  void NoteCompany(int pair);
  /// Also for a signal that arrived while no child was running.
  void ThrowIfInterrupted() const;

 private:
  using Command = std::function<std::vector<std::string>(const GateRequest&)>;
  using Check = std::function<std::string(const ChildEnd&)>;  // why it failed; empty: it succeeded

  const GateBuild& Build(PairArm arm) const { return arm == PairArm::kCandidate ? candidate_ : base_; }
  Evidence& EvidenceOf(PairArm arm);
  ChildEnd RunProcess(const std::vector<std::string>& command);
  GateRequest NewRequest() const;
  bool Start(PairArm arm, std::set<CaseId> cases, bool everything, const Command& command, const Check& check);
  void Blame(const std::set<CaseId>& cases, const std::vector<std::string>& command_line, const ChildEnd& end,
             const std::string& why, const Command& command, const Check& check);
  CaseFacts& Drop(PairArm arm, const CaseId& id);
  void Fail(PairArm arm, const CaseId& id, const std::string& why);
  std::optional<TimingSample> Sample(PairArm arm, std::uint64_t order);
  Evidence LoadPiece(PairArm arm, const std::string& path) const;
  void AddProcesses(PairArm arm, const Evidence& piece, int pair, int stage);
  void RequireSameGpu(PairArm arm, const std::string& uuid) const;
  bool HasCompany() const;
  void Show(const std::string& what);

  const PairOptions& options_;
  SignalsEndChildren signals_;
  GateBuild base_;
  GateBuild candidate_;
  PrivateFolder folder_;
  PairRun run_;
  std::set<CaseId> timed_;
  std::set<CaseId> recorded_;
  ProgressBar bar_;
  int files_ = 0;
  struct Kind {
    int done = 0;
    int left = 0;
    double seconds = 0.0;  // total of the finished ones
  };
  Kind timings_;
  Kind recordings_;
};

}  // namespace fa_profile::gate
