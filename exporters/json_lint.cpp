// JSON of machine code: kernels of files and of packages.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/lint_report.h"
#include "json_parts.h"

namespace fa_profile::exporters {
namespace {

using Json = nlohmann::ordered_json;

Json AccessesJson(const LocalAccesses& accesses) {
  return {{"stores", accesses.stores},
          {"loads", accesses.loads},
          {"store_bytes", accesses.store_bytes},
          {"load_bytes", accesses.load_bytes}};
}

Json PhaseJson(const PhaseCode& row) {
  Json json = {{"phase", row.phase}, {"loop_depth", row.loop_depth}, {"instructions", row.instructions}};
  for (const char* const count : kLintCounts) json[count] = row.counts.at(count);
  return json;
}

Json KernelJson(const KernelLint& k) {
  Json json = {{"file", k.file},
               {"architecture", k.architecture},
               {"name", k.name},
               {"symbol", k.symbol},
               {"code_hash", fmt::format("{:016x}", k.code_hash)},
               {"code_bytes", k.code_bytes},
               {"line_information", k.has_line_information},
               {"registers_per_thread", OrNull(k.registers_per_thread)},
               {"stack_frame_bytes", OrNull(k.stack_frame_bytes)},
               {"spills", AccessesJson(k.spills)},
               {"arrays", AccessesJson(k.arrays)},
               {"static_shared_memory_bytes", k.static_shared_memory_bytes},
               {"dynamic_shared_memory_bytes", OrNull(k.dynamic_shared_memory_bytes)},
               {"threads_per_block", OrNull(k.threads_per_block)},
               {"threads_source", KnownText(k.threads_source)},
               {"occupancy", k.occupancy ? JsonOf(*k.occupancy) : Json(nullptr)},
               {"occupancy_limit_ratio", OrNull(k.occupancy_limit_ratio)},
               {"externals", k.externals},
               {"unknown_branches", k.unknown_branches},
               {"attribution", k.attribution},
               {"inference", k.inference ? JsonOf(*k.inference) : Json(nullptr)},
               {"phases", ArrayOf(k.phases, PhaseJson)},
               {"findings", ArrayOf(k.findings, [](const Finding& finding) { return JsonOf(finding); })}};
  // Machine code alone has no grid and no cost.
  if (k.occupancy) json["occupancy"].erase("waves");
  for (Json& finding : json["findings"]) {
    finding.erase("cause");
    finding.erase("weight");
  }
  return json;
}

Json SkippedJson(const std::vector<SkippedFile>& files) {
  return ArrayOf(files, [](const SkippedFile& file) {
    return Json{{"file", KnownText(file.file)}, {"why", file.why}};
  });
}

/// A row for each kernel as soon as it arrives; what is only known at the end follows.
class JsonPackage : public PackageWriter {
 public:
  explicit JsonPackage(std::ostream& out) : out_(out) {}
  void Kernel(const std::string&, const KernelLint& kernel) override {
    Begin();
    out_ << (std::exchange(has_rows_, true) ? ",\n" : "\n") << Text(KernelJson(kernel), 4);
  }
  void End(const PackageLint& package) override {
    Json refused = Json::object();
    for (const auto& [word, count] : package.refused) refused[word] = count;
    const Json end = {{"name", package.package},
                      {"complete", package.is_complete},
                      {"total", package.is_complete  ? Json(package.found)
                                : package.total == 0 ? Json(nullptr)
                                                     : Json(package.total)},
                      {"files", package.files},
                      {"kernels", package.kernels},
                      {"not_attention", std::move(refused)},
                      {"found", package.found},
                      {"read", package.read},
                      {"skipped_files", package.skipped_files},
                      {"skipped", SkippedJson(package.skipped)}};
    Begin();
    out_ << (has_rows_ ? "\n  ],\n" : "],\n") << "  \"cubins\": null,\n  \"package\":\n" << Text(end, 2) << "\n}\n";
  }

 private:
  void Begin() {
    if (std::exchange(begun_, true)) return;
    out_ << "{\n  \"format\": \"fa-profile lint\",\n  \"version\": " << kJsonVersion << ",\n  \"kernels\": [";
  }
  /// Its lines, indented.
  static std::string Text(const Json& json, std::size_t indent) {
    std::string text(indent, ' ');
    for (const char c : JsonText(json)) {
      text += c;
      if (c == '\n') text.append(indent, ' ');
    }
    return text;
  }

  std::ostream& out_;
  bool begun_ = false;
  bool has_rows_ = false;
};

}  // namespace

void WriteJsonLint(std::ostream& out, const FileLint& lint, const ReportOptions&) {
  WriteJsonDocument(out, {{"format", "fa-profile lint"},
                          {"version", kJsonVersion},
                          {"package", nullptr},
                          {"cubins",
                           {{"complete", lint.is_complete},
                            {"found", lint.found},
                            {"read", lint.read},
                            {"skipped", SkippedJson(lint.skipped)}}},
                          {"kernels", ArrayOf(lint.kernels, KernelJson)}});
}

std::unique_ptr<PackageWriter> JsonPackageWriter(std::ostream& out, const ReportOptions&) {
  return std::make_unique<JsonPackage>(out);
}

}  // namespace fa_profile::exporters
