#include "fa_profile/text_page.h"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "fa_profile/text.h"

namespace fa_profile::exporters {
namespace {

constexpr int kMinWidth = 40;
constexpr std::size_t kMinColumn = 4;
constexpr std::size_t kMostOfAText = 2000;  // columns: twenty lines

std::string Pad(const std::string& text, std::size_t width, bool left) {
  const std::size_t used = DisplayWidth(text);
  const std::string blanks(used < width ? width - used : 0, ' ');
  return left ? text + blanks : blanks + text;
}

std::string TrimRight(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// Words in lines of at most `first` columns, then `others`; both at least 2, which fits any character. At least one
/// line. A word longer than a line is broken rather than cut: it may be a metric's name.
std::vector<std::string> Wrapped(std::string_view text, std::size_t first, std::size_t others) {
  std::vector<std::string> lines{""};
  const auto room = [&] { return (lines.size() == 1 ? first : others) - DisplayWidth(lines.back()); };
  std::istringstream words{std::string(text)};
  for (std::string each; words >> each;) {
    std::string_view word = each;
    if (!lines.back().empty()) {
      if (DisplayWidth(word) < room()) {
        lines.back() += ' ';
      } else {
        lines.emplace_back();
      }
    }
    for (std::string_view part = Prefix(word, room()); part != word; part = Prefix(word, room())) {
      lines.back() += part;
      word.remove_prefix(part.size());
      lines.emplace_back();
    }
    lines.back() += word;
  }
  return lines;
}

}  // namespace

TextPage::TextPage(std::ostream& out, const ReportOptions& options)
    : out_(out),
      width_(static_cast<std::size_t>(std::max(options.width, kMinWidth))),
      color_(options.color),
      ascii_(options.ascii),
      bars_(options.bars) {}

std::string TextPage::Safe(std::string_view text) const {
  constexpr std::size_t kMostBytes =
      4 * (kMostOfAText + 1);  // a character has at most four bytes: the rest is cut anyway
  return Truncate(Printable(text.substr(0, kMostBytes), ascii_), kMostOfAText);
}

std::string TextPage::Paint(std::string_view text, Style style) const {
  if (!color_ || style == Style::kPlain || text.empty()) return std::string(text);
  const char* code = style == Style::kBold ? "1" : style == Style::kDim ? "2" : style == Style::kGood ? "32" : "31";
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

void TextPage::Line(std::string_view text, Style style) { out_ << Paint(Truncate(text, width_), style) << '\n'; }

void TextPage::Rule(std::string_view title) {
  const std::string dash = ascii_ ? "-" : "\u2500";
  std::string head = title.empty() ? "" : dash + dash + " " + Truncate(title, width_ - 4) + " ";
  std::string tail;
  for (std::size_t used = DisplayWidth(head); used < width_; ++used) tail += dash;
  if (title.empty()) {
    out_ << Paint(tail, Style::kDim) << '\n';
  } else {
    out_ << Paint(head, Style::kBold) << Paint(tail, Style::kDim) << '\n';
  }
}

void TextPage::Paragraph(std::string_view lead, std::string_view text) {
  const std::string head = Truncate(lead, width_ - 2);
  const std::size_t indent = std::min(DisplayWidth(head), kMaxIndent);
  const std::vector<std::string> lines = Wrapped(text, width_ - DisplayWidth(head), width_ - indent);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out_ << TrimRight((i == 0 ? head : std::string(indent, ' ')) + lines[i]) << '\n';
  }
}

void TextPage::Table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = DisplayWidth(columns[c].title);
    for (const auto& row : rows) width = std::max(width, DisplayWidth(row[c].text));
    widths.push_back(width);
  }
  const auto total = [&](std::size_t gap) {
    std::size_t sum = gap * (widths.size() - 1);
    for (const std::size_t width : widths) sum += width;
    return sum;
  };
  const std::size_t gap = total(2) <= width_ ? 2 : 1;
  while (total(gap) > width_) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const bool cut = columns[c].left && widths[c] > kMinColumn;
      if (cut && (widest == widths.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == widths.size()) break;  // Line ends are cut below.
    --widths[widest];
  }

  std::vector<Cell> titles;
  for (const Column& column : columns) titles.push_back({column.title, Style::kBold});
  PrintLine(columns, widths, gap, titles);
  for (const auto& row : rows) PrintRow(columns, widths, gap, row);
}

void TextPage::Row(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                   const std::vector<Cell>& row) {
  PrintRow(columns, widths, 1, row);
}

void TextPage::PrintRow(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t gap,
                        const std::vector<Cell>& row) {
  std::vector<std::vector<std::string>> texts;
  std::size_t lines = 1;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool wraps = columns[c].wraps && DisplayWidth(row[c].text) > widths[c];
    texts.push_back(wraps ? Wrapped(row[c].text, widths[c], widths[c]) : std::vector{row[c].text});
    lines = std::max(lines, texts.back().size());
  }
  for (std::size_t i = 0; i < lines; ++i) {
    std::vector<Cell> cells;
    for (std::size_t c = 0; c < columns.size(); ++c)
      cells.push_back({i < texts[c].size() ? texts[c][i] : "", row[c].style});
    PrintLine(columns, widths, gap, cells);
  }
}

void TextPage::PrintLine(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t gap,
                         const std::vector<Cell>& cells) {
  std::size_t used = 0;
  std::string line;
  for (std::size_t c = 0; c < columns.size() && used < width_; ++c) {
    const std::size_t room = std::min(widths[c], width_ - used);
    std::string cell = Pad(Truncate(cells[c].text, room), room, columns[c].left);
    if (c + 1 == columns.size()) cell = TrimRight(cell);
    line += Paint(cell, cells[c].style);
    used += room;
    if (c + 1 == columns.size() || used + gap >= width_) break;
    line += std::string(gap, ' ');
    used += gap;
  }
  out_ << TrimRight(line) << '\n';
}

void TextPage::Grid(const std::vector<std::pair<std::string, std::string>>& cells, std::size_t indent) {
  constexpr std::size_t kGap = 3;
  std::size_t label_width = 0;
  std::size_t value_width = 0;
  for (const auto& [label, value] : cells) {
    label_width = std::max(label_width, DisplayWidth(label));
    value_width = std::max(value_width, DisplayWidth(value));
  }
  const std::size_t cell_width = label_width + 1 + value_width;
  const std::size_t room = width_ - std::min(indent, width_);
  const std::size_t columns = std::max<std::size_t>(1, (room + kGap) / (cell_width + kGap));
  // Down, then across: neighbours in the catalogue stay below each other.
  const std::size_t lines = (cells.size() + columns - 1) / columns;
  for (std::size_t line = 0; line < lines; ++line) {
    std::string text(indent, ' ');
    for (std::size_t i = line; i < cells.size(); i += lines) {
      if (i != line) text += std::string(kGap, ' ');
      text += Pad(cells[i].first, label_width, true) + " " + Pad(cells[i].second, value_width, false);
    }
    Line(text);
  }
}

}  // namespace fa_profile::exporters
