#include "certified_sink.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "fa_profile/call_name.h"

namespace fa_profile::jobs {

std::vector<std::string> CertifiedSink::Contradictions() const {
  std::vector<std::string> lines;
  for (const auto& [id, judgement] : judgements_) {
    const auto measured = measured_.find(id);
    const std::string why = measured == measured_.end() ? "" : WhyNotAsCertified(judgement, measured->second);
    if (!why.empty()) lines.push_back(names_.at(id) + ": " + why);
  }
  return lines;
}

void CertifiedSink::Take(const RecordingPiece& piece) {
  std::visit(
      [this](const auto* one) {
        using Piece = std::remove_cvref_t<decltype(*one)>;
        if constexpr (std::is_same_v<Piece, Case>) {
          names_[one->id] = CallName(one->kernel, one->shape);
        } else if constexpr (std::is_same_v<Piece, Judgement>) {
          judgements_[one->case_id] = *one;
        } else if constexpr (std::is_same_v<Piece, Timing>) {
          std::vector<double> durations = one->durations_ns;
          if (one->part.empty() && !durations.empty()) {
            const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
            std::ranges::nth_element(durations, middle);
            measured_[one->case_id].median_ns = *middle;
          }
        } else if constexpr (std::is_same_v<Piece, Range>) {
          if (one->part.empty()) measured_[one->case_id].instructions = ExecutedInstructions(one->metrics);
        }
        to_.Write(*one);
      },
      piece);
}

}  // namespace fa_profile::jobs
