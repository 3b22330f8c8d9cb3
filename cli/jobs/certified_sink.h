#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::jobs {

/// Passes on a run's measurements, and checks them against what the judge certified.
class CertifiedSink final : public RecordingSink {
 public:
  /// `to` outlives this.
  explicit CertifiedSink(RecordingSink& to) : to_(to) {}

  void Commit() override { to_.Commit(); }

  /// "mine@n=4: the measured time 5.1 us is not the certified 11.5 us: ...", one line for each case that does not
  /// agree.
  std::vector<std::string> Contradictions() const;

 private:
  void Take(const RecordingPiece& piece) override;

  RecordingSink& to_;
  std::map<std::int64_t, std::string> names_;
  std::map<std::int64_t, Judgement> judgements_;  // by case
  std::map<std::int64_t, MeasuredCall> measured_;
};

}  // namespace fa_profile::jobs
