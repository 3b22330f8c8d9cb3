#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "device_code.h"

namespace fa_profile {

/// An attention kernel in few instructions, made by hand: mma.sync, Q in registers, K and V loaded in the loop over
/// keys. A line has the phase that it belongs to where a frame has a function; the address arithmetic at the top is
/// setup's.
inline std::vector<Line> MmaAttention() {
  return {
      {"", "S2R", "R0, SR_TID.X", {"setup()"}},                      // 0
      {"", "LDC.64", "R2, c[0x0][0x210]", {"load_q()"}},             // 1
      {"", "LDC.64", "R4, c[0x0][0x218]", {"load_kv()"}},            // 2
      {"", "LDC.64", "R6, c[0x0][0x220]", {"load_kv()"}},            // 3
      {"", "IMAD.WIDE", "R2, R0, 0x10, R2", {"load_q()"}},           // 4
      {"", "IMAD.WIDE", "R4, R0, 0x8, R4", {"load_kv()"}},           // 5
      {"", "IMAD.WIDE", "R6, R0, 0x8, R6", {"load_kv()"}},           // 6
      {"", "LDG.E.128", "R8, desc[UR4][R2.64]", {"load_q()"}},       // 7
      {"", "CS2R", "R40, SRZ", {"rescale()"}},                       // 8
      {"", "CS2R", "R42, SRZ", {"pv()"}},                            // 9
      {"", "MOV", "R20, 0xff800000", {"softmax()"}},                 // 10
      {"", "MOV", "R31, RZ", {"softmax()"}},                         // 11
      {"", "MOV", "R50, RZ", {"setup()"}},                           // 12
      {"", "LDG.E.64", "R12, desc[UR4][R4.64]", {"load_kv()"}},      // 13: the loop over keys
      {"", "LDG.E.64", "R14, desc[UR4][R6.64]", {"load_kv()"}},      // 14
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {"sync()"}},            // 15
      {"", "HMMA.16816.F32", "R16, R8, R12, RZ", {"qk()"}},          // 16
      {"", "FMNMX", "R21, R16, R17, !PT", {"softmax()"}},            // 17
      {"", "FMNMX", "R21, R21, R20, !PT", {"softmax()"}},            // 18
      {"", "FADD", "R22, R20, -R21", {"softmax()"}},                 // 19
      {"", "MUFU.EX2", "R22, R22", {"softmax()"}},                   // 20
      {"", "FADD", "R16, R16, -R21", {"softmax()"}},                 // 21
      {"", "FADD", "R17, R17, -R21", {"softmax()"}},                 // 22
      {"", "MUFU.EX2", "R16, R16", {"softmax()"}},                   // 23
      {"", "MUFU.EX2", "R17, R17", {"softmax()"}},                   // 24
      {"", "MOV", "R20, R21", {"softmax()"}},                        // 25
      {"", "FFMA", "R31, R31, R22, R16", {"softmax()"}},             // 26
      {"", "F2FP.F16.F32.PACK_AB", "R24, R17, R16", {"softmax()"}},  // 27
      {"", "FMUL", "R40, R40, R22", {"rescale()"}},                  // 28
      {"", "FMUL", "R41, R41, R22", {"rescale()"}},                  // 29
      {"", "HMMA.16816.F32", "R40, R24, R14, R40", {"pv()"}},        // 30
      {"", "IADD3", "R4, P1, R4, 0x100, RZ", {"load_kv()"}},         // 31
      {"", "IADD3", "R6, P1, R6, 0x100, RZ", {"load_kv()"}},         // 32
      {"", "IADD3", "R50, R50, 0x1, RZ", {}},                        // 33
      {"", "ISETP.LT.AND", "P0, PT, R50, 0x8, PT", {}},              // 34
      {"@P0", "BRA", "0xd0", {}},                                    // 35
      {"", "MUFU.RCP", "R31, R31", {"epilogue()"}},                  // 36
      {"", "FMUL", "R40, R40, R31", {"epilogue()"}},                 // 37
      {"", "LDC.64", "R2, c[0x0][0x228]", {"epilogue()"}},           // 38
      {"", "IMAD.WIDE", "R2, R0, 0x10, R2", {"epilogue()"}},         // 39
      {"", "STG.E.128", "desc[UR4][R2.64], R40", {"epilogue()"}},    // 40
      {"", "EXIT", "", {"epilogue()"}},                              // 41
  };
}

