#pragma once

#include <termios.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>

namespace fa_profile::top {

/// What happened while the screen waited.
enum class ScreenEvent { kNothing, kEnd, kUp, kDown, kSort, kResized };

/// The terminal as a screen to draw on: the other screen of the terminal, without a cursor, and keys that arrive at
/// once. The destructor gives the terminal back as it was. SIGINT, SIGTERM and SIGHUP are events while it exists.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  std::size_t columns() const { return columns_; }
  std::size_t lines() const { return lines_; }

  /// Shows these lines in place of what was shown; those that do not fit are left out. Throws Error.
  void Draw(std::string_view text) const;

  /// The next event, at the latest after so many seconds: then kNothing.
  ScreenEvent Wait(double seconds);

  /// Whether the end was asked for, by a key or a signal; Wait() tells it once more.
  bool EndIsPending();

 private:
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGWINCH};

  void ReadSize();
  void ReadKeys();

  std::size_t columns_ = 80;
  std::size_t lines_ = 24;
  std::optional<termios> keyboard_before_;  ///< absent: stdin is not a terminal, or ended
  bool keys_ = false;
  sigset_t mask_before_{};
  std::array<struct sigaction, kSignals.size()> actions_before_{};
  std::deque<ScreenEvent> events_;
};

}  // namespace fa_profile::top
