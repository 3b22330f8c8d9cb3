#include "fa_profile/judgement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace fa_profile {
namespace {

using Verdict = Judgement::Verdict;

constexpr std::array kNames = {std::pair{Verdict::kCertified, "certified"}, std::pair{Verdict::kWrong, "wrong"},
                               std::pair{Verdict::kRefused, "refused"}, std::pair{Verdict::kCannotSay, "cannot say"}};

constexpr DeviceCount kDeviceCounts[] = {
    {"instructions", &DeviceCounts::instructions}, {"tensor_cycles", &DeviceCounts::tensor_cycles},
    {"sm_cycles", &DeviceCounts::sm_cycles},       {"fp64_cycles", &DeviceCounts::fp64_cycles},
    {"l2_sectors", &DeviceCounts::l2_sectors},     {"dram_sectors", &DeviceCounts::dram_sectors}};

// Formats with this many significant digits.
std::string Digits(int digits, double value) {
  std::array<char, 40> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

std::string Microseconds(double ns) { return Digits(4, ns / 1e3) + " us"; }

}  // namespace

std::span<const DeviceCount> AllDeviceCounts() { return kDeviceCounts; }

DeviceCounts& operator+=(DeviceCounts& sum, const DeviceCounts& more) {
  for (const DeviceCount& count : kDeviceCounts) sum.*count.value += more.*count.value;
  return sum;
}

DeviceCounts operator/(DeviceCounts counts, double calls) {
  for (const DeviceCount& count : kDeviceCounts) counts.*count.value /= calls;
  return counts;
}

std::string ToString(Verdict verdict) {
  return std::ranges::find(kNames, verdict, &std::pair<Verdict, const char*>::first)->second;
}

std::optional<Verdict> VerdictOf(const std::string& name) {
  for (const auto& [verdict, text] : kNames) {
    if (name == text) return verdict;
  }
  return std::nullopt;
}

std::optional<double> CallNs(const Judgement& judgement) {
  std::vector<double> values = judgement.durations_ns;
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string Describe(const Judgement& judgement) {
  switch (judgement.verdict) {
    case Verdict::kWrong:
      return judgement.reason;
    case Verdict::kRefused:
      return "REFUSED: " + judgement.reason;
    case Verdict::kCannotSay:
      return "cannot say: " + judgement.reason;
    default:
      break;
  }
  std::string text = "certified: " + Microseconds(CallNs(judgement).value_or(0.0)) + " a call, " +
                     std::to_string(judgement.wrong_calls) + " of " + std::to_string(judgement.calls) + " calls wrong";
  // For no error in n trials: 1 - 0.05^(1/n), which is 3/n.
  if (judgement.wrong_calls == 0 && judgement.calls > 0) {
    const double most = 1.0 - std::pow(0.05, 1.0 / static_cast<double>(judgement.calls));
    text += " (95 %: under " + Digits(2, 100.0 * most) + " %)";
  }
  if (judgement.same_bits == false) {
    const double apart = judgement.largest_difference;
    text += "; not deterministic: equal inputs give " +
            (apart > 0 ? "results up to " + Digits(3, apart) + " apart" : std::string("other bits"));
  }
  if (!judgement.weak_tolerance.empty()) text += "; weak tolerance, which also accepts " + judgement.weak_tolerance;
  return text;
}

std::optional<double> ExecutedInstructions(const std::map<std::string, double>& counters) {
  for (const char* const name :
       {"smsp__inst_executed.sum", "sm__inst_executed.sum", "TPC.TriageCompute.sm__inst_executed_realtime.sum"}) {
    if (const auto found = counters.find(name); found != counters.end()) return found->second;
  }
  return std::nullopt;
}

std::string WhyNotAsCertified(const Judgement& judgement, const MeasuredCall& measured) {
  constexpr double kPart = 0.9;               // margin for clocks, and for what L2 keeps of one set of tensors
  constexpr double kGapNs = 3000;             // between two graphs
  constexpr double kLeastInstructions = 0.5;  // with other inputs, and in waiting loops, the number differs
  constexpr const char* kOtherwise = ": the library behaves otherwise where it is measured";
  const std::optional<double> certified_ns = CallNs(judgement);
  if (judgement.verdict != Verdict::kCertified || !certified_ns) return {};
  const double gap_ns = kGapNs / std::max(judgement.calls_a_graph, 1);
  const double executed = std::min(judgement.verified.instructions, judgement.timed.instructions);
  double expected_ns = *certified_ns;
  if (measured.instructions && executed > 0) {
    // As in a batch of sequences, where the longest decides the time: with other lengths it falls with up to the
    // square.
    const double work = std::clamp(*measured.instructions / executed, kLeastInstructions, 1.0);
    expected_ns *= work * work;
  }
  if (measured.median_ns && *measured.median_ns < kPart * expected_ns - gap_ns) {
    return "the measured time " + Microseconds(*measured.median_ns) + " is not the certified " +
           Microseconds(*certified_ns) + kOtherwise;
  }
  if (measured.instructions && *measured.instructions < kLeastInstructions * executed) {
    return "a measured call executes " + Digits(4, *measured.instructions) + " instructions, a certified one " +
           Digits(4, executed) + kOtherwise;
  }
  return {};
}

}  // namespace fa_profile
