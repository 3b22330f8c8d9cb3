"""Changes each rule in each way that a slip of the pen could, and asks whether a unit test notices.

Run as: python3 rule_mutation.py ROOT. Mutants: a comparison turned round, a number or a duration doubled and halved,
a label dropped from by() or on(), a matcher negated or dropped, an aggregation or a function exchanged, the sides of /
and - swapped, and, or and unless exchanged, a metric exchanged for another with the same labels, `for` dropped and
doubled, the severity exchanged. Each must fail promtool's unit test of that rule. Exit code 1 when one survives that is
not listed as equivalent, or when one listed does not survive.
"""

import concurrent.futures
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "dashboards"))

import generate  # noqa: E402
from source import alerts, cases_recording, cases_windows, promql, recording, unit_tests  # noqa: E402
from source.clock import Clock, seconds_of  # noqa: E402

# (rule, part of the mutant's name): why no test can tell it from the rule.
SAME_SIGN = "rate() is increase() over a constant, and all that is asked is whether it is above zero"
EQUIVALENT = {
    (rule, "increase made rate"): SAME_SIGN
    for rule in (
        "FaprofThrottledWhileProfiling",
        "FaprofXid",
        "FaprofPerfmonConflict",
        "FaprofBadRecordings",
        "FaprofSeriesBudget",
    )
}

