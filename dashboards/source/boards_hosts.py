"""The boards about hosts: one GPU, the gate, and the exporter."""

from source.boards_fleet import DURATION, WHERE, ZERO_IS_GOOD, simulated
from source.panels import Board, bars, series, stat, states, table

YES_IS_GOOD = [(None, "red"), (1, "green")]
GPU_NAME = "{{instance}} GPU {{gpu}}"


def gpu():
    return Board(
        "gpu",
        "GPU",
        "One GPU: its clocks, power, memory and errors, and its kernels beside the fleet's.",
        ["gpu", "kernel", "window"],
        [
            stat(
                "Answers",
                "1 when every GPU in view answers NVML.",
                "bool_yes_no",
                "min(faprof_device_up{*})",
                thresholds=YES_IS_GOOD,
            ),
            stat(
                "Of the fleet's time",
                "Median over its kernels of the GPU's duration over the fleet's: 1.25 is 25 % slower. The "
                "slowest in view.",
                "none",
                f"max(gpu:{DURATION}:ratio_median{{*}})",
                thresholds=[(None, "green"), (1.15, "red")],
                decimals=3,
            ),
            stat("Temperature", "Hottest in view.", "celsius", "max(faprof_device_temperature_celsius{*})"),
            stat(
                "Uncorrected ECC errors",
                "Since the driver was loaded.",
                "none",
                'sum(max_over_time(faprof_device_ecc_errors_total{*, kind="uncorrected"}[$__rate_interval]))',
                thresholds=ZERO_IS_GOOD,
            ),
            stat(
                "Throttled now",
                "GPUs in view whose clocks are reduced.",
                "none",
                "sum(max by (instance, gpu) (faprof_device_throttled{*}))",
                thresholds=ZERO_IS_GOOD,
            ),
            simulated(),
            series(
                "SM clock",
                "Dashed: the highest.",
                "hertz",
                ("faprof_device_sm_clock_hertz{*}", GPU_NAME),
                ("faprof_device_sm_clock_max_hertz{*}", "highest " + GPU_NAME),
                dashed="highest",
                minimum=0,
            ),
            states(
                "Throttling",
                "Reasons for reduced clocks.",
                "none",
                "max by (instance, gpu, reason) (faprof_device_throttled{*})",
                GPU_NAME + " {{reason}}",
                mappings={0: ("no", "green"), 1: ("throttled", "red")},
            ),
            series(
                "Power",
                "Power now, and the mean from energy over the interval; dashed: the limit.",
                "watt",
                ("faprof_device_power_watts{*}", GPU_NAME),
                ("rate(faprof_device_energy_joules_total{*}[$__rate_interval])", "mean " + GPU_NAME),
                ("faprof_device_power_limit_watts{*}", "limit " + GPU_NAME),
                dashed="limit",
                minimum=0,
            ),
            series(
                "Temperature over time", "Of the GPU.", "celsius", ("faprof_device_temperature_celsius{*}", GPU_NAME)
            ),
            series(
                "Activity",
                "Shares of the time or of the peak, whatever runs: a kernel ran (NVML); SMs busy, tensor pipes busy, "
                "warps resident, device memory (GPM, Hopper and newer).",
                "percentunit",
                ("faprof_device_busy_ratio{*}", "kernel ran " + GPU_NAME),
                ("faprof_device_sm_active_ratio{*}", "SMs " + GPU_NAME),
                ("faprof_device_tensor_active_ratio{*}", "tensor " + GPU_NAME),
                ("faprof_device_sm_occupancy_ratio{*}", "warps " + GPU_NAME),
                ("faprof_device_dram_active_ratio{*}", "memory " + GPU_NAME),
                minimum=0,
                maximum=1,
            ),
            series(
                "Memory",
                "Device memory in use; dashed: its size.",
                "bytes",
                ("faprof_device_memory_used_bytes{*}", GPU_NAME),
                ("faprof_device_memory_total_bytes{*}", "all " + GPU_NAME),
                dashed="all",
                minimum=0,
            ),
            series(
                "Memory clock",
                "Of the device memory.",
                "hertz",
                ("faprof_device_memory_clock_hertz{*}", GPU_NAME),
                minimum=0,
            ),
            series(
                "Errors",
                "New ECC errors and Xid errors in the window.",
                "none",
                ("increase(faprof_device_ecc_errors_total{*}[$window])", "ECC {{kind}} " + GPU_NAME),
                ("increase(faprof_device_xid_errors_total{*}[$window])", "Xid {{xid}} " + GPU_NAME),
                minimum=0,
            ),
            bars(
                "Kernels beside the fleet",
                "Duration of each kernel and shape over that of the fleet's median GPU: 1 is equal.",
                "none",
                f"gpu_kernel_shape:{DURATION}:mean{{*}} / on (job, simulated, kernel, shape) group_left () "
                f"(job_kernel_shape:{DURATION}:median{{*}} > 0)",
                "{{kernel}} {{shape}} " + GPU_NAME,
                thresholds=[(None, "green"), (1.15, "red")],
                decimals=3,
                links=[("Kernel", "faprof-kernel")],
            ),
            series(
                "Kernels over time",
                "Mean duration of a call, over all shapes.",
                "s",
                (f"gpu_kernel:{DURATION}:mean{{*}}", "{{kernel}} " + GPU_NAME),
                minimum=0,
            ),
            table(
                "Identity",
                "UUID, name and driver.",
                "none",
                {
                    **WHERE,
                    "name": "name",
                    "uuid": "UUID",
                    "driver": "driver",
                    "compute_capability": "compute capability",
                },
                ("", "max by (instance, gpu, name, uuid, driver, compute_capability) (faprof_gpu_info{*})"),
                width=24,
                height=7,
            ),
        ],
        one=("instance", "gpu"),
    )


