#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/collect_run.h"
#include "fa_profile/error.h"

namespace fa_profile {

/// A GPU that does nothing and writes down what it was asked, in order, in `calls`. Tests set its answers.
class FakeGpu final : public collect::GpuApi {
 public:
  std::vector<std::string> calls;

  // What it answers.
  int passes_needed = 1;                 ///< after this many, Stop() gives true
  std::size_t ranges_dropped = 0;        ///< the last ones of an image
  std::vector<std::string> range_names;  ///< in place of those pushed, when not empty
  std::vector<DataLoss> refused;         ///< in a plan
  bool flushes_cache = false;
  std::vector<double> call_ns = {1000.0};          ///< for each Time() in turn; the last one stays
  std::vector<collect::PcSamples> samples = {{}};  ///< for each Take() in turn; the last one stays
  std::vector<collect::CountedPc> counts;          ///< for each Take()
  std::uint64_t counts_dropped = 0;
  std::vector<std::string> sass_metrics = {"smsp__sass_inst_executed"};
  std::map<std::uint64_t, std::vector<std::uint8_t>> modules;
  std::vector<collect::PmReadings> pm_readings = {{}};  ///< for each Take() in turn; the last one stays
  double free_memory_share = 1.0;
  std::optional<double> sm_clock_hz = 1.5e9;  ///< for each Time() that reads it
  std::string failing_call;                   ///< Call() with this text throws Error

  /// Objects of CUPTI that are open now, and samplers and counters that run.
  int open = 0;
  int running = 0;

  StreamHandle stream() override { return this; }
  void Synchronize() override { Call("synchronize"); }
  bool FlushCache() override {
    if (flushes_cache) Call("flush");
    return flushes_cache;
  }
  double FreeMemoryShare() override { return free_memory_share; }

  collect::CallTiming Time(const std::function<void(StreamHandle)>& call, int count,
                           const std::function<void()>& between, bool read_clock) override {
    Call("time");
    collect::CallTiming timing{"fake", {}, read_clock ? sm_clock_hz : std::nullopt};
    const double duration = Next(call_ns);
    for (int i = 0; i < count; ++i) {
      between();
      call(this);
      timing.durations_ns.push_back(duration);
    }
    return timing;
  }
  collect::ActivityTrace Trace(const std::function<void()>& body) override {
    Call("trace");
    trace_ = {};
    body();
    return std::exchange(trace_, {});
  }
  /// A workload's launch in a trace.
  void Launched(const std::string& kernel) {
    Call(kernel);
    trace_.launches.emplace_back().kernel_name = kernel;
  }

  collect::MetricPlan Plan(std::span<const std::string> metrics) override {
    Call("plan");
    return {"GH100", {metrics.begin(), metrics.end()}, {}, passes_needed, refused, false};
  }
  std::vector<collect::RangeValues> Evaluate(const collect::MetricPlan& plan, std::span<const std::uint8_t> image,
                                             std::size_t most) override {
    std::vector<collect::RangeValues> values;
    std::istringstream lines(std::string(image.begin(), image.end()));
    for (std::string name, value; values.size() < most && std::getline(lines, name) && std::getline(lines, value);) {
      values.push_back({name, {}});
      for (const std::string& metric : plan.metrics) values.back().metrics[metric] = std::stod(value);
    }
    return values;
  }
  std::unique_ptr<collect::RangeProfiler> OpenRangeProfiler() override {
    return std::make_unique<FakeRangeProfiler>(*this);
  }
  std::unique_ptr<collect::PcSampler> OpenPcSampler(std::uint32_t period) override {
    return std::make_unique<FakeSampler>(*this, period);
  }
  std::vector<std::string> SassMetrics() override { return sass_metrics; }
  std::unique_ptr<collect::SassCounter> OpenSassCounter(const std::vector<std::string>& metrics) override {
    std::string names;
    for (const std::string& metric : metrics) names += " " + metric;
    return std::make_unique<FakeCounter>(*this, names);
  }
  std::unique_ptr<collect::ModuleCapture> CaptureModules() override { return std::make_unique<FakeModules>(*this); }
  std::unique_ptr<collect::PmSampler> OpenPmSampler(std::span<const std::string> metrics,
                                                    std::int64_t interval_ns) override {
    return std::make_unique<FakePmSampler>(*this, std::string(metrics.front()), interval_ns);
  }

  /// `calls` as one text, and nothing left of them.
  std::string TakeCalls() {
    std::string text;
    for (const std::string& call : std::exchange(calls, {})) text += (text.empty() ? "" : " ") + call;
    return text;
  }
  long Count(const std::string& call) const { return std::count(calls.begin(), calls.end(), call); }

 private:
  // Writes down that it is opened, and closed.
  class Opened {
   public:
    Opened(FakeGpu& gpu, std::string name) : gpu_(gpu), name_(std::move(name)) {
      gpu_.Call("open:" + name_);
      ++gpu_.open;
    }
    ~Opened() {
      --gpu_.open;
      gpu_.calls.push_back("close:" + name_);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

   private:
    FakeGpu& gpu_;
    std::string name_;
  };

