#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/judge.h"
#include "fa_profile/library_server.h"

namespace fa_profile::judge {

/// The library's process ended, hung or refused: the kernel is at fault, not the judge.
class ProcessFailed : public Error {
 public:
  using Error::Error;
};

/// The judge gives no verdict, because something it needs from the kernel is not available.
class CannotJudge : public Error {
 public:
  using Error::Error;
};

/// A process that has loaded the library (library_server.h) or the Python file (fa_profile_worker.py). Every answer is
/// a claim made by code in it.
class LibraryProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// `shared_memory`: a descriptor for it, or -1. `with_gpu`: false: it sees no CUDA device; true: only the question's,
  /// as number 0. Nothing is waited for after the deadline.
  LibraryProcess(const Question& question, bool with_gpu, int shared_memory, Clock::time_point deadline);

  /// Throws ProcessFailed: no answer, or not a JSON object. Throws Error: "interrupted".
  nlohmann::json Ask(const nlohmann::json& task);
  /// Asks, and throws ProcessFailed with the answer's "error" if it has one; Error if the file is at fault, CannotJudge
  /// if its outputs vary in shape.
  nlohmann::json Require(const nlohmann::json& task);
  /// The last lines that the library printed. Ends the process.
  std::vector<std::string> Printed();

 private:
  [[noreturn]] void ThrowEnd();

  std::string kernel_;  // "kernel library x.so"
  std::string debugger_;
  bool is_referee_;
  double seconds_;
  Clock::time_point deadline_;
  const std::atomic<bool>* interrupted_;
  ChildSession session_;
};

/// float64 arrays, one after the other, shared with the referee.
class SharedArrays {
 public:
  SharedArrays();
  ~SharedArrays();
  SharedArrays(const SharedArrays&) = delete;
  SharedArrays& operator=(const SharedArrays&) = delete;

  int descriptor() const { return memory_.get(); }
  /// Makes room for arrays of these counts. Throws Error: no memory.
  void Resize(const std::vector<std::size_t>& counts);
  std::span<double> operator[](std::size_t array) const;
  /// Number of values before an array.
  std::size_t Place(std::size_t array) const;
  /// The first `count` values overall, which a draw function wrote.
  std::span<double> First(std::size_t count) const { return {values_, count}; }

 private:
  void Unmap();

  Descriptor memory_;
  std::vector<std::size_t> counts_;
  double* values_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace fa_profile::judge
