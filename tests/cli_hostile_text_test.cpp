// Texts from outside, in everything that the program prints for people: a terminal must have nothing to obey.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fa_profile/descriptor.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/utf8.h"
#include "random_recording.h"
#include "recording_texts.h"
#include "run_program.h"
#include "sample_recording.h"
#include "test_files.h"

namespace fa_profile::cli::cli_hostile_text_test {
namespace {

namespace fs = std::filesystem;

// Sets a terminal's title, clears the screen, forges a line, turns writing around (U+202E), and begins a sequence by
// the one character CSI (U+009B).
const std::string kHostile = "\x1b]0;owned\x07\x1b[2J\r\nforged: fine\xe2\x80\xae\xc2\x9b";

class CliHostileTextTest : public FolderTest {
 protected:
  Outcome Run(const std::string& arguments) const {
    return RunInShell(folder_, "CUDA_VISIBLE_DEVICES= " FA_PROFILE_PROGRAM " " + arguments);
  }

  static std::string Quoted(const std::string& text) { return "'" + text + "'"; }

  static void ExpectHarmless(const std::string& text) {
    for (std::string_view rest = text; !rest.empty();) {
      const auto [code_point, bytes] = DecodeUtf8(rest);
      ASSERT_NE(bytes, 0U) << "not UTF-8: " << testing::PrintToString(text);
      const bool control = (code_point < 0x20 && code_point != '\n') || (code_point >= 0x7F && code_point < 0xA0);
      ASSERT_FALSE(control || code_point == 0x202E) << code_point << " in " << testing::PrintToString(text);
      rest.remove_prefix(bytes);
    }
    ASSERT_EQ(("\n" + text).find("\nforged"), std::string::npos) << text;
  }

  // Every line is the program's own.
  static void ExpectOneError(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 2);
    ExpectHarmless(outcome.err);
    std::istringstream lines(outcome.err);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.starts_with("fa-profile: ") || line.starts_with("  hint: ")) << outcome.err;
    }
  }

  std::string WriteHostile(const std::string& name) const {
    RandomRecording hostile{sample::MakeRecording(), {}};
    for (Range& range : hostile.recording.ranges) range.image_id = 0;
    AddToEveryText(hostile.recording, kHostile);
    store::RecordingWriter writer(folder_ / name, true);
    WriteAll(hostile, writer);
    writer.Finish();
    return Quoted(name);
  }
};

TEST_F(CliHostileTextTest, NamesOfFilesInErrorsAreOneHarmlessLine) {
  const std::string good = FA_PROFILE_BUNDLED_RECORDING;
  WriteFile(folder_ / ("text" + kHostile), "neither YAML: [ nor anything else");
  WriteFile(folder_ / ("bytes\xff\xfe" + kHostile), "\x1b[31m\xff{");
  for (const std::string& name : {kHostile, "text" + kHostile, "bytes\xff\xfe" + kHostile}) {
    const std::string file = Quoted(name);
    for (const std::string& command :
         {"report " + file, "report --phase-map " + file + " " + good, "diff " + good + " " + file, "lint " + file,
          "gate --candidate " + file, "gate --candidate " + good + " --baseline " + file,
          "gate --candidate " + good + " --baseline " + good + " --thresholds " + file, "gate --replay " + file,
          "gate --static " + file + " " + file, "baseline promote --reason x " + file, "baseline show ./" + file,
          "gate selftest --data " + file, "textfile " + file, "serve --no-nvml --web-config " + file,
          "push --gateway http://127.0.0.1:9 " + file, "textfile -o " + file + " " + good}) {
      SCOPED_TRACE(command);
      ExpectOneError(Run(command));
    }
    ExpectHarmless(Run("doctor " + file).out);
    ExpectHarmless(Run("baseline verify " + file).out);
  }
}

TEST_F(CliHostileTextTest, WrongArgumentsAreShownHarmlessly) {
  const std::string text = Quoted(kHostile);
  for (const std::string& command :
       {text, "--" + text, "report --kernel " + text + " " + FA_PROFILE_BUNDLED_RECORDING, "--shape " + text,
        "report --format " + text + " x.fap", "list " + text, "push --gateway " + text + " x.fap",
        "serve --listen " + text, "lint --fail-on " + text + " x.cubin", "--explain " + text}) {
    SCOPED_TRACE(command);
    ExpectOneError(Run(command));
  }
}

