#pragma once

#include <string>

#include "fa_profile/gate.h"
#include "fa_profile/gate_state.h"

/// A result of the gate in the forms in which people and machines read it (docs/gate-reports.md). The same result gives
/// the same bytes. Every text of a result is taken as hostile, because kernel names, origins and reasons come from
/// recordings and builds of strangers: none of these forms can be broken out of.
namespace fa_profile {

/// For a terminal, 100 columns where words allow. No line of it is a command to a CI system.
std::string GateText(const GateResult& result);

/// A comment for a pull request, or a job summary: at most 65,536 bytes, with a hidden marker (kCommentMarker) as its
/// first line. Rows and reasons that do not fit are counted. `error_rate`: the gate's own, as `gate selftest` measured
/// it, in a sentence; empty: not said.
std::string GateMarkdown(const GateResult& result, const std::string& error_rate);
inline constexpr const char* kCommentMarker = "<!-- fa-profile gate -->";

/// Workflow commands of GitHub Actions, at most ten, worst first: an error for a case that is a REGRESSION, a warning
/// for any other that neither passed nor improved, and for one that passed with a warning.
std::string GateAnnotations(const GateResult& result);

/// SARIF 2.1.0: a rule a metric, a result a comparison that is neither PASS nor IMPROVED, at the hottest line of its
/// case. Fingerprints are of names alone: kernel, shape, phase and metric.
std::string GateSarif(const GateResult& result);

/// JUnit: a test case a kernel and shape. A regression is a failure, a wrong result an error, and what could not be
/// told (inconclusive, suspect, incomparable, missing) skipped.
std::string GateJunit(const GateResult& result);

/// docs/gate.schema.json. ASCII.
std::string GateJson(const GateResult& result);

/// "mma 1,8,512,64" as every report names a case: one line of valid UTF-8, of at most 120 characters.
std::string CaseTitle(const CaseVerdict& verdict);

/// What the gate's metrics (faprof_gate_*) say of a result. A case's name is the kernel and its shape,
/// "mma 4,16,1024,64"; the change is that of the duration, absent where it was not measured.
GateState GateStateOf(const GateResult& result);

}  // namespace fa_profile
