#include "schema.h"

#include <array>

namespace fa_profile::store {
namespace {

// No STRICT tables: the sqlite3 of distributions in wide use is older than 3.37 and could not open the file. The reader
// checks the type of every value instead.
constexpr std::array kSchema = {
    SchemaObject{"table", "session", R"(CREATE TABLE session(
  id INTEGER PRIMARY KEY CHECK(id = 1),
  tool_version TEXT NOT NULL,
  tool_commit TEXT NOT NULL,
  created_at TEXT NOT NULL,
  command_line TEXT NOT NULL,
  metric_set TEXT NOT NULL,
  replay_mode TEXT NOT NULL,
  cache_policy TEXT NOT NULL,
  warmup_launches INTEGER NOT NULL,
  timed_launches INTEGER NOT NULL,
  draws INTEGER NOT NULL,
  complete INTEGER NOT NULL
))"},
    SchemaObject{"table", "device", R"(CREATE TABLE device(
  id INTEGER PRIMARY KEY CHECK(id = 1),
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  chip TEXT NOT NULL,
  uuid TEXT NOT NULL,
  compute_capability_major INTEGER NOT NULL,
  compute_capability_minor INTEGER NOT NULL,
  sm_count INTEGER NOT NULL,
  warp_size INTEGER NOT NULL,
  max_threads_per_sm INTEGER NOT NULL,
  max_blocks_per_sm INTEGER NOT NULL,
  registers_per_sm INTEGER NOT NULL,
  shared_memory_per_sm_bytes INTEGER NOT NULL,
  shared_memory_per_block_optin_bytes INTEGER NOT NULL,
  reserved_shared_memory_per_block_bytes INTEGER NOT NULL,
  l2_bytes INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  sm_clock_max_hz INTEGER NOT NULL,
  memory_clock_max_hz INTEGER NOT NULL,
  memory_bus_width_bits INTEGER NOT NULL,
  driver_version TEXT NOT NULL,
  cuda_driver_version TEXT NOT NULL,
  cuda_runtime_version TEXT NOT NULL,
  cupti_version TEXT NOT NULL
))"},
    SchemaObject{"table", "clock_sample", R"(CREATE TABLE clock_sample(
  id INTEGER PRIMARY KEY,
  taken TEXT NOT NULL,
  sm_hz INTEGER,
  memory_hz INTEGER,
  temperature_celsius REAL,
  power_watts REAL,
  throttle_reasons INTEGER
))"},
    SchemaObject{"table", "kernel_case", R"(CREATE TABLE kernel_case(
  id INTEGER PRIMARY KEY,
  kernel TEXT NOT NULL,
  origin TEXT NOT NULL,
  batch INTEGER,
  num_heads INTEGER,
  seqlen INTEGER,
  head_dim INTEGER,
  causal INTEGER
))"},
    SchemaObject{"table", "verification", R"(CREATE TABLE verification(
  id INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES kernel_case(id),
  draws INTEGER NOT NULL,
  draws_passed INTEGER NOT NULL,
  max_abs_error REAL NOT NULL,
  max_error_ratio REAL NOT NULL,
  nonfinite INTEGER NOT NULL,
  unwritten INTEGER NOT NULL,
  error TEXT NOT NULL
))"},
    SchemaObject{"table", "timing", R"(CREATE TABLE timing(
  id INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES kernel_case(id),
  part TEXT NOT NULL,
  method TEXT NOT NULL
))"},
    SchemaObject{"table", "timing_sample", R"(CREATE TABLE timing_sample(
  timing_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  duration_ns REAL NOT NULL,
  PRIMARY KEY(timing_id, position)
) WITHOUT ROWID)"},
    SchemaObject{"table", "launch", R"(CREATE TABLE launch(
  id INTEGER PRIMARY KEY,
  case_id INTEGER REFERENCES kernel_case(id),
  part TEXT NOT NULL,
  kernel_name TEXT NOT NULL,
  grid_x INTEGER NOT NULL,
  grid_y INTEGER NOT NULL,
  grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL,
  block_y INTEGER NOT NULL,
  block_z INTEGER NOT NULL,
  cluster_x INTEGER NOT NULL,
  cluster_y INTEGER NOT NULL,
  cluster_z INTEGER NOT NULL,
  registers_per_thread INTEGER NOT NULL,
  static_shared_memory_bytes INTEGER NOT NULL,
  dynamic_shared_memory_bytes INTEGER NOT NULL,
  local_memory_per_thread_bytes INTEGER NOT NULL,
  shared_memory_config_bytes INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  correlation INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL
))"},
    SchemaObject{"table", "nvtx_range", R"(CREATE TABLE nvtx_range(
  id INTEGER PRIMARY KEY,
  case_id INTEGER REFERENCES kernel_case(id),
  domain TEXT NOT NULL,
  name TEXT NOT NULL,
  depth INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL
))"},
    SchemaObject{"table", "metric", R"(CREATE TABLE metric(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
))"},
    SchemaObject{"table", "counter_config", R"(CREATE TABLE counter_config(
  id INTEGER PRIMARY KEY,
  chip TEXT NOT NULL,
  passes INTEGER NOT NULL
))"},
    SchemaObject{"table", "counter_config_metric", R"(CREATE TABLE counter_config_metric(
  config_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  metric_id INTEGER NOT NULL,
  PRIMARY KEY(config_id, position)
) WITHOUT ROWID)"},
    SchemaObject{"table", "counter_image", R"(CREATE TABLE counter_image(
  id INTEGER PRIMARY KEY,
  config_id INTEGER NOT NULL REFERENCES counter_config(id),
  size_bytes INTEGER NOT NULL,
  zstd BLOB NOT NULL
))"},
    SchemaObject{"table", "range", R"(CREATE TABLE range(
  id INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES kernel_case(id),
  part TEXT NOT NULL,
  name TEXT NOT NULL,
  image_id INTEGER REFERENCES counter_image(id),
  image_index INTEGER NOT NULL
))"},
    // Metric first: a report reads some metrics of every range, which are then neighbours. No REFERENCES here: the
    // writer makes both ids itself, and a look-up for each of a million rows would only cost time.
    SchemaObject{"table", "value", R"(CREATE TABLE value(
  metric_id INTEGER NOT NULL,
  range_id INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY(metric_id, range_id)
) WITHOUT ROWID)"},
    SchemaObject{"table", "data_loss", R"(CREATE TABLE data_loss(
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL
))"},
    SchemaObject{"view", "case_shape", R"(CREATE VIEW case_shape AS
SELECT id AS case_id, kernel, origin,
  batch || ',' || num_heads || ',' || seqlen || ',' || head_dim ||
    CASE causal WHEN 1 THEN ' causal' ELSE '' END AS shape
FROM kernel_case)"},
    SchemaObject{"view", "metric_value", R"(CREATE VIEW metric_value AS
SELECT c.kernel, c.shape, r.part, m.name AS metric, v.value, r.id AS range_id, c.case_id
FROM value v
JOIN metric m ON m.id = v.metric_id
JOIN range r ON r.id = v.range_id
JOIN case_shape c ON c.case_id = r.case_id)"},
    SchemaObject{"view", "timing_summary", R"(CREATE VIEW timing_summary AS
SELECT c.kernel, c.shape, t.part, t.method, count(*) AS samples, min(s.duration_ns) AS min_ns,
  avg(CASE WHEN s.place IN ((s.total + 1) / 2, (s.total + 2) / 2) THEN s.duration_ns END) AS median_ns,
  max(s.duration_ns) AS max_ns
FROM (SELECT timing_id, duration_ns, count(*) OVER (PARTITION BY timing_id) AS total,
        row_number() OVER (PARTITION BY timing_id ORDER BY duration_ns) AS place
      FROM timing_sample) s
JOIN timing t ON t.id = s.timing_id
JOIN case_shape c ON c.case_id = t.case_id
GROUP BY t.id)"},
    // Since version 2: the code that ran, and what its instructions did.
    SchemaObject{"table", "cubin", R"(CREATE TABLE cubin(
  id INTEGER PRIMARY KEY,
  crc INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  zstd BLOB NOT NULL
))"},
    SchemaObject{"table", "device_function", R"(CREATE TABLE device_function(
  id INTEGER PRIMARY KEY,
  cubin_crc INTEGER NOT NULL,
  name TEXT NOT NULL,
  operands_bytes INTEGER NOT NULL,
  operands_zstd BLOB NOT NULL
))"},
    SchemaObject{"table", "opcode", R"(CREATE TABLE opcode(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
))"},
    SchemaObject{"table", "source_function", R"(CREATE TABLE source_function(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
))"},
    SchemaObject{"table", "source_file", R"(CREATE TABLE source_file(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
))"},
    SchemaObject{"table", "inline_stack", R"(CREATE TABLE inline_stack(
  id INTEGER PRIMARY KEY,
  parent_id INTEGER,
  source_function_id INTEGER NOT NULL,
  source_file_id INTEGER NOT NULL,
  line INTEGER NOT NULL
))"},
    // Predicates and operands are packed in device_function, where they take a fifth: two thirds of a kernel's operands
    // differ, so that a table of them would save nothing.
    SchemaObject{"table", "instruction", R"(CREATE TABLE instruction(
  function_id INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  opcode_id INTEGER NOT NULL,
  stack_id INTEGER,
  PRIMARY KEY(function_id, offset)
) WITHOUT ROWID)"},
    SchemaObject{"table", "stall_reason", R"(CREATE TABLE stall_reason(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
))"},
    SchemaObject{"table", "pc_sampling", R"(CREATE TABLE pc_sampling(
  id INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES kernel_case(id),
  part TEXT NOT NULL,
  period_cycles INTEGER NOT NULL,
  launches INTEGER NOT NULL,
  total_samples INTEGER NOT NULL,
  dropped_samples INTEGER NOT NULL,
  call_ns REAL
))"},
    // A row is a run of neighbouring instructions, `samples` a JSON list: a row for each of 388,357 numbers took 6.5 MB
    // where this takes 1.4 MB.
    SchemaObject{"table", "pc_sample", R"(CREATE TABLE pc_sample(
  sampling_id INTEGER NOT NULL,
  function_id INTEGER NOT NULL,
  reason_id INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  samples TEXT NOT NULL,
  PRIMARY KEY(sampling_id, function_id, reason_id, offset)
) WITHOUT ROWID)"},
    SchemaObject{"table", "sass_counting", R"(CREATE TABLE sass_counting(
  id INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES kernel_case(id),
  part TEXT NOT NULL
))"},
    // A row is a run of neighbouring instructions with the same count, as those of a basic block have: a row for each
    // of 592,425 numbers took 9.8 MB where this takes 0.9 MB.
    SchemaObject{"table", "sass_count", R"(CREATE TABLE sass_count(
  counting_id INTEGER NOT NULL,
  function_id INTEGER NOT NULL,
  metric_id INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  instructions INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(counting_id, function_id, metric_id, offset)
) WITHOUT ROWID)"},
    SchemaObject{"view", "instruction_sample", R"(CREATE VIEW instruction_sample AS
SELECT c.kernel, c.shape, p.part, f.name AS function, s.offset + 16 * j.key AS offset, o.name AS opcode,
  r.name AS reason, j.value AS samples, i.stack_id, s.function_id, s.sampling_id
FROM pc_sample s
JOIN json_each(s.samples) j
JOIN pc_sampling p ON p.id = s.sampling_id
JOIN case_shape c ON c.case_id = p.case_id
JOIN device_function f ON f.id = s.function_id
JOIN stall_reason r ON r.id = s.reason_id
LEFT JOIN instruction i ON i.function_id = s.function_id AND i.offset = s.offset + 16 * j.key
LEFT JOIN opcode o ON o.id = i.opcode_id)"},
    SchemaObject{"view", "instruction_count", R"(CREATE VIEW instruction_count AS
SELECT c.kernel, c.shape, n.part, f.name AS function, i.offset, o.name AS opcode,
  m.name AS metric, s.count, i.stack_id, s.function_id, s.counting_id
FROM sass_count s
JOIN sass_counting n ON n.id = s.counting_id
JOIN case_shape c ON c.case_id = n.case_id
JOIN device_function f ON f.id = s.function_id
JOIN metric m ON m.id = s.metric_id
JOIN instruction i ON i.function_id = s.function_id
  AND i.offset BETWEEN s.offset AND s.offset + 16 * (s.instructions - 1)
JOIN opcode o ON o.id = i.opcode_id)"},
};

constexpr std::size_t kVersion1Objects = 19;
static_assert(kSchema[kVersion1Objects].name == "cubin");

}  // namespace

std::span<const SchemaObject> Schema(int version) {
  return version == 1 ? std::span(kSchema).first(kVersion1Objects) : std::span(kSchema);
}

}  // namespace fa_profile::store
