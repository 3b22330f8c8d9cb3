#include "fa_profile/phase_map.h"

namespace fa_profile {
namespace {

PhaseRule Function(const char* phase) { return {phase, {phase}, {}, {}}; }

}  // namespace

PhaseMap AttentionPhases() {
  return {"inline functions",
          {Function("load_q"), Function("load_kv"), Function("sync"), Function("qk"), Function("softmax"),
           Function("rescale"), Function("pv"), Function("epilogue")}};
}

}  // namespace fa_profile
