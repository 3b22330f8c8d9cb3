#include "gate_recording.h"

#include <algorithm>

#include "fa_profile/baseline.h"
#include "fa_profile/baseline_files.h"
#include "fa_profile/error.h"
#include "fa_profile/evidence.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/thresholds.h"
#include "fa_profile/utc_time.h"

namespace fa_profile::python {
namespace {

// A base without cases, on the candidate's machine: every case is new.
gate::Evidence NoBase(const gate::Evidence& candidate) {
  gate::Evidence base;
  base.environment = candidate.environment;
  base.origin = "none: limits alone";
  return base;
}

// Without a base every case is new, so saying it means nothing.
void LeaveOutNews(gate::GateResult& result) {
  std::erase_if(result.notes, [](const std::string& note) { return note.starts_with("new case without a base"); });
  for (gate::CaseVerdict& one : result.cases) {
    if (one.verdict == gate::Verdict::kPass) one.headline.clear();
  }
}

// A comparison that compares nothing would pass: every case is new, or missing.
void RequireCommonCase(const gate::GateInput& input) {
  const auto is_in_base = [&](const gate::CaseFacts& facts) {
    return facts.kernel != gate::kReferenceKernel && gate::FindCase(input.base, facts.kernel, facts.shape);
  };
  if (std::ranges::any_of(input.candidate.cases, is_in_base)) return;
  throw Error("no kernel and shape of " + input.candidate.origin + " is in the baseline " + input.base.origin,
              "give a baseline that measured the same kernels at the same shapes");
}

}  // namespace

gate::GateResult JudgeRecording(const Question& question) {
  gate::Thresholds thresholds;
  if (!question.thresholds.empty()) {
    thresholds = gate::ParseThresholds(question.thresholds, question.thresholds_name);
  }
  gate::GateInput input;
  input.candidate = gate::LoadEvidence({question.candidate});
  input.base = question.baseline.empty() ? NoBase(input.candidate) : gate::LoadEvidence(question.baseline);
  if (!question.baseline.empty()) RequireCommonCase(input);
  input.base_is_promoted = question.baseline.size() == 1 && gate::IsPromotedBaseline(question.baseline.front());
  input.design = input.base_is_promoted ? "baseline" : "recordings";
  input.today = UtcNow("%Y-%m-%d");
  gate::GateResult result = gate::Judge(input, thresholds);
  if (question.baseline.empty()) LeaveOutNews(result);
  return result;
}

}  // namespace fa_profile::python
