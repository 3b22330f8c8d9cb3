#pragma once

#include <map>
#include <string>
#include <vector>

#include "fa_profile/code_listing.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// The subject of a listing, how it was measured, and where its phases come from. `what`: "instructions", "source".
void WriteListedHead(TextPage& page, const char* what, const ListedCode& code);

/// Explains the columns.
void WriteCodeLegend(TextPage& page);

/// Names of kernels by the reason why their code cannot be shown.
using KernelsWithoutCode = std::map<std::string, std::vector<std::string>>;

/// One paragraph per reason, with its kernels. Nothing if there are none.
void WriteKernelsWithoutCode(TextPage& page, const KernelsWithoutCode& kernels);

}  // namespace fa_profile::exporters
