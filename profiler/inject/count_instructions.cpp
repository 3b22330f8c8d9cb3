// How ProgramCounters counts the instructions of a launch: after the counters of its class, on the thread that
// launches.
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/instruction_counts.h"
#include "program_counters.h"

namespace fa_profile::inject {
namespace {

// A launch whose instructions are counted runs some 50 times slower.
constexpr double kLongestCountedSeconds = 10.0;

}  // namespace

// Of a class in each of whose launches nothing waits for another: EndSpread() chose it.
ProgramCounters::Measure ProgramCounters::BeginCount(const std::string& key, bool selected) {
  if (!counts_expired_ && (!selected || !to_count_.contains(key))) return Measure::kNothing;
  if (!IsIdle()) return Measure::kNothing;
  if (std::exchange(counts_expired_, false)) {
    EndCounting();
    return Measure::kNothing;
  }
  StopTrace();
  try {
    if (!instructions_) instructions_ = collect::OpenInstructionCounter(*run_);
    instructions_->Start();
  } catch (const std::exception& error) {
    TraceAgain();
    LoseInstructionCounts(error.what());
    return Measure::kNothing;
  }
  counted_ = key;
  ++ranges_opened_;
  selection_.OnMeasured();
  return Measure::kCount;
}

void ProgramCounters::TakeInstructionCounts() {
  const std::string key = std::exchange(counted_, "");
  to_count_.erase(key);
  try {
    if (!idle_->Wait(kLongestCountedSeconds)) {
      (void)instructions_.release();  // whatever is asked of it may wait for ever
      throw Error("a launch did not end while its instructions were counted", "");
    }
    std::vector<collect::CountedPc> pcs;
    try {
      pcs = instructions_->Take();
    } catch (const std::exception&) {
      (void)instructions_->Stop();  // or the program's code stays patched, which is slow
      throw;
    }
    const std::uint64_t dropped = instructions_->Stop();
    TraceAgain();
    sampler_.AddCounts(key, std::move(pcs), dropped);
    if (to_count_.empty() || selection_.over()) EndCounting();
  } catch (const std::exception& error) {
    TraceAgain();
    LoseInstructionCounts(error.what());
  }
}

void ProgramCounters::EndCounting() {
  to_count_.clear();
  EndMeasuring();
}

void ProgramCounters::LoseInstructionCounts(const char* why) {
  cannot_count_ = true;
  const std::string text = why;
  losses_.push_back({"counts_missing", "kernels", text.substr(0, text.find('\n')), 1});
  EndCounting();
}

}  // namespace fa_profile::inject
