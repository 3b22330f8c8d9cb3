#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// The job cannot be done. Carries which API said so, its code by name, what that means, and a hint that names the
/// cure. Only main() catches it; the process then prints one line and the hint, and exits with code 2.
class Error : public std::runtime_error {
 public:
  /// `api`: the call that failed ("cuptiRangeProfilerEnable"), or empty for bad input.
  /// `code`: the error's name in that API ("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"), or empty.
  /// `message`: what is wrong, in words. `hint`: what the user can do about it; may be empty.
  Error(std::string api, std::string code, std::string message, std::string hint = {});

  /// Bad input: no API is to blame.
  explicit Error(std::string message, std::string hint = {});

  const std::string& api() const noexcept { return api_; }
  const std::string& code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }
  /// what() without the hint.
  std::string Headline() const;

 private:
  std::string api_;
  std::string code_;
  std::string message_;
  std::string hint_;
};

/// The candidates nearest to `word` by edit distance, best first, at most `limit`: for "did you mean". A candidate
/// that contains `word` counts as near.
std::vector<std::string> NearMatches(std::string_view word, const std::vector<std::string>& candidates,
                                     std::size_t limit = 3);

/// "; did you mean a, b or c?" or an empty string when nothing is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace fa_profile
