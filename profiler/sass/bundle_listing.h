#pragma once

#include <string>
#include <vector>

#include "code_bundle.h"
#include "fa_profile/instruction_texts.h"
#include "fa_profile/recording.h"

namespace fa_profile::sass {

/// Adds the instructions of the bundle's functions to `functions`, which have their names, with one run of `nvdisasm`
/// for the instructions that `texts` lacks: these are added to it. `sm`: the code's architecture. Throws Error if
/// nvdisasm fails.
void ListBundle(const CodeBundle& bundle, const std::string& nvdisasm, int sm, InstructionTexts& texts,
                const std::vector<DeviceFunction*>& functions);

}  // namespace fa_profile::sass
