#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fa_profile/kernel_description.h"
#include "fa_profile/kernels.h"
#include "fa_profile/number_format.h"

namespace fa_profile {

/// The process in which the code of a kernel library runs, as the judge (profiler/judge) sees it: it
/// answers messages on ChildSession::kChannel until the channel closes. Messages are JSON objects; "do" names the task:
///
///   device, device                  -> makes the CUDA context; first, it runs before the library is loaded
///   describe                        -> what the library says of its kernel: LibraryStatement
///   load, values, device            -> why_not, workspace_bytes; opens the GPU
///   open, sets                      -> maps more of the judge's tensors: a list of IPC handles (hex) for each set, in
///                                      the order of the description, the workspace last; "" for one of 0 bytes
///   graph, chain, overwritten       -> captures `chain` calls on each set, a graph for each; overwritten: outputs are
///                                      set to all bits before the last call
///   run, order, chain, overwritten  -> enqueues the graph of each set in `order`, or with chain 0 a call without a
///                                      graph, and waits for them
///   trace                           -> `kernels`, a text each: those of a call of each set, if on several streams
///   draw, values, tensor, seed      -> the tensor's draw function writes to the shared memory (kSharedMemory)
///   reference, values, counts       -> the library's reference writes the outputs there; `counts`: elements of each
///   check, values, counts           -> what the library's own check finds wrong, of results after those
///
/// An answer has "error" (a text; empty: none). The judge believes no answer: it checks what can be checked from
/// outside.
/// `trace` runs what it is given and returns which kernels the process launched, each with its stream.
using TraceKernels = std::function<std::vector<std::string>(const std::function<void()>&)>;
[[noreturn]] void ServeKernelLibrary(const std::string& library, const std::vector<std::string>& files,
                                     const TraceKernels& trace);

/// The descriptor of the memory in which draws and references are exchanged: float64, one tensor after the other.
inline constexpr int kSharedMemory = 4;

/// What a library says about itself.
struct LibraryStatement {
  LibraryIdentity identity;
  std::vector<TensorDescription> tensors;  ///< without functions
  bool has_reference = false;
  bool has_check = false;
};

std::string ToMessage(const LibraryStatement& statement);
/// Throws Error: the message contains one, or is not such a message.
LibraryStatement StatementFromMessage(const std::string& message);

/// The message with what a library says about itself, or why it cannot be loaded: loads it into this process.
std::string DescribeKernelLibrary(const std::string& library, const std::vector<std::string>& files);

}  // namespace fa_profile
