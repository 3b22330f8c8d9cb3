#include "fa_profile/kernel_code.h"

#include <algorithm>

#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"

namespace fa_profile::load {

analyze::KernelCode ToKernelCode(const std::string& file, const std::string& architecture, const sass::CubinInfo& info,
                                 const sass::CubinFunction& function) {
  analyze::KernelCode code;
  code.file = file;
  code.architecture = architecture;
  code.sm = info.sm;
  code.has_line_information = info.has_line_information;
  code.code_hash = function.code_hash;
  code.code_bytes = static_cast<std::int64_t>(function.code_bytes);
  code.registers_per_thread = function.registers_per_thread;
  code.stack_frame_bytes = function.stack_frame_bytes;
  code.static_shared_memory_bytes = function.static_shared_memory_bytes;
  code.max_threads = function.max_threads;
  code.required_threads = function.required_threads;
  code.externals = function.externals;
  return code;
}

std::vector<analyze::KernelCode> DisassembleKernels(const std::string& file, const sass::EmbeddedCubin& cubin,
                                                    const sass::CubinInfo& info,
                                                    const std::vector<std::string>& symbols,
                                                    const std::string& nvdisasm) {
  std::vector<DeviceFunction> functions = sass::Disassemble(cubin.bytes, 0, nvdisasm, symbols);
  std::vector<analyze::KernelCode> codes;
  for (const std::string& symbol : symbols) {
    const auto function = std::ranges::find(functions, symbol, &DeviceFunction::name);
    if (function == functions.end()) throw Error("nvdisasm did not list the kernel " + symbol);
    const auto described = std::ranges::find(info.functions, symbol, &sass::CubinFunction::name);
    codes.push_back(ToKernelCode(file, cubin.architecture, info, *described));
    codes.back().function = std::move(*function);
  }
  return codes;
}

std::vector<std::string> WantedKernels(const sass::CubinInfo& info,
                                       const std::function<bool(const std::string& name)>& is_wanted) {
  std::vector<std::string> wanted;
  for (const sass::CubinFunction& function : info.functions) {
    if (function.is_kernel && is_wanted(Demangle(function.name.c_str()))) wanted.push_back(function.name);
  }
  return wanted;
}

}  // namespace fa_profile::load
