#include "command.h"

#include "fa_profile/error.h"
#include "fa_profile/phase_map_file.h"
#include "fa_profile/usage_errors.h"

namespace fa_profile::cli {

void RefuseOptions(const CLI::App& app, const std::vector<const char*>& options, const std::string& what,
                   const std::string& cure) {
  for (const char* const option : options) {
    const CLI::Option* const known = app.get_option_no_throw(option);
    if (known != nullptr && known->count() > 0) throw Error(option + what, cure);
  }
}

void AddPhaseMap(CLI::App& app, Invocation& invocation) {
  app.add_option("--phase-map", invocation.phase_map, "YAML file that assigns code to phases")->type_name("FILE");
  app.add_option("--phase-from", invocation.phase_from,
                 "Where phases come from: map (--phase-map), functions (of the code), code (inferred from machine "
                 "code), opcodes; default: the first of these that is available")
      ->check(help::OneOf({"map", "functions", "code", "opcodes"}));
}

void AddLength(CLI::App& app, ReportFilter& filter) {
  CLI::Option* const details = app.add_flag("--details", filter.details,
                                            "Everything about each kernel; the default for one kernel at one shape");
  app.add_flag("--summary", filter.summary, "Only tables and findings, even for one kernel at one shape")
      ->excludes(details);
}

std::optional<PhaseMap> ReadPhaseMap(const Invocation& invocation) {
  if (invocation.phase_map.empty()) return std::nullopt;
  return load::LoadPhaseMap(invocation.phase_map);
}

PhaseSource ReadPhaseSource(const Invocation& invocation) {
  const std::string& from = invocation.phase_from;
  if (from == "map" && invocation.phase_map.empty()) {
    throw Error("--phase-from map needs a phase map", "give one with --phase-map FILE.yaml (docs/phase-map.md)");
  }
  if (!from.empty() && from != "map" && !invocation.phase_map.empty()) {
    throw Error("--phase-map has no effect with --phase-from " + from, "leave one of them out");
  }
  return from == "map"         ? PhaseSource::kMap
         : from == "functions" ? PhaseSource::kFunctions
         : from == "code"      ? PhaseSource::kCode
         : from == "opcodes"   ? PhaseSource::kOpcodes
                               : PhaseSource::kBest;
}

}  // namespace fa_profile::cli
