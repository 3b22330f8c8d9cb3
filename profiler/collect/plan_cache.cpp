#include "plan_cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace fa_profile {
namespace {

// File: magic, payload's FNV-1a hash, payload. Integers are little-endian 64 bit; strings and byte arrays follow their
// length, lists their count. The last digit of the magic is the format's version.
constexpr std::string_view kMagic = "FAPLAN01";

class Writer {
 public:
  void Number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift & 0xff));
  }
  void Bytes(std::string_view bytes) {
    Number(bytes.size());
    bytes_.append(bytes);
  }
  void Strings(std::span<const std::string> strings) {
    Number(strings.size());
    for (const std::string& string : strings) Bytes(string);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads what Writer wrote. After running past the end every value is empty and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t Number() {
    std::uint64_t value = 0;
    const std::string_view bytes = Take(8);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return value;
  }
  std::string_view Bytes() { return Take(Number()); }
  std::vector<std::string> Strings() {
    std::vector<std::string> strings;
    for (std::uint64_t left = Number(); left > 0 && ok_; --left) strings.emplace_back(Bytes());
    return strings;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view Take(std::uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
  bool ok_ = true;
};

// FNV-1a, 64 bit (public domain, Fowler, Noll, Vo): finds damage and tells requests apart; it is not a defence.
std::uint64_t Fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string_view AsText(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string Serialize(const PlanRequest& request) {
  Writer writer;
  writer.Bytes(request.chip);
  writer.Number(request.cupti_version);
  writer.Bytes(AsText(request.availability));
  writer.Strings(request.metrics);
  return writer.bytes();
}

std::filesystem::path FileFor(const std::string& cache_dir, const std::string& request) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const std::uint64_t hash = Fnv1a(request);
  std::string name = "plan-";
  for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[hash >> shift & 0xf];
  return std::filesystem::path(cache_dir) / (name + ".bin");
}

}  // namespace

std::optional<MetricPlan> ReadCachedPlan(const std::string& cache_dir, const PlanRequest& request) {
  const std::string asked = Serialize(request);
  const std::filesystem::path path = FileFor(cache_dir, asked);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return std::nullopt;
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) return std::nullopt;

  const std::string_view view = bytes;
  if (view.substr(0, kMagic.size()) != kMagic || view.size() < kMagic.size() + 8) return std::nullopt;
  const std::string_view payload = view.substr(kMagic.size() + 8);
  if (Reader(view.substr(kMagic.size(), 8)).Number() != Fnv1a(payload)) return std::nullopt;

  Reader reader(payload);
  if (reader.Bytes() != asked) return std::nullopt;
  MetricPlan plan;
  plan.chip = request.chip;
  plan.metrics = reader.Strings();
  const std::string_view image = reader.Bytes();
  plan.config_image.assign(image.begin(), image.end());
  plan.passes = static_cast<int>(reader.Number());
  for (std::uint64_t left = reader.Number(); left > 0 && reader.ok(); --left) {
    DataLoss loss;
    loss.kind = reader.Bytes();
    loss.subject = reader.Bytes();
    loss.reason = reader.Bytes();
    plan.refused.push_back(std::move(loss));
  }
  if (!reader.ok()) return std::nullopt;
  plan.from_cache = true;
  return plan;
}

bool WriteCachedPlan(const std::string& cache_dir, const PlanRequest& request, const MetricPlan& plan) {
  const std::string asked = Serialize(request);
  Writer payload;
  payload.Bytes(asked);
  payload.Strings(plan.metrics);
  payload.Bytes(AsText(plan.config_image));
  payload.Number(static_cast<std::uint64_t>(plan.passes));
  payload.Number(plan.refused.size());
  for (const DataLoss& loss : plan.refused) {
    payload.Bytes(loss.kind);
    payload.Bytes(loss.subject);
    payload.Bytes(loss.reason);
  }
  Writer checksum;
  checksum.Number(Fnv1a(payload.bytes()));

  std::error_code error;
  std::filesystem::create_directories(cache_dir, error);
  const std::filesystem::path path = FileFor(cache_dir, asked);
  std::filesystem::path temporary = path;
  temporary += std::to_string(getpid()) + ".tmp";  // two runs may store the same plan at once
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << kMagic << checksum.bytes() << payload.bytes();
  file.close();
  const bool written = file.good();
  if (written) std::filesystem::rename(temporary, path, error);
  if (written && !error) return true;
  std::filesystem::remove(temporary, error);
  return false;
}

}  // namespace fa_profile
