#include "gate_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate_report.h"
#include "gate_textfile.h"

namespace fa_profile {
namespace {

[[noreturn]] void Cannot(const std::string& path, int code) {
  throw Error(path + " cannot be written: " + std::strerror(code),
              "is its folder there and writable, and the disk not full?");
}

void WriteAll(int file, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Cannot(path, errno);
    done += static_cast<std::size_t>(written);
  }
}

/// A file beside its target, removed unless it was put in its place.
class PendingFile {
 public:
  PendingFile(std::string path, const std::string& text) : path_(std::move(path)) {
    struct stat status {};
    if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      if (S_ISDIR(status.st_mode)) Cannot(path_, EISDIR);
      part_ = path_;  // a device or a pipe, as /dev/stdout: renamed over, it would be gone
    } else {
      part_ = path_ + ".part." + std::to_string(getpid());
      removes_ = true;
    }
    // Of a part: never one that is there already, which may be a link.
    file_ = open(part_.c_str(), O_WRONLY | O_CLOEXEC | (removes_ ? O_CREAT | O_EXCL | O_NOFOLLOW : 0), 0666);
    if (file_ < 0) {
      removes_ = false;
      Cannot(path_, errno);
    }
    try {
      WriteAll(file_, text, path_);
    } catch (...) {
      Discard();
      throw;
    }
  }
  PendingFile(PendingFile&& other) noexcept
      : path_(std::move(other.path_)),
        part_(std::move(other.part_)),
        file_(std::exchange(other.file_, -1)),
        removes_(std::exchange(other.removes_, false)) {}
  PendingFile& operator=(PendingFile&&) = delete;
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile() { Discard(); }

  void PutInPlace() {
    const int failed = close(std::exchange(file_, -1)) == 0 ? 0 : errno;
    if (failed != 0) Cannot(path_, failed);
    if (removes_ && rename(part_.c_str(), path_.c_str()) != 0) Cannot(path_, errno);
    removes_ = false;
  }

 private:
  void Discard() noexcept {
    if (file_ >= 0) (void)close(std::exchange(file_, -1));
    if (removes_) (void)unlink(part_.c_str());
    removes_ = false;
  }

  std::string path_, part_;
  int file_ = -1;
  bool removes_ = false;
};

}  // namespace

void WriteWholeFile(const std::string& path, const std::string& text) { PendingFile(path, text).PutInPlace(); }

void CheckGateOutputs(const GateOutputs& outputs) {
  if (!outputs.textfile.empty() && outputs.textfile != "-" && !outputs.textfile.ends_with(".prom")) {
    throw Error(outputs.textfile + " does not end in .prom, and node_exporter reads no other file",
                "write --textfile NAME.prom");
  }
  const char* const summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (outputs.summary && (summary == nullptr || *summary == '\0')) {
    throw Error("--summary has nowhere to write to: GITHUB_STEP_SUMMARY is not set",
                "it is set in a step of GitHub Actions; elsewhere write --markdown FILE");
  }
  for (const std::string* const path :
       {&outputs.markdown, &outputs.sarif, &outputs.junit, &outputs.json, &outputs.textfile}) {
    const std::filesystem::path folder = std::filesystem::path(*path).parent_path();
    if (folder.empty() || std::filesystem::is_directory(folder)) continue;
    throw Error(*path + " cannot be written: there is no folder " + folder.string(), "make it, or name another");
  }
}

void WriteGateOutputs(const GateResult& result, const GateOutputs& outputs) {
  CheckGateOutputs(outputs);
  std::vector<PendingFile> files;
  bool report_on_stdout = false;
  const auto put = [&](const std::string& path, const auto& render) {
    if (path.empty()) return;
    if (path == "-") {
      std::cout << render();
      report_on_stdout = true;
    } else {
      files.emplace_back(path, render());
    }
  };
  put(outputs.markdown, [&] { return GateMarkdown(result, outputs.error_rate); });
  put(outputs.sarif, [&] { return GateSarif(result); });
  put(outputs.junit, [&] { return GateJunit(result); });
  put(outputs.json, [&] { return GateJson(result); });
  put(outputs.textfile, [&] { return GateTextfile(result); });
  for (PendingFile& file : files) file.PutInPlace();
  if (outputs.summary) {
    const std::string summary = std::getenv("GITHUB_STEP_SUMMARY");
    std::ofstream file(summary, std::ios::binary | std::ios::app);
    if (!(file << GateMarkdown(result, outputs.error_rate) << '\n') || !file.flush()) {
      throw Error(summary + " cannot be written", "it is what GITHUB_STEP_SUMMARY names");
    }
  }
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  const bool on_github = actions != nullptr && std::string(actions) == "true";
  if (outputs.annotations || (on_github && !report_on_stdout)) {  // whose reader would trip over them
    std::cout << GateAnnotations(result) << std::flush;
  }
}

}  // namespace fa_profile
