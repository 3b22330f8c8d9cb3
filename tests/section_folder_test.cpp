#include "fa_profile/section_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::collect::section_folder_test {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

class SectionFolderTest : public FolderTest {
 protected:
  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  /// One section of set "s" with this text after its head.
  void Section(const std::string& text) const {
    Write("a.section", "Identifier: \"A\"\nSets { Identifier: \"s\" }\n" + text);
  }
  MetricSet Read(int cc = 90) const { return ReadSectionFolder(folder_.string(), "s", cc); }
  Names Metrics(int cc = 90) const { return Read(cc).metrics; }
  std::string ErrorOf(const std::string& text) const {
    Section(text);
    try {
      Read();
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  }
};

TEST_F(SectionFolderTest, ReadsNamesAtAnyDepthAndAllRollupsOfACounter) {
  Section(R"(Body { Items { HorizontalContainer { Items { BarChart { Metrics {
      Label: "x" Name: "sm__a.sum.per_second" } } } } } }
    Header { Metrics { Name: "sm__b.ratio" } Metrics { Name: "" } Metrics { Name: "sm__c.max_rate" } })");
  EXPECT_EQ(Metrics(), (Names{"sm__a.avg.per_second", "sm__a.max.per_second", "sm__a.min.per_second",
                              "sm__a.sum.per_second", "sm__b.ratio", "sm__c.max_rate"}));
}

TEST_F(SectionFolderTest, AppliesArchitectureFiltersToAMetricAndToAllInsideAMessage) {
  Section(R"(Header {
      Metrics { Name: "sm__a.ratio" Filter { MinArch: CC_80 MaxArch: CC_89 } }
      Metrics { Name: "sm__b.ratio" Filter { Items { MaxArch: CC_80 } Items { MinArch: 90 MaxArch: 90 } } }
    }
    Body { Items { Filter: { MinArch: CC_100 } Table { Metrics { Name: "sm__c.ratio" } } } })");
  EXPECT_EQ(Metrics(80), (Names{"sm__a.ratio", "sm__b.ratio"}));
  EXPECT_EQ(Metrics(89), Names{"sm__a.ratio"});
  EXPECT_EQ(Metrics(90), Names{"sm__b.ratio"});
  EXPECT_EQ(Metrics(100), Names{"sm__c.ratio"});
  Section("Filter { MinArch: CC_90 } Metrics { Metrics { Name: \"sm__a.ratio\" } }");
  EXPECT_TRUE(Metrics(89).empty());
}

TEST_F(SectionFolderTest, IgnoresWhereAndHowAMetricIsCollected) {
  Section(R"(Metrics { Metrics { Name: "sm__a.ratio" Filter { VGpu: Platform_NotSupported
    CollectionFilter { CollectionScopes: CollectionScope_Launch } } } })");
  EXPECT_EQ(Metrics(), Names{"sm__a.ratio"});
}

TEST_F(SectionFolderTest, AnAlternativeThatPassesReplacesTheNameStatedFirst) {
  Section(R"(Metrics { Metrics { Name: "sm__old.sum" Filter { MaxArch: CC_80 }
      Options { Name: "sm__ada.sum" Filter { MinArch: CC_89 MaxArch: CC_89 } }
      Options { Name: "sm__new.sum" Filter { MinArch: CC_90 } } } })");
  EXPECT_EQ(Metrics(80), (Names{"sm__old.avg", "sm__old.max", "sm__old.min", "sm__old.sum"}));
  EXPECT_EQ(Metrics(86), Names{});
  EXPECT_EQ(Metrics(89), Names{"sm__ada.sum"});
  EXPECT_EQ(Metrics(90), Names{"sm__new.sum"});
}

TEST_F(SectionFolderTest, DerivedMetricsAreOmittedAndTheirOperandsRequested) {
  Section(R"(Metrics { Metrics { Name: "derived__a" } }
    MetricDefinitions {
      MetricDefinitions { Name: "derived__a" Expression: "2 * simplify(sm__x.sum) / derived__b" }
      MetricDefinitions { Name: "derived__b" Expression: "derived__a + sm__y.ratio" }
      MetricDefinitions { Name: "derived__unused" Expression: "sm__z.ratio" }
    })");
  const MetricSet set = Read();
  EXPECT_EQ(set.metrics, (Names{"sm__x.sum", "sm__y.ratio"}));
  ASSERT_EQ(set.omitted.size(), 2u);
  EXPECT_EQ(set.omitted[0].metric, "derived__a");
  EXPECT_EQ(set.omitted[0].reason, OmissionReason("derived__a"));
}

