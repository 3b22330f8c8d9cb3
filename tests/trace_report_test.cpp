#include "fa_profile/trace_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "fa_profile/utf8.h"
#include "test_files.h"

namespace fa_profile::exporters::trace_report_test {
namespace {

const std::string kHostile = "a;b\n\x1b[2J\xff\xe2\x80\xae \"<script>" + std::string(400, 'x');

std::string Perfetto(const Timeline& timeline) {
  std::ostringstream out;
  WritePerfetto(out, timeline);
  return out.str();
}

std::string Folded(const GpuTime& time) {
  std::ostringstream out;
  WriteFolded(out, time);
  return out.str();
}

nlohmann::json Speedscope(const GpuTime& time) {
  std::ostringstream out;
  WriteSpeedscope(out, time);
  return nlohmann::json::parse(out.str());
}

/// The messages in one field of a message.
std::vector<std::string> Messages(const std::string& message, protozero::pbf_tag_type field) {
  std::vector<std::string> found;
  for (protozero::pbf_reader reader(message); reader.next();) {
    if (reader.tag() == field) {
      found.push_back(reader.get_string());
    } else {
      reader.skip();
    }
  }
  return found;
}

/// One line of valid UTF-8 without controls.
void ExpectHarmless(const std::string& text) {
  EXPECT_LE(text.size(), 1200U);
  for (std::string_view rest = text; !rest.empty();) {
    const auto [code_point, bytes] = DecodeUtf8(rest);
    ASSERT_NE(bytes, 0U) << testing::PrintToString(text);
    ASSERT_FALSE(code_point < 0x20 || code_point == 0x7F || code_point == 0x202E) << testing::PrintToString(text);
    rest.remove_prefix(bytes);
  }
}

TEST(TraceReportTest, ASliceIsABeginAndAnEndAroundWhatIsNested) {
  const TimelineSlice inner{"inner", "phase", 20, 5, {}, {}};
  const TimelineSlice outer{"outer", "kernel", 10, 30, {}, {inner}};
  const std::string trace = Perfetto({{{"t", "", {outer}, "", {}, {}}}});
  std::vector<std::uint64_t> times;
  std::vector<int> types;
  for (const std::string& packet : Messages(trace, 1)) {
    for (protozero::pbf_reader reader(packet); reader.next();) {
      if (reader.tag() == 8) {
        times.push_back(reader.get_uint64());
      } else if (reader.tag() == 11) {
        protozero::pbf_reader event = reader.get_message();
        if (event.next(9)) types.push_back(event.get_enum());
      } else {
        reader.skip();
      }
    }
  }
  EXPECT_EQ(times, (std::vector<std::uint64_t>{10, 20, 25, 40}));
  EXPECT_EQ(types, (std::vector<int>{1, 1, 2, 2}));
}

TEST(TraceReportTest, TextsFromOutsideAreLinesOfUtf8) {
  const TimelineSlice slice{kHostile, "kernel", 0, 1, {{"fact", kHostile}}, {}};
  const std::string trace = Perfetto({{{kHostile, kHostile, {slice}, "", {}, {}}}});
  int texts = 0;
  for (const std::string& packet : Messages(trace, 1)) {
    for (const std::string& descriptor : Messages(packet, 60)) {
      for (const int field : {2, 14}) {
        for (const std::string& text : Messages(descriptor, field)) ExpectHarmless(text), ++texts;
      }
    }
    for (const std::string& event : Messages(packet, 11)) {
      for (const std::string& text : Messages(event, 23)) ExpectHarmless(text), ++texts;
      for (const std::string& annotation : Messages(event, 4)) {
        for (const std::string& text : Messages(annotation, 6)) ExpectHarmless(text), ++texts;
      }
    }
  }
  EXPECT_EQ(texts, 4);
}

TEST(TraceReportTest, FoldedHasALineForEachStackWithTimeOfItsOwn) {
  const GpuTimeNode line{GpuTimeKind::kLine, "a.cu:1", 30, "/src/a.cu", 1, {}};
  const GpuTimeNode phase{GpuTimeKind::kPhase, "softmax", 30, "", 0, {line}};
  const GpuTime time{{{GpuTimeKind::kKernel, "k", 100, "", 0, {phase}}}, 100};
  EXPECT_EQ(Folded(time), "k 70\nk;softmax;a.cu:1 30\n");
}

TEST(TraceReportTest, NamesCannotForgeFramesOrLines) {
  const GpuTime time{{{GpuTimeKind::kKernel, kHostile, 7, "", 0, {}}, {GpuTimeKind::kKernel, "", 1, "", 0, {}}}, 8};
  const std::string folded = Folded(time);
  EXPECT_EQ(folded.find(';'), std::string::npos);
  EXPECT_EQ(std::ranges::count(folded, '\n'), 2);
  EXPECT_TRUE(folded.ends_with("\n? 1\n"));
  ExpectHarmless(folded.substr(0, folded.find('\n')));
}

TEST(TraceReportTest, SpeedscopeSharesFramesAndHasFilesAndLines) {
  const GpuTimeNode line{GpuTimeKind::kLine, "a.cu:1", 30, "/src/a.cu", 1, {}};
  const GpuTimeNode phase{GpuTimeKind::kPhase, "softmax", 30, "", 0, {line}};
  const GpuTime time{
      {{GpuTimeKind::kKernel, "k", 100, "", 0, {phase}}, {GpuTimeKind::kKernel, "k2", 30, "", 0, {phase}}}, 130};
  const nlohmann::json document = Speedscope(time);
  EXPECT_EQ(document["shared"]["frames"].size(), 4U);
  EXPECT_EQ(document["shared"]["frames"][2], nlohmann::json({{"name", "a.cu:1"}, {"file", "/src/a.cu"}, {"line", 1}}));
  EXPECT_EQ(document["profiles"][0]["samples"], nlohmann::json::parse("[[0],[0,1,2],[3,1,2]]"));
  EXPECT_EQ(document["profiles"][0]["weights"], nlohmann::json::parse("[70,30,30]"));
  EXPECT_EQ(document["profiles"][0]["endValue"], 130);
}

}  // namespace
}  // namespace fa_profile::exporters::trace_report_test
