#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fa_profile {

/// A JSON Schema of draft 7; 2020-12 as far as both mean the same.
class JsonSchema {
 public:
  /// Throws std::runtime_error for a keyword that is not checked, so that a schema cannot ask for one.
  explicit JsonSchema(const nlohmann::json& schema);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  /// The violations, each with its place; empty when the document is valid.
  std::vector<std::string> Validate(const nlohmann::json& document) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace fa_profile
