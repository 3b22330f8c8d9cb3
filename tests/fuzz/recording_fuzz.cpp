// Any bytes at all: RecordingReader gives a recording or an Error, and takes no more than the bytes deserve.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fa_profile;
  try {
    const RecordingReader reader = RecordingReader::FromBytes({data, size});
    const std::vector<std::int64_t> images = reader.ImageIds();
    for (std::size_t i = 0; i < std::min<std::size_t>(images.size(), 2); ++i) {
      try {
        reader.LoadImage(images[i]);
      } catch (const Error&) {
      }
    }
    reader.Load({.metrics = std::set<std::string>{"smsp__inst_executed.sum"}});
    reader.Load();
  } catch (const Error&) {
  }
  return 0;
}
