#include "program_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "fa_profile/demangle.h"
#include "fa_profile/error.h"
#include "fa_profile/instruction_counts.h"
#include "fa_profile/quiet_thread.h"
#include "fa_profile/units.h"

namespace fa_profile::inject {
namespace {

// Kernels with a smaller share of the samples are left out.
constexpr double kLeastShare = 0.01;
// From this share of the kernel's time on, the report says that its samples include other launch classes.
constexpr double kOthersShare = 0.01;
// Memory of the program that copies of its machine code may take. PyTorch loads tens of MB.
constexpr std::size_t kMostCodeBytes = std::size_t{512} << 20U;
// Contexts sampled one after the other. Each that ends leaves a few MB that CUPTI may still refer to.
constexpr int kMostContexts = 16;
// CUPTI's workers hand over samples some tens of milliseconds after they were taken.
constexpr std::chrono::milliseconds kUntilHandedOver{60};
constexpr std::chrono::seconds kLongestSamplingEnd{2};
// A thread that destroys a context waits for a sample to be taken, which takes less than a millisecond.
constexpr std::chrono::seconds kLongestWait{1};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

void Lose(std::vector<DataLoss>& losses, const char* kind, std::string subject, std::string reason,
          std::uint64_t count = 1) {
  losses.push_back({kind, std::move(subject), std::move(reason), static_cast<std::int64_t>(count)});
}

/// Writes the samples of kernels, with their functions and machine code; ids count through all of them.
class SampleWriter {
 public:
  SampleWriter(collect::LoadedModules& modules, const collect::SampleTotals& totals, ProgramRecording& recording,
               std::vector<DataLoss>& losses)
      : modules_(modules), totals_(totals), recording_(recording), losses_(losses) {}

  /// `counted`: for the same launch class; may be null.
  void Write(const collect::SampleTotals::Kernel& kernel, const collect::ProgramTotals::LaunchClass& launch_class,
             const std::string& name, const CountedLaunch* counted) {
    std::map<std::pair<std::uint64_t, std::string>, std::int64_t> functions;  // id
    const auto id_of = [&](std::uint64_t crc, const std::string& function) {
      const auto [known, is_new] = functions.try_emplace({crc, function}, 0);
      if (is_new) known->second = WriteFunction(crc, function, name);
      return known->second;
    };
    PcSampling sampling;
    sampling.case_id = recording_.CaseOf(KeyOf(launch_class.launch));
    sampling.period_cycles = static_cast<int>(collect::ContextSampler::kPeriodCycles);
    sampling.launches = static_cast<int>(std::min<std::int64_t>(launch_class.launches, INT_MAX));
    sampling.total_samples = kernel.samples;
    for (const collect::SampleTotals::Function* const sampled : kernel.functions) {
      const std::int64_t function = id_of(sampled->cubin_crc, sampled->name);
      for (const auto& [offset, samples] : sampled->pcs) {
        sampling.samples.push_back({function, offset, totals_.ByReason(samples)});
      }
    }
    sampling.id = ++id_;
    recording_.Write(sampling);
    if (counted == nullptr) return;

    SassCounting counting;
    counting.case_id = sampling.case_id;
    counting.counts = collect::CountsOf(counted->pcs, id_of);
    counting.id = ++id_;
    recording_.Write(counting);
    if (counting.counts.empty()) Lose(losses_, "counts_missing", name, "CUPTI returned no SASS metrics");
    if (counted->dropped > 0) {
      Lose(losses_, "counts_dropped", name, "CUPTI dropped SASS metric records", counted->dropped);
    }
  }

  static std::string KeyOf(const Launch& launch) {
    return collect::LaunchKey(launch.kernel_name, launch.grid, launch.block);
  }

 private:
  std::int64_t WriteFunction(std::uint64_t crc, const std::string& function_name, const std::string& kernel) {
    if (const std::vector<std::uint8_t>* const cubin = modules_.Find(crc, function_name)) {
      if (cubins_.insert(cubin).second) recording_.Write(Cubin{++id_, crc, *cubin});
    } else {
      Lose(losses_, "cubin_unknown", kernel, "its machine code was not kept, or that of several has one checksum");
    }
    DeviceFunction function;  // without instructions: disassembly must not cost the program time
    function.id = ++id_;
    function.cubin_crc = crc;
    function.name = function_name;
    recording_.Write(function);
    return function.id;
  }

