#include "arrow_stream.h"

#include <cerrno>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile::python {
namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

const char* FormatOf(Kind kind) {
  switch (kind) {
    case Kind::kText:
      return "u";
    case Kind::kNumber:
      return "g";
    case Kind::kCount:
      return "l";
    case Kind::kFlag:
      return "b";
  }
  return "n";
}

// Bits, lowest bit of a byte first.
class Bits {
 public:
  explicit Bits(std::size_t size) : bytes_((size + 7) / 8) {}
  void Set(std::size_t i) { bytes_[i / 8] = static_cast<std::uint8_t>(bytes_[i / 8] | (1U << (i % 8))); }
  const void* data() const { return bytes_.data(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// The buffers of a column.
struct Buffers {
  explicit Buffers(const Column& column);

  Kind kind;
  std::int64_t length;
  std::int64_t nulls = 0;
  Bits valid;
  Bits flags;
  std::vector<double> numbers;
  std::vector<std::int64_t> counts;
  std::vector<std::int32_t> offsets;
  std::string texts;

 private:
  void Add(const Cell& cell, std::size_t i);
};

template <typename Value>
Value ValueOf(const Cell& cell) {
  if (const auto* const value = std::get_if<Value>(&cell)) return *value;
  if (std::holds_alternative<std::monostate>(cell)) return {};
  throw Error("the type of a cell differs from that of its column", "give texts, numbers, counts or flags alone");
}

void Buffers::Add(const Cell& cell, std::size_t i) {
  switch (kind) {
    case Kind::kText: {
      texts += ValueOf<std::string>(cell);
      if (texts.size() > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
        throw Error("a column has more than 2 GiB of text", "select fewer rows");
      }
      return offsets.push_back(static_cast<std::int32_t>(texts.size()));
    }
    case Kind::kNumber:
      return numbers.push_back(ValueOf<double>(cell));
    case Kind::kCount:
      return counts.push_back(ValueOf<std::int64_t>(cell));
    case Kind::kFlag:
      if (ValueOf<bool>(cell)) flags.Set(i);
  }
}

Buffers::Buffers(const Column& column)
    : kind(column.kind),
      length(static_cast<std::int64_t>(column.cells.size())),
      valid(column.cells.size()),
      flags(column.kind == Kind::kFlag ? column.cells.size() : 0) {
  if (kind == Kind::kText) offsets.push_back(0);
  for (std::size_t i = 0; i < column.cells.size(); ++i) {
    Add(column.cells[i], i);
    if (std::holds_alternative<std::monostate>(column.cells[i])) {
      ++nulls;
    } else {
      valid.Set(i);
    }
  }
}

// Keeps the memory of a schema or an array alive. `Struct` is ArrowSchema or ArrowArray; a consumer may move its
// children away.
template <typename Struct>
struct Node {
  std::string name;
  std::unique_ptr<Buffers> buffers;
  std::vector<const void*> pointers;
  std::vector<Struct> children;
  std::vector<Struct*> child_pointers;
};

template <typename Struct>
void ReleaseNode(Struct* self) {
  const std::unique_ptr<Node<Struct>> node(static_cast<Node<Struct>*>(self->private_data));
  for (Struct& child : node->children) {
    if (child.release != nullptr) child.release(&child);
  }
  self->release = nullptr;
}

// Hands the node to the struct, with its children.
template <typename Struct>
void Own(Struct& self, std::unique_ptr<Node<Struct>> node) {
  for (Struct& child : node->children) node->child_pointers.push_back(&child);
  self.n_children = static_cast<std::int64_t>(node->children.size());
  self.children = node->child_pointers.data();
  self.release = ReleaseNode<Struct>;
  self.private_data = node.release();
}

void ExportSchema(ArrowSchema& self, const std::string& name, const char* format, std::int64_t flags,
                  std::vector<ArrowSchema> children) {
  auto node = std::make_unique<Node<ArrowSchema>>();
  node->name = name;
  node->children = std::move(children);
  self = {};
  self.format = format;
  self.name = node->name.c_str();
  self.flags = flags;
  Own(self, std::move(node));
}

void ExportArray(ArrowArray& self, std::unique_ptr<Buffers> buffers) {
  auto node = std::make_unique<Node<ArrowArray>>();
  const Buffers& of = *buffers;
  node->pointers.push_back(of.nulls > 0 ? of.valid.data() : nullptr);
  if (of.kind == Kind::kText) node->pointers.push_back(of.offsets.data());
  node->pointers.push_back(of.kind == Kind::kText     ? static_cast<const void*>(of.texts.data())
                           : of.kind == Kind::kNumber ? static_cast<const void*>(of.numbers.data())
                           : of.kind == Kind::kCount  ? static_cast<const void*>(of.counts.data())
                                                      : of.flags.data());
  self = {};
  self.length = of.length;
  self.null_count = of.nulls;
  self.n_buffers = static_cast<std::int64_t>(node->pointers.size());
  self.buffers = node->pointers.data();
  node->buffers = std::move(buffers);
  Own(self, std::move(node));
}

// A stream's contents: its schema, as often as requested, and its one batch.
struct Batch {
  std::vector<std::pair<std::string, Kind>> columns;
  std::int64_t rows = 0;
  std::vector<std::unique_ptr<Buffers>> buffers;  // until they are handed out
  bool given = false;
};

Batch& BatchOf(ArrowArrayStream* stream) { return *static_cast<Batch*>(stream->private_data); }

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  try {
    const Batch& batch = BatchOf(stream);
    std::vector<ArrowSchema> children(batch.columns.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto& [name, kind] = batch.columns[i];
      ExportSchema(children[i], name, FormatOf(kind), kNullable, {});
    }
    ExportSchema(*out, "", "+s", 0, std::move(children));
    return 0;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  *out = {};
  Batch& batch = BatchOf(stream);
  if (std::exchange(batch.given, true)) return 0;  // an array without `release` ends the stream
  try {
    auto node = std::make_unique<Node<ArrowArray>>();
    node->pointers.push_back(nullptr);
    node->children.resize(batch.buffers.size());
    for (std::size_t i = 0; i < batch.buffers.size(); ++i) ExportArray(node->children[i], std::move(batch.buffers[i]));
    out->length = batch.rows;
    out->n_buffers = 1;
    out->buffers = node->pointers.data();
    Own(*out, std::move(node));
    return 0;
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

const char* GetLastError(ArrowArrayStream*) noexcept { return nullptr; }

void ReleaseStream(ArrowArrayStream* stream) noexcept {
  const std::unique_ptr<Batch> batch(static_cast<Batch*>(stream->private_data));
  stream->release = nullptr;
}

}  // namespace

ArrowArrayStream* NewArrowStream(const Table& table) {
  auto batch = std::make_unique<Batch>();
  for (const Column& column : table) {
    batch->columns.emplace_back(column.name, column.kind);
    batch->buffers.push_back(std::make_unique<Buffers>(column));
    if (batch->buffers.back()->length != batch->buffers.front()->length) {
      throw Error("column " + column.name + " has another length than the first", "give columns of one length");
    }
  }
  batch->rows = table.empty() ? 0 : batch->buffers.front()->length;
  auto stream = std::make_unique<ArrowArrayStream>();
  stream->get_schema = GetSchema;
  stream->get_next = GetNext;
  stream->get_last_error = GetLastError;
  stream->release = ReleaseStream;
  stream->private_data = batch.release();
  return stream.release();
}

void FreeArrowStream(ArrowArrayStream* stream) noexcept {
  const std::unique_ptr<ArrowArrayStream> owner(stream);
  if (stream != nullptr && stream->release != nullptr) stream->release(stream);
}

}  // namespace fa_profile::python
