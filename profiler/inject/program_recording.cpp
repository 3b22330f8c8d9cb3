#include "program_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fa_profile/demangle.h"
#include "fa_profile/device.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/program_trace.h"

namespace fa_profile::inject {
namespace {

// Durations kept per class in a recording: enough for a median and a 95th percentile, and small in a file.
constexpr std::size_t kMostDurations = 1024;

}  // namespace

void ProgramRecording::OnWork(const collect::GpuWork& work) noexcept {
  const std::lock_guard lock(totals_mutex_);
  // Search from the last span backwards: records come soon.
  const auto span = std::find_if(spans_.rbegin(), spans_.rend(),
                                 [&](const Span& candidate) { return candidate.from_ns <= work.start_ns; });
  if (work.start_ns > 0 && (span == spans_.rend() || work.start_ns > span->until_ns)) return;
  try {
    const collect::ProgramTotals::Added added = totals_.Add(work);
    if (added.launch_class) ranges_.Add(work, *added.launch_class);
  } catch (const std::bad_alloc&) {
    ++records_dropped_;
  }
}

void ProgramRecording::OnLostWork(std::int64_t records) noexcept {
  const std::lock_guard lock(totals_mutex_);
  records_dropped_ += records;
}

bool ProgramRecording::HasWork() const {
  const std::lock_guard lock(totals_mutex_);
  return totals_.kernel_ns() > 0;
}

std::string ProgramRecording::Create(const std::string& path, const Device& device) {
  const std::lock_guard lock(write_mutex_);
  device_ = device;
  auto writer = std::make_unique<store::RecordingWriter>(path, plan_.overwrite);
  writer->Write(plan_.session);
  writer->Write(device_);
  std::vector<DataLoss> losses;
  writer->Write(collect::ReadClocks(device_, "before", losses));
  if (!plan_.built_in_set.empty() && !plan_.metrics.empty()) {
    for (const MetricSet::Omitted& omitted : BuiltinMetricSet(plan_.built_in_set, device_.chip).omitted) {
      losses.push_back({"metric_not_a_counter", omitted.metric, omitted.reason, 1});
    }
  }
  for (const DataLoss& loss : losses) writer->Write(loss);
  window_start_ns_ = collect::ActivityClockNs();
  // Empty. It makes what is left by a process killed before its first window a program's recording, too.
  writer->Write(WatchWindow{next_id_++, window_start_ns_, window_start_ns_});
  writer->Commit();
  {
    const std::lock_guard totals_lock(totals_mutex_);
    totals_ = collect::ProgramTotals(static_cast<std::uint32_t>(device_.ordinal));
    (void)ranges_.TakeWindow();  // drops what came before the first launch
  }
  writer_ = std::move(writer);
  created_ = true;
  return writer_->kept_aside().value_or("");
}

std::int64_t ProgramRecording::WriteCase(const std::string& key, Launch launch) {
  launch.kernel_name = Demangle(launch.kernel_name.c_str());
  const Case entry{next_id_++, collect::LaunchClassName(launch.kernel_name, launch), "program", std::nullopt};
  writer_->Write(entry);
  launch.id = next_id_++;
  launch.case_id = entry.id;
  writer_->Write(launch);
  case_of_key_.emplace(key, entry.id);  // the first of the classes that differ only in the cluster
  return entry.id;
}

void ProgramRecording::WriteClass(std::size_t index) {
  if (case_of_class_.size() <= index) case_of_class_.resize(index + 1, 0);
  if (case_of_class_[index] != 0) return;
  Launch launch;
  {
    const std::lock_guard lock(totals_mutex_);
    launch = totals_.classes()[index].launch;
  }
  const std::string key = collect::LaunchKey(launch.kernel_name, launch.grid, launch.block);
  case_of_class_[index] = WriteCase(key, std::move(launch));
}

void ProgramRecording::BeginWork(std::int64_t now_ns) noexcept {
  constexpr std::size_t kMostSpans = 1024;  // spans whose records may still come
  const std::lock_guard lock(totals_mutex_);
  if (works_) return;
  try {
    spans_.push_back({now_ns, kNever});
  } catch (const std::bad_alloc&) {
    return;
  }
  works_ = true;
  if (spans_.size() <= kMostSpans) return;
  spans_.pop_front();
  ++spans_before_;
}

void ProgramRecording::EndWork(std::int64_t now_ns) noexcept {
  const std::lock_guard lock(totals_mutex_);
  if (!works_.exchange(false)) return;
  spans_.back().until_ns = now_ns;
}

ProgramRecording::Spans ProgramRecording::SpansAfter(std::int64_t followed) const {
  const std::lock_guard lock(totals_mutex_);
  Spans spans;
  spans.count = spans_before_ + static_cast<std::int64_t>(spans_.size());
  if (spans_.empty()) return spans;
  spans.last_until_ns = spans_.back().until_ns;
  const std::int64_t next = std::max<std::int64_t>(followed - spans_before_, 0);
  if (next < static_cast<std::int64_t>(spans_.size()))
    spans.next_from_ns = spans_[static_cast<std::size_t>(next)].from_ns;
  return spans;
}

void ProgramRecording::BeginWindow(std::int64_t start_ns) {
  const std::lock_guard lock(write_mutex_);
  window_start_ns_ = start_ns;
  const std::lock_guard totals_lock(totals_mutex_);
  (void)totals_.TakeWindow();
  (void)ranges_.TakeWindow();
}

void ProgramRecording::MoveWindow(std::int64_t start_ns) {
  const std::lock_guard lock(write_mutex_);
  window_start_ns_ = start_ns;
}

void ProgramRecording::BeginCount() {
  const std::lock_guard lock(totals_mutex_);
  totals_.BeginCount();
}

void ProgramRecording::Owe(const collect::AskedLaunches& asked) {
  const std::lock_guard lock(totals_mutex_);
  totals_.Owe(asked);
}

void ProgramRecording::Pause(std::int64_t now_ns) {
  const std::lock_guard lock(totals_mutex_);
  totals_.Pause(now_ns);
}

void ProgramRecording::Resume(std::int64_t now_ns) {
  const std::lock_guard lock(totals_mutex_);
  totals_.Resume(now_ns);
}

bool ProgramRecording::WriteWindow(std::int64_t end_ns, std::int64_t measuring_ns, Sample* sample) {
  const std::lock_guard lock(write_mutex_);
  if (writer_ == nullptr) return true;
  WatchWindow window{next_id_++, window_start_ns_, std::max(end_ns, window_start_ns_)};
  const std::int64_t length_ns = window.end_ns - window.start_ns;
  window.measuring_ns = std::min(measuring_ns, length_ns);
  const std::int64_t watched_ns = length_ns - window.measuring_ns;
  if (sample != nullptr) {
    const std::int64_t recorded_ns = std::min(sample->recorded_ns, watched_ns);
    window.unrecorded_ns = watched_ns - recorded_ns;
    if (watched_ns > 0)
      sample->asked.recorded_ratio = static_cast<double>(recorded_ns) / static_cast<double>(watched_ns);
  }
  collect::ProgramTotals::Window work;
  collect::NvtxRanges::Window ranges;
  {
    const std::lock_guard totals_lock(totals_mutex_);
    work = totals_.TakeWindow(sample == nullptr ? nullptr : &sample->asked);
    ranges = ranges_.TakeWindow(work.weights);
  }
  window.busy_ns = sample == nullptr ? work.busy_ns : std::min(work.busy_ns, watched_ns);
  const std::int64_t id = window.id;
  writer_->Write(window);
  window_start_ns_ = window.end_ns;
  const auto write_of_class = [&](auto& row) {
    const auto index = static_cast<std::size_t>(row.case_id);
    WriteClass(index);
    row.window_id = id;
    row.case_id = case_of_class_[index];
    writer_->Write(row);
    return index;
  };
  for (KernelWork& row : work.kernels) {
    const std::size_t index = write_of_class(row);
    std::vector<double>& durations = work.durations_ns[index];
    std::size_t& kept = durations_kept_[index];
    // Later windows are longer and add fewer: the recording of a long run stays small.
    if (kept >= kMostDurations / 2) durations.resize(std::min<std::size_t>(durations.size(), 8));
    if (kept >= kMostDurations) continue;
    kept += durations.size();
    writer_->Write(Timing{row.case_id, "", "activity", std::move(durations)});
  }
  for (MemoryWork& row : work.memory) {
    row.window_id = id;
    writer_->Write(row);
  }
  for (NvtxWork& row : ranges.ranges) {
    row.window_id = id;
    writer_->Write(row);
  }
  for (NvtxKernelWork& row : ranges.kernels) write_of_class(row);
  writer_->Commit();
  return !work.graph_cut;
}

std::vector<collect::LaunchCandidate> ProgramRecording::Candidates(
    const std::function<bool(std::uint32_t graph)>& unrolls) {
  const std::lock_guard lock(totals_mutex_);
  std::set<std::size_t> in_nodes;  // classes of graphs whose nodes can be measured
  std::set<std::uint32_t> whole;
  for (const auto& [id, graph] : totals_.graphs()) {
    if (unrolls(id)) unrolled_.insert(id);
    if (unrolled_.contains(id)) {
      in_nodes.insert(graph.classes.begin(), graph.classes.end());
    } else {
      whole.insert(id);
    }
  }
  std::vector<collect::LaunchCandidate> candidates;
  const double all_ns = static_cast<double>(std::max<std::int64_t>(1, totals_.kernel_ns()));
  const auto add = [&](std::string name, double share_ratio, std::int64_t launches, double mean_ns) {
    std::int64_t& seen = launches_seen_[name];
    candidates.push_back({std::move(name), share_ratio, launches, launches - seen, mean_ns});
    seen = launches;
  };
  for (std::size_t i = 0; i < totals_.classes().size(); ++i) {
    const collect::ProgramTotals::LaunchClass& entry = totals_.classes()[i];
    const std::int64_t launches = entry.launches - (in_nodes.contains(i) ? 0 : entry.graph_launches);
    if (launches == 0) continue;
    add(collect::LaunchKey(entry.launch.kernel_name, entry.launch.grid, entry.launch.block),
        static_cast<double>(entry.total_ns) / all_ns * static_cast<double>(launches) /
            static_cast<double>(entry.launches),
        launches, static_cast<double>(entry.total_ns) / static_cast<double>(entry.launches));
  }
  for (const auto& [id, graph] : totals_.graphs()) {
    if (graph.collective || !whole.contains(id)) continue;  // its kernels wait for another process, or are measured
    add(collect::GraphKey(id), static_cast<double>(graph.total_ns) / all_ns, graph.launches, 0.0);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const collect::LaunchCandidate& a, const collect::LaunchCandidate& b) {
              return a.share_ratio > b.share_ratio;
            });
  return candidates;
}

