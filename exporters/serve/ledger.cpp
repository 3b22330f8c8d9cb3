#include "fa_profile/ledger.h"

#include <utility>

namespace fa_profile::serve {

Ledger::Ledger(const std::string& folder)
    : folder_(folder), state_(folder_->Load()), refused_(folder_->CountRefused()) {}

void Ledger::Commit(ExporterState next) {
  if (folder_) {
    can_save_ = false;
    folder_->Save(next);
    can_save_ = true;
  }
  state_ = std::move(next);
}

void Ledger::Age(double held_seconds) {
  const Clock::time_point now = Clock::now();
  const double passed = std::chrono::duration<double>(now - std::exchange(aged_, now)).count();
  AgeKernels(state_.totals, passed);
  AgeKernels(state_.held, passed);
  Totals held = state_.held;
  AgeKernels(held, 0, held_seconds);
  if (held == state_.held && can_save_) return;
  ExporterState next = state_;
  next.held = std::move(held);
  Commit(std::move(next));
}

}  // namespace fa_profile::serve
