// JSON of the cost of instructions and source lines.
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fa_profile/code_report.h"
#include "json_parts.h"

namespace fa_profile::exporters {
namespace {

using Json = nlohmann::ordered_json;

/// A count, without decimals if it is whole.
Json CountJson(double value) {
  constexpr double kWhole = 0x1p53;
  return std::abs(value) < kWhole && value == std::floor(value) ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json CountJson(const std::optional<double>& value) { return value ? CountJson(*value) : Json(nullptr); }

Json ShapeJson(const std::optional<Shape>& shape) { return shape ? JsonOf(*shape) : Json(nullptr); }

Json ListedCodeJson(const ListedCode& code) {
  return {{"kernel", code.kernel},
          {"part", KnownText(code.part)},
          {"shape", ShapeJson(code.shape)},
          {"function", KnownText(code.function)},
          {"missing", KnownText(code.missing)},
          {"attribution", KnownText(code.attribution)},
          {"inference", code.inference ? JsonOf(*code.inference) : Json(nullptr)},
          {"weighed_by", KnownText(code.weighed_by)},
          {"samples", CountJson(code.samples)},
          {"call_share_ratio", OrNull(code.call_share_ratio)},
          {"counted", code.counted}};
}

void AddCost(Json& json, const CodeCost& cost) {
  json["share_ratio"] = OrNull(cost.share_ratio);
  json["samples"] = CountJson(cost.samples);
  json["stalls"] = JsonOf(cost.stalls);
  json["executed"] = CountJson(cost.executed);
  json["threads_per_instruction"] = OrNull(cost.threads_per_instruction);
  json["shared_wavefronts"] = CountJson(cost.shared_wavefronts);
  json["excess_wavefronts"] = CountJson(cost.excess_wavefronts);
  json["global_sectors"] = CountJson(cost.global_sectors);
  json["excess_sectors"] = CountJson(cost.excess_sectors);
}

Json InstructionsJson(const std::vector<ListedInstruction>& instructions) {
  Json array = Json::array();
  for (const ListedInstruction& each : instructions) {
    Json json = {{"index", each.index},
                 {"offset", each.offset},
                 {"phase", each.phase},
                 {"grade", KnownText(each.grade)},
                 {"reason", KnownText(each.reason)}};
    AddCost(json, each.cost);
    json["file"] = each.place ? Json(each.place->file) : Json(nullptr);
    json["line"] = each.place ? Json(each.place->line) : Json(nullptr);
    json["text"] = each.text;
    array.push_back(std::move(json));
  }
  return array;
}

Json LinesJson(const std::vector<ListedLine>& lines) {
  Json array = Json::array();
  for (const ListedLine& line : lines) {
    Json phases = Json::array();
    for (const PhaseShare& share : line.phases) phases.push_back({{"phase", share.phase}, {"ratio", share.ratio}});
    Json json = {
        {"file", line.file}, {"line", line.line}, {"phases", std::move(phases)}, {"instructions", line.instructions}};
    AddCost(json, line.cost);
    json["text"] = OrNull(line.text);
    array.push_back(std::move(json));
  }
  return array;
}

void WriteCodeDocument(std::ostream& out, const char* format, Json kernels) {
  WriteJsonDocument(out, {{"format", format}, {"version", kJsonVersion}, {"kernels", std::move(kernels)}});
}

}  // namespace

void WriteJsonInstructions(std::ostream& out, const std::vector<InstructionListing>& listings, const ReportOptions&) {
  Json kernels = Json::array();
  for (const InstructionListing& listing : listings) {
    Json json = ListedCodeJson(listing.code);
    json["of_instructions"] = listing.of_instructions;
    json["instructions"] = InstructionsJson(listing.instructions);
    kernels.push_back(std::move(json));
  }
  WriteCodeDocument(out, "fa-profile instructions", std::move(kernels));
}

void WriteJsonSource(std::ostream& out, const std::vector<SourceListing>& listings, const ReportOptions&) {
  Json kernels = Json::array();
  for (const SourceListing& listing : listings) {
    Json json = ListedCodeJson(listing.code);
    json["unplaced_ratio"] = OrNull(listing.unplaced_ratio);
    json["of_lines"] = listing.of_lines;
    json["read_files"] = listing.read_files;
    json["changed_files"] = listing.changed_files;
    json["lines"] = LinesJson(listing.lines);
    json["instructions"] = InstructionsJson(listing.instructions);
    kernels.push_back(std::move(json));
  }
  WriteCodeDocument(out, "fa-profile source", std::move(kernels));
}

}  // namespace fa_profile::exporters
