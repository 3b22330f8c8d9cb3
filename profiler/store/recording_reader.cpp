#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "code_reader.h"
#include "compression.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "open_recording.h"
#include "read_rows.h"
#include "validate.h"

namespace fa_profile {
namespace {

using store::Connection;
using store::Find;
using store::LoadRows;
using store::Name;
using store::RequireAscendingIds;
using store::RequireValid;
using store::Statement;

template <typename Piece>
Piece LoadOne(Connection& connection, const char* sql, Piece (*read)(Statement&)) {
  std::vector<Piece> pieces = LoadRows(connection, sql, read);
  if (pieces.size() > 1) connection.Damaged("it has two rows where there is one");
  return pieces.empty() ? Piece{} : std::move(pieces.front());
}

// Whoever follows a reference of a recording finds what it names. Cases and configs are sorted by now.
void RequireReferences(const Connection& connection, const Recording& recording,
                       const std::vector<std::int64_t>& image_ids) {
  const auto require_case = [&](std::int64_t id, const char* kind) {
    if (Find(recording.cases, id) == nullptr) {
      connection.Damaged(std::string("a ") + kind + " belongs to case " + std::to_string(id) + ", which it lacks");
    }
  };
  for (const Verification& piece : recording.verifications) require_case(piece.case_id, "verification");
  for (const Timing& piece : recording.timings) require_case(piece.case_id, "timing");
  for (const Launch& piece : recording.launches) {
    if (piece.case_id != 0) require_case(piece.case_id, "launch");
  }
  for (const NvtxRange& piece : recording.nvtx_ranges) {
    if (piece.case_id != 0) require_case(piece.case_id, "NVTX range");
  }
  for (const PcSampling& piece : recording.samplings) require_case(piece.case_id, "PC sampling");
  for (const SassCounting& piece : recording.countings) require_case(piece.case_id, "SASS counting");
  for (const Range& piece : recording.ranges) {
    require_case(piece.case_id, "range");
    if (piece.image_id != 0 && !std::binary_search(image_ids.begin(), image_ids.end(), piece.image_id)) {
      connection.Damaged("range " + std::to_string(piece.id) + " is of an image that it lacks");
    }
  }
}

// All metrics, by id. A name belongs to one.
std::vector<Name> LoadMetrics(Connection& connection) {
  std::vector<Name> metrics;
  std::unordered_set<std::string> names;
  Statement row(connection, "SELECT id, name FROM metric ORDER BY id");
  while (row.Next()) {
    metrics.push_back({.id = row.Int64(), .name = row.Text()});
    try {
      store::ValidateMetricName(metrics.back().name);
    } catch (const Error& error) {
      connection.Damaged(error.message());
    }
    if (!names.insert(metrics.back().name).second) connection.Damaged("it has a metric twice");
  }
  RequireAscendingIds(connection, metrics, "metric");
  return metrics;
}

Session ReadSession(Statement& row) {
  return {.tool_version = row.Text(),
          .tool_commit = row.Text(),
          .created_at = row.Text(),
          .command_line = row.Text(),
          .metric_set = row.Text(),
          .replay_mode = row.Text(),
          .cache_policy = row.Text(),
          .warmup_launches = row.Int(),
          .timed_launches = row.Int(),
          .draws = row.Int(),
          .complete = row.Bool()};
}

Device ReadDevice(Statement& row) {
  return {.ordinal = row.Int(),
          .name = row.Text(),
          .chip = row.Text(),
          .uuid = row.Text(),
          .compute_capability_major = row.Int(),
          .compute_capability_minor = row.Int(),
          .sm_count = row.Int(),
          .warp_size = row.Int(),
          .max_threads_per_sm = row.Int(),
          .max_blocks_per_sm = row.Int(),
          .registers_per_sm = row.Int(),
          .shared_memory_per_sm_bytes = row.Int64(),
          .shared_memory_per_block_optin_bytes = row.Int64(),
          .reserved_shared_memory_per_block_bytes = row.Int64(),
          .l2_bytes = row.Int64(),
          .memory_bytes = row.Int64(),
          .sm_clock_max_hz = row.Int64(),
          .memory_clock_max_hz = row.Int64(),
          .memory_bus_width_bits = row.Int(),
          .driver_version = row.Text(),
          .cuda_driver_version = row.Text(),
          .cuda_runtime_version = row.Text(),
          .cupti_version = row.Text()};
}

ClockSample ReadClockSample(Statement& row) {
  ClockSample sample{.when = row.Text(),
                     .sm_hz = row.OptionalInt64(),
                     .memory_hz = row.OptionalInt64(),
                     .temperature_celsius = row.OptionalDouble(),
                     .power_watts = row.OptionalDouble(),
                     .throttle_reasons = std::nullopt};
  if (const auto bits = row.OptionalInt64()) sample.throttle_reasons = static_cast<std::uint64_t>(*bits);
  return sample;
}

Case ReadCase(Statement& row) {
  Case item{.id = row.Int64(), .kernel = row.Text(), .origin = row.Text(), .shape = std::nullopt};
  if (const auto batch = row.OptionalInt()) {
    item.shape = AttentionShape{
        .batch = *batch, .num_heads = row.Int(), .seqlen = row.Int(), .head_dim = row.Int(), .causal = row.Bool()};
  }
  return item;
}

Verification ReadVerification(Statement& row) {
  return {.case_id = row.Int64(),
          .draws = row.Int(),
          .draws_passed = row.Int(),
          .max_abs_error = row.Double(),
          .max_error_ratio = row.Double(),
          .nonfinite = row.Int64(),
          .unwritten = row.Int64(),
          .error = row.Text()};
}

std::array<int, 3> ReadExtents(Statement& row) { return {row.Int(), row.Int(), row.Int()}; }

Launch ReadLaunch(Statement& row) {
  return {.id = row.Int64(),
          .case_id = row.OptionalInt64().value_or(0),
          .part = row.Text(),
          .kernel_name = row.Text(),
          .grid = ReadExtents(row),
          .block = ReadExtents(row),
          .cluster = ReadExtents(row),
          .registers_per_thread = row.Int(),
          .static_shared_memory_bytes = row.Int64(),
          .dynamic_shared_memory_bytes = row.Int64(),
          .local_memory_per_thread_bytes = row.Int64(),
          .shared_memory_config_bytes = row.Int64(),
          .stream = row.Uint32(),
          .correlation = row.Uint32(),
          .start_ns = row.Int64(),
          .end_ns = row.Int64()};
}

NvtxRange ReadNvtxRange(Statement& row) {
  return {.case_id = row.OptionalInt64().value_or(0),
          .domain = row.Text(),
          .name = row.Text(),
          .depth = row.Int(),
          .thread = row.Uint32(),
          .start_ns = row.Int64(),
          .end_ns = row.Int64()};
}

Range ReadRange(Statement& row) {
  return {.id = row.Int64(),
          .case_id = row.Int64(),
          .part = row.Text(),
          .name = row.Text(),
          .image_id = row.OptionalInt64().value_or(0),
          .image_index = row.Int(),
          .metrics = {}};
}

DataLoss ReadDataLoss(Statement& row) {
  return {.kind = row.Text(), .subject = row.Text(), .reason = row.Text(), .count = row.Int64()};
}

// The column lists leave out the ids that the model has not; apart from them they are in the schema's order.
constexpr const char* kSelectSession =
    "SELECT tool_version, tool_commit, created_at, command_line, metric_set, replay_mode, cache_policy, "
    "warmup_launches, "
    "timed_launches, draws, complete FROM session";
constexpr const char* kSelectDevice =
    "SELECT ordinal, name, chip, uuid, compute_capability_major, compute_capability_minor, sm_count, warp_size, "
    "max_threads_per_sm, max_blocks_per_sm, registers_per_sm, shared_memory_per_sm_bytes, "
    "shared_memory_per_block_optin_bytes, reserved_shared_memory_per_block_bytes, l2_bytes, memory_bytes, "
    "sm_clock_max_hz, memory_clock_max_hz, memory_bus_width_bits, driver_version, cuda_driver_version, "
    "cuda_runtime_version, cupti_version FROM device";
constexpr const char* kSelectClockSamples =
    "SELECT taken, sm_hz, memory_hz, temperature_celsius, power_watts, throttle_reasons FROM clock_sample ORDER BY id";
constexpr const char* kSelectVerifications =
    "SELECT case_id, draws, draws_passed, max_abs_error, max_error_ratio, nonfinite, unwritten, error "
    "FROM verification ORDER BY id";
constexpr const char* kSelectNvtxRanges =
    "SELECT case_id, domain, name, depth, thread, start_ns, end_ns FROM nvtx_range ORDER BY id";

// Hands each row (owner id, position, rest) of `sql`, which is sorted by both, to the piece of `owners` with that id.
// `owner_ids` ascend. Positions count from 0, so that no element can be missing in the middle.
template <typename Take>
void LoadElements(Connection& connection, const char* sql, const std::vector<std::int64_t>& owner_ids,
                  const Take& take) {
  Statement row(connection, sql);
  std::size_t owner = 0;
  std::int64_t next_position = 0;
  while (row.Next()) {
    const std::int64_t owner_id = row.Int64();
    while (owner < owner_ids.size() && owner_ids[owner] < owner_id) {
      ++owner;
      next_position = 0;
    }
    if (owner == owner_ids.size() || owner_ids[owner] != owner_id || row.Int64() != next_position++) {
      connection.Damaged("a list in it has elements that do not belong to it");
    }
    take(owner, row);
  }
}

std::vector<Timing> LoadTimings(Connection& connection) {
  std::vector<Timing> timings;
  std::vector<std::int64_t> ids;
  Statement row(connection, "SELECT id, case_id, part, method FROM timing ORDER BY id");
  while (row.Next()) {
    ids.push_back(row.Int64());
    if (ids.size() > 1 && ids.back() <= ids[ids.size() - 2]) connection.Damaged("its timings are out of order");
    timings.push_back({.case_id = row.Int64(), .part = row.Text(), .method = row.Text(), .durations_ns = {}});
  }
  LoadElements(connection, "SELECT timing_id, position, duration_ns FROM timing_sample ORDER BY timing_id, position",
               ids,
               [&](std::size_t owner, Statement& sample) { timings[owner].durations_ns.push_back(sample.Double()); });
  for (const Timing& timing : timings) RequireValid(connection, timing);
  return timings;
}

std::vector<CounterConfig> LoadConfigs(Connection& connection, const std::vector<Name>& metrics) {
  std::vector<CounterConfig> configs = LoadRows<CounterConfig>(
      connection, "SELECT id, chip, passes FROM counter_config ORDER BY id", [](Statement& row) {
        return CounterConfig{.id = row.Int64(), .chip = row.Text(), .passes = row.Int(), .metrics = {}};
      });
  RequireAscendingIds(connection, configs, "counter config");
  std::vector<std::int64_t> ids;
  for (const CounterConfig& config : configs) ids.push_back(config.id);
  LoadElements(connection,
               "SELECT config_id, position, metric_id FROM counter_config_metric ORDER BY config_id, position", ids,
               [&](std::size_t owner, Statement& element) {
                 const Name* metric = Find(metrics, element.Int64());
                 if (metric == nullptr) connection.Damaged("a counter config has a metric without a name");
                 configs[owner].metrics.push_back(metric->name);
               });
  return configs;
}

// Values of the metrics that `options` selects. Metric by metric, which is how they lie in the file, and in the order
// of names, so that each one goes to the end of its range's map.
void LoadValues(Connection& connection, const LoadOptions& options, std::vector<Name> metrics,
                std::vector<Range>& ranges) {
  if (options.metrics) {
    std::erase_if(metrics, [&](const Name& metric) { return !options.metrics->contains(metric.name); });
  }
  std::sort(metrics.begin(), metrics.end(), [](const Name& a, const Name& b) { return a.name < b.name; });
  Statement row(connection, "SELECT range_id, value FROM value WHERE metric_id = ? ORDER BY range_id");
  for (const Name& metric : metrics) {
    row.BindAll(metric.id);
    auto range = ranges.begin();
    while (row.Next()) {
      const std::int64_t range_id = row.Int64();
      while (range != ranges.end() && range->id < range_id) ++range;
      if (range == ranges.end() || range->id != range_id) connection.Damaged("a value belongs to no range");
      range->metrics.emplace_hint(range->metrics.end(), metric.name, row.Double());
      ++range;
    }
  }
}

}  // namespace

struct RecordingReader::Impl {
  std::vector<std::uint8_t> bytes;  // of a recording in memory; outlives the connection
  store::OpenedRecording file;