BATCH = 24  # test files of one promtool process
COMPARISONS = {">": "<", "<": ">", ">=": "<", "<=": ">", "==": "!=", "!=": "=="}
SWAPS = {
    "and": ("unless", "or"),
    "unless": ("and", "or"),
    "or": ("and", "unless"),
    "/": ("*",),
    "-": ("+",),
    "*": ("/",),
}
AGGREGATIONS = {
    "sum": ("max", "avg"),
    "max": ("min",),
    "min": ("max",),
    "count": ("sum",),
    "avg": ("max",),
    "quantile": (),
}
FUNCTIONS = {
    "increase": ("delta", "rate"),
    "min_over_time": ("max_over_time",),
    "max_over_time": ("min_over_time",),
    "avg_over_time": ("max_over_time",),
    "abs": (),
    "absent": (),
    "time": (),
}
MATCHERS = {"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}


def replaced(text, place, new):
    return text[: place[0]] + new + text[place[1] :]


def same_labels(name, catalogue):
    """Another metric that has the same labels."""
    labels = catalogue.labels(name)
    for other in sorted(catalogue.metrics):
        if other != name and other in catalogue and catalogue.labels(other) == labels:
            return other
    return "faprof_build_info"


def query_mutants(text, catalogue):
    """(name, mutated query) for each change to a query."""
    tree = promql.parse(text)
    for node in tree.walk():
        if node.kind == "binary":
            sides = [text[child.start : child.end] for child in node.children]
            if node.name in COMPARISONS:
                yield f"{node.name} turned round", replaced(text, node.place, COMPARISONS[node.name])
            if node.name == ">":
                yield "> made >=", replaced(text, node.place, ">=")
            for other in SWAPS.get(node.name, ()):
                scalar = any(child.kind == "number" for child in node.children)
                if other not in ("and", "or", "unless") or not scalar:
                    changed = replaced(text, node.place, other)
                    if other in ("and", "or", "unless"):
                        changed = re.sub(r"group_left \(\) ", "", changed)
                    yield f"{node.name} made {other} at {node.start}", changed
            if node.name in ("/", "-") and "group_left" not in text[node.place[1] : node.children[1].start]:
                left, right = node.children
                swapped = replaced(text, (right.start, right.end), sides[0])
                yield f"sides of {node.name} swapped", replaced(swapped, (left.start, left.end), sides[1])
            for how in ("on",):
                labels = getattr(node, how)
                for label in labels or []:
                    place = (node.place[1], node.children[1].start)
                    kept = ", ".join(each for each in labels if each != label)
                    old = text[place[0] : place[1]]
                    yield f"on() of {node.name} at {node.start} without {label}", replaced(
                        text, place, re.sub(r"on \([^)]*\)", f"on ({kept})", old)
                    )
        elif node.kind == "number":
            value = float(node.name)
            for factor, name in ((2, "doubled"), (0.5, "halved")):
                if value:
                    yield f"{node.name} {name} at {node.start}", replaced(
                        text, (node.start, node.end), f"{value * factor:g}"
                    )
        elif node.kind == "aggregation":
            for other in AGGREGATIONS[node.name]:
                # The sum, the least and the mean of one series are that series.
                inner = promql.labels(node.children[-1], catalogue)
                if inner is None or inner != set(node.by or []):
                    end = node.start + len(node.name)
                    yield f"{node.name} made {other} at {node.start}", replaced(text, (node.start, end), other)
            for label in node.by or []:
                kept = ", ".join(each for each in node.by if each != label)
                yield f"by() at {node.start} without {label}", replaced(text, node.place, f"({kept})")
        elif node.kind == "call":
            for other in FUNCTIONS.get(node.name, ()):
                yield f"{node.name} made {other} at {node.start}", replaced(
                    text, (node.start, node.start + len(node.name)), other
                )
        elif node.kind == "selector":
            for label, operator, _, start, end in node.matchers:
                yield f"matcher of {label} negated", replaced(
                    text, (start, end), text[start:end].replace(operator, MATCHERS[operator], 1)
                )
                yield f"matcher of {label} dropped", replaced(text, (start, end), "").replace("{, ", "{").replace(
                    "{}", ""
                )
            yield f"{node.name} made another at {node.start}", replaced(
                text, (node.start, node.start + len(node.name)), same_labels(node.name, catalogue)
            )
    for match in re.finditer(r"(?:\[|offset )(\d+[mhd])", text):
        for factor, name in ((2, "doubled"), (0.5, "halved")):
            seconds = seconds_of(match.group(1)) * factor
            yield f"{match.group(1)} {name} at {match.start()}", replaced(text, match.span(1), f"{seconds:g}s")


def rule_yaml(rules):
    text = "groups:\n"
    for number, (group, key, name, expr, extra) in enumerate(rules):
        if not number or group != rules[number - 1][0]:
            text += f"  - name: {group}\n    rules:\n"
        text += f"      - {key}: {name}\n        expr: |-\n          {expr}\n{extra}"
    return text


def alert_extra(alert, wait, severity):
    quote = unit_tests.quote
    return (
        (f"        for: {wait}\n" if wait else "") + f"        labels: {{severity: {severity}}}\n        annotations:\n"
        f"          summary: {quote(alert.summary)}\n          description: {quote(alert.description)}\n"
        f"          runbook_url: {alerts.RUNBOOKS}/{alert.name}.md\n"
    )


def alert_mutants(catalogue):
    """(rule, mutant, rule file, test file)"""
    cases = {}
    for step, make in cases_windows.FILES.values():
        for case in make():
            cases.setdefault(case.alert, (step, []))[1].append(case)
    for _, _, group in alerts.groups(Clock()):
        for alert in group:
            step, own = cases[alert.name]
            # What fires at once needs to be evaluated only when it is looked at.
            times = [sum(map(seconds_of, re.findall(r"\d+[hm]", time))) for case in own for time, _ in case.expect]
            every = None if alert.wait else f"{math.gcd(*times)}s"
            test = unit_tests.alert_file(step, own, {alert.name: alert}, alerts.RUNBOOKS, every)
            test = test.replace("../rules/alerts.yml", "RULES")
            as_is = (alert.expr, alert.wait, alert.severity)
            mutants = [("unchanged", as_is)]
            mutants += [
                (name, (expr, alert.wait, alert.severity)) for name, expr in query_mutants(alert.expr, catalogue)
            ]
            if alert.wait:
                doubled = f"{seconds_of(alert.wait) * 2:g}s"
                mutants += [
                    ("for dropped", (alert.expr, "", alert.severity)),
                    ("for doubled", (alert.expr, doubled, alert.severity)),
                ]
            mutants.append(("severity exchanged", (alert.expr, alert.wait, "page")))
            for name, (expr, wait, severity) in mutants:
                yield alert.name, name, rule_yaml(
                    [("g", "alert", alert.name, expr, alert_extra(alert, wait, severity))]
                ), test


def recording_mutants(catalogue):
    """The same for recording rules: a file holds a rule and those that it reads, a test the series that these read."""
    rules = {record: (group, expr) for group, _, members in recording.groups(Clock()) for record, expr, _ in members}
    cases = cases_recording.cases()
    for record, (_, expr) in rules.items():
        needed, metrics, open_ = [], set(), [record]
        while open_:
            name = open_.pop()
            if name not in rules:
                metrics.add(name)
            elif name not in needed:
                needed.append(name)
                open_ += [each.name for each in promql.selectors(promql.parse(rules[name][1]))]
        ordered = [name for name in rules if name in needed]
        groups = list(dict.fromkeys(rules[name][0] for name in ordered))
        test = f"rule_files: [RULES]\nevaluation_interval: 8h\ngroup_eval_order: [{', '.join(groups)}]\ntests:\n"
        for title, series, expected in cases:
            wanted = [(name, samples) for name, samples in expected if name == record]
            if wanted:
                used = [(name, values) for name, values in series if name.split("{")[0] in metrics]
                test += unit_tests.recording_case(title, used, wanted)
        mutants = [("unchanged", expr), *query_mutants(expr, catalogue)]
        for name, mutated in mutants:
            found = [
                (rules[each][0], "record", each, mutated if each == record else rules[each][1], "") for each in ordered
            ]
            yield record, name, rule_yaml(found), test


def run(batch):
    """Whether each (rule file, test file) passes."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, (rules, test) in enumerate(batch):
            path = pathlib.Path(folder) / f"{number}.rules"
            path.write_text(rules)
            names.append(str(pathlib.Path(folder) / f"{number}.yml"))
            pathlib.Path(names[-1]).write_text(test.replace("RULES", str(path)))
        done = subprocess.run(
            ["promtool", "test", "rules", *names],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"GOGC": "400"},
        )  # short-lived: collecting garbage is a third of its time
        output = done.stdout + done.stderr
        sections = re.split(r"Unit Testing:  ", output)[1:]
        if len(sections) != len(batch):
            raise RuntimeError(f"promtool tested {len(sections)} files of {len(batch)}:\n{output}")
        passed = {section.split("\n", 1)[0]: "SUCCESS" in section for section in sections}
        return [passed[name] for name in names]


def main():
    catalogue = generate.read_catalogue()
    mutants = [*alert_mutants(catalogue), *recording_mutants(catalogue)]
    batches = [mutants[i : i + BATCH] for i in range(0, len(mutants), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count())) as pool:
        passed = [each for result in pool.map(lambda batch: run([m[2:] for m in batch]), batches) for each in result]
    failures, equivalent = [], set()
    for (rule, name, *_), survived in zip(mutants, passed, strict=True):
        known = [key for key in EQUIVALENT if key[0] == rule and key[1] in name]
        if name == "unchanged":
            if not survived:
                failures.append(f"{rule}: its unit test fails without a change")
        elif survived and known:
            equivalent.update(known)
        elif survived:
            failures.append(f"{rule}: {name}: no test notices")
    failures += [
        f"{key[0]}: {key[1]}: listed as equivalent, and noticed by a test"
        for key in EQUIVALENT
        if key not in equivalent
    ]
    print("\n".join(failures))
    count = sum(name != "unchanged" for _, name, *_ in mutants)
    print(
        f"{count} mutants of {count and len({m[0] for m in mutants})} rules, {len(failures)} failures, "
        f"{len(equivalent)} kinds of equivalent mutants"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
