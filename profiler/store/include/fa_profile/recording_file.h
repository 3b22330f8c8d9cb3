#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Writes a recording file as the run goes.
///
/// The file grows under `<path>.part` and is renamed to `path` by Finish(), so the final name never holds half a
/// recording; a killed run leaves a `.part` that opens and holds everything committed. Each Commit() is one SQLite
/// transaction. Used from one thread. Throws Error (disk full, path not writable, path exists) with the cure.
class RecordingWriter final : public RecordingSink {
 public:
  /// `overwrite`: replace an existing file at Finish(); otherwise an existing `path` is an error at once.
  explicit RecordingWriter(std::string path, bool overwrite = false);
  ~RecordingWriter() override;

  void Write(const Session&) override;
  void Write(const Device&) override;
  void Write(const ClockSample&) override;
  void Write(const Case&) override;
  void Write(const Verification&) override;
  void Write(const Timing&) override;
  void Write(const Launch&) override;
  void Write(const NvtxRange&) override;
  void Write(const CounterConfig&) override;
  void Write(const CounterImage&) override;
  void Write(const Range&) override;
  void Write(const DataLoss&) override;
  void Commit() override;

  /// Commits, marks the session complete and renames to the final name. The writer takes nothing after it.
  void Finish();

  const std::string& path() const;
  /// Where the data is now: `<path>.part` until Finish().
  const std::string& part_path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What to load of the metric values, which are most of a recording.
struct LoadOptions {
  /// Absent: all metrics. Otherwise only these names, which is what keeps a report fast.
  std::optional<std::set<std::string>> metrics;
};

/// Reads a recording file (or the `.part` of a killed run). Bad files (truncated, foreign, newer schema, corrupt) give
/// one Error that says which. Never writes to the file, except SQLite's own recovery of a killed run's `.part`.
class RecordingReader {
 public:
  explicit RecordingReader(const std::string& path);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;

  Recording Load(const LoadOptions& options = {}) const;

  /// The raw counter data image, decompressed. Throws Error when there is none with this id.
  CounterImage LoadImage(std::int64_t id) const;

  /// Ids of the images in the file.
  std::vector<std::int64_t> ImageIds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fa_profile