std::optional<std::size_t> ProgramRecording::FindClass(const std::string& key) const {
  const std::vector<collect::ProgramTotals::LaunchClass>& classes = totals_.classes();
  const auto found =
      std::find_if(classes.begin(), classes.end(), [&](const collect::ProgramTotals::LaunchClass& entry) {
        return collect::LaunchKey(entry.launch.kernel_name, entry.launch.grid, entry.launch.block) == key;
      });
  return found == classes.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - classes.begin()));
}

std::vector<collect::ProgramTotals::LaunchClass> ProgramRecording::Classes() const {
  const std::lock_guard lock(totals_mutex_);
  return totals_.classes();
}

bool ProgramRecording::Knows(const std::string& key) const {
  const std::lock_guard lock(totals_mutex_);
  return FindClass(key).has_value();
}

std::int64_t ProgramRecording::CaseOf(const std::string& key, const Launch* launch) {
  const std::lock_guard lock(write_mutex_);
  if (const auto known = case_of_key_.find(key); known != case_of_key_.end()) return known->second;
  std::optional<std::size_t> index;
  {
    const std::lock_guard totals_lock(totals_mutex_);
    index = FindClass(key);
  }
  if (index) {
    WriteClass(*index);
    return case_of_class_[*index];
  }
  if (launch != nullptr) return WriteCase(key, *launch);
  const Case graph{next_id_++, key, "program", std::nullopt};
  writer_->Write(graph);
  case_of_key_.emplace(key, graph.id);
  return graph.id;
}

