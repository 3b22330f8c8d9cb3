// Any bytes at all: RecordingReader gives a recording or an Error, and takes no more than the bytes deserve.
//
// Every input is read twice. As it is, which tests the checks of header, size and checksums, and ends there for nearly
// everything a fuzzer makes of a finished file. Then with size and checksums made right, so that changed pages reach
// SQLite and the parser of rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "seal_pages.h"

namespace {

using fa_profile::Error;
using fa_profile::store::RecordingReader;

void Read(std::span<const std::uint8_t> bytes) {
  try {
    const RecordingReader reader = RecordingReader::FromBytes(bytes);
    const std::vector<std::int64_t> images = reader.ImageIds();
    for (std::size_t i = 0; i < std::min<std::size_t>(images.size(), 2); ++i) {
      try {
        reader.LoadImage(images[i]);
      } catch (const Error&) {
      }
    }
    reader.Load({.metrics = std::set<std::string>{"smsp__inst_executed.sum"}});
    reader.Load({.metrics = std::nullopt, .cubins = true});
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Read({data, size});
  std::vector<std::uint8_t> whole(data, data + size);
  fa_profile::MakeWhole(whole);
  if (!std::equal(whole.begin(), whole.end(), data, data + size)) Read(whole);
  return 0;
}

// For run_corpus: whether everything in the unchanged recording can be read.
extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    const RecordingReader reader = RecordingReader::FromBytes({data, size});
    reader.Load({.metrics = std::nullopt, .cubins = true});
    for (const std::int64_t id : reader.ImageIds()) reader.LoadImage(id);
    return true;
  } catch (const Error&) {
    return false;
  }
}
