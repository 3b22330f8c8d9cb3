#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/baseline.h"
#include "fa_profile/descriptor.h"

namespace fa_profile::gate {

/// The folder of the baselines, relative to the root of the repository. It has a folder for each GPU model with
/// <suite>.json, the newest lineage, and <suite>.<lineage>.json for each older one.
inline constexpr const char* kBaselines = "ci/baselines";

/// Folders created along the way; removed with this object if they are still empty.
class NewFolders {
 public:
  NewFolders() = default;
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

  /// Creates the folder and its missing parents. Throws Error.
  void Make(const std::string& path);
  /// Takes over one that is already made.
  void Add(const std::string& path) { made_.push_back(path); }

 private:
  std::vector<std::string> made_;
};

/// The baselines of one GPU model, locked against other promotions while this object exists. Symbolic links are not
/// followed, and nothing outside the folder is read or written.
class BaselineFolder {
 public:
  /// Makes the folder, which is removed again if nothing is stored in it. Throws Error when that fails, or for a path
  /// with ".." in it.
  BaselineFolder(const std::string& baselines, const std::string& gpu_name);
  BaselineFolder(const BaselineFolder&) = delete;
  BaselineFolder& operator=(const BaselineFolder&) = delete;

  /// The baseline of this lineage, the newest or an older one. Throws Error when it cannot be read.
  std::optional<PromotedBaseline> Find(const std::string& suite, const std::string& lineage) const;

  /// Makes it the newest and returns its path. A previous newest of another lineage is kept next to it. Durable and
  /// atomic. Throws Error, also when the newest cannot be read: it would be lost.
  std::string Store(const PromotedBaseline& baseline) const;

 private:
  std::optional<PromotedBaseline> Read(const std::string& name) const;

  std::string path_;
  NewFolders new_folders_;
  Descriptor folder_;
};

/// The baseline to compare a measurement with: for its GPU model, and of its lineage if there is one, else the newest
/// (the judge then compares the environments). Throws Error, with the command that makes one, if there is none.
PromotedBaseline FindBaseline(const std::string& folder, const Environment& environment, const std::string& suite);

/// Path of the baseline to show: `shown` itself if it names a file; the newest of a suite if it is a folder of a GPU,
/// by path or by name. Throws Error, with the names that exist, if there is none, and for a bad suite.
std::string BaselineToShow(const std::string& shown, const std::string& baselines, const std::string& suite);

/// Reads one file. Throws Error.
PromotedBaseline ReadBaseline(const std::string& path);

/// Whether this file is JSON with a receipt. Throws Error when it cannot be read.
bool IsPromotedBaseline(const std::string& path);

/// Paths of all baselines below a folder, sorted. Throws Error if it cannot be read and for symbolic links in it.
std::vector<std::string> BaselineFilesIn(const std::string& folder);

struct BadBaseline {
  std::string path;
  std::string problem;
};
/// What is wrong with a set of baselines: their content, with `in_place` their names and folders, and chains in which a
/// baseline does not name its predecessor of the same GPU, suite and lineage. Empty: all are good.
std::vector<BadBaseline> VerifyBaselines(const std::vector<std::string>& paths, bool in_place);

struct BaselineCheck {
  std::size_t checked = 0;
  std::vector<BadBaseline> bad;
};
/// VerifyBaselines() on folders, whose files have to be in place, and on single files, which may be copies; without
/// arguments on the default folder. Throws Error when none is found.
BaselineCheck CheckBaselines(const std::vector<std::string>& files_and_folders, const std::string& default_folder);

}  // namespace fa_profile::gate
