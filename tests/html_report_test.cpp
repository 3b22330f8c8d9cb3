#include "fa_profile/html_report.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <sstream>

#include "fa_profile/analyze.h"
#include "fa_profile/code_report.h"
#include "fa_profile/list_code.h"
#include "fa_profile/sha256.h"
#include "page.h"
#include "program_recording.h"
#include "recording_texts.h"
#include "sample_recording.h"
#include "test_files.h"

namespace fa_profile::exporters::html_report_test {
namespace {

using nlohmann::json;

template <typename... Arguments>
std::string Written(void (*write)(std::ostream&, Arguments...), std::type_identity_t<Arguments>... arguments) {
  std::ostringstream out;
  write(out, arguments...);
  return out.str();
}

ReportCode CodeOf(const Recording& recording, const Profile& profile) {
  ReportCode code;
  for (const ProfileEntry& entry : profile.entries) {
    for (InstructionListing& listing : analyze::ListInstructions(recording, entry, std::nullopt, PhaseSource::kBest)) {
      code.lines.push_back(analyze::ListLines(listing));
      code.instructions.push_back(std::move(listing));
    }
  }
  return code;
}

std::string PageOf(const Recording& recording) {
  const Profile profile = analyze::Analyze(recording);
  return Written(WriteHtmlReport, profile, CodeOf(recording, profile), ReportOptions{});
}

/// The text between these two, at their first occurrence.
std::string Between(const std::string& page, const std::string& before, const std::string& after) {
  const std::size_t at = page.find(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return page.substr(begin, page.find(after, begin) - begin);
}

std::string ElementText(const std::string& page, const std::string& id) {
  return Between(page, "id=\"" + id + "\">", "</script>");
}

json Document(const std::string& page, const std::string& id) { return json::parse(ElementText(page, id)); }

std::string FromBase64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int known = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = bits << 6U | static_cast<unsigned>(digits.find(c));
    known += 6;
    if (known < 8) continue;
    known -= 8;
    bytes += static_cast<char>(bits >> known & 255U);
  }
  return bytes;
}

std::string Unpacked(const std::string& text) {
  const std::string bytes = FromBase64(text);
  std::string plain(std::size_t{1} << 20U, '\0');
  uLongf size = plain.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(plain.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                       bytes.size()),
            Z_OK);
  plain.resize(size);
  return plain;
}

std::string Hex(const std::string& bytes) {
  std::ostringstream out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out << "0123456789abcdef"[byte >> 4U] << "0123456789abcdef"[byte & 15U];
  }
  return out.str();
}

TEST(HtmlReportTest, ThePageHoldsTheJsonReport) {
  for (const Recording& recording : {sample::MakeRecording(), sample::MakeProgramRecording(), Recording()}) {
    const Profile profile = analyze::Analyze(recording);
    EXPECT_EQ(Document(PageOf(recording), "report"), json::parse(Written(WriteJsonReport, profile, ReportOptions{})));
  }
}

TEST(HtmlReportTest, CodeIsPackedAndIsTheJsonOfTheListings) {
  const Recording recording = sample::MakeRecording();
  const ReportCode code = CodeOf(recording, analyze::Analyze(recording));
  const std::string page = PageOf(recording);
  const json heads = Document(page, "code").at("kernels");
  ASSERT_EQ(heads.size(), code.instructions.size());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    EXPECT_TRUE(heads[i].at("instructions").empty());
    const std::string packed = ElementText(page, "code-" + std::to_string(i));
    EXPECT_EQ(packed.empty(), code.instructions[i].instructions.empty());
    if (packed.empty()) continue;
    const json documents = json::parse(Unpacked(packed));
    EXPECT_EQ(documents[0], json::parse(Written(WriteJsonInstructions, {code.instructions[i]}, ReportOptions{})));
    EXPECT_EQ(documents[1].at("kernels")[0].at("lines"),
              json::parse(Written(WriteJsonSource, {code.lines[i]}, ReportOptions{})).at("kernels")[0].at("lines"));
  }
}

