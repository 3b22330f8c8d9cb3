#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/kernel_parameters.h"
#include "fa_profile/recording.h"
#include "fa_profile/shape.h"
#include "fa_profile/workload.h"

namespace fa_profile {

/// A kernel that can be verified and measured: a rung of the ladder, an attention kernel, or a kernel library's.
class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual const std::string& id() const = 0;       ///< "mma"
  virtual const std::string& origin() const = 0;   ///< "ladder", or the library's path
  virtual int rung() const = 0;                    ///< its place on the ladder, from 1; 0 for a kernel library
  virtual const std::string& teaches() const = 0;  ///< one line: what to learn from its profile
  /// Names of the phase functions inside the kernel ("load_kv", "qk", ...); empty when unknown.
  virtual const std::vector<std::string>& phases() const = 0;

  /// The shape to run for `asked`, or without a request. Runs no code of a library.
  virtual FittedShape Fit(const std::optional<Shape>& asked) const = 0;

  /// Empty if this kernel accepts the shape; otherwise why not, in words that give the cure.
  virtual std::string WhyNot(const Shape& shape) const = 0;

  /// The work of a call by its library's count; nothing for attention, whose shape determines it.
  virtual Work WorkOf(const Shape& shape) const = 0;

  /// Allocates the tensors and scratch on the current device and draws the inputs from `seed`: for attention Q, K, V as
  /// normal random fp16 numbers. Throws Error: shape not supported, out of memory, no device.
  virtual std::unique_ptr<Workload> MakeWorkload(const Shape& shape, std::uint64_t seed) const = 0;
};

/// The rungs in order (kernels/ladder.cpp). Objects live as long as the program. Needs no GPU.
const std::vector<const Kernel*>& Ladder();

/// Rung 3 with one thing undone each, which moves one counter each: "tiled_no_pad" (bank conflicts), "tiled_no_async"
/// (no LDGSTS), "tiled_scalar_load" (four times the LDGSTS). For checking whether a profiler points at it; not on the
/// ladder.
const std::vector<const Kernel*>& TiledVariants();

/// The gate's frozen kernel, id "gate_reference": it never changes, so if its duration does, the machine changed.
/// Throws Error: no device, no memory.
std::unique_ptr<Workload> MakeGateReference();

/// What is known about a library's kernel without running its code.
struct LibraryIdentity {
  std::string kernel;
  std::vector<KernelParameter> parameters;
  std::vector<std::string> tensors;  ///< in words: "a: fp16 (m,k), input"
};

/// The kernel of a library (kernel_abi_2.h) with a known identity, from a child process that loaded it
/// (library_child.h). `files`: the user's, "TENSOR=FILE". The library is loaded into this process when the kernel is
/// first asked about a shape. That throws Error that names the library and what is wrong: not found, not a shared
/// library, which symbol is missing, another version of the interface, a bad name or description.
std::unique_ptr<Kernel> LibraryKernel(const std::string& path, const LibraryIdentity& identity,
                                      const std::vector<std::string>& files = {});

/// A kernel and the shape to run it at, or why it does not accept the requested shape.
struct KernelAtShape {
  const Kernel* kernel = nullptr;
  FittedShape fitted;
};

/// Every kernel at every shape, by shape; without shapes, every kernel at its default. Runs no code of a library.
std::vector<KernelAtShape> KernelsAtShapes(const std::vector<const Kernel*>& kernels, const std::vector<Shape>& shapes);

/// Compares an attention kernel with its float64 reference on `draws` fresh random inputs (seeds seed, seed+1, ...):
/// the output is poisoned first, and each element must be within |error| <= 1e-3 + 1e-3*|reference|. Never throws for a
/// wrong or failing kernel: that is a result. Throws Error when the comparison itself cannot be made (no device, no
/// memory, a library's kernel). `case_id` of the result is 0. `progress(done)` is called after each draw; may be empty.
Verification Verify(const Kernel& kernel, const Shape& shape, int draws, std::uint64_t seed,
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
