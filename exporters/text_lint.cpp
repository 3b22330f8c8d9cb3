#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <span>

#include "attention_text.h"
#include "fa_profile/demangle.h"
#include "fa_profile/lint_report.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/text_page.h"
#include "text_phases.h"
#include "text_skipped.h"

namespace fa_profile::exporters {
namespace {

std::string Bytes(std::int64_t bytes) {
  constexpr std::int64_t kKiB = 1024;
  return bytes >= kKiB && bytes % (kKiB / 4) == 0 ? fmt::format("{:g} KiB", static_cast<double>(bytes) / kKiB)
                                                  : fmt::format("{} B", bytes);
}

std::string StackText(const KernelLint& kernel) {
  std::string text = kernel.stack_frame_bytes ? Bytes(*kernel.stack_frame_bytes) + " a thread" : "n/a";
  if (kernel.spills.stores + kernel.spills.loads > 0) {
    text += fmt::format(", {} of spill stores and {} of spill loads in {} + {} instructions",
                        Bytes(kernel.spills.store_bytes), Bytes(kernel.spills.load_bytes), kernel.spills.stores,
                        kernel.spills.loads);
  } else {
    text += ", no spills";
  }
  if (kernel.arrays.stores + kernel.arrays.loads > 0) {
    text += fmt::format(", {} other stores and {} other loads", kernel.arrays.stores, kernel.arrays.loads);
  }
  return text;
}

std::string SharedText(const KernelLint& kernel) {
  std::string text = Bytes(kernel.static_shared_memory_bytes) + " static";
  if (!kernel.dynamic_shared_memory_bytes) return text + ", and an unknown number of dynamic bytes";
  if (*kernel.dynamic_shared_memory_bytes > 0)
    text += fmt::format(", {} by --smem", Bytes(*kernel.dynamic_shared_memory_bytes));
  return text;
}

std::string OccupancyText(const KernelLint& kernel) {
  const std::string limit = kernel.occupancy_limit_ratio.value_or(1.0) < 1.0
                                ? fmt::format("at most {:.3g} %", 100.0 * *kernel.occupancy_limit_ratio)
                                : "n/a";
  if (!kernel.threads_per_block) {
    return limit + ": the code does not fix the number of threads; give --threads N" +
           (kernel.dynamic_shared_memory_bytes ? "" : " and --smem BYTES");
  }
  const std::string block = fmt::format("{} threads ({})", *kernel.threads_per_block, kernel.threads_source);
  if (!kernel.dynamic_shared_memory_bytes) {
    return fmt::format("{} for blocks of {}: the code does not fix their shared memory; give --smem BYTES", limit,
                       block);
  }
  if (!kernel.occupancy) return fmt::format("n/a for blocks of {} on {}", block, kernel.architecture);
  return fmt::format(
      "{:.3g} %, {} of {} an SM, limited by {}", 100.0 * kernel.occupancy->theoretical_ratio,
      kernel.occupancy->blocks_per_sm == 1 ? "1 block" : fmt::format("{} blocks", kernel.occupancy->blocks_per_sm),
      block, fmt::join(kernel.occupancy->limiters, " and "));
}

void WriteCounts(TextPage& page, const KernelLint& kernel) {
  if (kernel.phases.empty()) return;
  std::vector<Column> columns{{"  phase", true}, {"loop"}, {"instr"}};
  for (const char* const count : kLintCounts)
    columns.push_back({std::string_view(count) == "exponential" ? "exp" : count});
  std::vector<std::vector<Cell>> rows;
  for (const PhaseCode& row : kernel.phases) {
    std::vector<Cell> cells{
        {"  " + page.Safe(row.phase)}, {fmt::format("{}", row.loop_depth)}, {fmt::format("{}", row.instructions)}};
    for (const char* const count : kLintCounts) {
      const int n = row.counts.at(count);
      cells.push_back({n == 0 ? "." : fmt::format("{}", n)});
    }
    rows.push_back(std::move(cells));
  }
  page.Table(columns, rows);
}

std::string PhasesText(TextPage& page, const KernelLint& kernel) {
  if (!kernel.inference) return "phases by " + page.Safe(kernel.attribution);
  if (kernel.inference->refusal.empty()) return InferenceText(*kernel.inference) + ", all static";
  return "phases by " + page.Safe(kernel.attribution) +
         ", not inferred from machine code: " + page.Safe(kernel.inference->refusal);
}

void WriteKernel(TextPage& page, const KernelLint& kernel) {
  page.Rule(
      fmt::format("{}{}{}", page.Safe(FunctionName(kernel.name)), page.separator(), page.Safe(kernel.architecture)));
  page.Paragraph("  kernel     ", page.Safe(kernel.name));
  page.Paragraph("  in         ", page.Safe(kernel.file));
  page.Paragraph("  registers  ",
                 kernel.registers_per_thread ? fmt::format("{} a thread", *kernel.registers_per_thread) : "n/a");
  page.Paragraph("  stack      ", StackText(kernel));
  page.Paragraph("  shared     ", SharedText(kernel));
  page.Paragraph("  occupancy  ", OccupancyText(kernel));
  if (!kernel.externals.empty()) {
    page.Paragraph("  calls      ", page.Safe(fmt::format("{}", fmt::join(kernel.externals, ", "))));
  }
  if (kernel.unknown_branches > 0) {
    page.Paragraph(
        "  loops      ",
        fmt::format("not known: the targets of {} indirect {} are not in the cubin; findings about loops are "
                    "left out",
                    kernel.unknown_branches, kernel.unknown_branches == 1 ? "branch" : "branches"));
  }
  page.Paragraph("  code       ", fmt::format("{}, hash {:016x}, {}", Bytes(kernel.code_bytes), kernel.code_hash,
                                              PhasesText(page, kernel)));
  if (const std::string attention = AttentionText(kernel); !attention.empty()) {
    page.Paragraph("  attention  ", attention);
  }
  WriteCounts(page, kernel);
  for (const Finding& finding : kernel.findings) {
    const std::string where = finding.phase.empty() ? "" : fmt::format("{}: ", page.Safe(finding.phase));
    page.Paragraph("  ! ", fmt::format("{}: {}{}", finding.id, where, page.Safe(finding.evidence)));
    page.Paragraph("    ", "-> " + finding.cure);
  }
  page.Line();
}

}  // namespace

void WriteReadAndSkipped(TextPage& page, int found, const std::vector<SkippedFile>& skipped, int count) {
  constexpr std::size_t kShown = 10;
  page.Line(fmt::format("{} cubin{} found, {} read{}", found, found == 1 ? "" : "s", found - count,
                        count == 0 ? "" : fmt::format(", {} skipped:", count)));
  const std::vector<SkippedKind> kinds = KindsOf(skipped);
  int more = count;
  for (const SkippedKind& kind : std::span(kinds).first(std::min(kShown, kinds.size()))) {
    page.Paragraph("  skipped    ", page.Safe(SkippedText(kind)));
    more -= kind.count;
  }
  if (more > 0) page.Line(fmt::format("  skipped    {} more; --format json lists them", more));
}

void WriteTextLint(std::ostream& out, const FileLint& lint, const ReportOptions& options) {
  const std::vector<KernelLint>& kernels = lint.kernels;
  TextPage page(out, options);
  std::size_t findings = 0;
  for (const KernelLint& kernel : kernels) {
    WriteKernel(page, kernel);
    findings += kernel.findings.size();
  }
  page.Line(fmt::format("{} kernel{}, {} finding{}", kernels.size(), kernels.size() == 1 ? "" : "s", findings,
                        findings == 1 ? "" : "s"));
  if (!lint.is_complete) page.Line("stopped: this is what was read so far", Style::kBold);
  WriteReadAndSkipped(page, lint.found, lint.skipped, lint.skipped_files);
  if (std::ranges::any_of(kernels, [](const KernelLint& kernel) { return kernel.attribution == kOpcodePhasesName; })) {
    page.Line("phases by opcode classes: --phase-map FILE gives your own, by function or line (docs/phase-map.md)",
              Style::kDim);
  }
  if (findings > 0) page.Line("fa-profile lint --explain ID tells what a finding means", Style::kDim);
}

}  // namespace fa_profile::exporters
