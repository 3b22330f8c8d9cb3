#include "fa_profile/html_report.h"

#include <ostream>
#include <sstream>
#include <type_traits>
#include <utility>

#include "fa_profile/code_report.h"
#include "fa_profile/text.h"
#include "page.h"

namespace fa_profile::exporters {
namespace {

template <typename... Values>
std::string DocumentOf(void (*write)(std::ostream&, const Values&...), const std::type_identity_t<Values>&... values) {
  std::ostringstream out;
  write(out, values...);
  return CompactJson(std::move(out).str());
}

std::string TitleOf(const char* what, const Device& device) {
  constexpr std::size_t kMostCharacters = 80;
  const std::string title = std::string("fa-profile ") + what;
  return device.name.empty() ? title : title + " \u00B7 " + SafeLine(device.name, kMostCharacters);
}

/// The listings without their instructions: what the page knows before code is opened.
std::vector<InstructionListing> HeadsOf(const std::vector<InstructionListing>& listings) {
  std::vector<InstructionListing> heads;
  for (const InstructionListing& listing : listings) heads.push_back({listing.code, {}, listing.of_instructions});
  return heads;
}

/// [instructions, source] of one function.
std::string CodeDocument(const ReportCode& code, std::size_t i, const ReportOptions& options) {
  SourceListing lines = code.lines[i];
  lines.instructions.clear();  // the same as in the other document
  return "[" + DocumentOf(WriteJsonInstructions, {code.instructions[i]}, options) + "," +
         DocumentOf(WriteJsonSource, {lines}, options) + "]";
}

}  // namespace

void WriteHtmlReport(std::ostream& out, const Profile& profile, const ReportCode& code, const ReportOptions& options) {
  std::vector<PageDocument> documents = {
      {"report", DocumentOf(WriteJsonReport, profile, options)},
      {"code", DocumentOf(WriteJsonInstructions, HeadsOf(code.instructions), options)}};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < code.instructions.size() && bytes < code.most_bytes; ++i) {
    if (code.instructions[i].instructions.empty()) continue;
    std::string packed = Pack(CodeDocument(code, i, options));
    bytes += packed.size();
    if (bytes < code.most_bytes) documents.push_back({"code-" + std::to_string(i), std::move(packed), true});
  }
  out << HtmlPage(TitleOf("report", profile.device), documents);
}

void WriteHtmlDiff(std::ostream& out, const ProfileDiff& diff, const Profile& before, const Profile& after,
                   const ReportOptions& options) {
  out << HtmlPage(TitleOf("diff", after.device), {{"diff", DocumentOf(WriteJsonDiff, diff, before, after, options)},
                                                  {"before", DocumentOf(WriteJsonReport, before, options)},
                                                  {"after", DocumentOf(WriteJsonReport, after, options)}});
}

void WriteHtmlRanks(std::ostream& out, const RankReport& report, const ReportOptions& options) {
  out << HtmlPage(TitleOf("ranks", report.ranks.empty() ? Device() : report.ranks.front().device),
                  {{"ranks", DocumentOf(WriteJsonRanks, report, options)}});
}

std::string HtmlGate(const std::string& gate_json) {
  return HtmlPage("fa-profile gate", {{"gate", CompactJson(gate_json)}});
}

}  // namespace fa_profile::exporters
