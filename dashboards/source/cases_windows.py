"""Unit tests of the alerts with windows of hours and days, and of the way from counters to alerts."""

from source.cases_alerts import MMA, SIM, Case, at, by_the_minute, decoys, fires, steps


def by_ten_minutes():
    """Windows of hours. Something happens at 4 h; a counter that starts again at zero is nothing that happens."""
    once = steps(("0", 24), ("1", 60))
    again = steps(("5", 24), ("0", 60))
    anew = steps(("5", 20), ("0", 4), ("1", 60))  # a restart, and then something happens
    throttled, launches = "faprof_device_throttled", "faprof_kernel_profiled_launches_total"
    xid = "faprof_device_xid_errors_total"
    failed, held = "faprof_exporter_failed_runs_total", "faprof_exporter_perfmon_conflicts_total"
    found, dropped, page = (
        "faprof_exporter_recordings_total",
        "faprof_exporter_series_dropped_total",
        "faprof_exporter_series",
    )
    cap = {"reason": "sw_power_cap"}
    kernel = {"kernel": "mma", "shape": "le_512"}
    hour = steps(
        ("0", 24), ("1", 1), ("0", 30)
    )  # ten minutes of seven samples: 0.14 of an hour, 0.08 of two, 0.25 of a half
    within = {at_: [fires(), fires(instance="r")] for at_ in ("4h", "6h50m")}
    three_hours = [("3h50m", []), *within.items(), ("7h10m", [])]
    return [
        # GPU 0: profiled 90 minutes before; 1: three hours before; 2: never; 3: throttled for less than a tenth.
        Case(
            "FaprofThrottledWhileProfiling",
            [
                at(throttled, hour, gpu="0", **cap),
                at(launches, steps(("0", 17), ("10", 60)), gpu="0", **kernel),
                at(throttled, hour, gpu="0", **cap, **SIM),
                at(launches, steps(("0", 17), ("10", 60)), gpu="0", **kernel, **SIM),
                at(throttled, hour, gpu="1", **cap),
                at(launches, steps(("0", 7), ("10", 60)), gpu="1", **kernel),
                at(throttled, hour, gpu="2", **cap),
                *decoys(launches, steps(("0", 17), ("10", 60)), gpu="2"),
                at(throttled, steps(("0", 24), ("0.6", 1), ("0", 30)), gpu="3", **cap),
                at(launches, steps(("0", 17), ("10", 60)), gpu="3", **kernel),
                at(throttled, "0.1x80", gpu="4", **cap),
                at(launches, steps(("0", 17), ("10", 60)), gpu="4", **kernel),
                at(throttled, hour, gpu="5", **cap),
                at(launches, steps(("50", 16), ("0", 3), ("1", 60)), gpu="5", **kernel),
            ],
            [
                ("3h50m", []),
                ("4h", [fires("14.29%", gpu=gpu, **cap) for gpu in "05"] + [fires("14.29%", gpu="0", **cap, **SIM)]),
                ("4h20m", [fires("14.29%", gpu=gpu, **cap) for gpu in "05"] + [fires("14.29%", gpu="0", **cap, **SIM)]),
            ],
        ),
        # GPU 0: one more; 1: the first; 2: a restart; 3: long ago.
        Case(
            "FaprofXid",
            [
                at(xid, steps(("1", 24), ("2", 60)), gpu="0", xid="79"),
                at(xid, "_x24 1x60", gpu="1", xid="48"),
                at(xid, again, gpu="2", xid="79"),
                at(xid, "3x80", gpu="3", xid="13"),
                at(xid, "_x24 0x60", gpu="4", xid="13"),
                at(xid, anew, gpu="5", xid="13"),
            ],
            [
                ("3h50m", []),
                *[
                    (time, [fires(gpu="0", xid="79"), fires(gpu="1", xid="48"), fires(gpu="5", xid="13")])
                    for time in ("4h", "4h50m")
                ],
                ("5h10m", []),
            ],
        ),
        Case(
            "FaprofPerfmonConflict",
            [
                at(held, once),
                at(held, again, instance="b"),
                at(held, "7x80", instance="c"),
                at(held, anew, instance="r"),
            ],
            three_hours,
        ),
        # b: the counters were held. c: that, earlier, and a failure now. d: a restart. f: the counters were held, just
        # after the first scrape: the increases are 1.5 and 1.
        Case(
            "FaprofRunsFail",
            [
                at(failed, once),
                at(held, "0x80"),
                at(failed, once, instance="b"),
                at(held, once, instance="b"),
                at(failed, steps(("0", 22), ("1", 2), ("2", 60)), instance="c"),
                at(held, steps(("0", 22), ("1", 62)), instance="c"),
                at(failed, again, instance="d"),
                at(held, again, instance="d"),
                at(held, "0x80", instance="e"),
                at(failed, "_x23 5 6x60", instance="f"),
                at(held, "_x23 0 1x60", instance="f"),
                at(failed, anew, instance="r"),
                at(held, again, instance="r"),
            ],
            [
                ("3h20m", []),
                *[(time, [fires(), fires(instance="c"), fires(instance="r")]) for time in ("4h", "6h50m")],
                ("7h10m", []),
            ],
        ),
        Case(
            "FaprofBadRecordings",
            [
                at(found, once, result="bad"),
                at(found, "0+1x80", result="counted"),
                at(found, "3x80", instance="b", result="bad"),
                at(found, again, instance="c", result="bad"),
                at(found, anew, instance="r", result="bad"),
            ],
            [(time, [(labels | {"result": "bad"}, "") for labels, _ in expected]) for time, expected in three_hours],
        ),
        # a: left something out. b: near the budget of its GPU. c: as large, with two GPUs. d: no GPU known.
        # g: none known, and near the budget of eight; h: just there.
        Case(
            "FaprofSeriesBudget",
            [
                at(dropped, once),
                at(dropped, anew, instance="r"),
                at(dropped, "9x80", instance="b"),
                at(dropped, again, instance="c"),
                at(page, steps(("1000", 24), ("1900", 60)), instance="b"),
                at("faprof_device_up", "1x80", instance="b", gpu="0"),
                at(page, steps(("1000", 24), ("1900", 60)), instance="b", **SIM),
                at("faprof_device_up", "1x80", instance="b", gpu="0", **SIM),
                at(page, "1900x80", instance="c"),
                *[at("faprof_device_up", f"{gpu}x80", instance="c", gpu=gpu) for gpu in "01"],
                at(page, "1800x80", instance="f"),
                at("faprof_device_up", "1x80", instance="f", gpu="0"),
                at(page, "1700x80", instance="e"),
                at("faprof_device_up", "1x80", instance="e", gpu="0"),
                at(page, "1900x80", instance="d"),
                *decoys("faprof_device_up", "1x80", instance="d", gpu="0")[:2],
                at(page, steps(("1000", 24), ("15000", 60)), instance="g"),
                at(page, "14400x80", instance="h"),
            ],
            [
                ("3h50m", []),
                *[
                    (time, [fires(), *[fires(instance=host) for host in "bgr"], fires(instance="b", **SIM)])
                    for time in ("4h", "4h50m")
                ],
                ("5h10m", [fires(instance="g"), fires(instance="b"), fires(instance="b", **SIM)]),
            ],
        ),
    ]


