#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::collect {

/// A field of a protobuf text message: a scalar as written (a string without its quotes, escapes resolved), or a
/// message, which holds fields in turn. A list is the field repeated.
struct TextField {
  std::string name;
  int line = 0;
  bool is_message = false;
  std::string scalar;
  std::vector<TextField> fields;

  /// The scalar of the first field `field` inside; empty when it has no such field.
  std::string_view Scalar(std::string_view field) const;
};

/// Parses protobuf text format without a schema: any field name is taken. The result is a message without a name.
/// Throws Error "file:line: ..." for text that is not such a message or is nested deeper than 100.
TextField ParseTextFormat(std::string_view text, const std::string& file);

}  // namespace fa_profile::collect