/// A warp-specialised one for Hopper: one warp copies by TMA, the others multiply from shared memory, S = Q K^T with
/// both operands there, O = P V with P in registers.
inline std::vector<Line> WarpgroupAttention() {
  return {
      {"", "S2R", "R0, SR_TID.X", {"setup()"}},                                 // 0
      {"", "ISETP.GE.AND", "P0, PT, R0, 0x20, PT", {"setup()"}},                // 1
      {"@P0", "BRA", "0x90", {}},                                               // 2: to the consumers
      {"", "UMOV", "UR8, 0x400", {"load_kv()"}},                                // 3
      {"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P1[UR6+0x8], R5", {"sync()"}},    // 4: the loop over tiles of keys
      {"@!P1", "BRA", "0x40", {"sync()"}},                                      // 5
      {"", "UTMALDG.4D", "[UR8], [UR4], desc[UR10]", {"load_kv()"}},            // 6
      {"@P2", "BRA", "0x40", {"sync()"}},                                       // 7
      {"", "EXIT", "", {}},                                                     // 8
      {"", "MOV", "R88, RZ", {"setup()"}},                                      // 9
      {"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P1[UR6], R5", {"sync()"}},        // 10: the loop over keys
      {"@!P1", "BRA", "0xa0", {"sync()"}},                                      // 11
      {"", "WARPGROUP.ARRIVE", "", {"qk()"}},                                   // 12
      {"", "HGMMA.64x8x16.F32", "R24, gdesc[UR8], RZ, !UPT, gsb0", {"qk()"}},   // 13
      {"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", {"qk()"}},                       // 14
      {"", "FMNMX", "R21, R24, R25, !PT", {"softmax()"}},                       // 15
      {"", "FFMA", "R24, R24, 1.25, -R21", {"softmax()"}},                      // 16
      {"", "MUFU.EX2", "R24, R24", {"softmax()"}},                              // 17
      {"", "F2FP.F16.F32.PACK_AB", "R16, R25, R24", {"softmax()"}},             // 18
      {"", "FMUL", "R40, R40, R24", {"rescale()"}},                             // 19
      {"", "WARPGROUP.ARRIVE", "", {"pv()"}},                                   // 20
      {"", "HGMMA.64x8x16.F32", "R40, R16, gdesc[UR12], R40, gsb0", {"pv()"}},  // 21
      {"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", {"pv()"}},                       // 22
      {"", "IADD3", "R88, R88, 0x1, RZ", {}},                                   // 23
      {"", "ISETP.LT.AND", "P0, PT, R88, 0x8, PT", {}},                         // 24
      {"@P0", "BRA", "0xa0", {}},                                               // 25
      {"", "FMUL", "R40, R40, R24", {"epilogue()"}},                            // 26
      {"", "STS", "[R3+0x8000], R40", {"epilogue()"}},                          // 27
      {"", "UTMASTG.4D", "[UR8], [UR4]", {"epilogue()"}},                       // 28
      {"", "EXIT", "", {"epilogue()"}},                                         // 29
  };
}

/// MmaAttention() with Q K^T in its own loop, `condition` at its end: "R60, 0x4" makes four rounds, as many as there
/// are products P V.
inline std::vector<Line> RolledAttention(const std::string& comparison, const std::string& condition) {
  std::vector<Line> lines = MmaAttention();
  const Line pv = lines[30];
  lines.insert(lines.begin() + 31, 3, pv);
  lines[16] = {"", "HMMA.16816.F32", "R16, R8, R12, R16", {"qk()"}};
  const std::vector<Line> before = {
      {"", "CS2R", "R16, SRZ", {"qk()"}}, {"", "CS2R", "R18, SRZ", {"qk()"}}, {"", "MOV", "R60, RZ", {}}};
  const std::vector<Line> behind = {{"", "IADD3", "R60, R60, 0x1, RZ", {}},
                                    {"", comparison, "P2, PT, " + condition + ", PT", {}},
                                    {"@P2", "BRA", "0x130", {}}};
  lines.insert(lines.begin() + 17, behind.begin(), behind.end());
  lines.insert(lines.begin() + 16, before.begin(), before.end());
  return lines;
}