  int SchemaVersion() const {
    Statement version(*file.connection, "PRAGMA user_version");
    file.connection->SetBudget(file.size_bytes);
    return version.Next() ? version.Int() : 0;
  }

  // Every call may read the whole file once.
  Connection& Begin() {
    file.connection->SetBudget(file.size_bytes);
    return *file.connection;
  }
};

RecordingReader::RecordingReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->file = store::OpenRecording(path);
}

RecordingReader::RecordingReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordingReader::~RecordingReader() = default;
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;

RecordingReader RecordingReader::FromBytes(std::span<const std::uint8_t> bytes) {
  auto impl = std::make_unique<Impl>();
  impl->bytes.assign(bytes.begin(), bytes.end());
  impl->file = store::OpenRecordingBytes(impl->bytes);
  return RecordingReader(std::move(impl));
}

Recording RecordingReader::Load(const LoadOptions& options) const {
  Recording recording;
  recording.schema_version = impl_->SchemaVersion();
  Connection& connection = impl_->Begin();
  const std::vector<Name> metrics = LoadMetrics(connection);
  recording.session = LoadOne(connection, kSelectSession, ReadSession);
  recording.device = LoadOne(connection, kSelectDevice, ReadDevice);
  recording.clocks = LoadRows(connection, kSelectClockSamples, ReadClockSample);
  recording.cases = LoadRows(connection, "SELECT * FROM kernel_case ORDER BY id", ReadCase);
  recording.verifications = LoadRows(connection, kSelectVerifications, ReadVerification);
  recording.timings = LoadTimings(connection);
  recording.launches = LoadRows(connection, "SELECT * FROM launch ORDER BY id", ReadLaunch);
  recording.nvtx_ranges = LoadRows(connection, kSelectNvtxRanges, ReadNvtxRange);
  recording.configs = LoadConfigs(connection, metrics);
  recording.ranges = LoadRows(connection, "SELECT * FROM range ORDER BY id", ReadRange);
  if (recording.schema_version >= 2) {
    if (options.code) store::LoadCode(connection, metrics, recording);
    if (options.cubins) recording.cubins = store::LoadCubins(connection);
  }
  recording.losses =
      LoadRows(connection, "SELECT kind, subject, reason, count FROM data_loss ORDER BY id", ReadDataLoss);
  RequireAscendingIds(connection, recording.cases, "case");
  RequireAscendingIds(connection, recording.launches, "launch");
  RequireAscendingIds(connection, recording.ranges, "range");
  RequireReferences(connection, recording, ImageIds());
  LoadValues(connection, options, metrics, recording.ranges);
  return recording;
}

