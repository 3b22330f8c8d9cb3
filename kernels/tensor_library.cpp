#include "tensor_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "draw_values.h"
#include "fa_profile/extents.h"
#include "fa_profile/tensor_file.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

// Reads the description under a crash report: following its pointers means running into the library.
KernelDescription DescriptionOf(void* handle, const std::string& path, const std::vector<std::string>& files) {
  const LibraryFunction<decltype(fa_profile_kernel_description)> describe(handle, path,
                                                                          "fa_profile_kernel_description");
  const fa_profile_kernel* const raw = describe();
  const CrashMessages messages = LibraryCrashMessages(
      path, "while its description was read", "a pointer in what fa_profile_kernel_description() returns is bad");
  const CrashReport report(messages);
  KernelDescription description = ReadDescription(raw, path);
  SetFiles(description, files);
  return description;
}

fa_profile_call CallOf(const std::vector<std::int64_t>& values, std::size_t tensors) {
  fa_profile_call call{};
  call.struct_size = sizeof call;
  call.tensor_count = static_cast<std::uint32_t>(tensors);
  call.parameters = values.data();
  return call;
}

std::optional<double> Known(double number) {
  return std::isfinite(number) && number > 0.0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<std::int64_t> ValuesOf(const std::vector<ShapeParameter>& parameters) {
  std::vector<std::int64_t> values;
  for (const ShapeParameter& parameter : parameters) values.push_back(parameter.value);
  return values;
}

std::string KernelNameOf(const LibraryFunction<decltype(fa_profile_kernel_name)>& function, const std::string& path) {
  constexpr std::size_t kShown = 64;
  const char* const name = function();
  std::string text = name == nullptr ? "" : std::string(name, strnlen(name, kShown + 1));
  if (IsKernelName(text)) return text;
  throw Error("the kernel library " + path + " has the invalid kernel name '" + text.substr(0, kShown) + "'",
              "fa_profile_kernel_name() must return 1 to 64 characters of a-z, 0-9, '_' and '-'");
}

TensorLibrary::TensorLibrary(std::string path, LibraryHandle handle, const std::vector<std::string>& files)
    : path_(std::move(path)),
      handle_(std::move(handle)),
      kernel_name_(handle_.get(), path_, "fa_profile_kernel_name"),
      name_(KernelNameOf(kernel_name_, path_)),
      description_(DescriptionOf(handle_.get(), path_, files)),
      launch_(description_.functions.launch, path_, "launch"),
      supports_(description_.functions.supports, path_, "supports"),
      workspace_bytes_(description_.functions.workspace_bytes, path_, "workspace_bytes"),
      reference_(description_.functions.reference, path_, "reference"),
      check_(description_.functions.check, path_, "check"),
      work_(description_.functions.work, path_, "work") {}

std::string TensorLibrary::WhyNot(const std::vector<ShapeParameter>& parameters) const {
  try {
    (void)Extents(parameters);
  } catch (const Error& error) {
    return error.message();
  }
  if (!supports_) return {};
  const std::vector<std::int64_t> values = ValuesOf(parameters);
  const fa_profile_call call = CallOf(values, description_.tensors.size());
  LibraryError error;
  if (supports_(&call, error.data(), error.size()) == 0) return {};
  return error.Text("the library refuses these parameters and gives no reason");
}

std::size_t TensorLibrary::WorkspaceBytes(const std::vector<ShapeParameter>& parameters) const {
  if (!workspace_bytes_) return 0;
  const std::vector<std::int64_t> values = ValuesOf(parameters);
  const fa_profile_call call = CallOf(values, description_.tensors.size());
  return workspace_bytes_(&call);
}

Work TensorLibrary::WorkOf(const std::vector<ShapeParameter>& parameters) const {
  if (!work_) return {};
  const std::vector<std::int64_t> values = ValuesOf(parameters);
  fa_profile_work work{};
  work_(values.data(), &work);
  return {Known(work.flops), Known(work.bytes)};
}

void TensorLibrary::Launch(fa_profile_call call) const {
  LibraryError error;
  if (launch_(&call, error.data(), error.size()) == 0) return;
  throw Error("launch", {}, error.Text("no reason given") + " (" + path_ + ")");
}

std::vector<std::vector<std::int64_t>> TensorLibrary::Extents(const std::vector<ShapeParameter>& parameters) const {
  std::vector<std::vector<std::int64_t>> extents;
  for (const TensorDescription& tensor : description_.tensors) {
    try {
      extents.push_back(ExtentsOf(tensor.shape, parameters));
    } catch (const Error& error) {
      throw Error("tensor '" + tensor.name + "': " + error.message(), "give other parameters with --shape");
    }
  }
  return extents;
}

void TensorLibrary::DrawByFunction(const TensorDescription& tensor, const std::vector<ShapeParameter>& parameters,
                                   std::uint64_t seed, std::vector<double>& values) const {
  std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
  const LibraryFunction<fa_profile_draw_function> draw(tensor.draw.function, path_,
                                                       "the draw function of tensor '" + tensor.name + "'");
  const std::vector<std::int64_t> arguments = ValuesOf(parameters);
  draw(arguments.data(), seed, values.data(), static_cast<std::int64_t>(values.size()));
}

std::vector<double> TensorLibrary::Draw(std::size_t tensor, const std::vector<ShapeParameter>& parameters,
                                        std::uint64_t seed) const {
  const TensorDescription& of = description_.tensors.at(tensor);
  const std::vector<std::int64_t> extents = ExtentsOf(of.shape, parameters);
  std::vector<double> values(static_cast<std::size_t>(ElementsOf(extents)));
  if (!of.file.empty()) {
    values = ReadTensorFile(of.file, of.format, extents);
  } else if (of.draw.kind == FA_PROFILE_FUNCTION) {
    DrawByFunction(of, parameters, seed, values);
  } else {
    DrawValues(of.draw, seed, static_cast<std::uint32_t>(tensor), values);
  }
  const bool is_checked = of.draw.kind == FA_PROFILE_FUNCTION || !of.file.empty();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_checked && !Fits(of.format, values[i])) {
      throw Error(fmt::format("the kernel library {}: element {}{} is drawn as {}, which {} cannot hold", path_,
                              of.name, PlaceOf(static_cast<std::int64_t>(i), extents), values[i], NameOf(of.format)),
                  "the function or the file must give every element a finite value in its type's range");
    }
    values[i] = Decode(of.format, Encode(of.format, values[i]));
  }
  return values;
}

std::string TensorLibrary::Reference(const std::vector<ShapeParameter>& parameters,
                                     std::span<double* const> tensors) const {
  if (!reference_) return {};
  const std::vector<std::int64_t> values = ValuesOf(parameters);
  LibraryError error;
  if (reference_(values.data(), tensors.data(), error.data(), error.size()) == 0) return {};
  return "the library's reference failed: " + error.Text("no reason given");
}

std::string TensorLibrary::Check(const std::vector<ShapeParameter>& parameters, std::span<const double* const> expected,
                                 std::span<const double* const> results) const {
  const std::vector<std::int64_t> values = ValuesOf(parameters);
  fa_profile_results arguments{};
  arguments.struct_size = sizeof arguments;
  arguments.tensor_count = static_cast<std::uint32_t>(results.size());
  arguments.parameters = values.data();
  arguments.expected = expected.data();
  arguments.results = results.data();
  LibraryError error;
  if (check_(&arguments, error.data(), error.size()) == 0) return {};
  return Printable(error.Text("the library's check refuses the results and gives no reason"));
}

}  // namespace fa_profile
