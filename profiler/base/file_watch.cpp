#include "fa_profile/file_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string_view>
#include <vector>

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

/// An entry in a folder that decides where a path leads.
struct PathStep {
  fs::path folder;
  std::string name;
  bool operator==(const PathStep&) const = default;
};

/// The folders and links of a path, then the file, with every link resolved. It ends at the first that is missing.
std::vector<PathStep> StepsOf(const fs::path& path) {
  constexpr int kMostLinks = 40;
  std::vector<PathStep> steps;
  std::deque<fs::path> left(path.begin(), path.end());
  fs::path at = "/";
  for (int links = 0; !left.empty();) {
    const fs::path name = left.front();
    left.pop_front();
    if (name.empty() || name == "." || name == "/") continue;
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    steps.push_back({at, name.string()});
    std::error_code ignored;
    const fs::file_status status = fs::symlink_status(at / name, ignored);
    if (fs::is_directory(status)) {
      at /= name;
    } else if (fs::is_symlink(status) && ++links <= kMostLinks) {
      const fs::path target = fs::read_symlink(at / name, ignored);
      left.insert(left.begin(), target.begin(), target.end());
      if (target.is_absolute()) at = "/";
    } else {
      break;
    }
  }
  return steps;
}

/// Whether other machines may change files there without the system reporting it.
bool IsShared(const fs::path& folder) {
  constexpr std::array<std::uint32_t, 9> kNetwork{0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x65735546,
                                                  0x01021997, 0x00C36400, 0x0BD00BD0, 0x47504653};
  struct statfs info {};
  if (statfs(folder.c_str(), &info) != 0) return true;
  return std::ranges::find(kNetwork, static_cast<std::uint32_t>(info.f_type)) != kNetwork.end();
}

std::int64_t Nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileWatch::FileWatch(const std::string& path, FileWatchOptions options)
    : path_(fs::absolute(path)), options_(options), quiet_since_(Clock::now()) {
  if (options_.inotify) events_ = Descriptor(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  Arm();
  known_ = seen_ = Look();
}

std::optional<FileWatch::Identity> FileWatch::Look() const {
  struct stat file {};
  if (stat(path_.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  return Identity{file.st_dev, file.st_ino, file.st_size, Nanoseconds(file.st_mtim), Nanoseconds(file.st_ctim)};
}

void FileWatch::Watch(const fs::path& folder, const std::string& name, bool is_file) {
  constexpr std::uint32_t kEntries =
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;
  const std::uint32_t mask = kEntries | IN_ONLYDIR | IN_MASK_ADD | (is_file ? IN_MODIFY | IN_CLOSE_WRITE : 0U);
  const int watch = inotify_add_watch(events_.get(), folder.c_str(), mask);
  if (watch >= 0) {
    folders_[watch].path = folder;
    folders_[watch].names.insert(name);
  }
  if (is_file) looks_ = watch < 0 || IsShared(folder);
}

// The old watches stay until the new ones are there, so that no event is lost.
void FileWatch::Arm() {
  if (!events_) return;
  const std::map<int, Folder> before = std::exchange(folders_, {});
  const std::vector<PathStep> steps = StepsOf(path_);
  for (const PathStep& step : steps) Watch(step.folder, step.name, &step == &steps.back());
  for (const auto& [watch, _] : before) {
    if (!folders_.contains(watch)) (void)inotify_rm_watch(events_.get(), watch);
  }
  moved_ = StepsOf(path_) != steps;
}

void FileWatch::TakeEvents() {
  alignas(inotify_event) std::array<char, 16384> buffer{};
  ssize_t bytes = 0;
  while (events_ && (bytes = read(events_.get(), buffer.data(), buffer.size())) > 0) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
      inotify_event event{};
      std::memcpy(&event, &buffer[at], sizeof event);
      at += sizeof event;
      const char* const name = &buffer[at];
      Take(event.wd, event.mask, event.len > 0 ? std::string(name, strnlen(name, event.len)) : std::string());
      at += event.len;
    }
  }
  while (std::exchange(moved_, false)) Arm();
}

void FileWatch::Take(int watch, std::uint32_t mask, const std::string& name) {
  constexpr std::uint32_t kOfEntries = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
  const auto folder = folders_.find(watch);
  const bool lost = (mask & IN_Q_OVERFLOW) != 0;
  const bool of_folder = (mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)) != 0;
  if (!lost && (folder == folders_.end() || (!of_folder && !folder->second.names.contains(name)))) return;
  quiet_since_ = Clock::now();
  moved_ |= lost || of_folder || (mask & kOfEntries) != 0;
  // A new file is about to be written; a link or a folder is complete at once.
  std::error_code ignored;
  const bool is_new =
      !lost && (mask & IN_CREATE) != 0 && fs::is_regular_file(fs::symlink_status(folder->second.path / name, ignored));
  writer_ = (mask & IN_MODIFY) != 0 || is_new ? Writer::kOpen : Writer::kClosed;
}

std::chrono::milliseconds FileWatch::Patience() const {
  if (!seen_) return std::max(options_.gone, options_.quiet);
  if (writer_ == Writer::kUnknown && looks_) return options_.look;
  return writer_ == Writer::kOpen ? options_.open : options_.quiet;
}

bool FileWatch::Differs() {
  TakeEvents();
  return Look() != known_;
}

FileEvent FileWatch::Wait(int stop) {
  for (;;) {
    TakeEvents();
    if (const auto now = Look(); now != seen_) {
      seen_ = now;
      quiet_since_ = Clock::now();
    }
    auto wait = looks_ ? options_.look : std::chrono::milliseconds(-1);
    if (seen_ != known_) {
      const auto quiet = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - quiet_since_);
      wait = Patience() - quiet;
      if (wait.count() <= 0) {
        known_ = seen_;
        writer_ = Writer::kUnknown;
        return known_ ? FileEvent::kChanged : FileEvent::kGone;
      }
    }
    std::array<pollfd, 2> inputs = {pollfd{events_.get(), POLLIN, 0}, pollfd{stop, POLLIN, 0}};
    (void)poll(inputs.data(), inputs.size(), static_cast<int>(wait.count()));
    if (inputs[1].revents != 0) return FileEvent::kStopped;
  }
}

}  // namespace fa_profile
