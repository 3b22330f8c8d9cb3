#include "fa_profile/gate_init.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <list>
#include <system_error>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/first_thresholds.h"
#include "fa_profile/output_path.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/static_evidence.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

// Of a kernel library in workflows, where none was given.
constexpr const char* kSomeLibrary = "build/libmine.so";

bool HoldsEvidence(const std::string& file) { return file.ends_with(".fap") || file.ends_with(".json"); }

std::vector<Evidence> FindKernels(const std::vector<std::string>& files) {
  std::vector<Evidence> found;
  for (const std::string& file : files) {
    found.push_back(HoldsEvidence(file) ? LoadEvidence({file}) : StaticEvidence(file, {}));
  }
  return found;
}

// A broken link is there, too.
void RequireNew(const std::string& path, const std::string& cure) {
  CheckOutputPath(path, OutputFolder::kIsMade);
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  throw Error(path + " is there already, and is not written over", "change it by hand, remove it, " + cure);
}

// Below the repository, and nothing in it that YAML or a shell reads as more than a name.
bool IsPlainPath(const std::string& path) {
  const bool plain = std::ranges::all_of(
      path, [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '/' || c == '-'; });
  return plain && !path.empty() && path.front() != '/' && path.front() != '-' && path.find("..") == std::string::npos;
}

std::string LibraryIn(const std::vector<std::string>& files) {
  const auto library =
      std::ranges::find_if(files, [](const std::string& file) { return file.ends_with(".so") && IsPlainPath(file); });
  return library == files.end() ? kSomeLibrary : *library;
}

void FillIn(std::string& text, const std::string& name, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size()) {
    text.replace(at, name.size(), value);
  }
}

void RequirePlain(const std::string& value, const std::string& what, const std::string& cure) {
  if (!IsPlainPath(value)) throw Error(what + " " + value + " cannot be part of a workflow", cure);
}

std::string Workflow(std::string text, const GateInitOptions& options) {
  FillIn(text, "@FROM@", options.from);
  FillIn(text, "@VERSION@", options.version);
  FillIn(text, "@LIBRARY@", LibraryIn(options.files));
  FillIn(text, "@THRESHOLDS@", options.thresholds);
  return text;
}

void MakeFolderOf(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error("folder " + folder.string() + " cannot be made: " + error.message(), "make it by hand");
}

}  // namespace

std::vector<std::string> InitGate(const GateInitOptions& options) {
  std::error_code ignored;
  std::vector<std::pair<std::string, std::string>> files;
  if (!options.workflows.empty()) {
    RequirePlain(options.thresholds, "the path", "give one below this folder, of letters, digits and ._-/ alone");
    RequirePlain(options.from, "the repository", "give --from OWNER/REPOSITORY");
  }
  for (const auto& [path, text] : options.workflows) {
    RequireNew(path, "or leave out --workflow (docs/gate-adopt.md)");
    files.emplace_back(path, Workflow(text, options));
  }
  const std::vector<Evidence> kernels = FindKernels(options.files);
  // A workflow can be added to limits that are there.
  if (options.workflows.empty() || !fs::is_regular_file(options.thresholds, ignored)) {
    RequireNew(options.thresholds, "give another name (-o FILE), or add a workflow that reads it (--workflow github)");
    files.emplace(files.begin(), options.thresholds, FirstThresholds(kernels));
  }

  std::list<PendingFile> pending;
  std::vector<std::string> written;
  for (const auto& [path, text] : files) {
    MakeFolderOf(path);
    pending.emplace_back(path, text);
    written.push_back(path);
  }
  for (PendingFile& file : pending) file.PutInPlace();
  return written;
}

}  // namespace fa_profile::gate
