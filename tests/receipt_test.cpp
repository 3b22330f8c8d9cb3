#include "receipt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "json_schema.h"
#include "test_files.h"

namespace fa_profile::jobs {
namespace {

using Json = nlohmann::json;
using Result = ReceiptLine::Result;

Receipt Sample() {
  Receipt receipt;
  receipt.date = "2026-11-26T12:00:00Z";
  receipt.tool_version = "0.2.0";
  receipt.tool_commit = "0123456789ab";
  receipt.tool_sha256 = std::string(64, 'a');
  receipt.gpu_name = "NVIDIA H100 80GB HBM3";
  receipt.driver_version = "580.159.04";
  receipt.cuda_driver_version = receipt.cuda_runtime_version = "13.0";
  receipt.library = "ln.so";
  receipt.library_sha256 = std::string(64, 'b');
  receipt.sources = {{"../ln.cu", std::string(64, 'd')}};
  receipt.tensors = {{"x", std::string(64, 'c')}};
  ReceiptCase one;
  one.kernel = "ln";
  one.shape = "rows=4096,cols=1024";
  one.seed = "00112233aabbccdd";
  one.verification.draws = one.verification.draws_passed = 6;
  one.verification.max_error_ratio = 0.25;
  one.judgement.verdict = Judgement::Verdict::kCertified;
  one.judgement.calls = 3000;
  one.judgement.same_bits = true;
  one.judgement.durations_ns = {11'500.125, 11'400, 11'600};
  one.judgement.calls_a_burst = 300;
  one.judgement.calls_a_graph = 100;
  one.judgement.sets = 3;
  one.judgement.verified.instructions = 2e6;
  one.judgement.timed.instructions = 2.01e6;
  one.judgement.verified.sm_cycles = one.judgement.timed.sm_cycles = 1.5e6;
  receipt.cases = {one};
  return receipt;
}

std::string Refusal(const std::string& text) {
  try {
    (void)ReceiptFromJson(text, "r.json");
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

const ReceiptLine& Find(const std::vector<ReceiptLine>& lines, const std::string& what) {
  const auto found = std::ranges::find(lines, what, &ReceiptLine::what);
  if (found == lines.end()) throw std::runtime_error("no line " + what);
  return *found;
}

std::vector<ReceiptLine> Compared(const std::function<void(Receipt&)>& change) {
  Receipt now = Sample();
  change(now);
  return CompareCases(Sample(), now);
}

TEST(ReceiptTest, AReceiptComesBackAndFitsItsSchema) {
  const std::string text = ToJson(Sample());
  EXPECT_EQ(ToJson(ReceiptFromJson(text, "r.json")), text);
  const Json schema = Json::parse(ReadSourceFile("docs/receipt.schema.json"));
  EXPECT_EQ(JsonSchema(schema).Validate(Json::parse(text)), std::vector<std::string>{});
  Json bad = Json::parse(text);
  bad["cases"][0].erase("verdict");
  EXPECT_NE(JsonSchema(schema).Validate(bad), std::vector<std::string>{});
}

TEST(ReceiptTest, AFileThatWasEditedOrIsNoReceiptIsOneClearError) {
  Json edited = Json::parse(ToJson(Sample()));
  edited["cases"][0]["durations_ns"] = {5'000, 5'000, 5'000};
  EXPECT_EQ(Refusal(edited.dump()), "r.json was edited: its hash is another one");
  for (const char* const text : {"", "[]", "{}", R"({"format": "fa-profile evidence", "version": 1})",
                                 R"({"format": "fa-profile receipt", "version": 2})"}) {
    EXPECT_TRUE(Refusal(text).starts_with("r.json")) << text << ": " << Refusal(text);
  }
  // Whoever computes the hash again is still held to the types.
  for (const char* const key : {"verdict", "seed", "durations_ns", "calls"}) {
    Json wrong = Json::parse(ToJson(Sample()));
    wrong["cases"][0][key] = "no";
    EXPECT_NE(Refusal(wrong.dump()), "") << key;
  }
}

TEST(ReceiptTest, ACertificateWithWrongResultsIsNone) {
  for (const auto& forge : std::vector<std::function<void(ReceiptCase&)>>{
           [](ReceiptCase& one) { one.judgement.wrong_calls = 1; },
           [](ReceiptCase& one) { one.verification.draws_passed = 5; },
           [](ReceiptCase& one) { one.verification.draws = one.verification.draws_passed = 0; },
           [](ReceiptCase& one) { one.verification.max_error_ratio = 2; }}) {
    Receipt receipt = Sample();
    forge(receipt.cases[0]);
    EXPECT_NE(Refusal(ToJson(receipt)).find("is certified, and has wrong results"), std::string::npos);
    receipt.cases[0].judgement.verdict = Judgement::Verdict::kWrong;
    EXPECT_EQ(Refusal(ToJson(receipt)), "");
  }
}

// The same case with and without its weak tolerance: each is compared with its own measurement.
TEST(ReceiptTest, ACaseIsComparedWithOneOfItsTolerance) {
  Receipt given = Sample();
  given.cases.push_back(given.cases[0]);
  given.cases[0].accepted_weak_tolerance = true;
  Receipt now = given;
  now.cases[1].judgement.verdict = Judgement::Verdict::kWrong;
  const auto differing = std::ranges::count(CompareCases(given, now), Result::kDiffers, &ReceiptLine::result);
  EXPECT_EQ(differing, 1);
}

TEST(ReceiptTest, EqualBitsAreHeldAgainstOtherOnes) {
  const std::string what = "ln rows=4096,cols=1024: equal inputs";
  const auto lines = Compared([](Receipt& now) { now.cases[0].judgement.same_bits = false; });
  EXPECT_EQ(Find(lines, what).result, Result::kDiffers);
}

TEST(ReceiptTest, TheSameMeasuredAgainAgrees) {
  for (const ReceiptLine& line : Compared([](Receipt&) {})) EXPECT_EQ(line.result, Result::kAgrees) << line.what;
  for (const ReceiptLine& line : CompareFiles(Sample(), Sample())) EXPECT_EQ(line.result, Result::kAgrees) << line.what;
}

TEST(ReceiptTest, ALibraryOrATensorThatChangedDiffersAndAnotherToolIsNotCompared) {
  Receipt now = Sample();
  now.library_sha256[0] = 'f';
  now.tensors = {{"y", std::string(64, 'c')}};
  now.tool_sha256[0] = 'f';
  const std::vector<ReceiptLine> lines = CompareFiles(Sample(), now);
  EXPECT_EQ(Find(lines, "library").result, Result::kDiffers);
  EXPECT_EQ(Find(lines, "tensor file of x").result, Result::kDiffers);
  EXPECT_EQ(Find(lines, "tensor file of y").result, Result::kDiffers);
  EXPECT_EQ(Find(lines, "tool").result, Result::kNotCompared);
}

TEST(ReceiptTest, ASourceThatChangedDiffersAndOneThatIsNotHereIsNotCompared) {
  Receipt now = Sample();
  now.sources["../ln.cu"][0] = 'f';
  EXPECT_EQ(Find(CompareFiles(Sample(), now), "source ../ln.cu").result, Result::kDiffers);
  now.sources = {{"other.cu", std::string(64, 'd')}};
  EXPECT_EQ(Find(CompareFiles(Sample(), now), "source ../ln.cu").result, Result::kNotCompared);
  EXPECT_EQ(Find(CompareFiles(Sample(), now), "source other.cu").text, "the receipt does not have it");
}

TEST(ReceiptTest, VerdictTimeAndCountersAreHeldAgainstEachOther) {
  const std::string name = "ln rows=4096,cols=1024: ";
  EXPECT_EQ(Find(Compared([](Receipt& now) {
                   now.cases[0].judgement.verdict = Judgement::Verdict::kRefused;
                   now.cases[0].judgement.reason = "calls overlap";
                 }),
                 name + "verdict")
                .text,
            "certified in the receipt, refused now: calls overlap");
  const auto time = [&](double factor) {
    return Find(Compared([&](Receipt& now) {
                  for (double& ns : now.cases[0].judgement.durations_ns) ns *= factor;
                }),
                name + "time")
        .result;
  };
  EXPECT_EQ(time(1.04), Result::kAgrees);
  EXPECT_EQ(time(1.06), Result::kDiffers);
  EXPECT_EQ(time(0.90), Result::kDiffers);
  const auto lines = Compared([](Receipt& now) { now.cases[0].judgement.timed.instructions = 1e6; });
  EXPECT_EQ(Find(lines, name + "instructions of a call").result, Result::kDiffers);
}

// One slow burst makes a wide interval that contains the true time; the median is a different one.
TEST(ReceiptTest, AForgedTimeDiffersWhateverItsInterval) {
  const auto lines = Compared([](Receipt& now) {
    std::vector<double>& durations = now.cases[0].judgement.durations_ns;
    const double slow = durations.front();
    durations.assign(5, slow / 10);
    durations.back() = slow * 1.1;
  });
  EXPECT_EQ(Find(lines, "ln rows=4096,cols=1024: time").result, Result::kDiffers);
  const auto weak = Compared([](Receipt& now) { now.cases[0].judgement.weak_tolerance = "zeros"; });
  EXPECT_EQ(Find(weak, "ln rows=4096,cols=1024: weak tolerance").result, Result::kDiffers);
}

TEST(ReceiptTest, TimesOfAnotherGpuAreNotComparedAndItsVerdictIs) {
  const auto lines = Compared([](Receipt& now) {
    now.gpu_name = "NVIDIA H200";
    now.cases[0].judgement.durations_ns = {1.0};
  });
  EXPECT_EQ(Find(lines, "GPU").result, Result::kNotCompared);
  EXPECT_EQ(Find(lines, "ln rows=4096,cols=1024: time").result, Result::kNotCompared);
  EXPECT_EQ(Find(lines, "ln rows=4096,cols=1024: verdict").result, Result::kAgrees);
}

TEST(ReceiptTest, ACaseThatTheLibraryNoLongerRunsDiffers) {
  EXPECT_EQ(Find(Compared([](Receipt& now) { now.cases.clear(); }), "ln rows=4096,cols=1024").result, Result::kDiffers);
}

class CheckReceiptTest : public FolderTest {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "ln.so") << "not a library";
    std::ofstream(folder_ / "x.npy") << "numbers";
    Receipt receipt = NewReceipt(FilesOf(folder_ / "ln.so", {"x=" + (folder_ / "x.npy").string()}));
    receipt.cases = Sample().cases;
    std::ofstream(folder_ / "r.json") << ToJson(receipt);
  }
  ReceiptCheck Check(const std::vector<std::string>& tensors) {
    testing::internal::CaptureStdout();
    const ReceiptCheck check = CheckReceipt({folder_ / "r.json", folder_ / "ln.so", {}, tensors, 0});
    printed_ = testing::internal::GetCapturedStdout();
    return check;
  }
  std::string printed_;
};

TEST_F(CheckReceiptTest, WithoutAGpuTheHashesAreCheckedAndTheRestIsNamed) {
  if (WhyNoGpu().empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(Check({"x=" + (folder_ / "x.npy").string()}), ReceiptCheck::kNotChecked);
  EXPECT_NE(printed_.find("agrees       library: SHA-256 "), std::string::npos) << printed_;
  EXPECT_NE(printed_.find("agrees       tensor file of x"), std::string::npos) << printed_;
  EXPECT_NE(printed_.find("NOT CHECKED: the files agree; verdict, time and counters need a GPU: "), std::string::npos)
      << printed_;
}

TEST_F(CheckReceiptTest, AFileThatChangesDuringTheRunIsAnError) {
  const std::vector<std::string> tensors{"x=" + (folder_ / "x.npy").string()};
  const Receipt before = FilesOf(folder_ / "ln.so", tensors);
  RequireUnchanged(before, FilesOf(folder_ / "ln.so", tensors));
  for (const char* const file : {"ln.so", "x.npy"}) {
    const std::string bytes = ReadFile(folder_ / file);
    std::ofstream(folder_ / file) << "other";
    EXPECT_THROW(RequireUnchanged(before, FilesOf(folder_ / "ln.so", tensors)), Error) << file;
    std::ofstream(folder_ / file) << bytes;
  }
}

TEST_F(CheckReceiptTest, OfAKernelInPythonTheFileAndWhatItImportsAreChecked) {
  if (WhyNoGpu().empty()) GTEST_SKIP() << "there is a GPU";
  std::ofstream(folder_ / "mine.py") << "import helper";
  std::ofstream(folder_ / "helper.py") << "x = 1";
  const std::string kernel = (folder_ / "mine.py").string() + ":f";
  Receipt receipt = NewReceipt(FilesOfPython(kernel, {"helper.py", "gone.py"}));
  EXPECT_EQ(receipt.library, "mine.py:f");
  EXPECT_EQ(receipt.sources.size(), 1U);
  receipt.cases = Sample().cases;
  std::ofstream(folder_ / "r.json") << ToJson(receipt);
  const auto check = [&] {
    testing::internal::CaptureStdout();
    ReceiptJob job{folder_ / "r.json", "", {}, {}, 0};
    job.python.kernel = kernel;
    const ReceiptCheck found = CheckReceipt(job);
    printed_ = testing::internal::GetCapturedStdout();
    return found;
  };
  EXPECT_EQ(check(), ReceiptCheck::kNotChecked) << printed_;
  std::ofstream(folder_ / "helper.py") << "x = 2";
  EXPECT_EQ(check(), ReceiptCheck::kDiffers) << printed_;
  EXPECT_NE(printed_.find("DIFFERS      source helper.py"), std::string::npos) << printed_;
}

TEST_F(CheckReceiptTest, OtherFilesDifferAndNothingIsMeasured) {
  EXPECT_EQ(Check({}), ReceiptCheck::kDiffers);
  EXPECT_NE(printed_.find("DIFFERS      tensor file of x: give it with --tensor"), std::string::npos) << printed_;
  std::ofstream(folder_ / "ln.so") << "another one";
  EXPECT_EQ(Check({"x=" + (folder_ / "x.npy").string()}), ReceiptCheck::kDiffers);
  EXPECT_NE(printed_.find("DIFFERS: the receipt is of other files, so nothing was measured"), std::string::npos)
      << printed_;
}

}  // namespace
}  // namespace fa_profile::jobs
