#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// What is wrong, `where` (" at 1,8,512,64"), how it was measured, and the cure.
void WriteFinding(TextPage& page, const Finding& finding, std::string_view where = {},
                  std::string_view lead = "  finding    ");

/// Writes each of the entry's findings.
void WriteFindings(TextPage& page, const ProfileEntry& entry);

/// The cost and work of the entry's phases, a table each, and how they were measured. Nothing without phases.
void WritePhases(TextPage& page, const ProfileEntry& entry);

/// "phases inferred from machine code: 83 % of samples direct, 16 % derived, 1 % guessed; QK:PV 1.00", for an inference
/// that was not refused.
std::string InferenceText(const PhaseInference& inference);

/// What is waited for: "matrix"; for an mbarrier completed by copies, where these are issued: "load_kv :81 :83" in the
/// file of `place`, where the wait is; the first two.
std::string WaitedFor(const std::string& kind, const std::string& place, const std::vector<PhasePlace>& copies);

/// "softmax 55%": the phase with the most time; "n/a" without phases.
std::string TopPhase(const ProfileEntry& entry);

}  // namespace fa_profile::exporters