/// MmaAttention() in a loop over tiles of queries, as TensorRT's fmha_v2 does it: K and V are copied to shared memory,
/// and again for the next keys or queries if there are any. O is stored over K, and from there to global memory.
/// `second_place`: where O's second store is; more than a row of floats away, it seems to be in another buffer.
inline std::vector<Line> AttentionWithOutputOverKeys(const std::string& second_place) {
  return {
      {"", "LDC.64", "R2, c[0x0][0x210]", {}},                                 // 0
      {"", "LDC.64", "R4, c[0x0][0x218]", {}},                                 // 1
      {"", "LDC.64", "R6, c[0x0][0x220]", {}},                                 // 2
      {"", "LDG.E.128", "R8, desc[UR4][R2.64]", {"load_q()"}},                 // 3
      {"", "LDGSTS.E.BYPASS.128", "[R0+0x4000][R4.64]", {"load_kv()"}},        // 4
      {"", "LDGSTS.E.BYPASS.128", "[R0+0x4800][R6.64]", {"load_kv()"}},        // 5
      {"", "LDGDEPBAR", "", {}},                                               // 6
      {"", "DEPBAR.LE", "SB0, 0x0", {}},                                       // 7
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},                              // 8
      {"", "LDSM.16.M88.2", "R12[R60+0x4000]", {"qk()"}},                      // 9
      {"", "LDSM.16.MT88.2", "R14[R61+0x4800]", {"pv()"}},                     // 10
      {"", "CS2R", "R40, SRZ", {}},                                            // 11: the loop over queries
      {"", "CS2R", "R42, SRZ", {}},                                            // 12
      {"", "MOV", "R20, 0xff800000", {}},                                      // 13
      {"", "MOV", "R31, RZ", {}},                                              // 14
      {"", "MOV", "R50, RZ", {}},                                              // 15
      {"", "HMMA.16816.F32", "R16, R8, R12, RZ", {"qk()"}},                    // 16: the loop over keys
      {"", "FMNMX", "R21, R16, R17, !PT", {"softmax()"}},                      // 17
      {"", "FMNMX", "R21, R21, R20, !PT", {"softmax()"}},                      // 18
      {"", "FADD", "R22, R20, -R21", {"softmax()"}},                           // 19
      {"", "MUFU.EX2", "R22, R22", {"softmax()"}},                             // 20
      {"", "FADD", "R16, R16, -R21", {"softmax()"}},                           // 21
      {"", "FADD", "R17, R17, -R21", {"softmax()"}},                           // 22
      {"", "MUFU.EX2", "R16, R16", {"softmax()"}},                             // 23
      {"", "MUFU.EX2", "R17, R17", {"softmax()"}},                             // 24
      {"", "MOV", "R20, R21", {"softmax()"}},                                  // 25
      {"", "FFMA", "R31, R31, R22, R16", {"softmax()"}},                       // 26
      {"", "F2FP.F16.F32.PACK_AB", "R24, R17, R16", {"softmax()"}},            // 27
      {"", "FMUL", "R40, R40, R22", {"rescale()"}},                            // 28
      {"", "FMUL", "R41, R41, R22", {"rescale()"}},                            // 29
      {"", "HMMA.16816.F32", "R40, R24, R14, R40", {"pv()"}},                  // 30
      {"@P2", "BRA", "0x280", {}},                                             // 31: no more keys
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},                              // 32
      {"", "LDGSTS.E.BYPASS.128", "[R0+0x4000][R4.64+0x100]", {"load_kv()"}},  // 33
      {"", "LDGSTS.E.BYPASS.128", "[R0+0x4800][R6.64+0x100]", {"load_kv()"}},  // 34
      {"", "LDGDEPBAR", "", {}},                                               // 35
      {"", "DEPBAR.LE", "SB0, 0x0", {}},                                       // 36
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},                              // 37
      {"", "LDSM.16.M88.2", "R12[R60+0x4000]", {"qk()"}},                      // 38
      {"", "LDSM.16.MT88.2", "R14[R61+0x4800]", {"pv()"}},                     // 39
      {"", "IADD3", "R50, R50, 0x1, RZ", {}},                                  // 40
      {"", "ISETP.LT.AND", "P0, PT, R50, 0x8, PT", {}},                        // 41
      {"@P0", "BRA", "0x100", {}},                                             // 42
      {"", "MUFU.RCP", "R31, R31", {}},                                        // 43
      {"", "FMUL", "R40, R40, R31", {}},                                       // 44
      {"", "FMUL", "R41, R41, R31", {}},                                       // 45
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},                              // 46
      {"", "STS", "[R62+0x4000], R40", {"epilogue()"}},                        // 47
      {"", "STS", "[R62+" + second_place + "], R41", {"epilogue()"}},          // 48
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},                              // 49
      {"", "LDS.128", "R44[R63+0x4000]", {"epilogue()"}},                      // 50
      {"", "LDS.128", "R52[R63+0x4800]", {"epilogue()"}},                      // 51
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},                              // 52
      {"", "STG.E.128", "desc[UR4][R64.64], R44", {"epilogue()"}},             // 53
      {"", "STG.E.128", "desc[UR4][R64.64+0x100], R52", {"epilogue()"}},       // 54
      {"@P3", "BRA", "0x3b0", {}},                                             // 55: no more queries
      {"", "LDGSTS.E.BYPASS.128", "[R0+0x4000][R4.64]", {"load_kv()"}},        // 56
      {"", "LDGSTS.E.BYPASS.128", "[R0+0x4800][R6.64]", {"load_kv()"}},        // 57
      {"", "LDGDEPBAR", "", {}},                                               // 58
      {"", "DEPBAR.LE", "SB0, 0x0", {}},                                       // 59
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}},                              // 60
      {"", "LDSM.16.M88.2", "R12[R60+0x4000]", {"qk()"}},                      // 61
      {"", "LDSM.16.MT88.2", "R14[R61+0x4800]", {"pv()"}},                     // 62
      {"@P4", "BRA", "0xb0", {}},                                              // 63
      {"", "EXIT", "", {}},                                                    // 64
  };
}

