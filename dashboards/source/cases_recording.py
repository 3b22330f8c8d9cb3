"""Unit tests of the recording rules: one fleet of five GPUs, and what each rule must make of it.

The expected values are worked out here, in Python, from the slopes of the counters. A sample every four minutes: each
counter climbs by `early` a sample for four hours and by `late` after that, so that over the six hours before 8:00 it
grows by 30 early + 60 late, and by nothing of the kind over another window. Host b restarts at 5:00, which costs a
step.
"""

from source.cases_alerts import at, steps

GPUS = [  # two of one host, another host, another job, and a simulated one: each label tells two of them apart
    {"job": "fa-profile", "instance": "a", "gpu": "0"},
    {"job": "fa-profile", "instance": "a", "gpu": "1"},
    {"job": "fa-profile", "instance": "b", "gpu": "0"},
    {"job": "other", "instance": "a", "gpu": "0"},
    {"job": "fa-profile", "instance": "a", "gpu": "0", "simulated": "true"},
]
KERNELS = [{"kernel": "mma"}, {"kernel": "wmma"}]
PHASES = [{"phase": "qk"}, {"phase": "softmax"}]
SHAPES = [{"shape": "le_512"}, {"shape": "le_2048"}]
DURATION = "faprof_kernel_duration_seconds"


class Labels(dict):
    def __hash__(self):
        return hash(frozenset(self.items()))


def cross(*sides):
    found = [Labels()]
    for side in sides:
        found = [Labels({**one, **other}) for one in found for other in side]
    return found


def slopes(who, seed):
    """{labels: (early, late)}: whole numbers, no two alike in ratio or order."""
    return {labels: (1 + (seed * 7 + 5 * i) % 11, 2 + (seed * 3 + 7 * i * i) % 13) for i, labels in enumerate(who)}


def climb(labels, early, late):
    if labels["instance"] == "b":
        return f"0+{early}x60 {early * 60 + late}+{late}x14 0+{late}x44"
    return f"0+{early}x60 {early * 60 + late}+{late}x59"


def growth(labels, early, late):
    return 30 * early + (59 if labels["instance"] == "b" else 60) * late


def total(values, by):
    """Sums over the labels not in `by`."""
    sums = {}
    for labels, value in values.items():
        key = Labels({label: text for label, text in labels.items() if label in by})
        sums[key] = sums.get(key, 0) + value
    return sums


def pick(labels, by):
    return Labels({label: text for label, text in labels.items() if label in by})


def median(values, by):
    """As Prometheus' quantile(0.5) by labels."""
    groups = {}
    for labels, value in values.items():
        groups.setdefault(pick(labels, by), []).append(value)
    found = {}
    for key, members in groups.items():
        members.sort()
        rank = 0.5 * (len(members) - 1)
        low, weight = int(rank), rank - int(rank)
        found[key] = members[low] * (1 - weight) + members[min(low + 1, len(members) - 1)] * weight
    return found


def divide(over, under, by=None):
    """over / under, matched on the labels `by`; without a match there is nothing."""
    found = {}
    for labels, value in over.items():
        key = pick(labels, by) if by else labels
        if under.get(key, 0):
            found[labels] = value / under[key]
    return found


def mean_over_time(values):
    """Prometheus adds up means with a compensation; so does this."""
    mean = lost = 0.0
    for count, value in enumerate(values, 1):
        add = value / count - mean / count
        new = mean + add
        lost += (mean - new) + add if abs(mean) >= abs(add) else (add - new) + mean
        mean = new
    return mean + lost


