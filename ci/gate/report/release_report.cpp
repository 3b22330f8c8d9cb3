#include "fa_profile/release_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "fa_profile/demangle.h"
#include "fa_profile/text.h"
#include "fa_profile/units.h"
#include "markdown_text.h"

namespace fa_profile::gate {
namespace {

using ReleaseJson = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

constexpr std::size_t kMostUnknownLines = 10;

std::string Bytes(std::int64_t bytes) { return FormatValue(static_cast<double>(bytes), "bytes"); }
std::string Count(int count) { return FormatCount(count); }

/// "0 -> 55", or one value where nothing changed.
std::string BeforeAfter(const std::string& before, const std::string& after) {
  return before == after ? after : before + " -> " + after;
}

std::string ChangeText(const ReleaseChange& change) {
  if (change.metric == "device_debug") return change.label;
  const std::string_view unit = change.unit;
  const auto shown = [&](const std::optional<double>& value) { return FormatValue(value, unit); };
  const auto exact = [&](const std::optional<double>& value) {
    return value && unit == "count" ? FormatCount(*value) : shown(value);
  };
  std::string text = change.label + " " +
                     (change.before ? BeforeAfter(exact(change.before), exact(change.after)) : exact(change.after));
  if (!change.rule.empty()) text += " (" + change.rule + ")";
  if (change.verdict == Verdict::kRegression && !change.blocking) text += " (warning)";
  return text;
}

std::string ChangesText(const ReleaseRow& row) {
  std::string text;
  for (const ReleaseChange& change : row.changes) text += (text.empty() ? "" : ", ") + ChangeText(change);
  return text.empty() ? "other code, the same in every count" : text;
}

std::string WordOf(const ReleaseRow& row) {
  using enum ReleaseRow::Kind;
  if (row.kind == kLost) return row.is_allowed ? "lost, allowed" : "lost";
  if (row.verdict == Verdict::kRegression) return "worse";
  if (row.kind == kNew) return "new";
  if (row.verdict == Verdict::kImproved) return "better";
  return row.verdict == Verdict::kSuspect ? "suspect" : row.verdict == Verdict::kInconclusive ? "unknown" : "changed";
}

std::string WordOf(const ReleaseArchitecture& row) {
  if (row.after == 0 && row.before > 0) return row.is_allowed ? "lost, allowed" : "lost";
  return row.before == 0 ? "new" : "";
}

std::vector<Cells> ArchitectureTable(const ReleaseResult& result) {
  std::vector<Cells> table = {
      {"architecture", "kernels", "same", "changed", "worse", "better", "new", "lost", "code", ""}};
  for (const ReleaseArchitecture& row : result.architectures) {
    const bool has_bytes = row.bytes_before + row.bytes_after > 0;
    table.push_back({row.name, BeforeAfter(Count(row.before), Count(row.after)), Count(row.same), Count(row.changed),
                     Count(row.worse), Count(row.improved), Count(row.added), Count(row.lost),
                     has_bytes ? BeforeAfter(Bytes(row.bytes_before), Bytes(row.bytes_after)) : "-", WordOf(row)});
  }
  return table;
}

std::vector<Cells> SideTable(const ReleaseResult& result) {
  std::vector<Cells> table;
  for (const auto& [name, side] : {std::pair("old", &result.before), std::pair("new", &result.after)}) {
    table.push_back(
        {name, SafeLine(side->origin, 120), Bytes(side->package_bytes),
         fmt::format("{} kernels, {} with every architecture and file", Count(side->names), Count(side->kernels)),
         Bytes(side->code_bytes) + " of code"});
  }
  return table;
}

std::string KernelTitle(const ReleaseRow& row) {
  constexpr std::size_t kMost = 90;
  return SafeLine(ShortName(row.kernel, kMost), kMost);
}

/// Rows of one kernel with the same changes, for several architectures or in several files.
struct ReleaseEntry {
  std::string word;
  std::string title;
  std::string changes;  ///< empty: nothing to say
  std::vector<std::string> architectures;
  std::vector<std::string> files;
};

std::vector<ReleaseEntry> EntriesOf(const ReleaseResult& result) {
  std::vector<ReleaseEntry> entries;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  const auto add = [](std::vector<std::string>& list, const std::string& one) {
    if (!one.empty() && std::ranges::find(list, one) == list.end()) list.push_back(one);
  };
  for (const ReleaseRow& row : result.rows) {
    const bool has_changes = row.before && row.after;
    const std::string changes = row.changes.empty() && !has_changes ? "" : ChangesText(row);
    const auto [place, is_new] = places.emplace(std::tuple(WordOf(row), row.kernel, changes), entries.size());
    if (is_new) entries.push_back({WordOf(row), KernelTitle(row), changes, {}, {}});
    add(entries[place->second].architectures, row.architecture);
    add(entries[place->second].files, row.file);
  }
  for (ReleaseEntry& entry : entries) std::ranges::sort(entry.architectures);
  return entries;
}

std::string WhereOf(const ReleaseEntry& entry) {
  std::string where;
  for (const std::string& one : entry.architectures) where += (where.empty() ? "" : ", ") + one;
  if (entry.files.size() == 1) return where + ", in " + SafeLine(entry.files.front(), 100);
  return entry.files.empty() ? where : fmt::format("{}, in {} files", where, entry.files.size());
}

std::size_t Shown(std::size_t entries, std::size_t rows) { return rows == 0 ? entries : std::min(rows, entries); }

/// A CI system obeys "::name" at the start of a line and "##[name]" anywhere in it.
std::string Harmless(std::string text) {
  if (text.starts_with("::")) text.insert(0, " ");
  for (std::size_t at = text.find("##["); at != std::string::npos; at = text.find("##[", at)) text.insert(at + 2, " ");
  return text;
}

ReleaseJson JsonOf(const ReleaseSide& side) {
  return {{"origin", side.origin},         {"package_bytes", side.package_bytes},
          {"code_bytes", side.code_bytes}, {"files", side.files},
          {"kernels", side.kernels},       {"names", side.names}};
}

ReleaseJson JsonOf(const ReleaseChange& change) {
  ReleaseJson json = {{"metric", change.metric}, {"unit", change.unit}};
  if (change.before) json["before"] = *change.before;
  if (change.after) json["after"] = *change.after;
  json["verdict"] = ToString(change.verdict);
  json["blocking"] = change.blocking;
  if (!change.rule.empty()) json["rule"] = change.rule;
  return json;
}

ReleaseJson JsonOf(const ReleaseRow& row) {
  static constexpr const char* kKinds[] = {"changed", "new", "lost"};
  ReleaseJson json = {{"kernel", row.kernel},
                      {"architecture", row.architecture},
                      {"file", row.file},
                      {"kind", kKinds[static_cast<int>(row.kind)]},
                      {"verdict", ToString(row.verdict)},
                      {"allowed", row.is_allowed},
                      {"changes", ReleaseJson::array()}};
  for (const ReleaseChange& change : row.changes) json["changes"].push_back(JsonOf(change));
  return json;
}

ReleaseJson JsonOf(const ReleaseArchitecture& row) {
  return {{"architecture", row.name},
          {"before", row.before},
          {"after", row.after},
          {"same", row.same},
          {"changed", row.changed},
          {"worse", row.worse},
          {"better", row.improved},
          {"new", row.added},
          {"lost", row.lost},
          {"bytes_before", row.bytes_before},
          {"bytes_after", row.bytes_after},
          {"verdict", ToString(row.verdict)},
          {"allowed", row.is_allowed}};
}

}  // namespace

std::string ReleaseText(const ReleaseResult& result, std::size_t rows) {
  std::string text = Harmless(SafeLine(ToString(result.verdict) + ": " + result.headline, 1000)) + "\n\n";
  text += AlignColumns(SideTable(result)) + "\n";
  text += AlignColumns(ArchitectureTable(result)) + "\n";
  const std::vector<ReleaseEntry> entries = EntriesOf(result);
  const std::size_t shown = Shown(entries.size(), rows);
  for (const ReleaseEntry& entry : std::span(entries).first(shown)) {
    text += Harmless(fmt::format("{:<13} {}  [{}]", entry.word, entry.title, WhereOf(entry))) + "\n";
    if (!entry.changes.empty()) text += std::string(14, ' ') + Harmless(SafeLine(entry.changes, 1000)) + "\n";
  }
  if (shown < entries.size()) {
    text += fmt::format("{} more; --rows 0 lists all\n", FormatCount(static_cast<double>(entries.size() - shown)));
  }
  if (shown > 0) text += "\n";
  const std::size_t unknown = std::min(result.unknown.size(), kMostUnknownLines);
  for (const std::string& line : std::span(result.unknown).first(unknown)) {
    text += "unknown  " + Harmless(SafeLine(line, 1000)) + "\n";
  }
  if (unknown < result.unknown.size()) text += fmt::format("unknown  {} more\n", result.unknown.size() - unknown);
  for (const std::string& note : result.notes) text += "note     " + Harmless(SafeLine(note, 1000)) + "\n";
  return text;
}

std::string ReleaseMarkdown(const ReleaseResult& result, std::size_t rows) {
  constexpr std::size_t kMostBytes = 65'536;
  constexpr std::size_t kKeptBytes = 2'048;  // for what follows the rows
  std::string text = "<!-- fa-profile release -->\n**" + ToString(result.verdict) +
                     "**: " + MarkdownProse(result.headline, 1000) + "\n\n";
  const auto put_row = [&](const Cells& cells) {
    for (const std::string& cell : cells) text += "| " + cell + " ";
    text += "|\n";
  };
  const auto put_head = [&](const Cells& cells) {
    put_row(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) text += "|---";
    text += "|\n";
  };
  put_head({"", "package", "size", "kernels", "code"});
  for (Cells cells : SideTable(result)) {
    cells[1] = MarkdownCode(cells[1]);
    put_row(cells);
  }
  text += "\n";
  const std::vector<Cells> architectures = ArchitectureTable(result);
  put_head(architectures.front());
  for (Cells cells : std::span(architectures).subspan(1)) {
    cells[0] = MarkdownCode(cells[0]);
    put_row(cells);
  }
  text += "\n";
  const std::vector<ReleaseEntry> entries = EntriesOf(result);
  std::size_t shown = 0;
  if (!entries.empty()) put_head({"", "kernel", "for", "change"});
  for (; shown < Shown(entries.size(), rows); ++shown) {
    const ReleaseEntry& entry = entries[shown];
    const std::size_t before = text.size();
    put_row({entry.word, MarkdownCode(entry.title), MarkdownCode(WhereOf(entry), 200),
             entry.changes.empty() ? "" : MarkdownProse(entry.changes, 600)});
    if (text.size() <= kMostBytes - kKeptBytes) continue;
    text.resize(before);
    break;
  }
  if (shown < entries.size()) {
    text += fmt::format("\n{} more rows.\n", FormatCount(static_cast<double>(entries.size() - shown)));
  }
  std::string end;
  for (const std::string& line : result.unknown) end += "\n- unknown: " + MarkdownProse(line);
  for (const std::string& note : result.notes) end += "\n- " + MarkdownProse(note);
  if (text.size() + end.size() + 1 > kMostBytes) {
    end = fmt::format("\n- {} unknown, {} notes: --json FILE writes all", result.unknown.size(), result.notes.size());
  }
  return text + (end.empty() ? "" : end + "\n");
}

std::string ReleaseResultJson(const ReleaseResult& result) {
  ReleaseJson json = {{"format", "fa-profile release check"},
                      {"version", 1},
                      {"verdict", ToString(result.verdict)},
                      {"exit_code", ExitCode(result, false)},
                      {"exit_code_strict", ExitCode(result, true)},
                      {"headline", result.headline},
                      {"old", JsonOf(result.before)},
                      {"new", JsonOf(result.after)},
                      {"architectures", ReleaseJson::array()},
                      {"kernels", ReleaseJson::array()},
                      {"unknown", result.unknown},
                      {"notes", result.notes}};
  for (const ReleaseArchitecture& row : result.architectures) json["architectures"].push_back(JsonOf(row));
  for (const ReleaseRow& row : result.rows) json["kernels"].push_back(JsonOf(row));
  return json.dump(1, ' ', true, ReleaseJson::error_handler_t::replace) + "\n";
}

}  // namespace fa_profile::gate
