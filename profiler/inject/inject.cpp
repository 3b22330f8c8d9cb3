// libfa_profile_inject.so: loaded by the CUDA driver into the program that is profiled (CUDA_INJECTION64_PATH).
// Every wanted kernel launch becomes one range with kernel replay and is written at once, so that a program
// that crashes keeps what was measured.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/counter_session.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/demangle.h"
#include "fa_profile/device.h"
#include "fa_profile/inject_protocol.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/launch_hook.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/recording_file.h"

namespace fa_profile {
namespace {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

class Injection final : public LaunchObserver {
 public:
  static Injection& Instance() {
    // Never destroyed: launches may come until the process is gone. Finish() runs at exit.
    static Injection* const injection = new Injection;
    return *injection;
  }

  void OnLaunch(const Launch& launch) noexcept override;
  void OnLaunched() noexcept override;
  void Finish() noexcept;

 private:
  void Open();
  void Fail(const char* why) noexcept {
    (void)std::fprintf(stderr, "fa-profile: measuring ended: %s\n", why);
    failed_ = true;
  }

  // Held from OnLaunch to OnLaunched of a measured launch, so that no other thread's kernel falls into its range.
  // Recursive, because measuring may itself launch on the same thread; those are counted, not measured.
  std::recursive_mutex mutex_;
  bool failed_ = false;
  int depth_ = 0;  // launches entered on the thread that measures; 0: nothing is being measured
  KernelPattern pattern_{Environment(kInjectKernelPattern)};  // which fa-profile has checked
  long most_launches_ = std::atol(Environment(kInjectMaxLaunches).c_str());
  long measured_ = 0;
  std::int64_t skipped_ = 0;
  Launch current_;
  Device device_;
  std::vector<DataLoss> losses_;
  std::unique_ptr<RecordingWriter> writer_;
  std::unique_ptr<GpuApi> gpu_;
  std::optional<CollectRun> run_;
  std::optional<CounterSession> session_;
  std::unique_ptr<RangeProfiler> profiler_;
};

void Injection::Open() {
  device_ = OpenCurrentDevice();
  writer_ = std::make_unique<RecordingWriter>(Environment(kInjectOutput), Environment(kInjectOverwrite) == "1");
  writer_->Write(ReadSession(Environment(kInjectSession)));
  writer_->Write(device_);
  writer_->Write(ReadClocks(device_, "before", losses_));
  std::vector<std::string> metrics;
  std::ifstream file(Environment(kInjectMetrics));
  for (std::string line; std::getline(file, line);) metrics.push_back(line);
  const std::string set = Environment(kInjectSet);
  for (const MetricSet::Omitted& omitted :
       set.empty() ? std::vector<MetricSet::Omitted>() : BuiltinMetricSet(set, device_.chip).omitted) {
    writer_->Write(DataLoss{"metric_not_a_counter", omitted.metric, omitted.reason, 1});
  }
  gpu_ = OpenGpuApi(device_, /*flush_cache=*/false, Environment(kInjectCache));
  run_.emplace(CollectRun{device_, *gpu_, *writer_});
  session_.emplace(*run_, metrics);
  profiler_ = gpu_->OpenRangeProfiler();
  writer_->Commit();
}

void Injection::OnLaunch(const Launch& launch) noexcept {
  const std::lock_guard lock(mutex_);
  if (depth_ > 0) {
    ++depth_;
    return;
  }
  if (failed_) return;
  try {
    if (!pattern_.Finds(launch.kernel_name)) return;
    if (measured_ >= most_launches_) {
      ++skipped_;
      return;
    }
    depth_ = 1;  // launches of Open() are not the program's
    if (writer_ == nullptr) Open();
    current_ = launch;
    session_->StartKernelRanges(*profiler_, 1);
    mutex_.lock();
  } catch (const std::exception& error) {
    depth_ = 0;
    Fail(error.what());
  }
}

void Injection::OnLaunched() noexcept {
  const std::lock_guard lock(mutex_);
  if (depth_ == 0 || --depth_ > 0) return;
  mutex_.unlock();  // OnLaunch's; ours is held until the end
  try {
    const Case entry{run_->next_id++, FunctionName(current_.kernel_name), "program", std::nullopt};
    writer_->Write(entry);
    current_.id = run_->next_id++;
    current_.case_id = entry.id;
    writer_->Write(current_);
    session_->WriteKernelRanges(*profiler_, {{entry.id, "", ""}}, /*keep_image=*/true);
    ++measured_;
  } catch (const std::exception& error) {
    Fail(error.what());
  }
}

void Injection::Finish() noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_ || writer_ == nullptr) return;
  try {
    writer_->Write(ReadClocks(device_, "after", losses_));
    if (skipped_ > 0) {
      losses_.push_back({"launch_not_measured", "launches after the first " + std::to_string(most_launches_),
                         "--max-launches was reached", skipped_});
    }
    for (const DataLoss& loss : losses_) writer_->Write(loss);
    writer_->Finish();
  } catch (const std::exception& error) {
    Fail(error.what());
  }
  failed_ = true;  // nothing is measured after this
}

}  // namespace
}  // namespace fa_profile

// The driver calls this once, at its initialisation. Returns 1 for success, as the driver expects.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  fa_profile::Injection& injection = fa_profile::Injection::Instance();
  if (!fa_profile::ObserveLaunches(&injection)) {
    (void)std::fprintf(stderr,
                       "fa-profile: another profiler is attached to this program, so nothing is measured; run it "
                       "without that profiler\n");
    return 1;
  }
  (void)std::atexit([] { fa_profile::Injection::Instance().Finish(); });
  return 1;
}
