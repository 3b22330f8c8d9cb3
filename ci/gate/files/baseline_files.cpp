#include "fa_profile/baseline_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/strict_json.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void CannotOpen(const std::string& path) {
  // What O_NOFOLLOW returns for a symbolic link to a file and to a folder.
  if (errno == ELOOP || (errno == ENOTDIR && fs::is_symlink(path))) {
    throw Error(path + " is a symbolic link", "give the file or the folder itself");
  }
  throw Error(path + " cannot be opened: " + std::strerror(errno), "check the path and its permissions");
}

[[noreturn]] void CannotWrite(const std::string& path) {
  throw Error(path + " cannot be written: " + std::strerror(errno),
              "check its permissions, and that the disk is not full");
}

// `name` is relative to `folder`; absent: not found.
std::optional<std::string> ReadAt(int folder, const std::string& name, const std::string& path) {
  const Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) CannotOpen(path);
  return ReadOpenFile(file.get(), path, kLargestEvidence);
}

void WriteNewAt(int folder, const std::string& name, const std::string& text, const std::string& path) {
  const Descriptor file(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file || !WriteAll(file.get(), text) || fsync(file.get()) != 0) CannotWrite(path);
}

void RefuseParents(const std::string& folder) {
  for (const fs::path& part : fs::path(folder)) {
    if (part == "..") throw Error(folder + " contains \"..\"", "give the folder's absolute path");
  }
}

/// Names of a folder's files and folders, sorted; also empty if it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string JoinedNames(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string NewestName(const std::string& suite) { return suite + ".json"; }
std::string OlderName(const std::string& suite, const std::string& lineage) { return suite + "." + lineage + ".json"; }

}  // namespace

NewFolders::~NewFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) (void)rmdir(folder->c_str());  // only if empty
}

void NewFolders::Make(const std::string& path) {
  fs::path folder;
  for (const fs::path& part : fs::path(path)) {
    folder /= part;
    if (mkdir(folder.c_str(), 0755) == 0) {
      Add(folder);
    } else if (errno != EEXIST) {
      CannotWrite(folder);
    }
  }
}

