// Kernel libraries, as far as they go without a GPU.
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "fa_profile/library_child.h"
#include "run_program.h"
#include "tensor_kernel.h"
#include "tensor_workload.h"
#include "test_files.h"

namespace fa_profile::kernel_library_test {
namespace {

std::string Library(const std::string& name) { return std::string(FA_PROFILE_KERNEL_LIBS) + "/" + name + ".so"; }

std::unique_ptr<Kernel> Load(const std::string& name) {
  return LibraryKernel(Library(name), IdentityOf(*LoadTensorLibrary(Library(name))));
}

std::vector<ShapeParameter> Parameters(const std::string& asked = "fault=0") {
  return *Load("tensors")->Fit(Shape::Parse(asked)).shape->parameters();
}

std::shared_ptr<const TensorLibrary> Tensors(const std::vector<std::string>& files = {}) {
  return LoadTensorLibrary(Library("tensors"), files);
}

enum Tensor : std::size_t { kX, kOffsets };

std::string ErrorOf(const auto& act) {
  try {
    (void)act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string LoadError(const std::string& path) {
  return ErrorOf([&] { return LoadTensorLibrary(path); });
}

TEST(KernelLibraryTest, AMissingFileIsNamed) {
  EXPECT_TRUE(Contains(LoadError("no/such/kernel.so"), "no/such/kernel.so"));
}

TEST(KernelLibraryTest, WhatIsNotARegularFileIsNamedAsWhatItIs) {
  const TestFolder folder;
  const std::string pipe = (folder.path() / "pipe.so").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(Contains(LoadError(pipe), pipe + " is not a regular file"));
  EXPECT_TRUE(Contains(LoadError(folder.path().string()), "is a directory"));
  EXPECT_TRUE(Contains(LoadError("/dev/zero"), "/dev/zero is not a regular file"));
  EXPECT_TRUE(Contains(LoadError("/proc/1/mem/x.so"), "cannot be read"));
}

TEST(KernelLibraryTest, AFileThatIsNotALibraryIsNamed) {
  const auto path = std::filesystem::temp_directory_path() / "fa_profile_no_library.so";
  std::ofstream(path) << "plain text";
  EXPECT_TRUE(Contains(LoadError(path), path.string()));
  std::filesystem::remove(path);
}

TEST(KernelLibraryTest, ACubinAndALibraryForAnotherMachineAreToldApartFromAMissingFile) {
  const TestFolder folder;
  std::string elf(64, '\0');
  elf.replace(0, 7, "\177ELF\002\001\001");
  elf[16] = 3;  // a shared object
  elf[18] = static_cast<char>(190);
  EXPECT_TRUE(Contains(LoadError(folder.Write("a.cubin", elf)), "is a cubin"));
  elf[18] = 22;  // for a mainframe
  EXPECT_TRUE(Contains(LoadError(folder.Write("b.so", elf)), "made for another machine (ELF machine 22)"));
}

TEST(KernelLibraryTest, AMissingFunctionIsNamed) {
  const std::string error = LoadError(Library("missing_symbol"));
  EXPECT_TRUE(Contains(error, "fa_profile_kernel_description"));
  EXPECT_TRUE(Contains(error, "missing_symbol.so"));
}

TEST(KernelLibraryTest, AnotherInterfaceVersionIsReportedBesideOurs) {
  const std::string error = LoadError(Library("other_version"));
  EXPECT_TRUE(Contains(error, "version 42"));
  EXPECT_TRUE(Contains(error, "takes 2\n  hint: build it again"));
}

TEST(KernelLibraryTest, OfVersion1TheErrorNamesTheCure) {
  const std::string error = LoadError(Library("version_1"));
  EXPECT_TRUE(Contains(error, "version_1.so has version 1 of the kernel interface, and this fa-profile takes 2"));
  EXPECT_TRUE(Contains(error, "docs/kernels.md, \"From version 1\""));
  EXPECT_TRUE(Contains(ReadSourceFile("docs/kernels.md"), "\n### From version 1\n"));
}

TEST(KernelLibraryTest, AnInvalidNameIsQuotedWithTheRule) {
  const std::string error = LoadError(Library("bad_name"));
  EXPECT_TRUE(Contains(error, "'My Kernel!'"));
  EXPECT_TRUE(Contains(error, "1 to 64 characters"));
}

TEST(KernelLibraryDeathTest, ACrashReportsTheLibraryAndTheFunction) {
  const auto kernel = Load("tensors");
  EXPECT_EXIT((void)kernel->WhyNot(Shape::Parse("fault=15")), testing::ExitedWithCode(2),
              "tensors.so crashed in supports()");
}

TEST(KernelLibraryDeathTest, AnExitReportsTheLibraryAndTheFunctionAndIsNotASuccess) {
  EXPECT_EXIT((void)LoadTensorLibrary(Library("exits_in_name")), testing::ExitedWithCode(2),
              "exits_in_name.so ended the process in fa_profile_kernel_name");
}

TEST(KernelLibraryDeathTest, ACrashingConstructorIsReportedWithAHint) {
  EXPECT_EXIT((void)LoadTensorLibrary(Library("crashes_in_constructor")), testing::ExitedWithCode(2),
              "crashes_in_constructor.so crashed while it was loaded\n  hint: a constructor");
}

TEST(KernelLibraryDeathTest, AnExitOutsideALibraryKeepsItsCode) {
  const auto library = LoadTensorLibrary(Library("tensors"));
  EXPECT_EXIT(std::exit(0), testing::ExitedWithCode(0), "");
}

TEST(KernelLibraryDeathTest, ACrashOutsideALibraryDoesNotNameIt) {
  const auto library = LoadTensorLibrary(Library("tensors"));
  EXPECT_EXIT(std::abort(), testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(std::raise(SIGSEGV), testing::KilledBySignal(SIGSEGV), "");
}

TEST(KernelLibraryTest, IsAKernelWithItsOwnShape) {
  const auto kernel = Load("tensors");
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

TEST(KernelLibraryTest, TheChildTellsParametersAndTensors) {
  const LibraryIdentity identity = AskForIdentity(Library("tensors"), {}, {}, FA_PROFILE_PROGRAM);
  EXPECT_EQ(identity.kernel, "scale_rows");
  ASSERT_EQ(identity.parameters.size(), 5U);
  EXPECT_EQ(identity.parameters[3], (KernelParameter{"scale", 2, -100, 100}));
  EXPECT_EQ(identity.tensors.at(kOffsets), "offsets: int32 (groups+1), input");
  const auto kernel = LibraryKernel("missing.so", identity);
  EXPECT_EQ(kernel->Fit(Shape::Parse("scale=-3")).shape->ToString(), "rows=6,cols=8,groups=2,scale=-3,fault=0")
      << "without loading the library";
}

TEST(KernelLibraryTest, EveryKernelIsPairedWithTheShapesOfItsKind) {
  const auto library = Load("tensors");
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

TEST(KernelLibraryTest, InputsAreDrawnAndRoundedToTheirFormat) {
  const auto library = Tensors();
  const std::vector<ShapeParameter> parameters = Parameters();
  for (const double value : library->Draw(kX, parameters, 1)) {
    EXPECT_EQ(Decode(NumberFormat::kFp16, Encode(NumberFormat::kFp16, value)), value);
  }
  EXPECT_EQ(library->Draw(kOffsets, parameters, 2), (std::vector<double>{0, 2, 5}));
  EXPECT_EQ(library->Draw(kOffsets, parameters, 3), (std::vector<double>{1, 3, 6}));
  EXPECT_NE(library->Draw(kX, parameters, 1), library->Draw(kX, parameters, 2));
}

TEST(KernelLibraryTest, ADrawThatLeavesAnElementOutIsAnErrorThatNamesIt) {
  const auto library = Tensors();
  const std::string error = ErrorOf([&] { return library->Draw(kOffsets, Parameters("fault=11"), 1); });
  EXPECT_TRUE(Contains(error, "offsets[2] is drawn as nan, which int32 cannot hold")) << error;
}

TEST(KernelLibraryTest, AFileOfTheUsersReplacesTheDraw) {
  const TestFolder folder;
  const std::string path = folder.Write("offsets.bin", std::string("\0\0\0\0\1\0\0\0\4\0\0\0", 12));
  EXPECT_EQ(Tensors({"offsets=" + path})->Draw(kOffsets, Parameters(), 1), (std::vector<double>{0, 1, 4}));
  EXPECT_TRUE(Contains(ErrorOf([&] { return Tensors({"offset=" + path}); }), "its tensors are x, offsets, y, count"));
  const auto wrong_size = Tensors({"offsets=" + path});
  EXPECT_TRUE(Contains(ErrorOf([&] { return wrong_size->Draw(kOffsets, Parameters("groups=3"), 1); }), "offsets.bin"));
}

TEST(KernelLibraryTest, TensorsThatDoNotFitAreListedWithTheirSizes) {
  const auto library = Tensors();
  const std::vector<ShapeParameter> parameters = Parameters("rows=1000000,cols=1000");
  EXPECT_EQ(WhyTooLarge(*library, parameters, 0, std::size_t{1} << 40), "");
  const std::string why = WhyTooLarge(*library, parameters, ~std::size_t{0}, 80'000'000'000);
  EXPECT_TRUE(Contains(why, "and the GPU has 80 GB: workspace 1.84e+10, x 2, ")) << why;
}

TEST(KernelLibraryTest, ABadDescriptionOfALibraryEndsInOneErrorThatNamesIt) {
  const auto error_of = [](const char* fault) {
    (void)setenv("FA_PROFILE_BAD_DESCRIPTION", fault, 1);
    const std::string error =
        ErrorOf([] { return AskForIdentity(Library("bad_description"), {}, {}, FA_PROFILE_PROGRAM); });
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

TEST(KernelLibraryTest, FilesAreCheckedBeforeAGpuIsNeeded) {
  const TestFolder folder;
  const auto run = [&](const std::string& arguments) {
    return RunInShell(folder.path(), std::string(FA_PROFILE_PROGRAM) + " verify " + arguments);
  };
  ExpectRefused(run("--tensor x=y"), "verify", "--tensor has no effect without a kernel library", "--kernel-lib");
  const std::string library = "--kernel-lib " + Library("tensors") + " --tensor ";
  ExpectRefused(run(library + "z=y"), "verify", "no tensor of that name", "its tensors are x, offsets, y, count");
  ExpectRefused(run(library + "y=y.npy"), "verify", "tensor 'x' is drawn at random", "--tensor x=FILE");
}

TEST(KernelLibraryTest, ListKernelsShowsParametersAndTensors) {
  const TestFolder folder;
  const auto run = [&](const std::string& arguments) {
    return RunInShell(folder.path(), std::string(FA_PROFILE_PROGRAM) + " " + arguments);
  };
  const Outcome outcome = run("list kernels --match scale --kernel-lib " + Library("tensors"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "scale_rows"));
  EXPECT_TRUE(Contains(outcome.out, "--shape rows=6,cols=8,groups=2,scale=2,fault=0"));
  EXPECT_TRUE(Contains(outcome.out, "count: int32 (rows), in place"));
  ExpectRefused(run("list sets --kernel-lib x.so"), "list sets", "--kernel-lib has no effect", "list kernels");
  ExpectRefused(run("list kernels --kernel-lib missing.so"), "list kernels", "missing.so", "shared library");
}

}  // namespace
}  // namespace fa_profile::kernel_library_test
