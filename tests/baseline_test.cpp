#include "fa_profile/baseline.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "evidence_fixture.h"
#include "fa_profile/baseline_files.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/sha256.h"
#include "test_files.h"

namespace fa_profile::gate::baseline_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Eight timing processes and, so that something is missing nowhere, every case verified but the frozen one.
PromotedBaseline SampleBaseline(const std::optional<PromotedBaseline>& previous = std::nullopt) {
  return Promote(SampleEvidence(), "ladder", "first", "A. B. <a@b>", "2026-11-21T12:00:00Z", previous);
}

// The baseline after being written once.
PromotedBaseline Written(const PromotedBaseline& baseline) { return ParseBaseline(ToJson(baseline), "b.json"); }

// Promote()'s error after a change to valid evidence.
std::string Refusal(const std::function<void(Evidence&)>& change, const std::string& suite = "ladder",
                    const std::string& reason = "why") {
  Evidence evidence = SampleEvidence();
  change(evidence);
  try {
    (void)Promote(evidence, suite, reason, "", "2026-11-21T12:00:00Z", std::nullopt);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "promoted";
}

std::string ParseMessage(const std::string& text) {
  try {
    (void)ParseBaseline(text, "b.json");
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "accepted";
}

// Text with a receipt that fits what it says, whatever that is.
std::string Sealed(Json json) {
  json["receipt"]["sha256"] = "";
  std::string text = json.dump();
  const std::string key = "\"sha256\":\"\"";
  text.replace(text.rfind(key), key.size(), "\n\"sha256\": \"\"");
  const std::string hash = Sha256(text);
  return text.insert(text.rfind("\n\"sha256\": \"") + 12, hash);
}

TEST(Sha256Test, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(LineageTest, NamesWhatMakesMeasurementsComparable) {
  const Environment environment = SampleEvidence().environment;
  EXPECT_EQ(LineageOf(environment), "nvidia-h200_580_cuda-13.0_1980MHz");
  const auto with = [&](const std::function<void(Environment&)>& change) {
    Environment other = environment;
    change(other);
    return LineageOf(other);
  };
  EXPECT_EQ(with([](Environment& e) { e.driver_version = "580.95"; }), LineageOf(environment));
  EXPECT_EQ(with([](Environment& e) { e.gpu_uuid = "GPU-2"; }), LineageOf(environment));
  EXPECT_EQ(with([](Environment& e) { e.driver_version = "590.1"; }), "nvidia-h200_590_cuda-13.0_1980MHz");
  EXPECT_EQ(with([](Environment& e) { e.cuda_runtime_version = "13.1"; }), "nvidia-h200_580_cuda-13.1_1980MHz");
  EXPECT_EQ(with([](Environment& e) { e.sm_clock_max_hz = 1'755'499'999; }), "nvidia-h200_580_cuda-13.0_1755MHz");
  EXPECT_EQ(with([](Environment& e) { e.sm_clock_max_hz = 1'755'500'000; }), "nvidia-h200_580_cuda-13.0_1756MHz");
  EXPECT_EQ(LineageOf({}), "unknown_unknown_cuda-unknown_unknown");
  EXPECT_EQ(with([](Environment& e) { e.driver_version = "../../x"; }), "nvidia-h200_unknown_cuda-13.0_1980MHz");
}

TEST(LineageTest, TheFolderOfAGpuIsAPlainName) {
  EXPECT_EQ(GpuFolder("NVIDIA H100 80GB HBM3"), "nvidia-h100-80gb-hbm3");
  EXPECT_EQ(GpuFolder("nvidia-h200"), "nvidia-h200");
  EXPECT_EQ(GpuFolder("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(GpuFolder("a\nb\xC3\xA4 c."), "a-b-c");
  EXPECT_EQ(GpuFolder(std::string(100, 'x')).size(), 64u);
  EXPECT_THROW((void)GpuFolder(""), Error);
  EXPECT_THROW((void)GpuFolder("../.."), Error);
}

TEST(BaselineTest, ARoundTripPreservesTheText) {
  PromotedBaseline baseline = SampleBaseline();
  baseline.receipt.sources = {"a.fap sha256:00", "b.json sha256:11"};
  const std::string text = ToJson(baseline);
  const PromotedBaseline read = ParseBaseline(text, "b.json");
  EXPECT_EQ(ToJson(read), text);
  EXPECT_EQ(read.suite, "ladder");
  EXPECT_EQ(read.lineage, "nvidia-h200_580_cuda-13.0_1980MHz");
  EXPECT_EQ(read.receipt.promoted_at, "2026-11-21T12:00:00Z");
  EXPECT_EQ(read.receipt.promoted_by, "A. B. <a@b>");
  EXPECT_EQ(read.receipt.reason, "first");
  EXPECT_EQ(read.receipt.commit, "0123456789ab");
  EXPECT_EQ(read.receipt.sources, baseline.receipt.sources);
  EXPECT_EQ(read.receipt.previous, "");
  EXPECT_EQ(read.receipt.sha256.size(), 64u);
  EXPECT_EQ(read.evidence.origin, "baseline nvidia-h200/ladder");
  EXPECT_EQ(read.evidence.processes.size(), 9u);
  EXPECT_TRUE(Json::accept(text));
}

TEST(BaselineTest, AnyEditByHandIsDetected) {
  const std::string text = ToJson(SampleBaseline());
  for (const auto& [before, after] : {std::pair{"\"first\"", "\"worst\""},
                                      {"\"pair\":1", "\"pair\":2"},
                                      {"\"draws\":10", "\"draws\":11"},
                                      {"\"ladder\",", "\"ladder\", "},
                                      {"2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z"}}) {
    std::string changed = text;
    ASSERT_NE(changed.find(before), std::string::npos) << before;
    changed.replace(changed.find(before), std::string(before).size(), after);
    EXPECT_EQ(ParseMessage(changed),
              "b.json: its content does not match its receipt: it was damaged or edited by hand");
  }
  EXPECT_NE(ParseMessage(text + " ").find("does not match its receipt"), std::string::npos);
  // Nor can a file that no longer has our form be checked against its receipt.
  EXPECT_NE(ParseMessage(Json::parse(text).dump(2)).find("does not match its receipt"), std::string::npos);
}

TEST(BaselineTest, AFileThatIsNotABaselineIsAnErrorThatSaysWhy) {
  EXPECT_EQ(ParseMessage(""), "b.json is empty");
  EXPECT_EQ(ParseMessage(ToJson(SampleEvidence())), "b.json is not in the format 'fa-profile baseline'");
  const std::string text = ToJson(SampleBaseline());
  EXPECT_NE(ParseMessage(text.substr(0, text.size() / 2)).find("not valid JSON from this point"), std::string::npos);
  Json json = Json::parse(text);
  json["version"] = 2;
  EXPECT_EQ(ParseMessage(Sealed(json)),
            "b.json was written by a newer fa-profile: version 2, and this one reads up to 1");
}

TEST(BaselineTest, InvalidContentIsRefusedEvenWithAValidReceipt) {
  const Json good = Json::parse(ToJson(SampleBaseline()));
  EXPECT_EQ(ParseMessage(Sealed(good)), "accepted");
  const auto says = [&](const std::function<void(Json&)>& change) {
    Json json = good;
    change(json);
    return ParseMessage(Sealed(json));
  };
  EXPECT_EQ(says([](Json& j) { j["suite"] = "../x"; }), "b.json: /suite: is not a valid suite name");
  EXPECT_NE(says([](Json& j) { j["lineage"] = "other"; }).find("/lineage: does not match its environment"),
            std::string::npos);
  EXPECT_EQ(says([](Json& j) { j["extra"] = 1; }), "b.json: unknown key \"extra\"");
  EXPECT_EQ(says([](Json& j) { j["receipt"]["previous"] = "abc"; }),
            "b.json: /receipt/previous: must be 64 hexadecimal digits");
  EXPECT_EQ(says([](Json& j) { j["evidence"]["processes"][0]["values"][0][0] = -1; }),
            "b.json: /evidence/processes/0/values/0/0: is a duration and must be above 0");
  EXPECT_EQ(says([](Json& j) { j["evidence"]["version"] = 9; }),
            "b.json: /evidence: was written by a newer fa-profile: version 9, and this one reads up to 4");
}

TEST(PromoteTest, ThePreviousBaselineIsNamedOnlyWithinItsLineage) {
  const PromotedBaseline first = Written(SampleBaseline());
  EXPECT_EQ(SampleBaseline(first).receipt.previous, first.receipt.sha256);
  PromotedBaseline other = first;
  other.lineage = "nvidia-h200_570_cuda-12.8_1980MHz";
  EXPECT_EQ(SampleBaseline(other).receipt.previous, "");
}

TEST(PromoteTest, RefusesEvidenceOfIncorrectKernels) {
  EXPECT_EQ(Refusal([](Evidence&) {}), "promoted");
  EXPECT_EQ(Refusal([](Evidence& e) { e.cases[1].verification->draws_passed = 9; }),
            "this run cannot become a baseline: naive 1,8,512,64 is not correct");
  EXPECT_EQ(Refusal([](Evidence& e) { e.cases[1].verification->error = "launch failed"; }),
            "this run cannot become a baseline: naive 1,8,512,64 is not correct");
  EXPECT_EQ(Refusal([](Evidence& e) { e.cases[0].verification.reset(); }),
            "this run cannot become a baseline: mma 1,8,512,64 was not verified");
  EXPECT_EQ(Refusal([](Evidence& e) { e.cases[0].verification->draws = e.cases[0].verification->draws_passed = 0; }),
            "this run cannot become a baseline: mma 1,8,512,64 was not verified");
  EXPECT_EQ(Refusal([](Evidence& e) {
              e.cases[2].verification = e.cases[0].verification;
              e.cases[2].verification->draws_passed = 0;
            }),
            "this run cannot become a baseline: gate_reference is not correct");
  EXPECT_NE(Refusal([](Evidence& e) {
              for (CaseFacts& facts : e.cases) facts.shape.clear();
            }).find("cannot become a baseline: it is of a program"),
            std::string::npos);
}

TEST(PromoteTest, RefusesTooFewProcessesThrottledProcessesAndDataLoss) {
  EXPECT_NE(Refusal([](Evidence& e) { e.processes[7].values[1].clear(); }).find("too few: naive 1,8,512,64: 7"),
            std::string::npos);
  EXPECT_NE(Refusal([](Evidence& e) { e.processes.erase(e.processes.begin()); }).find("mma 1,8,512,64: 7; naive"),
            std::string::npos);
  EXPECT_EQ(Refusal([](Evidence& e) { e.processes[8].throttled = true; }),
            "this run cannot become a baseline: the GPU was throttled in 1 of 9 processes");
  EXPECT_NE(Refusal([](Evidence& e) { e.losses = {"samples dropped"}; }).find("samples dropped"), std::string::npos);
  EXPECT_NE(Refusal([](Evidence& e) { e.cases.clear(); }).find("contains no kernel"), std::string::npos);
  EXPECT_NE(Refusal([](Evidence& e) { e.environment.gpu_name = ""; }).find("does not name its GPU"), std::string::npos);
  EXPECT_NO_THROW((void)Promote(SampleEvidence(3), "s", "r", "", "t", std::nullopt, 3));
  EXPECT_THROW((void)Promote(SampleEvidence(3), "s", "r", "", "t", std::nullopt, 4), Error);
}

TEST(PromoteTest, RecordingsOfEnoughProcessesAreAccepted) {
  Evidence evidence = SampleEvidence();
  for (ProcessSample& process : evidence.processes) process.kind = "recording";
  EXPECT_NO_THROW((void)Promote(evidence, "s", "r", "", "t", std::nullopt));
  evidence.processes[0].kind = "timing";  // two kinds do not add up
  EXPECT_THROW((void)Promote(evidence, "s", "r", "", "t", std::nullopt), Error);
}

TEST(PromoteTest, RequiresAReasonAndAPlainSuiteName) {
  EXPECT_EQ(Refusal([](Evidence&) {}, "ladder", " \n"), "a promotion needs a reason");
  EXPECT_EQ(Refusal([](Evidence&) {}, "ladder", std::string(1024, 'x')), "promoted");
  EXPECT_NE(Refusal([](Evidence&) {}, "ladder", std::string(1025, 'x')), "promoted");
  for (const std::string suite : {"", "../x", "a/b", "a.b", "A", "a b", "\x1B[0m"}) {
    EXPECT_NE(Refusal([](Evidence&) {}, suite).find("invalid suite name"), std::string::npos) << suite;
  }
  EXPECT_EQ(Refusal([](Evidence&) {}, std::string(64, 'a')), "promoted");
  EXPECT_NE(Refusal([](Evidence&) {}, std::string(65, 'a')), "promoted");
  EXPECT_EQ(Refusal([](Evidence&) {}, "a-b_9"), "promoted");
}

class BaselineFilesTest : public FolderTest {
 protected:
  std::string Store(const PromotedBaseline& baseline) const {
    return BaselineFolder(folder_.string(), "NVIDIA H200").Store(baseline);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "nvidia-h200")) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::string MessageOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return "";
  }
  static PromotedBaseline OfDriver(const std::string& driver, const std::optional<PromotedBaseline>& previous = {}) {
    Evidence evidence = SampleEvidence();
    evidence.environment.driver_version = driver;
    return Promote(evidence, "ladder", "r", "", "2026-11-22T00:00:00Z", previous);
  }

  const fs::path& root_ = FolderTest::folder_;
  const fs::path folder_ = root_ / "baselines";
  const std::string current_ = "nvidia-h200_580_cuda-13.0_1980MHz";
  const std::string older_ = "ladder.nvidia-h200_580_cuda-13.0_1980MHz.json";
};

TEST_F(BaselineFilesTest, TheNewestHasThePlainNameAndAnOlderLineageIsKept) {
  EXPECT_EQ(Store(SampleBaseline()), (folder_ / "nvidia-h200/ladder.json").string());
  EXPECT_EQ(Names(), std::vector<std::string>{"ladder.json"});
  const std::string first = ReadFile(folder_ / "nvidia-h200/ladder.json");
  Store(OfDriver("590.1"));
  EXPECT_EQ(Names(), (std::vector<std::string>{"ladder.json", older_}));
  EXPECT_EQ(ReadFile(folder_ / "nvidia-h200" / older_), first);
  EXPECT_TRUE(VerifyBaselines(BaselineFilesIn(folder_.string()), true).empty());

  // The older lineage comes back, and names what it replaces.
  std::optional<PromotedBaseline> previous;
  {
    const BaselineFolder folder(folder_.string(), "NVIDIA H200");
    EXPECT_FALSE(folder.Find("other", current_));
    EXPECT_FALSE(folder.Find("ladder", "nvidia-h200_600_cuda-13.0_1980MHz"));
    EXPECT_EQ(folder.Find("ladder", "nvidia-h200_590_cuda-13.0_1980MHz")->evidence.environment.driver_version, "590.1");
    previous = folder.Find("ladder", current_);
  }
  ASSERT_TRUE(previous);
  EXPECT_EQ(ToJson(*previous), first);
  Store(OfDriver("580.200", previous));
  EXPECT_EQ(Names(), (std::vector<std::string>{"ladder.json", "ladder.nvidia-h200_590_cuda-13.0_1980MHz.json"}));
  EXPECT_EQ(FindBaseline(folder_.string(), SampleEvidence().environment, "ladder").receipt.previous,
            previous->receipt.sha256);
  EXPECT_TRUE(VerifyBaselines(BaselineFilesIn(folder_.string()), true).empty());
}

TEST_F(BaselineFilesTest, FindPrefersTheLineageOfTheMeasurement) {
  Store(SampleBaseline());
  Store(OfDriver("590.1"));
  Environment environment = SampleEvidence().environment;
  EXPECT_EQ(FindBaseline(folder_.string(), environment, "ladder").lineage, current_);
  environment.driver_version = "590.9";
  EXPECT_EQ(FindBaseline(folder_.string(), environment, "ladder").lineage, "nvidia-h200_590_cuda-13.0_1980MHz");
  environment.driver_version = "600.1";  // the judge says that these cannot be compared
  EXPECT_EQ(FindBaseline(folder_.string(), environment, "ladder").lineage, "nvidia-h200_590_cuda-13.0_1980MHz");
}

TEST_F(BaselineFilesTest, AMissingBaselineIsAnErrorThatNamesTheCommandThatMakesOne) {
  const Environment environment = SampleEvidence().environment;
  const auto find = [&](const std::string& folder, const std::string& suite) {
    return MessageOf([&] { (void)FindBaseline(folder, environment, suite); });
  };
  EXPECT_EQ(find(folder_.string(), "ladder"), "no baseline of suite ladder for NVIDIA H200 in " + folder_.string());
  Store(SampleBaseline());
  EXPECT_EQ(find(folder_.string(), "other"), "no baseline of suite other for NVIDIA H200 in " + folder_.string());
  EXPECT_EQ(find(folder_.string(), "ladder"), "");
  EXPECT_EQ(find(folder_.string(), "../ladder"), "invalid suite name \"../ladder\"");
  EXPECT_NE(find(folder_.string() + "/../baselines", "ladder").find("contains \"..\""), std::string::npos);
}

TEST_F(BaselineFilesTest, NothingIsReadOrWrittenThroughASymbolicLink) {
  const fs::path outside = root_ / "outside";
  fs::create_directories(outside);
  fs::create_directories(folder_);
  fs::create_symlink(outside, folder_ / "nvidia-h200");
  const Environment environment = SampleEvidence().environment;
  EXPECT_NE(MessageOf([&] { Store(SampleBaseline()); }).find("is a symbolic link"), std::string::npos);
  EXPECT_NE(MessageOf([&] { (void)FindBaseline(folder_.string(), environment, "ladder"); }).find("symbolic link"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { (void)BaselineFilesIn(folder_.string()); }).find("symbolic link"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(outside));
  fs::remove(folder_ / "nvidia-h200");
  fs::create_directories(folder_ / "nvidia-h200");
  std::ofstream(outside / "x.json") << ToJson(SampleBaseline());
  fs::create_symlink(outside / "x.json", folder_ / "nvidia-h200/ladder.json");
  EXPECT_NE(MessageOf([&] { Store(SampleBaseline()); }).find("is a symbolic link"), std::string::npos);
  EXPECT_NE(MessageOf([&] { (void)FindBaseline(folder_.string(), environment, "ladder"); }).find("symbolic link"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { (void)BaselineFilesIn(folder_.string()); }).find("symbolic link"), std::string::npos);
  fs::create_symlink(folder_, root_ / "link");
  EXPECT_NE(MessageOf([&] { BaselineFolder((root_ / "link").string(), "x"); }).find("symbolic link"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { BaselineFolder(folder_.string() + "/../other", "x"); }).find("contains \"..\""),
            std::string::npos);
  EXPECT_FALSE(fs::exists(root_ / "other"));
}

TEST_F(BaselineFilesTest, OnlyRegularFilesAreRead) {
  const std::string fifo = (root_ / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(MessageOf([&] { (void)ReadPlainFile(fifo, 10); }), fifo + " is not a regular file");
  EXPECT_EQ(MessageOf([] { (void)ReadPlainFile("/dev/zero", 10); }), "/dev/zero is not a regular file");
  EXPECT_EQ(MessageOf([&] { (void)ReadPlainFile(root_.string(), 10); }), root_.string() + " is a directory");
  EXPECT_NE(MessageOf([&] { (void)ReadPlainFile(root_ / "none", 10); }).find("cannot be read: No such file"),
            std::string::npos);
  std::ofstream(root_ / "ten") << "0123456789";
  EXPECT_EQ(ReadPlainFile(root_ / "ten", 10), "0123456789");
  EXPECT_NE(MessageOf([&] { (void)ReadPlainFile(root_ / "ten", 9); }).find("is larger"), std::string::npos);
}

TEST_F(BaselineFilesTest, ABaselineThatCannotBeReadIsNotReplaced) {
  const std::string path = Store(SampleBaseline());
  std::ofstream(path, std::ios::app) << " ";
  const std::string damaged = ReadFile(path);
  EXPECT_NE(MessageOf([&] { Store(SampleBaseline()); }).find("does not match its receipt"), std::string::npos);
  EXPECT_EQ(ReadFile(path), damaged);
  EXPECT_EQ(Names(), std::vector<std::string>{"ladder.json"});
}

TEST_F(BaselineFilesTest, OfTwoConcurrentPromotionsOneIsRefused) {
  const BaselineFolder first(folder_.string(), "NVIDIA H200");
  EXPECT_NE(MessageOf([&] { BaselineFolder(folder_.string(), "NVIDIA H200"); }).find("another promotion"),
            std::string::npos);
  EXPECT_EQ(MessageOf([&] { BaselineFolder(folder_.string(), "NVIDIA H100"); }), "");
}

TEST_F(BaselineFilesTest, ARefusedPromotionLeavesNoFiles) {
  { const BaselineFolder folder(folder_.string(), "NVIDIA H200"); }
  EXPECT_FALSE(fs::exists(folder_ / "nvidia-h200"));
  const std::string path = Store(SampleBaseline());
  { const BaselineFolder folder(folder_.string(), "NVIDIA H200"); }
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(BaselineFilesTest, VerifyFindsMisplacedFilesAndBrokenChains) {
  const std::string path = Store(SampleBaseline());
  const auto problems = [](const std::vector<std::string>& paths, bool in_place) {
    std::string text;
    for (const BadBaseline& bad : VerifyBaselines(paths, in_place)) text += bad.problem + "\n";
    return text;
  };
  EXPECT_EQ(problems({path}, true), "");
  const fs::path moved = folder_ / "nvidia-h100/ladder.json";
  fs::create_directories(moved.parent_path());
  fs::copy(path, moved);
  EXPECT_EQ(problems({moved}, true), "was measured on nvidia-h200, but its folder has another name\n");
  EXPECT_EQ(problems({moved}, false), "");
  const fs::path renamed = folder_ / "nvidia-h200/other.json";
  fs::copy(path, renamed);
  EXPECT_NE(problems({renamed}, true).find("but another file name"), std::string::npos);

  const PromotedBaseline first = ParseBaseline(ReadFile(path), path);
  const std::string next = (root_ / "next.json").string();
  std::ofstream(next) << ToJson(OfDriver("580.1", first));
  EXPECT_EQ(problems({next, path}, false), "");
  std::ofstream(next) << ToJson(OfDriver("580.1"));
  EXPECT_EQ(problems({next, path}, false),
            "does not name " + path + " of the same lineage as the one that it replaces\n");
  PromotedBaseline elsewhere = first;
  elsewhere.receipt.sha256 = std::string(64, '0');
  std::ofstream(next) << ToJson(OfDriver("580.1", elsewhere));
  EXPECT_EQ(problems({next, path}, false),
            "does not name " + path + " of the same lineage as the one that it replaces\n");
  std::ofstream(next) << ToJson(OfDriver("590.1"));  // another lineage is another chain
  EXPECT_EQ(problems({next, path}, false), "");
  EXPECT_NE(problems({(root_ / "none.json").string()}, false).find("cannot be read: No such file"), std::string::npos);
  std::ofstream(next, std::ios::app) << " ";
  EXPECT_EQ(problems({next, path}, false),
            "its content does not match its receipt: it was damaged or edited by hand\n");
}

}  // namespace
}  // namespace fa_profile::gate::baseline_test
