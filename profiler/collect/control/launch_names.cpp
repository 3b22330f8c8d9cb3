#include "fa_profile/launch_names.h"

#include <new>
#include <string_view>

namespace fa_profile::collect {
namespace {

// Changing names must not fill the program's memory.
constexpr std::size_t kMostNames = std::size_t{1} << 16U;

}  // namespace

void LaunchNames::OnLaunch(std::uint32_t correlation, const char* name) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (slots_.empty()) slots_.resize(kSlots);
    auto known = names_.find(std::string_view(name));
    if (known == names_.end() && names_.size() < kMostNames) known = names_.emplace(name).first;
    if (known != names_.end()) slots_[correlation % kSlots] = {correlation, known->c_str()};
  } catch (const std::bad_alloc&) {
    return;  // CUPTI's name has to do
  }
}

const char* LaunchNames::NameOf(std::uint32_t correlation) const noexcept {
  const std::lock_guard lock(mutex_);
  if (slots_.empty()) return nullptr;
  const auto& [launch, name] = slots_[correlation % kSlots];
  return launch == correlation ? name : nullptr;
}

// Never destroyed: records may come until the process ends.
LaunchNames& ProcessLaunchNames() {
  static LaunchNames* const names = new LaunchNames;
  return *names;
}

}  // namespace fa_profile::collect
