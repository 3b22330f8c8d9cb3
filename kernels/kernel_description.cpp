#include "fa_profile/kernel_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "fa_profile/error.h"
#include "fa_profile/extents.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

constexpr std::int64_t kMostExtent = std::numeric_limits<std::int32_t>::max();

// Reads one description. Its errors name the library and what in it is wrong.
class DescriptionReader {
 public:
  explicit DescriptionReader(const std::string& library) : library_(library) {}

  KernelDescription Read(const fa_profile_kernel* raw) {
    if (raw == nullptr) Refuse("fa_profile_kernel_description() returned NULL", "return the address of a description");
    KernelDescription description;
    description.functions = Functions(*raw);
    const fa_profile_kernel& kernel = description.functions;
    if (kernel.launch == nullptr) Refuse("'launch' is NULL", "a kernel needs a function that launches it");
    ReadParameters(kernel, description);
    ReadTensors(kernel, description);
    RequireReferences(description);
    return description;
  }

 private:
  // A library of another version has other members at the end. Those that it lacks are NULL.
  fa_profile_kernel Functions(const fa_profile_kernel& raw) const {
    constexpr std::size_t kLeast = offsetof(fa_profile_kernel, work) + sizeof raw.work;
    if (raw.struct_size < kLeast) Refuse(fmt::format("'struct_size' is {}", raw.struct_size), kSizesHint);
    RequireSize(raw.parameter_size, sizeof(fa_profile_parameter), "parameter_size");
    RequireSize(raw.tensor_size, sizeof(fa_profile_tensor), "tensor_size");
    fa_profile_kernel kernel{};
    std::memcpy(&kernel, &raw, std::min<std::size_t>(raw.struct_size, sizeof kernel));
    return kernel;
  }

  void RequireSize(std::uint32_t size, std::size_t least, const char* member) const {
    constexpr std::size_t kMost = 4096;
    if (size < least || size > kMost || size % alignof(void*) != 0) {
      Refuse(fmt::format("'{}' is {}", member, size), kSizesHint);
    }
  }

  // The members of an array whose elements have `size` bytes each.
  template <typename Item>
  std::vector<Item> Items(const Item* items, std::uint32_t count, std::uint32_t size, std::uint32_t most,
                          const char* what) const {
    if (count > most) Refuse(fmt::format("it has {} {}", count, what), fmt::format("at most {}", most));
    if (count == 0 || items == nullptr) {
      Refuse(fmt::format("it has no {}", what), fmt::format("point '{}' to an array, and give its size", what));
    }
    std::vector<Item> found(count);
    const char* place = reinterpret_cast<const char*>(items);
    for (Item& item : found) {
      std::memcpy(&item, place, sizeof item);
      place += size;
    }
    return found;
  }

  void ReadParameters(const fa_profile_kernel& kernel, KernelDescription& into) {
    for (const fa_profile_parameter& raw : Items(kernel.parameters, kernel.parameter_count, kernel.parameter_size,
                                                 FA_PROFILE_MOST_PARAMETERS, "parameters")) {
      subject_ = fmt::format("parameter {}", into.parameters.size());
      KernelParameter parameter{Name(raw.name), raw.value, raw.minimum, raw.maximum};
      subject_ = "parameter '" + parameter.name + "'";
      if (raw.minimum == 0 && raw.maximum == 0) {
        parameter.minimum = 1;
        parameter.maximum = kMostExtent;
      }
      if (parameter.value < parameter.minimum || parameter.value > parameter.maximum) {
        Refuse(
            fmt::format("its value {} is not between {} and {}", parameter.value, parameter.minimum, parameter.maximum),
            "set 'value', and 'minimum' and 'maximum' or neither");
      }
      RequireNew(into.parameters, parameter.name);
      into.parameters.push_back(std::move(parameter));
    }
    subject_.clear();
  }

