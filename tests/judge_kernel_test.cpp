#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/judge.h"
#include "fa_profile/library_server.h"
#include "floor.h"
#include "weak_tolerance.h"
#include "witness.h"

namespace fa_profile::judge {
namespace {

constexpr std::int64_t kInterval = 20'000;
constexpr std::int64_t kSettle = 200'000;

collect::PmReading Reading(std::int64_t index, double busy_part, double instructions = 0) {
  constexpr double kFullCycles = 5e6;
  return {index * kInterval,
          (index + 1) * kInterval,
          {{"TPC.TriageCompute.sm__inst_executed_realtime.sum", instructions},
           {"TPC.TriageCompute.sm__cycles_active.sum", busy_part * kFullCycles},
           {"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum", 0.0}}};
}

// Quiet readings, then `busy` full ones with half a reading at either end, then quiet ones again.
collect::PmReadings Burst(int quiet_before, int busy, int quiet_after) {
  collect::PmReadings taken;
  std::int64_t at = 1;
  taken.readings.push_back({-50 * kInterval, kInterval, Reading(0, 1.0, 1e9).metrics});  // from before the start
  const auto add = [&](double part, double instructions) {
    taken.readings.push_back(Reading(at++, part, instructions));
  };
  for (int i = 0; i < quiet_before; ++i) add(0, 0);
  add(0.5, 50);
  for (int i = 0; i < busy; ++i) add(1, 100);
  add(0.5, 50);
  for (int i = 0; i < quiet_after; ++i) add(0, 0);
  return taken;
}

TEST(JudgeKernelTest, TheWitnessAddsUpABurstAndItsTimeWithoutTheIdlePartsOfItsEnds) {
  const Watched seen = SumReadings(Burst(10, 8, 10), kInterval, kSettle);
  EXPECT_DOUBLE_EQ(seen.counts.instructions, 900);
  EXPECT_DOUBLE_EQ(seen.busy_ns, 9.0 * kInterval);
  EXPECT_TRUE(seen.quiet_before && seen.quiet_after && seen.complete);
}

TEST(JudgeKernelTest, WorkBeforeOrAfterIsSeen) {
  EXPECT_FALSE(SumReadings(Burst(1, 8, 10), kInterval, kSettle).quiet_before);
  EXPECT_FALSE(SumReadings(Burst(10, 8, 1), kInterval, kSettle).quiet_after);
}

TEST(JudgeKernelTest, AnIdleGpuHasNoWorkAndLostReadingsAreTold) {
  collect::PmReadings idle;
  for (int i = 0; i < 20; ++i) idle.readings.push_back(Reading(i, 0));
  EXPECT_DOUBLE_EQ(SumReadings(idle, kInterval, kSettle).busy_ns, 0);
  idle.buffer_full = true;
  EXPECT_FALSE(SumReadings(idle, kInterval, kSettle).complete);
}

std::string Accepted(const Tolerance& tolerance, const std::vector<double>& expected,
                     const std::vector<std::int64_t>& extents, NumberFormat format = NumberFormat::kFp32) {
  return FindWeakTolerance(format, tolerance, expected, extents).accepts;
}

TEST(JudgeKernelTest, ATolerancesWeaknessIsFoundAndAPartOfItRefusesIt) {
  // A softmax over many columns: all right values are below the usual tolerance.
  std::vector<double> softmax(64);
  for (std::size_t i = 0; i < softmax.size(); ++i) softmax[i] = 1e-4 * (1.0 + static_cast<double>(i % 7));
  const WeakTolerance weak =
      FindWeakTolerance(NumberFormat::kFp32, {1e-3, 1e-3}, softmax, std::vector<std::int64_t>{8, 8});
  EXPECT_EQ(weak.accepts, "zeros");
  EXPECT_LT(weak.part * 1e-3, 1e-4) << "zeros would still pass";
  EXPECT_EQ(Accepted({1e-7, 1e-6}, softmax, {8, 8}), "");
  EXPECT_EQ(Accepted({1e300, 0}, softmax, {8, 8}), "zeros") << "a huge tolerance is not the result itself";
  // Rows that are equal by design: their mean is the result, but for its rounding.
  std::vector<double> equal_rows(64);
  for (std::size_t i = 0; i < equal_rows.size(); ++i) equal_rows[i] = 0.1 + 3.7 * static_cast<double>(i % 8);
  EXPECT_EQ(Accepted({1e-3, 1e-4}, equal_rows, {8, 8}), "");
}

TEST(JudgeKernelTest, MeansOverAnExtentAndCoarseTypesAreTried) {
  // Rows that differ little from their mean over extent 0.
  std::vector<double> rows;
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) rows.push_back(column * 10.0 + row * 1e-3);
  }
  EXPECT_EQ(Accepted({1e-2, 0}, rows, {4, 4}), "the mean over extent 0");
  const std::vector<double> values = {1.001, -2.003, 3.007, 4.01};
  EXPECT_EQ(Accepted({0, 5e-3}, values, {4}), "the reference rounded to 8 significant bits");
  EXPECT_EQ(Accepted({0, 1e-4}, values, {4}), "");
}

