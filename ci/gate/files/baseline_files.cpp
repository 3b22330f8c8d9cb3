#include "fa_profile/baseline_files.h"

#include <fcntl.h>
#include <fmt/format.h>
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

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestBaseline = std::size_t{64} << 20U;

[[noreturn]] void CannotOpen(const std::string& path) {
  // What O_NOFOLLOW says of a symbolic link, of a file and of a folder.
  if (errno == ELOOP || (errno == ENOTDIR && fs::is_symlink(path))) {
    throw Error(path + " is a symbolic link", "give the file or the folder itself");
  }
  throw Error(path + " cannot be opened: " + std::strerror(errno), "is the path right, and may this user read it?");
}

[[noreturn]] void CannotWrite(const std::string& path) {
  throw Error(path + " cannot be written: " + std::strerror(errno), "make room or fix its permissions");
}

// Where it is, relative to `folder`; absent when there is none.
std::optional<std::string> ReadAt(int folder, const std::string& name, const std::string& path) {
  const Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) CannotOpen(path);
  return ReadOpenFile(file.get(), path, kLargestBaseline);
}

void WriteNewAt(int folder, const std::string& name, const std::string& text, const std::string& path) {
  const Descriptor file(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file || !WriteAll(file.get(), text) || fsync(file.get()) != 0) CannotWrite(path);
}

void RefuseParents(const std::string& folder) {
  for (const fs::path& part : fs::path(folder)) {
    if (part == "..") throw Error(folder + " leads upwards with \"..\"", "give the folder's whole path");
  }
}

std::string NewestName(const std::string& suite) { return suite + ".json"; }
std::string OlderName(const std::string& suite, const std::string& lineage) { return suite + "." + lineage + ".json"; }

}  // namespace

BaselineFolder::BaselineFolder(const std::string& baselines, const std::string& gpu_name) {
  RefuseParents(baselines);
  const std::string gpu = GpuFolder(gpu_name);
  path_ = baselines + "/" + gpu;
  std::error_code failed;
  fs::create_directories(baselines, failed);
  const Descriptor parent(open(baselines.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!parent) CannotOpen(baselines);
  if (mkdirat(parent.get(), gpu.c_str(), 0755) != 0 && errno != EEXIST) CannotWrite(path_);
  folder_ = openat(parent.get(), gpu.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_ < 0) CannotOpen(path_);
  if (flock(folder_, LOCK_EX | LOCK_NB) != 0) {
    close(folder_);
    throw Error("another promotion is at work in " + path_, "wait for it, then look at what it promoted");
  }
}

BaselineFolder::~BaselineFolder() {
  close(folder_);
  (void)rmdir(path_.c_str());  // takes it only when it is empty: a promotion that was refused leaves nothing
}

std::optional<PromotedBaseline> BaselineFolder::Read(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  const std::optional<std::string> text = ReadAt(folder_, name, path);
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
  (void)unlinkat(folder_, part.c_str(), 0);  // of a process that died with our number
  try {
    WriteNewAt(folder_, part, ToJson(baseline), path);
    if (newest && newest->lineage != baseline.lineage) {
      // A second name for it first: whenever this ends, there is a newest one, and the old one is not lost.
      const std::string kept = OlderName(baseline.suite, newest->lineage);
      (void)unlinkat(folder_, kept.c_str(), 0);
      if (linkat(folder_, name.c_str(), folder_, kept.c_str(), 0) != 0) CannotWrite(path_ + "/" + kept);
    }
    if (renameat(folder_, part.c_str(), folder_, name.c_str()) != 0) CannotWrite(path);
  } catch (const Error&) {
    (void)unlinkat(folder_, part.c_str(), 0);
    throw;
  }
  // An older lineage that comes back is the newest now; what it replaced is in its receipt.
  (void)unlinkat(folder_, OlderName(baseline.suite, baseline.lineage).c_str(), 0);
  (void)fsync(folder_);  // the rename itself
  return path;
}

PromotedBaseline FindBaseline(const std::string& folder, const Environment& environment, const std::string& suite) {
  RefuseParents(folder);
  if (!IsSuiteName(suite)) throw Error("no suite can have this name", "1 to 64 of a-z, 0-9, _ and -");
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
  throw Error(
      fmt::format("there is no baseline of the suite {} for {} in {}", suite, environment.gpu_name, folder),
      fmt::format("measure the code that is to be the standard on it, then: fa-profile baseline promote FILE... "
                  "--suite {} --baselines {} --reason \"...\"",
                  suite, folder));
}

std::vector<std::string> BaselineFilesIn(const std::string& folder) {
  const auto refuse_link = [](const fs::directory_entry& entry) {
    if (entry.is_symlink()) {
      throw Error(entry.path().string() + " is a symbolic link", "a folder of baselines holds files: remove it");
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
    throw Error(folder + " cannot be read: " + error.code().message(), "--baselines names the folder of the baselines");
  }
  std::sort(paths.begin(), paths.end());
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
      const PromotedBaseline baseline = ParseBaseline(ReadPlainFile(path, kLargestBaseline), path);
      const std::string file = fs::path(path).filename();
      const std::string folder = fs::path(path).parent_path().filename();
      const std::string gpu = GpuFolder(baseline.evidence.environment.gpu_name);
      if (in_place && folder != gpu) {
        bad.push_back({path, "is of " + gpu + ", and does not lie in a folder of that name"});
      }
      if (in_place && file != NewestName(baseline.suite) && file != OlderName(baseline.suite, baseline.lineage)) {
        bad.push_back({path, "is of the suite " + baseline.suite + " and the lineage " + baseline.lineage +
                                 ", and its name says something else"});
      }
      chains[{baseline.suite, baseline.lineage}].push_back({baseline.receipt.promoted_at, path, baseline.receipt});
    } catch (const Error& error) {
      const bool named = error.message().starts_with(path + ": ");
      bad.push_back({path, named ? error.message().substr(path.size() + 2) : error.message()});
    }
  }
  for (auto& [_, chain] : chains) {
    std::sort(chain.begin(), chain.end(), [](const Link& a, const Link& b) {
      return std::tie(a.promoted_at, a.path) < std::tie(b.promoted_at, b.path);
    });
    for (std::size_t i = 1; i < chain.size(); ++i) {
      if (chain[i].receipt.previous == chain[i - 1].receipt.sha256) continue;
      bad.push_back(
          {chain[i].path, "does not name " + chain[i - 1].path + " as what it replaced, and is of its lineage"});
    }
  }
  return bad;
}

}  // namespace fa_profile
