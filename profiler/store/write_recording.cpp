#include <type_traits>

#include "fa_profile/recording_file.h"

namespace fa_profile::store {

void WriteRecording(const Recording& recording, const RecordingReader* images, RecordingSink& sink) {
  sink.Write(recording.session);
  sink.Write(recording.device);
  ForEachList(recording, [&]<typename Record>(const std::vector<Record>& list) {
    if (std::is_same_v<Record, Range> && images != nullptr) {  // ranges refer to images
      for (const std::int64_t id : images->ImageIds()) sink.Write(images->LoadImage(id));
    }
    for (const Record& record : list) sink.Write(record);
  });
}

}  // namespace fa_profile::store
