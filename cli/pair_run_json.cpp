#include <nlohmann/json.hpp>

#include "fa_profile/error.h"
#include "gate_pair.h"

namespace fa_profile {
namespace {

constexpr int kPairRunVersion = 1;

[[noreturn]] void Refuse(const std::string& name, const std::string& what) {
  throw Error(name + " is no run of pairs: " + what, "give a file that fa-profile gate --pair --save wrote");
}

}  // namespace

std::string PairRunToJson(const PairRun& run) {
  std::string text = "{\"version\": " + std::to_string(kPairRunVersion);
  text.append(",\n\"second_stage\": ").append(run.second_stage ? "true" : "false");
  // Evidence has its own layout, one process a line.
  text.append(",\n\"base\":\n").append(ToJson(run.base));
  text.append(",\n\"candidate\":\n").append(ToJson(run.candidate));
  text.append(",\n\"control\":\n").append(ToJson(run.control));
  return text + "}\n";
}

PairRun PairRunFromJson(const std::string& text, const std::string& name) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) Refuse(name, "it is no JSON object");
  for (const char* const member : {"version", "second_stage", "base", "candidate", "control"}) {
    if (!json.contains(member)) Refuse(name, std::string("'") + member + "' is missing");
  }
  if (json.at("version") != kPairRunVersion) Refuse(name, "version " + json.at("version").dump() + " is not known");
  if (!json.at("second_stage").is_boolean()) Refuse(name, "'second_stage' is neither true nor false");
  PairRun run;
  run.second_stage = json.at("second_stage").get<bool>();
  for (const auto& [member, evidence] :
       {std::pair{"base", &run.base}, {"candidate", &run.candidate}, {"control", &run.control}}) {
    *evidence = EvidenceFromJson(json.at(member).dump(), name + ": " + member);
  }
  return run;
}

}  // namespace fa_profile
