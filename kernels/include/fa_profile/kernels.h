#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/attention_shape.h"
#include "fa_profile/recording.h"
#include "fa_profile/workload.h"

namespace fa_profile {

/// An attention forward kernel: a rung of the ladder or one from a kernel library.
class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual const std::string& id() const = 0;       ///< "mma"
  virtual const std::string& origin() const = 0;   ///< "ladder", or the library's path
  virtual int rung() const = 0;                    ///< its place on the ladder, from 1; 0 for a kernel library
  virtual const std::string& teaches() const = 0;  ///< one line: what to learn from its profile
  /// Names of the phase functions inside the kernel ("load_kv", "qk", ...); empty when unknown.
  virtual const std::vector<std::string>& phases() const = 0;

  /// Empty when this kernel takes the shape; otherwise why not, in words that name the cure.
  virtual std::string WhyNot(const AttentionShape& shape) const = 0;

  /// Allocates Q, K, V, O and scratch on the current device and fills Q, K, V with fresh normal random fp16 numbers
  /// from `seed`. Throws Error: shape not supported, out of memory, no device.
  virtual std::unique_ptr<Workload> MakeWorkload(const AttentionShape& shape, std::uint64_t seed) const = 0;
};

/// The rungs in order (kernels/ladder.cpp). Objects live as long as the program. Needs no GPU.
const std::vector<const Kernel*>& Ladder();

/// Rung 3 with one thing undone each, which moves one counter each: "tiled_no_pad" (bank conflicts), "tiled_no_async"
/// (no LDGSTS), "tiled_scalar_load" (four times the LDGSTS). For asking whether a profiler points at it; not on the
/// ladder.
const std::vector<const Kernel*>& TiledVariants();

/// The gate's frozen kernel, id "gate_reference": it never changes, so when its duration does, the machine did. Throws
/// Error: no device, no memory.
std::unique_ptr<Workload> MakeGateReference();

/// Opens a kernel library (kernel_abi.h). Throws Error that names the library and what is wrong: not found, not a
/// shared library, which symbol is missing, which ABI version it speaks, a bad name.
std::unique_ptr<Kernel> LoadKernelLibrary(const std::string& path);

/// The kernel of a library whose kernel name is known, from a child process that loaded it (library_child.h). The
/// library is loaded into this process when the kernel is first asked about a shape; the same errors come then.
std::unique_ptr<Kernel> NamedKernelLibrary(const std::string& path, const std::string& id);

/// Compares `kernel` with the float64 reference on `draws` fresh random inputs (seeds seed, seed+1, ...): every output
/// poisoned before, |error| <= 1e-3 + 1e-3*|reference| demanded of each element. Never throws for a wrong or failing
/// kernel: that is a result. Throws Error when the comparison itself cannot be made (no device, no memory).
/// `case_id` of the result is 0. `progress(done)` is called after each draw; may be empty.
Verification Verify(const Kernel& kernel, const AttentionShape& shape, int draws, std::uint64_t seed,
                    const std::function<void(int)>& progress = {});

/// One entry of the correctness suite.
struct SuiteShape {
  AttentionShape shape;
  int draws = 1;
};

/// The shapes `fa-profile verify` runs: the mission shape 100 draws causal and not, head dimensions 64 and 128,
/// sequence lengths that no tile divides (1, 17, 65, 127, 333, ...), batch and heads from 1 up.
std::vector<SuiteShape> CorrectnessSuite();

}  // namespace fa_profile