  class FakeRangeProfiler final : public collect::RangeProfiler {
   public:
    explicit FakeRangeProfiler(FakeGpu& gpu) : gpu_(gpu), opened_(gpu, "ranges") {}
    void Configure(const collect::MetricPlan&, std::size_t most_ranges, collect::Replay replay) override {
      gpu_.Call((replay == collect::Replay::kUser ? "user:" : "kernel:") + std::to_string(most_ranges));
      replay_ = replay;
      ranges_ = most_ranges;
      passes_ = 0;
      names_.clear();
    }
    void Start() override { gpu_.Call("start"); }
    // Passes are matched by the names of their ranges.
    void PushRange(const std::string& name) override {
      if (name.size() > kLongestName) throw Error("a range's name of " + std::to_string(name.size()) + " bytes");
      gpu_.Call("[" + name);
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    }
    void PopRange() override { gpu_.Call("]"); }
    bool Stop() override {
      gpu_.Call("stop");
      return ++passes_ >= gpu_.passes_needed;
    }
    // The image has two lines for each range: its name, and a number that no other range of this GPU has.
    collect::CounterData Decode() override {
      gpu_.Call("decode");
      if (replay_ == collect::Replay::kKernel) names_.assign(ranges_, "auto");
      if (!gpu_.range_names.empty()) names_ = gpu_.range_names;
      std::string text;
      for (std::size_t i = 0; i + gpu_.ranges_dropped < names_.size(); ++i) {
        text += names_[i] + "\n" + std::to_string(++gpu_.ranges_measured_) + "\n";
      }
      return {{text.begin(), text.end()}, gpu_.ranges_dropped};
    }

   private:
    FakeGpu& gpu_;
    Opened opened_;
    collect::Replay replay_ = collect::Replay::kUser;
    std::size_t ranges_ = 0;
    int passes_ = 0;
    std::vector<std::string> names_;
  };

  class FakeSampler final : public collect::PcSampler {
   public:
    FakeSampler(FakeGpu& gpu, std::uint32_t period) : gpu_(gpu), opened_(gpu, "sampler:" + std::to_string(period)) {}
    void Start() override {
      gpu_.Call("start");
      ++gpu_.running;
    }
    void Stop() override {
      --gpu_.running;
      gpu_.Call("stop");
    }
    collect::PcSamples Take() override { return gpu_.Next(gpu_.samples); }
    void SetPeriod(std::uint32_t cycles) override { gpu_.Call("period:" + std::to_string(cycles)); }

   private:
    FakeGpu& gpu_;
    Opened opened_;
  };

  class FakeCounter final : public collect::SassCounter {
   public:
    FakeCounter(FakeGpu& gpu, const std::string& metrics) : gpu_(gpu), opened_(gpu, "counter:" + metrics) {}
    void Start() override {
      gpu_.Call("start");
      ++gpu_.running;
    }
    std::vector<collect::CountedPc> Take() override {
      gpu_.Call("take");
      return gpu_.counts;
    }
    std::uint64_t Stop() override {
      --gpu_.running;
      gpu_.Call("stop");
      return gpu_.counts_dropped;
    }

   private:
    FakeGpu& gpu_;
    Opened opened_;
  };

  class FakeModules final : public collect::ModuleCapture {
   public:
    explicit FakeModules(FakeGpu& gpu) : gpu_(gpu), opened_(gpu, "modules") {}
    const std::vector<std::uint8_t>* Find(std::uint64_t crc) override {
      const auto found = gpu_.modules.find(crc);
      return found == gpu_.modules.end() ? nullptr : &found->second;
    }

   private:
    FakeGpu& gpu_;
    Opened opened_;
  };

  class FakePmSampler final : public collect::PmSampler {
   public:
    FakePmSampler(FakeGpu& gpu, const std::string& metric, std::int64_t interval_ns)
        : gpu_(gpu), opened_(gpu, "pm:" + metric.substr(0, metric.find('.')) + ":" + std::to_string(interval_ns)) {}
    void Start() override {
      gpu_.Call("start");
      ++gpu_.running;
    }
    void Stop() override {
      --gpu_.running;
      gpu_.Call("stop");
    }
    collect::PmReadings Take() override { return gpu_.Next(gpu_.pm_readings); }

   private:
    FakeGpu& gpu_;
    Opened opened_;
  };

  void Call(const std::string& text) {
    calls.push_back(text);
    if (text == failing_call) throw Error("cuptiFake", "CUPTI_ERROR_UNKNOWN", text + " failed");
  }
  template <typename T>
  static T Next(std::vector<T>& answers) {
    T answer = answers.front();
    if (answers.size() > 1) answers.erase(answers.begin());
    return answer;
  }

  collect::ActivityTrace trace_;
  int ranges_measured_ = 0;
};

/// A workload whose launches are written down by the fake GPU as "kernel" or "kernel/part".
class FakeWorkload final : public Workload {
 public:
  FakeWorkload(FakeGpu& gpu, std::string kernel, std::vector<std::string> parts = {"main"})
      : gpu_(gpu), kernel_(std::move(kernel)), parts_(std::move(parts)) {}
  const std::string& kernel() const override { return kernel_; }
  const std::string& origin() const override { return origin_; }
  std::optional<Shape> shape() const override { return std::nullopt; }
  const std::vector<std::string>& parts() const override { return parts_; }
  void LaunchPart(std::size_t index, StreamHandle) override { gpu_.Launched(kernel_ + "/" + parts_.at(index)); }
  void Launch(StreamHandle) override {
    if (parts_.size() == 1) return gpu_.Launched(kernel_);
    for (const std::string& part : parts_) gpu_.Launched(kernel_ + "/" + part);
  }

 private:
  FakeGpu& gpu_;
  std::string kernel_;
  std::string origin_ = "fake";
  std::vector<std::string> parts_;
};

}  // namespace fa_profile