  void ReadTensors(const fa_profile_kernel& kernel, KernelDescription& into) {
    const std::vector<ShapeParameter> values = *FitParameters(into.parameters, {}).shape->parameters();
    for (const fa_profile_tensor& raw :
         Items(kernel.tensors, kernel.tensor_count, kernel.tensor_size, FA_PROFILE_MOST_TENSORS, "tensors")) {
      subject_ = fmt::format("tensor {}", into.tensors.size());
      TensorDescription tensor;
      tensor.name = Name(raw.name);
      RequireNew(into.tensors, tensor.name);
      subject_ = "tensor '" + tensor.name + "'";
      ReadTensor(raw, tensor);
      try {
        (void)ExtentsOf(tensor.shape, values);
      } catch (const Error& error) {
        Refuse(error.message(), "its parameters are " + ToString(into.parameters));
      }
      into.tensors.push_back(std::move(tensor));
    }
    subject_.clear();
    if (std::ranges::none_of(into.tensors, &TensorDescription::is_compared)) {
      Refuse("it has no output", "a tensor must have the role FA_PROFILE_OUTPUT or FA_PROFILE_IN_PLACE");
    }
  }

  void ReadTensor(const fa_profile_tensor& raw, TensorDescription& tensor) const {
    if (raw.dtype < FA_PROFILE_FP32 || raw.dtype > FA_PROFILE_INT32) {
      Refuse(fmt::format("its dtype is {}", raw.dtype), "use FA_PROFILE_FP32, FA_PROFILE_FP16, ...");
    }
    tensor.format = static_cast<NumberFormat>(raw.dtype);
    if (raw.role < FA_PROFILE_INPUT || raw.role > FA_PROFILE_IN_PLACE) {
      Refuse(fmt::format("its role is {}", raw.role), "use FA_PROFILE_INPUT, FA_PROFILE_OUTPUT or FA_PROFILE_IN_PLACE");
    }
    tensor.role = raw.role;
    tensor.shape = Text(raw.shape, "shape", FA_PROFILE_LONGEST_TEXT);
    if (raw.file != nullptr) tensor.file = Text(raw.file, "file", FA_PROFILE_LONGEST_TEXT);
    if (!tensor.file.empty()) tensor.file = std::filesystem::absolute(library_).parent_path() / tensor.file;
    if (tensor.is_drawn()) tensor.draw = ReadDraw(raw.draw, tensor.format);
    tensor.tolerance = {raw.tolerance.absolute, raw.tolerance.relative};
    for (const double value : {tensor.tolerance.absolute, tensor.tolerance.relative}) {
      if (!std::isfinite(value) || value < 0) Refuse(fmt::format("its tolerance is {}", value), "at least 0");
    }
  }

  Draw ReadDraw(const fa_profile_draw& raw, NumberFormat format) const {
    const auto refuse = [&](const std::string& why) {
      Refuse(fmt::format("its draw of kind {} from a = {}, b = {} {}", raw.kind, raw.a, raw.b, why),
             "see fa_profile_draw in fa_profile/kernel_abi_2.h");
    };
    if (raw.kind < FA_PROFILE_NORMAL || raw.kind > FA_PROFILE_FUNCTION) refuse("has an unknown kind");
    if (!std::isfinite(raw.a) || !std::isfinite(raw.b)) refuse("is not finite");
    Draw draw{raw.kind, raw.a, raw.b, raw.kind == FA_PROFILE_FUNCTION ? raw.function : nullptr};
    if (draw.kind == FA_PROFILE_FUNCTION && draw.function == nullptr) refuse("has no function");
    if (draw.kind == FA_PROFILE_NORMAL && draw.a == 0 && draw.b == 0) draw.b = 1;
    const bool is_range = draw.kind == FA_PROFILE_UNIFORM || draw.kind == FA_PROFILE_INTEGERS;
    if (is_range && draw.a > draw.b) refuse("has a range that ends before it begins");
    if (draw.kind == FA_PROFILE_INTEGERS && (draw.a != std::floor(draw.a) || draw.b != std::floor(draw.b))) {
      refuse("has a range that is not of whole numbers");
    }
    const bool is_integer = IsInteger(format);
    if (is_integer && (draw.kind == FA_PROFILE_NORMAL || draw.kind == FA_PROFILE_UNIFORM)) {
      refuse("is not of whole numbers, as " + std::string(NameOf(format)) + " needs them");
    }
    if (draw.kind == FA_PROFILE_CONSTANT && !Fits(format, draw.a)) refuse("does not fit into its dtype");
    if (is_range && (!Fits(format, draw.a) || !Fits(format, draw.b))) refuse("does not fit into its dtype");
    return draw;
  }

