#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fa_profile/sqlite.h"

namespace fa_profile::store {

/// A file that is a recording by its header and has exactly the tables of one. Its rows are still untrusted.
struct OpenedRecording {
  std::unique_ptr<Connection> connection;
  std::int64_t size_bytes = 0;
};

/// Opens read-only; a killed run's file is rolled back first. Throws an Error that says what the file is instead of a
/// recording.
OpenedRecording OpenRecording(const std::string& path);

/// The same for bytes, which must outlive the result and are not changed.
OpenedRecording OpenRecordingBytes(std::span<std::uint8_t> bytes);

}  // namespace fa_profile::store
