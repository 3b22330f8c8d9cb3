#include "code_reader.h"

#include <charconv>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compression.h"
#include "utf8.h"

namespace fa_profile::store {
namespace {

// Room for what the file shares and the model copies: see kMaxCodeBytes.
class Room {
 public:
  explicit Room(const Connection& connection) : connection_(connection) {}
  void Take(std::int64_t bytes) {
    if (bytes > left_) connection_.Damaged("its code, samples and counts unpack to more than a recording may hold");
    left_ -= bytes;
  }

 private:
  const Connection& connection_;
  std::int64_t left_ = kMaxCodeBytes;
};

std::vector<Name> LoadNames(Connection& connection, const std::string& table) {
  const std::string sql = "SELECT id, name FROM " + table + " ORDER BY id";
  std::vector<Name> names = ReadRows<Name>(connection, sql.c_str(),
                                           [](Statement& row) { return Name{.id = row.Int64(), .name = row.Text()}; });
  RequireAscendingIds(connection, names, table.c_str());
  return names;
}

template <typename Pieces>
auto& Require(const Connection& connection, Pieces& pieces, std::int64_t id, const char* what) {
  auto* const piece = Find(pieces, id);
  if (piece == nullptr) connection.Damaged(std::string(what) + " " + std::to_string(id) + ", which it lacks");
  return *piece;
}

// A frame and those it is inlined into. The views are of names that the caller keeps.
struct Stack {
  std::int64_t id = 0;
  const Stack* parent = nullptr;
  const std::string* function = nullptr;
  const std::string* file = nullptr;
  int line = 0;
  std::int64_t bytes = 0;  // of all its frames in memory
};

class Stacks {
 public:
  explicit Stacks(Connection& connection)
      : connection_(connection),
        functions_(LoadNames(connection, "source_function")),
        files_(LoadNames(connection, "source_file")) {
    struct Row {
      std::int64_t id, parent, function, file;
      int line;
    };
    const std::vector<Row> rows = ReadRows<Row>(
        connection, "SELECT id, parent_id, source_function_id, source_file_id, line FROM inline_stack ORDER BY id",
        [](Statement& row) {
          return Row{row.Int64(), row.OptionalInt64().value_or(0), row.Int64(), row.Int64(), row.Int()};
        });
    RequireAscendingIds(connection, rows, "inline stack");
    stacks_.reserve(rows.size());  // the stacks point at each other
    for (const Row& row : rows) {
      const Stack* parent = nullptr;
      // Among the earlier ones, so that no stack is its own caller.
      if (row.parent != 0) parent = &Require(connection, std::as_const(stacks_), row.parent, "a stack is of stack");
      const std::string& function =
          Require(connection, std::as_const(functions_), row.function, "a stack names source function").name;
      const std::string& file = Require(connection, std::as_const(files_), row.file, "a stack names source file").name;
      const std::int64_t bytes = CodeBytesOfFrame(function, file) + (parent == nullptr ? 0 : parent->bytes);
      stacks_.push_back({row.id, parent, &function, &file, row.line, bytes});
    }
  }

  std::vector<InlineFrame> Frames(std::int64_t id, Room& room) const {
    const Stack& innermost = Require(connection_, stacks_, id, "an instruction has stack");
    room.Take(innermost.bytes);
    std::vector<InlineFrame> frames;
    for (const Stack* stack = &innermost; stack != nullptr; stack = stack->parent) {
      frames.push_back({*stack->function, *stack->file, stack->line});
    }
    return frames;
  }

 private:
  const Connection& connection_;
  std::vector<Name> functions_;
  std::vector<Name> files_;
  std::vector<Stack> stacks_;
};

// The bytes of the row's next two columns: a size, and a frame of that many bytes.
std::vector<std::uint8_t> Unpack(Connection& connection, Statement& row, std::size_t limit, const std::string& what,
                                 Room& room) {
  const std::int64_t size = row.Int64();
  if (size < 0 || size > static_cast<std::int64_t>(limit)) {
    connection.Damaged(what + " claims " + std::to_string(size) + " bytes");
  }
  room.Take(size);
  const std::span<const std::uint8_t> frame = row.Blob();
  connection.Charge(static_cast<std::int64_t>(frame.size()));
  try {
    return Decompress(frame, static_cast<std::size_t>(size), Order::kAsGiven);
  } catch (const Error& error) {
    connection.Damaged(what + " cannot be unpacked: " + error.message());
  }
}

// The predicates and operands of a function's instructions: texts, each with a NUL behind it.
class Texts {
 public:
  Texts(const Connection& connection, std::vector<std::uint8_t> bytes)
      : connection_(&connection), bytes_(std::move(bytes)) {}

  std::string Next() {
    const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(taken_);
    const auto last = std::find(first, bytes_.end(), std::uint8_t{0});
    if (last == bytes_.end()) connection_->Damaged("a function in it has more instructions than operands");
    std::string text(first, last);
    taken_ += text.size() + 1;
    if (!IsText(text)) connection_->Damaged("its operands hold bytes that are not UTF-8");
    return text;
  }

