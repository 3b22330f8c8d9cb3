#pragma once

#include <string>

namespace fa_profile {

/// One line on stderr that rewrites itself, only when stderr is a terminal; otherwise silent. Clears itself when done.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(const std::string& stage, const std::string& subject, int done, int total);
  void Clear();

 private:
  bool terminal_ = false;
  bool shown_ = false;
};

}  // namespace fa_profile
