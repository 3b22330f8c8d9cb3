#include "fa_profile/tensor_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::tensor_file_test {
namespace {

using Extents = std::vector<std::int64_t>;

// In numpy.save()'s version 1.0.
std::string Npy(const std::string& type, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class TensorFileTest : public FolderTest {
 protected:
  std::vector<double> Read(const std::string& name, const std::string& content, const Extents& extents,
                           NumberFormat format = NumberFormat::kFp16) {
    WriteFile(folder_ / name, content);
    return ReadTensorFile(folder_ / name, format, extents);
  }
  std::string WhyNot(const std::string& name, const std::string& content, const Extents& extents) {
    try {
      (void)Read(name, content, extents);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(TensorFileTest, ReadsArraysOfEveryType) {
  const std::vector<double> expected = {1, -2, 3};
  EXPECT_EQ(Read("a.npy", Npy("<f8", "(3,)", Bytes<double>({1, -2, 3})), {3}), expected);
  EXPECT_EQ(Read("a.npy", Npy("<f4", "(3,)", Bytes<float>({1, -2, 3})), {3}), expected);
  EXPECT_EQ(Read("a.npy", Npy("<f2", "(3,)", Bytes<std::uint16_t>({0x3c00, 0xc000, 0x4200})), {3}), expected);
  EXPECT_EQ(Read("a.npy", Npy("|i1", "(3,)", Bytes<std::int8_t>({1, -2, 3})), {3}), expected);
  EXPECT_EQ(Read("a.npy", Npy("<i4", "(3,)", Bytes<std::int32_t>({1, -2, 3})), {3}), expected);
  EXPECT_EQ(Read("a.npy", Npy("<i8", "(3,)", Bytes<std::int64_t>({1, -2, 3})), {3}), expected);
  EXPECT_EQ(Read("b.npy", Npy("<f4", "(1, 3)", Bytes<float>({1, -2, 3})), {1, 3}), expected);
}

TEST_F(TensorFileTest, EveryOtherFileHoldsTheElementsAsInMemory) {
  EXPECT_EQ(Read("a.bin", Bytes<std::uint16_t>({0x3c00, 0xc000}), {2}), (std::vector<double>{1, -2}));
  EXPECT_EQ(Read("a.bin", Bytes<std::uint8_t>({0x38, 0x7e}), {2, 1}, NumberFormat::kFp8E4m3),
            (std::vector<double>{1, 448}));
}

TEST_F(TensorFileTest, ABadFileIsNamedWithTheReason) {
  const std::string data = Bytes<float>({1, 2});
  EXPECT_TRUE(Contains(WhyNot("a.bin", "12345", {2}), "a.bin has at least 5 bytes"));
  EXPECT_TRUE(Contains(WhyNot("a.bin", "123", {2}), "a.bin has only 3 bytes"));
  EXPECT_TRUE(Contains(WhyNot("a.npy", "nothing", {2}), "is not an array of NumPy"));
  EXPECT_TRUE(Contains(WhyNot("a.npy", Npy("<f4", "(2,)", data).substr(0, 20), {2}), "is cut off"));
  EXPECT_TRUE(Contains(WhyNot("a.npy", Npy("<f4", "(2, 1)", data), {2}), "has the shape (2, 1), not (2,)"));
  EXPECT_TRUE(Contains(WhyNot("a.npy", Npy("<f4", "(2,)", data, "True"), {2}), "Fortran order"));
  EXPECT_TRUE(Contains(WhyNot("a.npy", Npy(">f4", "(2,)", data), {2}), "the type '>f4'"));
  EXPECT_TRUE(Contains(WhyNot("a.npy", Npy("<f4", "(2,)", data + "x"), {2}), "as many elements as its header says"));
  EXPECT_TRUE(Contains(WhyNot("a.npy", Npy("<c16", "(2,)", data), {2}), "numpy.save()"));
}

TEST_F(TensorFileTest, AMissingFileIsAnError) {
  EXPECT_THROW((void)ReadTensorFile(folder_ / "missing.npy", NumberFormat::kFp16, Extents{1}), Error);
}

}  // namespace
}  // namespace fa_profile::tensor_file_test
