"""The boards about kernels: one kernel, and its phases."""

from source.boards_fleet import DURATION, INCREASE, SHARE, WHERE, ZERO_IS_GOOD, simulated
from source.panels import Board, Panel, Query, bars, series, stat, states, table
from source.recording import JOB, PHASE, SHAPE


def across(metric, by, legend):
    """The least, the median and the most of the GPUs in view: three lines, however many GPUs there are."""
    return [
        (f"min by ({by}) ({metric})", f"least {legend}"),
        (f"quantile by ({by}) (0.5, {metric})", f"median {legend}"),
        (f"max by ({by}) ({metric})", f"most {legend}"),
    ]


def most(expr, count, by):
    """`expr` of those `count` that are largest at the range's end; each selector ends with `@`."""
    return f"({expr.replace('@', '')}) and on ({by}) topk({count}, {expr.replace('@', ' @ end()')})"


def kernel():
    by = "instance, gpu, kernel"
    here = "{{kernel}} {{instance}} GPU {{gpu}}"
    return Board(
        "kernel",
        "Kernel",
        "One kernel: how long it takes, what it reaches, and how it was built.",
        ["gpu", "kernel", "window"],
        [
            stat(
                "Correct",
                "1 when every GPU's newest verification against the float64 reference passed.",
                "bool_yes_no",
                "min(faprof_kernel_correct{*})",
                thresholds=[(None, "red"), (1, "green")],
                width=3,
            ),
            stat(
                "Duration",
                "Mean duration of a call over all GPUs in view.",
                "s",
                f"sum(increase({DURATION}_sum{{*}}[$window])) / (sum(increase({DURATION}_count{{*}}[$window])) > 0)",
            ),
            stat(
                "Throughput",
                "FLOP/s while the kernel runs.",
                "flops",
                "sum(increase(faprof_kernel_flops_total{*}[$window])) / "
                f"(sum(increase({DURATION}_sum{{*}}[$window])) > 0)",
            ),
            stat(
                "Registers",
                "Registers per thread: the maximum over the GPUs in view.",
                "none",
                "max(faprof_kernel_registers{*})",
                width=3,
            ),
            stat(
                "Spills",
                "Local memory per thread: the maximum over the GPUs in view.",
                "bytes",
                "max(faprof_kernel_spill_bytes{*})",
                thresholds=ZERO_IS_GOOD,
                width=3,
            ),
            stat(
                "Shared memory",
                "Shared memory per block.",
                "bytes",
                "max(faprof_kernel_shared_memory_bytes{*})",
                width=3,
            ),
            simulated(),
            series(
                "Duration and baseline",
                "Mean duration of a call by shape: the fastest, the median and the slowest GPU in view; dashed, the "
                "baseline.",
                "s",
                *across(f"gpu_kernel_shape:{DURATION}:mean{{*}}", "kernel, shape", "{{kernel}} {{shape}}"),
                ("avg by (kernel, shape) (faprof_baseline_duration_seconds{*})", "baseline {{kernel}} {{shape}}"),
                dashed="baseline",
                minimum=0,
            ),
            series(
                "Slowest beside the baseline",
                "Duration over the baseline's on the ten GPUs that are farthest above it at the range's end: 1.1 is "
                "10 % slower.",
                "none",
                (
                    f"gpu_kernel_shape:{DURATION}:ratio_baseline{{*}} and on ({SHAPE}) "
                    f"topk(10, gpu_kernel_shape:{DURATION}:ratio_baseline{{*}} @ end())",
                    here + " {{shape}}",
                ),
                decimals=3,
                links=[("GPU", "faprof-gpu")],
            ),
            Panel(
                "heatmap",
                "Distribution of durations",
                "Calls by duration.",
                "s",
                [Query(f"sum by (le) (increase({DURATION}_bucket{{*}}[$window]))", "{{le}}", format="heatmap")],
            ),
            series(
                "Quantiles of durations",
                "Quantiles are interpolated within a bucket of the histogram.",
                "s",
                *[
                    (
                        # A window without a call has no quantile: NaN, which is not >= 0.
                        f"histogram_quantile({q}, sum by (kernel, le) (increase({DURATION}_bucket{{*}}[$window]))) >= 0",
                        f"{{{{kernel}}}} p{p}",
                    )
                    for q, p in ((0.5, 50), (0.99, 99))
                ],
                minimum=0,
            ),
            series(
                "Throughput over time",
                "FLOP/s while the kernel runs; the softmax is not counted.",
                "flops",
                *across("gpu_kernel:faprof_kernel_flops:per_second{*}", "kernel", "{{kernel}}"),
                minimum=0,
            ),
            series(
                "Tensor pipe",
                "Share of the busy SMs' cycles in which the tensor pipe worked; dashed, the newest recordings' mean.",
                "percentunit",
                *across("gpu_kernel:faprof_tensor_active_cycles:ratio{*}", "kernel", "{{kernel}}"),
                ("avg by (kernel) (faprof_kernel_tensor_core_utilization_ratio{*})", "newest {{kernel}}"),
                dashed="newest",
                minimum=0,
            ),
            series(
                "Occupancy",
                "Resident warps as a share of what an SM can hold; dashed: what the launch allows.",
                "percentunit",
                *across("faprof_kernel_achieved_occupancy_ratio{*}", "kernel", "{{kernel}}"),
                ("max by (kernel) (faprof_kernel_theoretical_occupancy_ratio{*})", "possible {{kernel}}"),
                dashed="possible",
                minimum=0,
            ),
            series(
                "Resident warps",
                "Warps resident on a busy SM.",
                "none",
                *across("gpu_kernel:faprof_warps_active_cycles:mean{*}", "kernel", "{{kernel}}"),
                minimum=0,
            ),
            series(
                "Device memory per call",
                "Bytes that a call reads and writes.",
                "bytes",
                *across("gpu_kernel:faprof_dram_bytes:mean{*}", "kernel", "{{kernel}}"),
                minimum=0,
            ),
            states(
                "Longest phase",
                "The phase that took most of the kernel's time at each bucket of shapes, in the newest recording.",
                "none",
                "max by (kernel, shape, bottleneck) (faprof_kernel_bottleneck{*}) == 1",
                "{{kernel}} {{shape}}: {{bottleneck}}",
                mappings={1: ("longest", "orange")},
                links=[("Phases", "faprof-phases")],
            ),
            series(
                "Build",
                "Registers and local memory per thread: a step is a new build.",
                "none",
                ("faprof_kernel_registers{*}", "registers " + here),
                ("faprof_kernel_spill_bytes{*}", "spill bytes " + here),
                minimum=0,
            ),
            series(
                "Calls",
                "Calls timed, and calls whose counters were taken, in the window.",
                "none",
                (f"sum by ({by}) (increase(faprof_kernel_launches_total{{*}}[$window]))", "timed " + here),
                (f"sum by ({by}) (increase(faprof_kernel_profiled_launches_total{{*}}[$window]))", "profiled " + here),
                minimum=0,
            ),
            table(
                "Origin",
                "Where each kernel came from, and the commit of the tool that measured it.",
                "none",
                {"kernel": "kernel", "origin": "origin", "commit": "commit"},
                ("GPUs", "count by (kernel, origin, commit) (faprof_kernel_info{*})"),
                height=7,
            ),
            series(
                "How far to trust it",
                "Share of the time that belongs to no phase, and how much longer a call takes under PC sampling.",
                "percentunit",
                ("max by (kernel) (faprof_exporter_unattributed_ratio{*})", "in no phase {{kernel}}"),
                ("max by (kernel) (faprof_exporter_overhead_ratio{*})", "longer under the sampler {{kernel}}"),
                height=7,
            ),
        ],
        one=("kernel",),
    )


