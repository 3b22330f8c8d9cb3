#include "fa_profile/gate_init.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <list>
#include <ranges>
#include <system_error>

#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/first_thresholds.h"
#include "fa_profile/output_path.h"
#include "fa_profile/recording_evidence.h"
#include "fa_profile/static_evidence.h"
#include "fa_profile/text.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

bool HoldsEvidence(const std::string& file) { return file.ends_with(".fap") || file.ends_with(".json"); }

std::vector<Evidence> FindKernels(const std::vector<std::string>& files) {
  std::vector<Evidence> found;
  for (const std::string& file : files) {
    found.push_back(HoldsEvidence(file) ? LoadEvidence({file}) : StaticEvidence(file, {}));
  }
  return found;
}

// A broken link also exists.
void RequireNew(const std::string& path, const std::string& cure) {
  CheckOutputPath(path, OutputFolder::kIsMade);
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  throw Error(path + " already exists, and is not overwritten", "change it by hand, remove it, " + cure);
}

// A path below the repository that YAML or a shell reads only as a name.
bool IsPlainPath(const std::string& path) {
  const bool plain = std::ranges::all_of(
      path, [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '/' || c == '-'; });
  return plain && !path.empty() && path.front() != '/' && path.front() != '-' && path.find("..") == std::string::npos;
}

// OWNER/REPOSITORY, as code hosts allow it.
void RequireRepository(const std::string& from, bool has_groups) {
  constexpr std::size_t kLongest = 255;
  std::vector<std::string> parts;
  for (const auto part : std::views::split(from, '/')) parts.emplace_back(part.begin(), part.end());
  const bool plain = std::ranges::all_of(parts, [](const std::string& part) {
    return IsPlainPath(part) && part.front() != '.' && part.size() <= kLongest;
  });
  if (plain && (parts.size() == 2 || (has_groups && parts.size() > 2))) return;
  throw Error(fmt::format("--from must be {}, not '{}'", has_groups ? "GROUP/REPOSITORY" : "OWNER/REPOSITORY",
                          Printable(Truncate(from, 100))),
              "name the repository that hosts fa-profile, without its address");
}

std::string Workflow(std::string text, const GateInitOptions& options) {
  text = Replaced(std::move(text), "@FROM@", options.from);
  text = Replaced(std::move(text), "@VERSION@", options.version);
  text = Replaced(std::move(text), "@LIBRARY@", ComparedFile(options.files).value_or(kSomeLibrary));
  return Replaced(std::move(text), "@THRESHOLDS@", options.thresholds);
}

void MakeFolderOf(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error("folder " + folder.string() + " cannot be made: " + error.message(), "make it by hand");
}

}  // namespace

std::optional<std::string> ComparedFile(const std::vector<std::string>& files) {
  const auto found = std::ranges::find_if(files, [](const std::string& file) {
    return (file.ends_with(".so") || file.ends_with(".cubin")) && IsPlainPath(file);
  });
  return found == files.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> InitGate(const GateInitOptions& options) {
  std::error_code ignored;
  std::vector<std::pair<std::string, std::string>> files;
  if (!options.workflows.empty()) {
    if (!IsPlainPath(options.thresholds)) {
      throw Error("the path " + options.thresholds + " cannot be part of a workflow",
                  "give one below this folder, of letters, digits and ._-/ alone");
    }
    RequireRepository(options.from, options.has_groups);
  }
  for (const auto& [path, text] : options.workflows) {
    RequireNew(path, "or leave out --workflow (docs/gate.md)");
    files.emplace_back(path, Workflow(text, options));
  }
  const std::vector<Evidence> kernels = FindKernels(options.files);
  // A workflow can be added to existing limits.
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
