#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "library_process.h"
#include "tensor_sets.h"
#include "witness.h"

namespace fa_profile::judge {

/// The worker's calls on the judge's tensors: alone, in a chain (one CUDA graph with many calls), or in separate graphs
/// one after the other. Each leaves its results in TensorSets::result(). A witness, if there is one, watches until the
/// results are in the judge's memory; otherwise the counts are zero.
class WorkerCalls {
 public:
  /// All outlive this. The worker has loaded its kernel.
  WorkerCalls(bool in_python, collect::GpuApi& gpu, LibraryProcess& worker, TensorSets& sets,
              std::optional<Witness>& witness, std::mt19937_64& random);

  /// Maps the tensors, makes the first calls on the drawn inputs, which a library may use to set itself up, and creates
  /// the graphs, with as many calls as the witness times well. Throws ProcessFailed.
  void Prepare();

  bool can_capture() const { return single_ > 0; }  ///< a call into a CUDA graph
  int calls_a_graph() const { return chain_; }      ///< in bursts; 0: the launches cannot be captured
  bool has_chain() const { return chain_ != single_; }

  /// Every set this many times, in random order.
  std::vector<std::size_t> Shuffled(std::size_t times);

  struct Burst {
    Watched seen;
    double calls = 0;
    double idle_ns = 0;  ///< time from the question to the worker's answer, minus what the work may take
  };
  /// One call on each of these sets. The worker sees the inputs only while it is watched: nothing is computed before.
  Watched Alone(const std::vector<std::size_t>& sets);
  /// The same calls, on what is in the tensors.
  Watched Again(const std::vector<std::size_t>& sets);
  Burst Timed();
  /// Calls in separate graphs: one begins when the one before has ended.
  Burst Apart();
  /// A chain whose outputs were overwritten before its last call, which must write all of them; not in Python.
  void Overwritten();
  /// One call on each of these sets, not watched.
  void Unwatched(const std::vector<std::size_t>& sets);
  /// Reads the results of the last calls again.
  void FetchAgain() const { sets_.Fetch(last_chain_); }
  /// Reads what is where calls alone write their results, which in Python is memory of their own.
  void FetchAlone() const { sets_.Fetch(single_); }

 private:
  nlohmann::json MakeGraphs(int chain);
  void TakeOutputs(int chain, const nlohmann::json& outputs);
  void PlanChain(double run_ns);
  void PlanSingleCalls();
  Watched RunWatched(const std::vector<std::size_t>& order, int chain, bool deliver = false);
  void Run(const std::vector<std::size_t>& order, int chain);
  void AskOutputs(int chain);

  bool in_python_;
  collect::GpuApi& gpu_;
  LibraryProcess& worker_;
  TensorSets& sets_;
  std::optional<Witness>& witness_;
  std::mt19937_64& random_;
  int single_ = 1;  // `chain` of a call alone: 0 where the launch cannot be captured
  int chain_ = 1;
  int last_chain_ = 0;  // that of the last calls
  std::size_t repeats_ = 1;
  std::size_t apart_calls_ = 0;
};

}  // namespace fa_profile::judge
