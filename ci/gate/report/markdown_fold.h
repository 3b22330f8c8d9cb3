#pragma once

#include <string>
#include <vector>

#include "case_report.h"

/// The comment's table of cases, and its folded part.
namespace fa_profile::gate {

/// A case, and what a report says about it.
struct ToldCase {
  const CaseVerdict& of;
  CaseReport report;
};

inline constexpr std::size_t kMarkdownCharacters = 240;  ///< per text

/// A row per case: with times, or, if only machine code is compared, with what was found.
struct CaseTable {
  bool timed = true;

  std::string Head() const;  ///< two lines
  /// The row has the headline: nothing was compared, or no time.
  bool HasHeadline(const ToldCase& told) const;
  std::string Row(const ToldCase& told) const;
};

/// What did not fit before the fold.
struct FoldedContents {
  const GateResult& result;
  const std::vector<ToldCase>& cases;
  CaseTable table;
  std::size_t rows = 0;              ///< cases that are in the table above
  std::vector<std::string> reasons;  ///< each of one case, several lines
};

/// <details> of at most `room` bytes: cases, reasons and all other comparisons, counted where they do not fit; notes,
/// environment, commands.
std::string FoldedMarkdown(const FoldedContents& contents, std::size_t room);

}  // namespace fa_profile::gate
