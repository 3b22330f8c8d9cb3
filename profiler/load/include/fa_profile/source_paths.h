#pragma once

#include <map>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::load {

/// Passes a recording on, changed so that its source can be found on another machine: a file in a git work tree is
/// named by its path in the tree, also in the line information of cubins, and files that this machine can read get a
/// SourceHash. Other files keep their names. `next` must outlive it.
class PortableSink final : public RecordingSink {
 public:
  explicit PortableSink(RecordingSink& next) : next_(next) {}

  void Commit() override { next_.Commit(); }

 private:
  void Take(const RecordingPiece& piece) override;
  void Pass(Cubin cubin);
  void Pass(DeviceFunction function);
  const std::string& NameOf(const std::string& file);

  RecordingSink& next_;
  std::map<std::string, std::string> names_;  // for files seen so far
};

/// SHA-256 of the source files named in the line information of a library's machine code and readable on this machine,
/// by their path from the library's folder. Headers of the system and of toolkits, below /usr and /opt, are left out.
/// Empty without line information (nvcc -lineinfo).
std::map<std::string, std::string> HashesOfSources(const std::string& library);

}  // namespace fa_profile::load
