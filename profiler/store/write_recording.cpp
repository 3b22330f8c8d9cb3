#include "fa_profile/recording_file.h"

namespace fa_profile::store {

void WriteRecording(const Recording& recording, const RecordingReader* images, RecordingSink& sink) {
  const auto write = [&](const auto& pieces) {
    for (const auto& piece : pieces) sink.Write(piece);
  };
  sink.Write(recording.session);
  sink.Write(recording.device);
  write(recording.clocks);
  write(recording.cases);
  write(recording.verifications);
  write(recording.timings);
  write(recording.launches);
  write(recording.nvtx_ranges);
  write(recording.watch_windows);
  write(recording.kernel_work);
  write(recording.memory_work);
  write(recording.nvtx_work);
  write(recording.nvtx_kernel_work);
  write(recording.configs);
  if (images != nullptr) {
    for (const std::int64_t id : images->ImageIds()) sink.Write(images->LoadImage(id));
  }
  write(recording.ranges);
  write(recording.cubins);
  write(recording.functions);
  write(recording.samplings);
  write(recording.countings);
  write(recording.losses);
}

}  // namespace fa_profile::store
