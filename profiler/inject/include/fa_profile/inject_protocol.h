#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::inject {

/// How the injected library measures counters.
enum class ProgramReplay {
  kSpread,  ///< each repetition of a launch class collects the next pass; nothing runs twice
  kKernel,  ///< CUPTI replays the first launch of each class, once per pass
  kNone     ///< no counters
};

/// With InjectPlan::record_all_s at or above this, every launch is recorded to the end.
inline constexpr double kRecordAlways = 1e9;

/// What fa-profile tells the library that it injects into a program and into that program's children.
struct InjectPlan {
  Session session;
  std::vector<std::string> metrics;        ///< CUPTI names
  std::string built_in_set;                ///< the set they belong to; empty: none
  std::vector<std::string> first_metrics;  ///< as in CounterPlan
  std::string output;                      ///< recording to write; %p, %h and %q{NAME} as in ExpandOutput()
  bool overwrite = false;                  ///< replace an existing one
  std::string kernel_pattern;     ///< regular expression for the kernels whose counters are measured; empty: all
  std::string nvtx_pattern;       ///< only launches inside these NVTX ranges get counters; empty: all launches
  std::int64_t launch_skip = 0;   ///< matching launches to skip before the first measured one
  std::int64_t launch_count = 0;  ///< stop after this many measured launches; 0: no limit
  bool from_start = true;         ///< false: only between the program's calls of cuProfilerStart and cuProfilerStop
  int max_classes = 0;            ///< launch classes whose counters are measured
  ProgramReplay replay = ProgramReplay::kSpread;
  double least_share_ratio = 0.01;  ///< share of kernel time a class needs for kSpread to measure it
  bool phases = false;              ///< sample where in their code kernels spend their time; with kSpread or kNone
  double delay_s = 0.0;             ///< time from the start of CUDA before recording begins
  double duration_s = 0.0;          ///< recording ends after this; 0: at the end of the program
  double record_all_s = 10.0;       ///< every launch is recorded for this long, then a sample of them
  bool children = true;             ///< also record the program's other processes
  std::string cache_dir;            ///< where validated metric plans are kept; empty: nowhere
};

/// The plan across the process boundary. ReadInjectPlan() throws Error.
std::string WriteInjectPlan(const InjectPlan& plan);
InjectPlan ReadInjectPlan(const std::string& text);

/// Environment variable that names the run's folder, which belongs to fa-profile. It holds kInjectPlanFile; the library
/// reports back there: kInjectFirst, made by the first process that records, and a line for each recording in
/// kInjectRecordings: its path, and after a tab the new name of a ".part" that a killed process had left there.
inline constexpr const char* kInjectFolder = "FA_PROFILE_INJECT_FOLDER";
inline constexpr const char* kInjectPlanFile = "plan";
inline constexpr const char* kInjectFirst = "first";
inline constexpr const char* kInjectRecordings = "recordings";

/// The name of a process's recording: "%p" becomes the process's number, "%h" the host's name, "%q{NAME}" the
/// environment variable NAME (nothing where it is not set), "%%" a percent sign. `first`: this is the first process
/// that records; a later one whose name would clash because `output` has no such sign gets its number before the
/// ending: "run.fap" becomes "run.4711.fap".
std::string ExpandOutput(const std::string& output, bool first);

}  // namespace fa_profile::inject