/// A backward pass: dV = P^T dO, dK = dS^T Q and dQ = dS K, with dS = P (dP - delta) and dP = dO V^T. Q and LSE are
/// loaded in the loop.
inline std::vector<Line> MmaBackward() {
  return {
      {"", "LDC.64", "R2, c[0x0][0x210]", {}},                  // 0
      {"", "CS2R", "R40, SRZ", {}},                             // 1
      {"", "CS2R", "R42, SRZ", {}},                             // 2
      {"", "MOV", "R50, RZ", {}},                               // 3
      {"", "LDG.E.128", "R8, desc[UR4][R2.64]", {}},            // 4: the loop; Q
      {"", "LDG.E.64", "R12, desc[UR4][R2.64+0x10]", {}},       // 5: K
      {"", "LDG.E.128", "R60, desc[UR4][R2.64+0x20]", {}},      // 6: dO
      {"", "LDG.E.64", "R64, desc[UR4][R2.64+0x30]", {}},       // 7: V
      {"", "LDG.E.64", "R70, desc[UR4][R2.64+0x40]", {}},       // 8: LSE and delta
      {"", "HMMA.16816.F32", "R16, R8, R12, RZ", {}},           // 9: S
      {"", "HMMA.16816.F32", "R20, R60, R64, RZ", {}},          // 10: dP
      {"", "FADD", "R16, R16, -R70", {}},                       // 11
      {"", "FADD", "R17, R17, -R70", {}},                       // 12
      {"", "MUFU.EX2", "R16, R16", {}},                         // 13
      {"", "MUFU.EX2", "R17, R17", {}},                         // 14
      {"", "FADD", "R20, R20, -R71", {}},                       // 15
      {"", "FADD", "R21, R21, -R71", {}},                       // 16
      {"", "FMUL", "R20, R16, R20", {}},                        // 17: dS
      {"", "FMUL", "R21, R17, R21", {}},                        // 18
      {"", "F2FP.F16.F32.PACK_AB", "R24, R17, R16", {}},        // 19
      {"", "F2FP.F16.F32.PACK_AB", "R32, R21, R20", {}},        // 20
      {"", "HMMA.16816.F32", "R40, R24, R60, R40", {}},         // 21: dV
      {"", "HMMA.16816.F32", "R44, R32, R8, R44", {}},          // 22: dK
      {"", "HMMA.16816.F32", "R28, R32, R12, RZ", {}},          // 23: dQ
      {"", "RED.E.ADD.F32", "desc[UR4][R2.64+0x50], R28", {}},  // 24
      {"", "IADD3", "R50, R50, 0x1, RZ", {}},                   // 25
      {"", "ISETP.LT.AND", "P0, PT, R50, 0x8, PT", {}},         // 26
      {"@P0", "BRA", "0x40", {}},                               // 27
      {"", "STG.E.128", "desc[UR4][R2.64], R40", {}},           // 28
      {"", "STG.E.128", "desc[UR4][R2.64], R44", {}},           // 29
      {"", "EXIT", "", {}},                                     // 30
  };
}

