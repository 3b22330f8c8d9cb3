#include "screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <string>

#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"

namespace fa_profile::top {
namespace {

// The other screen; no cursor; long lines are cut.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

volatile std::sig_atomic_t end_came = 0;
volatile std::sig_atomic_t size_changed = 0;

void NoteSignal(int signal) { (signal == SIGWINCH ? size_changed : end_came) = 1; }

/// The event of the keys at the front, and how many bytes they are.
std::pair<ScreenEvent, std::size_t> EventOf(std::string_view keys) {
  for (const auto& [sequence, event] : {std::pair<std::string_view, ScreenEvent>{"\x1b[A", ScreenEvent::kUp},
                                        {"\x1bOA", ScreenEvent::kUp},
                                        {"k", ScreenEvent::kUp},
                                        {"\x1b[B", ScreenEvent::kDown},
                                        {"\x1bOB", ScreenEvent::kDown},
                                        {"j", ScreenEvent::kDown},
                                        {"s", ScreenEvent::kSort},
                                        {"\x1b[C", ScreenEvent::kSort},
                                        {"\x1bOC", ScreenEvent::kSort},
                                        {"q", ScreenEvent::kEnd}}) {
    if (keys.starts_with(sequence)) return {event, sequence.size()};
  }
  return {ScreenEvent::kNothing, 1};
}

}  // namespace

Screen::Screen() {
  end_came = 0;
  size_changed = 0;
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kSignals) sigaddset(&signals, signal);
  // They arrive while Wait() waits, and at no other time.
  pthread_sigmask(SIG_BLOCK, &signals, &mask_before_);
  struct sigaction action {};
  action.sa_handler = NoteSignal;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &actions_before_[i]);
  termios keyboard{};
  if (tcgetattr(STDIN_FILENO, &keyboard) == 0) {
    keyboard_before_ = keyboard;
    keyboard.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keyboard.c_cc[VMIN] = 0;
    keyboard.c_cc[VTIME] = 0;
    keyboard.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped process would leave the terminal like this
    keys_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &keyboard) == 0;
  }
  ReadSize();
  (void)WriteAll(STDOUT_FILENO, kEnter);
}

Screen::~Screen() {
  (void)WriteAll(STDOUT_FILENO, kLeave);
  if (keyboard_before_) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &*keyboard_before_);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_before_[i], nullptr);
  timespec none{};
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kSignals) sigaddset(&signals, signal);
  while (sigtimedwait(&signals, nullptr, &none) > 0) {
  }  // what waits meant the screen, which ends
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Screen::ReadSize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return;
  columns_ = size.ws_col;
  lines_ = size.ws_row;
}

void Screen::Draw(std::string_view text) const {
  std::string frame = "\x1b[H";
  for (std::size_t line = 0; line < lines_ && !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    frame.append(line == 0 ? "" : "\r\n").append(text.substr(0, end)).append("\x1b[K");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  frame += "\x1b[J";
  if (WriteAll(STDOUT_FILENO, frame)) return;
  throw Error("the terminal cannot be written to: " + std::string(std::strerror(errno)), "is it still open?");
}

void Screen::ReadKeys() {
  std::array<char, 256> bytes{};
  const ssize_t count = keys_ ? read(STDIN_FILENO, bytes.data(), bytes.size()) : 0;
  std::string_view keys(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!keys.empty()) {
    const auto [event, length] = EventOf(keys);
    if (event != ScreenEvent::kNothing) events_.push_back(event);
    keys.remove_prefix(length);
  }
}

ScreenEvent Screen::Wait(double seconds) {
  if (events_.empty()) {
    pollfd keyboard{STDIN_FILENO, POLLIN, 0};
    const double whole = std::floor(std::max(0.0, seconds));
    timespec time{};
    time.tv_sec = static_cast<time_t>(whole);
    time.tv_nsec = static_cast<long>((std::max(0.0, seconds) - whole) * 1e9);
    const int ready = ppoll(&keyboard, keys_ ? 1 : 0, &time, &mask_before_);
    if (ready > 0 && (keyboard.revents & POLLIN) != 0) ReadKeys();
    if (ready > 0 && (keyboard.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) keys_ = false;
  }
  if (end_came != 0) return ScreenEvent::kEnd;
  if (size_changed != 0) {
    size_changed = 0;
    ReadSize();
    return ScreenEvent::kResized;
  }
  if (events_.empty()) return ScreenEvent::kNothing;
  const ScreenEvent event = events_.front();
  events_.pop_front();
  return event;
}

bool Screen::EndIsPending() {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (sigismember(&pending, signal) == 1) return true;
  }
  ReadKeys();
  return end_came != 0 || std::ranges::find(events_, ScreenEvent::kEnd) != events_.end();
}

}  // namespace fa_profile::top
