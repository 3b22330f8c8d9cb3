#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/profile.h"

namespace fa_profile::exporters {

inline constexpr int kJsonVersion = 1;  ///< for every format that `report` writes

template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// A text that is unknown when it is empty.
inline nlohmann::ordered_json KnownText(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

/// An array of what `json_of` makes of each value.
template <typename T, typename MakeJson>
nlohmann::ordered_json ArrayOf(const std::vector<T>& values, const MakeJson& json_of) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const T& value : values) array.push_back(json_of(value));
  return array;
}

nlohmann::ordered_json JsonOf(const Shape& shape);
nlohmann::ordered_json JsonOf(const Occupancy& occupancy);
nlohmann::ordered_json JsonOf(const Finding& finding);
nlohmann::ordered_json JsonOf(const DataLoss& loss);
nlohmann::ordered_json JsonOf(const PhaseInference& inference);
nlohmann::ordered_json JsonOf(const std::vector<StallShare>& stalls);

/// `indent`: -1 for one line. A recording may contain strings that are not UTF-8; the text is still JSON.
std::string JsonText(const nlohmann::ordered_json& json, int indent = 2);
void WriteJsonDocument(std::ostream& out, const nlohmann::ordered_json& document);
/// The same, on one line.
void WriteJsonLine(std::ostream& out, const nlohmann::ordered_json& document);

}  // namespace fa_profile::exporters
