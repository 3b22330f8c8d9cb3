#include "fa_profile/closed_memory.h"

#include <sys/prctl.h>

namespace fa_profile {

ClosedMemory::ClosedMemory() : before_(prctl(PR_GET_DUMPABLE)) { (void)prctl(PR_SET_DUMPABLE, 0); }

ClosedMemory::~ClosedMemory() { (void)prctl(PR_SET_DUMPABLE, before_); }

}  // namespace fa_profile
