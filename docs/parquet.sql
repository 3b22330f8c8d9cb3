-- Queries over the folder `history` that `python3 -m fa_profile.export history RECORDING...` writes, for DuckDB:
-- duckdb -f parquet.sql

-- Which driver made softmax slower, on which GPUs? By more than 2 %, against the driver that the GPUs had before.
WITH by_driver AS (
  SELECT gpu, kernel_name, shape, driver_version, min(recorded_at) AS first, min(date) AS since,
         count(*) AS recordings, median(phase_time_seconds) AS seconds
  FROM 'history/phases/**/*.parquet' WHERE phase = 'softmax' AND part IS NULL GROUP BY ALL),
steps AS (
  SELECT *, lag(driver_version) OVER w AS driver_before, seconds / lag(seconds) OVER w - 1 AS slower_ratio
  FROM by_driver WINDOW w AS (PARTITION BY gpu, kernel_name, shape ORDER BY first))
SELECT gpu, kernel_name, shape, driver_before, driver_version, since, recordings, round(slower_ratio, 3) AS slower_ratio
FROM steps WHERE slower_ratio > 0.02 ORDER BY slower_ratio DESC;

-- Which cards are more than 5 % slower than the median card of their model, at the same kernel and shape, this month?
WITH by_card AS (
  SELECT gpu, kernel_name, shape, gpu_uuid, median(duration_ns) AS ns
  FROM 'history/launches/**/*.parquet' WHERE part IS NULL AND date >= '2026-11-01' GROUP BY ALL),
compared AS (
  SELECT *, ns / median(ns) OVER (PARTITION BY gpu, kernel_name, shape) - 1 AS slower_ratio FROM by_card)
SELECT gpu, gpu_uuid, count(*) AS kernels, round(median(slower_ratio), 3) AS slower_ratio
FROM compared WHERE slower_ratio > 0.05 GROUP BY ALL ORDER BY slower_ratio DESC;

-- Since when do which kernels use local memory (spilled registers, as a rule), and how many bytes does a call move?
-- Null: the recordings lack that counter.
WITH moved AS (
  SELECT recording_id, kernel_name, shape, value FROM 'history/metrics/**/*.parquet'
  WHERE metric = 'local_memory_bytes' AND part IS NULL)
SELECT gpu, kernel, min(date) AS since, count(DISTINCT f.recording_id) AS recordings, max(value) AS local_bytes
FROM 'history/findings/**/*.parquet' f LEFT JOIN moved m ON m.recording_id = f.recording_id
  AND m.kernel_name = f.kernel_name AND m.shape IS NOT DISTINCT FROM f.shape
WHERE finding = 'local-memory' AND part IS NULL
GROUP BY ALL ORDER BY ALL;
