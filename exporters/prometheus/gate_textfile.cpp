#include <prometheus/text_serializer.h>

#include "fa_profile/page.h"

namespace fa_profile {

std::string GateTextfile(const GateState& state) {
  PageInput input;
  input.gate = &state;
  return prometheus::TextSerializer().Serialize(MakeFamilies(input).families);
}

}  // namespace fa_profile
