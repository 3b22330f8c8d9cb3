// Heads and ends of listings of code, for people.
#include <fmt/format.h>

#include <string_view>

#include "fa_profile/demangle.h"
#include "fa_profile/units.h"
#include "text_code.h"
#include "text_phases.h"

namespace fa_profile::exporters {

void WriteListedHead(TextPage& page, const char* what, const ListedCode& code) {
  std::string title = fmt::format("{}{}{}", what, page.separator(), page.Safe(code.kernel));
  if (!code.part.empty()) title += "/" + page.Safe(code.part);
  if (code.shape) title += std::string(page.separator()) + code.shape->ToString();
  page.Rule(title);
  if (!code.function.empty()) page.Paragraph("  function  ", page.Safe(ShortName(code.function)));
  std::string text = code.samples > 0.0 ? FormatValue(code.samples, "count") + " samples" : "no samples";
  if (code.call_share_ratio && *code.call_share_ratio < 1.0) {
    text += fmt::format(", {} of the call's", Percent(*code.call_share_ratio));
  }
  if (!code.weighed_by.empty()) text += "; shares are of the function's " + code.weighed_by;
  if (!code.counted) text += "; not counted";
  page.Paragraph("  measured  ", text);
  const bool inferred = code.inference && code.inference->refusal.empty();
  std::string phases = inferred ? InferenceText(*code.inference) : "by " + page.Safe(code.attribution);
  constexpr std::string_view kSaidBefore = "phases ";
  if (phases.starts_with(kSaidBefore)) phases.erase(0, kSaidBefore.size());
  if (code.inference && !inferred) phases += ", not inferred from machine code: " + page.Safe(code.inference->refusal);
  page.Paragraph("  phases    ", phases);
}

void WriteKernelsWithoutCode(TextPage& page, const KernelsWithoutCode& kernels) {
  if (kernels.empty()) return;
  page.Rule("kernels without code");
  for (const auto& [reason, names] : kernels) {
    page.Paragraph("", page.Safe(reason) + ":");
    for (const std::string& name : names) page.Line("  " + page.Safe(name));
  }
  page.Line();
}

void WriteCodeLegend(TextPage& page) {
  page.Paragraph("",
                 "%: share of the function's samples at this place, waits at barriers included. top "
                 "stalls: of the row's own samples. executed: by warps; thr: threads of a warp that were active; "
                 "confl%: shared-memory wavefronts that bank conflicts caused. The source line is that of the "
                 "innermost inlined function. fa-profile list phases and docs/phases.md explain phases and reasons.");
}

}  // namespace fa_profile::exporters
