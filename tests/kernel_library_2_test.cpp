// Kernel libraries of version 2, as far as they go without a GPU.
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "check_results.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "fa_profile/library_child.h"
#include "run_program.h"
#include "tensor_kernel.h"
#include "tensor_workload.h"
#include "test_files.h"

namespace fa_profile::kernel_library_2_test {
namespace {

std::string Library(const std::string& name) { return std::string(FA_PROFILE_KERNEL_LIBS) + "/" + name + ".so"; }

std::vector<ShapeParameter> Parameters(const std::string& asked = "fault=0") {
  const auto kernel = LoadKernelLibrary(Library("tensors"));
  return *kernel->Fit(Shape::Parse(asked)).shape->parameters();
}

std::shared_ptr<const TensorLibrary> Tensors(const std::vector<std::string>& files = {}) {
  return LoadTensorLibrary(Library("tensors"), files);
}

enum Tensor : std::size_t { kX, kOffsets, kY, kCount };

// What a correct launch leaves in the tensors: computed by the library's own reference.
std::vector<std::vector<std::byte>> RightResults(const TensorLibrary& library,
                                                 const std::vector<ShapeParameter>& parameters, std::uint64_t seed) {
  std::vector<std::vector<double>> values;
  const auto extents = library.Extents(parameters);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    values.emplace_back(6 * 8);
    if (library.description().tensors[i].is_drawn()) values[i] = library.Draw(i, parameters, seed);
  }
  std::vector<double*> pointers;
  for (auto& tensor : values) pointers.push_back(tensor.data());
  EXPECT_EQ(library.Reference(parameters, pointers), "");
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const NumberFormat format = library.description().tensors[i].format;
    std::vector<std::byte>& bytes = results.emplace_back(values[i].size() * BytesOf(format));
    for (std::size_t k = 0; k < values[i].size(); ++k) StoreBits(format, bytes, k, Encode(format, values[i][k]));
  }
  return results;
}