CounterImage RecordingReader::LoadImage(std::int64_t id) const {
  Connection& connection = impl_->Begin();
  Statement row(connection, "SELECT config_id, size_bytes, zstd FROM counter_image WHERE id = ?");
  row.BindAll(id);
  if (!row.Next()) {
    throw Error(connection.path() + " has no counter data image " + std::to_string(id),
                "the raw counter data of this range was not kept");
  }
  CounterImage image{.id = id, .config_id = row.Int64(), .bytes = {}};
  const std::int64_t size = row.Int64();
  const std::span<const std::uint8_t> frame = row.Blob();
  if (size < 0 || size > static_cast<std::int64_t>(store::kMaxImageBytes)) {
    connection.Damaged("its counter image " + std::to_string(id) + " claims " + std::to_string(size) + " bytes");
  }
  try {
    image.bytes = store::Decompress(frame, static_cast<std::size_t>(size));
  } catch (const Error& error) {
    connection.Damaged("its counter image " + std::to_string(id) + " cannot be unpacked: " + error.message());
  }
  RequireValid(connection, image);
  return image;
}

std::vector<std::int64_t> RecordingReader::ImageIds() const {
  std::vector<std::int64_t> ids;
  Statement row(*impl_->file.connection, "SELECT id FROM counter_image ORDER BY id");
  while (row.Next()) ids.push_back(row.Int64());
  return ids;
}

}  // namespace fa_profile
