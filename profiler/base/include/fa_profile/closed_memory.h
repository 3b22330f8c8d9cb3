#pragma once

namespace fa_profile {

/// While it lives, processes of the same user can neither read nor change this one's memory; root can. A job that
/// judges user code has one from before the first line of that code runs, because a descriptor of /proc/PID/mem that
/// was opened earlier stays usable, until its verdicts are written, because what the code leaves behind may live on.
class ClosedMemory {
 public:
  ClosedMemory();
  ~ClosedMemory();
  ClosedMemory(const ClosedMemory&) = delete;
  ClosedMemory& operator=(const ClosedMemory&) = delete;

 private:
  int before_;
};

}  // namespace fa_profile
