// fa_help's output for a command line that is not fa-profile's.
#include <gtest/gtest.h>

#include <memory>

#include "fa_profile/add_option.h"
#include "fa_profile/completion.h"
#include "fa_profile/help_text.h"
#include "fa_profile/man_pages.h"
#include "test_files.h"

namespace fa_profile::help::help_test {
namespace {

class HelpTest : public testing::Test {
 protected:
  HelpTest() {
    app_.name("my-tool");
    app_.formatter(std::make_shared<HelpText>());
    app_.require_subcommand(0, 1);
    app_.add_option("--map", map_, "A map (*.yaml)");
    AddNumber(app_, "--count", count_, "How many", 1, 9);
    CLI::App& paint = *app_.add_subcommand("paint", "Paint a wall");
    paint.add_option("--colour", colour_, "Any colour");
    paint.add_option("--map", map_, "A map (*.yaml)");
    AddChoice(paint, "--tool", tool_, "What with", {"brush", "roller"});
    AddNumber(paint, "--layers", layers_, "How thick", 0.5, 4.0);
    AddDuration(paint, "--dry", dry_s_, "Time to dry", 1, 3600);
  }

  /// The error of a wrong command line, and its hint; empty: it is right.
  std::string Refusal(std::vector<std::string> words) {
    std::ranges::reverse(words);
    try {
      app_.parse(words);
      CheckUsage(app_, program_);
    } catch (const CLI::ParseError& error) {
      const Error refused = UsageError(app_, error, program_);
      return refused.message() + " | " + refused.hint();
    } catch (const Error& refused) {
      return refused.message() + " | " + refused.hint();
    }
    return "";
  }

  CLI::App app_{"my-tool: paints"};
  std::string map_;
  int count_ = 1;
  std::string colour_;
  std::string tool_ = "brush";
  double layers_ = 1.0;
  double dry_s_ = 60.0;
  ProgramUsage program_{{}, {"varnish"}, [](const std::string& word) { return "is " + word + " a wall? "; }, {"--map"}};
};

TEST_F(HelpTest, AWrongWordIsNamedWithWhatIsNear) {
  EXPECT_EQ(Refusal({"pain"}), "my-tool has no command 'pain'; did you mean paint? | the commands are paint");
  EXPECT_TRUE(Contains(Refusal({"varnis"}), "did you mean varnish?"));
  EXPECT_EQ(Refusal({"zebra"}), "my-tool has no command 'zebra' | is zebra a wall? the commands are paint");
  EXPECT_EQ(Refusal({"help"}), "my-tool has no command 'help' | write my-tool --help");
  EXPECT_TRUE(Contains(Refusal({"paint", "--color", "red"}), "paint has no option --color; did you mean --colour?"));
}

TEST_F(HelpTest, AProgramAnswersWordsOfItsOwn) {
  program_.unknown_word = [](const CLI::App& command, const std::string& word) -> std::optional<Error> {
    if (word != "sand") return std::nullopt;
    return Error(command.get_name() + " does not sand", "buy paper");
  };
  EXPECT_EQ(Refusal({"sand"}), "my-tool does not sand | buy paper");
  EXPECT_TRUE(Contains(Refusal({"zebra"}), "has no command"));
}

TEST_F(HelpTest, AWrongValueIsNamedWithWhatIsTaken) {
  EXPECT_TRUE(Contains(Refusal({"--count", "10"}), "--count must be a whole number from 1 to 9, not '10'"));
  EXPECT_TRUE(Contains(Refusal({"paint", "--layers", "nan"}), "--layers must be a number from 0.5 to 4, not 'nan'"));
  EXPECT_TRUE(Contains(Refusal({"paint", "--tool", "spoon"}), "--tool must be brush or roller, not 'spoon'"));
  EXPECT_TRUE(Contains(Refusal({"paint", "--colour", ""}), "--colour is empty"));
  EXPECT_TRUE(Contains(Refusal({"paint", "--dry", "soon"}), "--dry must be a time like 500ms, 15s, 1m, 1h or 1d"));
  EXPECT_TRUE(Contains(Refusal({"paint", "--dry", "2h"}), "--dry must be a time from 1s to 1h, not '2h'"));
}

TEST_F(HelpTest, ATimeIsInSeconds) {
  EXPECT_EQ(Refusal({"paint", "--dry", "2m"}), "");
  EXPECT_EQ(dry_s_, 120.0);
}

TEST_F(HelpTest, AnOptionInFrontOfACommandIsRefusedUnlessBothShareIt) {
  EXPECT_TRUE(Contains(Refusal({"--count", "2", "paint"}),
                       "--count has no effect before 'paint' | put options after the "
                       "command; my-tool paint --help lists them"));
  app_.clear();
  EXPECT_EQ(Refusal({"--map", "x.yaml", "paint"}), "");
}

TEST_F(HelpTest, CommandsOptionsAndValuesAreOffered) {
  const KnownValues values{
      [](const CLI::App&, const std::string& option) {
        return option == "--colour" ? std::vector<std::string>{"red", "blue"} : std::vector<std::string>();
      },
      {}};
  const auto offered = [&](const std::vector<std::string>& words) { return Complete(app_, words, values); };
  EXPECT_TRUE(Contains(offered({""}), "\npaint\t")) << offered({""});
  EXPECT_TRUE(Contains(offered({"paint", "-"}), "\n--colour\t"));
  EXPECT_EQ(offered({"paint", "--colour", ""}), "words\nred\nblue\n");
  EXPECT_EQ(offered({"paint", "--colour=r"}), "words\n--colour=red\n--colour=blue\n");
  EXPECT_EQ(offered({"paint", "--tool", "br"}), "words\nbrush\nroller\n");
  EXPECT_TRUE(Contains(offered({"paint", "--tool", "paint", "--c"}), "\n--colour\t"))
      << "a value with a command's name";
  EXPECT_EQ(offered({"--map", ""}), "files .yaml\n");
  EXPECT_EQ(offered({"--count", ""}), "words\n");
  EXPECT_EQ(offered({"--none=", ""}).substr(0, 5), "words");
}

TEST_F(HelpTest, EveryShellAsksTheProgram) {
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript("my-tool", shell, "/opt/it's/my-tool");
    EXPECT_TRUE(Contains(script, "'/opt/it'\\''s/my-tool' complete ")) << script;
    EXPECT_FALSE(Contains(script, "fa-profile") || Contains(script, "@NAME@") || Contains(script, "@ID@")) << shell;
  }
  EXPECT_TRUE(Contains(CompletionScript("my-tool", "bash", "x"), "complete -F _my_tool my-tool\n"));
  EXPECT_TRUE(CompletionScript("my-tool", "zsh", "x").starts_with("#compdef my-tool\n"));
}

TEST_F(HelpTest, EveryCommandHasAPage) {
  const std::vector<ManPage> pages = ManPages(app_, "1.2");
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].name, "my-tool");
  EXPECT_TRUE(Contains(pages[0].text, ".BR my\\-tool\\-paint (1)\nPaint a wall"));
  EXPECT_EQ(pages[1].name, "my-tool-paint");
  EXPECT_TRUE(Contains(pages[1].text, "\"my\\-tool 1.2\""));
  EXPECT_TRUE(Contains(pages[1].text, "\\fB\\-\\-layers\\fR \\fINUMBER\\fR\nHow thick (0.5 to 4; default 1)"));
}

}  // namespace
}  // namespace fa_profile::help::help_test
