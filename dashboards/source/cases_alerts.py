"""Unit tests of the alerts. Each has series that must fire, series just short of it, and a series that is missing.

Beside a series that must not fire stand others that differ from the one it would need in a single label: an alert whose
`on ()` or `by ()` lost a label takes one for the other, and its test fails.
"""

import re
from dataclasses import dataclass

BASE = {"job": "fa-profile", "instance": "a"}
ELSEWHERE = {"job": "fa-profile-2", "simulated": "true", "instance": "b", "gpu": "7", "kernel": "wmma"}


@dataclass
class Case:
    alert: str
    series: list  # (series, values)
    expect: list  # (time, [(labels, value as text)]); no entry: nothing fires then


def at(metric, values, **labels):
    """One series of instance `a` of job fa-profile, unless `labels` say otherwise; a label of None is not there."""
    merged = {key: value for key, value in (BASE | labels).items() if value is not None}
    return (metric + "{" + ", ".join(f'{key}="{value}"' for key, value in merged.items()) + "}", values)


def decoys(metric, values, **labels):
    """Series that differ from the one named in one label each."""
    return [
        at(metric, values, **(labels | {key: other}))
        for key, other in ELSEWHERE.items()
        if key in labels or key in ("job", "simulated", "instance")
    ]


def fires(value="", **labels):
    return ({key: text for key, text in (BASE | labels).items() if text is not None}, value)


def steps(*parts):
    """'0x240 1x100': each value held for a number of intervals; together one sample an interval from 0 on."""
    return " ".join(f"{value}x{count - 1}" if count > 1 else f"{value}" for value, count in parts)


SIM = {"simulated": "true"}
MMA = {"gpu": "0", "kernel": "mma"}


