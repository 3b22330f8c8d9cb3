#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::inject {

/// How the injected library measures counters.
enum class ProgramReplay {
  kSpread,  ///< each repetition of a launch class takes the next pass; nothing runs twice
  kKernel,  ///< the first launch of each class is replayed by CUPTI, once a pass
  kNone     ///< no counters
};

/// InjectPlan::record_all_s of this or more: to the end.
inline constexpr double kRecordAlways = 1e9;

/// What fa-profile tells the library that it injects into a program and into that program's children.
struct InjectPlan {
  Session session;
  std::vector<std::string> metrics;  ///< CUPTI names
  std::string built_in_set;          ///< the set that they are from; empty: none
  std::string output;                ///< recording to write; %p, %h and %q{NAME} as ExpandOutput() has them
  bool overwrite = false;            ///< replace an existing one
  std::string kernel_pattern;        ///< regular expression of the kernels whose counters are wanted; empty: all
  std::string nvtx_pattern;          ///< counters of launches inside these NVTX ranges alone; empty: of all
  std::int64_t launch_skip = 0;      ///< launches that these patterns find, before the first that is measured
  std::int64_t launch_count = 0;     ///< measured launches after which none is; 0: no limit
  bool from_start = true;            ///< false: between the program's calls of cuProfilerStart and -Stop alone
  int max_classes = 0;               ///< launch classes whose counters are measured
  ProgramReplay replay = ProgramReplay::kSpread;
  double least_share_ratio = 0.01;  ///< of the kernel time that a class must have for kSpread to measure it
  bool phases = false;              ///< sample where in their code kernels spend their time; with kSpread or kNone
  double delay_s = 0.0;             ///< from the start of CUDA until anything is recorded
  double duration_s = 0.0;          ///< after which nothing is; 0: to the end
  double record_all_s = 10.0;       ///< in which every launch is recorded; then a sample of them is
  bool children = true;             ///< record the other processes of the program, too
  std::string cache_dir;            ///< where validated metric plans are kept; empty: nowhere
};

/// The plan across the process boundary. ReadInjectPlan() throws Error.
std::string WriteInjectPlan(const InjectPlan& plan);
InjectPlan ReadInjectPlan(const std::string& text);

/// Environment variable with the run's folder, which is fa-profile's. It holds kInjectPlanFile, and the library puts
/// there what it has to tell: kInjectFirst, made by the first process that records, and a line for each recording in
/// kInjectRecordings: its path, and after a tab the new name of the ".part" that a killed process had left there.
inline constexpr const char* kInjectFolder = "FA_PROFILE_INJECT_FOLDER";
inline constexpr const char* kInjectPlanFile = "plan";
inline constexpr const char* kInjectFirst = "first";
inline constexpr const char* kInjectRecordings = "recordings";

/// The name of a process's recording: "%p" becomes the process's number, "%h" the host's name, "%q{NAME}" the
/// environment variable NAME (nothing where it is not set), "%%" a percent sign. `first`: of the first process that
/// records; another one whose name would be the same because `output` has no such sign gets its number before the
/// ending: "run.fap" becomes "run.4711.fap".
std::string ExpandOutput(const std::string& output, bool first);

}  // namespace fa_profile::inject
