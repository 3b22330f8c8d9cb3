#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate_pair.h"
#include "fa_profile/gate_run.h"
#include "test_files.h"

/// Runs of pairs whose builds are scripts: tests/fake_build.
namespace fa_profile::gate {

// The recording that tests/fake_build writes.
inline Evidence LoadFake(const std::string& path) {
  const nlohmann::json json = nlohmann::json::parse(ReadFile(path));
  Evidence evidence;
  const nlohmann::json& environment = json.at("environment");
  evidence.origin = path;
  evidence.environment.gpu_name = environment.at("gpu_name");
  evidence.environment.gpu_uuid = environment.at("gpu_uuid");
  evidence.environment.chip = environment.at("chip");
  evidence.environment.driver_version = environment.at("driver_version");
  evidence.environment.cuda_driver_version = environment.at("cuda_driver_version");
  evidence.environment.cuda_runtime_version = environment.at("cuda_runtime_version");
  evidence.environment.cupti_version = environment.at("cupti_version");
  evidence.environment.sm_clock_max_hz = environment.at("sm_clock_max_hz");
  evidence.environment.memory_clock_max_hz = environment.at("memory_clock_max_hz");
  evidence.environment.tool_version = environment.at("tool_version");
  ProcessSample process;
  process.kind = "recording";
  for (const nlohmann::json& one : json.at("cases")) {
    CaseFacts facts;
    facts.kernel = one.at("kernel");
    facts.shape = one.at("shape");
    CodeFacts code;
    code.name = facts.kernel + "(args)";
    code.code_hash = one.at("hash");
    facts.code = {code};
    LaunchFacts launch;
    launch.kernel_name = code.name;
    facts.launches = {launch};
    if (const int draws = one.at("draws"); draws > 0) {
      facts.verification.emplace();
      facts.verification->draws = draws;
      facts.verification->draws_passed = one.at("correct").get<bool>() ? draws : 0;
      facts.verification->max_error_ratio = one.at("correct").get<bool>() ? 0.5 : 9.0;
    }
    evidence.cases.push_back(facts);
    std::map<MetricKey, double> values;
    for (const auto& [phase, share] : one.at("shares").items()) values[{phase, kPhaseTime}] = share;
    process.values.push_back(values);
  }
  evidence.processes = {process};
  return evidence;
}

// A process as the log has it.
struct Started {
  std::string build, kind;
  int order = 0;
  std::string kernels, shapes, draws;
};

class GatePairTest : public FolderTest {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "log").flush();
    std::filesystem::create_directory(folder_ / "tmp");
    knobs_["base"] = {{"name", "base"}, {"log", folder_ / "log"}};
    knobs_["base"]["kernels"] = {{"mma", {{"hash", "00000000000000aa"}}}, {"wmma", {{"hash", "00000000000000bb"}}}};
    knobs_["head"] = knobs_["base"];
    knobs_["head"]["name"] = "head";
    knobs_["head"]["kernels"]["mma"]["hash"] = "00000000000000cc";
    knobs_["head"]["kernels"]["wmma"]["hash"] = "00000000000000dd";
    options_.base = folder_ / "base";
    options_.candidate = folder_ / "head";
    options_.today = "2026-11-21";
    options_.timeout_seconds = 600;
    options_.phase_pairs = 0;  // half of the time
    options_.load = LoadFake;
    (void)setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << "something was left behind";
    (void)unsetenv("TMPDIR");
  }

  nlohmann::json& Head(const std::string& kernel) { return knobs_["head"]["kernels"][kernel]; }

  void WriteBuilds() {
    for (const auto& [name, knobs] : knobs_) {
      std::filesystem::create_directories(folder_ / name);
      std::filesystem::copy_file(FA_PROFILE_FAKE_BUILD, folder_ / name / "fa-profile",
                                 std::filesystem::copy_options::overwrite_existing);
      std::ofstream(folder_ / name / "knobs.json") << knobs.dump();
    }
  }
  GateResult Run() {
    WriteBuilds();
    run_ = RunPair(options_);
    return JudgePair(run_, options_.thresholds, options_.today, "fa-profile gate --pair base head");
  }
  // The message of the error that the run ends with, and its hint.
  std::string Refusal() {
    WriteBuilds();
    try {
      run_ = RunPair(options_);
    } catch (const Error& error) {
      return error.message() + " | " + error.hint();
    }
    return "";
  }
  std::vector<Started> Log(const std::string& kind) const {
    std::vector<Started> log;
    std::ifstream file(folder_ / "log");
    for (Started one; file >> one.build >> one.kind >> one.order >> one.kernels;) {
      std::string rest;
      std::getline(file, rest);
      one.draws = rest.substr(rest.rfind(' ') + 1);
      one.shapes = rest.substr(1, rest.rfind(' ') - 1);
      if (one.kind == kind) log.push_back(one);
    }
    return log;
  }
  static const CaseVerdict& CaseOf(const GateResult& result, const std::string& kernel) {
    const auto found = std::ranges::find(result.cases, kernel, &CaseVerdict::kernel);
    if (found == result.cases.end()) throw std::runtime_error("no case " + kernel);
    return *found;
  }
  static int Processes(const Evidence& evidence, const std::string& kind, int stage) {
    return static_cast<int>(std::ranges::count_if(evidence.processes, [&](const ProcessSample& process) {
      return process.kind == kind && process.stage == stage;
    }));
  }

  std::map<std::string, nlohmann::json> knobs_;
  PairOptions options_;
  PairRun run_;
};

}  // namespace fa_profile::gate
