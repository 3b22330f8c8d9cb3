#pragma once

#include <map>
#include <string>

namespace fa_profile {

/// What users read about one kind of finding.
struct FindingRule {
  std::string id;         ///< stable, kebab-case: "serial-softmax"
  std::string title;      ///< one line
  std::string story;      ///< what it means, how it is measured, what to change, when it is not a problem; paragraphs
                          ///< are separated by a newline
  std::string condition;  ///< when it fires, with its thresholds, in words
  std::string weight;     ///< what its weight is a share of, in words; empty for lint, which measures no time
  std::string source;     ///< where the measure or the threshold comes from
  std::string cure;       ///< one line
  std::map<std::string, std::string> cure_of_stall;  ///< for bottleneck-phase, by what the phase waits for; "other":
                                                     ///< any other reason
};

}  // namespace fa_profile
