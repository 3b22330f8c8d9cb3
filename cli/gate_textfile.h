#pragma once

#include <string>

#include "fa_profile/gate.h"

namespace fa_profile {

/// The result as Prometheus's text format 0.0.4: the families faprof_gate_* (docs/metrics.md). The label `case` is the
/// kernel and its shape, "mma 4,16,1024,64"; the change is that of the duration, absent where it was not measured.
std::string GateTextfile(const GateResult& result);

}  // namespace fa_profile
