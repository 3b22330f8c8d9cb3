#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fa_profile/gate.h"

/// Made-up evidence of two builds of a small ladder: a run of the gate with exactly the differences that a test needs.
namespace fa_profile {

/// How one case of the candidate differs from the base.
struct Effect {
  double time = 1.0;    ///< candidate's duration over the base's
  double cycles = 0.0;  ///< the same in cycles; 0: as the time
  double seconds = 100e-6;
};

/// A call whose tolerance, 0.1 us, is so wide that its time cannot show that it is not slower.
inline constexpr Effect kTooShort{1.0, 0.0, 1e-6};

class Scenario {
 public:
  /// Two builds of one correct kernel whose machine code differs.
  explicit Scenario(const std::string& design = "pairs") {
    input.design = design;
    input.today = "2026-11-21";
    input.drawn_pairs = true;  // most tests are not about the run's own controls
    for (gate::Evidence* const side : {&input.base, &input.candidate}) {
      side->environment.gpu_name = "NVIDIA H200";
      side->environment.gpu_uuid = "GPU-1";
      side->environment.driver_version = "580.1";
      side->environment.cuda_driver_version = "13.0";
      side->environment.cuda_runtime_version = "13.0";
      side->environment.sm_clock_max_hz = 1'980'000'000;
      side->environment.memory_clock_max_hz = 3'201'000'000;
    }
    AddCase("mma");
  }

  void AddCase(const std::string& kernel) {
    for (gate::Evidence* const side : {&input.base, &input.candidate}) {
      gate::CaseFacts facts;
      facts.kernel = kernel;
      facts.shape = input.design == "static" ? "" : "1,8,512,64";
      if (input.design != "static") {
        facts.verification = Verification{};
        facts.verification->draws = facts.verification->draws_passed = 3;
        facts.launches.push_back({kernel + "_kernel", {8, 4, 1}, {128, 1, 1}, {}, 4096, 0, 100, 4});
      }
      gate::CodeFacts code;
      code.symbol = code.name = kernel + "_kernel";
      code.architecture = "sm_90a";
      code.code_hash = side == &input.base ? "00000000000000aa" : "00000000000000bb";
      code.registers_per_thread = 100;
      code.stack_frame_bytes = 0;
      code.threads_per_block = 128;
      code.blocks_per_sm = 4;
      code.counts["qk"] = {{"instructions", 400}, {"tensor", 32}};
      code.counts["softmax"] = {{"instructions", 600}, {"tensor", 0}};
      facts.code.push_back(code);
      facts.places[""] = {"kernels/mma.cu", 10};
      facts.places["softmax"] = {"kernels/mma.cu", 77};
      side->cases.push_back(facts);
    }
  }

  /// Pairs of timing processes. Both processes of a pair share a drift of up to 1 %; each has its own noise of `spread`
  /// (about a standard deviation).
  void Time(int pairs, const std::vector<Effect>& effects, int stage = 1, double spread = 0.003) {
    for (int i = 0; i < pairs; ++i, ++next_pair) {
      const double drift = 1.0 + 0.01 * (i % 3) / 2.0;
      for (gate::Evidence* const side : {&input.base, &input.candidate}) {
        const bool candidate = side == &input.candidate;
        gate::ProcessSample process = Process("timing", stage, next_pair);
        for (std::size_t c = 0; c < effects.size(); ++c) {
          const Effect& effect = effects[c];
          const double factor = candidate ? effect.time : 1.0;
          const double seconds = effect.seconds * drift * factor * (1.0 + spread * Normal());
          const double of_cycles = candidate && effect.cycles > 0.0 ? effect.cycles / effect.time : 1.0;
          process.values[c][{"", gate::kDuration}] = seconds;
          process.values[c][{"", gate::kCycles}] = seconds * 1.8e9 * of_cycles;
        }
        side->processes.push_back(process);
      }
    }
  }

  /// Pairs of recording processes of the first case, all alike.
  using Values = std::map<gate::MetricKey, double>;
  void Record(int pairs, const Values& base, const Values& candidate, int stage = 1) {
    for (int i = 0; i < pairs; ++i, ++next_pair) {
      for (gate::Evidence* const side : {&input.base, &input.candidate}) {
        gate::ProcessSample process = Process("recording", stage, input.design == "pairs" ? next_pair : -1);
        process.values[0] = side == &input.base ? base : candidate;
        side->processes.push_back(process);
      }
    }
  }

  /// The same machine code on both sides.
  void MakeIdentical(std::size_t index = 0) {
    input.candidate.cases[index].code = input.base.cases[index].code;
    input.candidate.cases[index].launches = input.base.cases[index].launches;
  }

  gate::ProcessSample Process(const std::string& kind, int stage, int pair) const {
    gate::ProcessSample process;
    process.kind = kind;
    process.stage = stage;
    process.pair = pair;
    process.values.resize(input.base.cases.size());
    return process;
  }

  /// About a standard normal deviate: the same on every platform, unlike those of the standard library.
  double Normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random_()) / 4294967296.0;
    return sum;
  }

  gate::CaseFacts& Base(std::size_t index = 0) { return input.base.cases[index]; }
  gate::CaseFacts& Candidate(std::size_t index = 0) { return input.candidate.cases[index]; }
  gate::CodeFacts& Code(std::size_t index = 0) { return input.candidate.cases[index].code[0]; }

  gate::GateResult Judged() const { return gate::Judge(input, thresholds); }
  /// The verdict on the kernel of this name.
  gate::CaseVerdict Of(const std::string& kernel = "mma") const {
    for (const gate::CaseVerdict& one : Judged().cases) {
      if (one.kernel == kernel) return one;
    }
    return {};
  }

  gate::GateInput input;
  gate::Thresholds thresholds;
  int next_pair = 0;

 private:
  std::mt19937 random_{1};
};

/// The comparison of this metric, worst first; an empty one when there is none.
inline gate::Comparison Find(const gate::CaseVerdict& verdict, const std::string& metric,
                             const std::string& phase = "") {
  for (const gate::Comparison& comparison : verdict.comparisons) {
    if (comparison.metric == metric && comparison.phase == phase) return comparison;
  }
  return {};
}

inline bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline bool HasLine(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return Has(line, part); });
}

/// A kernel measured in eight pairs, and in fourteen more because that was suspect.
inline Scenario Measured(const Effect& effect, double spread = 0.003) {
  Scenario scenario;
  scenario.Time(8, {effect}, 1, spread);
  scenario.Time(14, {effect}, 2, spread);
  scenario.input.second_stage = true;
  return scenario;
}

inline Scenario FirstStage(const Effect& effect, int pairs = 8) {
  Scenario scenario;
  scenario.Time(pairs, {effect});
  return scenario;
}

}  // namespace fa_profile
