#include "json_schema.h"

#include <set>
#include <stdexcept>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace fa_profile {
namespace {

using Json = nlohmann::json;

// valijson ignores keywords that it does not know, and anything next to a $ref. The schemas must not rely on them.
void RefuseUncheckedKeywords(const Json& schema) {
  static const std::set<std::string> kAnnotations{"$schema", "$id", "title", "description"};
  static const std::set<std::string> kOfSchemas{"$defs", "definitions", "properties"};
  static const std::set<std::string> kChecked{"$ref",
                                              "type",
                                              "const",
                                              "enum",
                                              "oneOf",
                                              "anyOf",
                                              "allOf",
                                              "not",
                                              "if",
                                              "then",
                                              "else",
                                              "required",
                                              "minItems",
                                              "maxItems",
                                              "minimum",
                                              "maximum",
                                              "exclusiveMinimum",
                                              "pattern",
                                              "items",
                                              "maxLength",
                                              "additionalProperties"};
  if (!schema.is_object()) return;
  for (const auto& [keyword, rule] : schema.items()) {
    if (kOfSchemas.contains(keyword)) {
      for (const auto& [name, part] : rule.items()) RefuseUncheckedKeywords(part);
    } else if (kChecked.contains(keyword)) {
      if (schema.contains("$ref") && keyword != "$ref") throw std::runtime_error(keyword + " beside a $ref");
      if (keyword == "oneOf" || keyword == "anyOf" || keyword == "allOf") {
        for (const Json& part : rule) RefuseUncheckedKeywords(part);
      } else if (keyword != "const" && keyword != "enum") {
        RefuseUncheckedKeywords(rule);
      }
    } else if (!kAnnotations.contains(keyword)) {
      throw std::runtime_error("the keyword " + keyword +
                               " of a schema is not checked: add it here if valijson knows it");
    }
  }
}

}  // namespace

struct JsonSchema::Compiled {
  valijson::Schema schema;
};

JsonSchema::JsonSchema(const Json& schema) : compiled_(std::make_unique<Compiled>()) {
  RefuseUncheckedKeywords(schema);
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), compiled_->schema);
}

JsonSchema::~JsonSchema() = default;

std::vector<std::string> JsonSchema::Validate(const Json& document) const {
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  const bool valid = validator.validate(compiled_->schema, valijson::adapters::NlohmannJsonAdapter(document), &results);
  std::vector<std::string> errors;
  for (const auto& error : results) {
    std::string place;
    for (const std::string& part : error.context) place += part;
    errors.push_back(place + ": " + error.description);
  }
  if (!valid && errors.empty()) errors.emplace_back("does not fit");
  return errors;
}

}  // namespace fa_profile