def by_the_hour():
    """Windows of days."""
    spill = "faprof_kernel_spill_bytes"
    trials, errors = "faprof_gate_aa_trials_total", "faprof_gate_aa_false_positives_total"

    def counter(*events):
        """A counter that grows at each (hour, amount)."""
        parts, value, last = [], 0, 0
        for hour, amount in sorted(events):
            parts.append((str(value), hour - last))
            value, last = value + amount, hour
        return steps(*parts, (str(value), 260 - last))

    def restarted(hour, amount):
        return steps(("700", 80), ("0", hour - 80), (str(amount), 260 - hour))

    recent, before = 96, 40  # hours; of 240: six days ago and more than eight
    return [
        # GPU 0 spills from the second day on; 1 always did; 2 stopped; 3 came with spills.
        Case(
            "FaprofSpillAppeared",
            [
                at(spill, steps(("0", 48), ("16", 60)), **MMA),
                at(spill, "16x100", gpu="1", kernel="mma"),
                at(spill, steps(("16", 48), ("0", 60)), gpu="2", kernel="mma"),
                at(spill, "_x48 16x60", gpu="3", kernel="mma"),
            ],
            [("47h", []), ("48h", [fires("16", **MMA)]), ("71h", [fires("16", **MMA)]), ("73h", [])],
        ),
        # Two hosts of 600 trials are 1,200. Each other job would fire if one number or window were another.
        Case(
            "FaprofGateErrorRate",
            [
                at(trials, counter((recent, 600))),
                at(trials, restarted(recent, 600), instance="b"),
                at(errors, counter((recent, 1))),
                at(errors, restarted(recent, 1), instance="b"),
                at(trials, counter((recent, 2000)), job="just"),
                at(errors, counter((recent, 2)), job="just"),
                *[at(trials, counter((recent, 600)), instance=host, **SIM) for host in "ab"],
                *[at(errors, counter((recent, 1)), instance=host, **SIM) for host in "ab"],
                at(trials, counter((recent, 1500)), job="rare"),
                at(errors, counter((recent, 1)), job="rare"),
                at(trials, counter((recent, 600)), job="few"),
                at(errors, counter((recent, 1)), job="few"),
                at(trials, counter((before, 1200)), job="past"),
                at(errors, counter((before, 2)), job="past"),
                at(trials, counter((before, 600), (recent, 600)), job="half"),
                at(errors, counter((recent, 2)), job="half"),
                at(trials, counter((recent, 1200)), job="better"),
                at(errors, counter((before, 2)), job="better"),
                at(trials, counter((recent, 1200)), job="silent"),
                at(errors, counter((recent, 9)), job="untried"),
            ],
            [("39h", []), ("240h", [fires("0.1667%", instance=None), fires("0.1667%", instance=None, **SIM)])],
        ),
    ]