std::string ErrorOf(const auto& act) {
  try {
    (void)act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(KernelLibrary2Test, IsAKernelWithItsOwnShape) {
  const auto kernel = LoadKernelLibrary(Library("tensors"));
  EXPECT_EQ(kernel->id(), "scale_rows");
  EXPECT_EQ(kernel->Fit({}).shape->ToString(), "rows=6,cols=8,groups=2,scale=2,fault=0");
  EXPECT_EQ(kernel->Fit(Shape::Parse("rows=12")).shape->ToString(), "rows=12,cols=8,groups=2,scale=2,fault=0");
  EXPECT_EQ(kernel->Fit(Shape::Parse("cols=4,rows=12")).shape->ToString(), "rows=12,cols=4,groups=2,scale=2,fault=0");
  EXPECT_TRUE(kernel->Fit(AttentionShape{}).other_kind);
  EXPECT_EQ(kernel->WhyNot(Shape::Parse("rows=12")), "");
  EXPECT_EQ(kernel->WhyNot(Shape::Parse("fault=7")), "fault 7 is refused");
  EXPECT_TRUE(Contains(kernel->WhyNot(Shape::Parse("row=12")), "its parameters are rows, cols, groups, scale, fault"));
  EXPECT_TRUE(Contains(kernel->WhyNot(Shape::Parse("rows=2147483647,cols=2147483647")), "more than 2^40 elements"));
  EXPECT_EQ(kernel->WorkOf(Shape::Parse("rows=12")), (Work{96.0, 384.0}));
}

TEST(KernelLibrary2Test, TheChildTellsParametersAndTensors) {
  const LibraryIdentity identity = AskLibrary({Library("tensors"), {}}, {}, FA_PROFILE_PROGRAM).answer.identity;
  EXPECT_EQ(identity.kernel, "scale_rows");
  ASSERT_EQ(identity.parameters.size(), 5U);
  EXPECT_EQ(identity.parameters[3], (KernelParameter{"scale", 2, -100, 100}));
  EXPECT_EQ(identity.tensors.at(kOffsets), "offsets: int32 (groups+1), input");
  const auto kernel = NamedKernelLibrary("missing.so", identity);
  EXPECT_EQ(kernel->Fit(Shape::Parse("scale=-3")).shape->ToString(), "rows=6,cols=8,groups=2,scale=-3,fault=0")
      << "without loading the library";
}

TEST(KernelLibrary2Test, EveryKernelIsPairedWithTheShapesOfItsKind) {
  const auto library = LoadKernelLibrary(Library("tensors"));
  const std::vector<const Kernel*> kernels = {Ladder().front(), library.get()};
  const auto own = KernelsAtShapes(kernels, {});
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[0].fitted.shape, Shape());
  EXPECT_EQ(own[1].fitted.shape->ToString(), "rows=6,cols=8,groups=2,scale=2,fault=0");
  const auto asked = KernelsAtShapes(kernels, {Shape::Parse("rows=3"), AttentionShape{}});
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_TRUE(asked[0].fitted.other_kind);
  EXPECT_TRUE(asked[1].fitted.shape);
  EXPECT_TRUE(asked[2].fitted.shape);
  EXPECT_TRUE(asked[3].fitted.other_kind);
}

TEST(KernelLibrary2Test, InputsAreDrawnAndRoundedToTheirFormat) {
  const auto library = Tensors();
  const std::vector<ShapeParameter> parameters = Parameters();
  for (const double value : library->Draw(kX, parameters, 1)) {
    EXPECT_EQ(Decode(NumberFormat::kFp16, Encode(NumberFormat::kFp16, value)), value);
  }
  EXPECT_EQ(library->Draw(kOffsets, parameters, 2), (std::vector<double>{0, 2, 5}));
  EXPECT_EQ(library->Draw(kOffsets, parameters, 3), (std::vector<double>{1, 3, 6}));
  EXPECT_NE(library->Draw(kX, parameters, 1), library->Draw(kX, parameters, 2));
}

TEST(KernelLibrary2Test, ADrawThatLeavesAnElementOutIsAnErrorThatNamesIt) {
  const auto library = Tensors();
  const std::string error = ErrorOf([&] { return library->Draw(kOffsets, Parameters("fault=11"), 1); });
  EXPECT_TRUE(Contains(error, "offsets[2] is drawn as nan, which int32 cannot hold")) << error;
}

TEST(KernelLibrary2Test, AFileOfTheUsersReplacesTheDraw) {
  const TestFolder folder;
  const std::string path = folder.Write("offsets.bin", std::string("\0\0\0\0\1\0\0\0\4\0\0\0", 12));
  EXPECT_EQ(Tensors({"offsets=" + path})->Draw(kOffsets, Parameters(), 1), (std::vector<double>{0, 1, 4}));
  EXPECT_TRUE(Contains(ErrorOf([&] { return Tensors({"offset=" + path}); }), "its tensors are x, offsets, y, count"));
  const auto wrong_size = Tensors({"offsets=" + path});
  EXPECT_TRUE(Contains(ErrorOf([&] { return wrong_size->Draw(kOffsets, Parameters("groups=3"), 1); }), "offsets.bin"));
}

TEST(KernelLibrary2Test, RightResultsPass) {
  const auto library = Tensors();
  const std::vector<ShapeParameter> parameters = Parameters();
  const DrawErrors errors = CheckResults(*library, parameters, 5, RightResults(*library, parameters, 5));
  EXPECT_TRUE(errors.passes) << errors.where;
  EXPECT_EQ(errors.where, "");
  EXPECT_LE(errors.max_error_ratio, 1.0);
  EXPECT_FALSE(CheckResults(*library, parameters, 6, RightResults(*library, parameters, 5)).passes);
}

TEST(KernelLibrary2Test, WrongElementsAreNamedByTensorAndIndex) {
  const auto library = Tensors();
  const std::vector<ShapeParameter> parameters = Parameters();
  const auto spoiled = [&](std::size_t tensor, std::size_t index, std::uint64_t bits) {
    std::vector<std::vector<std::byte>> results = RightResults(*library, parameters, 5);
    StoreBits(library->description().tensors[tensor].format, results[tensor], index, bits);
    const DrawErrors errors = CheckResults(*library, parameters, 5, results);
    EXPECT_FALSE(errors.passes);
    return errors;
  };
  const DrawErrors wrong = spoiled(kY, 8 + 3, Encode(NumberFormat::kFp16, 1000));
  EXPECT_TRUE(wrong.where.starts_with("y[1,3]: 1000, expected ")) << wrong.where;
  EXPECT_GT(wrong.max_abs_error, 900);
  const DrawErrors unwritten = spoiled(kY, 47, PoisonOf(NumberFormat::kFp16));
  EXPECT_EQ(unwritten.where, "y[5,7]: never written");
  EXPECT_EQ(unwritten.unwritten, 1);
  const DrawErrors nan = spoiled(kY, 0, 0x7fff);
  EXPECT_TRUE(nan.where.starts_with("y[0,0]: nan, expected ")) << nan.where;
  EXPECT_EQ(nan.nonfinite, 1);
  EXPECT_TRUE(spoiled(kCount, 2, 77).where.starts_with("count[2]: 77, expected "));
  EXPECT_EQ(spoiled(kOffsets, 1, 4).where, "offsets[1]: the kernel changed this element of an input");
}

TEST(KernelLibrary2Test, AReferenceThatFailsIsReported) {
  const auto library = Tensors();
  const std::vector<ShapeParameter> right = Parameters();
  const DrawErrors errors = CheckResults(*library, Parameters("fault=8"), 1, RightResults(*library, right, 1));
  EXPECT_FALSE(errors.passes && errors.error.empty());
  EXPECT_EQ(errors.error, "the library's reference failed: no reference today");
}

TEST(KernelLibrary2Test, TensorsThatDoNotFitAreListedWithTheirSizes) {
  const auto library = Tensors();
  const std::vector<ShapeParameter> parameters = Parameters("rows=1000000,cols=1000");
  EXPECT_EQ(WhyTooLarge(*library, parameters, 0, std::size_t{1} << 40), "");
  const std::string why = WhyTooLarge(*library, parameters, ~std::size_t{0}, 80'000'000'000);
  EXPECT_TRUE(Contains(why, "and the GPU has 80 GB: workspace 1.84e+10, x 2, ")) << why;
}

TEST(KernelLibrary2Test, ABadDescriptionOfALibraryEndsInOneErrorThatNamesIt) {
  const auto error_of = [](const char* fault) {
    (void)setenv("FA_PROFILE_BAD_DESCRIPTION", fault, 1);
    const std::string error = ErrorOf([] {
      return AskLibrary({Library("bad_description"), {}}, {}, FA_PROFILE_PROGRAM);
    });
    (void)unsetenv("FA_PROFILE_BAD_DESCRIPTION");
    EXPECT_TRUE(Contains(error, "bad_description.so")) << fault;
    return error;
  };
  EXPECT_TRUE(Contains(error_of("null"), "returned NULL"));
  EXPECT_TRUE(Contains(error_of("pointer"), "crashed while its description was read"));
  EXPECT_TRUE(Contains(error_of("name pointer"), "crashed while its description was read"));
  EXPECT_TRUE(Contains(error_of("many tensors"), "it has 64 tensors"));
  EXPECT_TRUE(Contains(error_of("exit"), "ended the process in fa_profile_kernel_description()"));
}

TEST(KernelLibrary2Test, FilesAreCheckedBeforeAGpuIsNeeded) {
  const TestFolder folder;
  const auto run = [&](const std::string& arguments) {
    return RunInShell(folder.path(), std::string(FA_PROFILE_PROGRAM) + " verify " + arguments);
  };
  ExpectRefused(run("--tensor x=y"), "verify", "--tensor has no effect without a kernel library", "--kernel-lib");
  const std::string library = "--kernel-lib " + Library("tensors") + " --tensor ";
  ExpectRefused(run(library + "z=y"), "verify", "no tensor of that name", "its tensors are x, offsets, y, count");
  ExpectRefused(run(library + "y=y.npy"), "verify", "tensor 'x' is drawn at random", "--tensor x=FILE");
  ExpectRefused(run("--kernel-lib " FA_PROFILE_EXAMPLE_KERNEL_LIB " --tensor x=y"), "verify", "--tensor has no effect",
                "leave --tensor out");
}

TEST(KernelLibrary2Test, ListKernelsShowsParametersAndTensors) {
  const TestFolder folder;
  const auto run = [&](const std::string& arguments) {
    return RunInShell(folder.path(), std::string(FA_PROFILE_PROGRAM) + " " + arguments);
  };
  const Outcome outcome = run("list kernels --match scale --kernel-lib " + Library("tensors"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "scale_rows"));
  EXPECT_TRUE(Contains(outcome.out, "--shape rows=6,cols=8,groups=2,scale=2,fault=0"));
  EXPECT_TRUE(Contains(outcome.out, "count: int32 (rows), in place"));
  const Outcome attention = run("list kernels --kernel-lib " FA_PROFILE_EXAMPLE_KERNEL_LIB);
  EXPECT_TRUE(Contains(attention.out, "--shape BATCH,HEADS,SEQLEN,HEAD_DIM"));
  ExpectRefused(run("list sets --kernel-lib x.so"), "list sets", "--kernel-lib has no effect", "list kernels");
  ExpectRefused(run("list kernels --kernel-lib missing.so"), "list kernels", "missing.so", "shared library");
}

}  // namespace
}  // namespace fa_profile::kernel_library_2_test