  // Every output must be compared with something.
  void RequireReferences(const KernelDescription& description) {
    if (description.functions.reference != nullptr || description.functions.check != nullptr) return;
    for (const TensorDescription& tensor : description.tensors) {
      if (!tensor.is_compared() || (!tensor.file.empty() && tensor.role == FA_PROFILE_OUTPUT)) continue;
      subject_ = "tensor '" + tensor.name + "'";
      Refuse("nothing says what it must hold", "set 'reference' or 'check' of the kernel, or 'file' of the output");
    }
  }

  std::string Name(const char* raw) const {
    std::string name = Text(raw, "name", FA_PROFILE_LONGEST_NAME);
    if (IsParameterName(name)) return name;
    Refuse("its name is '" + Printable(name) + "'", "1 to 32 characters of A-Z, a-z, 0-9 and '_', the first no digit");
  }

  std::string Text(const char* raw, const char* member, std::size_t longest) const {
    if (raw == nullptr) Refuse(fmt::format("its '{}' is NULL", member), "point it to a NUL-terminated text");
    const std::size_t size = strnlen(raw, longest + 1);
    if (size > longest) {
      Refuse(fmt::format("its '{}' does not end within {} characters", member, longest), "terminate it with NUL");
    }
    if (size == 0) Refuse(fmt::format("its '{}' is empty", member), "give it a text");
    return {raw, size};
  }

  template <typename Item>
  void RequireNew(const std::vector<Item>& items, const std::string& name) const {
    if (std::ranges::find(items, name, &Item::name) == items.end()) return;
    Refuse("another one has the name '" + name + "', too", "names must differ");
  }

  [[noreturn]] void Refuse(const std::string& what, const std::string& hint) const {
    throw Error("the kernel library " + library_ +
                    " has a bad description: " + (subject_.empty() ? "" : subject_ + ": ") + Printable(what),
                hint);
  }

  static constexpr const char* kSizesHint =
      "begin the description with FA_PROFILE_KERNEL_SIZES, and build it with fa_profile/kernel_abi_2.h";

  const std::string& library_;
  std::string subject_;  // the parameter or the tensor; empty: the kernel
};

// A file's reference belongs to certain inputs.
void RequireFixedInputs(const KernelDescription& description) {
  const auto is_reference = [](const TensorDescription& tensor) { return !tensor.is_drawn() && !tensor.file.empty(); };
  const auto is_random = [](const TensorDescription& tensor) {
    return tensor.is_drawn() && tensor.file.empty() && tensor.draw.kind != FA_PROFILE_CONSTANT &&
           tensor.draw.kind != FA_PROFILE_FUNCTION;
  };
  const auto reference = std::ranges::find_if(description.tensors, is_reference);
  const auto random = std::ranges::find_if(description.tensors, is_random);
  if (reference == description.tensors.end() || random == description.tensors.end()) return;
  throw Error(fmt::format("the reference of tensor '{}' is a file, and tensor '{}' is drawn at random", reference->name,
                          random->name),
              fmt::format("give the file's inputs, too: --tensor {}=FILE", random->name));
}

}  // namespace

bool IsKernelName(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

KernelDescription ReadDescription(const fa_profile_kernel* raw, const std::string& library) {
  return DescriptionReader(library).Read(raw);
}

void SetFiles(KernelDescription& description, const std::vector<std::string>& files) {
  for (const std::string& text : files) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      throw Error("--tensor " + text + " does not name a file", "give it as --tensor NAME=FILE");
    }
    const auto tensor = std::ranges::find(description.tensors, text.substr(0, equals), &TensorDescription::name);
    if (tensor == description.tensors.end()) {
      std::vector<std::string> names;
      for (const TensorDescription& known : description.tensors) names.push_back(known.name);
      throw Error("--tensor " + text + ": the kernel has no tensor of that name",
                  fmt::format("its tensors are {}", fmt::join(names, ", ")));
    }
    tensor->file = std::filesystem::absolute(text.substr(equals + 1));
  }
  RequireFixedInputs(description);
}

std::string Describe(const TensorDescription& tensor) {
  constexpr const char* kRoles[] = {"input", "output", "in place"};
  return fmt::format("{}: {} ({}), {}", tensor.name, NameOf(tensor.format), tensor.shape, kRoles[tensor.role - 1]);
}

}  // namespace fa_profile
