#include "fa_profile/error.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fa_profile {
namespace {

std::string Compose(const std::string& api, const std::string& code, const std::string& message,
                    const std::string& hint) {
  std::string text = message;
  if (!api.empty()) {
    text = api + " failed";
    if (!code.empty()) text += " with " + code;
    if (!message.empty()) text += ": " + message;
  }
  if (!hint.empty()) text += "\n  hint: " + hint;
  return text;
}

// Levenshtein distance with one row of state.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

Error::Error(std::string api, std::string code, std::string message, std::string hint)
    : std::runtime_error(Compose(api, code, message, hint)),
      api_(std::move(api)),
      code_(std::move(code)),
      message_(std::move(message)),
      hint_(std::move(hint)) {}

Error::Error(std::string message, std::string hint) : Error({}, {}, std::move(message), std::move(hint)) {}

std::string Error::Headline() const { return Compose(api_, code_, message_, {}); }

std::vector<std::string> NearMatches(std::string_view word, const std::vector<std::string>& candidates,
                                     std::size_t limit) {
  constexpr std::size_t kMaxWord = 256;  // the distance is quadratic: a hostile word must not cost seconds
  if (word.empty() || word.size() > kMaxWord) return {};
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    constexpr std::size_t kLeastPart = 3;  // "a" is in most names
    const bool contains = word.size() >= kLeastPart && candidate.find(word) != std::string::npos;
    const std::size_t distance = EditDistance(word, candidate);
    if (contains || (distance < word.size() && distance <= std::max<std::size_t>(2, word.size() / 3))) {
      near.emplace_back(contains ? std::min<std::size_t>(distance, 1) : distance, candidate);
    }
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& entry : near) {
    if (names.size() == limit) break;
    if (std::ranges::find(names, entry.second) == names.end()) names.push_back(entry.second);
  }
  return names;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = NearMatches(word, candidates);
  if (near.empty()) return {};
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
    text += near[i];
  }
  return text + "?";
}

}  // namespace fa_profile
