#include "fa_profile/code_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "attention_code.h"
#include "device_code.h"
#include "fa_profile/list_code.h"
#include "json_schema.h"
#include "sample_recording.h"
#include "test_files.h"

namespace fa_profile::exporters::code_report_test {
namespace {

ProfileEntry EntryOf(const Recording& recording, std::size_t index) {
  ProfileEntry entry;
  entry.kernel = recording.cases[index].kernel;
  entry.shape = recording.cases[index].shape;
  entry.case_id = recording.cases[index].id;
  return entry;
}

/// `mma` of the sample, named by functions, and `tiled`, which has no code.
std::vector<InstructionListing> Listings(const Recording& recording) {
  std::vector<InstructionListing> listings;
  for (const std::size_t index : {0U, 4U}) {
    for (auto& listing : analyze::ListInstructions(recording, EntryOf(recording, index))) listings.push_back(listing);
  }
  return listings;
}

std::vector<SourceListing> Sources(const Recording& recording) {
  std::vector<SourceListing> sources;
  for (const InstructionListing& listing : Listings(recording)) sources.push_back(analyze::ListLines(listing));
  return sources;
}

/// The sample with the attention kernel as `mma`; its names say otherwise at one instruction.
Recording WithAttention() {
  Recording recording = sample::MakeRecording();
  std::vector<Line> lines = MmaAttention();
  lines[25].stack = {"pv()"};
  recording.functions = {MakeFunction(lines)};
  recording.countings.clear();
  recording.samplings[0].samples.clear();
  for (const Instruction& instruction : recording.functions[0].instructions) {
    recording.samplings[0].samples.push_back({1, instruction.offset, {{"wait", 100}}});
  }
  return recording;
}

template <typename Value>
std::string Written(void (*write)(std::ostream&, const Value&, const ReportOptions&), const Value& value,
                    const ReportOptions& options = {}) {
  std::ostringstream out;
  write(out, value, options);
  return out.str();
}

std::string Golden(const std::string& name) { return "tests/data/golden/" + name; }

TEST(CodeReportTest, InstructionsEqualTheGoldenFiles) {
  const auto listings = Listings(sample::MakeRecording());
  ExpectGolden(Golden("instructions.txt"), Written(WriteTextInstructions, listings, {.width = 160}));
  ExpectGolden(Golden("instructions.json"), Written(WriteJsonInstructions, listings));
  ExpectGolden(Golden("instructions.csv"), Written(WriteCsvInstructions, listings));
}

TEST(CodeReportTest, SourceLinesEqualTheGoldenFiles) {
  auto sources = Sources(sample::MakeRecording());
  sources[0].lines[0].text = "\t__syncthreads();";
  sources[0].read_files = {"/src/mma.cu"};
  sources[0].changed_files = {"/src/mma.cu"};
  ExpectGolden(Golden("source.txt"), Written(WriteTextSource, sources, {.width = 120}));
  ExpectGolden(Golden("source.json"), Written(WriteJsonSource, sources));
  ExpectGolden(Golden("source.csv"), Written(WriteCsvSource, sources));
}

TEST(CodeReportTest, JsonIsAsTheSchemaSays) {
  const JsonSchema schema(nlohmann::json::parse(ReadSourceFile("docs/report.schema.json")));
  const auto validate = [&](const std::string& text) { return schema.Validate(nlohmann::json::parse(text)); };
  for (const Recording& recording : {sample::MakeRecording(), WithAttention()}) {
    EXPECT_EQ(validate(Written(WriteJsonInstructions, Listings(recording))), std::vector<std::string>{});
    EXPECT_EQ(validate(Written(WriteJsonSource, Sources(recording))), std::vector<std::string>{});
  }
  EXPECT_FALSE(validate(R"({"format": "fa-profile instructions", "version": 1})").empty());
}

TEST(CodeReportTest, GapsBetweenTheHottestAreCounted) {
  auto listings = Listings(sample::MakeRecording());
  analyze::KeepHottest(listings[0], 2);
  const std::string text = Written(WriteTextInstructions, listings, {.width = 160});
  EXPECT_TRUE(Contains(text, "the 2 hottest of 7 instructions, 67.0 % of the samples"));
  EXPECT_TRUE(Contains(text, "... 1 more"));
}

TEST(CodeReportTest, ColumnsThatAreEmptyAreLeftOut) {
  Recording recording = sample::MakeRecording();
  EXPECT_TRUE(Contains(Written(WriteTextInstructions, Listings(recording), {.width = 160}), "executed  thr"));
  recording.countings.clear();
  for (Instruction& instruction : recording.functions[0].instructions) instruction.frames.clear();
  const std::string text = Written(WriteTextInstructions, Listings(recording), {.width = 160});
  const std::string table = text.substr(text.find("  offset"), 200);
  EXPECT_FALSE(Contains(table.substr(0, table.find('\n')), "executed"));
  EXPECT_FALSE(Contains(table.substr(0, table.find('\n')), "source"));
  EXPECT_TRUE(Contains(Written(WriteTextSource, Sources(recording), {.width = 160}), "nvcc -lineinfo"));
}

TEST(CodeReportTest, NoLineIsWiderThanThePage) {
  for (const int width : {60, 120, 160}) {
    for (const std::string& text : {Written(WriteTextInstructions, Listings(sample::MakeRecording()), {.width = width}),
                                    Written(WriteTextSource, Sources(sample::MakeRecording()), {.width = width})}) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
        EXPECT_LE(columns, width) << line;
      }
    }
  }
}

TEST(CodeReportTest, TextsOfARecordingAreHarmless) {
  Recording recording = sample::MakeRecording();
  const std::string hostile = "\x1b[2J\r\nforged\xff\xe2\x80\xae";
  recording.cases[0].kernel += hostile;
  DeviceFunction& function = recording.functions[0];
  function.name += hostile;
  for (Instruction& instruction : function.instructions) {
    instruction.predicate += hostile;
    instruction.opcode += hostile;
    instruction.operands += hostile;
    for (InlineFrame& frame : instruction.frames) frame.file += hostile;
  }
  for (PcSample& pc : recording.samplings[0].samples) pc.samples["wait" + hostile] = 5000;
  auto sources = Sources(recording);
  for (ListedLine& line : sources[0].lines) line.text = hostile;
  sources[0].changed_files = {hostile};
  for (const std::string& text :
       {Written(WriteTextInstructions, Listings(recording)), Written(WriteTextSource, sources),
        Written(WriteCsvInstructions, Listings(recording)), Written(WriteCsvSource, sources)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\nforged"), std::string::npos) << text;
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << text;
    EXPECT_EQ(text.find('\xff'), std::string::npos) << text;
  }
  for (const std::string& json :
       {Written(WriteJsonInstructions, Listings(recording)), Written(WriteJsonSource, sources)}) {
    EXPECT_TRUE(nlohmann::json::accept(json));
  }
}

}  // namespace
}  // namespace fa_profile::exporters::code_report_test
