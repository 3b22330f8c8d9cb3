#include "plan_cache.h"

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/files.h"

namespace fa_profile::collect {
namespace {

// File: magic, the body's hash as 16 hexadecimal digits, body. The last digit of the magic is the format's version. The
// body is a list of fields: the request, passes, config image, number of metrics, metrics, and for each refusal its
// kind, subject and reason.
constexpr std::string_view kMagic = "FAPLAN02";
constexpr std::size_t kHashDigits = 16;

using Fields = std::vector<std::string>;

// FNV-1a, 64 bit (public domain, Fowler, Noll, Vo): finds damage and distinguishes requests; it is not a defence.
std::string Hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  std::string digits(kHashDigits + 1, '\0');
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  digits.pop_back();
  return digits;
}

// Each field follows its length in decimal digits and a colon.
std::string Pack(const Fields& fields) {
  std::string bytes;
  for (const std::string& field : fields) bytes.append(std::to_string(field.size())).append(":").append(field);
  return bytes;
}

// For bytes from Pack(): their hash has been compared.
Fields Unpack(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const std::size_t colon = bytes.find(':');
    const std::size_t size = std::stoul(std::string(bytes.substr(0, colon)));
    fields.emplace_back(bytes.substr(colon + 1, size));
    bytes.remove_prefix(colon + 1 + size);
  }
  return fields;
}

std::string Key(const PlanRequest& request) {
  Fields fields = {request.chip, std::to_string(request.cupti_version),
                   std::string(request.availability.begin(), request.availability.end())};
  fields.insert(fields.end(), request.metrics.begin(), request.metrics.end());
  return Pack(fields);
}

std::string FileFor(const std::string& cache_dir, const std::string& key) {
  return (std::filesystem::path(cache_dir) / ("plan-" + Hash(key) + ".bin")).string();
}

}  // namespace

std::optional<MetricPlan> ReadCachedPlan(const std::string& cache_dir, const PlanRequest& request) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
  const std::string key = Key(request);
  std::string bytes;
  try {
    bytes = ReadFile(FileFor(cache_dir, key), kMostBytes);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kHashDigits) return std::nullopt;
  const std::string_view body = std::string_view(bytes).substr(kMagic.size() + kHashDigits);
  if (bytes.compare(kMagic.size(), kHashDigits, Hash(body)) != 0) return std::nullopt;
  Fields fields = Unpack(body);
  if (fields[0] != key) return std::nullopt;

  MetricPlan plan;
  plan.chip = request.chip;
  plan.passes = std::stoi(fields[1]);
  plan.config_image.assign(fields[2].begin(), fields[2].end());
  const auto metrics = fields.begin() + 4;
  const auto refused = metrics + std::stol(fields[3]);
  plan.metrics.assign(std::make_move_iterator(metrics), std::make_move_iterator(refused));
  for (auto loss = refused; loss != fields.end(); loss += 3) plan.refused.push_back({loss[0], loss[1], loss[2], 1});
  plan.from_cache = true;
  return plan;
}

bool WriteCachedPlan(const std::string& cache_dir, const PlanRequest& request, const MetricPlan& plan) {
  const std::string key = Key(request);
  Fields fields = {key, std::to_string(plan.passes), std::string(plan.config_image.begin(), plan.config_image.end()),
                   std::to_string(plan.metrics.size())};
  fields.insert(fields.end(), plan.metrics.begin(), plan.metrics.end());
  for (const DataLoss& loss : plan.refused) fields.insert(fields.end(), {loss.kind, loss.subject, loss.reason});
  const std::string body = Pack(fields);
  try {
    std::error_code ignored;  // writing the file then reports the error
    std::filesystem::create_directories(cache_dir, ignored);
    WriteWholeFile(FileFor(cache_dir, key), std::string(kMagic) + Hash(body) + body);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace fa_profile::collect