def gate():
    return Board(
        "gate",
        "Gate",
        "The gate's verdict on each case, its error rate, and its baselines.",
        ["case", "window"],
        [
            stat(
                "Regressions",
                "Cases whose newest verdict is a regression.",
                "none",
                'sum(faprof_gate_verdict{*, verdict="REGRESSION"})',
                thresholds=ZERO_IS_GOOD,
            ),
            stat(
                "Undecided",
                "Cases without a clear verdict: too noisy, or not comparable.",
                "none",
                'sum(faprof_gate_verdict{*, verdict=~"INCONCLUSIVE|INCOMPARABLE"})',
            ),
            stat(
                "False alarms",
                "Share of comparisons of equal code that were called a regression, over seven days.",
                "percentunit",
                "sum(increase(faprof_gate_aa_false_positives_total{*}[7d])) / "
                "(sum(increase(faprof_gate_aa_trials_total{*}[7d])) > 0)",
                decimals=3,
            ),
            stat(
                "Trials",
                "Comparisons of equal code, over seven days.",
                "none",
                "sum(increase(faprof_gate_aa_trials_total{*}[7d]))",
            ),
            stat(
                "Oldest baseline",
                "Age of the oldest baseline in view.",
                "s",
                "max(time() - faprof_baseline_timestamp_seconds{*})",
                thresholds=[(None, "green"), (30 * 86400, "orange")],
            ),
            simulated(),
            states(
                "Verdicts",
                "The newest verdict of each case.",
                "none",
                "max by (case, verdict) (faprof_gate_verdict{*}) == 1",
                "{{case}}: {{verdict}}",
                width=24,
                mappings={1: ("newest", "blue")},
            ),
            bars(
                "Change by case",
                "Change of the case's duration against its baseline: 5 % is slower.",
                "percentunit",
                "max by (case) (faprof_gate_change_ratio{*})",
                "{{case}}",
                decimals=1,
                thresholds=[(None, "green"), (0.03, "orange"), (0.05, "red")],
            ),
            series(
                "Change over time",
                "Above zero is slower than the baseline.",
                "percentunit",
                ("faprof_gate_change_ratio{*}", "{{case}} {{instance}}"),
            ),
            series(
                "False alarms over time",
                "Share of comparisons of equal code that were called a regression.",
                "percentunit",
                (
                    "sum(increase(faprof_gate_aa_false_positives_total{*}[$window])) / "
                    "(sum(increase(faprof_gate_aa_trials_total{*}[$window])) > 0)",
                    "false alarms",
                ),
                minimum=0,
            ),
            table(
                "Baselines",
                "GPU, driver and commit of the baseline recordings.",
                "none",
                {"gpu_name": "GPU", "driver": "driver", "commit": "commit"},
                ("hosts", "count by (gpu_name, driver, commit) (faprof_baseline_info{*})"),
            ),
        ],
    )


