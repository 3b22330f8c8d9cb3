#include "fa_profile/exporter_state.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/analyze.h"
#include "fa_profile/contribution.h"
#include "fa_profile/recording_file.h"
#include "test_files.h"

namespace fa_profile::serve::exporter_state_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ExporterStateTest : public FolderTest {
 protected:
  ExporterStateTest() {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>()));
  }
  ~ExporterStateTest() override { spdlog::set_default_logger(before_); }

  // What an exporter keeps that has counted a kernel of the bundled recording, with every field.
  void SaveReal() {
    const Recording recording = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load();
    ExporterState state;
    state.totals = prom::Contribution(recording, analyze::Analyze(recording));
    std::erase_if(state.totals.gpus.at(0).kernels, [](const auto& kernel) { return kernel.first != "mma"; });
    state.held = state.totals;
    state.counted = {std::string(64, 'a')};
    state.last_recording = 1.8e9;
    state.recordings_counted = 1;
    states_.Save(state);
  }

  bool Refuses(const Json& state) {
    WriteFile(path_, state.dump());
    const int before = states_.CountRefused();
    const bool empty = states_.Load().totals == Totals();
    const bool refused = states_.CountRefused() == before + 1;
    EXPECT_EQ(empty, refused);
    fs::remove(path_ + ".damaged");
    return refused;
  }

  const std::string path_ = (folder_ / "exporter.json").string();
  StateFolder states_{folder_.string()};

 private:
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

// One pointer for each kind of number: names of kernels, shapes and phases are the same kind.
std::vector<Json::json_pointer> KindsOfNumbers(const Json& state) {
  const std::set<std::string> named = {"kernels", "shapes", "phases", "phase_ratios", "stall_cycles"};
  std::set<std::string> seen;
  std::vector<Json::json_pointer> kinds;
  const std::function<void(const Json&, const Json::json_pointer&, const std::string&)> walk =
      [&](const Json& value, const Json::json_pointer& at, const std::string& kind) {
        if (value.is_number() && seen.insert(kind).second) kinds.push_back(at);
        if (!value.is_structured()) return;
        for (const auto& [key, part] : value.items()) {
          const bool any = value.is_array() || named.contains(at.empty() ? "" : at.back());
          const Json::json_pointer below = value.is_array() ? at / static_cast<std::size_t>(std::stoul(key)) : at / key;
          walk(part, below, kind + "/" + (any ? "*" : key));
        }
      };
  walk(state, Json::json_pointer(), "");
  return kinds;
}

TEST_F(ExporterStateTest, NoNumberThatTheExporterCannotHaveWrittenIsRead) {
  SaveReal();
  const Json real = Json::parse(ReadFile(path_));
  ASSERT_FALSE(Refuses(real));
  const std::vector<Json::json_pointer> numbers = KindsOfNumbers(real);
  EXPECT_GE(numbers.size(), 60U);
  for (const Json::json_pointer& number : numbers) {
    for (const Json& impossible : {Json(-5), Json(1e300), Json(-1e300), Json("NaN"), Json(nullptr), Json(true)}) {
      Json edited = real;
      edited[number] = impossible;
      EXPECT_TRUE(Refuses(edited)) << number << " is " << impossible;
    }
  }
}

TEST_F(ExporterStateTest, RatiosAndFlagsHaveTheirBounds) {
  SaveReal();
  const Json real = Json::parse(ReadFile(path_));
  const Json::json_pointer kernel("/totals/gpus/0/kernels/mma");
  const auto refuses = [&](const std::string& field, double value) {
    Json edited = real;
    const Json::json_pointer number = kernel / Json::json_pointer(field);
    EXPECT_TRUE(real.contains(number)) << number;
    edited[number] = value;
    return Refuses(edited);
  };
  const std::string occupancy = "/gauges/faprof_kernel_achieved_occupancy_ratio";
  EXPECT_TRUE(refuses(occupancy, 1.01));
  EXPECT_FALSE(refuses(occupancy, 1));
  EXPECT_FALSE(refuses(occupancy, 0));
  EXPECT_TRUE(refuses("/gauges/faprof_kernel_correct", 0.5));
  EXPECT_FALSE(refuses("/gauges/faprof_kernel_correct", 0));
  EXPECT_TRUE(refuses("/shapes/le_512/phase_ratios/qk", 1.01));
  // A change of time: negative is noise, below -1 is a negative time.
  EXPECT_FALSE(refuses("/gauges/faprof_exporter_overhead_ratio", -0.01));
  EXPECT_TRUE(refuses("/gauges/faprof_exporter_overhead_ratio", -1.01));
}

TEST_F(ExporterStateTest, AnIntegerThatAnIntCannotHoldIsNotReadAsAnother) {
  SaveReal();
  const Json real = Json::parse(ReadFile(path_));
  for (const char* const field : {"/totals/gpus/0/gpu", "/totals/version", "/version"}) {
    Json edited = real;
    const Json::json_pointer number(field);
    edited[number] = real.at(number).get<std::int64_t>() + (std::int64_t{1} << 32);
    EXPECT_TRUE(Refuses(edited)) << field;
  }
}

}  // namespace
}  // namespace fa_profile::serve::exporter_state_test
