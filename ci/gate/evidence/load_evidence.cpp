#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <system_error>

#include "fa_profile/baseline.h"
#include "fa_profile/error.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/repository.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

bool IsRecording(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::array<char, kMagic.size()> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file && std::string_view(start.data(), start.size()) == kMagic;
}

// JSON starts with a brace; anything else is left to the recording's reader, which says best what is wrong with it.
bool IsJson(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  return static_cast<bool>(file >> first) && first == '{';
}

std::string ReadText(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;  // EvidenceFromJson()'s own limit
  std::error_code problem;
  const std::uintmax_t size = fs::file_size(path, problem);
  if (problem || size > kMostBytes) {
    throw Error(path + (problem ? " cannot be read" : " is larger than 64 MiB"),
                "give a recording, evidence of gate --measure BUILD --save, or a promoted baseline");
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Evidence LoadOne(const std::string& path, const std::string& repository) {
  if (!IsRecording(path) && IsJson(path)) {
    const std::string text = ReadText(path);
    if (text.find("\"receipt\"") == std::string::npos) return EvidenceFromJson(text, path);
    return ParseBaseline(text, path).evidence;
  }
  const auto [recording, profile] = LoadProfile(path, std::nullopt, /*cubins=*/true);
  return EvidenceOf(recording, profile, path, repository);
}

// One field of two environments: what one does not know is the other's.
template <typename T>
void MergeField(const char* what, T& ours, const T& theirs, const std::string& our_origin,
                const std::string& their_origin) {
  if (ours == T{}) ours = theirs;
  if (theirs == T{} || ours == theirs) return;
  std::string values;
  if constexpr (std::is_same_v<T, std::string>) {
    values = ": " + ours + " and " + theirs;
  } else {
    values = ": " + std::to_string(ours) + " and " + std::to_string(theirs);
  }
  throw Error(
      our_origin + " and " + their_origin + " were not taken in one environment, their " + what + " differs" + values,
      "give files of one build, taken on one GPU with one driver");
}

void MergeEnvironment(Evidence& into, const Evidence& piece) {
  Environment& ours = into.environment;
  const Environment& theirs = piece.environment;
  const auto merge = [&](const char* what, auto& a, const auto& b) {
    MergeField(what, a, b, into.origin, piece.origin);
  };
  merge("GPU", ours.gpu_name, theirs.gpu_name);
  merge("GPU's UUID", ours.gpu_uuid, theirs.gpu_uuid);
  merge("chip", ours.chip, theirs.chip);
  merge("driver", ours.driver_version, theirs.driver_version);
  merge("CUDA driver version", ours.cuda_driver_version, theirs.cuda_driver_version);
  merge("CUDA runtime", ours.cuda_runtime_version, theirs.cuda_runtime_version);
  merge("CUPTI", ours.cupti_version, theirs.cupti_version);
  merge("highest SM clock", ours.sm_clock_max_hz, theirs.sm_clock_max_hz);
  merge("highest memory clock", ours.memory_clock_max_hz, theirs.memory_clock_max_hz);
  merge("version of fa-profile", ours.tool_version, theirs.tool_version);
  merge("commit", ours.tool_commit, theirs.tool_commit);
  ours.taken_at = std::max(ours.taken_at, theirs.taken_at);  // ISO 8601: the later one
}

void MergeCode(CaseFacts& into, const CaseFacts& piece, const std::string& origin) {
  if (into.code.empty()) into.code = piece.code;
  bool shared = piece.code.empty();
  std::vector<CodeFacts> news;
  for (const CodeFacts& theirs : piece.code) {
    const auto ours = std::ranges::find(into.code, theirs.name, &CodeFacts::name);
    shared |= ours != into.code.end();
    if (ours == into.code.end()) {
      news.push_back(theirs);
    } else if (std::ranges::none_of(into.code, [&](const CodeFacts& one) {
                 return one.name == theirs.name && one.code_hash == theirs.code_hash;
               })) {
      throw Error("the machine code of " + CaseName(piece) + " in " + origin + " is not that of the files before it",
                  "these are of two builds: give files of one build, and compare the two with fa-profile gate");
    }
  }
  if (!shared) {
    throw Error(CaseName(piece) + " runs other kernels in " + origin + " than in the files before it",
                "these are of two builds: give files of one build, and compare the two with fa-profile gate");
  }
  into.code.insert(into.code.end(), news.begin(), news.end());
  std::ranges::sort(into.code, {}, [](const CodeFacts& facts) { return std::pair(facts.name, facts.symbol); });
}

// One wrong result is wrong, whatever other runs said.
void MergeVerification(CaseFacts& into, const CaseFacts& piece) {
  if (!piece.verification) return;
  if (!into.verification || (into.verification->correct() && !piece.verification->correct())) {
    into.verification = piece.verification;
  }
}

void MergeCase(CaseFacts& into, const CaseFacts& piece, const std::string& origin) {
  MergeCode(into, piece, origin);
  MergeVerification(into, piece);
  if (into.launches.empty()) into.launches = piece.launches;
  for (const std::string& warning : piece.compiler_warnings) {
    if (std::ranges::find(into.compiler_warnings, warning) == into.compiler_warnings.end()) {
      into.compiler_warnings.push_back(warning);
    }
  }
  into.places.insert(piece.places.begin(), piece.places.end());  // the first file's stay
  into.findings.insert(piece.findings.begin(), piece.findings.end());
}

void Merge(Evidence& into, Evidence piece) {
  MergeEnvironment(into, piece);
  std::vector<std::size_t> index;  // of the piece's cases among ours
  for (CaseFacts& facts : piece.cases) {
    const auto found = FindCase(into, facts.kernel, facts.shape);
    index.push_back(found.value_or(into.cases.size()));
    if (found) {
      MergeCase(into.cases[*found], facts, piece.origin);
    } else {
      into.cases.push_back(std::move(facts));
    }
  }
  for (ProcessSample& process : piece.processes) {
    std::vector<std::map<MetricKey, double>> values(into.cases.size());
    for (std::size_t i = 0; i < process.values.size(); ++i) values[index[i]] = std::move(process.values[i]);
    process.values = std::move(values);
    into.processes.push_back(std::move(process));
  }
  into.losses.insert(into.losses.end(), piece.losses.begin(), piece.losses.end());
}

}  // namespace

Evidence MergeEvidence(std::vector<Evidence> pieces) {
  if (pieces.empty()) throw Error("there is no evidence to judge", "give a recording, evidence or a baseline");
  Evidence merged = std::move(pieces.front());
  const std::string first = merged.origin;
  for (std::size_t i = 1; i < pieces.size(); ++i) Merge(merged, std::move(pieces[i]));
  for (ProcessSample& process : merged.processes) process.values.resize(merged.cases.size());
  if (pieces.size() > 1) merged.origin = first + " and " + std::to_string(pieces.size() - 1) + " more";
  return merged;
}

Evidence LoadEvidence(const std::vector<std::string>& files) {
  const std::string repository = FindRepository();
  // A recording of 60 cases takes half a second, nearly all of it the processor's: a few at a time, for memory's sake.
  constexpr std::size_t kAtOnce = 8;
  std::vector<Evidence> pieces;
  for (std::size_t first = 0; first < files.size(); first += kAtOnce) {
    std::vector<std::future<Evidence>> loading;
    for (std::size_t i = first; i < std::min(files.size(), first + kAtOnce); ++i) {
      loading.push_back(std::async(std::launch::async, LoadOne, std::cref(files[i]), std::cref(repository)));
    }
    for (std::future<Evidence>& piece : loading) pieces.push_back(piece.get());
  }
  return MergeEvidence(std::move(pieces));
}

}  // namespace fa_profile