  collect::LoadedModules& modules_;
  const collect::SampleTotals& totals_;
  ProgramRecording& recording_;
  std::vector<DataLoss>& losses_;
  std::set<const std::vector<std::uint8_t>*> cubins_;  // written already
  std::int64_t id_ = 0;
};

}  // namespace

ProgramSampler::ProgramSampler(const std::string& pattern) : pattern_(pattern), modules_(kMostCodeBytes) {}

// Before the lock: while a context is sampled, another thread may hold it inside CUPTI, which may wait for us.
void ProgramSampler::OnContextBegins(const void* context) noexcept {
  const void* none = nullptr;
  if (!context_.compare_exchange_strong(none, context)) return;
  const std::unique_lock lock(mutex_, kLongestWait);
  if (!lock) return;
  if (++contexts_ <= kMostContexts) {
    OpenIn(context);
  } else {
    GiveUp("the program creates contexts again and again");
  }
}

void ProgramSampler::OnContextEnds(const void* context) noexcept {
  if (context != context_) return;
  const std::unique_lock lock(mutex_, kLongestWait);
  context_ = nullptr;
  if (lock) Abandon();
}

void ProgramSampler::Abandon() noexcept {
  if (sampler_) sampler_->Abandon();
  sampler_.reset();
}

void ProgramSampler::GiveUp(const char* why) noexcept {
  try {
    if (why_not_.empty()) why_not_ = FirstLine(why);
  } catch (const std::bad_alloc&) {
    over_ = true;
  }
}

void ProgramSampler::OpenIn(const void* context) noexcept {
  Abandon();
  if (over_) return;
  try {
    sampler_.emplace(context);
  } catch (const std::exception& error) {
    GiveUp(error.what());
  }
}

void ProgramSampler::Close(const void* context) {
  if (context != context_) return;
  const std::lock_guard lock(mutex_);
  TakeLocked();
  if (sampler_) End();
}

// On a separate thread, because a program must not wait forever: if CUPTI does not end, only that thread hangs.
void ProgramSampler::End() {
  struct Ending {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
  };
  const auto ending = std::make_shared<Ending>();
  const auto ended = std::make_shared<std::optional<collect::ContextSampler>>(std::move(*sampler_));
  sampler_.reset();
  try {
    StartQuietThread([ending, ended] {
      ended->reset();
      const std::lock_guard lock(ending->mutex);
      ending->over = true;
      ending->changed.notify_all();
    }).detach();
  } catch (...) {
    (*ended)->Abandon();
    over_ = true;
    throw;
  }
  std::unique_lock lock(ending->mutex);
  if (ending->changed.wait_for(lock, kLongestSamplingEnd, [&] { return ending->over; })) return;
  over_ = hangs_ = true;
  throw Error("the sampling of phases did not end", "");
}

void ProgramSampler::Open() noexcept {
  const std::lock_guard lock(mutex_);
  if (!sampler_ && context_ != nullptr && why_not_.empty()) OpenIn(context_);
}

bool ProgramSampler::closed() {
  const std::lock_guard lock(mutex_);
  return !sampler_;
}

void ProgramSampler::OnRecordedContext(const void* context) noexcept {
  if (context_ == nullptr || context_ == context) return;
  const std::lock_guard lock(mutex_);
  over_ = true;
  totals_ = {};
  GiveUp("the program launches in another context than its first");
}

void ProgramSampler::TakeLocked() noexcept {
  if (context_ == nullptr) Abandon();
  if (!sampler_) return;
  try {
    const collect::PcSamples samples = sampler_->Take();
    if (counts_ && !over_) totals_.Add(samples);
  } catch (const std::exception& error) {
    GiveUp(error.what());
  }
}

void ProgramSampler::AddCounts(const std::string& key, CountedLaunch counts) {
  const std::lock_guard lock(mutex_);
  counted_[key] = std::move(counts);
}

void ProgramSampler::Begin() noexcept {
  const std::lock_guard lock(mutex_);
  TakeLocked();
  counts_ = true;
}

void ProgramSampler::Take() noexcept {
  const std::lock_guard lock(mutex_);
  TakeLocked();
}

void ProgramSampler::Pause() noexcept {
  const std::lock_guard lock(mutex_);
  TakeLocked();
  counts_ = false;
}

void ProgramSampler::Stop() noexcept {
  const std::lock_guard lock(mutex_);
  TakeLocked();
  over_ = true;
}

void ProgramSampler::Write(ProgramRecording& recording, std::vector<DataLoss>& losses) {
  const std::lock_guard lock(mutex_);
  if (sampler_) std::this_thread::sleep_for(kUntilHandedOver);
  TakeLocked();
  const std::vector<collect::ProgramTotals::LaunchClass> classes = recording.Classes();
  SampleWriter writer(modules_, totals_, recording, losses);
  for (const collect::SampleTotals::Kernel& kernel : totals_.Kernels(classes, kLeastShare)) {
    const collect::ProgramTotals::LaunchClass& launch_class = classes[kernel.launch_class];
    const std::string name = Demangle(launch_class.launch.kernel_name.c_str());
    if (!pattern_.Finds(name)) continue;
    try {  // a kernel that cannot be written must not cost the others
      const auto counted = counted_.find(SampleWriter::KeyOf(launch_class.launch));
      writer.Write(kernel, launch_class, name, counted != counted_.end() ? &counted->second : nullptr);
    } catch (const std::exception& error) {
      Lose(losses, "phases_not_sampled", name, FirstLine(error.what()));
      continue;
    }
    if (kernel.others_ratio > kOthersShare) {
      Lose(losses, "phases_of_several_classes", collect::LaunchClassName(name, launch_class.launch),
           fmt::format("its phases cover all {} launch classes of the kernel; {} of that time belongs to the others",
                       kernel.classes, Percent(kernel.others_ratio)));
    }
  }
  if (why_not_.empty() && totals_.named() == 0) GiveUp("no sample was taken");
  WriteLosses(losses);
}

void ProgramSampler::WriteLosses(std::vector<DataLoss>& losses) const {
  if (!why_not_.empty()) Lose(losses, "phases_not_sampled", "kernels", why_not_);
  if (totals_.dropped() > 0) Lose(losses, "samples_dropped", "", "the hardware dropped PC samples", totals_.dropped());
  if (totals_.buffer_full()) {
    Lose(losses, "samples_dropped", "", "CUPTI's PC sampling buffer was full: samples are missing");
  }
  if (totals_.other() > 0) {
    Lose(losses, "samples_unnamed", "kernels",
         "PC samples of code that was loaded while counters were measured, or that belongs to the driver",
         totals_.other());
  }
  if (totals_.beyond_instructions() > 0) {
    Lose(losses, "samples_unnamed",
         fmt::format("instructions after the first {}", collect::SampleTotals::kMostInstructions),
         "samples of more are not kept", totals_.beyond_instructions());
  }
}

}  // namespace fa_profile::inject
