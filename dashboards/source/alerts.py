"""Alerts. Each names its subject and the value that fired; the runbook says what to do.

Alerts also cover silence: no target, a target that does not answer, an exporter that stopped collecting or never had a
recording, a lost GPU. A counter that restarts at zero fires nothing.
"""

from dataclasses import dataclass

from source.catalogue import OURS
from source.recording import GPU, HOST, JOB, KERNEL

# Kernels that are meant to do without tensor cores: rungs 1 to 3 of the ladder.
WITHOUT_TENSOR_CORES = "minimal|scalar|tiled"
RUNBOOKS = "https://github.com/fa-profile/fa-profile/blob/main/docs/runbooks"

KERNEL_HERE = "{{ $labels.kernel }} on GPU {{ $labels.gpu }} of {{ $labels.instance }}"
GPU_HERE = "GPU {{ $labels.gpu }} of {{ $labels.instance }}"
PERCENT = "{{ $value | humanizePercentage }}"
AGE = "{{ $value | humanizeDuration }}"


@dataclass
class Alert:
    name: str
    severity: str
    wait: str  # `for`; "" fires at once
    expr: str
    summary: str
    description: str


def kernels(clock):
    duration = "faprof_kernel_duration_seconds"
    return [
        Alert(
            "FaprofSoftmaxBottleneck",
            "warning",
            "10m",
            'faprof_kernel_phase_ratio{phase="softmax"} > 0.5',
            f"Softmax takes {PERCENT} of {KERNEL_HERE} (shape {{{{ $labels.shape }}}})",
            "Softmax takes more than half of the kernel's time at shapes of this bucket, in the newest recording that "
            "has them. The tensor cores wait for it.",
        ),
        Alert(
            "FaprofPhaseShareAboveBaseline",
            "warning",
            "10m",
            'gpu_kernel_phase:faprof_phase_cycles:above_baseline{phase!="unattributed"} > 0.05',
            f"Phase {{{{ $labels.phase }}}} of {KERNEL_HERE} takes {PERCENT} of the time more than in the baseline",
            "The phase's share of the kernel's time is over five points higher than in the baseline recording: the phase "
            "became slower, or the others became faster.",
        ),
        Alert(
            "FaprofKernelSlowerThanBaseline",
            "warning",
            "10m",
            f"gpu_kernel_shape:{duration}:ratio_baseline > 1.1",
            f"{KERNEL_HERE} takes {PERCENT} of the baseline's time (shape {{{{ $labels.shape }}}})",
            "The mean duration of a call over the last recordings is more than 10 % above the mean in the baseline.",
        ),
        Alert(
            "FaprofTensorUseLow",
            "info",
            "30m",
            f'gpu_kernel:faprof_tensor_active_cycles:ratio{{kernel!~"{WITHOUT_TENSOR_CORES}"}} < 0.05',
            f"The tensor pipe is active {PERCENT} of the time in {KERNEL_HERE}",
            "The tensor pipe is active in less than 5 % of the busy SMs' cycles. Kernels without tensor instructions "
            "are excluded by name.",
        ),
        Alert(
            "FaprofSpillAppeared",
            "warning",
            "",
            f"faprof_kernel_spill_bytes > min_over_time(faprof_kernel_spill_bytes[{clock('1d')}])",
            f"{KERNEL_HERE} uses {{{{ $value }}}} bytes of local memory per thread, more than during the last day",
            "A new build of the kernel spills registers, or spills more. The alert resolves a day later.",
        ),
        Alert(
            "FaprofKernelIncorrect",
            "critical",
            "",
            "faprof_kernel_correct == 0",
            f"{KERNEL_HERE} computes a wrong result",
            "The newest verification against the float64 reference failed. Ignore all other measurements of this kernel.",
        ),
        Alert(
            "FaprofPhasesUnattributed",
            "info",
            "10m",
            "faprof_exporter_unattributed_ratio > 0.2",
            f"{PERCENT} of the time of {KERNEL_HERE} belongs to no phase",
            "More than a fifth of the kernel's time belongs to no phase, so the phases' shares mean little.",
        ),
        Alert(
            "FaprofProfilingDisturbs",
            "info",
            "10m",
            "faprof_exporter_overhead_ratio > 0.05",
            f"{KERNEL_HERE} is {PERCENT} slower under the profiler",
            "A call takes over 5 % longer under PC sampling than without, so its phases describe a disturbed kernel.",
        ),
    ]


