#include "fa_profile/option_jobs.h"

#include <algorithm>
#include <stdexcept>

#include "fa_profile/help_text.h"
#include "fa_profile/usage_errors.h"

namespace fa_profile::help {
namespace {

/// CLI11's own get_name() is empty for an option that help does not list.
std::string NameOf(const CLI::Option& option) { return NamesOf(option).back(); }

std::string NameOf(const Given& given) { return given.option + (given.value.empty() ? "" : " " + given.value); }

std::string Because(const std::string& why) { return why.empty() ? "" : ": " + why; }

}  // namespace

void OptionJobs::For(Jobs jobs, const CLI::Option* option, const std::string& why) {
  For(jobs, std::vector{NameOf(*option)}, why);
}

void OptionJobs::For(Jobs jobs, const std::vector<std::string>& options, const std::string& why) {
  for (const std::string& option : options) rows_.push_back({{option}, jobs, why});
}

bool OptionJobs::Is(const Given& given) const {
  const CLI::Option& option = *command_.get_option(given.option);
  return option.count() > 0 && (given.value.empty() || option.results().back() == given.value);
}

void OptionJobs::RequireRows() const {
  for (const CLI::Option* const option : command_.get_options()) {
    if (option == command_.get_help_ptr() || option == command_.get_version_ptr()) continue;
    if (NamesOf(*option).empty()) continue;  // an argument without a name, which each job takes
    const std::string name = NameOf(*option);
    const auto is_its = [&name](const Row& row) { return row.given.option == name; };
    if (std::ranges::none_of(rows_, is_its)) throw std::logic_error(name + " does not name its jobs");
  }
}

std::string OptionJobs::Listed(Jobs jobs, std::string Job::*text) const {
  std::vector<std::string> texts;
  for (const Job& job : jobs_) {
    if ((job.bit & jobs) != 0) texts.push_back(job.*text);
  }
  return help::Listed(texts);
}

std::string OptionJobs::ListedFor(Jobs job) const {
  std::vector<std::string> options;
  for (const Row& row : rows_) {
    if ((row.jobs & job) != 0 && row.given.value.empty()) options.push_back(row.given.option);
  }
  return help::Listed(options);
}

// For an option with a row per value, the values that are for the job.
std::string OptionJobs::Instead(const Row& row, Jobs job) const {
  if (row.given.value.empty()) return "leave it out";
  std::vector<std::string> values;
  for (const Row& other : rows_) {
    const bool is_value = other.given.option == row.given.option && !other.given.value.empty();
    if (is_value && (other.jobs & job) != 0) values.push_back(other.given.value);
  }
  return "use " + help::Listed(values);
}

Error OptionJobs::Refusal(const Row& row, const Job& job) const {
  const std::string option = NameOf(row.given);
  const std::string instead = Instead(row, job.bit);
  if (job.refusal.empty()) {
    return Error(option + " applies only to " + Listed(row.jobs, &Job::name),
                 Listed(row.jobs, &Job::request) + ", or " + instead);
  }
  std::string cure = instead;
  if (row.given.value.empty()) {
    cure += "; " + (job.cure.empty() ? "it is an option of " + Listed(row.jobs, &Job::name) : job.cure);
  }
  return Error(option + job.refusal + Because(row.why), cure);
}

void OptionJobs::Check(Jobs job) const { Check(*std::ranges::find(jobs_, job, &Job::bit)); }

void OptionJobs::Check(const Job& job) const {
  RequireRows();
  for (const Row& row : rows_) {
    if ((row.jobs & job.bit) == 0 && Is(row.given)) throw Refusal(row, job);
  }
  for (const Exclusion& one : exclusions_) {
    if ((one.jobs & job.bit) == 0 || !Is(one.option) || !Is(one.with)) continue;
    throw Error(NameOf(one.option) + " has no effect with " + NameOf(one.with) + Because(one.why), one.cure);
  }
}

}  // namespace fa_profile::help
