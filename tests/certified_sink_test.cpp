#include "certified_sink.h"

#include <gtest/gtest.h>

#include <variant>

namespace fa_profile::jobs {
namespace {

class Kept final : public RecordingSink {
 public:
  void Commit() override { ++commits; }
  int pieces = 0;
  int commits = 0;

 private:
  void Take(const RecordingPiece&) override { ++pieces; }
};

TEST(CertifiedSinkTest, WhatIsMeasuredIsPassedOnAndHeldAgainstTheCertificate) {
  Kept kept;
  CertifiedSink sink(kept);
  Judgement judgement;
  judgement.verdict = Judgement::Verdict::kCertified;
  judgement.durations_ns = {11'500};
  judgement.calls_a_graph = 100;
  for (const std::int64_t id : {1, 2}) {
    sink.Write(Case{id, "mine", "/lib/mine.so", Shape({{"n", id}}), {}});
    judgement.case_id = id;
    sink.Write(judgement);
    sink.Write(Timing{.case_id = id, .part = "part", .method = "", .durations_ns = {1.0}});
  }
  sink.Write(Timing{.case_id = 1, .part = "", .method = "", .durations_ns = {5'100, 5'000, 90'000}});
  sink.Write(Timing{.case_id = 2, .part = "", .method = "", .durations_ns = {11'600}});
  sink.Commit();
  EXPECT_EQ(kept.pieces, 8);
  EXPECT_EQ(kept.commits, 1);
  EXPECT_EQ(sink.Contradictions(),
            std::vector<std::string>{"mine@n=1: the measured time 5.1 us is not the certified 11.5 us: the library "
                                     "behaves otherwise where it is measured"});
}

TEST(CertifiedSinkTest, CountersAreHeldAgainstItTooAndWhatIsNotJudgedIsNot) {
  Kept kept;
  CertifiedSink sink(kept);
  Judgement judgement;
  judgement.verdict = Judgement::Verdict::kCertified;
  judgement.durations_ns = {11'500};
  judgement.verified.instructions = judgement.timed.instructions = 1e6;
  judgement.case_id = 1;
  sink.Write(judgement);
  for (const std::int64_t id : {1, 2}) {
    sink.Write(Case{id, "mine", "/lib/mine.so", Shape({{"n", id}}), {}});
    Range range{.id = id, .case_id = id, .part = "", .name = "", .metrics = {}};
    range.metrics["sm__inst_executed.sum"] = 1e5;  // as in the set phases
    sink.Write(range);
  }
  ASSERT_EQ(sink.Contradictions().size(), 1U);
  EXPECT_TRUE(sink.Contradictions().front().starts_with("mine@n=1: a measured call executes 1e+05 instructions"))
      << sink.Contradictions().front();
}

}  // namespace
}  // namespace fa_profile::jobs
