#pragma once

#include <chrono>
#include <string>

namespace fa_profile {

/// One line on stderr that rewrites itself, when stderr is a terminal. Clears itself when done.
class ProgressBar {
 public:
  /// What it does when stderr is not a terminal: nothing, or a plain line every half minute.
  enum class Elsewhere { kSilent, kLines };
  explicit ProgressBar(Elsewhere elsewhere = Elsewhere::kSilent);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `total` 0: not known yet.
  void Show(const std::string& stage, const std::string& subject, int done, int total);
  void Clear();

 private:
  bool terminal_ = false;
  bool lines_ = false;
  std::chrono::steady_clock::time_point last_line_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

}  // namespace fa_profile
