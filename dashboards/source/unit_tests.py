"""promtool's unit tests as YAML, from the cases."""

import json

from source import cases_alerts, cases_recording, cases_windows

quote = json.dumps


def pairs(values):
    return "{" + ", ".join(f"{key}: {quote(value)}" for key, value in values.items()) + "}"


def series_text(series):
    lines = [f"      - series: '{name}'\n        values: '{values}'\n" for name, values in series]
    return "    input_series:\n" + "".join(lines)


def head(files, step):
    listed = "".join(f"  - ../rules/{name}\n" for name in files)
    return f"rule_files:\n{listed}evaluation_interval: {step}\n"


GROUPS = "group_eval_order: [faprof-kernels, faprof-fleet, faprof-rollups{}]\n"


def expected_alerts(time, alert, expected, runbooks):
    text = f"      - eval_time: {time}\n        alertname: {alert.name}\n"
    text += "        exp_alerts:\n" if expected else "        exp_alerts: []\n"
    for labels, value in expected:
        notes = {
            "summary": cases_alerts.summary(alert.summary, labels, value),
            "description": alert.description,
            "runbook_url": f"{runbooks}/{alert.name}.md",
        }
        text += f"          - exp_labels: {pairs(labels | {'severity': alert.severity})}\n"
        text += "            exp_annotations:\n" + "".join(f"              {k}: {quote(v)}\n" for k, v in notes.items())
    return text


def alert_file(step, cases, alerts, runbooks, every=None):
    """`step` lies between two samples, `every` between two evaluations."""
    text = head(["alerts.yml"], every or step) + "tests:\n"
    for case in cases:
        text += f"  - name: {case.alert}\n    interval: {step}\n{series_text(case.series)}    alert_rule_test:\n"
        text += "".join(expected_alerts(time, alerts[case.alert], expected, runbooks) for time, expected in case.expect)
    return text


def chain_file(alerts, runbooks):
    series, expect = cases_windows.chain()
    text = head(["recording.yml", "rollups.yml", "alerts.yml"], "10m")
    text += GROUPS.format("".join(f", faprof-alerts-{name}" for name in ("kernels", "devices", "exporter", "gate")))
    text += f"tests:\n  - name: from counters to alerts\n    interval: 10m\n{series_text(series)}    alert_rule_test:\n"
    return text + "".join(expected_alerts(time, alerts[name], expected, runbooks) for time, name, expected in expect)


def recording_case(name, series, expected):
    text = f"  - name: {name}\n    interval: 4m\n{series_text(series)}    promql_expr_test:\n"
    for record, samples in expected:
        text += f"      - expr: '{record}'\n        eval_time: 8h\n"
        text += "        exp_samples:\n" if samples else "        exp_samples: []\n"
        for labels, value in samples:
            inside = ", ".join(f'{key}="{text_}"' for key, text_ in labels.items())
            text += f"          - labels: '{record}{{{inside}}}'\n            value: {value!r}\n"
    return text


def recording_file():
    text = head(["recording.yml", "rollups.yml"], "8h")
    text += GROUPS.format("") + "tests:\n"
    return text + "".join(recording_case(*case) for case in cases_recording.cases())


def files(alerts, runbooks):
    """{file name: text}"""
    found = {name: alert_file(step, cases(), alerts, runbooks) for name, (step, cases) in cases_windows.FILES.items()}
    return found | {"recording.yml": recording_file(), "chain.yml": chain_file(alerts, runbooks)}
