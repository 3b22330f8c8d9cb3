"""The tables and columns that to_parquet() writes. docs/parquet.schema.txt is made of them."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

# Names of the types of Parquet for the kinds of cells.
TYPES = {
    "text": "string",
    "number": "double",
    "count": "int64",
    "flag": "boolean",
    "time": "timestamp, UTC, microseconds",
}


# Of a text: functions with 5,000 characters exist.
MOST_CHARACTERS = 8192


class Column(NamedTuple):
    name: str
    kind: str  # of TYPES
    text: str


class Table(NamedTuple):
    name: str
    text: str
    source: str  # the table of Recording that has the cells, in columns of the same names
    columns: tuple[Column, ...]


# Folders below a table's, outermost first: date=2026-11-28/gpu=NVIDIA_H200/kernel=flash_fwd_kernel
PARTITIONS = (
    Column("date", "text", "day of recorded_at"),
    Column("gpu", "text", "gpu_name, each run of characters other than A-Z a-z 0-9 _ . - as one _"),
    Column(
        "kernel",
        "text",
        "kernel_name up to template arguments, launch sizes and numbers of graphs, as gpu; at most 100 characters",
    ),
)

RECORDING = (
    Column("recording_id", "text", "SHA-256 of the recording's file"),
    Column("recording", "text", "path of the recording, as it was given"),
    Column("recorded_at", "time", "start of the run"),
    Column("gpu_name", "text", "as the driver has it"),
    Column("gpu_uuid", "text", "of the card"),
    Column("driver_version", "text", "`580.159.04`"),
    Column("cuda_driver_version", "text", "latest CUDA version of the driver"),
    Column("cuda_runtime_version", "text", "CUDA version of the program's runtime"),
    Column("metric_set", "text", "`full`, ...; `custom` for a list of metrics"),
    Column("replay_mode", "text", "how counters were measured: `user`, `spread`, `kernel` or `none`"),
    Column("tool_version", "text", "of the fa-profile that measured"),
    Column("tool_commit", "text", "its git commit"),
    Column("complete", "flag", "false: the run was killed or interrupted"),
    Column("losses", "count", "kinds of things that could not be measured"),
)

# The Frame's column `kernel`; Parquet has the folder of that name.
KERNEL_NAME = Column("kernel_name", "text", "kernel as in reports; of a program with template arguments and launch sizes")

_CALL = (
    KERNEL_NAME,
    Column("part", "text", "a part of a call with several launches; null: the whole call"),
    Column("shape", "text", "`4,16,1024,64`; null: a program's kernel"),
)
_PHASE = Column("phase", "text", "null: the whole kernel")

TABLES = (
    Table(
        "launches",
        "the launches of a kernel at a shape, or of a part of it: how many, how long, how launched",
        "kernels",
        (
            *_CALL,
            Column("duration_ns", "number", "median of the timed launches, without the profiler"),
            Column("bottleneck", "text", "`memory`, `compute`, `latency`"),
            Column("bottleneck_evidence", "text", "why, with numbers"),
            Column("findings", "text", "ids, separated by commas"),
            Column("correct", "flag", "verified against a reference; null: not verified"),
            Column("gpu_time_ns", "count", "sum over all launches; null: not a watched program, as the next two"),
            Column("share_ratio", "number", "of the GPU time of the program's kernels"),
            Column("launches", "count", "counted, timed or not"),
            Column("p05_ns", "number", "of the timed launches, as the next four"),
            Column("p95_ns", "number", ""),
            Column("min_ns", "number", ""),
            Column("spread_ratio", "number", "(p95 - p05) / median"),
            Column("duration_cycles", "number", "median, in SM clocks"),
            Column("timed_launches", "count", ""),
            Column("graph_launches", "count", "of launches, those by CUDA graphs"),
            Column("origin", "text", "`ladder`, `program`, or the file of the kernel"),
            Column("function", "text", "demangled, of the longest launch, as the next two"),
            Column("grid", "text", "`132,1,1`"),
            Column("block", "text", "`384,1,1`"),
            Column("blocks_per_sm", "count", "that fit at the same time"),
            Column("occupancy_limiters", "text", "what allows no more: `registers, shared memory`"),
            Column("phases_from", "text", "where phases come from"),
            Column("phase_samples", "count", "PC samples of all phases"),
        ),
    ),
    Table(
        "metrics",
        "a metric of a kernel or of a phase (docs/metrics.md)",
        "metrics",
        (
            *_CALL,
            _PHASE,
            Column("metric", "text", "id in docs/metrics.md"),
            Column("value", "number", "in unit"),
            Column("unit", "text", ""),
            Column("label", "text", "in words"),
            Column("better", "text", "`higher`, `lower`; null: neither"),
            Column("deterministic", "flag", "the same in every run"),
        ),
    ),
    Table(
        "phases",
        "a phase of a kernel (docs/phases.md), with the metrics of docs/metrics.md",
        "phases",
        (
            *_CALL,
            _PHASE._replace(text="`softmax`, ..."),
            Column("stall", "text", "reason for which its warps waited most"),
            Column("stall_ratio", "number", "its share of the phase's samples"),
            Column("phase_time_ratio", "number", "share of the kernel's time"),
            Column("phase_time_seconds", "number", "of the median duration without the profiler"),
            *(
                Column(name, "number", "")
                for name in (
                    "phase_warp_time_ratio",
                    "phase_issue_ratio",
                    "phase_waiting_ratio",
                    "phase_async_wait_ratio",
                    "phase_instructions",
                    "phase_threads_per_instruction",
                    "phase_tensor_instructions",
                    "phase_tensor_flops",
                    "phase_tensor_utilization_ratio",
                    "phase_flops",
                    "phase_exponentials",
                    "phase_mufu_utilization_ratio",
                    "phase_shared_wavefronts",
                    "phase_shared_wavefronts_ideal",
                    "phase_bank_conflicts",
                    "phase_bank_conflict_ratio",
                    "phase_global_sectors",
                    "phase_global_sectors_ideal",
                    "phase_global_bytes",
                    "phase_coalescing_ratio",
                    "phase_local_sectors",
                    "phase_barriers",
                )
            ),
        ),
    ),
    Table(
        "findings",
        "what was found in a kernel, with its cure",
        "findings",
        (
            *_CALL,
            _PHASE,
            Column("finding", "text", "id: `bank-conflicts`"),
            Column("weight", "number", "share of the kernel's time that it is about, 0 to 1"),
            Column("evidence", "text", "with numbers"),
            Column("cure", "text", ""),
        ),
    ),
)


def describe() -> str:
    """All of it, for people: docs/parquet.schema.txt."""
    lines = [
        "The tables of `python3 -m fa_profile.export`, one folder each, made from python/fa_profile/parquet_columns.py.",
        f"docs/python.md explains them. Absent is null, never 0 or NaN. Texts end after {MOST_CHARACTERS} characters. A later",
        "version adds columns at the end. A call writes a file for each date, GPU and kernel: few calls with many recordings",
        "make files that are read fast.",
        "",
        "Folders of each table, columns to SQL. Unknown is __HIVE_DEFAULT_PARTITION__: null, but that text in ClickHouse.",
        *_lines(PARTITIONS),
        "",
        "First columns of each table.",
        *_lines(RECORDING),
    ]
    for table in TABLES:
        lines += ["", f"{table.name}: {table.text}.", *_lines(table.columns)]
    return "\n".join(lines) + "\n"


def _lines(columns: tuple[Column, ...]) -> list[str]:
    lines = []
    for column in columns:
        text = f"{column.name} ({TYPES[column.kind]})" + (f": {column.text}" if column.text else "")
        lines += textwrap.wrap(text, 118, initial_indent="  ", subsequent_indent="      ")
    return lines