BaselineFolder::BaselineFolder(const std::string& baselines, const std::string& gpu_name) {
  RefuseParents(baselines);
  const std::string gpu = GpuFolder(gpu_name);
  path_ = baselines + "/" + gpu;
  new_folders_.Make(baselines);
  const Descriptor parent(open(baselines.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!parent) CannotOpen(baselines);
  if (mkdirat(parent.get(), gpu.c_str(), 0755) == 0) {
    new_folders_.Add(path_);
  } else if (errno != EEXIST) {
    CannotWrite(path_);
  }
  folder_ = Descriptor(openat(parent.get(), gpu.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_) CannotOpen(path_);
  if (flock(folder_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw Error("another promotion is running in " + path_, "wait until it ends, then look at what it promoted");
  }
}

std::optional<PromotedBaseline> BaselineFolder::Read(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  const std::optional<std::string> text = ReadAt(folder_.get(), name, path);
  if (!text) return std::nullopt;
  return ParseBaseline(*text, path);
}

std::optional<PromotedBaseline> BaselineFolder::Find(const std::string& suite, const std::string& lineage) const {
  std::optional<PromotedBaseline> newest = Read(NewestName(suite));
  if (newest && newest->lineage == lineage) return newest;
  return Read(OlderName(suite, lineage));
}

std::string BaselineFolder::Store(const PromotedBaseline& baseline) const {
  const std::string name = NewestName(baseline.suite);
  std::string path = path_ + "/" + name;
  const std::optional<PromotedBaseline> newest = Read(name);
  const std::string part = fmt::format(".{}.{}.part", name, getpid());
  (void)unlinkat(folder_.get(), part.c_str(), 0);  // left by a process that died, with our number
  std::string second_name;
  try {
    WriteNewAt(folder_.get(), part, ToJson(baseline), path);
    if (newest && newest->lineage != baseline.lineage) {
      // First a second name for the old one: at each moment there is a newest, and the old one is not lost.
      const std::string kept = OlderName(baseline.suite, newest->lineage);
      (void)unlinkat(folder_.get(), kept.c_str(), 0);
      if (linkat(folder_.get(), name.c_str(), folder_.get(), kept.c_str(), 0) != 0) CannotWrite(path_ + "/" + kept);
      second_name = kept;
    }
    if (renameat(folder_.get(), part.c_str(), folder_.get(), name.c_str()) != 0) CannotWrite(path);
  } catch (...) {
    for (const std::string& left : {part, second_name}) (void)unlinkat(folder_.get(), left.c_str(), 0);
    throw;
  }
  // If an older lineage came back, it is the newest now, and its receipt names what it replaced.
  (void)unlinkat(folder_.get(), OlderName(baseline.suite, baseline.lineage).c_str(), 0);
  (void)fsync(folder_.get());  // the rename itself
  return path;
}

PromotedBaseline FindBaseline(const std::string& folder, const Environment& environment, const std::string& suite) {
  RefuseParents(folder);
  RequireSuiteName(suite);
  const std::string gpu = folder + "/" + GpuFolder(environment.gpu_name);
  const Descriptor parent(open(gpu.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (parent.get() < 0 && errno != ENOENT) CannotOpen(gpu);
  if (parent.get() >= 0) {
    std::optional<PromotedBaseline> newest;
    for (const std::string& name : {NewestName(suite), OlderName(suite, LineageOf(environment))}) {
      const std::optional<std::string> text = ReadAt(parent.get(), name, gpu + "/" + name);
      if (!text) continue;
      PromotedBaseline baseline = ParseBaseline(*text, gpu + "/" + name);
      if (baseline.lineage == LineageOf(environment)) return baseline;
      if (!newest) newest = std::move(baseline);
    }
    if (newest) return *newest;
  }
  throw Error(fmt::format("no baseline of suite {} for {} in {}", suite, environment.gpu_name, folder),
              fmt::format("measure the reference code on this GPU, then: fa-profile baseline promote FILE... "
                          "--suite {} --baselines {} --reason \"...\"",
                          suite, folder));
}

std::string BaselineToShow(const std::string& shown, const std::string& baselines, const std::string& suite) {
  RequireSuiteName(suite);
  if (shown.ends_with(".fap")) {
    throw Error(shown + " is a recording, not a baseline",
                "fa-profile report shows it; fa-profile baseline promote makes a baseline of it");
  }
  const bool is_path = shown.find('/') != std::string::npos || shown.ends_with(".json");
  if (is_path && !fs::is_directory(shown)) return shown;
  const std::string folder = is_path ? shown : baselines + "/" + GpuFolder(shown);
  std::string path = folder + (folder.ends_with('/') ? "" : "/") + NewestName(suite);
  if (fs::exists(path)) return path;
  if (fs::is_directory(folder)) {
    throw Error("no baseline of suite '" + suite + "' in " + folder,
                "the files there: " + JoinedNames(NamesIn(folder)));
  }
  const std::vector<std::string> gpus = NamesIn(baselines);
  throw Error("no baseline of " + shown + " in " + baselines + DidYouMean(shown, gpus),
              gpus.empty() ? "fa-profile baseline promote makes the first; --baselines names another folder"
                           : "there are: " + JoinedNames(gpus) + "; fa-profile baseline list shows them");
}

PromotedBaseline ReadBaseline(const std::string& path) {
  return ParseBaseline(ReadPlainFile(path, kLargestEvidence), path);
}

bool IsPromotedBaseline(const std::string& path) {
  return path.ends_with(".json") && IsBaselineText(ReadPlainFile(path, kLargestEvidence));
}

std::vector<std::string> BaselineFilesIn(const std::string& folder) {
  const auto refuse_link = [](const fs::directory_entry& entry) {
    if (entry.is_symlink()) {
      throw Error(entry.path().string() + " is a symbolic link", "replace it with the file");
    }
  };
  std::vector<std::string> paths;
  try {
    if (fs::is_symlink(folder)) throw Error(folder + " is a symbolic link", "give the folder itself");
    for (const fs::directory_entry& gpu : fs::directory_iterator(folder)) {
      refuse_link(gpu);
      if (!gpu.is_directory()) continue;  // a README
      for (const fs::directory_entry& file : fs::directory_iterator(gpu)) {
        refuse_link(file);
        if (file.path().extension() == ".json") paths.push_back(file.path().string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(folder + " cannot be read: " + error.code().message(),
                "give the folder of the baselines with --baselines");
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<BadBaseline> VerifyBaselines(const std::vector<std::string>& paths, bool in_place) {
  struct Link {
    std::string promoted_at;
    std::string path;
    Receipt receipt;
  };
  std::vector<BadBaseline> bad;
  std::map<std::tuple<std::string, std::string>, std::vector<Link>> chains;  // by suite and lineage, which has the GPU
  for (const std::string& path : paths) {
    try {
      const PromotedBaseline baseline = ReadBaseline(path);
      const std::string file = fs::path(path).filename();
      const std::string folder = fs::path(path).parent_path().filename();
      const std::string gpu = GpuFolder(baseline.evidence.environment.gpu_name);
      if (in_place && folder != gpu) {
        bad.push_back({path, "was measured on " + gpu + ", but its folder has another name"});
      }
      if (in_place && file != NewestName(baseline.suite) && file != OlderName(baseline.suite, baseline.lineage)) {
        bad.push_back(
            {path, "has suite " + baseline.suite + " and lineage " + baseline.lineage + ", but another file name"});
      }
      chains[{baseline.suite, baseline.lineage}].push_back({baseline.receipt.promoted_at, path, baseline.receipt});
    } catch (const Error& error) {
      const bool named = error.message().starts_with(path + ": ");
      bad.push_back({path, named ? error.message().substr(path.size() + 2) : error.message()});
    }
  }
  for (auto& [_, chain] : chains) {
    std::ranges::sort(chain, [](const Link& a, const Link& b) {
      return std::tie(a.promoted_at, a.path) < std::tie(b.promoted_at, b.path);
    });
    for (std::size_t i = 1; i < chain.size(); ++i) {
      if (chain[i].receipt.previous == chain[i - 1].receipt.sha256) continue;
      bad.push_back(
          {chain[i].path, "does not name " + chain[i - 1].path + " of the same lineage as the one that it replaces"});
    }
  }
  return bad;
}

BaselineCheck CheckBaselines(const std::vector<std::string>& files_and_folders, const std::string& default_folder) {
  BaselineCheck check;
  const auto add = [&check](const std::vector<std::string>& paths, bool in_place) {
    std::ranges::move(VerifyBaselines(paths, in_place), std::back_inserter(check.bad));
    check.checked += paths.size();
  };
  if (files_and_folders.empty()) add(BaselineFilesIn(default_folder), true);
  std::vector<std::string> files;
  for (const std::string& path : files_and_folders) {
    if (fs::is_directory(path)) {
      add(BaselineFilesIn(path), true);
    } else {
      files.push_back(path);
    }
  }
  add(files, false);
  if (check.checked == 0) {
    throw Error("no baseline to verify", "give their folder with --baselines; fa-profile baseline promote makes one");
  }
  return check;
}

}  // namespace fa_profile::gate
