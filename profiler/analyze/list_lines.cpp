#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "fa_profile/list_code.h"

namespace fa_profile::analyze {
namespace {

/// Sums over the instructions of one line.
class LineSum {
 public:
  void Add(const std::string& phase, const CodeCost& cost, double weight, std::size_t instructions) {
    instructions_ += instructions;
    phases_[phase] += weight;
    weight_ += weight;
    samples_ += cost.samples;
    for (const StallShare& stall : cost.stalls) stalls_[stall.reason] += stall.ratio * cost.samples;
    has_share_ = has_share_ || cost.share_ratio;
    AddTo(executed_, cost.executed);
    AddTo(wavefronts_, cost.shared_wavefronts);
    AddTo(excess_, cost.excess_wavefronts);
    AddTo(sectors_, cost.global_sectors);
    AddTo(excess_sectors_, cost.excess_sectors);
    if (cost.executed && cost.threads_per_instruction) threads_ += *cost.executed * *cost.threads_per_instruction;
  }

  ListedLine Line(std::string file, int number) const {
    ListedLine line{std::move(file), number, PhasesByShare(), {}, instructions_, std::nullopt};
    if (has_share_) line.cost.share_ratio = weight_;
    line.cost.samples = samples_;
    for (const auto& [reason, samples] : stalls_) {
      if (samples > 0.0) line.cost.stalls.push_back({reason, samples / samples_});
    }
    std::ranges::stable_sort(line.cost.stalls, std::greater<>(), &StallShare::ratio);
    line.cost.executed = executed_;
    if (executed_.value_or(0.0) > 0.0 && threads_ > 0.0) line.cost.threads_per_instruction = threads_ / *executed_;
    line.cost.shared_wavefronts = wavefronts_;
    line.cost.excess_wavefronts = excess_;
    line.cost.global_sectors = sectors_;
    line.cost.excess_sectors = excess_sectors_;
    return line;
  }

 private:
  static void AddTo(std::optional<double>& sum, const std::optional<double>& value) {
    if (value) sum = sum.value_or(0.0) + *value;
  }

  /// Phases without weight are left out, unless no phase has any.
  std::vector<PhaseShare> PhasesByShare() const {
    std::vector<PhaseShare> shares;
    for (const auto& [phase, weight] : phases_) {
      if (weight > 0.0 || weight_ <= 0.0) shares.push_back({phase, weight_ > 0.0 ? weight / weight_ : 0.0});
    }
    std::ranges::stable_sort(shares, std::greater<>(), &PhaseShare::ratio);
    return shares;
  }

  std::map<std::string, double> phases_;
  std::map<std::string, double> stalls_;
  double weight_ = 0.0;
  double samples_ = 0.0;
  double threads_ = 0.0;
  std::optional<double> executed_;
  std::optional<double> wavefronts_;
  std::optional<double> excess_;
  std::optional<double> sectors_;
  std::optional<double> excess_sectors_;
  std::size_t instructions_ = 0;
  bool has_share_ = false;
};

using LineSums = std::map<std::pair<std::string, int>, LineSum>;

std::vector<ListedLine> LinesOf(const LineSums& sums) {
  std::vector<ListedLine> lines;
  lines.reserve(sums.size());
  for (const auto& [place, sum] : sums) lines.push_back(sum.Line(place.first, place.second));
  return lines;
}

double HeatOf(const CodeCost& cost) { return cost.share_ratio.value_or(0.0); }

}  // namespace

SourceListing ListLines(const InstructionListing& listing) {
  SourceListing source;
  source.code = listing.code;
  LineSums sums;
  double unplaced = 0.0;
  for (const ListedInstruction& each : listing.instructions) {
    if (each.place) {
      sums[{each.place->file, each.place->line}].Add(each.phase, each.cost, HeatOf(each.cost), 1);
    } else {
      unplaced += HeatOf(each.cost);
    }
  }
  if (sums.empty()) {
    source.instructions = listing.instructions;
    const auto heat = [](const ListedInstruction& each) { return HeatOf(each.cost); };
    std::ranges::stable_sort(source.instructions, std::greater<>(), heat);
    source.of_lines = source.instructions.size();
    return source;
  }
  if (!listing.code.weighed_by.empty()) source.unplaced_ratio = unplaced;
  source.lines = LinesOf(sums);
  std::ranges::stable_sort(source.lines, std::greater<>(), [](const ListedLine& line) { return HeatOf(line.cost); });
  source.of_lines = source.lines.size();
  return source;
}

void KeepHottest(SourceListing& listing, std::size_t limit) {
  if (listing.lines.size() > limit) listing.lines.resize(limit);
  if (listing.instructions.size() > limit) listing.instructions.resize(limit);
}

}  // namespace fa_profile::analyze
