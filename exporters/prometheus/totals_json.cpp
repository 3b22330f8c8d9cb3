#include <cmath>
#include <nlohmann/json.hpp>

#include "fa_profile/error.h"
#include "fa_profile/totals.h"

namespace fa_profile {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr double kMostOfASum = 1e100;

void Put(Json& json, const char* name, const std::optional<double>& value) {
  if (value) json[name] = *value;
}

// A gauge.
double AnyNumber(const Json& json) {
  const auto value = json.get<double>();
  if (!std::isfinite(value)) throw Error("a value is not a finite number");
  return value;
}

// A sum: counters never go down, and must stay far enough from overflow to be added up for years.
double Number(const Json& json) {
  const double value = AnyNumber(json);
  if (value < 0 || value > kMostOfASum) {
    throw Error("a sum is " + json.dump() + ", and must be from 0 to " + Json(kMostOfASum).dump());
  }
  return value;
}

std::optional<double> Get(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() ? std::nullopt : std::optional(Number(*found));
}

Json ShapeJson(const ShapeTotals& totals) {
  return {{"launches", totals.launches},
          {"profiled_launches", totals.profiled_launches},
          {"flops", totals.flops},
          {"duration_sum_seconds", totals.duration_sum_seconds},
          {"duration_counts", totals.duration_counts}};
}

ShapeTotals ShapeFrom(const Json& json) {
  ShapeTotals totals;
  totals.launches = Number(json.at("launches"));
  totals.profiled_launches = Number(json.at("profiled_launches"));
  totals.flops = Number(json.at("flops"));
  totals.duration_sum_seconds = Number(json.at("duration_sum_seconds"));
  const Json& counts = json.at("duration_counts");
  if (counts.size() != totals.duration_counts.size()) throw Error("a histogram has other buckets than this program's");
  for (std::size_t i = 0; i < counts.size(); ++i) totals.duration_counts[i] = Number(counts.at(i));
  return totals;
}

Json PhaseJson(const PhaseTotals& totals) {
  Json json{{"cycles", totals.cycles}, {"stall_cycles", totals.stall_cycles}};
  Put(json, "instructions", totals.instructions);
  Put(json, "wavefronts", totals.wavefronts);
  Put(json, "excess_wavefronts", totals.excess_wavefronts);
  return json;
}

std::map<std::string, double> Numbers(const Json& json, double (*number)(const Json&)) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : json.items()) numbers[name] = number(value);
  return numbers;
}

PhaseTotals PhaseFrom(const Json& json) {
  PhaseTotals totals;
  totals.cycles = Number(json.at("cycles"));
  totals.stall_cycles = Numbers(json.at("stall_cycles"), Number);
  totals.instructions = Get(json, "instructions");
  totals.wavefronts = Get(json, "wavefronts");
  totals.excess_wavefronts = Get(json, "excess_wavefronts");
  return totals;
}

Json KernelJson(const KernelTotals& totals) {
  Json json{{"shapes", Json::object()},        {"phases", Json::object()}, {"gauges", totals.gauges},
            {"bottleneck", totals.bottleneck}, {"origin", totals.origin},  {"commit", totals.commit},
            {"last_seen", totals.last_seen}};
  for (const auto& [shape, value] : totals.shapes) json["shapes"][shape] = ShapeJson(value);
  for (const auto& [phase, value] : totals.phases) json["phases"][phase] = PhaseJson(value);
  Put(json, "tensor_active_cycles", totals.tensor_active_cycles);
  Put(json, "sm_active_cycles", totals.sm_active_cycles);
  Put(json, "warps_active_cycles", totals.warps_active_cycles);
  Put(json, "dram_bytes", totals.dram_bytes);
  Put(json, "dropped_samples", totals.dropped_samples);
  return json;
}

KernelTotals KernelFrom(const Json& json) {
  KernelTotals totals;
  for (const auto& [shape, value] : json.at("shapes").items()) totals.shapes[shape] = ShapeFrom(value);
  for (const auto& [phase, value] : json.at("phases").items()) totals.phases[phase] = PhaseFrom(value);
  totals.gauges = Numbers(json.at("gauges"), AnyNumber);
  totals.bottleneck = json.at("bottleneck").get<std::string>();
  totals.origin = json.at("origin").get<std::string>();
  totals.commit = json.at("commit").get<std::string>();
  totals.last_seen = Number(json.at("last_seen"));
  totals.tensor_active_cycles = Get(json, "tensor_active_cycles");
  totals.sm_active_cycles = Get(json, "sm_active_cycles");
  totals.warps_active_cycles = Get(json, "warps_active_cycles");
  totals.dram_bytes = Get(json, "dram_bytes");
  totals.dropped_samples = Get(json, "dropped_samples");
  return totals;
}

}  // namespace

std::string ToJson(const Totals& totals) {
  Json gpus = Json::array();
  for (const auto& [index, gpu] : totals.gpus) {
    Json kernels = Json::object();
    for (const auto& [name, kernel] : gpu.kernels) kernels[name] = KernelJson(kernel);
    gpus.push_back({{"gpu", index}, {"uuid", gpu.uuid}, {"kernels", std::move(kernels)}});
  }
  return Json{{"version", kVersion}, {"folded", totals.folded}, {"gpus", std::move(gpus)}}.dump();
}

Totals TotalsFromJson(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != kVersion) {
      throw Error("these totals are of version " + json.at("version").dump() + ", this program's are of version " +
                  std::to_string(kVersion));
    }
    Totals totals;
    totals.folded = Number(json.at("folded"));
    for (const Json& entry : json.at("gpus")) {
      const int index = entry.at("gpu").get<int>();
      if (index < 0 || index >= kMostGpus) throw Error("a GPU has number " + std::to_string(index));
      Totals::Gpu& gpu = totals.gpus[index];
      gpu.uuid = entry.at("uuid").get<std::string>();
      for (const auto& [name, kernel] : entry.at("kernels").items()) gpu.kernels[name] = KernelFrom(kernel);
    }
    return totals;
  } catch (const Json::exception& error) {
    throw Error("these are no totals of the exporter: " + std::string(error.what()));
  }
}

}  // namespace fa_profile