/// The same with warpgroup matrix instructions: all factors lie in shared memory, where P and dS are put.
inline std::vector<Line> WarpgroupBackward() {
  return {
      {"", "MOV", "R50, RZ", {}},                                         // 0
      {"", "UTMALDG.4D", "[UR8], [UR4], desc[UR10]", {}},                 // 1: the loop
      {"", "LDG.E.64", "R70, desc[UR4][R2.64+0x40]", {}},                 // 2: LSE and delta
      {"", "HGMMA.64x8x16.F32", "R16, gdesc[UR8], RZ, !UPT, gsb0", {}},   // 3: S
      {"", "HGMMA.64x8x16.F32", "R20, gdesc[UR12], RZ, !UPT, gsb0", {}},  // 4: dP
      {"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", {}},                       // 5
      {"", "FADD", "R16, R16, -R70", {}},                                 // 6
      {"", "MUFU.EX2", "R16, R16", {}},                                   // 7
      {"", "FADD", "R20, R20, -R71", {}},                                 // 8
      {"", "FMUL", "R20, R16, R20", {}},                                  // 9: dS
      {"", "F2FP.F16.F32.PACK_AB", "R26, R21, R20", {}},                  // 10
      {"", "STSM.16.M88.4", "[R3+0x4000], R16", {}},                      // 11
      {"", "STSM.16.M88.4", "[R3+0x8000], R26", {}},                      // 12
      {"", "HGMMA.64x8x16.F32", "R40, gdesc[UR16], R40, gsb0", {}},       // 13: dV
      {"", "HGMMA.64x8x16.F32", "R44, gdesc[UR20], R44, gsb0", {}},       // 14: dK
      {"", "WARPGROUP.DEPBAR.LE", "gsb0, 0x0", {}},                       // 15
      {"", "IADD3", "R50, R50, 0x1, RZ", {}},                             // 16
      {"", "ISETP.LT.AND", "P0, PT, R50, 0x8, PT", {}},                   // 17
      {"@P0", "BRA", "0x10", {}},                                         // 18
      {"", "STG.E.128", "desc[UR4][R2.64], R40", {}},                     // 19
      {"", "STG.E.128", "desc[UR4][R2.64], R44", {}},                     // 20
      {"", "EXIT", "", {}},                                               // 21
  };
}

/// The phase that a line of the functions above says; "(unattributed)" where it says none.
inline std::string PhaseOfLine(const Line& line) {
  if (line.stack.empty()) return "(unattributed)";
  return line.stack.front().substr(0, line.stack.front().find('('));
}

}  // namespace fa_profile
