#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "fa_profile/error.h"
#include "fa_profile/release.h"
#include "fa_profile/strict_json.h"

namespace fa_profile::gate {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostKernels = 1'000'000;
constexpr std::size_t kMostUnread = 100;
constexpr std::int64_t kMostReleaseBytes = std::int64_t{1} << 50U;
constexpr std::int64_t kMostCount = 1'000'000'000;

/// Calls `see` with the key and the member of each number and flag of a kernel's code.
template <typename Code, typename See>
void ForFields(Code& code, See see) {
  see("code_bytes", code.code_bytes);
  see("registers_per_thread", code.registers_per_thread);
  see("stack_frame_bytes", code.stack_frame_bytes);
  see("static_shared_memory_bytes", code.static_shared_memory_bytes);
  see("threads_per_block", code.threads_per_block);
  see("occupancy_ratio", code.occupancy_ratio);
  see("occupancy_by_registers_ratio", code.occupancy_by_registers_ratio);
  see("is_device_debug", code.is_device_debug);
  see("instructions", code.instructions);
  see("loop_instructions", code.loop_instructions);
  see("local_accesses", code.local_accesses);
  see("loop_local_accesses", code.loop_local_accesses);
  see("tensor_instructions", code.tensor_instructions);
  see("loops_known", code.loops_known);
}

std::vector<const char*> CodeKeys() {
  std::vector<const char*> keys = {"kernel", "architecture", "file", "code_hash"};
  ReleaseCode none;
  ForFields(none, [&](const char* key, auto&) { keys.push_back(key); });
  return keys;
}

std::string ReleaseLine(const OrderedJson& json) {
  return json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
}

OrderedJson CodeJson(const ReleaseCode& code) {
  OrderedJson json = {
      {"kernel", code.kernel}, {"architecture", code.architecture}, {"file", code.file}, {"code_hash", code.code_hash}};
  ForFields(code, [&](const char* key, const auto& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) json[key] = *value;
    } else {
      json[key] = value;
    }
  });
  return json;
}

std::string HashIn(const JsonNode& node) {
  std::string hash = node.Text();
  constexpr std::size_t kDigits = 16;
  if (hash.size() != kDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    node.Fail("must be 16 hexadecimal digits");
  }
  return hash;
}

std::string NameIn(const JsonNode& node) {
  std::string name = node.Text();
  if (name.empty()) node.Fail("must not be empty");
  return name;
}

template <typename Value>
void ReadValue(const JsonNode& node, Value& value) {
  if constexpr (std::same_as<Value, bool>) {
    value = node.Flag();
  } else if constexpr (std::same_as<Value, double>) {
    value = node.Number();
    if (value < 0.0 || value > 1.0) node.Fail("must be from 0 to 1");
  } else {
    constexpr bool kIsBytes = sizeof(Value) == sizeof(std::int64_t);
    value = static_cast<Value>(node.Integer(0, kIsBytes ? kMostReleaseBytes : kMostCount));
  }
}

ReleaseCode CodeIn(const JsonNode& node) {
  static const std::vector<const char*> keys = CodeKeys();
  node.RequireOnly(keys);
  ReleaseCode code;
  code.kernel = NameIn(node.At("kernel"));
  code.architecture = NameIn(node.At("architecture"));
  code.file = node.At("file").Text();
  code.code_hash = HashIn(node.At("code_hash"));
  ForFields(code, [&]<typename Value>(const char* key, Value& value) {
    if constexpr (requires { value.has_value(); }) {
      if (const auto found = node.Find(key)) ReadValue(*found, value.emplace());
    } else {
      ReadValue(node.At(key), value);
    }
  });
  return code;
}

}  // namespace

std::string ToJson(const Release& release) {
  OrderedJson head = {{"format", kReleaseFormat},
                      {"version", kReleaseVersion},
                      {"origin", release.origin},
                      {"package_bytes", release.package_bytes},
                      {"files", release.files},
                      {"unread", release.unread},
                      {"unread_more", release.unread_more}};
  std::string text = ReleaseLine(head);
  text.pop_back();
  const auto list = [&](const char* key, const auto& items, const auto& json_of) {
    text += fmt::format(",\n\"{}\":[", key);
    for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "\n" : ",\n") + ReleaseLine(json_of(items[i]));
    text += "]";
  };
  list("code", release.code, CodeJson);
  list("later", release.later, [](const ReleaseLaterCode& code) {
    return OrderedJson{
        {"kernel", code.kernel}, {"architecture", code.architecture}, {"file", code.file}, {"hash", code.hash}};
  });
  text += "}\n";
  const std::size_t values = release.code.size() * (CodeKeys().size() + 1) + release.later.size() * 5;
  if (text.size() > kLargestRelease || values > kMostJsonValues) {
    throw Error(fmt::format("the release has {} kernels: their file would be larger than what is read back",
                            release.code.size()),
                "choose kernels with --kernel or --arch");
  }
  return text;
}

bool IsReleaseText(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Release ReleaseFromJson(const std::string& text, const std::string& name) {
  const JsonFile file{name, "write it with: fa-profile release save PACKAGE -o FILE.json"};
  const nlohmann::json json = ParseStrictJson(text, file);
  const JsonNode document(json, file);
  RequireFormat(document, kReleaseFormat, kReleaseVersion);
  document.RequireOnly(
      {"format", "version", "origin", "package_bytes", "files", "unread", "unread_more", "code", "later"});
  Release release;
  release.origin = document.At("origin").Text();
  release.package_bytes = document.At("package_bytes").Integer(0, kMostReleaseBytes);
  release.files = static_cast<int>(document.At("files").Integer(0, kMostCount));
  release.unread = document.At("unread").Texts(kMostUnread);
  release.unread_more = document.At("unread_more").Integer(0, kMostCount);
  for (const JsonNode& node : document.At("code").Items(kMostKernels)) release.code.push_back(CodeIn(node));
  for (const JsonNode& node : document.At("later").Items(kMostKernels)) {
    node.RequireOnly({"kernel", "architecture", "file", "hash"});
    release.later.push_back(
        {node.At("kernel").Text(), NameIn(node.At("architecture")), node.At("file").Text(), HashIn(node.At("hash"))});
  }
  return release;
}

}  // namespace fa_profile::gate