def devices(clock):
    duration = "faprof_kernel_duration_seconds"
    return [
        Alert(
            "FaprofGpuOutlier",
            "warning",
            "30m",
            f"gpu:{duration}:ratio_median > 1.15 and on ({JOB}) count by ({JOB}) (gpu:{duration}:ratio_median) >= 4",
            f"{GPU_HERE} takes {PERCENT} of the fleet's median time",
            "Over its kernels, the GPU is more than 15 % slower than the median GPU of its job (of at least four GPUs).",
        ),
        Alert(
            "FaprofThrottledWhileProfiling",
            "warning",
            "",
            f"avg_over_time(faprof_device_throttled[{clock('1h')}]) > 0.1 and on ({GPU}) "
            f"increase(faprof_kernel_profiled_launches_total[{clock('2h')}]) > 0",
            f"{GPU_HERE} was throttled ({{{{ $labels.reason }}}}) {PERCENT} of the last hour, and profiled",
            "The clocks were reduced for more than a tenth of the hour while kernels were recorded. Durations in "
            "these recordings are too long.",
        ),
        Alert(
            "FaprofGpuLost",
            "critical",
            "5m",
            f"faprof_device_up == 0 or (faprof_device_up offset {clock('1h')} unless on ({GPU}) faprof_device_up) "
            f"and on ({HOST}) up == 1",
            f"{GPU_HERE} does not answer",
            "NVML gets no answer from the GPU, or the GPU was listed an hour ago and is no longer listed.",
        ),
        Alert(
            "FaprofXid",
            "critical",
            "",
            f"increase(faprof_device_xid_errors_total[{clock('1h')}]) > 0 or "
            f"(faprof_device_xid_errors_total unless faprof_device_xid_errors_total offset {clock('1h')}) > 0",
            f"Xid {{{{ $labels.xid }}}} on {GPU_HERE}",
            "The driver reported an error of the GPU within the last hour.",
        ),
        Alert(
            "FaprofUncorrectedEcc",
            "critical",
            "",
            'faprof_device_ecc_errors_total{kind="uncorrected"} > 0',
            f"{{{{ $value }}}} uncorrected ECC errors on {GPU_HERE}",
            "The GPU's memory has returned data that could not be corrected since the driver was loaded.",
        ),
    ]