def by_the_minute():
    share, slow = "faprof_kernel_phase_ratio", "gpu:faprof_kernel_duration_seconds:ratio_median"
    above = "gpu_kernel_phase:faprof_phase_cycles:above_baseline"
    ratio = "gpu_kernel_shape:faprof_kernel_duration_seconds:ratio_baseline"
    tensor = "gpu_kernel:faprof_tensor_active_cycles:ratio"
    collected, recorded = (
        "faprof_exporter_last_collection_timestamp_seconds",
        "faprof_exporter_last_recording_timestamp_seconds",
    )
    soft = {"phase": "softmax", "kernel": "mma", "shape": "le_512"}
    k = "mma"
    return [
        Case(
            "FaprofSoftmaxBottleneck",
            [
                at(share, "0.6x90", gpu="0", **soft),
                at(share, "0.6x90", gpu="0", **soft, **SIM),
                at(share, "0.4x90", gpu="0", **(soft | {"shape": "le_2048"})),
                at(share, "0.45x90", gpu="1", **soft),
                at(share, "0.5x90", gpu="2", **soft),
                at(share, "0.7x90", gpu="3", **(soft | {"phase": "qk"})),
            ],
            [("9m", []), ("10m", [fires("60%", gpu="0", **soft), fires("60%", gpu="0", **soft, **SIM)])],
        ),
        Case(
            "FaprofPhaseShareAboveBaseline",
            [
                at(above, "0.06x90", phase="qk", **MMA),
                at(above, "0.04x90", phase="pv", **MMA),
                at(above, "0.2x90", phase="unattributed", **MMA),
                at(above, "-0.2x90", phase="sync", **MMA),
                at(above, "0.05x90", phase="rescale", **MMA),
            ],
            [("9m", []), ("10m", [fires("6%", phase="qk", **MMA)])],
        ),
        Case(
            "FaprofKernelSlowerThanBaseline",
            [
                at(ratio, "1.15x90", shape="le_512", **MMA),
                at(ratio, "1.05x90", shape="le_2048", **MMA),
                at(ratio, "1.1x90", shape="le_8192", **MMA),
            ],
            [("9m", []), ("10m", [fires("115%", shape="le_512", **MMA)])],
        ),
        Case(
            "FaprofTensorUseLow",
            [
                at(tensor, "0.04x90", **MMA),
                at(tensor, "0.06x90", gpu="1", kernel=k),
                at(tensor, "0.01x90", gpu="0", kernel="tiled"),
            ],
            [("29m", []), ("30m", [fires("4%", **MMA)])],
        ),
        Case(
            "FaprofKernelIncorrect",
            [
                at("faprof_kernel_correct", "1x4 0x10", **MMA),
                at("faprof_kernel_correct", "1x20", gpu="1", kernel=k),
            ],
            [("4m", []), ("5m", [fires(**MMA)])],
        ),
        Case(
            "FaprofPhasesUnattributed",
            [
                at("faprof_exporter_unattributed_ratio", "0.25x90", **MMA),
                at("faprof_exporter_unattributed_ratio", "0.15x90", gpu="1", kernel=k),
                at("faprof_exporter_unattributed_ratio", "0.2x90", gpu="2", kernel=k),
            ],
            [("9m", []), ("10m", [fires("25%", **MMA)])],
        ),
        Case(
            "FaprofProfilingDisturbs",
            [
                at("faprof_exporter_overhead_ratio", "0.06x90", **MMA),
                at("faprof_exporter_overhead_ratio", "0.04x90", gpu="1", kernel=k),
                at("faprof_exporter_overhead_ratio", "0.05x90", gpu="2", kernel=k),
            ],
            [("9m", []), ("10m", [fires("6%", **MMA)])],
        ),
        # Four GPUs are a fleet, three are not, whatever other jobs have.
        Case(
            "FaprofGpuOutlier",
            [
                at(slow, "1.2x90", gpu="0"),
                at(slow, "1.1x90", gpu="1"),
                at(slow, "1x90", gpu="2"),
                at(slow, "1.15x90", gpu="3"),
                at(slow, "1.2x90", gpu="0", **SIM),
                *[at(slow, "1x90", gpu=str(gpu), **SIM) for gpu in (1, 2, 3)],
                *[at(slow, value, gpu=str(gpu), job="small") for gpu, value in enumerate(("2.5x90", "1x90", "1x90"))],
                *[
                    at(slow, value, gpu=str(gpu), job="fa-profile", simulated="few")
                    for gpu, value in enumerate(("1.2x90", "1x90"))
                ],
            ],
            [("29m", []), ("30m", [fires("120%", gpu="0"), fires("120%", gpu="0", **SIM)])],
        ),
        # GPU 2 leaves the list while its host answers; b's GPU leaves with its host.
        Case(
            "FaprofGpuLost",
            [
                at("up", "1x200"),
                at("up", "1x60 0x140", instance="b"),
                at("up", "1x200", instance="b", job="fa-profile-2"),
                at("up", "1x200", instance="b", **SIM),
                at("faprof_device_up", "1x200", gpu="0"),
                at("faprof_device_up", "0x20 1x180", gpu="1"),
                at("faprof_device_up", "1x60 stale", gpu="2"),
                at("faprof_device_up", "1x60 stale", gpu="0", instance="b"),
                *decoys("faprof_device_up", "1x200", gpu="2"),
            ],
            [
                ("4m", []),
                ("5m", [fires(gpu="1")]),
                ("26m", []),
                ("65m", []),
                ("67m", [fires(gpu="2")]),
                ("110m", [fires(gpu="2")]),
                ("128m", []),
            ],
        ),
        Case(
            "FaprofUncorrectedEcc",
            [
                at("faprof_device_ecc_errors_total", "0x4 2x10", gpu="0", kind="uncorrected"),
                at("faprof_device_ecc_errors_total", "0x20", gpu="1", kind="uncorrected"),
                at("faprof_device_ecc_errors_total", "5x20", gpu="1", kind="corrected"),
            ],
            [("4m", []), ("5m", [fires("2", gpu="0", kind="uncorrected")])],
        ),
        Case("FaprofNoTargets", [at("up", "1x20", job="node")], [("4m", []), ("5m", [({}, "")])]),
        Case("FaprofNoTargets", [at("up", "0x20", job="fa-profile-simulated")], [("10m", [])]),
        Case(
            "FaprofExporterDown",
            [
                at("up", "0x20"),
                at("up", "1x20", instance="b"),
                at("up", "0x20", job="node"),
            ],
            [("4m", []), ("5m", [fires()])],
        ),
        # a: two and a half minutes old; b: a hundred seconds; c: none at all; d: none, and down; node: not ours.
        Case(
            "FaprofMetricsStale",
            [
                at("up", "1x20"),
                at(collected, "-150+60x20"),
                at("up", "1x20", instance="b"),
                at(collected, "-100+60x20", instance="b"),
                at("up", "1x20", instance="c"),
                at(collected, "-100+60x20", instance="c", job="fa-profile-2"),
                at(collected, "-100+60x20", instance="c", **SIM),
                at("up", "0x20", instance="d"),
                at(collected, "-120+60x20", instance="e"),
                at("up", "1x20", job="node"),
            ],
            [("1m", []), ("2m", [fires(), fires(instance="c")])],
        ),
        Case(
            "FaprofRecordingsStale",
            [
                at(recorded, "-14400+60x20"),
                at(recorded, "-7200+60x20", instance="b"),
                at(recorded, "-10800+60x20", instance="d"),
                at("up", "1x20", instance="c"),
            ],
            [("9m", []), ("10m", [fires("4h 0m 0s")])],
        ),
        Case(
            "FaprofNoRecordings",
            [
                at("up", "1x200"),
                *[series for series in decoys(recorded, "0x200")],
                at("up", "1x200", instance="b"),
                at("up", "0x200", instance="c"),
                at("up", "1x200", job="node"),
            ],
            [("179m", []), ("180m", [fires()])],
        ),
        Case(
            "FaprofCollectorDown",
            [
                at("faprof_exporter_up", "0x20", collector="nvml"),
                at("faprof_exporter_up", "1x20", collector="spool"),
            ],
            [("9m", []), ("10m", [fires(collector="nvml")])],
        ),
        # The mean over ten minutes passes one second at 26 minutes.
        Case(
            "FaprofScrapeSlow",
            [
                at("scrape_duration_seconds", steps(("0", 21), ("2", 30))),
                at("scrape_duration_seconds", "0.8x60", instance="b"),
                at("scrape_duration_seconds", "3x60", job="node"),
                at("scrape_duration_seconds", "1x60", instance="c"),
            ],
            [("35m", []), ("36m", [fires("2s")])],
        ),
        Case(
            "FaprofGateRegression",
            [
                at("faprof_gate_verdict", "0x4 1x10", case="mma", verdict="REGRESSION"),
                at("faprof_gate_verdict", "1x4 0x10", case="mma", verdict="PASS"),
                at("faprof_gate_verdict", "0x20", case="wmma", verdict="REGRESSION"),
                at("faprof_gate_verdict", "1x20", case="wmma", verdict="PASS"),
            ],
            [("4m", []), ("5m", [fires(case="mma", verdict="REGRESSION")])],
        ),
        Case(
            "FaprofBaselineTooOld",
            [
                at("faprof_baseline_timestamp_seconds", f"{-31 * 86400}x90"),
                at("faprof_baseline_timestamp_seconds", f"{-20 * 86400}x90", instance="b"),
                at("faprof_baseline_timestamp_seconds", f"{-30 * 86400}+60x90", instance="c"),
            ],
            [("59m", []), ("60m", [fires("31d 1h 0m 0s")])],
        ),
    ]


def summary(template, labels, value):
    text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: labels.get(match.group(1), ""), template)
    return re.sub(r"\{\{ \$value[^}]*\}\}", value, text)
