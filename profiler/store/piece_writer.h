#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "rows.h"
#include "rules.h"

namespace fa_profile::store {

/// Writes pieces: a row of the piece's own table, and its parts as rows of other tables.
class PieceWriter {
 public:
  explicit PieceWriter(Connection& connection) : rows_(connection) {}

  /// Throws Error, and does nothing, if a recording may not hold the piece, or not together with what was written
  /// before.
  template <typename Piece>
  void Require(const Piece& piece) const {
    Check(piece);
    RequireFunctions(piece);
    RequireRoom(CodeBytes(piece));
  }

  /// Inserts a piece that Require() accepts; its own row first, so that a refusal by SQLite leaves no trace.
  template <typename Piece>
  void Write(const Piece& piece) {
    const std::int64_t id = rows_.Insert(piece);
    code_bytes_ += CodeBytes(piece);
    WriteParts(piece, id);
  }

 private:
  void RequireRoom(std::int64_t bytes) const;
  template <typename Piece>
  void RequireFunctions(const Piece& piece) const;

  template <typename Piece>
  void WriteParts(const Piece&, std::int64_t) {}
  void WriteParts(const Judgement& judgement, std::int64_t id);
  void WriteParts(const Timing& timing, std::int64_t id);
  void WriteParts(const CounterConfig& config, std::int64_t id);
  void WriteParts(const Range& range, std::int64_t id);
  void WriteParts(const DeviceFunction& function, std::int64_t id);
  void WriteParts(const PcSampling& sampling, std::int64_t id);
  void WriteParts(const SassCounting& counting, std::int64_t id);
  std::optional<std::int64_t> StackId(const std::vector<InlineFrame>& frames);

  RowWriter rows_;
  std::unordered_set<std::int64_t> function_ids_;
  // Parent (0: none), function, file, line.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>, std::int64_t> stack_ids_;
  std::int64_t code_bytes_ = 0;
};

template <typename Piece>
void PieceWriter::RequireFunctions(const Piece& piece) const {
  if constexpr (requires { EntriesOf(piece); }) {
    for (const auto& entry : EntriesOf(piece)) {
      if (function_ids_.contains(entry.function_id)) continue;
      throw Error(Subject(TableOf<Piece>::kTable, &piece).Name() + " refers to function " +
                  std::to_string(entry.function_id) + ", which was not written before it");
    }
  }
}

}  // namespace fa_profile::store