def a_fleet():
    job, gpu = ("job", "simulated"), ("job", "simulated", "instance", "gpu")
    kernel = gpu + ("kernel",)
    per_kernel, per_phase, per_shape = cross(GPUS, KERNELS), cross(GPUS, KERNELS, PHASES), cross(GPUS, KERNELS, SHAPES)
    climbs = {
        "faprof_phase_cycles_total": slopes(per_phase, 1),
        "faprof_shared_wavefronts_total": slopes(per_phase, 2),
        "faprof_shared_excess_wavefronts_total": slopes(per_phase, 3),
        f"{DURATION}_sum": slopes(per_shape, 4),
        f"{DURATION}_count": slopes(per_shape, 5),
        "faprof_kernel_launches_total": slopes(per_shape, 6),
        "faprof_kernel_profiled_launches_total": slopes(per_shape, 7),
        "faprof_kernel_flops_total": slopes(per_shape, 8),
        "faprof_tensor_active_cycles_total": slopes(per_kernel, 9),
        "faprof_sm_active_cycles_total": slopes(per_kernel, 10),
        "faprof_warps_active_cycles_total": slopes(per_kernel, 11),
        "faprof_dram_bytes_total": slopes(per_kernel, 12),
        "faprof_device_energy_joules_total": slopes(cross(GPUS), 13),
    }
    series = [
        at(metric, climb(labels, *value), **({"job": None} | labels))
        for metric, values in climbs.items()
        for labels, value in values.items()
    ]
    grown = {
        metric: {labels: growth(labels, *value) for labels, value in values.items()}
        for metric, values in climbs.items()
    }

    # Host b has no baseline. The baseline knows no GPU.
    hosts = [{label: text for label, text in gpu_.items() if label != "gpu"} for gpu_ in (GPUS[0], GPUS[3], GPUS[4])]
    base_share = {labels: (i + 1) / 64 for i, labels in enumerate(cross(hosts, KERNELS, PHASES))}
    base_time = {labels: (i + 1) / 8 for i, labels in enumerate(cross(hosts, KERNELS, SHAPES))}
    for metric, values in (
        ("faprof_baseline_phase_ratio", base_share),
        ("faprof_baseline_duration_seconds", base_time),
    ):
        series += [at(metric, f"{value!r}x120", **labels) for labels, value in values.items()]

    # The newest three samples are the last ten minutes: one old value and two new ones.
    gauges = {"faprof_device_tensor_active_ratio": {}, "faprof_device_sm_active_ratio": {}}
    for number, metric in enumerate(gauges):
        for i, labels in enumerate(cross(GPUS)):
            old, new = (i + 1) / 16, (i + 3 + number) / 8
            series.append(at(metric, steps((f"{old!r}", 119), (f"{new!r}", 2)), **labels))
            gauges[metric][labels] = mean_over_time([old, new, new])
    # GPU 0 of a was throttled eight minutes ago, for one of two reasons; the others sixteen minutes ago.
    throttled = {labels: 0 for labels in cross(GPUS)}
    throttled[Labels(GPUS[0])] = 1
    for number, labels in enumerate(throttled):
        sample = 118 if number == 0 else 116
        series.append(
            at(
                "faprof_device_throttled",
                steps(("0", sample), ("1", 1), ("0", 120 - sample)),
                reason="sw_power_cap",
                **labels,
            )
        )
        series.append(at("faprof_device_throttled", "0x120", reason="sw_thermal", **labels))
    up = {Labels(GPUS[0]): 1, Labels(GPUS[2]): 0}
    series += [at("faprof_device_up", f"{value}x120", **labels) for labels, value in up.items()]

    cycles = grown["faprof_phase_cycles_total"]
    all_cycles, launches = total(cycles, kernel), total(grown["faprof_kernel_profiled_launches_total"], kernel)
    busy, seconds = grown["faprof_sm_active_cycles_total"], total(grown[f"{DURATION}_sum"], kernel)
    share = divide(cycles, all_cycles, kernel)
    median_share = median(share, job + ("kernel", "phase"))
    mean = divide(seconds, total(grown[f"{DURATION}_count"], kernel))
    mean_shape = divide(grown[f"{DURATION}_sum"], grown[f"{DURATION}_count"])
    usual = median(mean_shape, job + ("kernel", "shape"))
    slow = median(divide(mean_shape, usual, job + ("kernel", "shape")), gpu)
    host = ("job", "simulated", "instance", "kernel")
    above_base = {
        labels: value - base_share[pick(labels, host + ("phase",))]
        for labels, value in share.items()
        if pick(labels, host + ("phase",)) in base_share
    }
    above_median = {
        labels: value - median_share[pick(labels, job + ("kernel", "phase"))] for labels, value in share.items()
    }
    job_cycles = total(cycles, job + ("kernel", "phase"))
    expected = {
        "gpu_kernel_phase:faprof_phase_cycles:increase": cycles,
        "gpu_kernel:faprof_phase_cycles:increase": all_cycles,
        "gpu_kernel_phase:faprof_phase_cycles:ratio": share,
        "gpu_kernel_phase:faprof_phase_cycles:above_baseline": above_base,
        f"gpu_kernel:{DURATION}:mean": mean,
        f"gpu_kernel_shape:{DURATION}:mean": mean_shape,
        f"gpu_kernel_shape:{DURATION}:ratio_baseline": divide(mean_shape, base_time, host + ("shape",)),
        "gpu_kernel:faprof_kernel_flops:per_second": divide(total(grown["faprof_kernel_flops_total"], kernel), seconds),
        "gpu_kernel:faprof_tensor_active_cycles:ratio": divide(grown["faprof_tensor_active_cycles_total"], busy),
        "gpu_kernel:faprof_warps_active_cycles:mean": divide(grown["faprof_warps_active_cycles_total"], busy),
        "gpu_kernel:faprof_dram_bytes:mean": divide(grown["faprof_dram_bytes_total"], launches),
        "gpu_kernel:faprof_shared_wavefronts:increase": total(grown["faprof_shared_wavefronts_total"], kernel),
        "gpu_kernel:faprof_shared_excess_wavefronts:increase": total(
            grown["faprof_shared_excess_wavefronts_total"], kernel
        ),
        "job_kernel_phase:faprof_phase_cycles:ratio": divide(
            job_cycles, total(cycles, job + ("kernel",)), job + ("kernel",)
        ),
        "job_kernel_phase:faprof_phase_cycles:median_ratio": median_share,
        "gpu_kernel_phase:faprof_phase_cycles:above_median": above_median,
        f"job_kernel_shape:{DURATION}:median": usual,
        f"gpu:{DURATION}:ratio_median": slow,
        "rollup_gpu_phase:faprof_phase_cycles:increase": total(cycles, gpu + ("phase",)),
        "rollup_job_kernel_phase:faprof_phase_cycles:increase": job_cycles,
        f"rollup_gpu_kernel:{DURATION}:mean": mean,
        f"rollup_gpu:{DURATION}:ratio_median": slow,
        f"rollup_gpu:{DURATION}_sum:increase": total(grown[f"{DURATION}_sum"], gpu),
        "rollup_gpu:faprof_device_tensor_active_ratio:avg": gauges["faprof_device_tensor_active_ratio"],
        "rollup_gpu:faprof_device_sm_active_ratio:avg": gauges["faprof_device_sm_active_ratio"],
        "rollup_gpu:faprof_device_throttled:max": throttled,
        "rollup_gpu:faprof_device_up:last": up,
    }
    for counter in (
        "kernel_launches",
        "kernel_flops",
        "sm_active_cycles",
        "tensor_active_cycles",
        "dram_bytes",
        "shared_wavefronts",
        "shared_excess_wavefronts",
        "device_energy_joules",
    ):
        expected[f"rollup_gpu:faprof_{counter}:increase"] = total(grown[f"faprof_{counter}_total"], gpu)
    return "a fleet", series, [(record, list(values.items())) for record, values in expected.items()]


