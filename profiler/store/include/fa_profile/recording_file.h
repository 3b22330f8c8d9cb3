#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::store {

/// Writes a recording file as the run goes.
///
/// The file grows under `<path>.part` and is renamed to `path` by Finish(), so the final name never holds half a
/// recording; a killed run leaves a `.part` that opens and holds everything committed. Each Commit() is one SQLite
/// transaction; what was not committed goes with the writer, and a writer that committed nothing leaves no file. The
/// `.part` is locked: a second writer for the same path gets an Error. One that a killed run left is never destroyed:
/// it is renamed to `<path>.part.1` (or the next free number), which kept_aside() returns.
///
/// Used from one thread. Throws Error with the cure: the disk is full, the path is not writable, exists, or is another
/// writer's. After an Error of the disk the writer takes nothing more. A piece that a recording cannot hold (a value
/// that is not finite, an id twice, a reference to what was not written: see docs/recording.md) is refused by an Error
/// and leaves the writer as it was. Texts are stored as UTF-8; bytes that are not become U+FFFD.
///   RecordingWriter writer("run.fap");
///   writer.Write(session);
///   writer.Finish();
class RecordingWriter final : public RecordingSink {
 public:
  /// `overwrite`: replace an existing file at Finish(); otherwise an existing `path` is an error at once.
  explicit RecordingWriter(std::string path, bool overwrite = false);
  ~RecordingWriter() override;

  void Commit() override;

  /// Commits, marks the session complete and renames to the final name. The writer accepts nothing afterwards.
  void Finish();

  const std::string& path() const;
  /// Where the data is now: `<path>.part` until Finish().
  const std::string& part_path() const;
  /// The new name of a killed run's `.part`, if there was one: tell the user.
  const std::optional<std::string>& kept_aside() const;

 private:
  void Take(const RecordingPiece& piece) override;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "F.fap.part", or "F.fap.part.1", renamed to make room for the next: from a run that was killed, or still runs.
bool IsPart(const std::string& path);

/// The process currently writing this file (a writer's `part_path`); absent: none. 0: one whose number is not known
/// here, such as in another host or container.
std::optional<int> WriterOf(const std::string& part_path);

/// Which of the kinds that make up most of a recording to load.
struct LoadOptions {
  /// Absent: all metrics. Otherwise only these names, which keeps a report fast.
  std::optional<std::set<std::string>> metrics;
  bool code = true;     ///< functions, samplings and countings
  bool cubins = false;  ///< cubins, decompressed
};

/// Reads a recording file (or the `.part` of a killed run). Bad files (truncated, foreign, newer schema, corrupt) give
/// one Error that says which, whatever bytes they hold. Never writes to the file, except SQLite's own recovery of a
/// killed run's `.part`. Reading takes memory and time in proportion to the file. Used from one thread.
///   const Recording recording = RecordingReader("run.fap").Load();
///   for (const Case& one : recording.cases) std::cout << one.kernel << '\n';
class RecordingReader {
 public:
  explicit RecordingReader(const std::string& path);
  /// Reads a recording held in memory, for tests and fuzzing; `bytes` are copied. Refuses whatever a file that is not
  /// named `.part` would be refused for.
  static RecordingReader FromBytes(std::span<const std::uint8_t> bytes);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;

  /// Everything except the images and what `options` leaves out. Kinds with an id are in id order, samples and counts
  /// in the order of function and offset, the other kinds in the order written. `session.complete` is false if the run
  /// was killed. What a file of an older version lacks is empty.
  Recording Load(const LoadOptions& options = {}) const;

  /// The raw counter data image, decompressed. Throws Error if none has this id.
  CounterImage LoadImage(std::int64_t id) const;

  /// Ids of the images in the file.
  std::vector<std::int64_t> ImageIds() const;

 private:
  struct Impl;
  explicit RecordingReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Writes a whole recording, each piece after those that it refers to; the caller commits. `recording` was loaded
/// completely from `images` (code, cubins and all metrics), and may have been changed since; the raw counter data is
/// copied from there. nullptr: there is none, and no range refers to any. Throws Error.
void WriteRecording(const Recording& recording, const RecordingReader* images, RecordingSink& sink);

}  // namespace fa_profile::store
