#include "fa_profile/kernel_description.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "test_files.h"

namespace fa_profile::kernel_description_test {
namespace {

int Launch(const fa_profile_call*, char*, std::size_t) { return 0; }
int Reference(const std::int64_t*, double* const*, char*, std::size_t) { return 0; }
void DrawNothing(const std::int64_t*, std::uint64_t, double*, std::int64_t) {}

// A description that is right, to be made wrong in one way.
struct Raw {
  std::vector<fa_profile_parameter> parameters = {{"m", 4, 0, 0}, {"causal", 0, 0, 1}};
  std::vector<fa_profile_tensor> tensors = {
      {"x", FA_PROFILE_FP16, FA_PROFILE_INPUT, "m,8"},
      {"y", FA_PROFILE_BF16, FA_PROFILE_OUTPUT, "m", {}, {0.5, 0.25}},
  };
  fa_profile_kernel kernel{};

  Raw() {
    kernel.struct_size = sizeof kernel;
    kernel.parameter_size = sizeof(fa_profile_parameter);
    kernel.tensor_size = sizeof(fa_profile_tensor);
    kernel.name = "mine";
    kernel.launch = Launch;
    kernel.reference = Reference;
    Point();
  }
  void Point() {
    kernel.parameters = parameters.data();
    kernel.parameter_count = static_cast<std::uint32_t>(parameters.size());
    kernel.tensors = tensors.data();
    kernel.tensor_count = static_cast<std::uint32_t>(tensors.size());
  }
};

std::string WhyNot(const std::function<void(Raw&)>& spoil) {
  Raw raw;
  spoil(raw);
  try {
    (void)ReadDescription(&raw.kernel, "/lib/my.so");
  } catch (const Error& error) {
    EXPECT_TRUE(Contains(error.message(), "/lib/my.so"));
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "";
}

TEST(KernelDescriptionTest, IsCopiedWithItsDefaults) {
  Raw raw;
  const KernelDescription description = ReadDescription(&raw.kernel, "/lib/my.so");
  EXPECT_EQ(description.parameters, (std::vector<KernelParameter>{{"m", 4, 1, 2147483647}, {"causal", 0, 0, 1}}));
  ASSERT_EQ(description.tensors.size(), 2U);
  EXPECT_EQ(Describe(description.tensors[0]), "x: fp16 (m,8), input");
  EXPECT_EQ(description.tensors[0].draw.b, 1.0) << "standard deviation";
  EXPECT_EQ(description.tensors[1].tolerance.relative, 0.25);
}

TEST(KernelDescriptionTest, ALibraryOfALaterVersionMayHaveMoreMembers) {
  struct LaterTensor {
    fa_profile_tensor tensor;
    void* more;
  };
  const std::vector<LaterTensor> tensors = {{{"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m"}, nullptr},
                                            {{"z", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m"}, nullptr}};
  struct {
    fa_profile_kernel kernel;
    void* more[4];
  } later{Raw().kernel, {}};
  Raw raw;
  later.kernel = raw.kernel;
  later.kernel.struct_size = sizeof later;
  later.kernel.tensor_size = sizeof(LaterTensor);
  later.kernel.tensors = &tensors[0].tensor;
  const KernelDescription description = ReadDescription(&later.kernel, "/lib/my.so");
  ASSERT_EQ(description.tensors.size(), 2U);
  EXPECT_EQ(description.tensors[1].name, "z");
}

TEST(KernelDescriptionTest, BadSizesAreRefused) {
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.struct_size = 0; }), "'struct_size' is 0"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.tensor_size = 1; }), "'tensor_size' is 1"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.parameter_size = 1U << 30; }), "'parameter_size'"));
}

TEST(KernelDescriptionTest, MissingPartsAreNamed) {
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.launch = nullptr; }), "'launch' is NULL"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.tensors = nullptr; }), "it has no tensors"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.tensor_count = 0; }), "it has no tensors"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.parameters = nullptr; }), "it has no parameters"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.tensor_count = 33; }), "it has 33 tensors"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.parameter_count = 4'000'000'000U; }), "4000000000 parameters"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[1].role = FA_PROFILE_INPUT; }), "it has no output"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.kernel.reference = nullptr; }), "nothing says what it must hold"));
  Raw raw;
  EXPECT_THROW((void)ReadDescription(nullptr, "/lib/my.so"), Error);
}

