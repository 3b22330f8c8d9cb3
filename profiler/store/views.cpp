// Every view of a recording. tables.cpp explains versions.
#include "tables.h"

namespace fa_profile::store {
namespace {

constexpr View kViews[] = {
    {"case_shape", "a case: `case_id`, `kernel`, `origin`, and its `shape` as one text", R"(CREATE VIEW case_shape AS
SELECT id AS case_id, kernel, origin,
  batch || ',' || num_heads || ',' || seqlen || ',' || head_dim ||
    CASE causal WHEN 1 THEN ' causal' ELSE '' END AS shape
FROM kernel_case)",
     1, 4},
    {"case_shape", "a case: `case_id`, `kernel`, `origin`, and its `shape` as one text", R"(CREATE VIEW case_shape AS
SELECT id AS case_id, kernel, origin,
  coalesce(parameters, batch || ',' || num_heads || ',' || seqlen || ',' || head_dim ||
    CASE causal WHEN 1 THEN ' causal' ELSE '' END) AS shape
FROM kernel_case)",
     5},
    {"metric_value", "a value: `kernel`, `shape`, `part`, `metric`, `value`, `range_id`, `case_id`",
     R"(CREATE VIEW metric_value AS
SELECT c.kernel, c.shape, r.part, m.name AS metric, v.value, r.id AS range_id, c.case_id
FROM value v
JOIN metric m ON m.id = v.metric_id
JOIN range r ON r.id = v.range_id
JOIN case_shape c ON c.case_id = r.case_id)"},
    {"timing_summary", "a series: `kernel`, `shape`, `part`, `method`, `samples`, `min_ns`, `median_ns`, `max_ns`",
     R"(CREATE VIEW timing_summary AS
SELECT c.kernel, c.shape, t.part, t.method, count(*) AS samples, min(s.duration_ns) AS min_ns,
  avg(CASE WHEN s.place IN ((s.total + 1) / 2, (s.total + 2) / 2) THEN s.duration_ns END) AS median_ns,
  max(s.duration_ns) AS max_ns
FROM (SELECT timing_id, duration_ns, count(*) OVER (PARTITION BY timing_id) AS total,
        row_number() OVER (PARTITION BY timing_id ORDER BY duration_ns) AS place
      FROM timing_sample) s
JOIN timing t ON t.id = s.timing_id
JOIN case_shape c ON c.case_id = t.case_id
GROUP BY t.id)"},
    {"instruction_sample",
     "`samples` of one instruction and one `reason`, with `kernel`, `shape`, `part`, `function`, `offset`, `opcode`. "
     "Needs the JSON functions of SQLite, which every build since 3.38 has",
     R"(CREATE VIEW instruction_sample AS
SELECT c.kernel, c.shape, p.part, f.name AS function, s.offset + 16 * j.key AS offset, o.name AS opcode,
  r.name AS reason, j.value AS samples, i.stack_id, s.function_id, s.sampling_id
FROM pc_sample s
JOIN json_each(s.samples) j
JOIN pc_sampling p ON p.id = s.sampling_id
JOIN case_shape c ON c.case_id = p.case_id
JOIN device_function f ON f.id = s.function_id
JOIN stall_reason r ON r.id = s.reason_id
LEFT JOIN instruction i ON i.function_id = s.function_id AND i.offset = s.offset + 16 * j.key
LEFT JOIN opcode o ON o.id = i.opcode_id)",
     2},
    {"instruction_count",
     "the `count` of one instruction and one `metric`, with `kernel`, `shape`, `part`, `function`, `offset`, `opcode`; "
     "of disassembled functions only",
     R"(CREATE VIEW instruction_count AS
SELECT c.kernel, c.shape, n.part, f.name AS function, i.offset, o.name AS opcode,
  m.name AS metric, s.count, i.stack_id, s.function_id, s.counting_id
FROM sass_count s
JOIN sass_counting n ON n.id = s.counting_id
JOIN case_shape c ON c.case_id = n.case_id
JOIN device_function f ON f.id = s.function_id
JOIN metric m ON m.id = s.metric_id
JOIN instruction i ON i.function_id = s.function_id
  AND i.offset BETWEEN s.offset AND s.offset + 16 * (s.instructions - 1)
JOIN opcode o ON o.id = i.opcode_id)",
     2},
    {"kernel_time",
     "a launch class over all windows: `kernel`, `launches`, `graph_launches`, `total_ns`, `min_ns`, `max_ns`, "
     "`case_id`",
     R"(CREATE VIEW kernel_time AS
SELECT c.kernel, sum(w.launches) AS launches, sum(w.graph_launches) AS graph_launches, sum(w.total_ns) AS total_ns,
  min(w.min_ns) AS min_ns, max(w.max_ns) AS max_ns, c.id AS case_id
FROM kernel_work w
JOIN kernel_case c ON c.id = w.case_id
GROUP BY c.id)",
     3},
};

}  // namespace

std::span<const View> Views() { return kViews; }

}  // namespace fa_profile::store