TEST(JudgeKernelTest, AResultThatIsZeroOrConstantIsNoWeakness) {
  EXPECT_EQ(Accepted({1e-3, 1e-3}, std::vector<double>(16, 0.0), {16}), "");
  EXPECT_EQ(Accepted({0, 1e-6}, std::vector<double>(16, 2.0), {16}), "");
}

TEST(JudgeKernelTest, NumbersAreRoundedToTheirFirstBits) {
  EXPECT_DOUBLE_EQ(RoundToBits(2, 1.13), 1.25);
  EXPECT_DOUBLE_EQ(RoundToBits(2, -1.10), -1.0);
  EXPECT_DOUBLE_EQ(RoundToBits(10, 1.0), 1.0);
  EXPECT_TRUE(std::isinf(RoundToBits(7, INFINITY)));
}

TEST(JudgeKernelTest, AStatementComesBackAndAnythingElseIsRefused) {
  LibraryStatement statement{{"mine", {{"rows", 4, 1, 9}}, {"x: fp16 input (rows)"}}, {}, true, false};
  TensorDescription tensor;
  tensor.name = "x";
  tensor.format = NumberFormat::kFp16;
  tensor.shape = "rows";
  tensor.tolerance = {1e-3, 2e-3};
  statement.tensors = {tensor};
  const LibraryStatement read = StatementFromMessage(ToMessage(statement));
  EXPECT_EQ(read.identity.kernel, "mine");
  EXPECT_EQ(read.identity.parameters, statement.identity.parameters);
  EXPECT_EQ(read.tensors.at(0).format, NumberFormat::kFp16);
  EXPECT_DOUBLE_EQ(read.tensors.at(0).tolerance.relative, 2e-3);
  EXPECT_TRUE(read.has_reference);
  // The judge's description of a Python kernel's outputs has no "error".
  nlohmann::json bare = nlohmann::json::parse(ToMessage(statement));
  bare.erase("error");
  EXPECT_EQ(StatementFromMessage(bare.dump()).tensors.size(), 1U);
  for (const char* bad : {"", "{}", "[1]", R"({"kernel":"x","words":[],"parameters":[[1]],"tensors":[]})"}) {
    EXPECT_THROW((void)StatementFromMessage(bad), Error) << bad;
  }
}

