#include "fa_profile/trial_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "evidence_json.h"
#include "fa_profile/baseline.h"
#include "fa_profile/files.h"
#include "fa_profile/strict_json.h"

namespace fa_profile::gate {
namespace {

constexpr const char* kFormat = "fa-profile trial data";
constexpr std::size_t kMostMutants = 1000;
constexpr std::size_t kMostGpus = 100;

bool HasKernel(const Evidence& evidence, const std::string& kernel) {
  return std::ranges::find(evidence.cases, kernel, &CaseFacts::kernel) != evidence.cases.end();
}

/// The name of a kernel, which has to be in the evidence.
std::string KernelIn(const Evidence& evidence, const JsonNode& node) {
  std::string kernel = node.Text();
  if (!HasKernel(evidence, kernel)) node.Fail("kernel " + QuotedText(kernel) + " not found in the mutants' evidence");
  return kernel;
}

}  // namespace

TrialData TrialDataFromJson(const std::string& text, const std::string& name) {
  const JsonFile file{name, "use the file that comes with fa-profile, or measure one (docs/gate-reference.md)"};
  const nlohmann::json parsed = ParseStrictJson(text, file);
  const JsonNode document(parsed, file);
  RequireFormat(document, kFormat, kTrialDataVersion);
  document.RequireOnly({"format", "version", "facts", "same_code", "more_same_code", "mutants"});
  TrialData data;
  data.name = name;
  data.same_code = ReadEvidence(document.At("same_code"));
  if (const auto more = document.Find("more_same_code")) {
    for (const JsonNode& item : more->Items(kMostGpus)) data.more_same_code.push_back(ReadEvidence(item));
  }
  data.mutants = ReadEvidence(document.At("mutants"));
  for (const JsonNode& item : document.At("facts").Items(kMostMutants)) {
    item.RequireOnly({"kernel", "base", "phase", "faster_tiers"});
    MutantFacts mutant;
    mutant.kernel = KernelIn(data.mutants, item.At("kernel"));
    mutant.base = KernelIn(data.mutants, item.At("base"));
    mutant.phase = item.At("phase").Text();
    mutant.faster_tiers = item.At("faster_tiers").Flag();
    if (mutant.kernel == mutant.base) item.At("base").Fail("names the mutant itself");
    data.facts.push_back(std::move(mutant));
  }
  return data;
}

TrialData ReadTrialData(const std::string& path) {
  return TrialDataFromJson(ReadPlainFile(path, kLargestEvidence), path);
}

}  // namespace fa_profile::gate
