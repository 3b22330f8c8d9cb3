#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/code_report.h"
#include "fa_profile/html_report.h"
#include "fa_profile/lint_report.h"
#include "fa_profile/report.h"
#include "fa_profile/selftest_report.h"
#include "fa_profile/trace_report.h"

namespace CLI {
class App;
}

namespace fa_profile::gate {
struct GateResult;
struct ReleaseResult;
struct TrialReport;
}  // namespace fa_profile::gate

namespace fa_profile::cli {

/// An output format. A null writer: the command does not support the format.
struct Format {
  const char* name;              ///< --format NAME
  bool for_people;               ///< stdout may also contain notices; every other format is parsed by a program
  bool for_files = false;        ///< not printed to a terminal
  const char* ending = nullptr;  ///< file name ending expected by the tools that read it; nullptr: the name
  void (*report)(std::ostream&, const Profile&, const exporters::ReportOptions&) = nullptr;
  /// Instead of `report`, for a format that includes the code.
  void (*report_with_code)(std::ostream&, const Profile&, const exporters::ReportCode&,
                           const exporters::ReportOptions&) = nullptr;
  void (*diff)(std::ostream&, const ProfileDiff&, const Profile& before, const Profile& after,
               const exporters::ReportOptions&) = nullptr;
  void (*ranks)(std::ostream&, const RankReport&, const exporters::ReportOptions&) = nullptr;
  void (*instructions)(std::ostream&, const std::vector<InstructionListing>&,
                       const exporters::ReportOptions&) = nullptr;
  void (*source)(std::ostream&, const std::vector<SourceListing>&, const exporters::ReportOptions&) = nullptr;
  void (*lint)(std::ostream&, const FileLint&, const exporters::ReportOptions&) = nullptr;
  std::unique_ptr<exporters::PackageWriter> (*package)(std::ostream&, const exporters::ReportOptions&) = nullptr;
  void (*selftest)(std::ostream&, const SelftestReport&, const exporters::ReportOptions&) = nullptr;
  /// Instead of a report: the recording's timeline. A format has a report or one of these.
  void (*timeline)(std::ostream&, const Timeline&) = nullptr;
  void (*gpu_time)(std::ostream&, const GpuTime&) = nullptr;
  std::string (*gate)(const gate::GateResult&) = nullptr;
  std::string (*release)(const gate::ReleaseResult&, std::size_t rows) = nullptr;
  std::string (*gate_selftest)(const gate::TrialReport&) = nullptr;
};

/// The formats of a report: they have `report` or `report_with_code`.
std::vector<const Format*> ReportFormats();

/// The table, in formats.cpp. The first row is every command's default.
std::span<const Format> Formats();

/// The formats that have this writer: FormatsWith(&Format::diff).
template <typename Writer>
std::vector<const Format*> FormatsWith(Writer Format::*writer) {
  std::vector<const Format*> formats;
  for (const Format& row : Formats()) {
    if (row.*writer != nullptr) formats.push_back(&row);
  }
  return formats;
}

/// "text, json or csv"
std::string ListedNames(const std::vector<const Format*>& formats);

/// Adds --format with these choices to a command. `format` is the first unless the user chooses another.
void AddFormatOption(CLI::App& command, const Format*& format, const std::vector<const Format*>& choices);

/// The same, with the formats that have this writer as choices: AddFormatOption(app, format, &Format::diff).
template <typename Writer>
void AddFormatOption(CLI::App& command, const Format*& format, Writer Format::*writer) {
  AddFormatOption(command, format, FormatsWith(writer));
}

}  // namespace fa_profile::cli
