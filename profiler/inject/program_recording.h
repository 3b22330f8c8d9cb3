#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/inject_protocol.h"
#include "fa_profile/launch_sample.h"
#include "fa_profile/nvtx_ranges.h"
#include "fa_profile/program_api.h"
#include "fa_profile/program_totals.h"
#include "fa_profile/recording_file.h"

namespace fa_profile::inject {

/// The recording of one process: windows of what its GPU did, and the cases of its launch classes. Any thread.
class ProgramRecording final : public collect::WorkObserver, public collect::LaunchClasses, public RecordingSink {
 public:
  ProgramRecording(const InjectPlan& plan, collect::NvtxRanges& ranges) : plan_(plan), ranges_(ranges) {}

  void OnWork(const collect::GpuWork& work) noexcept override;
  void OnLostWork(std::int64_t records) noexcept override;

  /// Something worth a file was recorded.
  bool HasWork() const;

  /// Creates the file and writes what is known at the start. Returns the new name of a `.part` that an earlier process
  /// had left at this path; empty: there was none. Throws Error.
  std::string Create(const std::string& path, const Device& device);
  bool created() const { return created_; }

  /// Work counts if it begins in a span between these two. Called on the program's threads.
  void BeginWork(std::int64_t now_ns) noexcept;
  void EndWork(std::int64_t now_ns) noexcept;
  /// Work that begins now counts.
  bool works() const { return works_; }
  static constexpr std::int64_t kNever = INT64_MAX;
  struct Span {
    std::int64_t from_ns = kNever;
    std::int64_t until_ns = kNever;  ///< kNever: not yet
  };
  /// Number of spans so far; start of the one after the first `followed`; end of the last one.
  struct Spans {
    std::int64_t count = 0;
    std::int64_t next_from_ns = kNever;
    std::int64_t last_until_ns = kNever;
  };
  Spans SpansAfter(std::int64_t followed) const;

  /// The next window begins now: nothing was watched before. At first it begins with Create().
  void BeginWindow(std::int64_t start_ns);
  /// Moves the window's start to this time; what has come belongs to it.
  void MoveWindow(std::int64_t start_ns);
  /// Ends a window and writes it. `measuring_ns`: time in it in which counters were measured. `sample`: set if only
  /// part of the launches was recorded. False: that part is too short for a graph of the program. Throws Error.
  struct Sample {
    std::int64_t recorded_ns = 0;  ///< time in it in which launches were recorded
    collect::AskedLaunches asked;  ///< all launches
  };
  bool WriteWindow(std::int64_t end_ns, std::int64_t measuring_ns, Sample* sample = nullptr);
  /// See ProgramTotals.
  void BeginCount();
  void Owe(const collect::AskedLaunches& asked);
  /// Launches are not recorded from Pause() to Resume().
  void Pause(std::int64_t now_ns);
  void Resume(std::int64_t now_ns);

  std::vector<collect::LaunchCandidate> Candidates(const std::function<bool(std::uint32_t graph)>& unrolls) override;
  std::int64_t CaseOf(const std::string& key, const Launch* launch = nullptr) override;
  /// The launch classes so far.
  std::vector<collect::ProgramTotals::LaunchClass> Classes() const;
  bool Knows(const std::string& key) const override;

  /// Writes the last things and gives the file its name. `measured`: launches whose counters were measured; `replayed`:
  /// those of them that CUPTI replayed. Throws Error.
  void Finish(const std::vector<DataLoss>& losses, std::int64_t measured, std::int64_t replayed);

  // RecordingSink, for the counters.
  void Commit() override;

 private:
  void Take(const RecordingPiece& piece) override;
  std::optional<std::size_t> FindClass(const std::string& key) const;  // under totals_mutex_
  // Under write_mutex_:
  void WriteClass(std::size_t index);
  std::int64_t WriteCase(const std::string& key, Launch launch);

  const InjectPlan& plan_;
  collect::NvtxRanges& ranges_;
  std::atomic<bool> works_ = false;
  mutable std::mutex totals_mutex_;
  std::deque<Span> spans_;  // the last ones
  std::int64_t spans_before_ = 0;
  collect::ProgramTotals totals_;
  std::int64_t records_dropped_ = 0;
  std::map<std::string, std::int64_t> launches_seen_;  // at the last Candidates()
  std::set<std::uint32_t> unrolled_;                   // graphs whose nodes could be measured, including those that are
                                                       // gone

  std::recursive_mutex write_mutex_;  // locked before totals_mutex_
  std::unique_ptr<store::RecordingWriter> writer_;
  std::atomic<bool> created_ = false;
  Device device_;
  std::int64_t next_id_ = 1;
  std::int64_t window_start_ns_ = 0;
  std::vector<std::int64_t> case_of_class_;  // 0: not written yet
  std::map<std::string, std::int64_t> case_of_key_;
  std::map<std::size_t, std::size_t> durations_kept_;
};

}  // namespace fa_profile::inject