def a_restart():
    """Counters that start again at zero leave the shares as they are."""
    who = {"gpu": "0", "kernel": "mma"}
    series = [
        at("faprof_phase_cycles_total", f"0+{slope}x60 0+{slope}x59", phase=phase, **who)
        for phase, slope in (("qk", 10), ("softmax", 30))
    ]
    labels = {"job": "fa-profile", "instance": "a", **who}
    return (
        "a restart",
        series,
        [
            (
                "gpu_kernel_phase:faprof_phase_cycles:ratio",
                [(labels | {"phase": "qk"}, 0.25), (labels | {"phase": "softmax"}, 0.75)],
            )
        ],
    )


def no_recording():
    """Counters that stand still give no ratio, rather than NaN."""
    _, series, expected = a_fleet()
    still = [(name, "7x120") for name, _ in series if "_total{" in name or "_sum{" in name or "_count{" in name]
    ratios = [record for record, _ in expected if not record.endswith(":increase") and "faprof_device" not in record]
    return "no recording in the window", still, [(record, []) for record in ratios]


def a_fast_baseline():
    """A baseline of zero seconds is none."""
    who = {"gpu": "0", "kernel": "mma", "shape": "le_512"}
    series = [at(f"{DURATION}_{part}", "0+1x120", **who) for part in ("sum", "count")]
    series.append(at("faprof_baseline_duration_seconds", "0x120", kernel="mma", shape="le_512"))
    return "a baseline of zero", series, [(f"gpu_kernel_shape:{DURATION}:ratio_baseline", [])]


def no_time():
    """A fleet whose kernels take no time has no slow GPU."""
    who = {"gpu": "0", "kernel": "mma", "shape": "le_512"}
    series = [at(f"{DURATION}_sum", "0x120", **who), at(f"{DURATION}_count", "0+1x120", **who)]
    return "no time", series, [(f"gpu:{DURATION}:ratio_median", [])]


def cases():
    """[(name, series, [(record, [(labels, value)])])]"""
    return [a_fleet(), a_restart(), no_recording(), a_fast_baseline(), no_time()]