def phases():
    key = PHASE
    moved = f"({SHARE}{{*}} - {SHARE}{{*}} offset $since)"
    fleet_share = (
        f"(sum by (kernel, phase) ({INCREASE}{{*}}@) / on (kernel) group_left () "
        "(sum by (kernel) (gpu_kernel:faprof_phase_cycles:increase{*}@) > 0))"
    )
    now, then = fleet_share.replace("@", ""), fleet_share.replace("@", " offset $since")
    base = "avg by (kernel, phase) (faprof_baseline_phase_ratio{*}@)"
    # Those that changed most; without a past, farthest from the baseline; without a baseline, the largest.
    end, past, base_end = (
        text.replace("@", f"{offset} @ end()")
        for text, offset in ((fleet_share, ""), (fleet_share, " offset $since"), (base, ""))
    )
    moved_most = f"and on (kernel, phase) topk(8, abs({end} - {past}) or abs({end} - {base_end}) or {end})"
    far = "gpu_kernel_phase:faprof_phase_cycles:above_median{*}"
    farthest = f"topk(10, abs({far} @ end()))"
    above = "gpu_kernel_phase:faprof_phase_cycles:above_baseline{*}"
    drift = [(None, "dark-blue"), (-0.05, "green"), (0.05, "orange"), (0.15, "red")]
    here = "{{kernel}} {{phase}} {{instance}} GPU {{gpu}}"
    return Board(
        "phases",
        "Phases",
        "Which phase moved, in which kernel, when, and on which GPUs.",
        ["gpu", "kernel", "phase", "window", "since"],
        [
            table(
                "What moved",
                "Share of the kernel's time over all GPUs in view: now, and how it changed since then (variable "
                "Compared with). Largest change first.",
                "percentunit",
                {"kernel": "kernel", "phase": "phase"},
                ("now", now),
                ("change", f"{now} - {then}"),
                ("size", f"abs({now} - {then})"),
                sort="size",
                decimals=1,
                links=[("Kernel", "faprof-kernel")],
            ),
            series(
                "Phase shares and baseline",
                "Share of the kernel's time over all GPUs in view, of the eight phases that moved most until the "
                "range's end; dashed, the baseline recording.",
                "percentunit",
                (f"{now} {moved_most}", "{{kernel}} {{phase}}"),
                (f"{base.replace('@', '')} {moved_most}", "baseline {{kernel}} {{phase}}"),
                dashed="baseline",
                minimum=0,
            ),
            series(
                "GPUs that left the baseline",
                "GPUs whose share of the phase is over five points off the baseline: when a phase moved, and on how "
                "many. The eight phases with most.",
                "none",
                (
                    most(f"sum by (kernel, phase) (abs({above}@) > bool 0.05)", 8, "kernel, phase"),
                    "{{kernel}} {{phase}}",
                ),
                minimum=0,
            ),
            states(
                "GPUs that differ from the fleet",
                "Points of the kernel's time that a phase takes more (or less) than on the "
                "median GPU of the job: the 20 that differ most at the range's end.",
                "percentunit",
                f"{far} and on ({key}) topk(20, abs({far} @ end()))",
                here,
                thresholds=drift,
                decimals=1,
                links=[("GPU", "faprof-gpu")],
            ),
            table(
                "What moved, by GPU",
                "The 30 largest changes of a phase's share on one GPU since the time in Compared with.",
                "percentunit",
                {"kernel": "kernel", "phase": "phase", **WHERE},
                ("now", f"{SHARE}{{*}} and on ({key}) topk(30, abs{moved})"),
                ("change", f"{moved} and on ({key}) topk(30, abs{moved})"),
                ("off the fleet", f"{far} and on ({key}) topk(30, abs{moved})"),
                ("size", f"topk(30, abs{moved})"),
                sort="size",
                decimals=1,
                links=[("GPU", "faprof-gpu")],
            ),
            bars(
                "Most above the baseline",
                "Points above the phase's share in the baseline: the ten largest.",
                "percentunit",
                f"topk(10, {above})",
                here,
                thresholds=[(None, "green"), (0.05, "red")],
                decimals=1,
                links=[("GPU", "faprof-gpu")],
            ),
            series(
                "Each GPU",
                "Share of the kernel's time on the ten GPUs that differ most from the job's median GPU at the range's "
                "end; dashed, that GPU, and the whole job.",
                "percentunit",
                (f"{SHARE}{{*}} and on ({key}) {farthest}", here),
                *[
                    (
                        f"job_kernel_phase:faprof_phase_cycles:{what}{{*}} and on ({JOB}, kernel, phase) {farthest}",
                        f"{name} {{{{kernel}}}} {{{{phase}}}}",
                    )
                    for what, name in (("median_ratio", "median"), ("ratio", "whole job"))
                ],
                dashed="(median|whole job)",
                minimum=0,
            ),
            states(
                "Longest phase",
                "The phase that took most of the kernel's time at each bucket of shapes, in the newest recording, on any "
                "GPU in view.",
                "none",
                "max by (kernel, shape, bottleneck) (faprof_kernel_bottleneck{*}) == 1",
                "{{kernel}} {{shape}}: {{bottleneck}}",
                mappings={1: ("longest", "orange")},
            ),
            series(
                "Stalls",
                "What the warps waited for at the instructions of the phases in view, as a share of all their stalls.",
                "percentunit",
                (
                    "sum by (reason) (increase(faprof_phase_stall_cycles_total{*}[$window])) / on () "
                    "group_left () (sum(increase(faprof_phase_stall_cycles_total{*}[$window])) > 0)",
                    "{{reason}}",
                ),
                stack=True,
                minimum=0,
                maximum=1,
            ),
            series(
                "Instructions per call",
                "Warp instructions of the phase in a call: they change with the code, not with the clock.",
                "none",
                (
                    "sum by (kernel, phase) (increase(faprof_phase_instructions_total{*}[$window])) / on (kernel) "
                    "group_left () (sum by (kernel) (increase(faprof_kernel_profiled_launches_total{*}[$window])) > 0)",
                    "{{kernel}} {{phase}}",
                ),
                minimum=0,
            ),
            series(
                "Bank conflicts",
                "Share of the phase's shared-memory wavefronts beyond the ideal.",
                "percentunit",
                (
                    "sum by (kernel, phase) (increase(faprof_shared_excess_wavefronts_total{*}[$window])) / "
                    "(sum by (kernel, phase) (increase(faprof_shared_wavefronts_total{*}[$window])) > 0)",
                    "{{kernel}} {{phase}}",
                ),
                minimum=0,
            ),
            series(
                "Shared wavefronts per call",
                "Wavefronts of the phase's shared-memory instructions in a call.",
                "none",
                (
                    "sum by (kernel, phase) (increase(faprof_shared_wavefronts_total{*}[$window])) / on (kernel) "
                    "group_left () (sum by (kernel) (increase(faprof_kernel_profiled_launches_total{*}[$window])) > 0)",
                    "{{kernel}} {{phase}}",
                ),
                minimum=0,
            ),
            simulated(),
        ],
    )