  void RequireTaken() const {
    if (taken_ != bytes_.size()) connection_->Damaged("a function in it has more operands than instructions");
  }

 private:
  const Connection* connection_;
  std::vector<std::uint8_t> bytes_;
  std::size_t taken_ = 0;
};

std::vector<DeviceFunction> LoadFunctions(Connection& connection, Room& room) {
  std::vector<DeviceFunction> functions;
  std::vector<Texts> texts;  // by function
  Statement head(connection,
                 "SELECT id, cubin_crc, name, operands_bytes, operands_zstd FROM device_function ORDER BY id");
  while (head.Next()) {
    functions.push_back({.id = head.Int64(),
                         .cubin_crc = static_cast<std::uint64_t>(head.Int64()),
                         .name = head.Text(),
                         .instructions = {}});
    const std::string what = "the operands of function " + std::to_string(functions.back().id);
    texts.emplace_back(connection, Unpack(connection, head, kMaxCodeBytes, what, room));
  }
  RequireAscendingIds(connection, functions, "function");
  const std::vector<Name> opcodes = LoadNames(connection, "opcode");
  const Stacks stacks(connection);
  Statement row(connection,
                "SELECT function_id, offset, opcode_id, stack_id FROM instruction ORDER BY function_id, offset");
  while (row.Next()) {
    DeviceFunction& function = Require(connection, functions, row.Int64(), "an instruction belongs to function");
    Texts& its_texts = texts[static_cast<std::size_t>(&function - functions.data())];
    Instruction instruction{.offset = row.Uint32(),
                            .predicate = its_texts.Next(),
                            .opcode = {},
                            .operands = its_texts.Next(),
                            .frames = {}};
    const std::string& opcode = Require(connection, opcodes, row.Int64(), "an instruction has opcode").name;
    room.Take(static_cast<std::int64_t>(opcode.size()) + CodeBytesOfInstruction(instruction));
    instruction.opcode = opcode;
    if (const auto stack_id = row.OptionalInt64()) instruction.frames = stacks.Frames(*stack_id, room);
    function.instructions.push_back(std::move(instruction));
  }
  for (const Texts& its_texts : texts) its_texts.RequireTaken();
  for (const DeviceFunction& function : functions) RequireValid(connection, function);
  return functions;
}

// Brings together again what the file has column by column: the values of each instruction of one owner (a sampling, a
// counting) and one function.
template <typename Entry, std::map<std::string, std::uint64_t> Entry::*kValues>
class Gatherer {
 public:
  Gatherer(const Connection& connection, Room& room) : connection_(connection), room_(room) {}

  // Instructions of the function that has had none yet go to `entries`, which must stay where it is.
  void Begin(std::int64_t function_id, std::vector<Entry>& entries) {
    if (entries_ == &entries && function_id_ == function_id) return;
    End();
    entries_ = &entries;
    first_ = entries.size();
    function_id_ = function_id;
  }

  void Add(std::int64_t offset, const std::string& name, std::int64_t value) {
    if (offset > std::numeric_limits<std::uint32_t>::max()) {
      connection_.Damaged("an instruction's offset is " + std::to_string(offset));
    }
    room_.Take(CodeBytesOfEntry(name));
    const auto [place, is_new] = place_of_.try_emplace(static_cast<std::uint32_t>(offset), entries_->size());
    if (is_new) entries_->push_back({function_id_, static_cast<std::uint32_t>(offset), {}});
    auto& values = (*entries_)[place->second].*kValues;
    const std::size_t before = values.size();
    values.emplace_hint(values.end(), name, static_cast<std::uint64_t>(value));
    if (values.size() == before) connection_.Damaged("it has a value of an instruction twice");
  }

