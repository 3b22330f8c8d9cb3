#pragma once

#include <map>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Collects a recording in memory.
class RecordingBuilder final : public RecordingSink {
 public:
  Recording recording;
  std::map<std::int64_t, CounterImage> images;
  int commits = 0;

  void Commit() override { ++commits; }

 private:
  void Take(const RecordingPiece& piece) override {
    std::visit([this](const auto* concrete) { Keep(*concrete); }, piece);
  }
  void Keep(const Session& v) { recording.session = v; }
  void Keep(const Device& v) { recording.device = v; }
  void Keep(const CounterImage& v) { images[v.id] = v; }
  template <typename Record>
  void Keep(const Record& v) {
    ListOf<Record>(recording).push_back(v);
  }
};

}  // namespace fa_profile
