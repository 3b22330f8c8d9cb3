#include "fa_profile/pair_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "evidence_json.h"
#include "fa_profile/strict_json.h"

namespace fa_profile::gate {
namespace {

constexpr std::int64_t kPairRunVersion = 1;

}  // namespace

std::string PairRunToJson(const PairRun& run) {
  // Evidence has its own layout, one process a line.
  return fmt::format(
      "{{\"version\": {},\n\"second_stage\": {},\n\"base\":\n{},\n\"candidate\":\n{},\n\"control\":\n{}}}\n",
      kPairRunVersion, run.second_stage, ToJson(run.base), ToJson(run.candidate), ToJson(run.control));
}

PairRun PairRunFromJson(const std::string& text, const std::string& name) {
  const JsonFile file{name, "use a file that fa-profile gate --pair --save wrote"};
  const nlohmann::json parsed = ParseStrictJson(text, file);
  const JsonNode document(parsed, file);
  // Check the version before the keys: a newer one may have others.
  if (!parsed.is_object() || !parsed.contains("second_stage")) document.Fail("is not a run of pairs");
  RequireVersion(document, kPairRunVersion);
  document.RequireOnly({"version", "second_stage", "base", "candidate", "control"});
  PairRun run;
  run.second_stage = document.At("second_stage").Flag();
  run.base = ReadEvidence(document.At("base"));
  run.candidate = ReadEvidence(document.At("candidate"));
  run.control = ReadEvidence(document.At("control"));
  return run;
}

}  // namespace fa_profile::gate
