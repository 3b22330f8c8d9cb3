#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

/// A validator for the part of JSON Schema that our schemas use: $ref into $defs or definitions, type, const, enum,
/// oneOf, anyOf, allOf, not, if with then and else, required, properties, additionalProperties, items, minItems,
/// maxItems, minimum, maximum, exclusiveMinimum, pattern, maxLength. Any other keyword throws, so that the schema
/// cannot ask for something that is not checked.
namespace fa_profile {

class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : root_(std::move(schema)) {}

  /// What does not fit, each with its place; empty when the document is valid.
  std::vector<std::string> Validate(const nlohmann::json& document) const {
    std::vector<std::string> errors;
    Check(root_, document, "", errors);
    return errors;
  }

 private:
  using Json = nlohmann::json;
  using Errors = std::vector<std::string>;

  void Check(const Json& schema, const Json& value, const std::string& at, Errors& errors) const {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) errors.push_back(at + ": not allowed");
      return;
    }
    static const std::set<std::string> kAnnotations{"$schema", "$id",         "$defs", "definitions",
                                                    "title",   "description", "then",  "else"};
    for (const auto& [keyword, rule] : schema.items()) {
      if (!kAnnotations.contains(keyword)) CheckKeyword(keyword, rule, schema, value, at, errors);
    }
  }

  bool Fits(const Json& schema, const Json& value) const {
    Errors errors;
    Check(schema, value, "", errors);
    return errors.empty();
  }

  void CheckKeyword(const std::string& keyword, const Json& rule, const Json& schema, const Json& value,
                    const std::string& at, Errors& errors) const {
    if (keyword == "$ref") {
      const std::string reference = rule.get<std::string>();
      Check(root_.at(Json::json_pointer(reference.substr(1))), value, at, errors);
    } else if (keyword == "type") {
      bool fits = false;
      for (const Json& type : rule.is_array() ? rule : Json::array({rule})) fits = fits || IsType(type, value);
      if (!fits) errors.push_back(at + ": is " + value.type_name() + ", not " + rule.dump());
    } else if (keyword == "const") {
      if (value != rule) errors.push_back(at + ": is not " + rule.dump());
    } else if (keyword == "enum") {
      bool fits = false;
      for (const Json& choice : rule) fits = fits || choice == value;
      if (!fits) errors.push_back(at + ": " + value.dump() + " is none of " + rule.dump());
    } else if (keyword == "oneOf") {
      int fitting = 0;
      Errors tried;
      for (const Json& choice : rule) {
        Errors here;
        Check(choice, value, at, here);
        if (here.empty()) ++fitting;
        tried.insert(tried.end(), here.begin(), here.end());
      }
      if (fitting == 0) errors.insert(errors.end(), tried.begin(), tried.end());
      if (fitting > 1) errors.push_back(at + ": fits several");
    } else if (keyword == "anyOf") {
      if (std::ranges::none_of(rule, [&](const Json& choice) { return Fits(choice, value); })) {
        errors.push_back(at + ": fits none");
      }
    } else if (keyword == "allOf") {
      for (const Json& each : rule) Check(each, value, at, errors);
    } else if (keyword == "not") {
      if (Fits(rule, value)) errors.push_back(at + ": fits what it must not");
    } else if (keyword == "if") {
      const char* const next = Fits(rule, value) ? "then" : "else";
      if (schema.contains(next)) Check(schema.at(next), value, at, errors);
    } else if (keyword == "pattern") {
      const std::regex pattern(rule.get<std::string>());
      if (value.is_string() && !std::regex_search(value.get<std::string>(), pattern)) {
        errors.push_back(at + ": " + value.dump() + " does not match " + rule.dump());
      }
    } else if (keyword == "maxLength") {  // of code points
      const auto length = [](const std::string& text) {
        return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
      };
      if (value.is_string() && length(value.get<std::string>()) > rule.get<int>()) errors.push_back(at + ": too long");
    } else if (keyword == "required") {
      for (const Json& name : rule) {
        if (value.is_object() && !value.contains(name)) errors.push_back(at + ": lacks " + name.dump());
      }
    } else if (keyword == "properties" || keyword == "additionalProperties") {
      if (value.is_object()) CheckMembers(keyword, rule, schema, value, at, errors);
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        Check(rule, value[i], at + "/" + std::to_string(i), errors);
      }
    } else if (keyword == "minItems") {
      if (value.is_array() && value.size() < rule.get<std::size_t>()) errors.push_back(at + ": too few items");
    } else if (keyword == "maxItems") {
      if (value.is_array() && value.size() > rule.get<std::size_t>()) errors.push_back(at + ": too many items");
    } else if (keyword == "minimum") {
      if (value.is_number() && value.get<double>() < rule.get<double>()) errors.push_back(at + ": too small");
    } else if (keyword == "maximum") {
      if (value.is_number() && value.get<double>() > rule.get<double>()) errors.push_back(at + ": too large");
    } else if (keyword == "exclusiveMinimum") {
      if (value.is_number() && value.get<double>() <= rule.get<double>()) errors.push_back(at + ": too small");
    } else {
      throw std::runtime_error("the validator does not know the keyword " + keyword);
    }
  }

  void CheckMembers(const std::string& keyword, const Json& rule, const Json& schema, const Json& value,
                    const std::string& at, Errors& errors) const {
    for (const auto& [name, member] : value.items()) {
      const bool listed = schema.contains("properties") && schema.at("properties").contains(name);
      if (keyword == "properties" && listed) Check(rule.at(name), member, at + "/" + name, errors);
      if (keyword == "additionalProperties" && !listed) Check(rule, member, at + "/" + name, errors);
    }
  }

  static bool IsType(const Json& type, const Json& value) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == value.type_name();
  }

  Json root_;
};

}  // namespace fa_profile