void ProgramRecording::Finish(const std::vector<DataLoss>& losses, std::int64_t measured, std::int64_t replayed) {
  const std::lock_guard lock(write_mutex_);
  std::vector<DataLoss> all = losses;
  writer_->Write(collect::ReadClocks(device_, "after", all));
  collect::ProgramTotals::Lost lost;
  {
    const std::lock_guard totals_lock(totals_mutex_);
    lost = totals_.lost();
    if (records_dropped_ > 0) {
      all.push_back({"activity_dropped", "", "CUPTI dropped activity records", records_dropped_});
    }
  }
  if (lost.other_devices > 0) {
    all.push_back({"device_not_recorded", "work of other GPUs",
                   "a recording holds one GPU of a process, the first that it used", lost.other_devices});
  }
  if (measured > 0) {
    all.push_back({"launch_not_watched", "launches whose counters were measured",
                   "their times would be those of the measurement", measured});
  }
  // A launch that CUPTI replays has no times.
  if (lost.without_times > replayed) {
    all.push_back(
        {"activity_without_times", "", "CUPTI recorded no valid start and end", lost.without_times - replayed});
  }
  if (lost.beyond_classes > 0) {
    all.push_back({"launch_not_measured",
                   "launch classes after the first " + std::to_string(collect::ProgramTotals::kMostClasses),
                   "a recording holds so many", lost.beyond_classes});
  }
  if (lost.never_recorded > 0) {
    all.push_back({"launch_not_watched", "launches while a sample was recorded",
                   "the sample has no launch of their class or graph, so their time is not known",
                   lost.never_recorded});
  }
  if (lost.elsewhere > 0) {
    all.push_back({"launch_not_watched", "launches in other CUDA contexts than the first, while a sample was recorded",
                   "up to this many are not counted: --record-all always counts them", lost.elsewhere});
  }
  if (lost.from_before > 0.1 * lost.estimated) {
    all.push_back({"launch_not_watched", "times of launches while a sample was recorded",
                   "the sample has no such launch near them, so earlier times were used",
                   std::llround(lost.from_before)});
  }
  if (const std::int64_t beyond = ranges_.beyond_nodes(); beyond > 0) {
    all.push_back({"nvtx_range_not_recorded",
                   "NVTX ranges after the first " + std::to_string(collect::NvtxRanges::kMostNodes) +
                       " different ones, or deeper than 64",
                   "a recording holds so many; their kernels count for the range around them", beyond});
  }
  for (const DataLoss& loss : all) writer_->Write(loss);
  writer_->Finish();
}

void ProgramRecording::Commit() {
  const std::lock_guard lock(write_mutex_);
  writer_->Commit();
}

void ProgramRecording::Take(const RecordingPiece& piece) {
  const std::lock_guard lock(write_mutex_);
  std::visit([this](const auto* value) { writer_->Write(*value); }, piece);
}

}  // namespace fa_profile::inject
