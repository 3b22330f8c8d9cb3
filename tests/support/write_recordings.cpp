// Writes small recordings that differ in what they measured: write_recordings FOLDER COUNT [KERNEL [CYCLES [GPU]]]
//
// For tests of what reads many recordings, or ones with a hostile kernel name. Each has one kernel, timed ten times,
// with the counters of one call.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "fa_profile/recording_file.h"

int main(int argc, char** argv) {
  using namespace fa_profile;
  if (argc < 3) return 2;
  const std::string folder = argv[1];
  const int count = std::atoi(argv[2]);
  for (int i = 0; i < count; ++i) {
    store::RecordingWriter writer(folder + "/small-" + std::to_string(i) + ".fap");
    Session session;
    session.tool_version = "0.1.0";
    session.tool_commit = "0123456789abcdef";
    session.created_at = "2026-01-01T00:00:00Z";
    session.metric_set = "basic";
    session.replay_mode = "user";
    session.cache_policy = "warm";
    writer.Write(session);
    Device device;
    device.name = "NVIDIA H200";
    device.chip = "GH100";
    device.uuid = "GPU-00000000-0000-0000-0000-000000000000";
    device.sm_count = 132;
    device.ordinal = argc > 5 ? std::atoi(argv[5]) : 0;
    writer.Write(device);
    Case entry;
    entry.id = 1;
    entry.kernel = argc > 3 ? argv[3] : "small";
    entry.origin = "ladder";
    entry.shape = AttentionShape{};
    writer.Write(entry);
    Verification verification;
    verification.case_id = 1;
    verification.draws = verification.draws_passed = 1;
    writer.Write(verification);
    Timing timing;
    timing.case_id = 1;
    timing.method = "events";
    timing.durations_ns.assign(10, 10000.0 + i);
    writer.Write(timing);
    Range range;
    range.id = 1;
    range.case_id = 1;
    range.name = "small";
    range.metrics = {{"sm__cycles_active.sum", argc > 4 ? std::atof(argv[4]) : 1000.0},
                     {"sm__warps_active.sum", 8000.0}};
    writer.Write(range);
    writer.Finish();
  }
}