def chain():
    """(series, [(time, alert, what fires)]): from counters through the recording rules to the alerts.

    Five GPUs of two hosts. GPU 1 of b is 25 % slower; on GPU 0 of b softmax takes 60 % of the time where the baseline
    has 40 %; the exporter of a restarts at four hours, with all its counters at zero, and nothing comes of that.
    """
    duration, series = "faprof_kernel_duration_seconds", []

    def climb(host, step):
        return f"0+{step}x24 0+{step}x60" if host == "a" else f"0+{step}x85"

    for host, gpu in (("a", "0"), ("a", "1"), ("a", "2"), ("b", "0"), ("b", "1")):
        who = {"instance": host, "gpu": gpu, "kernel": "mma"}

        softmax = 60 if (host, gpu) == ("b", "0") else 40
        for phase, cycles in (("softmax", softmax), ("pv", 100 - softmax)):
            series.append(at("faprof_phase_cycles_total", climb(host, cycles), phase=phase, **who))
            series.append(at("faprof_kernel_phase_ratio", f"{cycles / 100}x85", phase=phase, shape="le_512", **who))
        series.append(at(f"{duration}_sum", climb(host, 5 if (host, gpu) == ("b", "1") else 4), shape="le_512", **who))
        series.append(at(f"{duration}_count", climb(host, 2), shape="le_512", **who))
    for host in "ab":
        series.append(at("faprof_baseline_phase_ratio", "0.4x85", instance=host, kernel="mma", phase="softmax"))
        series.append(at("faprof_baseline_duration_seconds", "2x85", instance=host, kernel="mma", shape="le_512"))
    softmax = fires("60%", instance="b", gpu="0", kernel="mma", phase="softmax", shape="le_512")
    more = fires("20%", instance="b", gpu="0", kernel="mma", phase="softmax")
    slow = fires("125%", instance="b", gpu="1", kernel="mma", shape="le_512")
    expect = []
    for time in ("3h", "4h10m", "5h", "12h"):
        expect += [
            (time, "FaprofSoftmaxBottleneck", [softmax]),
            (time, "FaprofPhaseShareAboveBaseline", [more]),
            (time, "FaprofKernelSlowerThanBaseline", [slow]),
            (time, "FaprofGpuOutlier", [fires("125%", instance="b", gpu="1")]),
            (time, "FaprofTensorUseLow", []),
            (time, "FaprofGpuLost", []),
        ]
    return series, expect


FILES = {
    "alerts_minutes.yml": ("1m", by_the_minute),
    "alerts_hours.yml": ("10m", by_ten_minutes),
    "alerts_days.yml": ("1h", by_the_hour),
}
