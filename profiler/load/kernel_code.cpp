#include "fa_profile/kernel_code.h"

namespace fa_profile {

KernelCode ToKernelCode(const std::string& file, const std::string& architecture, const CubinInfo& info,
                        const CubinFunction& function) {
  KernelCode code;
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

}  // namespace fa_profile
