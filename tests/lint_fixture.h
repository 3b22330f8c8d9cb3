#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "json_schema.h"

namespace fa_profile {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline std::string Slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs `fa-profile lint`, and reads its JSON.
class LintFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fa-profile-lint-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    if (!FindNvdisasm()) GTEST_SKIP() << "no nvdisasm here: ci/setup.sh fetches one";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Outcome Run(const std::string& arguments, const std::string& environment = {}) const {
    const std::string command = "cd " + folder_.string() + " && " + environment + " " FA_PROFILE_PROGRAM " lint " +
                                arguments + " >out 2>err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(folder_ / "out"), Slurp(folder_ / "err")};
  }

  // Bad input: exit code 2, nothing on stdout, one error that contains `what`, and a hint that contains `cure`.
  void ExpectRefused(const std::string& arguments, const std::string& what, const std::string& cure,
                     const std::string& environment = {}) const {
    const Outcome outcome = Run(arguments, environment);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << arguments << "\n" << outcome.err;
    const std::size_t hint = outcome.err.find("hint: ");
    ASSERT_NE(hint, std::string::npos) << arguments << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(cure, hint), std::string::npos) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.err.find("error: "), outcome.err.rfind("error: ")) << "more than one error: " << outcome.err;
  }

  // The kernels of `lint --format json`, valid by the schema, by the function's own name ("tiles<true>").
  std::map<std::string, nlohmann::json> Kernels(const std::string& arguments) const {
    const Outcome outcome = Run("--format json " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const nlohmann::json json = nlohmann::json::parse(outcome.out);
    const JsonSchema schema(nlohmann::json::parse(Slurp(FA_PROFILE_TEST_DATA "/../../docs/lint.schema.json")));
    EXPECT_EQ(schema.Validate(json), std::vector<std::string>{});
    std::map<std::string, nlohmann::json> kernels;
    for (const nlohmann::json& kernel : json.at("kernels")) {
      kernels[FunctionName(kernel.at("name"))] = kernel;
    }
    return kernels;
  }

  static std::set<std::string> Ids(const nlohmann::json& kernel) {
    std::set<std::string> ids;
    for (const nlohmann::json& finding : kernel.at("findings")) ids.insert(finding.at("id"));
    return ids;
  }

  std::filesystem::path folder_;
};

}  // namespace fa_profile
