// The cost of instructions and source lines, for people.
#include "text_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <string_view>

#include "fa_profile/call_name.h"
#include "fa_profile/code_report.h"
#include "fa_profile/text.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"

namespace fa_profile::exporters {
namespace {

constexpr int kWidePage = 140;            // columns from which a table has room for bars and a second stall
constexpr std::size_t kBarColumns = 8;    // for the hottest row
constexpr double kLeastStallOfRow = 0.1;  // share of the row's samples
constexpr double kLeastPhaseOfLine = 0.05;

/// A table whose empty columns are left out.
class CodeTable {
 public:
  void Add(const char* title, bool left = false) { columns_.push_back({title, left}); }
  void AddRow(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  void Write(TextPage& page) const {
    std::vector<std::size_t> kept;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (std::ranges::any_of(rows_, [&](const auto& row) { return !row[c].text.empty(); })) kept.push_back(c);
    }
    std::vector<Column> columns;
    for (const std::size_t c : kept) columns.push_back(columns_[c]);
    std::vector<std::vector<Cell>> rows;
    for (const auto& row : rows_) {
      std::vector<Cell>& cells = rows.emplace_back();
      for (const std::size_t c : kept) cells.push_back(row[c]);
    }
    page.Table(columns, rows);
  }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Shared by the rows of one listing.
struct RowStyle {
  bool wide = false;
  bool ascii = false;
  double hottest = 0.0;  // share of the hottest row
};

std::string ShareText(const CodeCost& cost) {
  return cost.share_ratio.value_or(0.0) > 0.0 ? fmt::format("{:.2f}", 100.0 * *cost.share_ratio) : "";
}

std::string BarText(const CodeCost& cost, const RowStyle& style) {
  if (!style.wide || style.hottest <= 0.0) return "";
  const double length = std::round(kBarColumns * cost.share_ratio.value_or(0.0) / style.hottest);
  std::string bar;
  for (int i = 0; i < static_cast<int>(length); ++i) bar += style.ascii ? "#" : "\u2588";
  return bar;
}

std::string RowStallsText(const TextPage& page, const CodeCost& cost, std::size_t most) {
  std::vector<std::string> shares;
  for (const StallShare& stall : cost.stalls) {
    if (shares.size() == most || stall.ratio < kLeastStallOfRow) break;
    shares.push_back(page.Safe(Truncate(stall.reason, 40)) + " " + ShortPercent(stall.ratio));
  }
  return fmt::format("{}", fmt::join(shares, ", "));
}

std::string CountText(const std::optional<double>& count) { return count ? FormatValue(*count, "count") : ""; }

std::string ThreadsText(const CodeCost& cost) {
  return cost.threads_per_instruction ? fmt::format("{:.3g}", *cost.threads_per_instruction) : "";
}

std::string ConflictsText(const CodeCost& cost) {
  if (!cost.shared_wavefronts || !cost.excess_wavefronts) return "";
  return ShortPercent(*cost.excess_wavefronts / *cost.shared_wavefronts);
}

/// The file's own name, cut so that the line always fits.
std::string PlaceText(const TextPage& page, const std::string& file, int line, const RowStyle& style) {
  const std::size_t most = style.wide ? 28 : 16;
  return Truncate(page.Safe(file.substr(file.find_last_of('/') + 1)), most) + ":" + std::to_string(line);
}

void AddCostColumns(CodeTable& table) {
  table.Add("top stalls %", true);
  table.Add("executed");
  table.Add("thr");
  table.Add("confl%");
}

void AddCostCells(const TextPage& page, const CodeCost& cost, const RowStyle& style, std::vector<Cell>& row) {
  row.push_back({RowStallsText(page, cost, style.wide ? 2 : 1)});
  row.push_back({CountText(cost.executed)});
  row.push_back({ThreadsText(cost)});
  row.push_back({ConflictsText(cost)});
}

std::string GroundText(const ListedInstruction& each) {
  return each.grade.empty() ? "" : each.grade + " " + each.reason;
}

/// The only ground of all instructions that have one; empty if there are several.
std::string OnlyGround(const std::vector<ListedInstruction>& instructions) {
  std::set<std::string> grounds;
  for (const ListedInstruction& each : instructions) grounds.insert(GroundText(each));
  grounds.erase("");
  return grounds.size() == 1 ? *grounds.begin() : "";
}

double HottestOf(const auto& rows) {
  double hottest = 0.0;
  for (const auto& row : rows) hottest = std::max(hottest, row.cost.share_ratio.value_or(0.0));
  return hottest;
}

/// `by_address`: counts rows that are left out between two.
void WriteInstructionTable(TextPage& page, const std::vector<ListedInstruction>& instructions, bool by_address,
                           const ReportOptions& options) {
  const RowStyle style{options.width >= kWidePage, options.ascii, HottestOf(instructions)};
  const std::string only = OnlyGround(instructions);
  if (!only.empty()) page.Paragraph("  why       ", page.Safe(only) + ", for all");
  CodeTable table;
  table.Add("  offset");
  table.Add("%");
  table.Add("", true);
  table.Add("phase", true);
  table.Add("why", true);
  AddCostColumns(table);
  table.Add("source");
  table.Add("instruction", true);
  std::optional<std::size_t> next;  // index expected next by address
  for (const ListedInstruction& each : instructions) {
    if (by_address && next && each.index > *next) {
      std::vector<Cell> gap(11);
      gap.back() = {fmt::format("... {} more", each.index - *next), Style::kDim};
      table.AddRow(std::move(gap));
    }
    next = each.index + 1;
    std::vector<Cell> row{{fmt::format("  {:04x}", each.offset)},
                          {ShareText(each.cost)},
                          {BarText(each.cost, style)},
                          {page.Safe(each.phase)},
                          {only.empty() ? page.Safe(GroundText(each)) : ""}};
    AddCostCells(page, each.cost, style, row);
    row.push_back({each.place ? PlaceText(page, each.place->file, each.place->line, style) : ""});
    row.push_back({page.Safe(each.text)});
    if (each.cost.share_ratio.value_or(0.0) <= 0.0) {
      for (Cell& cell : row) cell.style = Style::kDim;
    }
    table.AddRow(std::move(row));
  }
  table.Write(page);
}

/// "pv", or "qk 54, pv 46" for a line in several phases.
std::string LinePhasesText(const TextPage& page, const std::vector<PhaseShare>& phases) {
  std::vector<std::string> names;
  for (const PhaseShare& share : phases) {
    if (!names.empty() && share.ratio < kLeastPhaseOfLine) break;
    names.push_back(page.Safe(share.phase) + " " + ShortPercent(share.ratio));
  }
  return names.size() == 1 ? page.Safe(phases.front().phase) : fmt::format("{}", fmt::join(names, ", "));
}

void WriteLineTable(TextPage& page, const std::vector<ListedLine>& lines, const ReportOptions& options) {
  const RowStyle style{options.width >= kWidePage, options.ascii, HottestOf(lines)};
  CodeTable table;
  table.Add("      %");
  table.Add("", true);
  table.Add("phase", true);
  AddCostColumns(table);
  table.Add("instr");
  table.Add("source");
  table.Add("line", true);
  for (const ListedLine& line : lines) {
    std::vector<Cell> row{{ShareText(line.cost)}, {BarText(line.cost, style)}, {LinePhasesText(page, line.phases)}};
    AddCostCells(page, line.cost, style, row);
    row.push_back({std::to_string(line.instructions)});
    row.push_back({PlaceText(page, line.file, line.line, style)});
    const std::string text = line.text.value_or("");
    row.push_back({page.Safe(text.substr(std::min(text.find_first_not_of(" \t"), text.size())))});
    table.AddRow(std::move(row));
  }
  table.Write(page);
}

std::string SharesText(const auto& rows, const std::string& weighed_by) {
  double sum = 0.0;
  for (const auto& row : rows) sum += row.cost.share_ratio.value_or(0.0);
  return weighed_by.empty() ? "" : fmt::format(", {} of the {}", Percent(sum), weighed_by);
}

KernelsWithoutCode WithoutCode(const auto& listings) {
  KernelsWithoutCode kernels;
  for (const auto& listing : listings) {
    const ListedCode& code = listing.code;
    if (!code.missing.empty()) kernels[code.missing].push_back(CallName(code.kernel, code.shape, code.part));
  }
  return kernels;
}

}  // namespace

void WriteTextInstructions(std::ostream& out, const std::vector<InstructionListing>& listings,
                           const ReportOptions& options) {
  TextPage page(out, options);
  bool any = false;
  for (const InstructionListing& listing : listings) {
    if (!listing.code.missing.empty()) continue;
    WriteListedHead(page, "instructions", listing.code);
    const bool all = listing.instructions.size() == listing.of_instructions;
    page.Paragraph("  shown     ", all ? fmt::format("all {} instructions", listing.of_instructions)
                                       : fmt::format("the {} hottest of {} instructions{}", listing.instructions.size(),
                                                     listing.of_instructions,
                                                     SharesText(listing.instructions, listing.code.weighed_by)));
    WriteInstructionTable(page, listing.instructions, /*by_address=*/true, options);
    page.Line();
    any = true;
  }
  WriteKernelsWithoutCode(page, WithoutCode(listings));
  if (any) WriteCodeLegend(page);
}

void WriteTextSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions& options) {
  TextPage page(out, options);
  bool any = false;
  for (const SourceListing& listing : listings) {
    if (!listing.code.missing.empty()) continue;
    WriteListedHead(page, "source", listing.code);
    if (listing.lines.empty()) {
      page.Paragraph("  shown     ", fmt::format("its code has no line information (nvcc -lineinfo adds it); the {} "
                                                 "hottest of {} instructions{}",
                                                 listing.instructions.size(), listing.of_lines,
                                                 SharesText(listing.instructions, listing.code.weighed_by)));
      WriteInstructionTable(page, listing.instructions, /*by_address=*/false, options);
    } else {
      std::string text = listing.lines.size() == listing.of_lines
                             ? fmt::format("all {} lines", listing.of_lines)
                             : fmt::format("the {} hottest of {} lines{}", listing.lines.size(), listing.of_lines,
                                           SharesText(listing.lines, listing.code.weighed_by));
      if (listing.unplaced_ratio.value_or(0.0) > 0.0) {
        text += fmt::format("; {} at instructions without a line", Percent(*listing.unplaced_ratio));
      }
      page.Paragraph("  shown     ", text);
      for (const std::string& file : listing.changed_files) {
        page.Paragraph("  changed   ", page.Safe(file) + " changed after the recording was made: lines may have moved");
      }
      WriteLineTable(page, listing.lines, options);
    }
    page.Line();
    any = true;
  }
  WriteKernelsWithoutCode(page, WithoutCode(listings));
  if (any) WriteCodeLegend(page);
}

}  // namespace fa_profile::exporters
