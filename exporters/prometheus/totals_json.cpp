#include "fa_profile/totals_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "fa_profile/error.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/totals.h"
#include "fa_profile/totals_sums.h"

namespace fa_profile::prom {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr double kMostOfASum = 1e100;  // far enough from overflow to be added up for years

// The layout of the file, once for both directions: `field` is a Writer or a Reader.
template <typename Field>
void Fields(const Field& field, ShapeTotals& totals) {
  for (const auto& sum : kShapeSums) field(sum.name, totals.*sum.value);
  field("duration_counts", totals.duration_counts);
  field.Added("phase_ratios", totals.phase_ratios);
}

template <typename Field>
void Fields(const Field& field, PhaseTotals& totals) {
  field("cycles", totals.cycles);
  field("stall_cycles", totals.stall_cycles);
  for (const auto& sum : kPhaseSums) field(sum.name, totals.*sum.value);
}

template <typename Field>
void Fields(const Field& field, KernelTotals& totals) {
  field("shapes", totals.shapes);
  field("phases", totals.phases);
  field("gauges", totals.gauges);
  field("origin", totals.origin);
  field("commit", totals.commit);
  field.Added("idle_seconds", totals.idle_seconds);
  field.Added("hidden", totals.hidden);
  for (const auto& sum : kKernelSums) field(sum.name, totals.*sum.value);
}

template <typename Field>
void Fields(const Field& field, Totals::Gpu& gpu) {
  field("uuid", gpu.uuid);
  field("kernels", gpu.kernels);
}

struct Writer {
  Json& json;

  template <typename Value>
  void operator()(const char* name, const Value& value) const {
    json[name] = value;
  }
  void operator()(const char* name, const std::optional<double>& value) const {
    if (value) json[name] = *value;
  }
  template <typename Value>
  void operator()(const char* name, std::map<std::string, Value>& values) const {
    Json& object = json[name] = Json::object();
    for (auto& [key, value] : values) Fields(Writer{object[key]}, value);
  }
  void operator()(const char* name, std::map<std::string, double>& values) const { json[name] = values; }
  // A field missing from states of version 0.1.0.
  template <typename Value>
  void Added(const char* name, const Value& value) const {
    json[name] = value;
  }
};

// get<double>() reads true as 1. -0.0 becomes 0.0: the page would show "-0".
double Number(const Json& value) {
  if (!value.is_number()) throw Error("'" + value.dump() + "' must be a number");
  return value.get<double>() + 0.0;
}

// CheckTotals() has the limits; here only what an int holds.
int GpuNumber(const Json& value) {
  if (!value.is_number_integer()) throw Error("a GPU's number must be an integer");
  return static_cast<int>(std::clamp<std::int64_t>(value.get<std::int64_t>(), -1, kMostGpus));
}

struct Reader {
  const Json& json;

  void operator()(const char* name, std::string& text) const { text = json.at(name).get<std::string>(); }
  void operator()(const char* name, bool& flag) const { flag = json.at(name).get<bool>(); }
  void operator()(const char* name, double& sum) const { sum = Number(json.at(name)); }
  void operator()(const char* name, std::optional<double>& sum) const {
    if (const auto found = json.find(name); found != json.end()) sum = Number(*found);
  }
  template <std::size_t kCount>
  void operator()(const char* name, std::array<double, kCount>& counts) const {
    const Json& values = json.at(name);
    if (values.size() != kCount) throw Error("the histogram's buckets differ from this program's");
    for (std::size_t i = 0; i < kCount; ++i) counts[i] = Number(values.at(i));
  }
  template <typename Value>
  void operator()(const char* name, std::map<std::string, Value>& values) const {
    for (const auto& [key, value] : json.at(name).items()) Fields(Reader{value}, values[key]);
  }
  void operator()(const char* name, std::map<std::string, double>& sums) const {
    for (const auto& [key, value] : json.at(name).items()) sums[key] = Number(value);
  }
  template <typename Value>
  void Added(const char* name, Value& value) const {
    if (json.contains(name)) (*this)(name, value);
  }
};

// States from 0.1.0 have the old names of gauges.
void UsePresentNames(std::map<std::string, double>& gauges) {
  std::map<std::string, double> renamed;
  for (const auto& [name, value] : gauges) renamed[PresentNameOf(name)] = value;
  gauges = std::move(renamed);
}

}  // namespace

std::string ToJson(const Totals& totals) {
  Json gpus = Json::array();
  for (auto [index, gpu] : totals.gpus) Fields(Writer{gpus.emplace_back(Json{{"gpu", index}})}, gpu);
  return Json{{"version", kVersion}, {"folded", totals.folded}, {"merged", totals.merged}, {"gpus", std::move(gpus)}}
      .dump();
}

Totals TotalsFromJson(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != kVersion) {
      throw Error("the totals have version " + json.at("version").dump() + ", and this program reads version " +
                  std::to_string(kVersion));
    }
    Totals totals;
    totals.folded = Number(json.at("folded"));
    if (json.contains("merged")) totals.merged = Number(json.at("merged"));  // early totals of this version have none
    for (const Json& entry : json.at("gpus")) {
      const auto [gpu, is_new] = totals.gpus.try_emplace(GpuNumber(entry.at("gpu")));
      if (!is_new) throw Error("GPU " + std::to_string(gpu->first) + " is there twice");
      Fields(Reader{entry}, gpu->second);
      for (auto& [name, kernel] : gpu->second.kernels) UsePresentNames(kernel.gauges);
    }
    CheckTotals(totals, kMostOfASum);
    return totals;
  } catch (const Json::exception& error) {
    throw Error("these are not totals of the exporter: " + std::string(error.what()));
  }
}

}  // namespace fa_profile::prom