TEST(KernelDescriptionTest, BadNamesAreRefused) {
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].name = nullptr; }), "tensor 0: its 'name' is NULL"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].name = ""; }), "'name' is empty"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].name = "a b"; }), "its name is 'a b'"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.parameters[0].name = "1"; }), "its name is '1'"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[1].name = "x"; }), "has the name 'x', too"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.parameters[1].name = "m"; }), "has the name 'm', too"));
  static const std::string kLong(1000, 'n');
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].name = kLong.c_str(); }), "does not end within 32"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].shape = kLong.c_str(); }), "does not end within 256"));
}

TEST(KernelDescriptionTest, BadTensorsAreNamedWithTheMember) {
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].dtype = 0; }), "tensor 'x': its dtype is 0"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].role = 9; }), "its role is 9"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].shape = "m,n"; }), "names 'n', which is not a parameter"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].shape = "m-4"; }), "the extent 0"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[0].shape = nullptr; }), "its 'shape' is NULL"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[1].tolerance.absolute = -1; }), "its tolerance is -1"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.tensors[1].tolerance.relative = std::nan(""); }), "its tolerance is"));
}

TEST(KernelDescriptionTest, BadDrawsAreRefused) {
  const auto drawn = [](fa_profile_draw draw, std::int32_t dtype = FA_PROFILE_FP16) {
    return WhyNot([&](Raw& raw) {
      raw.tensors[0].draw = draw;
      raw.tensors[0].dtype = dtype;
    });
  };
  EXPECT_TRUE(Contains(drawn({7, 0, 0}), "unknown kind"));
  EXPECT_TRUE(Contains(drawn({FA_PROFILE_UNIFORM, 2, 1}), "ends before it begins"));
  EXPECT_TRUE(Contains(drawn({FA_PROFILE_INTEGERS, 0.5, 1}), "not of whole numbers"));
  EXPECT_TRUE(Contains(drawn({FA_PROFILE_CONSTANT, std::nan(""), 0}), "not finite"));
  EXPECT_TRUE(Contains(drawn({FA_PROFILE_FUNCTION, 0, 0}), "has no function"));
  EXPECT_TRUE(Contains(drawn({FA_PROFILE_CONSTANT, 1e6, 0}), "does not fit into its dtype"));
  EXPECT_TRUE(Contains(drawn({FA_PROFILE_INTEGERS, 0, 200}, FA_PROFILE_INT8), "does not fit"));
  EXPECT_TRUE(Contains(drawn({}, FA_PROFILE_INT8), "as int8 needs them"));
  EXPECT_EQ(drawn({FA_PROFILE_FUNCTION, 0, 0, DrawNothing}, FA_PROFILE_INT32), "");
}

TEST(KernelDescriptionTest, BadParametersAreRefused) {
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.parameters[0].value = 0; }), "its value 0 is not between 1 and"));
  EXPECT_TRUE(Contains(WhyNot([](Raw& raw) { raw.parameters[1].value = 2; }), "its value 2 is not between 0 and 1"));
}

TEST(KernelDescriptionTest, AnOutputWithAFileNeedsNoReference) {
  Raw raw;
  raw.kernel.reference = nullptr;
  raw.tensors[1].file = "y.npy";
  const KernelDescription description = ReadDescription(&raw.kernel, "/lib/my.so");
  EXPECT_EQ(description.tensors[1].file, "/lib/y.npy") << "it counts from the library's folder";
}

TEST(KernelDescriptionTest, FilesOfTheUsersReplaceDraws) {
  Raw raw;
  KernelDescription description = ReadDescription(&raw.kernel, "/lib/my.so");
  SetFiles(description, {"x=/data/x.npy"});
  EXPECT_EQ(description.tensors[0].file, "/data/x.npy");
  const auto why_not = [&](const std::vector<std::string>& files) -> std::string {
    KernelDescription fresh = ReadDescription(&raw.kernel, "/lib/my.so");
    try {
      SetFiles(fresh, files);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(Contains(why_not({"z=f"}), "its tensors are x, y"));
  EXPECT_TRUE(Contains(why_not({"z"}), "--tensor NAME=FILE"));
  EXPECT_TRUE(Contains(why_not({"x="}), "--tensor NAME=FILE"));
  EXPECT_TRUE(Contains(why_not({"y=/data/y.npy"}), "tensor 'x' is drawn at random"));
  EXPECT_EQ(why_not({"y=/data/y.npy", "x=/data/x.npy"}), "");
}

}  // namespace
}  // namespace fa_profile::kernel_description_test
