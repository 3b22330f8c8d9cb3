#include "fa_profile/tensor_file.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/extents.h"
#include "fa_profile/files.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

constexpr std::size_t kMostHeaderBytes = 65536 + 12;

template <typename T>
double LoadAs(std::span<const std::byte> bytes, std::size_t index) {
  T value{};
  std::memcpy(&value, bytes.subspan(index * sizeof value, sizeof value).data(), sizeof value);
  return static_cast<double>(value);
}

double LoadHalf(std::span<const std::byte> bytes, std::size_t index) {
  return Decode(NumberFormat::kFp16, LoadBits(NumberFormat::kFp16, bytes, index));
}

struct NpyType {
  std::string_view name;
  std::size_t bytes;
  double (*load)(std::span<const std::byte>, std::size_t);
};

constexpr NpyType kNpyTypes[] = {
    {"<f8", 8, LoadAs<double>},      {"<f4", 4, LoadAs<float>},        {"<f2", 2, LoadHalf},
    {"|i1", 1, LoadAs<std::int8_t>}, {"<i4", 4, LoadAs<std::int32_t>}, {"<i8", 8, LoadAs<std::int64_t>}};

// The header of a *.npy file is a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyFile {
 public:
  NpyFile(const std::string& path, std::string_view content) : path_(path), content_(content) {
    constexpr std::string_view kMagic = "\x93NUMPY";
    constexpr std::size_t kUpToLength = 8;
    if (!content.starts_with(kMagic) || content.size() < kUpToLength + 4) Refuse("is not an array of NumPy");
    const bool is_first_version = content[kMagic.size()] == 1;
    std::uint32_t length = 0;
    std::memcpy(&length, content.data() + kUpToLength, is_first_version ? 2 : 4);
    const std::size_t begin = kUpToLength + (is_first_version ? 2 : 4);
    if (length > content.size() - begin) Refuse("is cut off");
    header_ = content.substr(begin, length);
    data_ = content.substr(begin + length);
  }

  std::vector<double> Values(std::span<const std::int64_t> extents) const {
    if (Entry("'fortran_order'").starts_with("True")) Refuse("is in Fortran order");
    std::string shape = "(";
    for (const std::int64_t extent : extents) shape += std::to_string(extent) + (extents.size() == 1 ? "," : ", ");
    if (extents.size() > 1) shape.resize(shape.size() - 2);
    shape += ")";
    const std::string_view own = Entry("'shape'");
    if (!own.starts_with(shape)) {
      Refuse("has the shape " + Printable(own.substr(0, own.find(')') + 1)) + ", not " + shape);
    }
    const NpyType& type = Type();
    const auto elements = static_cast<std::size_t>(ElementsOf(extents));
    if (data_.size() != elements * type.bytes) Refuse("does not hold as many elements as its header says");
    std::vector<double> values(elements);
    for (std::size_t i = 0; i < elements; ++i) values[i] = type.load(std::as_bytes(std::span(data_)), i);
    return values;
  }

 private:
  // The text after a key.
  std::string_view Entry(std::string_view key) const {
    const std::size_t found = header_.find(key);
    if (found == std::string_view::npos) Refuse("has no " + std::string(key) + " in its header");
    std::string_view rest = header_.substr(found + key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
    return rest;
  }

  const NpyType& Type() const {
    const std::string_view text = Entry("'descr'");
    for (const NpyType& type : kNpyTypes) {
      if (text.substr(0, 5) == fmt::format("'{}'", type.name)) return type;
    }
    Refuse("has elements of the type " + Printable(text.substr(0, text.find(','))));
  }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error("tensor file " + path_ + " " + why,
                "numpy.save() a C-ordered array of float16, float32, float64, int8, int32 or int64");
  }

  const std::string& path_;
  std::string_view content_;
  std::string_view header_;
  std::string_view data_;
};

}  // namespace

std::vector<double> ReadTensorFile(const std::string& path, NumberFormat format,
                                   std::span<const std::int64_t> extents) {
  const auto elements = static_cast<std::size_t>(ElementsOf(extents));
  if (path.ends_with(".npy")) {
    const std::string content = ReadFile(path, elements * sizeof(double) + kMostHeaderBytes);
    return NpyFile(path, content).Values(extents);
  }
  const std::size_t bytes = elements * BytesOf(format);
  const std::string content = ReadFile(path, bytes + 1);
  if (content.size() != bytes) {
    throw Error(
        fmt::format("tensor file {} has {} {} bytes, and {} elements of {} have {}", path,
                    content.size() > bytes ? "at least" : "only", content.size(), elements, NameOf(format), bytes),
        "write the elements as they are in the GPU's memory, or an array of NumPy as a file *.npy");
  }
  std::vector<double> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    values[i] = Decode(format, LoadBits(format, std::as_bytes(std::span(content)), i));
  }
  return values;
}

}  // namespace fa_profile
