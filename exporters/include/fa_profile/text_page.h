#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/report.h"

namespace fa_profile::exporters {

inline constexpr std::size_t kMaxIndent = 13;

enum class Style { kPlain, kBold, kDim, kGood, kBad };

struct Cell {
  std::string text;  ///< printable
  Style style = Style::kPlain;
};

struct Column {
  std::string title;
  bool left = false;   ///< aligned left, and the first to be narrowed when the table is too wide
  bool wraps = false;  ///< text that exceeds its width continues on further lines; otherwise it is cut
};

/// The output of a text exporter: knows the width, the colours and the character set.
class TextPage {
 public:
  TextPage(std::ostream& out, const ReportOptions& options);

  /// A line, cut at the width. Colours do not count.
  void Line(std::string_view text = {}, Style style = Style::kPlain);
  /// A line across the page, with a title in it.
  void Rule(std::string_view title = {});
  /// `lead` unchanged, then words wrapped at the width; lines after the first are indented by the width of `lead`, but
  /// by no more than `kMaxIndent` columns.
  void Paragraph(std::string_view lead, std::string_view text);
  /// Columns as wide as their cells; if that is too wide, left-aligned columns are narrowed, the widest first.
  void Table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows);
  /// A row of a table whose other rows are not known yet: columns with these widths, separated by a blank.
  void Row(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, const std::vector<Cell>& row);
  /// "label value" cells in as many columns as fit.
  void Grid(const std::vector<std::pair<std::string, std::string>>& cells, std::size_t indent);

  /// Text from a recording, safe to print. Text of more than 2,000 columns is cut; JSON and CSV have all of it.
  std::string Safe(std::string_view text) const;
  std::size_t width() const { return width_; }
  Bars bars() const { return bars_; }
  /// " · ", or " - " in ASCII.
  std::string_view separator() const { return ascii_ ? " - " : " \u00B7 "; }

 private:
  void PrintRow(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t gap,
                const std::vector<Cell>& row);
  void PrintLine(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t gap,
                 const std::vector<Cell>& cells);
  std::string Paint(std::string_view text, Style style) const;

  std::ostream& out_;
  std::size_t width_;
  bool color_;
  bool ascii_;
  Bars bars_;
};

}  // namespace fa_profile::exporters
