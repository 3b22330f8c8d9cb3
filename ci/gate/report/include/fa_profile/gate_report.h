#pragma once

#include <string>

#include "fa_profile/gate.h"
#include "fa_profile/gate_state.h"

/// A gate result in each output format (docs/gate-reference.md). The same result gives the same bytes. All texts in a
/// result are hostile, because kernel names, origins and reasons may come from untrusted builds; each format escapes
/// them.
namespace fa_profile::gate {

/// For a terminal, wrapped at 100 columns. No line is a command to a CI system.
std::string GateText(const GateResult& result);

/// A comment for a pull request, or a job summary: at most 65,536 bytes; the first line is a hidden marker
/// (kCommentMarker). Rows and reasons that do not fit are counted. `error_rate`: a sentence with the gate's error rate
/// as measured by `gate selftest`; empty: none.
std::string GateMarkdown(const GateResult& result, const std::string& error_rate);
inline constexpr const char* kCommentMarker = "<!-- fa-profile gate -->";

/// Workflow commands of GitHub Actions, at most ten, worst first: an error for each REGRESSION, a warning for each
/// other case that neither passed nor improved, or that passed with a warning.
std::string GateAnnotations(const GateResult& result);

/// SARIF 2.1.0: a rule per metric, a result per comparison that is neither PASS nor IMPROVED, at the hottest line of
/// its case. Fingerprints depend only on kernel, shape, phase and metric.
std::string GateSarif(const GateResult& result);

/// JUnit: a test case per kernel and shape. A regression is a failure, a wrong result an error; inconclusive, suspect,
/// incomparable and missing cases are skipped.
std::string GateJunit(const GateResult& result);

/// docs/gate.schema.json. ASCII.
std::string GateJson(const GateResult& result);

/// JSON lines (docs/jsonl.schema.json), ASCII: the whole verdict with its exit codes; then per case, worst first, its
/// verdict, its findings and each comparison that is not a plain PASS; then what could not be compared, and notes.
std::string GateJsonLines(const GateResult& result);

/// A case's name in every report, "mma 1,8,512,64": one line of valid UTF-8, at most 120 characters.
std::string CaseTitle(const CaseVerdict& verdict);

/// The values of the gate's metrics (faprof_gate_*). A case's name is kernel and shape, "mma 4,16,1024,64"; the change
/// is of the duration; absent: not measured.
GateState GateStateOf(const GateResult& result);

}  // namespace fa_profile::gate
