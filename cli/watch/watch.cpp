#include "fa_profile/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <utility>

#include "fa_profile/analyze.h"
#include "fa_profile/compare_code.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/notice.h"
#include "fa_profile/output_path.h"
#include "fa_profile/private_folder.h"

namespace fa_profile::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "watch-";

/// 12 for "watch-0012.fap" and "watch-0012.fap.part"; 0 for other names.
int NumberOf(const std::string& name) {
  int number = 0;
  if (!name.starts_with(kBegin)) return 0;
  const auto [end, failed] = std::from_chars(name.data() + kBegin.size(), name.data() + name.size(), number);
  const bool is_ours = failed == std::errc() && std::string_view(end, name.data() + name.size()).starts_with(".fap");
  return is_ours ? number : 0;
}

/// The next name in a folder that numbers recordings.
std::string NextRecording(const std::string& folder) {
  int last = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    last = std::max(last, NumberOf(entry.path().filename().string()));
  }
  return (fs::path(folder) / fmt::format("{}{:04}.fap", kBegin, last + 1)).string();
}

void MakeFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    CheckOutputPath(folder);
    fs::create_directory(folder, error);
    if (error)
      throw Error("the folder " + folder + " cannot be made: " + error.message(), "give another with --output");
  }
  CheckOutputPath(NextRecording(folder));
}

void RemoveRecording(const std::string& path) {
  std::error_code ignored;
  for (const char* const end : {"", ".part", ".part-journal"}) fs::remove(path + end, ignored);
}

struct Measured {
  Recording recording;
  Profile profile;
};

class Watcher {
 public:
  Watcher(const WatchOptions& options, const Measure& measure, const StopSignals& stop, std::ostream& out)
      : options_(options), measure_(measure), stop_(stop), out_(out), file_(options.file, options.patience) {}

  void Run() {
    for (FileEvent event = FileEvent::kChanged; event != FileEvent::kStopped; event = file_.Wait(stop_.descriptor())) {
      if (event == FileEvent::kGone) {
        Notice(options_.file + " is not there any more: waiting for it");
      } else if (auto now = MeasureOnce()) {
        Report(*now);
        const bool wrong = std::ranges::any_of(now->profile.entries,
                                               [](const ProfileEntry& entry) { return entry.correct() == false; });
        if (!wrong) last_ = std::move(now);
      }
    }
  }

 private:
  /// Absent: recording failed (with a line on stderr), or the file has changed again, which Wait() reports.
  std::optional<Measured> MeasureOnce() {
    std::optional<PrivateFolder> temporary;
    if (options_.folder.empty()) temporary.emplace();
    const std::string path = NextRecording(temporary ? temporary->path().string() : options_.folder);
    try {
      const std::string problem = measure_(path, [this] { return file_.Differs(); });
      if (!stop_.came() && !file_.Differs()) {
        if (problem.empty()) return Load(path);
        Notice("error: not measured: " + problem);
      }
    } catch (const Error& error) {
      NoticeOf("error", error);
    }
    RemoveRecording(path);
    return std::nullopt;
  }

  std::optional<Measured> Load(const std::string& path) const {
    auto [recording, profile] = load::LoadProfile(path, options_.phase_map, /*cubins=*/true, options_.phase_source);
    return Measured{std::move(recording), std::move(profile)};
  }

  void Report(const Measured& now) {
    if (last_) {
      exporters::WriteTextMoved(out_, analyze::Diff(last_->profile, now.profile),
                                load::CompareCode(last_->recording, now.recording), last_->profile, now.profile,
                                options_.look());
    } else {
      exporters::WriteTextMeasured(out_, now.profile, options_.look());
    }
    if (!out_.flush()) {
      throw Error("the output could not be written", "check that the disk is not full and standard output is open");
    }
  }

  const WatchOptions& options_;
  const Measure& measure_;
  const StopSignals& stop_;
  std::ostream& out_;
  FileWatch file_;
  std::optional<Measured> last_;  // in which every kernel was correct
};

}  // namespace

void Watch(const WatchOptions& options, const Measure& measure, const StopSignals& stop, std::ostream& out) {
  (void)OpenFile(options.file);
  if (!options.folder.empty()) MakeFolder(options.folder);
  Notice("watching " + options.file + "; Ctrl-C ends this");
  Watcher(options, measure, stop, out).Run();
}

}  // namespace fa_profile::watch
