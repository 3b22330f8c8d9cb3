#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <set>
#include <string_view>

#include "fa_profile/baseline.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/repository.h"

namespace fa_profile::gate {
namespace {

constexpr const char* kOneBuild = "give files of one build; to compare two builds use fa-profile gate";

// Everything else goes to the recordings' reader, whose errors fit best.
bool IsJson(const std::string& path) {
  const Descriptor file = OpenFile(path);
  std::array<char, 4096> buffer{};
  const std::string_view start(buffer.data(), ReadSome(file.get(), path, buffer));
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{';
}

Evidence LoadOne(const std::string& path, const std::string& repository) {
  if (IsJson(path)) {
    const std::string text = ReadFile(path, kLargestEvidence);
    return IsBaselineText(text) ? ParseBaseline(text, path).evidence : EvidenceFromJson(text, path);
  }
  const auto [recording, profile] = load::LoadProfile(path, std::nullopt, /*cubins=*/true);
  return EvidenceOf(recording, profile, path, repository);
}

// An unknown value becomes the other's.
void MergeEnvironment(Evidence& into, const Evidence& piece) {
  for (const EnvironmentField& field : kEnvironmentFields) {
    const auto merge = [&](auto member) {
      auto& ours = into.environment.*member;
      const auto& theirs = piece.environment.*member;
      const std::remove_cvref_t<decltype(ours)> unknown{};
      if (ours == unknown) ours = theirs;
      if (theirs == unknown || ours == theirs) return;
      throw Error(fmt::format("{} and {} come from different environments: {} {} and {}", into.origin, piece.origin,
                              field.label, ours, theirs),
                  "give files of one build, measured on one GPU with one driver");
    };
    if (field.text == &Environment::taken_at) {
      into.environment.taken_at = std::max(into.environment.taken_at, piece.environment.taken_at);  // the later one
    } else if (field.text != nullptr) {
      merge(field.text);
    } else {
      merge(field.hertz);
    }
  }
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
      throw Error("the machine code of " + CaseName(piece) + " in " + origin + " differs from the files before it",
                  kOneBuild);
    }
  }
  if (!shared) {
    throw Error(CaseName(piece) + " runs other kernels in " + origin + " than in the files before it", kOneBuild);
  }
  into.code.insert(into.code.end(), news.begin(), news.end());
  std::ranges::sort(into.code, {}, [](const CodeFacts& facts) { return std::pair(facts.name, facts.symbol); });
}

// Merges a value on which files of one build must agree where they know it.
void MergeKnown(std::string& into, const std::string& piece, const std::string& what) {
  if (into.empty()) into = piece;
  if (!piece.empty() && into != piece) throw Error(what + " than in the files before it", kOneBuild);
}

// One wrong result makes the case wrong.
void MergeVerification(CaseFacts& into, const CaseFacts& piece) {
  if (!piece.verification) return;
  if (!into.verification || (into.verification->correct() && !piece.verification->correct())) {
    into.verification = piece.verification;
  }
}

void MergeCase(CaseFacts& into, const CaseFacts& piece, const std::string& origin) {
  MergeCode(into, piece, origin);
  const std::string name = CaseName(piece);
  MergeKnown(into.host_code_hash, piece.host_code_hash, name + " has other host code in " + origin);
  MergeKnown(into.phase_model, piece.phase_model, "the phases of " + name + " come from another model in " + origin);
  MergeVerification(into, piece);
  if (into.architectures.empty()) into.architectures = piece.architectures;
  if (into.refused.empty()) into.refused = piece.refused;
  if (into.untimed.empty()) into.untimed = piece.untimed;
  if (into.launches.empty()) into.launches = piece.launches;
  for (const std::string& warning : piece.compiler_warnings) {
    if (std::ranges::find(into.compiler_warnings, warning) == into.compiler_warnings.end()) {
      into.compiler_warnings.push_back(warning);
    }
  }
  into.places.insert(piece.places.begin(), piece.places.end());  // the first file's values stay
  into.findings.insert(piece.findings.begin(), piece.findings.end());
}

void Merge(Evidence& into, Evidence piece) {
  MergeEnvironment(into, piece);
  std::vector<std::size_t> index;  // index of the piece's cases among ours
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
  into.unread_more += piece.unread_more;
  if (piece.other_code && !into.other_code) into.other_code.emplace();
  if (piece.other_code) into.other_code->merge(*piece.other_code);
  into.unread_code.insert(into.unread_code.end(), piece.unread_code.begin(), piece.unread_code.end());
}

// If there are several cards, names each process's, and none in the environment.
void NameCards(std::vector<Evidence>& pieces) {
  std::set<std::string> cards;
  for (const Evidence& piece : pieces) {
    const std::vector<std::string> its = CardsOf(piece);
    cards.insert(its.begin(), its.end());
  }
  if (cards.size() < 2) return;
  for (Evidence& piece : pieces) {
    for (ProcessSample& process : piece.processes) {
      process.gpu_uuid = CardOf(piece, process);
      if (!process.gpu_uuid.empty()) continue;
      throw Error(piece.origin + " does not name the card that it was measured on, and the other files come from " +
                      std::to_string(cards.size()) + " cards",
                  "measure it again, or promote it alone");
    }
  }
  for (Evidence& piece : pieces) piece.environment.gpu_uuid.clear();
}

// Evidence from several cards is a baseline: a candidate comes from one.
void RequireOneCard(const std::vector<Evidence>& pieces) {
  for (const Evidence& piece : pieces) {
    if (pieces.size() == 1 || CardsOf(piece).size() < 2) continue;
    throw Error(piece.origin + " was measured on several cards, and cannot be merged with other files here",
                "give it alone; fa-profile baseline promote merges files of several cards");
  }
}

}  // namespace

Evidence MergeEvidence(std::vector<Evidence> pieces, Cards cards) {
  if (pieces.empty()) throw Error("no evidence given", "give a recording, evidence or a baseline");
  cards == Cards::kSeveral ? NameCards(pieces) : RequireOneCard(pieces);
  Evidence merged = std::move(pieces.front());
  const std::string first = merged.origin;
  for (std::size_t i = 1; i < pieces.size(); ++i) Merge(merged, std::move(pieces[i]));
  for (ProcessSample& process : merged.processes) process.values.resize(merged.cases.size());
  if (pieces.size() > 1) merged.origin = first + " and " + std::to_string(pieces.size() - 1) + " more";
  return merged;
}

Evidence LoadEvidence(const std::vector<std::string>& files, Cards cards) {
  const std::string repository = FindRepository();
  // A recording of 60 cases takes half a second of CPU time; a few at a time limit the memory.
  constexpr std::size_t kAtOnce = 8;
  std::vector<Evidence> pieces;
  for (std::size_t first = 0; first < files.size(); first += kAtOnce) {
    std::vector<std::future<Evidence>> loading;
    for (std::size_t i = first; i < std::min(files.size(), first + kAtOnce); ++i) {
      loading.push_back(std::async(std::launch::async, LoadOne, std::cref(files[i]), std::cref(repository)));
    }
    for (std::future<Evidence>& piece : loading) pieces.push_back(piece.get());
  }
  return MergeEvidence(std::move(pieces), cards);
}

}  // namespace fa_profile::gate