def exporter():
    return Board(
        "exporter",
        "Exporter",
        "Whether the data on the other boards are fresh and complete.",
        ["kernel", "window"],
        [
            stat(
                "Up",
                "1 when every exporter in view answered the last scrape.",
                "bool_yes_no",
                "min(up{*})",
                thresholds=YES_IS_GOOD,
            ),
            stat(
                "Oldest collection",
                "Time since the newest collection of the exporter that is furthest behind.",
                "s",
                "max(time() - faprof_exporter_last_collection_timestamp_seconds{*})",
                thresholds=[(None, "green"), (120, "red")],
            ),
            stat(
                "Oldest recording",
                "Time since the exporter that is furthest behind counted its newest recording.",
                "s",
                "max(time() - faprof_exporter_last_recording_timestamp_seconds{*})",
                thresholds=[(None, "green"), (10800, "red")],
            ),
            stat(
                "Running for",
                "Time since the newest start of an exporter.",
                "s",
                "min(time() - faprof_exporter_start_timestamp_seconds{*})",
            ),
            stat(
                "Waiting in spools",
                "Recordings that wait to be counted.",
                "none",
                "sum(faprof_exporter_spool_files{*})",
            ),
            simulated(),
            states(
                "Sources",
                "Whether the newest collection could read each source.",
                "none",
                "min by (instance, collector) (faprof_exporter_up{*})",
                "{{instance}} {{collector}}",
                mappings={0: ("down", "red"), 1: ("up", "green")},
            ),
            series(
                "Scrape duration",
                "As Prometheus sees it.",
                "s",
                ("scrape_duration_seconds{*}", "{{instance}}"),
                minimum=0,
            ),
            series(
                "Collection",
                "How long the newest collection took.",
                "s",
                ("faprof_exporter_collection_duration_seconds{*}", "{{instance}}"),
                minimum=0,
            ),
            series(
                "Series",
                "Series on the newest page, and samples that Prometheus stored.",
                "none",
                ("faprof_exporter_series{*}", "page {{instance}}"),
                ("scrape_samples_scraped{*}", "scraped {{instance}}"),
                minimum=0,
            ),
            series(
                "Series left out",
                "Series left out because of the budget, or folded into `other`, in the window; and kernels that share "
                "the series of another.",
                "none",
                ("increase(faprof_exporter_series_dropped_total{*}[$window])", "{{instance}}"),
                ("increase(faprof_exporter_kernels_merged_total{*}[$window])", "merged {{instance}}"),
                minimum=0,
            ),
            series(
                "Recordings",
                "Recordings found in the spool in the window, by result; and damaged state files that are kept aside.",
                "none",
                (
                    "sum by (instance, result) (increase(faprof_exporter_recordings_total{*}[$window]))",
                    "{{instance}} {{result}}",
                ),
                ("faprof_exporter_refused_states{*}", "refused states {{instance}}"),
                minimum=0,
            ),
            series(
                "Failed runs",
                "Runs that left a failure note in the window, and those that failed because another program held the counters.",
                "none",
                ("increase(faprof_exporter_failed_runs_total{*}[$window])", "failed {{instance}}"),
                ("increase(faprof_exporter_perfmon_conflicts_total{*}[$window])", "counters held {{instance}}"),
                minimum=0,
            ),
            series(
                "Samples dropped",
                "PC samples that the hardware dropped in the window.",
                "none",
                (
                    "sum by (instance, kernel) (increase(faprof_exporter_samples_dropped_total{*}[$window]))",
                    "{{instance}} {{kernel}}",
                ),
                minimum=0,
            ),
            series(
                "Time in no phase",
                "Share of the kernel's time, mean over GPUs.",
                "percentunit",
                ("avg by (instance, kernel) (faprof_exporter_unattributed_ratio{*})", "{{instance}} {{kernel}}"),
                minimum=0,
            ),
            series(
                "Profiling disturbs",
                "How much longer a call takes under PC sampling, mean over GPUs.",
                "percentunit",
                ("avg by (instance, kernel) (faprof_exporter_overhead_ratio{*})", "{{instance}} {{kernel}}"),
            ),
            series(
                "HTTP requests",
                "Answered, by status code.",
                "reqps",
                (
                    "sum by (instance, code) (rate(faprof_exporter_http_requests_total{*}[$__rate_interval]))",
                    "{{instance}} {{code}}",
                ),
                minimum=0,
            ),
            series(
                "Connections and files",
                "Open now.",
                "none",
                ("faprof_exporter_http_connections{*}", "connections {{instance}}"),
                ("faprof_exporter_open_files{*}", "files {{instance}}"),
                minimum=0,
            ),
            series(
                "Memory",
                "Resident memory of the exporter.",
                "bytes",
                ("faprof_exporter_memory_bytes{*}", "{{instance}}"),
                minimum=0,
            ),
            series(
                "CPU",
                "CPU time per second.",
                "percentunit",
                ("rate(faprof_exporter_cpu_seconds_total{*}[$__rate_interval])", "{{instance}}"),
                minimum=0,
            ),
            table(
                "Versions",
                "Exporters by version and commit.",
                "none",
                {"version": "version", "commit": "commit"},
                ("hosts", "count by (version, commit) (faprof_build_info{*})"),
                width=24,
                height=6,
            ),
        ],
    )
