#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "fa_profile/recording.h"
#include "row_writer.h"

namespace fa_profile::store {

/// Writes code and what its instructions did: in tables of their own, because packing makes them what they are.
class CodeWriter {
 public:
  explicit CodeWriter(RowWriter& rows) : rows_(rows) {}

  /// Throws Error, and has done nothing, when the valid piece refers to a function that was not written, or the
  /// recording would unpack to more than kMaxCodeBytes.
  void RequireFits(const Cubin& cubin) const;
  void RequireFits(const DeviceFunction& function) const;
  void RequireFits(const PcSampling& sampling) const;
  void RequireFits(const SassCounting& counting) const;

  /// Inserts a piece that is valid and fits; its own row first, so that a refusal by SQLite leaves no trace.
  void Write(const Cubin& cubin);
  void Write(const DeviceFunction& function);
  void Write(const PcSampling& sampling);
  void Write(const SassCounting& counting);

 private:
  std::optional<std::int64_t> StackId(const std::vector<InlineFrame>& frames);

  RowWriter& rows_;
  std::unordered_set<std::int64_t> function_ids_;
  // Parent (0: none), function, file, line.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>, std::int64_t> stack_ids_;
  std::int64_t code_bytes_ = 0;
};

}  // namespace fa_profile::store
