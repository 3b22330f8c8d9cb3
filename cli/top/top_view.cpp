#include "fa_profile/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>
#include <utility>

#include "fa_profile/text.h"
#include "fa_profile/units.h"

namespace fa_profile::top {
namespace {

using exporters::Bars;
using exporters::Cell;
using exporters::Column;
using exporters::ReportOptions;
using exporters::Style;
using exporters::TextPage;

constexpr std::size_t kBarColumns = 10;
constexpr std::size_t kTrendColumns = 12;
constexpr std::size_t kLeastKernels = 3;
constexpr std::size_t kLeastPhases = 2;
constexpr std::size_t kMostPhases = 11;
constexpr std::size_t kPartOfHeight = 5;  // for GPUs, and for phases
constexpr std::size_t kWide = 110;        // columns: a narrower page leaves out what matters least
constexpr std::size_t kShownStalls = 2;
constexpr std::size_t kEveryRow = 100000;

constexpr std::array<std::pair<TopOrder, const char*>, 4> kOrders{{{TopOrder::kTime, "newest GPU time"},
                                                                   {TopOrder::kTotal, "GPU time"},
                                                                   {TopOrder::kLaunches, "launches"},
                                                                   {TopOrder::kName, "name"}}};

std::string AgeText(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

std::string TimeText(double seconds) { return seconds > 0 ? FormatValue(seconds, "seconds") : "0"; }

/// "250/700 W"
std::string OfLimit(const std::optional<double>& value, const std::optional<double>& limit, const char* unit) {
  if (!value) return "n/a";
  return limit ? fmt::format("{:.0f}/{:.0f} {}", *value, *limit, unit) : fmt::format("{:.0f} {}", *value, unit);
}

std::string MemoryText(const TopGpu& gpu) {
  if (!gpu.memory_used_bytes || !gpu.memory_total_bytes) return FormatValue(gpu.memory_used_bytes, "bytes");
  return FormatValue(*gpu.memory_used_bytes, "bytes") + " of " + FormatValue(*gpu.memory_total_bytes, "bytes");
}

/// What is wrong with a GPU: "throttled: hw_thermal; Xid errors: 2".
std::string TroubleText(const TopGpu& gpu) {
  std::vector<std::string> troubles;
  if (gpu.up == 0.0) troubles.emplace_back("no answer");
  if (!gpu.throttled.empty()) troubles.push_back(fmt::format("throttled: {}", fmt::join(gpu.throttled, " ")));
  if (gpu.xid_errors > 0) troubles.push_back(fmt::format("Xid errors: {:.0f}", gpu.xid_errors));
  if (gpu.uncorrected_ecc_errors > 0) troubles.push_back(fmt::format("ECC errors: {:.0f}", gpu.uncorrected_ecc_errors));
  return fmt::format("{}", fmt::join(troubles, "; "));
}

/// The phases with their cycles, most first.
std::vector<std::pair<std::string, double>> ByCycles(const TopKernel& kernel,
                                                     const std::map<std::string, double>* gained) {
  std::vector<std::pair<std::string, double>> phases;
  if (gained != nullptr) {
    phases.assign(gained->begin(), gained->end());
  } else {
    for (const auto& [name, phase] : kernel.phases) phases.emplace_back(name, phase.cycles);
  }
  std::erase_if(phases, [](const auto& phase) { return phase.second <= 0; });
  std::ranges::stable_sort(phases, [](const auto& a, const auto& b) { return a.second > b.second; });
  return phases;
}

double SumOf(const std::vector<std::pair<std::string, double>>& phases) {
  double sum = 0;
  for (const auto& [name, cycles] : phases) sum += cycles;
  return sum;
}

/// "wait 37, memory 36": shares of the cycles that warps stalled.
std::string StallsText(const TopPhase& phase) {
  double all = 0;
  std::vector<std::pair<double, std::string>> reasons;
  for (const auto& [reason, cycles] : phase.stall_cycles) {
    all += cycles;
    reasons.emplace_back(cycles, reason);
  }
  std::ranges::sort(reasons, std::greater());
  std::vector<std::string> shown;
  for (const auto& [cycles, reason] : reasons) {
    if (shown.size() == kShownStalls || cycles <= 0) break;
    shown.push_back(reason + " " + ShortPercent(cycles / all));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// A column of bars, where there are any.
void AddBarColumn(const TextPage& page, std::vector<Column>& columns) {
  if (page.bars() != Bars::kNone) columns.push_back({""});
}
void AddBar(const TextPage& page, double ratio, std::vector<Cell>& row) {
  if (page.bars() != Bars::kNone) row.push_back({exporters::Bar(ratio, kBarColumns, page.bars())});
}

bool IsWide(const TextPage& page) { return page.width() >= kWide; }

std::size_t LinesOf(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

}  // namespace

void TopView::Add(TopPage page) {
  if (page_) {
    TopGain gain = GainBetween(*page_, page);
    if (!gain.seconds.empty()) gain_ = std::move(gain);
  }
  for (const auto& [gpu, state] : page.gpus) {
    if (!state.busy_ratio) continue;
    std::deque<double>& busy = busy_[gpu];
    busy.push_back(*state.busy_ratio);
    if (busy.size() > kTrendColumns) busy.pop_front();
  }
  page_ = std::move(page);
}

void TopView::NextOrder() { order_ = kOrders.at((static_cast<std::size_t>(order_) + 1) % kOrders.size()).first; }

void TopView::Select(int rows) {
  const std::vector<Row> sorted = Rows();
  if (sorted.empty()) return;
  const auto found = std::ranges::find_if(sorted, [&](const Row& row) { return row.key == selected_; });
  const auto at = found == sorted.end() ? 0 : static_cast<int>(found - sorted.begin());
  selected_ = sorted[static_cast<std::size_t>(std::clamp<int>(at + rows, 0, static_cast<int>(sorted.size()) - 1))].key;
}

std::vector<TopView::Row> TopView::Rows() const {
  std::vector<Row> rows;
  if (!page_) return rows;
  for (const auto& [key, kernel] : page_->kernels) {
    const auto gained = gain_ ? gain_->seconds.find(key) : std::map<TopKey, double>::const_iterator{};
    rows.push_back({key, &kernel, gain_ && gained != gain_->seconds.end() ? gained->second : 0.0});
  }
  std::ranges::stable_sort(rows, [this](const Row& a, const Row& b) {
    if (order_ == TopOrder::kName) return a.key.second < b.key.second;
    if (order_ == TopOrder::kLaunches) return a.kernel->launches > b.kernel->launches;
    if (order_ == TopOrder::kTime && a.gained != b.gained) return a.gained > b.gained;
    return a.kernel->seconds > b.kernel->seconds;
  });
  return rows;
}

std::string TopView::OrderText() const {
  const bool is_total = order_ == TopOrder::kTime && !gain_;  // of one page
  return kOrders.at(static_cast<std::size_t>(is_total ? TopOrder::kTotal : order_)).second;
}

double TopView::ShareOf(const Row& row) const {
  double all = 0;
  if (gain_) {
    for (const auto& [key, seconds] : gain_->seconds) all += seconds;
    return row.gained / all;
  }
  for (const auto& [key, kernel] : page_->kernels) all += kernel.seconds;
  return all > 0 ? row.kernel->seconds / all : 0.0;
}

void TopView::WriteHead(TextPage& page) const {
  page.Rule("fa-profile top");
  std::vector<std::string> facts{page.Safe(address_)};
  if (page_) {
    if (page_->simulated) facts.insert(facts.begin(), "SIMULATED");
    if (!page_->version.empty()) facts.push_back("serve " + page.Safe(page_->version));
    std::string recordings = fmt::format("{} recordings", FormatCount(page_->counted));
    if (page_->recording_age_seconds) recordings += ", the newest " + AgeText(*page_->recording_age_seconds) + " ago";
    if (page_->bad > 0) recordings += fmt::format(", {} bad", FormatCount(page_->bad));
    facts.push_back(recordings);
  }
  page.Line(fmt::format("{}", fmt::join(facts, page.separator())));
  if (page_ && !page_->down.empty()) {
    page.Line(page.Safe(fmt::format("Not working: {}. The log of serve has the reason.", fmt::join(page_->down, ", "))),
              Style::kBad);
  }
  if (!problem_.empty()) page.Line(page.Safe(problem_), Style::kBad);
}

Cell TopView::Trend(const std::string& gpu, Bars bars) const {
  const auto busy = busy_.find(gpu);
  if (busy == busy_.end() || busy->second.size() < 2) return {};
  const std::vector<double> values(busy->second.begin(), busy->second.end());
  return {exporters::Sparkline(values, 0, 1, bars)};
}

std::vector<Cell> TopView::GpuRow(const TextPage& page, const std::string& label, const TopGpu& gpu) const {
  std::vector<Cell> row{{page.Safe(label)}};
  if (IsWide(page)) row.push_back({page.Safe(gpu.name)});
  row.push_back({ShortPercent(gpu.busy_ratio)});
  AddBar(page, gpu.busy_ratio.value_or(0), row);
  if (page.bars() != Bars::kNone && IsWide(page)) row.push_back(Trend(label, page.bars()));
  for (const auto& ratio : {gpu.sm_active_ratio, gpu.tensor_ratio, gpu.dram_ratio}) {
    row.push_back({ShortPercent(ratio)});
  }
  row.push_back({OfLimit(gpu.power_watts, gpu.power_limit_watts, "W")});
  row.push_back({OfLimit(gpu.temperature_celsius, std::nullopt, "C")});
  if (IsWide(page)) row.push_back({FormatValue(gpu.sm_clock_hz, "hertz")});
  if (IsWide(page)) row.push_back({MemoryText(gpu)});
  row.push_back({page.Safe(TroubleText(gpu)), Style::kBad});
  return row;
}

void TopView::WriteGpus(TextPage& page, std::size_t most) const {
  if (!page_ || page_->gpus.empty()) return;
  std::vector<Column> columns{{"GPU"}};
  if (IsWide(page)) columns.push_back({"name", true});
  columns.push_back({"busy%"});
  AddBarColumn(page, columns);
  if (IsWide(page)) AddBarColumn(page, columns);
  columns.insert(columns.end(), {{"SM%"}, {"tensor%"}, {"DRAM%"}, {"power"}, {"temp"}});
  if (IsWide(page)) columns.insert(columns.end(), {{"SM clock"}, {"memory"}});
  columns.push_back({"", true});
  std::vector<std::vector<Cell>> rows;
  for (const auto& [label, gpu] : page_->gpus) {
    if (rows.size() < most) rows.push_back(GpuRow(page, label, gpu));
  }
  page.Line();
  const std::size_t all = page_->gpus.size();
  page.Rule(rows.size() < all ? fmt::format("GPUs: {} of {}", rows.size(), all) : "GPUs");
  page.Table(columns, rows);
}

std::vector<Cell> TopView::KernelRow(const TextPage& page, const Row& of, const TopKey* marked) const {
  const TopKernel& kernel = *of.kernel;
  const bool selected = marked != nullptr && of.key == *marked;
  const double share = ShareOf(of);
  std::string name = marked == nullptr ? "" : selected ? "> " : "  ";
  name += page.Safe(of.key.second);
  if (kernel.incorrect) name += " NOT CORRECT";
  const Style style = kernel.incorrect ? Style::kBad : selected ? Style::kBold : Style::kPlain;
  std::vector<Cell> row{{page.Safe(of.key.first)}, {name, style}, {ShortPercent(share)}};
  if (IsWide(page)) AddBar(page, share, row);
  if (gain_) row.push_back({TimeText(of.gained)});
  row.push_back({TimeText(kernel.seconds)});
  if (IsWide(page)) row.push_back({FormatCount(kernel.launches)});
  row.push_back({kernel.timed > 0 ? TimeText(kernel.seconds / kernel.timed) : "n/a"});
  if (IsWide(page)) row.push_back({ShortPercent(kernel.tensor_ratio)});
  if (IsWide(page)) row.push_back({ShortPercent(kernel.occupancy_ratio)});
  const auto phases = ByCycles(kernel, nullptr);
  row.push_back({phases.empty() ? "n/a"
                                : page.Safe(phases.front().first) + " " +
                                      ShortPercent(phases.front().second / SumOf(phases)) + "%"});
  return row;
}

void TopView::WriteKernels(TextPage& page, const std::vector<Row>& rows, std::size_t first, std::size_t most,
                           const TopKey* marked) const {
  if (!page_) return;
  const std::size_t end = std::min(rows.size(), first + most);
  page.Line();
  page.Rule(fmt::format("Kernels by {}{}", OrderText(),
                        end - first < rows.size() ? fmt::format(", {} to {} of {}", first + 1, end, rows.size()) : ""));
  if (rows.empty()) {
    page.Line("No kernel was counted: recordings in the spool of serve bring them.");
    return;
  }
  std::vector<Column> columns{{"GPU"}, {"kernel", true}, {"share%"}};
  if (IsWide(page)) AddBarColumn(page, columns);
  if (gain_) columns.push_back({"newest"});
  columns.push_back({"total"});
  if (IsWide(page)) columns.push_back({"launches"});
  columns.push_back({"mean"});
  if (IsWide(page)) columns.insert(columns.end(), {{"tensor%"}, {"occ%"}});
  columns.push_back({"top phase", true});
  std::vector<std::vector<Cell>> cells;
  for (std::size_t i = first; i < end; ++i) cells.push_back(KernelRow(page, rows[i], marked));
  page.Table(columns, cells);
}

void TopView::WritePhases(TextPage& page, const Row& row, std::size_t most) const {
  const auto gained =
      gain_ ? gain_->phase_cycles.find(row.key) : std::map<TopKey, std::map<std::string, double>>::const_iterator{};
  const bool newest = gain_ && gained != gain_->phase_cycles.end();
  const auto phases = ByCycles(*row.kernel, newest ? &gained->second : nullptr);
  if (phases.empty()) return;
  std::vector<Column> columns{{"phase", true}, {"share%"}};
  AddBarColumn(page, columns);
  columns.push_back({"top stalls %", true});
  std::vector<std::vector<Cell>> rows;
  for (const auto& [name, cycles] : phases) {
    if (rows.size() == most) break;
    std::vector<Cell> cells{{page.Safe(name)}, {ShortPercent(cycles / SumOf(phases))}};
    AddBar(page, cycles / phases.front().second, cells);
    const auto phase = row.kernel->phases.find(name);
    cells.push_back({phase == row.kernel->phases.end() ? "" : page.Safe(StallsText(phase->second))});
    rows.push_back(std::move(cells));
  }
  page.Line();
  page.Rule(fmt::format("Phases of {} on GPU {}{}", page.Safe(row.key.second), page.Safe(row.key.first),
                        newest ? ", newest" : ""));
  page.Table(columns, rows);
}

void TopView::WriteAll(std::ostream& out, const ReportOptions& look) const {
  TextPage page(out, look);
  WriteHead(page);
  WriteGpus(page, kEveryRow);
  const std::vector<Row> rows = Rows();
  WriteKernels(page, rows, 0, kEveryRow, /*marked=*/nullptr);
  for (const Row& row : rows) WritePhases(page, row, kEveryRow);
}

void TopView::WriteScreen(std::ostream& out, const ReportOptions& look, std::size_t height) const {
  std::ostringstream above;
  TextPage top_page(above, look);
  WriteHead(top_page);
  WriteGpus(top_page, std::max<std::size_t>(1, height / kPartOfHeight));
  const std::vector<Row> rows = Rows();
  const auto found = std::ranges::find_if(rows, [&](const Row& row) { return row.key == selected_; });
  const std::size_t selected = found == rows.end() ? 0 : static_cast<std::size_t>(found - rows.begin());
  std::ostringstream below;
  TextPage phase_page(below, look);
  if (!rows.empty())
    WritePhases(phase_page, rows[selected], std::clamp(height / kPartOfHeight, kLeastPhases, kMostPhases));
  phase_page.Line(fmt::format("q: end   up, down: kernel   s: sort, now by {}", OrderText()), Style::kDim);
  // A blank line, the title and the columns of the kernels.
  const std::size_t used = LinesOf(above.str()) + LinesOf(below.str()) + 3;
  const std::size_t room = std::max(kLeastKernels, height > used ? height - used : 0);
  const std::size_t first = selected < room ? 0 : selected - room + 1;
  out << above.str();
  TextPage page(out, look);
  WriteKernels(page, rows, first, room, rows.empty() ? nullptr : &rows[selected].key);
  out << below.str();
}

}  // namespace fa_profile::top
