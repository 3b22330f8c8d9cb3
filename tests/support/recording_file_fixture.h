#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "random_recording.h"
#include "seal_pages.h"
#include "test_files.h"

namespace fa_profile {

namespace fs = std::filesystem;

class RecordingFiles : public FolderTest {
 protected:
  std::string Path(const std::string& name = "run.fap") const { return folder_ / name; }

  // Files in the directory, sorted.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  // A small finished recording with a piece of every kind.
  RandomRecording WriteSample(const std::string& path, unsigned seed = 1) const {
    RandomRecording sample = MakeRandomRecording(seed, 3);
    store::RecordingWriter writer(path, true);
    WriteAll(sample, writer);
    writer.Finish();
    return sample;
  }
};

inline std::span<const std::uint8_t> AsBytes(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Where the first page of a recording keeps its checksum: the end of the page.
inline constexpr std::size_t kFirstChecksum = 4096 - 8;

inline std::string WithoutFirstChecksum(std::string bytes) { return bytes.replace(kFirstChecksum, 8, 8, '\0'); }

// Right checksums whatever the pages hold.
inline std::string Sealed(std::string bytes) {
  SealPages({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

// Changes a file with plain SQLite, as a stranger would, and makes the checksums right again: a forger could.
inline void Execute(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message << "\n" << sql;
  sqlite3_close(handle);
  WriteFile(path, Sealed(ReadFile(path)));
}

// The message and hint of the one Error that `action` throws; fails when it throws none.
inline std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

inline std::string ReadError(const std::string& path) {
  return ErrorOf([&] { store::RecordingReader(path).Load(); });
}

// Whether the text of an Error has both: what is wrong, and the cure.
inline void ExpectSays(const std::string& text, const std::string& what, const std::string& cure = "hint: ") {
  EXPECT_NE(text.find(what), std::string::npos) << text;
  EXPECT_NE(text.find(cure), std::string::npos) << text;
}

}  // namespace fa_profile
