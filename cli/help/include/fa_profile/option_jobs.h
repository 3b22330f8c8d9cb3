#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile::help {

/// Jobs of a command, one bit each: an option is for some of them.
using Jobs = unsigned;

/// One thing that a command can do, with the words that refusals use for it.
struct Job {
  Jobs bit = 0;
  std::string name{};     ///< "a program"
  std::string request{};  ///< how to request it: "name the program after --"
  /// Follows the name of an option that is not for this job: " has no effect on a program". Empty for the job that
  /// needs no request: then the refusal names the jobs that the option is for.
  std::string refusal{};
  std::string cure{};  ///< empty: it names the jobs that the option is for
};

/// An option on the command line, with this value.
struct Given {
  std::string option;   ///< "--replay"
  std::string value{};  ///< empty: any
};

/// The first has no effect with the second.
struct Exclusion {
  Given option;
  Given with;
  std::string why{};
  std::string cure = "leave one of them out";
  Jobs jobs = ~Jobs{0};  ///< only in these jobs
};

/// The options of a command with the jobs that each is for. Refusals of options without effect are derived from these
/// rows.
class OptionJobs {
 public:
  /// `command` outlives this.
  OptionJobs(const CLI::App& command, std::vector<Job> jobs) : command_(command), jobs_(std::move(jobs)) {}

  /// Adds a row. `why`: the reason given when the option is refused.
  void For(Jobs jobs, const CLI::Option* option, const std::string& why = "");
  void For(Jobs jobs, const std::vector<std::string>& options, const std::string& why = "");
  /// Adds a row for one value of an option.
  void ForValue(Jobs jobs, const Given& given, const std::string& why = "") { rows_.push_back({given, jobs, why}); }
  void Exclude(const Exclusion& exclusion) { exclusions_.push_back(exclusion); }

  /// Throws Error for the first option on the command line that has no effect on the job, in the order of the rows.
  /// Throws std::logic_error: an option of the command has no row.
  void Check(Jobs job) const;
  void Check(const Job& job) const;

  /// The options for this job: "--kernel, --shape or --causal".
  std::string ListedFor(Jobs job) const;

 private:
  struct Row {
    Given given;
    Jobs jobs;
    std::string why;
  };

  bool Is(const Given& given) const;
  void RequireRows() const;
  /// The `text` of each of these jobs, as a list.
  std::string Listed(Jobs jobs, std::string Job::*text) const;
  std::string Instead(const Row& row, Jobs job) const;
  Error Refusal(const Row& row, const Job& job) const;

  const CLI::App& command_;
  std::vector<Job> jobs_;
  std::vector<Row> rows_;
  std::vector<Exclusion> exclusions_;
};

}  // namespace fa_profile::help
