#include "library_process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>

#include "fa_profile/text.h"

namespace fa_profile::judge {
namespace {

std::vector<std::string> Command(const Question& question) {
  if (const auto& in_python = question.in_python) {
    return {in_python->python, in_python->worker, "--kernel", in_python->kernel, "--case=" + in_python->name};
  }
  std::vector<std::string> arguments = {"fa-profile", "kernel-library", question.library, "--serve"};
  for (const std::string& file : question.files) arguments.insert(arguments.end(), {"--tensor", file});
  return arguments;
}

// The device's name for a child's CUDA_VISIBLE_DEVICES, which then sees no other.
std::string VisibleDevice(int device) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return std::to_string(device);
  std::istringstream names(visible);
  std::string name;
  for (int i = 0; i <= device && std::getline(names, name, ','); ++i) {
  }
  return name;
}

std::vector<std::string> Environment(const Question& question, bool with_gpu) {
  // A Python kernel's reference runs on the GPU.
  std::vector<std::string> environment = {
      "CUDA_VISIBLE_DEVICES=" + (with_gpu || question.in_python ? VisibleDevice(question.device) : std::string())};
  if (question.in_python) {  // only cudaMalloc() memory can be shared with the judge
    environment.insert(environment.end(), {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False",
                                           "PYTORCH_ALLOC_CONF=expandable_segments:False"});
  }
  return environment;
}

std::vector<int> Extras(int shared_memory) {
  if (shared_memory < 0) return {};
  return {shared_memory};
}

}  // namespace

LibraryProcess::LibraryProcess(const Question& question, bool with_gpu, int shared_memory, Clock::time_point deadline)
    : kernel_(question.in_python ? "kernel " + question.in_python->kernel : "kernel library " + question.library),
      debugger_("gdb --args " + (question.in_python
                                     ? question.in_python->python + " " +
                                           question.in_python->kernel.substr(0, question.in_python->kernel.rfind(':'))
                                     : "fa-profile verify --kernel-lib " + question.library)),
      is_referee_(!with_gpu),
      seconds_(question.seconds),
      deadline_(deadline),
      interrupted_(question.interrupted),
      session_(question.in_python ? question.in_python->python : question.program, Command(question),
               Environment(question, with_gpu), Extras(shared_memory)) {}

void LibraryProcess::ThrowEnd() {
  const ChildEnd end = session_.End();
  if (end.interrupted) throw Error("interrupted", "run it again");
  if (end.timed_out) {
    throw ProcessFailed("the " + kernel_ + " did not answer in time", "a launch, the reference or a constructor hangs");
  }
  const std::string how = Printable(Describe(end));
  throw ProcessFailed("the " + kernel_ + " ended its process: it " + (how.empty() ? "ended with exit code 0" : how),
                      "debug it with: " + debugger_);
}

nlohmann::json LibraryProcess::Ask(const nlohmann::json& task) {
  if (!session_.Send(task.dump())) ThrowEnd();
  const double left = std::chrono::duration<double>(deadline_ - Clock::now()).count();
  const std::optional<std::string> message = session_.Receive(std::clamp(left, 0.0, seconds_), interrupted_);
  if (!message) ThrowEnd();
  nlohmann::json answer = nlohmann::json::parse(*message, nullptr, /*allow_exceptions=*/false);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_string()) return answer;
  throw ProcessFailed("the process of the " + kernel_ + " sent an answer that cannot be read");
}

nlohmann::json LibraryProcess::Require(const nlohmann::json& task) {
  nlohmann::json answer = Ask(task);
  const std::string error = answer["error"];
  if (error.empty()) return answer;
  const auto text = [&](const char* key) {
    return answer.contains(key) && answer[key].is_string() ? answer[key].get<std::string>() : std::string();
  };
  if (answer.contains("refusal")) throw Error(Printable(error), Printable(text("hint")));  // the file is at fault
  if (is_referee_ && answer.contains("varies")) throw CannotJudge(Printable(error), "");
  throw ProcessFailed(text("api"), text("code"), Printable(error), Printable(text("hint")));
}

std::vector<std::string> LibraryProcess::Printed() {
  constexpr std::size_t kMostLines = 20;
  constexpr std::size_t kWidest = 200;
  std::vector<std::string> lines;
  const std::string text = session_.End().err;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start) lines.push_back(Truncate(Printable(text.substr(start, end - start)), kWidest));
    start = end + 1;
  }
  if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
  return lines;
}

SharedArrays::SharedArrays() : memory_(memfd_create("fa-profile", MFD_CLOEXEC)) {
  if (!memory_) throw Error("memfd_create", std::strerror(errno), "there is no memory for the reference");
}

SharedArrays::~SharedArrays() { Unmap(); }

void SharedArrays::Unmap() {
  if (values_ != nullptr) (void)munmap(values_, bytes_);
  values_ = nullptr;
}

void SharedArrays::Resize(const std::vector<std::size_t>& counts) {
  Unmap();
  counts_ = counts;
  bytes_ = std::max<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), 1) * sizeof(double);
  void* const start = ftruncate(memory_.get(), static_cast<off_t>(bytes_)) == 0
                          ? mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0)
                          : MAP_FAILED;
  if (start == MAP_FAILED) throw Error("mmap", std::strerror(errno), "there is no memory for the reference");
  values_ = static_cast<double*>(start);
}

std::size_t SharedArrays::Place(std::size_t array) const {
  return std::accumulate(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(array), std::size_t{0});
}

std::span<double> SharedArrays::operator[](std::size_t array) const { return {values_ + Place(array), counts_[array]}; }

}  // namespace fa_profile::judge
