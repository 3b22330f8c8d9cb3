#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "fa_profile/judge.h"
#include "library_process.h"
#include "tensor_sets.h"
#include "witness.h"

namespace fa_profile::judge {

/// Of the SM cycles. Fewer cycles of tensor pipes are noise: kernels without matrix products have some.
inline constexpr double kTensorPart = 0.02;

/// Of the instructions of a call: as much as they may differ from round to round and still explain a difference.
inline constexpr double kMostSpread = 0.1;

/// One trial of a kernel: rounds of fresh inputs. In each the worker computes calls alone and then bursts of calls, all
/// on the judge's tensors; the judge reads the results, and only then asks the referee what they must be.
class Trial {
 public:
  Trial(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress);
  Answer Run();

 private:
  /// Counters per call, and how the timed ones differ.
  struct Counted {
    double calls = 0;
    Watched sum;
    double lowest_instructions = 0;  ///< of a call, over the rounds
    double highest_instructions = 0;
  };

  void StartProcesses();
  void OpenWitness();
  bool Load();
  void Fail(const ProcessFailed& error);
  void MakeSets(std::size_t workspace_bytes);
  void Calls();
  void AddOutputs(const nlohmann::json& loaded, const Tolerance& tolerance);
  nlohmann::json MakeGraphs(int chain);
  std::vector<std::size_t> ArrayCounts() const;
  nlohmann::json ReferenceTask(std::size_t set, int bits) const;
  void Warm();
  void PlanBursts();
  void PlanCalls();
  void Round(int round);
  void KeepResults(std::size_t set, std::vector<std::vector<DeviceMemory>>& kept) const;
  Watched RunWatched(const std::vector<std::size_t>& order, int chain, bool deliver = false);
  void Run(const std::vector<std::size_t>& order, int chain);
  void RunUnwatched(const std::vector<std::size_t>& order, int chain);
  void AskOutputs(int chain);
  void RunAlone();
  void RunBursts();
  void RunApart();
  void RunOverwritten();
  std::vector<std::size_t> Shuffled(std::size_t times);
  void Add(Counted& counted, const Watched& seen, double calls);
  void Expect(std::size_t set);
  bool Matches(std::size_t set, const std::vector<const DeviceMemory*>& results, const std::string& when);
  std::vector<const DeviceMemory*> Present(std::size_t set) const;
  void FindWeak();
  void FindCoarse(std::size_t set, const std::vector<DeviceMemory>& results);
  void Soak();
  void CompareSoaked();
  void Refuse(const std::string& reason);
  void WeighTime();
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
  std::vector<double> tolerance_parts_;               // of each tensor's tolerance that is applied
  std::vector<std::size_t> compared_;                 // which tensors are
  nlohmann::json outputs_ = nlohmann::json::array();  // of a kernel in Python, as the worker described them
  bool all_fp32_ = false;
  std::vector<std::vector<DeviceMemory>> expected_;  // of a set's compared tensors: float64
  std::vector<std::uint64_t> result_hashes_;         // of the last round, of a call alone
  int single_ = 1;                                   // `chain` of a call alone: 0 where the launch cannot be captured
  int chain_ = 1;
  double wall_ns_ = 0.0;  // of the last calls that were watched, from the question to the worker's answer
  double least_idle_ns_ = std::numeric_limits<double>::infinity();  // of the timed bursts: wall_ns_ less the busy time
  int last_chain_ = 0;                                              // of the last calls
  std::size_t repeats_ = 1;
  std::size_t apart_calls_ = 0;  // how many RunApart() makes
  Counted alone_;
  Counted timed_;
  bool alone_on_gpu_ = true;
  std::string why_no_witness_ = "it was not timed";
  double apart_ns_ = 0.0;                       // of a call in a separate graph: no other can overlap it
  double apart_instructions_ = 0.0;             // of such a call
  std::vector<std::uint64_t> drawn_;            // hashes of the inputs of all rounds
  std::vector<std::uint64_t> expected_hashes_;  // of all compared tensors of a draw
  std::string refused_;
  Answer answer_;
};

}  // namespace fa_profile::judge
