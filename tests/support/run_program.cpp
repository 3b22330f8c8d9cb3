#include "run_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "test_files.h"

namespace fa_profile {

Outcome RunInShell(const std::filesystem::path& folder, const std::string& command) {
  const TestFolder streams;
  const std::string line = "cd '" + folder.string() + "' && { " + command + "\n} >" + (streams / "out") + " 2>" +
                           (streams / "err") + " </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(streams / "out"), ReadFile(streams / "err")};
}

void ExpectRefused(const Outcome& outcome, const std::string& arguments, const std::string& what,
                   const std::string& cure) {
  SCOPED_TRACE(arguments + "\n" + outcome.err);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(Contains(outcome.err, what)) << what;
  EXPECT_EQ(outcome.err.find("error: "), outcome.err.rfind("error: ")) << "more than one error";
  const std::size_t hint = outcome.err.find("hint: ");
  ASSERT_NE(hint, std::string::npos) << "no hint";
  EXPECT_NE(outcome.err.find(cure, hint), std::string::npos) << cure;
}

}  // namespace fa_profile