TEST_F(CliHostileTextTest, ReportsOfARecordingAreHarmless) {
  const std::string file = WriteHostile("a.fap");
  WriteHostile("b.fap");
  const std::vector<std::string> commands{"report " + file,
                                          "report --summary " + file,
                                          "report --details " + file,
                                          "report --explain bottleneck-phase " + file,
                                          "report --format jsonl " + file,
                                          "report --format csv " + file,
                                          "report --format folded " + file,
                                          "report --format speedscope " + file,
                                          "report --format html " + file,
                                          "report --instructions " + file,
                                          "report --instructions --limit 2 --format csv " + file,
                                          "report --source " + file,
                                          "report --source --phase-from opcodes --format csv " + file,
                                          "report --instructions --kernel nothing " + file,
                                          "diff " + file + " b.fap",
                                          "diff --format jsonl " + file + " b.fap",
                                          "gate --candidate a.fap --baseline b.fap",
                                          "gate --candidate a.fap --baseline b.fap --markdown /dev/stdout",
                                          "gate --candidate a.fap --baseline b.fap --format jsonl",
                                          "gate --candidate a.fap --baseline b.fap --explain",
                                          "report --kernel nothing " + file,
                                          "report --shape 9,9,9,64 " + file,
                                          "baseline promote --reason x a.fap",
                                          "textfile -o x.prom a.fap a.fap"};
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const Outcome outcome = Run(command);
    EXPECT_NE(outcome.out + outcome.err, "");
    ExpectHarmless(command.find("csv") == std::string::npos ? outcome.out : "");
    ExpectHarmless(outcome.err);
  }
}

TEST_F(CliHostileTextTest, TheReplyOfAPushgatewayIsShownHarmlessly) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), raw, size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), raw, &size), 0);
  std::thread gateway([&] {
    const Descriptor client(accept(listener.get(), nullptr, nullptr));
    std::string request;
    std::string buffer(4096, '\0');
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      request.append(buffer, 0, static_cast<std::size_t>(got));
    }
    const std::string body = "\xff" + kHostile;
    (void)WriteAll(client.get(), std::string("HTTP/1.1 400 Bad\r\nContent-Length: ") + std::to_string(body.size()) +
                                     "\r\n\r\n" + body);
    while (recv(client.get(), buffer.data(), buffer.size(), 0) > 0) continue;
  });
  const Outcome outcome = Run("push --delete --gateway http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  (void)shutdown(listener.get(), SHUT_RDWR);
  gateway.join();
  ExpectOneError(outcome);
  EXPECT_TRUE(Contains(outcome.err, "refused with status 400: \\xFF\\x1B]0;owned")) << outcome.err;
}

TEST_F(CliHostileTextTest, ATextReportCutsNamesOfAMegabyte) {
  RandomRecording large{sample::MakeRecording(), {}};
  for (Range& range : large.recording.ranges) range.image_id = 0;
  large.recording.samplings.clear();  // the reader limits the names of stall reasons
  AddToEveryText(large.recording, std::string(std::size_t{1} << 19U, '('));
  store::RecordingWriter writer(folder_ / "large.fap", true);
  WriteAll(large, writer);
  writer.Finish();
  for (const char* const command :
       {"report large.fap", "report --instructions large.fap", "report --source large.fap",
        "report --format perfetto large.fap", "report --format folded large.fap",
        "report --format speedscope large.fap", "report --explain bottleneck-phase large.fap",
        "diff large.fap large.fap", "gate --candidate large.fap --baseline large.fap",
        "report --kernel nothing large.fap"}) {
    SCOPED_TRACE(command);
    const Outcome outcome = Run(command);
    EXPECT_NE(outcome.exit_code, -1) << outcome.err;
    EXPECT_LT(outcome.out.size(), 200'000U);
  }
}

}  // namespace
}  // namespace fa_profile::cli::cli_hostile_text_test
