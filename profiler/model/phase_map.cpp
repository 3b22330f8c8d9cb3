#include "fa_profile/phase_map.h"

#include <utility>

namespace fa_profile {
namespace {

PhaseRule Function(const char* phase) { return {phase, {phase}, {}, {}}; }

PhaseRule Opcodes(const char* phase, std::vector<std::string> opcodes) { return {phase, {}, {}, std::move(opcodes)}; }

}  // namespace

PhaseMap AttentionPhases() {
  return {"inline functions",
          {Function("load_q"), Function("load_kv"), Function("sync"), Function("qk"), Function("softmax"),
           Function("rescale"), Function("pv"), Function("epilogue")}};
}

// The first rule that fits is taken: what is special comes before the short prefixes that would swallow it. "UTC" are
// the tensor instructions of Blackwell, "UTMA" and "UBLK" its and Hopper's bulk copies. Maxima, shuffles and votes are
// how attention reduces a row, so they stand with the exponentials. WARPGROUP waits for matrix instructions.
PhaseMap OpcodePhases() {
  return {kOpcodePhasesName,
          {Opcodes("barriers", {"BAR", "DEPBAR", "LDGDEPBAR", "SYNCS", "MEMBAR", "ERRBAR", "FENCE", "ARRIVES",
                                "UTMACMDFLUSH", "UTCBAR", "UCGABAR", "CGABAR", "NANOSLEEP"}),
           Opcodes("matrix", {"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA",
                              "UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA", "WARPGROUP"}),
           Opcodes("exponential and reduction",
                   {"MUFU", "FMNMX", "VIMNMX", "VHMNMX", "HMNMX", "SHFL", "REDUX", "CREDUX", "VOTE", "MATCH", "FCHK"}),
           Opcodes("loads", {"LD", "ULD", "UTMALDG", "UTMAPF", "UBLKCP", "UBLKPF", "UTCCP", "TEX", "TLD", "SULD"}),
           Opcodes("stores", {"ST", "RED", "ATOM", "UTMASTG", "UTMAREDG", "UBLKRED", "SUST", "SURED", "SUATOM"}),
           Opcodes("control", {"BRA",  "BRX",      "JMP",   "JMX",     "CALL",    "RET",        "EXIT",
                               "BSSY", "BSYNC",    "BREAK", "BMOV",    "NOP",     "YIELD",      "KILL",
                               "BPT",  "WARPSYNC", "ELECT", "PREEXIT", "ACQBULK", "USETMAXREG", "LEPC"}),
           Opcodes("other arithmetic", {""})}};
}

}  // namespace fa_profile
