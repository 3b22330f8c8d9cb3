#pragma once

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// When a file counts as complete. Times start at the last event, or at the last check that found a difference.
struct FileWatchOptions {
  std::chrono::milliseconds quiet{100};  ///< its writer closed it, or it was renamed to its name
  std::chrono::milliseconds open{5000};  ///< its writer has it open: the final event may be missing
  std::chrono::milliseconds gone{1000};  ///< it does not exist: linkers remove a file before they rewrite it
  std::chrono::milliseconds look{2000};  ///< between two checks where the system reports no events: network file
                                         ///< systems
  bool inotify = true;                   ///< false: only checks
};

enum class FileEvent { kChanged, kGone, kStopped };

/// Waits until a file has been replaced or rewritten and is complete. Many writes in a row are one change. It follows
/// symbolic links, in the file's name and in its folders, and notices when one changes its target. It sleeps until the
/// system reports an event (inotify).
class FileWatch {
 public:
  /// From now on. A file that is missing may come later.
  explicit FileWatch(const std::string& path, FileWatchOptions options = {});

  /// Waits for the next change, including one since the last call: kChanged if there is a new, complete file; kGone
  /// once if there is none; kStopped while `stop` can be read.
  FileEvent Wait(int stop);

  /// Whether the file differs from the one that Wait() reported last, even if not complete yet. Does not wait.
  bool Differs();

 private:
  using Clock = std::chrono::steady_clock;
  struct Identity {
    dev_t device;
    ino_t number;
    off_t bytes;
    std::int64_t written_ns;
    std::int64_t changed_ns;  ///< a copy may keep the other time
    auto operator<=>(const Identity&) const = default;
  };
  enum class Writer { kUnknown, kOpen, kClosed };
  struct Folder {
    std::filesystem::path path;
    std::set<std::string> names;  ///< its entries that the path goes through
  };

  std::optional<Identity> Look() const;
  void Arm();
  void Watch(const std::filesystem::path& folder, const std::string& name, bool is_file);
  void TakeEvents();
  void Take(int watch, std::uint32_t mask, const std::string& name);
  std::chrono::milliseconds Patience() const;

  std::filesystem::path path_;
  FileWatchOptions options_;
  Descriptor events_;
  std::map<int, Folder> folders_;  // by inotify's number
  bool looks_ = true;              // the system may report nothing
  bool moved_ = false;             // a folder or a link in the path may have changed
  Writer writer_ = Writer::kUnknown;
  std::optional<Identity> known_;  // what was reported
  std::optional<Identity> seen_;
  Clock::time_point quiet_since_;
};

}  // namespace fa_profile
