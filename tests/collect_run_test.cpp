// Which cases are measured together.
#include "fa_profile/collect_run.h"

#include <gtest/gtest.h>

#include "fake_gpu.h"

namespace fa_profile::collect::collect_run_test {
namespace {

class CollectTogetherTest : public testing::Test {
 protected:
  PendingCase CaseOf(std::int64_t id, int seqlen) {
    AttentionShape shape;
    shape.seqlen = seqlen;
    return {id, shape, [this, id]() -> std::unique_ptr<Workload> {
              if (id == too_large_ && alive_ > 0) throw Error("cudaMalloc", "cudaErrorMemoryAllocation", "no memory");
              if (id == failing_) throw Error("cudaMalloc", "cudaErrorUnknown", "broken");
              ++alive_;
              return std::make_unique<Counted>(*this);
            }};
  }
  // "1 2 raw | 3": the ids of each call, and whether it keeps raw data.
  std::string Collect(const std::vector<PendingCase>& cases, const std::string& raw = "none") {
    std::string text;
    CollectTogether(gpu_, cases, raw, [&](const std::vector<CollectJob>& jobs, bool keep) {
      EXPECT_EQ(static_cast<int>(jobs.size()), alive_);
      text += text.empty() ? "" : " | ";
      for (const CollectJob& job : jobs) text += std::to_string(job.case_id) + " ";
      text += keep ? "raw" : "-";
    });
    EXPECT_EQ(alive_, 0);
    return text;
  }

  FakeGpu gpu_;
  std::int64_t too_large_ = 0;  // does not fit together with another
  std::int64_t failing_ = 0;
  int alive_ = 0;

 private:
  class Counted final : public Workload {
   public:
    explicit Counted(CollectTogetherTest& test) : test_(test) {}
    ~Counted() override { --test_.alive_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    const std::string& kernel() const override { return name_; }
    const std::string& origin() const override { return name_; }
    std::optional<Shape> shape() const override { return std::nullopt; }
    const std::vector<std::string>& parts() const override { return parts_; }
    void LaunchPart(std::size_t, StreamHandle) override {}
    void Launch(StreamHandle) override {}

   private:
    CollectTogetherTest& test_;
    std::string name_ = "counted";
    std::vector<std::string> parts_ = {"main"};
  };
};

TEST_F(CollectTogetherTest, EverythingIsMeasuredTogetherWhileMemoryIsFree) {
  EXPECT_EQ(Collect({CaseOf(1, 64), CaseOf(2, 64), CaseOf(3, 128)}, "all"), "1 2 3 raw");
}

TEST_F(CollectTogetherTest, NoCasesAreNoCall) { EXPECT_EQ(Collect({}), ""); }

TEST_F(CollectTogetherTest, WithHalfOfTheMemoryTakenAShapeIsMeasuredBeforeTheNext) {
  gpu_.free_memory_share = 0.49;
  EXPECT_EQ(Collect({CaseOf(1, 64), CaseOf(2, 64), CaseOf(3, 128)}), "1 2 - | 3 -");
}

TEST_F(CollectTogetherTest, RawDataOfTheFirstShapeAloneSeparatesItFromTheOthers) {
  EXPECT_EQ(Collect({CaseOf(1, 64), CaseOf(2, 64), CaseOf(3, 128), CaseOf(4, 256)}, "first"), "1 2 raw | 3 4 -");
}

TEST_F(CollectTogetherTest, ACaseThatDoesNotFitBesideTheOthersIsTriedAlone) {
  too_large_ = 3;
  EXPECT_EQ(Collect({CaseOf(1, 64), CaseOf(2, 64), CaseOf(3, 64), CaseOf(4, 64)}, "all"), "1 2 raw | 3 4 raw");
}

TEST_F(CollectTogetherTest, AnotherErrorEndsTheRunAndFreesTheWorkloads) {
  failing_ = 2;
  EXPECT_THROW(Collect({CaseOf(1, 64), CaseOf(2, 64)}), Error);
  EXPECT_EQ(alive_, 0);
}

TEST(CollectRunTest, ACallIsRepeatedUntilAReplayLasts200Microseconds) {
  EXPECT_EQ(RepeatsPerReplay(10e3), 20);
  EXPECT_EQ(RepeatsPerReplay(150e3), 2);
  EXPECT_EQ(RepeatsPerReplay(200e3), 1);
  EXPECT_EQ(RepeatsPerReplay(5e9), 1);
  EXPECT_EQ(RepeatsPerReplay(1e3), 64) << "at most";
  EXPECT_EQ(RepeatsPerReplay(0.0), 64) << "events of the GPU can be as close";
}

TEST(CollectRunTest, ASessionNamesTheToolAndTheTime) {
  const Session session = NewSession("fa-profile --x", "full");
  EXPECT_EQ(session.command_line, "fa-profile --x");
  EXPECT_EQ(session.metric_set, "full");
  EXPECT_FALSE(session.tool_version.empty());
  EXPECT_EQ(session.created_at.size(), std::string("2026-01-01T00:00:00Z").size());
}

}  // namespace
}  // namespace fa_profile::collect::collect_run_test