TEST_F(SectionFolderTest, ExpandsBreakdownsMemoryWidgetsAndSuffixTables) {
  Section(
      R"(Body { Items { Table { Metrics { Name: "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed" } } } })");
  EXPECT_EQ(Metrics(), ExpandMetricGroup("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "GH100"));
  Section("Body { Items { MemoryChart { Label: \"chart\" } } }");
  EXPECT_EQ(Metrics(80), ExpandMetricGroup("group:memory__chart", "GA100"));
  Section(R"(Body { Items { SuffixTable {
      Suffixes { Suffix { Name: ".avg" } Suffix { Name: ".sum" } }
      BaseNames { BaseName { Name: "sm__a" } BaseName { Name: "sm__b" Filter { MinArch: CC_100 } } } } } })");
  EXPECT_EQ(Metrics(), (Names{"sm__a.avg", "sm__a.max", "sm__a.min", "sm__a.sum"}));
}

TEST_F(SectionFolderTest, OmitsNamesWithoutACounterAndGivesTheReason) {
  Section(R"(Metrics { Metrics { Name: "group:smsp__pcsamp_warp_stall_reasons" } Metrics { Name: "launch__grid_size" }
    Metrics { Name: "group:unheard_of" } Metrics { Name: "pmsampling:sm__a.avg" } })");
  const MetricSet set = Read();
  EXPECT_TRUE(set.metrics.empty());
  ASSERT_EQ(set.omitted.size(), 4u);
  for (const MetricSet::Omitted& omitted : set.omitted) EXPECT_FALSE(omitted.reason.empty()) << omitted.metric;
}

TEST_F(SectionFolderTest, UnitesTheSectionsOfASet) {
  Section("Metrics { Metrics { Name: \"sm__a.ratio\" } }");
  Write("b.section",
        "Sets { Identifier: \"s\" } Sets { Identifier: \"t\" } Metrics { Metrics { Name: \"sm__b.ratio\" } }");
  Write("c.section", "Metrics { Metrics { Name: \"sm__c.ratio\" } }");
  Write("notes.txt", "} not a section {");
  EXPECT_EQ(Metrics(), (Names{"sm__a.ratio", "sm__b.ratio"}));
  EXPECT_EQ(ReadSectionFolder(folder_.string(), "t", 90).metrics, Names{"sm__b.ratio"});
}

TEST_F(SectionFolderTest, ToleratesUnknownFieldsAndEveryFormOfTheFormat) {
  Section(R"(# a comment with a { brace
    Future: -1.5e3; Another <Deep: [1, 2, ENUM], Text: 'single "quotes"'>
    Metrics [{ Name: "sm__" "a.ratio" }, { Name: "sm__b.ratio" Label: "\"}\" \n" }])");
  EXPECT_EQ(Metrics(), (Names{"sm__a.ratio", "sm__b.ratio"}));
}

TEST_F(SectionFolderTest, AFileThatDoesNotParseIsAnErrorWithFileAndLine) {
  EXPECT_NE(ErrorOf("Metrics {\n Metrics {\n").find("a.section:5: the text ends"), std::string::npos);
  EXPECT_NE(ErrorOf("Metrics { Name: \"x\n\" }").find("a.section:3: a string does not end"), std::string::npos);
  EXPECT_NE(ErrorOf("\n}").find("a.section:4: a field name was expected, not '}'"), std::string::npos);
  EXPECT_NE(ErrorOf("Name \"x\"").find("a.section:3: ':'"), std::string::npos);
  EXPECT_NE(ErrorOf("Name:").find("a value was expected for Name, not the end"), std::string::npos);
  EXPECT_NE(ErrorOf("List: [1 2]").find("',' or ']'"), std::string::npos);
  EXPECT_NE(ErrorOf("\x01").find("byte 1"), std::string::npos);
  EXPECT_NE(ErrorOf("Filter { MinArch: CC_new }").find("a.section:3: MinArch"), std::string::npos);
}

TEST_F(SectionFolderTest, DepthAndProductsHaveALimit) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "A{";
  EXPECT_NE(ErrorOf(deep).find("nested deeper than 100"), std::string::npos);
  std::string table = "SuffixTable { Suffixes {";
  for (int i = 0; i < 1000; ++i) table += "Suffix { Name: \"." + std::to_string(i) + "\" }";
  table += "} BaseNames {";
  for (int i = 0; i < 1000; ++i) table += "BaseName { Name: \"" + std::to_string(i) + "\" }";
  EXPECT_NE(ErrorOf(table + "} }").find("more than 100000"), std::string::npos);
}

TEST_F(SectionFolderTest, AnInvalidFolderOrSetIsAnErrorWithAHint) {
  EXPECT_THROW(ReadSectionFolder((folder_ / "absent").string(), "s", 90), Error);
  EXPECT_THROW(ReadSectionFolder(folder_.string(), "s", 90), Error);  // no .section file
  Section("");
  try {
    ReadSectionFolder(folder_.string(), "ss", 90);
    FAIL() << "there is no set ss";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("did you mean s?"), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find(" s"), std::string::npos) << error.what();
  }
  fs::create_directories(folder_ / "folder.section");
  EXPECT_THROW(Read(), Error);
}

}  // namespace
}  // namespace fa_profile::collect::section_folder_test