  void End() {
    if (entries_ == nullptr) return;
    std::sort(entries_->begin() + static_cast<std::ptrdiff_t>(first_), entries_->end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    place_of_.clear();
    entries_ = nullptr;
  }

 private:
  const Connection& connection_;
  Room& room_;
  std::vector<Entry>* entries_ = nullptr;
  std::int64_t function_id_ = 0;
  std::size_t first_ = 0;                                    // of this function's entries
  std::unordered_map<std::uint32_t, std::size_t> place_of_;  // by offset
};

// Calls take(index, number) for each number of a list "[12,0,3]".
template <typename Take>
void ReadList(const Connection& connection, std::string_view list, const Take& take) {
  const char* place = list.data();
  const char* const end = place + list.size();
  const auto damaged = [&] {
    connection.Damaged("a list of samples in it is not one: " + std::string(list.substr(0, 40)));
  };
  if (list.size() < 3 || *place != '[') damaged();
  for (std::int64_t index = 0; *place != ']'; ++index) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(place + 1, end, number);
    if (error != std::errc() || number < 0 || next == end || (*next != ',' && *next != ']')) damaged();
    take(index, number);
    place = next;
  }
  if (place + 1 != end) damaged();
}

std::vector<PcSampling> LoadSamplings(Connection& connection, const std::vector<DeviceFunction>& functions,
                                      Room& room) {
  std::vector<PcSampling> samplings = ReadRows<PcSampling>(
      connection,
      "SELECT id, case_id, part, period_cycles, launches, total_samples, dropped_samples, call_ns FROM pc_sampling "
      "ORDER BY id",
      [](Statement& row) {
        return PcSampling{
            .id = row.Int64(),
            .case_id = row.Int64(),
            .part = row.Text(),
            .period_cycles = row.Int(),
            .launches = row.Int(),
            .total_samples = static_cast<std::uint64_t>(row.Int64()),  // negative: too large, refused below
            .dropped_samples = static_cast<std::uint64_t>(row.Int64()),
            .call_ns = row.OptionalDouble(),
            .samples = {}};
      });
  RequireAscendingIds(connection, samplings, "PC sampling");
  const std::vector<Name> reasons = LoadNames(connection, "stall_reason");
  Gatherer<PcSample, &PcSample::samples> gatherer(connection, room);
  Statement row(connection,
                "SELECT sampling_id, function_id, reason_id, offset, samples FROM pc_sample "
                "ORDER BY sampling_id, function_id, reason_id, offset");
  while (row.Next()) {
    PcSampling& sampling = Require(connection, samplings, row.Int64(), "samples belong to PC sampling");
    const DeviceFunction& function = Require(connection, functions, row.Int64(), "samples are of function");
    const Name& reason = Require(connection, reasons, row.Int64(), "samples have stall reason");
    const std::int64_t offset = row.Uint32();
    gatherer.Begin(function.id, sampling.samples);
    ReadList(connection, row.Text(), [&](std::int64_t index, std::int64_t samples) {
      gatherer.Add(offset + index * kRunStride, reason.name, samples);
    });
  }
  gatherer.End();
  for (const PcSampling& sampling : samplings) RequireValid(connection, sampling);
  return samplings;
}

std::vector<SassCounting> LoadCountings(Connection& connection, const std::vector<DeviceFunction>& functions,
                                        const std::vector<Name>& metrics, Room& room) {
  std::vector<SassCounting> countings =
      ReadRows<SassCounting>(connection, "SELECT id, case_id, part FROM sass_counting ORDER BY id", [](Statement& row) {
        return SassCounting{.id = row.Int64(), .case_id = row.Int64(), .part = row.Text(), .counts = {}};
      });
  RequireAscendingIds(connection, countings, "SASS counting");
  Gatherer<SassCount, &SassCount::values> gatherer(connection, room);
  Statement row(connection,
                "SELECT counting_id, function_id, metric_id, offset, instructions, count FROM sass_count "
                "ORDER BY counting_id, function_id, metric_id, offset");
  while (row.Next()) {
    SassCounting& counting = Require(connection, countings, row.Int64(), "counts belong to SASS counting");
    const DeviceFunction& function = Require(connection, functions, row.Int64(), "counts are of function");
    const Name& metric = Require(connection, metrics, row.Int64(), "counts are of metric");
    const std::int64_t offset = row.Uint32();
    const std::int64_t instructions = row.Uint32();
    const std::int64_t count = row.Int64();
    if (instructions < 1 || instructions > kMaxRunInstructions || count < 0) {
      connection.Damaged("a count in it is " + std::to_string(count) + " for " + std::to_string(instructions) +
                         " instructions");
    }
    gatherer.Begin(function.id, counting.counts);
    for (std::int64_t i = 0; i < instructions; ++i) gatherer.Add(offset + i * kRunStride, metric.name, count);
  }
  gatherer.End();
  for (const SassCounting& counting : countings) RequireValid(connection, counting);
  return countings;
}

}  // namespace

void LoadCode(Connection& connection, const std::vector<Name>& metrics, Recording& recording) {
  Room room(connection);
  recording.functions = LoadFunctions(connection, room);
  recording.samplings = LoadSamplings(connection, recording.functions, room);
  recording.countings = LoadCountings(connection, recording.functions, metrics, room);
}

std::vector<Cubin> LoadCubins(Connection& connection) {
  Room room(connection);
  std::vector<Cubin> cubins;
  Statement row(connection, "SELECT id, crc, size_bytes, zstd FROM cubin ORDER BY id");
  while (row.Next()) {
    Cubin cubin{.id = row.Int64(), .crc = static_cast<std::uint64_t>(row.Int64()), .bytes = {}};
    cubin.bytes = Unpack(connection, row, kMaxCubinBytes, "its cubin " + std::to_string(cubin.id), room);
    RequireValid(connection, cubin);
    cubins.push_back(std::move(cubin));
  }
  RequireAscendingIds(connection, cubins, "cubin");
  return cubins;
}

}  // namespace fa_profile::store
