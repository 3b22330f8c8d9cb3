#pragma once

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "fa_profile/judge.h"
#include "library_process.h"
#include "tensor_sets.h"
#include "weigh_time.h"
#include "witness.h"
#include "worker_calls.h"

namespace fa_profile::judge {

/// One trial of a kernel: rounds of fresh inputs. In each the worker computes calls alone and then bursts of calls, all
/// on the judge's tensors; the judge reads the results, and only then asks the referee what they must be.
class Trial {
 public:
  Trial(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress);
  Answer Run();

 private:
  /// The compared tensors of each set.
  using Results = std::vector<std::vector<DeviceMemory>>;
  /// The sets of a round, in the order and the two parts in which they are called.
  using Parts = std::array<std::vector<std::size_t>, 2>;

  void StartProcesses();
  void OpenWitness();
  bool Load();
  void Fail(const ProcessFailed& error);
  bool DrawsMostlyFp32() const;
  void MakeSets(std::size_t workspace_bytes);
  void Calls();
  void AddOutputs(const nlohmann::json& loaded, const Tolerance& tolerance);
  std::vector<std::size_t> ArrayCounts() const;
  nlohmann::json ReferenceTask(std::size_t set, int bits) const;
  void Round(int round);
  Results KeepResults() const;
  void NoteDifference(std::size_t set);
  Parts RunAlone();
  void RunAgain(const Parts& parts);
  void RunBursts();
  void RunApart();
  void RunOverwritten();
  void Expect(std::size_t set);
  bool Matches(std::size_t set, const std::vector<const DeviceMemory*>& results, const std::string& when);
  std::vector<const DeviceMemory*> Present(std::size_t set) const;
  void FindWeak();
  void FindCoarse(std::size_t set, const std::vector<DeviceMemory>& results);
  void Soak();
  void CompareSoaked();
  void Refuse(const std::string& reason);
  void WeighTime();
  std::string Elsewhere();
  bool StillBusy();
  void CompareDraws();
  void Conclude();

  const Question& question_;
  collect::GpuApi& gpu_;
  std::function<void(int, int)> progress_;
  std::mt19937_64 random_;
  SharedArrays shared_;
  std::optional<LibraryProcess> referee_;
  LibraryStatement statement_;
  nlohmann::json values_;
  std::optional<LibraryProcess> worker_;
  std::optional<TensorSets> sets_;
  std::optional<Witness> witness_;
  std::optional<WorkerCalls> calls_;
  std::vector<double> tolerance_parts_;               // fraction of each tensor's tolerance that is applied
  std::vector<std::size_t> compared_;                 // tensors that are compared
  nlohmann::json outputs_ = nlohmann::json::array();  // for a Python kernel, as the worker described them
  bool mostly_fp32_ = false;                          // it computes mostly with it
  Results expected_;                                  // float64
  Results alone_;                                     // from calls alone, in the last round
  std::vector<std::uint64_t> result_hashes_;          // those of alone_
  TimeEvidence evidence_;
  bool alone_on_gpu_ = true;
  std::string why_no_witness_ = "it was not timed";
  std::vector<std::uint64_t> drawn_;            // hashes of the inputs of all rounds
  std::vector<std::uint64_t> expected_hashes_;  // over all compared tensors in a draw
  std::string refused_;
  Answer answer_;
};

}  // namespace fa_profile::judge
