#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/baseline.h"

namespace fa_profile {

/// Where baselines lie, from the root of the repository: a folder for each GPU model, in it <suite>.json of the newest
/// lineage and <suite>.<lineage>.json of each older one.
inline constexpr const char* kBaselines = "ci/baselines";

/// The baselines of one GPU model, locked against other promotions while this lives. Nothing is read or written through
/// a symbolic link or outside the folder.
class BaselineFolder {
 public:
  /// Makes the folder. Throws Error when that fails, or for a path with ".." in it.
  BaselineFolder(const std::string& baselines, const std::string& gpu_name);
  ~BaselineFolder();
  BaselineFolder(const BaselineFolder&) = delete;
  BaselineFolder& operator=(const BaselineFolder&) = delete;

  /// The one of this lineage, be it the newest or an older one. Throws Error when it cannot be read.
  std::optional<PromotedBaseline> Find(const std::string& suite, const std::string& lineage) const;

  /// Makes it the newest; one of another lineage that was is kept beside it. Durable, and whole or not at all. Returns
  /// its path. Throws Error, also when the newest cannot be read: it would be lost.
  std::string Store(const PromotedBaseline& baseline) const;

 private:
  std::optional<PromotedBaseline> Read(const std::string& name) const;

  std::string path_;
  int folder_ = -1;
};

/// The baseline to hold a measurement against: of its GPU model, of its lineage when there is one, else the newest,
/// whose environment the judge compares. Throws Error, with the command that makes one, when there is none.
PromotedBaseline FindBaseline(const std::string& folder, const Environment& environment, const std::string& suite);

/// Paths of all baselines below a folder, sorted. Throws Error for no folder and for symbolic links in it.
std::vector<std::string> BaselineFilesIn(const std::string& folder);

/// What is wrong with a set of baselines, one line a file: content, name and folder (with `in_place`), and that of two
/// of the same GPU, suite and lineage the later names the earlier as the one it replaced. Empty: all are good.
struct BadBaseline {
  std::string path;
  std::string problem;
};
std::vector<BadBaseline> VerifyBaselines(const std::vector<std::string>& paths, bool in_place);

}  // namespace fa_profile
