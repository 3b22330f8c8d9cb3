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

/// When a file counts as complete. Times are from the last event, or from the last look that found a difference.
struct FileWatchOptions {
  std::chrono::milliseconds quiet{100};  ///< its writer closed it, or it was renamed to its name
  std::chrono::milliseconds open{5000};  ///< its writer has it open: an event of the end may be missing
  std::chrono::milliseconds gone{1000};  ///< it is not there: linkers remove what they write anew
  std::chrono::milliseconds look{2000};  ///< between two looks where the system reports no events: network file systems
  bool inotify = true;                   ///< false: look alone
};

enum class FileEvent { kChanged, kGone, kStopped };

/// Waits until a file has been replaced or written anew and is complete. Many writes in a row are one change. It
/// follows symbolic links, in the file's name and in its folders, and notices when one leads elsewhere. It sleeps until
/// the system reports an event (inotify).
class FileWatch {
 public:
  /// From now on. A file that is missing may come later.
  explicit FileWatch(const std::string& path, FileWatchOptions options = {});

  /// Waits for the next change, also one since the last call: kChanged when there is another file, complete; kGone once
  /// when there is none; kStopped while `stop` can be read.
  FileEvent Wait(int stop);

  /// Whether the file is another than Wait() reported last, perhaps not complete yet. Does not wait.
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
  bool moved_ = false;             // a folder or a link of the path may be another
  Writer writer_ = Writer::kUnknown;
  std::optional<Identity> known_;  // what was reported
  std::optional<Identity> seen_;
  Clock::time_point quiet_since_;
};

}  // namespace fa_profile
