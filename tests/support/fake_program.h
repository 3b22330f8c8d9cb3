#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/program_api.h"
#include "fake_gpu.h"
#include "recording_builder.h"

namespace fa_profile {

/// A graph of kernels with one block of one thread, whose launches are written down.
class FakeGraph final : public collect::GraphNodes {
 public:
  FakeGraph(std::vector<std::string>& calls, std::uint32_t graph, const std::vector<const char*>& symbols)
      : calls_(calls) {
    for (const char* const symbol : symbols) {  // nullptr: not a kernel
      Node node;
      node.call = {symbol, {1, 1, 1}, {1, 1, 1}, graph, static_cast<int>(nodes_.size()) + 1};
      if (symbol != nullptr) node.key = collect::KeyOf(node.call);
      nodes_.push_back(std::move(node));
    }
  }
  int failing_node = -1;  ///< Launch() of it throws Error
  bool branches = false;

  const std::vector<Node>& nodes() const override { return nodes_; }
  bool has_branches() const override { return branches; }
  void Begin(const void* /*stream*/) override { calls_.emplace_back("{"); }
  void Launch(std::size_t index) override {
    calls_.emplace_back(nodes_[index].call.symbol != nullptr ? nodes_[index].call.symbol : "set");
    if (static_cast<int>(index) == failing_node) throw Error("cuFake", "CUresult 1", "a node was not launched");
  }
  void End() override { calls_.emplace_back("}"); }

 private:
  std::vector<std::string>& calls_;
  std::vector<Node> nodes_;
};

/// A program on a fake GPU, as the launch gate and its rounds see it. What they ask for is written down in `gpu.calls`,
/// and tests set the answers.
class FakeProgram final : public collect::ProgramApi, public collect::LaunchFilter, public collect::LaunchClasses {
 public:
  FakeGpu gpu;  ///< its failing_call may be one of the calls below, too
  RecordingBuilder built;

  bool recorded = true;              ///< OpenRecording()
  bool records = true;               ///< Records(), once the recording is open
  std::vector<bool> idle = {true};   ///< for each wait for the GPU in turn; the last one stays
  std::vector<double> waits;         ///< seconds of each
  Sampling sampled = Sampling::kOn;  ///< sampling(), until PauseSampling()
  std::int64_t now_ns = 0;           ///< advances by step_ns at each look
  std::int64_t step_ns = 0;
  bool asks_one_by_one = false;                                ///< asks()
  bool takes = true;                                           ///< Takes()
  int asked = 0;                                               ///< calls of Takes()
  int measured = 0;                                            ///< calls of OnMeasured()
  int most_measured = 0;                                       ///< from which on over(); 0: never
  std::set<std::string> unwanted;                              ///< keys that Wants() refuses
  std::vector<collect::LaunchCandidate> candidates;            ///< Candidates()
  std::map<std::uint32_t, std::shared_ptr<FakeGraph>> graphs;  ///< whose nodes are known, by id
  std::set<std::string> unknown;                               ///< keys that Knows() denies
  std::vector<std::string> cases;                              ///< keys of CaseOf(); their place, from 1, is the case
  std::vector<std::pair<std::string, std::uint64_t>> counted;  ///< AddCounts(): keys and what was dropped

  /// A kernel that was seen often enough to be measured.
  void AddCandidate(const std::string& key, double mean_ns = 1000.0) {
    candidates.push_back({key, 0.5, 100, 100, mean_ns});
  }

  bool OpenRecording() override {
    Call("recording");
    return is_open_ = recorded;
  }
  bool Records() noexcept override { return is_open_ && records; }
  std::int64_t NowNs() noexcept override { return now_ns += step_ns; }
  bool WaitIdle(double seconds) override {
    waits.push_back(seconds);
    const bool answer = idle.front();
    if (idle.size() > 1) idle.erase(idle.begin());
    return answer;
  }
  void StopTrace() noexcept override { gpu.calls.emplace_back("-trace"); }
  void StartTrace() noexcept override { gpu.calls.emplace_back("+trace"); }
  Sampling sampling() override { return sampled; }
  void PauseSampling() override {
    Call("-samples");
    sampled = Sampling::kOff;
  }
  void EndSampling() noexcept override { gpu.calls.emplace_back("no-samples"); }
  void RequireRoom() override { Call("room"); }
  collect::CollectRun& TakeCounters() override {
    Call("counters");
    return run_;
  }
  void BeginMeasuring() override { Call("+measuring"); }
  void EndMeasuring() noexcept override { gpu.calls.emplace_back("-measuring"); }
  void OnContextLost() noexcept override {
    gpu.calls.emplace_back("context-lost");
    records = false;
  }
  std::shared_ptr<collect::GraphNodes> NodesOf(const collect::LaunchCall& call) noexcept override {
    const auto found = graphs.find(call.graph);
    return found == graphs.end() ? nullptr : found->second;
  }
  bool HasNodesOf(std::uint32_t graph) noexcept override { return graphs.contains(graph); }
  void AddCounts(const std::string& key, std::vector<collect::CountedPc>, std::uint64_t dropped) override {
    counted.emplace_back(key, dropped);
  }
  void WatchLaunches(bool on) noexcept override { gpu.calls.emplace_back(on ? "+watch" : "-watch"); }
  bool WaitAllIdle(double seconds) override { return WaitIdle(seconds); }
  void EnterContext() noexcept override { gpu.calls.emplace_back("context"); }
  void LeaveCupti() override { Call("leave"); }

  bool asks() const override { return asks_one_by_one; }
  bool Takes(const collect::LaunchCall& /*call*/) override {
    ++asked;
    return takes && !over();
  }
  void OnMeasured() override { ++measured; }
  bool over() const override { return most_measured > 0 && measured >= most_measured; }
  bool Wants(const std::string& key) override { return !unwanted.contains(key); }
  std::vector<DataLoss> Losses() const override { return {}; }

  std::vector<collect::LaunchCandidate> Candidates(const std::function<bool(std::uint32_t)>& /*unrolls*/) override {
    return candidates;
  }
  bool Knows(const std::string& key) const override { return !unknown.contains(key); }
  std::int64_t CaseOf(const std::string& key, const Launch* /*launch*/) override {
    cases.push_back(key);
    return static_cast<std::int64_t>(cases.size());
  }

 private:
  void Call(const std::string& text) {
    gpu.calls.push_back(text);
    if (text == gpu.failing_call) throw Error("cuptiFake", "CUPTI_ERROR_UNKNOWN", text + " failed");
  }

  std::atomic<bool> is_open_ = false;  // the recording
  Device device_;
  collect::CollectRun run_{device_, gpu, built, 100};
};

/// A launch of a kernel with one block of one thread.
inline collect::LaunchCall KernelLaunch(const char* symbol) { return {symbol, {1, 1, 1}, {1, 1, 1}}; }
inline collect::LaunchCall GraphLaunch(std::uint32_t graph) { return {nullptr, {}, {}, graph}; }

}  // namespace fa_profile
