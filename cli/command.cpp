#include "command.h"

#include "fa_profile/error.h"
#include "fa_profile/phase_map_file.h"

namespace fa_profile::cli {

void AddShapes(CLI::App& app, ShapeArguments& shapes, const std::string& help) {
  app.add_option("--shape", shapes.texts, help);
  app.add_flag("--causal", shapes.causal, "Causal attention, for --shape");
}

std::vector<AttentionShape> ShapeArguments::Parse() const {
  std::vector<AttentionShape> shapes;
  for (const std::string& text : texts) shapes.push_back(AttentionShape::Parse(text, causal));
  if (texts.empty() && causal) {  // of the default shape
    shapes.emplace_back();
    shapes.back().causal = true;
  }
  return shapes;
}

void AddPhaseMap(CLI::App& app, Invocation& invocation) {
  app.add_option("--phase-map", invocation.phase_map, "YAML file that assigns code to phases");
}

std::optional<PhaseMap> ReadPhaseMap(const Invocation& invocation) {
  if (invocation.phase_map.empty()) return std::nullopt;
  return load::LoadPhaseMap(invocation.phase_map);
}

}  // namespace fa_profile::cli