def exporter(clock):
    stale, old = clock.seconds("2m"), clock.seconds("3h")
    up = f"up{{{OURS}}}"
    return [
        Alert(
            "FaprofNoTargets",
            "critical",
            "5m",
            f"absent({up})",
            "Prometheus scrapes no fa-profile exporter",
            'Prometheus has no target whose job begins with "fa-profile". No other alert of fa-profile can fire.',
        ),
        Alert(
            "FaprofExporterDown",
            "critical",
            "5m",
            f"{up} == 0",
            "{{ $labels.instance }} does not answer the scrape",
            "The exporter is down, hangs, refuses the credentials, or its page is larger than the scrape's limits.",
        ),
        Alert(
            "FaprofMetricsStale",
            "warning",
            "2m",
            f"time() - faprof_exporter_last_collection_timestamp_seconds > {stale} or "
            f"({up} == 1 unless on ({HOST}) faprof_exporter_last_collection_timestamp_seconds)",
            "{{ $labels.instance }} answers with old data",
            "The exporter answers scrapes but has collected nothing for two minutes, or does not report its collections.",
        ),
        Alert(
            "FaprofRecordingsStale",
            "warning",
            "10m",
            f"time() - faprof_exporter_last_recording_timestamp_seconds > {old}",
            f"No recording on {{{{ $labels.instance }}}} for {AGE}",
            "The host no longer records kernels. Its phases and durations are old.",
        ),
        Alert(
            "FaprofNoRecordings",
            "warning",
            "3h",
            f"{up} == 1 unless on ({HOST}) faprof_exporter_last_recording_timestamp_seconds",
            "{{ $labels.instance }} has never counted a recording",
            "The exporter runs, but its spool has never had a readable recording.",
        ),
        Alert(
            "FaprofCollectorDown",
            "warning",
            "10m",
            "faprof_exporter_up == 0",
            "{{ $labels.collector }} of {{ $labels.instance }} cannot be read",
            "The exporter's newest collection could not read this source: spool, nvml, gpm or state.",
        ),
        Alert(
            "FaprofPerfmonConflict",
            "warning",
            "",
            f"increase(faprof_exporter_perfmon_conflicts_total[{clock('3h')}]) > 0",
            "Another program holds the performance counters on {{ $labels.instance }}",
            "A run within the last three hours could not profile because another profiler or monitor held the counters.",
        ),
        Alert(
            "FaprofRunsFail",
            "warning",
            "",
            # Not 0: increase() extrapolates a counter less when it began at zero.
            f"increase(faprof_exporter_failed_runs_total[{clock('3h')}]) - "
            f"increase(faprof_exporter_perfmon_conflicts_total[{clock('3h')}]) > 0.5",
            "Profiling runs fail on {{ $labels.instance }}",
            "A run within the last three hours failed and left a note. Held performance counters were not the reason.",
        ),
        Alert(
            "FaprofBadRecordings",
            "warning",
            "",
            f'increase(faprof_exporter_recordings_total{{result="bad"}}[{clock("3h")}]) > 0',
            "Unreadable recordings in the spool of {{ $labels.instance }}",
            "The exporter set aside files that are not recordings, are damaged, or have a newer version.",
        ),
        Alert(
            "FaprofScrapeSlow",
            "warning",
            "10m",
            f"avg_over_time(scrape_duration_seconds{{{OURS}}}[{clock('10m')}]) > 1",
            f"A scrape of {{{{ $labels.instance }}}} takes {AGE}",
            "Scrapes take over a second on average: the host is overloaded, the page is too large, or the network is slow.",
        ),
        Alert(
            "FaprofSeriesBudget",
            "warning",
            "",
            f"increase(faprof_exporter_series_dropped_total[{clock('1h')}]) > 0 or "
            f"faprof_exporter_series > on ({HOST}) 1800 * count by ({HOST}) (faprof_device_up) or "
            "faprof_exporter_series > 14400",
            "{{ $labels.instance }} has reached its budget of series",
            "The exporter left series out or folded kernels into `other` within the last hour, or has used over 90 % of "
            "its budget: 2,000 series per GPU, or 16,000 in all.",
        ),
    ]


def gate(clock):
    def errors(counter):
        return f"sum by ({JOB}) (increase({counter}[{clock('7d')}]))"

    trials = errors("faprof_gate_aa_trials_total")
    return [
        Alert(
            "FaprofGateRegression",
            "warning",
            "",
            'faprof_gate_verdict{verdict="REGRESSION"} == 1',
            "The gate found a regression in {{ $labels.case }}",
            "The newest verdict of the case against its baseline is REGRESSION.",
        ),
        Alert(
            "FaprofGateErrorRate",
            "warning",
            "",
            f"{errors('faprof_gate_aa_false_positives_total')} / ({trials} >= 1000) > 0.001",
            f"The gate of {{{{ $labels.job }}}} called {PERCENT} of comparisons of equal code a regression",
            "More than one in a thousand of at least a thousand trials in a week was a false alarm. Do not trust this "
            "gate's verdicts.",
        ),
        Alert(
            "FaprofBaselineTooOld",
            "info",
            "1h",
            f"time() - faprof_baseline_timestamp_seconds > {30 * 86400}",
            f"The baseline of {{{{ $labels.instance }}}} is {AGE} old",
            "The baseline was recorded more than 30 days ago, perhaps with another driver or build.",
        ),
    ]


def groups(clock):
    """[(group name, interval, alerts)]"""
    interval = clock.interval("1m")
    return [
        ("faprof-alerts-kernels", interval, kernels(clock)),
        ("faprof-alerts-devices", interval, devices(clock)),
        ("faprof-alerts-exporter", interval, exporter(clock)),
        ("faprof-alerts-gate", interval, gate(clock)),
    ]
