#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention_workload.h"
#include "fa_profile/kernels.h"

namespace fa_profile {

/// The properties that distinguish attention kernels.
struct KernelSpec {
  std::string id;
  std::string origin;
  int rung = 0;
  std::string teaches;
  std::vector<std::string> phases;
  std::vector<LaunchStep> steps;
  std::function<std::string(const AttentionShape&)> why_not;
  std::function<std::size_t(const AttentionShape&)> workspace_bytes;
};

/// A kernel of attention shapes.
class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(KernelSpec spec) : spec_(std::move(spec)) {}

  const std::string& id() const override { return spec_.id; }
  const std::string& origin() const override { return spec_.origin; }
  int rung() const override { return spec_.rung; }
  const std::string& teaches() const override { return spec_.teaches; }
  const std::vector<std::string>& phases() const override { return spec_.phases; }
  FittedShape Fit(const std::optional<Shape>& asked) const override;
  std::string WhyNot(const Shape& shape) const override;
  Work WorkOf(const Shape&) const override { return {}; }
  std::unique_ptr<Workload> MakeWorkload(const Shape& shape, std::uint64_t seed) const override;

 private:
  KernelSpec spec_;
};

}  // namespace fa_profile
