#pragma once

#include <limits>
#include <string>
#include <vector>

#include "fa_profile/gate.h"

/// Results of the gate as its reports are tested on them.
namespace fa_profile::sample {

inline gate::Comparison Compared(std::string phase, std::string metric, std::string unit, int tier, double base,
                                 double candidate, gate::Verdict verdict) {
  gate::Comparison c;
  c.phase = std::move(phase);
  c.metric = std::move(metric);
  c.unit = std::move(unit);
  c.tier = tier;
  c.base = base;
  c.candidate = candidate;
  c.change = c.metric == gate::kPhaseTime ? candidate - base : candidate / base - 1.0;
  c.verdict = verdict;
  c.blocking = true;
  return c;
}

inline gate::Comparison Paired(gate::Comparison c, double half_width, double p) {
  c.change_low = *c.change - half_width;
  c.change_high = *c.change + half_width;
  c.p = p;
  c.pairs = 14;
  return c;
}

/// One case of each kind: slower (with counters and a warning), wrong, missing, suspect, faster, the same machine code.
inline gate::GateResult Regression() {
  gate::GateResult result;
  result.verdict = gate::Verdict::kRegression;
  result.headline = "REGRESSION: mma 1,8,512,64 is 11.8 % slower: softmax";
  result.design = "pairs";
  gate::Environment& base = result.base;
  base.gpu_name = "NVIDIA H200";
  base.gpu_uuid = "GPU-12345678-0000-1111-2222-333344445555";
  base.chip = "GH100";
  base.driver_version = "580.159.04";
  base.cuda_driver_version = "13.0";
  base.cuda_runtime_version = "13.0";
  base.cupti_version = "13.0";
  base.sm_clock_max_hz = 1'980'000'000;
  base.memory_clock_max_hz = 3'201'000'000;
  base.tool_version = "0.1.0";
  base.tool_commit = "0123456789ab";
  base.taken_at = "2026-11-21T12:00:00Z";
  result.candidate = base;
  result.candidate.tool_commit = "ba9876543210";
  result.base_origin = "build main";
  result.candidate_origin = "build feature";
  result.notes = {"the exception of ci/thresholds.yaml:31 expired on 2026-11-01", "1 of 15 pairs dropped: throttled"};
  result.control = gate::ControlResult{24, 0, 0, 0, 0.0004, true, ""};
  result.reproduce = "fa-profile gate --pair main feature --thresholds ci/thresholds.yaml";
  result.today = "2026-11-21";

  gate::CaseVerdict wrong;
  wrong.kernel = "wmma";
  wrong.shape = "1,8,512,64";
  wrong.verdict = gate::Verdict::kRegression;
  wrong.incorrect = true;
  wrong.headline = "not correct: 12 of 32768 values are not finite";

  gate::CaseVerdict slower;
  slower.kernel = "mma";
  slower.shape = "1,8,512,64";
  slower.verdict = gate::Verdict::kRegression;
  slower.headline = "11.8 % slower: softmax costs 95 % more";
  slower.why = {"softmax costs 95 % more: 31.0 -> 54.2 % of the time",
                "threads per instruction in softmax 32 -> 1 (-96.9 %)",
                "barrier stalls 4.1 -> 31.0 % of the warps' time"};
  slower.findings = {{"serial-softmax", "softmax takes 54 % of the time with 1.0 of 32 threads per instruction"}};
  slower.phase = "softmax";
  slower.bottleneck_before = "qk";
  slower.bottleneck_after = "softmax";
  slower.place = gate::SourcePlace{"kernels/mma.cu", 118};
  slower.comparisons.push_back(Paired(
      Compared("", gate::kDuration, "seconds", 2, 5.86e-6, 6.551e-6, gate::Verdict::kRegression), 0.006, 0.00006));
  slower.comparisons.back().p_adjusted = 0.0002;
  slower.comparisons.back().reason = "over the 2 % allowed, in time and in cycles";
  slower.comparisons.back().rule = "ci/thresholds.yaml:12";
  slower.comparisons.back().allowed = "2 %";
  slower.comparisons.push_back(Paired(
      Compared("softmax", gate::kPhaseTime, "ratio", 2, 0.31, 0.542, gate::Verdict::kRegression), 0.01, 0.00006));
  slower.comparisons.back().told = true;
  slower.comparisons.back().allowed = "1.5 points";
  slower.comparisons.push_back(
      Compared("", "instructions", "instructions", 1, 1310720, 1441792, gate::Verdict::kRegression));
  slower.comparisons.back().allowed = "0.5 %";
  slower.comparisons.push_back(Compared("", "registers_per_thread", "count", 0, 168, 172, gate::Verdict::kRegression));
  slower.comparisons.back().blocking = false;
  slower.comparisons.back().reason = "more registers, as many blocks per SM";
  slower.comparisons.push_back(Compared("qk", gate::kPhaseTime, "ratio", 2, 0.4, 0.39, gate::Verdict::kPass));
  slower.comparisons.push_back(
      Paired(Compared("", gate::kCycles, "cycles", 2, 11603, 12960, gate::Verdict::kRegression), 0.005, 0.00006));
  slower.comparisons.back().reason = slower.comparisons.front().reason;
  slower.comparisons.back().rule = slower.comparisons.front().rule;
  slower.comparisons.back().allowed = slower.comparisons.front().allowed;

  gate::CaseVerdict missing;
  missing.kernel = "tiled";
  missing.shape = "1,8,512,64";
  missing.verdict = gate::Verdict::kMissing;
  missing.headline = "in the baseline and not in the candidate";

  gate::CaseVerdict suspect;
  suspect.kernel = "scalar";
  suspect.shape = "1,8,512,64 causal";
  suspect.verdict = gate::Verdict::kSuspect;
  suspect.headline = "3.1 % slower, not yet confirmed";
  suspect.comparisons.push_back(
      Paired(Compared("", gate::kDuration, "seconds", 2, 219e-6, 225.8e-6, gate::Verdict::kSuspect), 0.02, 0.031));
  suspect.comparisons.back().change_low = -std::numeric_limits<double>::infinity();

  gate::CaseVerdict faster;
  faster.kernel = "serial_softmax";
  faster.shape = "1,8,512,64";
  faster.verdict = gate::Verdict::kImproved;
  faster.headline = "52.0 % faster";
  faster.comparisons.push_back(
      Paired(Compared("", gate::kDuration, "seconds", 2, 569e-6, 273e-6, gate::Verdict::kImproved), 0.004, 0.00006));
  faster.comparisons.push_back(Compared("", "blocks_per_sm", "count", 0, 3, 1, gate::Verdict::kRegression));
  faster.comparisons.back().blocking = false;
  faster.comparisons.back().overruled = true;
  faster.comparisons.back().reason = "resident blocks per SM 3 -> 1, and 52.0 % faster all the same";

  gate::CaseVerdict same;
  same.kernel = "minimal";
  same.shape = "1,8,512,64";
  same.identical = true;
  same.headline = "same machine code";

  result.cases = {wrong, slower, suspect, missing, faster, same};
  return result;
}

/// Two kernels that are as they were.
inline gate::GateResult Passed() {
  gate::GateResult result = Regression();
  result.verdict = gate::Verdict::kPass;
  result.headline = "PASS: 2 kernels are no slower";
  gate::CaseVerdict mma = result.cases[1];
  mma.verdict = gate::Verdict::kPass;
  mma.headline = mma.phase = "";
  mma.why.clear();
  mma.findings.clear();
  mma.comparisons = {
      Paired(Compared("", gate::kDuration, "seconds", 2, 5.86e-6, 5.87e-6, gate::Verdict::kPass), 0.002, 0.9)};
  result.cases = {mma, result.cases.back()};
  result.notes.clear();
  return result;
}

inline gate::GateResult Improved() {
  gate::GateResult result = Regression();
  result.verdict = gate::Verdict::kImproved;
  result.headline = "IMPROVED: serial_softmax 1,8,512,64 is 52.0 % faster";
  result.cases = {result.cases[4]};
  return result;
}

/// Another GPU: nothing was compared.
inline gate::GateResult Incomparable() {
  gate::GateResult result = Regression();
  result.verdict = gate::Verdict::kIncomparable;
  result.headline = "INCOMPARABLE: another GPU model";
  result.candidate.gpu_name = "NVIDIA A100-SXM4-80GB";
  result.incomparable = {"GPU NVIDIA H200 and NVIDIA A100-SXM4-80GB"};
  result.control.reset();
  result.cases.erase(result.cases.begin() + 1, result.cases.end());
  gate::CaseVerdict& only = result.cases.front();
  only.verdict = gate::Verdict::kIncomparable;
  only.incorrect = false;
  only.headline = "measured on another GPU model";
  return result;
}

/// A control that failed although no case is bad.
inline gate::GateResult ControlFailed() {
  gate::GateResult result = Passed();
  result.verdict = gate::Verdict::kInconclusive;
  result.headline = "INCONCLUSIVE: the machine moved, not the code";
  result.control = gate::ControlResult{24, 3, 0, 0, 0.041, false, "the reference kernel became 4.1 % slower"};
  return result;
}

/// A build without a GPU.
inline gate::GateResult Static() {
  gate::GateResult result;
  result.verdict = gate::Verdict::kRegression;
  result.headline = "REGRESSION: mma spills 64 bytes";
  result.design = "static";
  gate::CaseVerdict spills;
  spills.kernel = "mma";
  spills.verdict = gate::Verdict::kRegression;
  spills.headline = "spills 64 bytes a thread";
  spills.comparisons.push_back(Compared("", "spill_bytes", "bytes", 0, 0, 64, gate::Verdict::kRegression));
  spills.comparisons.back().change.reset();
  spills.comparisons.back().told = true;
  spills.comparisons.back().rule = "ci/thresholds.yaml:20";
  result.cases = {spills};
  result.reproduce = "fa-profile gate --static build-main build";
  return result;
}

/// Every text of `result` replaced.
inline gate::GateResult WithTexts(gate::GateResult result, const std::string& text) {
  for (gate::Environment* e : {&result.base, &result.candidate}) {
    for (std::string* field :
         {&e->gpu_name, &e->gpu_uuid, &e->chip, &e->driver_version, &e->cuda_driver_version, &e->cuda_runtime_version,
          &e->cupti_version, &e->tool_version, &e->tool_commit, &e->taken_at}) {
      *field = text;
    }
  }
  for (std::string* field : {&result.headline, &result.design, &result.base_origin, &result.candidate_origin,
                             &result.reproduce, &result.today}) {
    *field = text;
  }
  result.incomparable = {text, text};
  result.notes = {text, text};
  result.suspects = {text};
  if (result.control) result.control->reason = text;
  for (gate::CaseVerdict& v : result.cases) {
    for (std::string* field : {&v.kernel, &v.shape, &v.headline, &v.phase, &v.bottleneck_before, &v.bottleneck_after}) {
      *field = text;
    }
    v.why = {text, text};
    for (gate::CaseFinding& finding : v.findings) finding = {text, text};
    v.place = gate::SourcePlace{text, 1};
    for (gate::Comparison& c : v.comparisons) c.phase = c.metric = c.unit = c.reason = c.rule = text;
  }
  return result;
}

/// Texts that an attacker could hide in the name of a kernel. Each says OWNED where it would do something; in the octal
/// escapes three digits are taken, so that a letter may follow.
inline std::vector<std::string> HostileTexts() {
  return {
      "<script>alert('OWNED')</script><img src=x onerror=OWNED><!-- OWNED",
      "-->\n<!-- fa-profile gate -->\n# OWNED\n\n> OWNED\n- OWNED\n\n---\n",
      "[OWNED](https://owned.example) ![OWNED](https://owned.example/x.png) [x]: https://owned.example",
      "https://owned.example www.owned.example (www.owned.example) owned@owned.example mailto:owned@owned.example",
      "@owned @owned/team #1 GH-1 owned/owned#1 !1 %1 &1 $1 ~owned 0123456789abcdef0123456789abcdef01234567 :tada:",
      "`OWNED` ``OWNED`` ```\nOWNED\n``` ~~~\nOWNED\n~~~ ````` \\`OWNED\\`",
      "a|b \\| c \\\\| OWNED | OWNED |\n| OWNED | OWNED |",
      "*OWNED* **OWNED** _OWNED_ ~~OWNED~~ $OWNED$ $$OWNED$$ \\*OWNED\\*",
      "::error title=OWNED::OWNED\n::stop-commands::OWNED\r\n::add-mask::OWNED\r##[error]OWNED %0A::error::OWNED",
      "##[group]OWNED",
      "\302\240::error::OWNED \342\200\250::error::OWNED \302\205::error::OWNED",
      "]]></failure></testcase><testcase name=\"OWNED\"/><!DOCTYPE x [<!ENTITY y SYSTEM \"file:///etc/passwd\">]> &y; "
      "&#0;",
      "\"}],\"OWNED\":[{\"\\u0000\\",
      std::string("\033]0;OWNED\007\033[2J\r\n\t\0\177 nul", 21),
      "\377\376\303\050 \355\240\200 \365\200\200\200 \300\257 cut \342\202",
      "\342\200\256DENWO \342\201\246 \342\200\213 zero width \302\23331m \357\273\277 \357\277\276 \363\240\201\201",
      "../../OWNED",
      "/etc/OWNED",
      "kernels/a b,c:d%0A.cu",
      "{0} {OWNED} [0](OWNED)",
      "1. OWNED",
      "- OWNED",
      "+ OWNED",
      "1) OWNED",
      "/assign @owned",
      "    OWNED indented",
      "$(touch OWNED) `touch OWNED`; touch OWNED",
      std::string(70'000, 'x'),
      std::string(5'000, '`'),
      std::string(5'000, ' '),
      "",
  };
}

}  // namespace fa_profile::sample
