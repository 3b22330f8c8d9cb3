#include "fa_profile/judge_release.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/release_report.h"

namespace fa_profile::gate::judge_release_test {
namespace {

ReleaseCode Kernel(const std::string& name, const std::string& architecture = "sm_90") {
  ReleaseCode code;
  code.kernel = name;
  code.architecture = architecture;
  code.code_hash = "0000000000000001";
  code.code_bytes = 1024;
  code.registers_per_thread = 64;
  code.stack_frame_bytes = 0;
  code.occupancy_by_registers_ratio = 0.5;
  code.instructions = 1000;
  code.loop_instructions = 500;
  code.local_accesses = 0;
  code.loop_local_accesses = 0;
  code.tensor_instructions = 8;
  return code;
}

Release Of(std::vector<ReleaseCode> code) {
  Release release;
  release.origin = "package.whl";
  release.files = 1;
  release.code = std::move(code);
  return release;
}

/// A kernel whose code was changed by `edit`.
template <typename Edit>
ReleaseCode Changed(ReleaseCode code, const Edit& edit) {
  code.code_hash = "0000000000000002";
  edit(code);
  return code;
}

ReleaseResult Judged(const Release& before, const Release& after, const ReleaseLimits& limits = {}) {
  return JudgeRelease(before, after, limits);
}

template <typename Edit>
ReleaseResult JudgedAfter(const Edit& edit, const ReleaseLimits& limits = {}) {
  return Judged(Of({Kernel("k()")}), Of({Changed(Kernel("k()"), edit)}), limits);
}

ReleaseLimits Limits(const std::string& rules) {
  return {.thresholds = ParseThresholds("version: 1\nrules:\n" + rules, "limits.yaml"), .today = "2026-11-28"};
}

std::string FirstMetric(const ReleaseResult& result) {
  return result.rows.empty() || result.rows[0].changes.empty() ? "" : result.rows[0].changes[0].metric;
}

TEST(JudgeReleaseTest, EqualCodeIsTheSame) {
  const ReleaseResult result = Judged(Of({Kernel("k()")}), Of({Kernel("k()")}));
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_TRUE(result.rows.empty());
  ASSERT_EQ(result.architectures.size(), 1U);
  EXPECT_EQ(result.architectures[0].same, 1);
  EXPECT_EQ(ExitCode(result, true), 0);
}

TEST(JudgeReleaseTest, CodeForOtherArchitecturesIsNotTheSame) {
  ReleaseCode newer = Kernel("k()");
  newer.architecture = "sm_120";
  const ReleaseResult result = Judged(Of({Kernel("k()")}), Of({newer}));
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  EXPECT_NE(result.headline.find("; no kernel is in both for the same architecture"), std::string::npos)
      << result.headline;
}

TEST(JudgeReleaseTest, WhatMakesAKernelWorseBlocks) {
  const std::vector<std::pair<std::string, void (*)(ReleaseCode&)>> worse = {
      {"loop_local_accesses", [](ReleaseCode& code) { code.loop_local_accesses = code.local_accesses = 55; }},
      {"local_accesses", [](ReleaseCode& code) { code.local_accesses = 1; }},
      {"theoretical_occupancy_ratio", [](ReleaseCode& code) { code.occupancy_by_registers_ratio = 0.46875; }},
      {"stack_frame_bytes", [](ReleaseCode& code) { code.stack_frame_bytes = 8; }},
      {"static_tensor_instructions", [](ReleaseCode& code) { code.tensor_instructions = 0; }},
      {"device_debug", [](ReleaseCode& code) { code.is_device_debug = true; }},
  };
  for (const auto& [metric, edit] : worse) {
    const ReleaseResult result = JudgedAfter(edit);
    EXPECT_EQ(result.verdict, Verdict::kRegression) << metric;
    EXPECT_EQ(FirstMetric(result), metric);
    EXPECT_EQ(ExitCode(result, false), 1);
  }
}

TEST(JudgeReleaseTest, OtherGrowthIsSuspectOrAWarningAndLessIsBetter) {
  EXPECT_EQ(JudgedAfter([](ReleaseCode& code) { code.registers_per_thread = 72; }).verdict, Verdict::kPass);
  const ReleaseResult registers = JudgedAfter([](ReleaseCode& code) { code.registers_per_thread = 96; });
  EXPECT_EQ(registers.verdict, Verdict::kSuspect);
  EXPECT_EQ(ExitCode(registers, false), 0);
  EXPECT_EQ(ExitCode(registers, true), 3);
  EXPECT_EQ(JudgedAfter([](ReleaseCode& code) { code.instructions = 1300; }).verdict, Verdict::kSuspect);

  ReleaseCode spilled = Kernel("k()");
  spilled.local_accesses = 10;
  const auto more = [](ReleaseCode& code) { code.local_accesses = 12; };
  const ReleaseResult outside = Judged(Of({spilled}), Of({Changed(spilled, more)}));
  EXPECT_EQ(outside.verdict, Verdict::kPass);
  EXPECT_EQ(outside.rows[0].changes[0].verdict, Verdict::kRegression);
  EXPECT_FALSE(outside.rows[0].changes[0].blocking);

  const auto none = [](ReleaseCode& code) { code.local_accesses = 0; };
  EXPECT_EQ(Judged(Of({spilled}), Of({Changed(spilled, none)})).verdict, Verdict::kImproved);
}

TEST(JudgeReleaseTest, WhereLoopsAreNotKnownMoreLocalAccessesBlock) {
  ReleaseCode before = Kernel("k()");
  before.local_accesses = 10;
  before.loops_known = false;
  const auto more = [](ReleaseCode& code) { code.local_accesses = 12; };
  EXPECT_EQ(Judged(Of({before}), Of({Changed(before, more)})).verdict, Verdict::kRegression);
}

TEST(JudgeReleaseTest, OccupancyIsOfBlocksIfBothSizesAreKnown) {
  ReleaseCode before = Kernel("k()");
  before.threads_per_block = 128;
  before.occupancy_ratio = 0.5;
  const auto fewer = [](ReleaseCode& code) { code.occupancy_ratio = 0.25; };
  EXPECT_EQ(Judged(Of({before}), Of({Changed(before, fewer)})).verdict, Verdict::kRegression);
  EXPECT_EQ(Judged(Of({Kernel("k()")}), Of({Changed(before, fewer)})).verdict, Verdict::kPass);  // unlike sizes
}

TEST(JudgeReleaseTest, RegistersInsteadOfSpillsInLoopsAreSuspect) {
  ReleaseCode spilled = Kernel("k()");
  spilled.local_accesses = spilled.loop_local_accesses = 10;
  const auto trade = [](ReleaseCode& code) {
    code.local_accesses = code.loop_local_accesses = 0;
    code.occupancy_by_registers_ratio = 0.25;
  };
  EXPECT_EQ(Judged(Of({spilled}), Of({Changed(spilled, trade)})).verdict, Verdict::kSuspect);
}

TEST(JudgeReleaseTest, ALostKernelOrArchitectureBlocksUnlessAllowed) {
  const Release before = Of({Kernel("a()", "sm_80"), Kernel("b()", "sm_80"), Kernel("a()"), Kernel("b()")});
  const Release less = Of({Kernel("a()", "sm_80"), Kernel("b()", "sm_80"), Kernel("a()")});
  const ReleaseResult lost = Judged(before, less);
  EXPECT_EQ(lost.verdict, Verdict::kRegression);
  ASSERT_EQ(lost.rows.size(), 1U);
  EXPECT_EQ(lost.rows[0].kind, ReleaseRow::Kind::kLost);
  EXPECT_NE(lost.headline.find("1 kernel is lost"), std::string::npos) << lost.headline;

  const Release old = Of({Kernel("a()"), Kernel("b()")});
  const ReleaseResult architecture = Judged(before, old);
  EXPECT_EQ(architecture.verdict, Verdict::kRegression);
  EXPECT_TRUE(architecture.rows.empty());  // one loss, not one for each kernel
  EXPECT_NE(architecture.headline.find("sm_80 is lost"), std::string::npos) << architecture.headline;

  ReleaseLimits limits;
  limits.may_be_lost = [](const std::string& name) { return name == "sm_80" || name == "b()"; };
  EXPECT_EQ(Judged(before, less, limits).verdict, Verdict::kPass);
  EXPECT_EQ(Judged(before, old, limits).verdict, Verdict::kPass);
  EXPECT_EQ(Judged(old, before).verdict, Verdict::kPass);  // a new architecture
}

TEST(JudgeReleaseTest, KernelsArePairedByFileThenByCodeThenByFunction) {
  ReleaseCode here = Kernel("k()");
  here.file = "here";
  ReleaseCode there = Kernel("k()");
  there.file = "there";
  there.registers_per_thread = 255;
  const ReleaseResult files = Judged(Of({here, there}), Of({here, there}));
  EXPECT_TRUE(files.rows.empty());

  const ReleaseResult moved =
      Judged(Of({here}), Of({Changed(there, [](ReleaseCode& code) { code.code_hash = "0000000000000001"; })}));
  EXPECT_EQ(moved.architectures[0].changed, 1);  // the same instructions with other registers

  // A parameter more: the same function with the same template arguments.
  const ReleaseResult renamed = Judged(Of({Kernel("void n::k<64>(int)")}), Of({Kernel("void n::k<64>(int, int)")}));
  EXPECT_EQ(renamed.verdict, Verdict::kPass);
  EXPECT_TRUE(renamed.rows.empty());
  const ReleaseResult other = Judged(Of({Kernel("void n::k<64>(int)")}), Of({Kernel("void n::k<32>(int)")}));
  EXPECT_EQ(other.verdict, Verdict::kRegression);  // one lost, one new

  const ReleaseResult copies = Judged(Of({here, there}), Of({here}));
  EXPECT_EQ(copies.verdict, Verdict::kPass);
  EXPECT_EQ(copies.notes.size(), 1U);
}

TEST(JudgeReleaseTest, CodeThatWasNotReadIsNeverAPass) {
  for (const bool old : {false, true}) {
    Release before = Of({Kernel("k()")});
    Release after = before;
    (old ? before : after).unread = {"lib.so (cubin sm_90): the cubin is cut off"};
    const ReleaseResult result = Judged(before, after);
    EXPECT_EQ(result.verdict, Verdict::kInconclusive);
    EXPECT_NE(result.headline.find("lib.so (cubin sm_90)"), std::string::npos) << result.headline;
    EXPECT_EQ(ExitCode(result, false), 0);
    EXPECT_EQ(ExitCode(result, true), 3);
  }
}

TEST(JudgeReleaseTest, CodeOfAnUnknownEncodingThatChangedIsUnknown) {
  const auto forget = [](ReleaseCode& code) {
    code.instructions = code.loop_instructions = code.tensor_instructions = std::nullopt;
    code.local_accesses = code.loop_local_accesses = std::nullopt;
  };
  const ReleaseCode before = Changed(Kernel("k()", "sm_60"), forget);
  ReleaseCode after = before;
  EXPECT_EQ(Judged(Of({before}), Of({after})).verdict, Verdict::kPass);
  after.code_hash = "0000000000000003";
  const ReleaseResult result = Judged(Of({before}), Of({after}));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_NE(result.headline.find("sm_60"), std::string::npos);
}

TEST(JudgeReleaseTest, PtxThatChangedAloneIsUnknown) {
  Release before = Of({Kernel("k()")});
  before.later = {{"k()", "compute_90", "lib", "0000000000000001"}, {"", "compute_90", "lib", "0000000000000001"}};
  Release after = before;
  EXPECT_EQ(Judged(before, after).verdict, Verdict::kPass);
  after.later[0].hash = "0000000000000002";
  const ReleaseResult alone = Judged(before, after);
  EXPECT_EQ(alone.verdict, Verdict::kInconclusive);
  EXPECT_NE(alone.headline.find("PTX compute_90"), std::string::npos) << alone.headline;
  after.code[0].code_hash = "0000000000000002";  // the machine code changed too, and is judged
  EXPECT_EQ(Judged(before, after).verdict, Verdict::kPass);
  after.later.clear();
  const ReleaseResult lost = Judged(before, after);
  EXPECT_EQ(lost.verdict, Verdict::kRegression);
  EXPECT_NE(lost.headline.find("PTX compute_90 is lost"), std::string::npos) << lost.headline;
}

TEST(JudgeReleaseTest, RulesReplaceTheDefaults) {
  const auto spill = [](ReleaseCode& code) { code.loop_local_accesses = code.local_accesses = 2; };
  const std::string allow =
      "  - {kernel: \"k*\", metric: loop_local_accesses, absolute: 4, owner: me}\n"
      "  - {kernel: \"k*\", metric: local_accesses, absolute: 4, owner: me}\n";
  EXPECT_EQ(JudgedAfter(spill, Limits(allow)).verdict, Verdict::kPass);
  const auto many = [](ReleaseCode& code) { code.loop_local_accesses = code.local_accesses = 5; };
  const ReleaseResult result = JudgedAfter(many, Limits(allow));
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  EXPECT_EQ(result.rows[0].changes[0].rule, "limits.yaml:3");

  // A most that unchanged code breaks too.
  const ReleaseLimits most = Limits("  - {kernel: \"*\", metric: registers_per_thread, maximum: 32, owner: me}\n");
  const ReleaseResult same = Judged(Of({Kernel("k()")}), Of({Kernel("k()")}), most);
  EXPECT_EQ(same.verdict, Verdict::kRegression);
  EXPECT_NE(same.headline.find("1 unchanged kernel is over a limit"), std::string::npos) << same.headline;

  EXPECT_THROW((void)Judged(Of({Kernel("k()")}), Of({Kernel("k()")}),
                            Limits("  - {kernel: other, metric: local_accesses, maximum: 0}\n")),
               Error);
}

TEST(JudgeReleaseTest, ASavedReleaseIsReadBack) {
  Release release = Of({Kernel("k()"), Changed(Kernel("void a<\"\n\">()"), [](ReleaseCode& code) {
                          code.registers_per_thread.reset();
                          code.threads_per_block = 128;
                          code.occupancy_ratio = 0.5;
                          code.loops_known = false;
                        })});
  release.later = {{"k()", "compute_90", "lib", "0000000000000001"}};
  release.unread = {"a"};
  release.unread_more = 3;
  release.package_bytes = 123;
  const std::string text = ToJson(release);
  EXPECT_EQ(ToJson(ReleaseFromJson(text, "release.json")), text);
  EXPECT_TRUE(Judged(ReleaseFromJson(text, "release.json"), release).rows.empty());

  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string bad = text;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_THROW((void)ReleaseFromJson(bad, "release.json"), Error) << to;
  };
  refused("\"version\":1", "\"version\":2");
  refused("fa-profile release", "fa-profile evidence");
  refused("0000000000000001", "000000000000000x");
  refused("\"registers_per_thread\":64", "\"registers_per_thread\":-1");
  refused("\"occupancy_ratio\":0.5", "\"occupancy_ratio\":1.5");
  refused("\"loops_known\":true", "\"loops_known\":1");
  refused("\"file\":\"\"", "\"fil\":\"\"");
}

TEST(JudgeReleaseTest, ReportsShowTheWorstFirstAndEscapeNames) {
  std::vector<ReleaseCode> before;
  std::vector<ReleaseCode> after;
  for (int i = 0; i < 40; ++i) {
    before.push_back(Kernel("k<" + std::to_string(i) + ">()"));
    after.push_back(Changed(before.back(), [&](ReleaseCode& code) {
      if (i % 2 == 1) code.loop_local_accesses = code.local_accesses = i;
    }));
  }
  before.push_back(Kernel("void evil|`@everyone`\x1b[2J##[error]()"));
  const ReleaseResult result = Judged(Of(before), Of(after));
  const std::string text = ReleaseText(result);
  EXPECT_TRUE(text.starts_with("REGRESSION: 20 kernels are worse; 1 kernel is lost; 40 kernels changed\n")) << text;
  EXPECT_LT(text.find("k<39>"), text.find("k<37>"));
  EXPECT_NE(text.find("21 more; --rows 0 lists all"), std::string::npos) << text;
  EXPECT_NE(text.find("local memory accesses in loops 0 -> 39"), std::string::npos) << text;
  const std::string all = ReleaseText(result, 0);
  EXPECT_EQ(all.find("more;"), std::string::npos);
  EXPECT_EQ(all.find('\x1b'), std::string::npos);
  EXPECT_EQ(all.find("##["), std::string::npos);
  const std::string markdown = ReleaseMarkdown(result, 0);
  EXPECT_TRUE(markdown.starts_with("<!-- fa-profile release -->\n**REGRESSION**"));
  EXPECT_EQ(markdown.find("evil|"), std::string::npos);
  EXPECT_LE(markdown.size(), 65'536U);
}

}  // namespace
}  // namespace fa_profile::gate::judge_release_test
