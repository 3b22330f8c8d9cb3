#pragma once

#include <cstddef>
#include <deque>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/report.h"
#include "fa_profile/text_page.h"
#include "fa_profile/top_page.h"

namespace fa_profile::top {

/// What kernels are sorted by.
enum class TopOrder { kTime, kTotal, kLaunches, kName };

/// Pages of a server as tables: its GPUs, kernels and phases. Texts of pages are printed with what a terminal obeys
/// escaped.
class TopView {
 public:
  explicit TopView(std::string address) : address_(std::move(address)) {}

  void Add(TopPage page);
  /// Why there is no newer page, in one line; empty: there is one.
  void set_problem(std::string problem) { problem_ = std::move(problem); }

  /// The next order.
  void NextOrder();
  /// Selects the kernel so many rows below, whose phases are shown. Before that it is the first, whichever that is.
  void Select(int rows);

  /// Every kernel, and the phases of each: for a pipe.
  void WriteAll(std::ostream& out, const exporters::ReportOptions& look) const;
  /// As many kernels as fit into `height` lines, the phases of the selected one, and what the keys do.
  void WriteScreen(std::ostream& out, const exporters::ReportOptions& look, std::size_t height) const;

 private:
  struct Row {
    TopKey key;
    const TopKernel* kernel = nullptr;
    double gained = 0;
  };

  std::vector<Row> Rows() const;
  std::string OrderText() const;
  double ShareOf(const Row& row) const;
  exporters::Cell Trend(const std::string& gpu, exporters::Bars bars) const;
  std::vector<exporters::Cell> GpuRow(const exporters::TextPage& page, const std::string& label,
                                      const TopGpu& gpu) const;
  std::vector<exporters::Cell> KernelRow(const exporters::TextPage& page, const Row& of, const TopKey* marked) const;
  void WriteHead(exporters::TextPage& page) const;
  void WriteGpus(exporters::TextPage& page, std::size_t most) const;
  void WriteKernels(exporters::TextPage& page, const std::vector<Row>& rows, std::size_t first, std::size_t most,
                    const TopKey* marked) const;
  void WritePhases(exporters::TextPage& page, const Row& row, std::size_t most) const;

  std::string address_;
  std::string problem_;
  std::optional<TopPage> page_;
  std::optional<TopGain> gain_;                               ///< of the newest page that had any
  std::map<std::string, std::deque<double>, GpuOrder> busy_;  ///< of the newest pages, by GPU
  TopOrder order_ = TopOrder::kTime;
  std::optional<TopKey> selected_;
};

}  // namespace fa_profile::top