TEST(JudgeKernelTest, AVerdictIsOneSentence) {
  Judgement judgement;
  judgement.verdict = Judgement::Verdict::kCertified;
  judgement.calls = 3000;
  judgement.durations_ns = {12'400, 12'300, 12'500};
  EXPECT_EQ(Describe(judgement), "certified: 12.4 us a call, 0 of 3000 calls wrong (95 %: under 0.1 %)");
  judgement.weak_tolerance = "y: zeros";
  judgement.same_bits = false;
  judgement.largest_difference = 2.5e-4;
  EXPECT_EQ(
      Describe(judgement),
      "certified: 12.4 us a call, 0 of 3000 calls wrong (95 %: under 0.1 %); not deterministic: equal inputs give "
      "results up to 0.00025 apart; weak tolerance, which also accepts y: zeros");
  judgement.verdict = Judgement::Verdict::kRefused;
  judgement.reason = "timed calls do less";
  EXPECT_EQ(Describe(judgement), "REFUSED: timed calls do less");
}

// 132 SMs of 1.98 GHz: 1.07 PFLOP/s of 16 bits, 3.35 TB/s, 33.5 TB/s of the load/store units.
const Ceilings kH100{90, 132, 1.98e9, 3.35e12, 50e6};

std::string BelowFloor(double call_us, const Work& work, NumberFormat format = NumberFormat::kBf16,
                       double tensor_bytes = 1e9, const Ceilings& ceilings = kH100) {
  return WhyBelowFloor(1e3 * call_us, work, {NumberFormat::kFp32, format}, tensor_bytes, ceilings);
}

TEST(JudgeKernelTest, ATimeBelowWhatTheDeclaredWorkTakesAtThePeakIsRefused) {
  const Work product{1e12, std::nullopt};  // 934 us at the peak, of 8 bits 467 us
  EXPECT_EQ(
      BelowFloor(500, product),
      "below the floor: 1e+12 FLOPs take at least 934.1 us at the peak of this GPU, 1.071e+15 FLOPs/s, and a call "
      "took 500 us");
  EXPECT_EQ(BelowFloor(935, product), "");
  EXPECT_EQ(BelowFloor(500, product, NumberFormat::kFp8E4m3), "");
  EXPECT_NE(BelowFloor(400, product, NumberFormat::kFp8E4m3), "");
}

TEST(JudgeKernelTest, BytesThatL2MayKeepHaveTheFloorOfTheSmsAndOthersThatOfDram) {
  const Work copy{std::nullopt, 40e6};  // fits in L2: 1.2 us of load/store units, 12 us of DRAM
  EXPECT_EQ(BelowFloor(2, copy), "");
  EXPECT_NE(BelowFloor(1, copy), "");
  const Work large{std::nullopt, 385e6};  // 100 us of DRAM for what L2 does not hold
  EXPECT_EQ(BelowFloor(99, large),
            "below the floor: 3.35e+08 bytes of DRAM take at least 100 us at the peak of this GPU, 3.35e+12 bytes of "
            "DRAM/s, and a call took 99 us");
  EXPECT_EQ(BelowFloor(101, large), "");
  EXPECT_EQ(BelowFloor(20, large, NumberFormat::kBf16, /*tensor_bytes=*/45e6), "") << "bytes that are read again";
}

TEST(JudgeKernelTest, WhereThePeakOrTheWorkIsUnknownThereIsNoFloor) {
  EXPECT_EQ(BelowFloor(1e-3, {}), "");
  EXPECT_EQ(BelowFloor(1e-3, {1e12, 1e9}, NumberFormat::kBf16, 1e9, {}), "");
  EXPECT_EQ(BelowFloor(1e-3, {1e12, std::nullopt}, NumberFormat::kBf16, 1e9, {999, 132, 1.98e9, 3.35e12, 50e6}), "");
}

TEST(JudgeKernelTest, OfATrialAGateGetsItsTimesOrWhyThereAreNone) {
  Answer answer;
  answer.verification.draws = answer.verification.draws_passed = 6;
  answer.judgement.durations_ns = {12'400, 12'300, 12'500};
  answer.judgement.verdict = Judgement::Verdict::kCertified;
  EXPECT_EQ(TimeOf(answer).durations_ns, answer.judgement.durations_ns);
  EXPECT_EQ(TimeOf(answer).refused + TimeOf(answer).untimed + TimeOf(answer).error, "");

  answer.judgement.verdict = Judgement::Verdict::kRefused;
  answer.judgement.reason = "timed calls do less";
  EXPECT_EQ(TimeOf(answer).refused, "timed calls do less");
  EXPECT_TRUE(TimeOf(answer).durations_ns.empty());

  answer.judgement.verdict = Judgement::Verdict::kCannotSay;
  answer.judgement.reason = "another process works on this GPU";
  EXPECT_TRUE(TimeOf(answer).durations_ns.empty());
  EXPECT_EQ(TimeOf(answer).untimed, "another process works on this GPU");
  answer.verification.error = "it ended";
  EXPECT_EQ(TimeOf(answer).error, "it ended");
  answer.why_not = "rows must be even";
  EXPECT_EQ(TimeOf(answer).error, "rows must be even");
}

TEST(JudgeKernelTest, AMeasurementThatTheCertificateContradictsIsTold) {
  Judgement judgement;
  judgement.verdict = Judgement::Verdict::kCertified;
  judgement.durations_ns = {11'500, 11'500, 11'400};
  judgement.calls_a_graph = 100;
  judgement.verified.instructions = 2e6;
  judgement.timed.instructions = 2.01e6;
  EXPECT_EQ(
      WhyNotAsCertified(judgement, {5'100, 2e6}),
      "the measured time 5.1 us is not the certified 11.5 us: the library behaves otherwise where it is measured");
  EXPECT_EQ(
      WhyNotAsCertified(judgement, {11'500, 4e5}),
      "a measured call executes 4e+05 instructions, a certified one 2e+06: the library behaves otherwise where it "
      "is measured");
  for (const double honest : {10'500.0, 11'500.0, 20'000.0}) {
    EXPECT_EQ(WhyNotAsCertified(judgement, {honest, 1.9e6}), "") << honest;
  }
  EXPECT_EQ(WhyNotAsCertified(judgement, {6'700, 1.6e6}), "") << "its longest sequence is shorter by chance";
  EXPECT_NE(WhyNotAsCertified(judgement, {6'400, 1.6e6}), "") << "so short it is not";
  EXPECT_EQ(WhyNotAsCertified(judgement, {}), "");
  judgement.calls_a_graph = 1;  // the gap between graphs is in the certified time
  EXPECT_EQ(WhyNotAsCertified(judgement, {8'000, {}}), "");
  judgement.verdict = Judgement::Verdict::kCannotSay;
  EXPECT_EQ(WhyNotAsCertified(judgement, {5'100, {}}), "");
}

TEST(LibraryServerTest, TheContextIsMadeBeforeTheLibraryIsLoaded) {
  ChildSession session(FA_PROFILE_PROGRAM, {"fa-profile", "kernel-library", "/nowhere/mine.so", "--serve"},
                       {"CUDA_VISIBLE_DEVICES="});
  ASSERT_TRUE(session.Send(R"({"do": "device", "device": 0})"));
  const std::string context = session.Receive(60).value_or("");
  EXPECT_NE(context.find("cudaSetDevice"), std::string::npos) << context;
  EXPECT_EQ(context.find("mine.so"), std::string::npos) << context;
  ASSERT_TRUE(session.Send(R"({"do": "describe"})"));
  EXPECT_NE(session.Receive(60).value_or("").find("mine.so"), std::string::npos);
}

TEST(ChildSessionTest, AnswersComeAndAnEndIsToldWithWhatWasPrinted) {
  ChildSession session("/bin/sh", {"sh", "-c", "echo said >&2; exec cat <&3 >&3"});
  ASSERT_TRUE(session.Send("a question"));
  EXPECT_EQ(session.Receive(20), "a question");
  const ChildEnd end = session.End();
  EXPECT_EQ(end.err, "said\n");
}

TEST(ChildSessionTest, AChildThatEndsOrHangsGivesNoAnswer) {
  ChildSession ended("/bin/sh", {"sh", "-c", "exit 3"});
  EXPECT_EQ(ended.Receive(20), std::nullopt);
  EXPECT_FALSE(ended.End().timed_out);
  ChildSession hangs("/bin/sh", {"sh", "-c", "sleep 60"});
  EXPECT_EQ(hangs.Receive(0.05), std::nullopt);
  EXPECT_TRUE(hangs.End().timed_out);
}

TEST(ChildSessionTest, AChildMayPrintWithoutEnd) {
  ChildSession session("/bin/sh", {"sh", "-c", "yes | head -c 67108864; echo last; echo done >&3; exec sleep 60"});
  ASSERT_EQ(session.Receive(60.0, nullptr), "done\n");
  EXPECT_EQ(session.Receive(0.05, nullptr), std::nullopt);
  std::uintmax_t held = 0;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    struct stat file {};
    const bool printed = std::filesystem::read_symlink(one.path(), ignored).string().starts_with("/memfd:fa-profile");
    if (printed && stat(one.path().c_str(), &file) == 0) held += static_cast<std::uintmax_t>(file.st_blocks) * 512;
  }
  EXPECT_GT(held, 0U);
  EXPECT_LT(held, 8U << 20U);
  EXPECT_TRUE(session.End().err.ends_with("y\nlast\n"));
}

TEST(ChildSessionTest, VariablesAreReplacedAndDescriptorsGiven) {
  const Pipe pipe = MakePipe();
  ChildSession session("/bin/sh", {"sh", "-c", "printf '%s' \"$FA_PROFILE_TRIED\" >&4; echo done >&3; sleep 60"},
                       {"FA_PROFILE_TRIED=yes"}, {pipe.write_end.get()});
  EXPECT_EQ(session.Receive(20), "done\n");
  char text[8] = {};
  EXPECT_EQ(read(pipe.read_end.get(), text, sizeof text), 3);
  EXPECT_STREQ(text, "yes");
}

}  // namespace
}  // namespace fa_profile::judge