TEST(HtmlReportTest, CodeBeyondTheLimitIsLeftOutAndItsHeadStays) {
  const Recording recording = sample::MakeRecording();
  const Profile profile = analyze::Analyze(recording);
  ReportCode code = CodeOf(recording, profile);
  code.most_bytes = 10;
  const std::string page = Written(WriteHtmlReport, profile, code, ReportOptions{});
  EXPECT_EQ(ElementText(page, "code-0"), "");
  EXPECT_EQ(Document(page, "code").at("kernels").size(), code.instructions.size());
}

TEST(HtmlReportTest, TextsOfARecordingCannotLeaveTheirElement) {
  const auto elements = [](const std::string& page) {
    std::size_t count = 0;
    for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) ++count;
    return count;
  };
  for (const std::string hostile : {"</script><img src=x onerror=alert(1)>", "<!--<script>", "]]>&lt;/script&gt;",
                                    "\xE2\x80\xA8\xE2\x80\xA9\"'`\\", "\xff\xfe</SCRIPT >"}) {
    for (Recording recording : {sample::MakeRecording(), sample::MakeProgramRecording()}) {
      const std::size_t harmless = elements(PageOf(recording));
      AddToEveryText(recording, hostile);
      const std::string page = PageOf(recording);
      EXPECT_EQ(elements(page), harmless);
      EXPECT_EQ(page.find("onerror=alert(1)>"), std::string::npos);
      EXPECT_TRUE(Contains(ElementText(page, "report"), "fa-profile report"));
    }
  }
}

TEST(HtmlReportTest, ThePolicyAllowsThePagesOwnScriptAndStyleAlone) {
  const std::string page = PageOf(sample::MakeRecording());
  const std::string policy = Between(page, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; style-src 'sha256-"));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(Hex(FromBase64(Between(policy, "style-src 'sha256-", "'"))), Sha256(Between(page, "<style>", "</style>")));
  EXPECT_EQ(Hex(FromBase64(Between(policy, "script-src 'sha256-", "'"))),
            Sha256(Between(page, "<script>", "</script>")));
}

TEST(HtmlReportTest, ThePageLoadsNothing) {
  const std::string page = PageOf(sample::MakeRecording());
  for (const char* const word : {"src=", "href=\"http", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML",
                                 "insertAdjacentHTML", "document.write", "eval(", "new Function"}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
}

TEST(HtmlReportTest, ADiffHoldsTheChangesAndBothReports) {
  const Profile before = analyze::Analyze(sample::MakeRecording());
  Recording changed = sample::MakeRecording();
  for (double& duration : changed.timings[0].durations_ns) duration *= 1.07;
  const Profile after = analyze::Analyze(changed);
  const ProfileDiff diff = analyze::Diff(before, after);
  const std::string page = Written(WriteHtmlDiff, diff, before, after, ReportOptions{});
  EXPECT_EQ(Document(page, "diff"), json::parse(Written(WriteJsonDiff, diff, before, after, ReportOptions{})));
  EXPECT_EQ(Document(page, "before"), json::parse(Written(WriteJsonReport, before, ReportOptions{})));
  EXPECT_EQ(Document(page, "after"), json::parse(Written(WriteJsonReport, after, ReportOptions{})));
}

TEST(HtmlReportTest, RanksAndTheGateHoldTheirJson) {
  const Profile profile = analyze::Analyze(sample::MakeProgramRecording());
  const RankReport ranks = analyze::JoinRanks({{"a.fap", profile}, {"b.fap", profile}});
  EXPECT_EQ(Document(Written(WriteHtmlRanks, ranks, ReportOptions{}), "ranks"),
            json::parse(Written(WriteJsonRanks, ranks, ReportOptions{})));
  const std::string gate = "{\n  \"a\\\"  b\": [1, \"</script> \\\\\"],\n  \"c\": null\n}\n";
  EXPECT_EQ(Document(HtmlGate(gate), "gate"), json::parse(gate));
}

TEST(HtmlReportTest, WhiteSpaceIsRemovedOutsideOfStringsAlone) {
  EXPECT_EQ(CompactJson("{\n  \"a \\\" b\": [1, 2],\n  \"\\\\\": \" \"\n}\n"), "{\"a \\\" b\":[1,2],\"\\\\\":\" \"}");
}

}  // namespace
}  // namespace fa_profile::exporters::html_report_test
