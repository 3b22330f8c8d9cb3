#include "fa_profile/background_gpu_reader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace fa_profile::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastAgeSeconds = 5;

}  // namespace

// Owned by both threads: the reading one may be stuck in the driver when the other ends.
struct BackgroundGpuReader::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false;
  bool read_once = false;
  HostReading reading;
  Clock::time_point when = Clock::now();
};

BackgroundGpuReader::BackgroundGpuReader(std::function<HostReading()> read, double interval_seconds)
    : shared_(std::make_shared<Shared>()), most_age_seconds_(std::max(3 * interval_seconds, kLeastAgeSeconds)) {
  std::thread([shared = shared_, read = std::move(read), interval = std::chrono::duration<double>(interval_seconds)] {
    for (;;) {
      HostReading reading = read();
      std::unique_lock lock(shared->mutex);
      shared->reading = std::move(reading);
      shared->when = Clock::now();
      shared->read_once = true;
      shared->changed.notify_all();
      if (shared->changed.wait_for(lock, interval, [&] { return shared->ending; })) return;
    }
  }).detach();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, std::chrono::seconds(2), [this] { return shared_->read_once; });
}

BackgroundGpuReader::~BackgroundGpuReader() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
}

HostReading BackgroundGpuReader::Latest() const {
  const std::lock_guard lock(shared_->mutex);
  HostReading reading = shared_->reading;
  const double age = std::chrono::duration<double>(Clock::now() - shared_->when).count();
  if (!shared_->read_once || age > most_age_seconds_) {
    reading.nvml = false;
    reading.gpm = false;
    reading.nvml_error = "NVML has not answered for " + std::to_string(static_cast<int>(age)) +
                         " s: the driver hangs; nvidia-smi may hang too; the kernel log has the reason";
  }
  return reading;
}

}  // namespace fa_profile::serve
