#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

/// Allowed standard deviations between cards, in addition to the budget: equal code that has used up the whole budget
/// exceeds it with a probability of 2.3 %.
constexpr double kCardSigmas = 2.0;

/// With this many cards in the base, each case has its own standard deviation.
constexpr std::size_t kEnoughCards = 4;

/// log of a case's median on each card of the base, ascending by UUID.
std::vector<double> LogsOfCards(const Evidence& base, std::size_t case_index, const std::string& metric) {
  std::vector<double> logs;
  for (const auto& [card, values] : SamplesOfCards(base, case_index, DurationKind(base, case_index), {"", metric})) {
    if (const double median = Median(values); median > 0.0) logs.push_back(std::log(median));
  }
  return logs;
}

double Variance(const std::vector<double>& values) {
  double mean = 0.0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

/// Mean variance between the cards over all cases; absent: none was measured on two.
std::optional<double> PooledVariance(const Evidence& base, const std::string& metric) {
  double sum = 0.0;
  int cases = 0;
  for (std::size_t i = 0; i < base.cases.size(); ++i) {
    const std::vector<double> logs = LogsOfCards(base, i, metric);
    if (logs.size() < 2 || base.cases[i].kernel == kReferenceKernel) continue;
    sum += Variance(logs);
    ++cases;
  }
  return cases == 0 ? std::nullopt : std::optional(sum / cases);
}

/// Standard deviation of one case between cards. Few cards say too little about a case, so the cases are pooled; with
/// kEnoughCards the case's own variance counts for half, and with more for more.
double CardDeviation(const JudgeContext& context, const std::vector<double>& logs, const std::string& metric) {
  const std::optional<double> pooled = PooledVariance(context.input.base, metric);
  if (logs.size() < kEnoughCards || !pooled) {
    return std::max(context.thresholds.between_cards, std::sqrt(pooled.value_or(0.0)));
  }
  constexpr auto kPriorFreedom = static_cast<double>(kEnoughCards - 1);
  const auto freedom = static_cast<double>(logs.size() - 1);
  return std::sqrt((kPriorFreedom * *pooled + freedom * Variance(logs)) / (kPriorFreedom + freedom));
}

bool OnAnotherCard(const GateInput& input) {
  const std::string& card = input.candidate.environment.gpu_uuid;
  const std::vector<std::string> cards = CardsOf(input.base);
  return input.design != "static" && input.design != "pairs" && !card.empty() && !cards.empty() &&
         std::ranges::find(cards, card) == cards.end();
}

}  // namespace

std::map<std::string, std::vector<double>> SamplesOfCards(const Evidence& evidence, std::size_t case_index,
                                                          const std::string& kind, const MetricKey& key) {
  std::map<std::string, std::vector<double>> samples;
  for (const auto& [process, value] : Values(evidence, case_index, kind, key)) {
    const ProcessSample& from = evidence.processes[process];
    if (!from.throttled) samples[CardOf(evidence, from)].push_back(value);
  }
  return samples;
}

std::optional<GateInput> WithCandidatesCard(const GateInput& input) {
  const std::string& card = input.candidate.environment.gpu_uuid;
  const std::vector<std::string> cards = CardsOf(input.base);
  if (cards.size() < 2 || std::ranges::find(cards, card) == cards.end()) return std::nullopt;
  GateInput narrowed = input;
  std::erase_if(narrowed.base.processes,
                [&](const ProcessSample& process) { return CardOf(input.base, process) != card; });
  narrowed.base.environment.gpu_uuid = card;
  return narrowed;
}

std::optional<CardTerm> TermBetweenCards(const JudgeContext& context, const CaseWork& work, bool cycles) {
  if (!OnAnotherCard(context.input)) return std::nullopt;
  const std::string metric = cycles ? kCycles : kDuration;
  const std::vector<double> logs = LogsOfCards(context.input.base, work.base_index, metric);
  CardTerm term;
  term.cards = std::max<std::size_t>(logs.size(), 1);
  term.deviation = CardDeviation(context, logs, metric);
  // The candidate's card differs from the mean of the base's cards, which differs from that of all cards.
  term.growth = kCardSigmas * term.deviation * std::sqrt(1.0 + 1.0 / static_cast<double>(term.cards));
  return term;
}

std::string NoteOnCards(const JudgeContext& context) {
  if (!OnAnotherCard(context.input)) return {};
  const std::vector<std::string> cards = CardsOf(context.input.base);
  const std::size_t shown = std::min<std::size_t>(cards.size(), 3);
  const std::vector<std::string> some(cards.begin(), cards.begin() + static_cast<std::ptrdiff_t>(shown));
  const std::string of_base =
      fmt::format("{}{}", OneLine(fmt::format("{}", fmt::join(some, ", "))),
                  cards.size() > shown ? fmt::format(" and {} more", cards.size() - shown) : "");
  const std::string source =
      cards.size() >= kEnoughCards
          ? fmt::format("of each case, between the {} cards of the base", cards.size())
          : fmt::format("{} at least (between_cards){}", Percent(context.thresholds.between_cards),
                        cards.size() > 1 ? fmt::format(", or what the {} cards of the base give", cards.size()) : "");
  return fmt::format(
      "the candidate ran on another card, {}, than the base, {}: limits of time and of phases are wider by {} standard "
      "deviations between cards x sqrt(1 + 1/{}); the deviation is {}",
      OneLine(context.input.candidate.environment.gpu_uuid, 60), of_base, kCardSigmas, cards.size(), source);
}

}  // namespace fa_profile::gate
