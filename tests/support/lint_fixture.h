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
#include <sstream>
#include <string>
#include <vector>

#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "json_schema.h"
#include "run_program.h"
#include "test_files.h"

namespace fa_profile {

/// Runs `fa-profile lint`, and reads its JSON.
class LintFixture : public FolderTest {
 protected:
  void SetUp() override {
    if (!sass::FindNvdisasm()) GTEST_SKIP() << "no nvdisasm here: ci/setup.sh fetches one";
  }
  Outcome Run(const std::string& arguments, const std::string& environment = {}) const {
    return RunInShell(folder_, environment + " " FA_PROFILE_PROGRAM " lint " + arguments);
  }

  void ExpectRefused(const std::string& arguments, const std::string& what, const std::string& cure,
                     const std::string& environment = {}) const {
    fa_profile::ExpectRefused(Run(arguments, environment), arguments, what, cure);
  }

  // The kernels of `lint --format json`, valid by the schema, by the function's own name ("tiles<true>").
  std::map<std::string, nlohmann::json> Kernels(const std::string& arguments) const {
    const Outcome outcome = Run("--format json " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const nlohmann::json json = nlohmann::json::parse(outcome.out);
    const JsonSchema schema(nlohmann::json::parse(ReadSourceFile("docs/lint.schema.json")));
    EXPECT_EQ(schema.Validate(json), std::vector<std::string>{});
    std::map<std::string, nlohmann::json> kernels;
    for (const nlohmann::json& kernel : json.at("kernels")) {
      kernels[FunctionName(kernel.at("name"))] = kernel;
    }
    return kernels;
  }

  // Removes the progress lines, whose number depends on the speed of the machine.
  static std::string WithoutProgress(const std::string& err) {
    std::istringstream lines(err);
    std::string rest;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("fa-profile: lint ")) rest += line + "\n";
    }
    return rest;
  }

  static std::set<std::string> Ids(const nlohmann::json& kernel) {
    std::set<std::string> ids;
    for (const nlohmann::json& finding : kernel.at("findings")) ids.insert(finding.at("id"));
    return ids;
  }
};

}  // namespace fa_profile
