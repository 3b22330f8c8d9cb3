#include "text_kernel.h"

#include <fmt/format.h>

#include "fa_profile/units.h"

namespace fa_profile::exporters {

bool IsWrong(const ProfileEntry& entry) { return entry.correct() == false; }

std::string VerificationText(const TextPage& page, const Verification& verification) {
  const Verification& v = verification;
  std::string text =
      fmt::format("{} of {} draws, worst error {:.3g} of the tolerance", v.draws_passed, v.draws, v.max_error_ratio);
  if (v.nonfinite > 0) text += fmt::format(", {} NaN or infinite", v.nonfinite);
  if (v.unwritten > 0) text += fmt::format(", {} never written", v.unwritten);
  if (!v.where.empty()) text += "; " + page.Safe(v.where);
  if (!v.error.empty()) text += ": " + page.Safe(v.error);
  return text;
}

std::string TopStall(const ProfileEntry& entry) {
  // Set phases counts two of the reasons; the greater of them need not be the top one.
  if (entry.stalls.empty() || !entry.metrics.contains("stall_wait_ratio")) return "n/a";
  // A long name is cut, so that the number fits.
  constexpr std::size_t kLongestName = 11;
  const std::string& reason = entry.stalls.front().reason;
  const std::string name = reason.size() <= kLongestName ? reason : reason.substr(0, kLongestName - 1) + ".";
  return name + " " + ShortPercent(entry.stalls.front().ratio) + "%";
}

Style StyleOf(const std::string& judgement) {
  if (judgement == "worse") return Style::kBad;
  if (judgement == "better") return Style::kGood;
  return Style::kPlain;
}

}  // namespace fa_profile::exporters
