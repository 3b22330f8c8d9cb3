#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "columns.h"
#include "compression.h"
#include "fa_profile/error.h"
#include "fa_profile/recording.h"
#include "rules.h"
#include "tables.h"
#include "value_limits.h"

/// Columns that do not hold a member unchanged: shapes, packed bytes, names, counts of a judgement.
namespace fa_profile::store {

// Part of an attention shape. All are NULL for a case without one; `kFirst` is read first and decides.
template <auto kPart, bool kFirst = false>
constexpr Column ShapePart(const char* name, const char* note = "") {
  return {.name = name,
          .type = "INTEGER",
          .note = note,
          .write =
              [](Statement& to, const void* row) {
                const auto& shape = As<Case>(row).shape;
                const AttentionShape* const attention = shape ? shape->attention() : nullptr;
                to.Bind(attention != nullptr ? std::optional((*attention).*kPart) : std::nullopt);
              },
          .read =
              [](Statement& from, void* row) {
                auto& shape = As<Case>(row).shape;
                if (kFirst && !from.IsNull()) shape.emplace();
                if (!shape) return from.Skip();
                AttentionShape attention = *shape->attention();
                from.Read(attention.*kPart);
                shape = attention;
              }};
}

// A shape made of parameters. Read after the parts of an attention shape.
constexpr Column ShapeParameters(const char* name, const char* note) {
  return {.name = name,
          .type = "TEXT",
          .note = note,
          .write =
              [](Statement& to, const void* row) {
                const auto& shape = As<Case>(row).shape;
                const bool named = shape && shape->parameters() != nullptr;
                named ? to.BindCopy(shape->ToString()) : to.Bind(std::optional<std::string>());
              },
          .read =
              [](Statement& from, void* row) {
                if (from.IsNull()) return from.Skip();
                std::string text;
                from.Read(text);
                auto& shape = As<Case>(row).shape;
                if (shape) from.connection().Damaged("a case in it has two shapes");
                try {
                  shape = Shape::Parse(text);
                } catch (const Error& error) {
                  from.connection().Damaged("a case in it has a bad shape: " + error.message());
                }
                if (shape->parameters() == nullptr)
                  from.connection().Damaged("a case in it has a shape in two columns");
              }};
}

template <auto kPart>
constexpr Column WorkPart(const char* name, const char* note) {
  return {.name = name,
          .type = "REAL",
          .note = note,
          .write = [](Statement& to, const void* row) { to.Bind(As<Case>(row).work.*kPart); },
          .read = [](Statement& from, void* row) { from.Read(As<Case>(row).work.*kPart); },
          .check =
              [](const Subject& subject, const char* field, const void* row) {
                const auto& value = As<Case>(row).work.*kPart;
                if (value) subject.RequireNotNegative(field, *value);
              }};
}

// Bytes that a row holds packed, as two columns: their number, and a zstd frame of them.

auto& Content(const auto& row) { return row.bytes; }

// The predicate and operands of each instruction, each followed by a NUL.
inline std::vector<std::uint8_t> Content(const DeviceFunction& function) {
  std::vector<std::uint8_t> texts;
  for (const Instruction& instruction : function.instructions) {
    for (const std::string* text : {&instruction.predicate, &instruction.operands}) {
      const std::string clean = ToText(*text);
      texts.insert(texts.end(), clean.c_str(), clean.c_str() + clean.size() + 1);
    }
  }
  return texts;
}

inline void SetContent(Connection&, Cubin& cubin, std::vector<std::uint8_t> bytes) { cubin.bytes = std::move(bytes); }
inline void SetContent(Connection&, CounterImage& image, std::vector<std::uint8_t> bytes) {
  image.bytes = std::move(bytes);
}

// Creates the instructions, whose other fields are read later.
inline void SetContent(Connection& connection, DeviceFunction& function, const std::vector<std::uint8_t>& bytes) {
  auto place = bytes.begin();
  const auto next = [&] {
    const auto end = std::find(place, bytes.end(), std::uint8_t{0});
    if (end == bytes.end()) connection.Damaged("an instruction in it has no operands");
    std::string text(place, end);
    if (!IsText(text)) connection.Damaged("its operands hold bytes that are not UTF-8");
    place = end + 1;
    return text;
  };
  while (place != bytes.end()) {
    Instruction instruction;
    instruction.predicate = next();
    instruction.operands = next();
    connection.ChargeMemory(InstructionBytes(instruction));
    function.instructions.push_back(std::move(instruction));
  }
}

inline std::vector<std::uint8_t> Unpack(Connection& connection, std::span<const std::uint8_t> frame, std::uint64_t size,
                                        std::size_t limit, Order order, const Subject& subject) {
  if (size > limit) {
    connection.Damaged(subject.Name() + " claims " + std::to_string(static_cast<std::int64_t>(size)) + " bytes");
  }
  connection.ChargeMemory(static_cast<std::int64_t>(size));
  try {
    return Decompress(frame, size, order);
  } catch (const Error& error) {
    connection.Damaged(subject.Name() + " cannot be unpacked: " + error.message());
  }
}

template <typename Row, std::size_t kLimit, Order kOrder>
constexpr Column PackedSize(const char* name) {
  Column column = {.name = name,
                   .type = "INTEGER NOT NULL",
                   .note = "before packing",
                   .write = [](Statement& to, const void* row) { to.Bind(Content(As<Row>(row)).size()); },
                   .read = [](Statement& from, void* row) {  // the next column, too
                     std::uint64_t size = 0;
                     std::span<const std::uint8_t> frame;
                     from.Read(size);
                     from.Read(frame);
                     const Subject subject(TableOf<Row>::kTable, row);
                     SetContent(from.connection(), As<Row>(row),
                                Unpack(from.connection(), frame, size, kLimit, kOrder, subject));
                   }};
  if (std::is_same_v<Row, DeviceFunction>) return column;  // PieceWriter bounds all code in memory
  column.check = [](const Subject& subject, const char* field, const void* row) {
    const std::size_t size = Content(As<Row>(row)).size();
    if (size > kLimit) subject.Refuse(field, std::to_string(size), "the limit is " + std::to_string(kLimit));
  };
  return column;
}

template <typename Row, Order kOrder>
constexpr Column PackedFrame(const char* name, const char* note) {
  return {.name = name,
          .type = "BLOB NOT NULL",
          .note = note,
          .write = [](Statement& to, const void* row) { to.Bind(Compress(Content(As<Row>(row)), kOrder)); },
          .read = [](Statement&, void*) {}};
}

// A name that rows share by id. `kIsOfValue`: the name of a value, which is never empty.
template <typename Row, bool kIsOfValue = false>
constexpr Column NameText(const char* note, const char* type = "TEXT NOT NULL") {
  Column column = Field<&Name::name, Row>("name", note);
  column.type = type;
  if (kIsOfValue) {
    column.check = [](const Subject& subject, const char*, const void* row) { subject.RequireName(As<Row>(row).name); };
  }
  return column;
}

template <auto kPart, auto kCount>
constexpr Column CountOfCall(const char* name, const char* note) {
  return {.name = name,
          .type = "REAL NOT NULL",
          .note = note,
          .write = [](Statement& to, const void* row) { to.Bind(As<Judgement>(row).*kPart.*kCount); },
          .read = [](Statement& from, void* row) { from.Read(As<Judgement>(row).*kPart.*kCount); }};
}
template <auto kCount>
constexpr Column Verified(const char* name, const char* note = "") {
  return CountOfCall<&Judgement::verified, kCount>(name, note);
}
template <auto kCount>
constexpr Column Timed(const char* name, const char* note = "") {
  return CountOfCall<&Judgement::timed, kCount>(name, note);
}

constexpr Column VerdictName(const char* name, const char* note) {
  return {.name = name,
          .type = "TEXT NOT NULL",
          .note = note,
          .write = [](Statement& to, const void* row) { to.BindCopy(ToString(As<Judgement>(row).verdict)); },
          .read =
              [](Statement& from, void* row) {
                std::string text;
                from.Read(text);
                const std::optional<Judgement::Verdict> verdict = VerdictOf(text);
                if (!verdict) from.connection().Damaged("a judgement in it has the verdict " + text.substr(0, 40));
                As<Judgement>(row).verdict = *verdict;
              }};
}

}  // namespace fa_profile::store
