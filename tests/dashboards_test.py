"""Run as: python3 dashboards_test.py ROOT. Dashboards and rules fit together, and to what is exported."""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDER = ROOT / "dashboards"
sys.path.insert(0, str(FOLDER))

import dashboard_lint  # noqa: E402
import generate  # noqa: E402
from source import alerts, catalogue, panels, promql, recording  # noqa: E402
from source.clock import Clock  # noqa: E402


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, check=False)


def all_alerts():
    return [alert for _, _, group in alerts.groups(Clock()) for alert in group]


def all_rules():
    """(name, query) of everything in the rule files, as they are committed."""
    for path in sorted((FOLDER / "rules").glob("*.yml")):
        for group in yaml.safe_load(path.read_text())["groups"]:
            for rule in group["rules"]:
                yield rule.get("record") or rule["alert"], rule["expr"]


def boards():
    return [json.loads(path.read_text()) for path in sorted((FOLDER / "grafana").glob("*.json"))]


def names_in(query):
    return {each.name for each in promql.selectors(promql.parse(query))}


class GeneratedTest(unittest.TestCase):
    def test_what_is_committed_is_what_the_generator_writes(self):
        done = run(sys.executable, "generate.py", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_check_reports_an_edited_file(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run(sys.executable, "generate.py", "-o", folder).returncode, 0)
            self.assertEqual(run(sys.executable, "generate.py", "--check", "-o", folder).returncode, 0)
            with open(pathlib.Path(folder) / "alerts.yml", "a") as file:
                file.write("# by hand\n")
            self.assertEqual(run(sys.executable, "generate.py", "--check", "-o", folder).returncode, 1)

    def test_speedup_divides_windows_waits_and_ages(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(sys.executable, "generate.py", "--speedup", "60", "--shortest", "5s", "-o", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = (pathlib.Path(folder) / "alerts.yml").read_text()
            self.assertIn("faprof_exporter_last_recording_timestamp_seconds > 180\n", text)  # 3 h
            self.assertIn("last_collection_timestamp_seconds > 5 or", text)  # 2 m, and not below the shortest
            self.assertIn("for: 10s", text)
            recorded = (pathlib.Path(folder) / "recording.yml").read_text()
            self.assertIn("increase(faprof_phase_cycles_total[360s])", recorded)
            self.assertIn("interval: 2s", recorded)
            self.assertEqual(
                run("promtool", "check", "rules", *map(str, pathlib.Path(folder).glob("*.yml"))).returncode, 0
            )

    def test_queries_have_no_variable_left(self):
        done = run(sys.executable, "generate.py", "--queries", "kernel=mma", "simulated=true")
        found = json.loads(done.stdout)
        self.assertGreater(len(found), 100)
        for each in found:
            self.assertNotIn("$", each["query"])
            promql.check(each["query"], generate.read_catalogue())
        self.assertIn('kernel=~"mma"', done.stdout.replace("\\", ""))


class QueryCheckTest(unittest.TestCase):
    CATALOGUE = catalogue.Catalogue(
        [
            catalogue.Metric("faprof_x_total", "counter", ["gpu", "kernel"], "count", "."),
            catalogue.Metric("faprof_y_seconds", "histogram", ["gpu"], "seconds", "."),
            catalogue.Metric("faprof_z", "gauge", ["kernel"], "count", "."),
        ]
    )

    def labels(self, query):
        return promql.check(query, self.CATALOGUE)

    def test_labels_follow_the_query(self):
        target = {"job", "simulated", "instance"}
        for query, labels in {
            "rate(faprof_x_total[5m])": target | {"gpu", "kernel"},
            "sum by (gpu) (increase(faprof_x_total[5m] offset 1d))": {"gpu"},
            "sum(faprof_x_total) by (kernel)": {"kernel"},
            "sum without (gpu, job) (faprof_x_total)": {"kernel", "simulated", "instance"},
            "topk(3, abs(faprof_x_total @ end()))": target | {"gpu", "kernel"},
            "histogram_quantile(0.5, sum by (gpu, le) (rate(faprof_y_seconds_bucket[5m])))": {"gpu"},
            "faprof_x_total / on (kernel) group_left () sum by (kernel) (faprof_z)": target | {"gpu", "kernel"},
            "sum by (gpu) (faprof_x_total) > bool 2 * count by (gpu) (faprof_y_seconds_count)": {"gpu"},
            "time() - faprof_z": target | {"kernel"},
            'absent(up{job="a"})': {"job"},
            "-faprof_z or on (kernel) faprof_x_total": target | {"gpu", "kernel"},
        }.items():
            with self.subTest(query):
                self.assertEqual(self.labels(query), labels)

    def test_queries_of_unknown_metrics_or_labels_are_refused(self):
        for query, what in {
            "faprof_w": "unknown metric faprof_w",
            'faprof_z{gpu="0"}': "faprof_z has no label gpu",
            "sum by (phase) (faprof_x_total)": "sum has no label phase",
            "faprof_x_total / faprof_z": "never match",
            "faprof_x_total / ignoring (job) faprof_z": "never match",
            "faprof_x_total and on (gpu) faprof_z": "right side of and has no label gpu",
            "histogram_quantile(0.5, faprof_z)": "has no label le",
            "frobnicate(faprof_z)": "unknown function frobnicate",
            "sum(faprof_z": "expected",
            "faprof_z{kernel=mma}": "not a matcher",
            "faprof_z faprof_z": "more than one",
        }.items():
            with self.subTest(query):
                with self.assertRaisesRegex(promql.QueryError, what):
                    self.labels(query)

    def test_a_panel_that_asks_for_what_is_not_exported_is_refused(self):
        board = panels.Board("x", "X", "X.", [], [panels.stat("X", "X.", "none", "sum(faprof_nothing{*})")])
        with self.assertRaisesRegex(promql.QueryError, "unknown metric faprof_nothing"):
            board.json(self.CATALOGUE)

    def test_promtool_accepts_every_query_of_every_panel(self):
        found = json.loads(run(sys.executable, "generate.py", "--queries").stdout)
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            rules = [{"record": f"panel:query:{i}", "expr": each["query"]} for i, each in enumerate(found)]
            json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)
            file.flush()
            done = run("promtool", "check", "rules", file.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class AbsentTest(unittest.TestCase):
    """A missing series reads n/a on every panel: no query turns it into a healthy zero."""

    def values(self, series, exceptions):
        found = json.loads(run(sys.executable, "generate.py", "--queries").stdout)
        cases = [
            {
                "expr": each["query"],
                "eval_time": "2h",
                "exp_samples": exceptions.get((each["dashboard"], each["panel"]), []),
            }
            for each in found
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(
                {
                    "rule_files": [],
                    "evaluation_interval": "1h",
                    "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": cases}],
                },
                file,
            )
            file.flush()
            done = run("promtool", "test", "rules", file.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_empty_store_has_no_value_on_any_panel(self):
        self.values([{"series": "unrelated", "values": "1x200"}], {})

    def test_an_exporter_that_is_down_is_shown_only_as_down(self):
        def one(value):
            return [{"labels": "{}", "value": value}]

        self.values(
            [{"series": 'up{job="fa-profile", instance="a"}', "values": "0x200"}],
            {("fleet", "Hosts up"): one(0), ("fleet", "Hosts down"): one(1), ("exporter", "Up"): one(0)},
        )

    def test_the_variable_data_separates_measured_from_simulated(self):
        options = {each["text"]: each["value"] for each in panels.variable("simulated")["options"]}
        series = [
            {"series": 'up{job="fa-profile", instance="a"}', "values": "1x200"},
            {"series": 'up{job="fa-profile", instance="b", simulated="true"}', "values": "1x200"},
        ]
        seen = {
            "measured": ['{job="fa-profile", instance="a"}'],
            "simulated": ['{job="fa-profile", instance="b", simulated="true"}'],
        }
        seen["both"] = seen["measured"] + seen["simulated"]
        cases = [
            {
                "expr": f'up{{simulated=~"{options[text]}"}}',
                "eval_time": "1h",
                "exp_samples": [{"labels": "up" + labels, "value": 1} for labels in found],
            }
            for text, found in seen.items()
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(
                {"rule_files": [], "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": cases}]},
                file,
            )
            file.flush()
            done = run("promtool", "test", "rules", file.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class CompletenessTest(unittest.TestCase):
    """What is exported is used, and what is queried is exported."""

    def test_every_metric_is_used_by_a_panel_or_a_rule(self):
        found = generate.read_catalogue()
        queries = [query for _, query in all_rules()]
        queries += [
            panels.substitute(target["expr"], panels.VALUES)
            for board in boards()
            for _, target in dashboard_lint.targets(board)
        ]
        used = {found.family(name) for query in queries for name in names_in(query)}
        self.assertEqual(sorted(set(found.metrics) - used), [])

    def test_every_recorded_series_is_used_or_rolled_up(self):
        queries = [query for _, query in all_rules()]
        queries += [
            panels.substitute(target["expr"], panels.VALUES)
            for board in boards()
            for _, target in dashboard_lint.targets(board)
        ]
        used = {name for query in queries for name in names_in(query)}
        recorded = {name for name, _ in all_rules() if ":" in name}
        self.assertEqual(sorted(name for name in recorded - used if not re.fullmatch(recording.ROLLUP_REGEX, name)), [])

    def test_names_of_recording_rules_list_their_labels(self):
        found = generate.read_catalogue()
        words = {
            "job": {"job", "simulated"},
            "gpu": {"job", "simulated", "instance", "gpu"},
            "rollup": set(),
            "kernel": {"kernel"},
            "phase": {"phase"},
            "shape": {"shape"},
        }
        for name in {name for name, _ in all_rules() if ":" in name}:
            level, metric, operation = name.split(":")
            self.assertTrue(metric.startswith("faprof_") and operation, name)
            self.assertEqual(
                set().union(*(words[word] for word in level.split("_"))) | ({"reason"} if "reason" in level else set()),
                found.labels(name),
                name,
            )

    def test_every_alert_has_a_test_that_fires_one_that_does_not_and_one_without_data(self):
        fires, quiet = set(), set()
        for path in (FOLDER / "tests").glob("alerts_*.yml"):
            for test in yaml.safe_load(path.read_text())["tests"]:
                for case in test["alert_rule_test"]:
                    (fires if case["exp_alerts"] else quiet).add(case["alertname"])
        names = {alert.name for alert in all_alerts()}
        self.assertEqual(names - fires, set())
        self.assertEqual(names - quiet, set())
        # With nothing at all in the store, that there is nothing is the one alert.
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            cases = [
                {"eval_time": "4h", "alertname": name, "exp_alerts": []} for name in sorted(names - {"FaprofNoTargets"})
            ]
            json.dump(
                {
                    "rule_files": [str(FOLDER / "rules" / name) for name in ("alerts.yml", "recording.yml")],
                    "evaluation_interval": "5m",
                    "tests": [
                        {
                            "interval": "5m",
                            "input_series": [{"series": "unrelated", "values": "1x60"}],
                            "alert_rule_test": cases,
                        }
                    ],
                },
                file,
            )
            file.flush()
            done = run("promtool", "test", "rules", file.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class AlertTest(unittest.TestCase):
    def test_every_runbook_is_there_and_shows_the_alerts_query(self):
        for alert in all_alerts():
            path = ROOT / "docs" / "runbooks" / f"{alert.name}.md"
            self.assertTrue(path.exists(), path)
            self.assertIn(alert.expr, path.read_text(), path)
        self.assertEqual(
            sorted(path.stem for path in (ROOT / "docs" / "runbooks").glob("Faprof*.md")),
            sorted(alert.name for alert in all_alerts()),
        )

    def test_runbook_urls_are_of_files_in_this_repository(self):
        for group in yaml.safe_load((FOLDER / "rules" / "alerts.yml").read_text())["groups"]:
            for rule in group["rules"]:
                folder, name = rule["annotations"]["runbook_url"].rsplit("/", 1)
                self.assertEqual(folder, alerts.RUNBOOKS)
                self.assertTrue(folder.endswith("/docs/runbooks"))
                self.assertTrue((ROOT / "docs" / "runbooks" / name).exists(), name)

    def test_alerts_name_what_they_are_about(self):
        found = generate.read_catalogue()
        for alert in all_alerts():
            self.assertIn(alert.severity, ("critical", "warning", "info"))
            labels = promql.check(alert.expr, found)
            named = set(re.findall(r"\$labels\.(\w+)", alert.summary))
            self.assertEqual(named - labels, set(), alert.name)
            wanted = labels & {"kernel", "phase", "gpu", "instance", "case", "collector", "reason", "xid"}
            if alert.name == "FaprofSoftmaxBottleneck":
                wanted -= {"phase"}  # it is in the alert's name
            if {"case"} & labels:
                wanted -= {"instance"}
            self.assertEqual(wanted - named, set(), alert.name)

    def test_documentation_lists_every_alert_with_its_severity(self):
        text = (ROOT / "docs" / "dashboards.md").read_text()
        for alert in all_alerts():
            self.assertRegex(text, rf"\[{alert.name}\]\(runbooks/{alert.name}\.md\) \| {alert.severity} \|")

    def test_alertmanager_inhibits_only_alerts_that_exist(self):
        names = {alert.name for alert in all_alerts()}
        text = (FOLDER / "alertmanager.yml").read_text()
        for name in re.findall(r"Faprof\w+", text):
            self.assertTrue(name in names or name == "Faprof", name)


class LintTest(unittest.TestCase):
    """Each rule of the linter notices what it is for."""

    def setUp(self):
        self.board = json.loads((FOLDER / "grafana" / "gpu.json").read_text())
        self.exclusions = {
            key for key in dashboard_lint.read_exclusions(FOLDER / "grafana" / ".lint") if key[1] == self.board["title"]
        }

    def rules(self, board):
        return {rule for rule, *_ in dashboard_lint.violations([board], self.exclusions)}

    def test_the_committed_dashboards_pass_the_lint(self):
        self.assertEqual(self.rules(self.board), set())

    def test_an_unneeded_exception_is_reported(self):
        self.exclusions.add(("panel-units-rule", self.board["title"], "Power"))
        self.assertEqual(self.rules(self.board), {"panel-units-rule"})

    def test_each_violation_is_reported(self):
        def variable(board, name):
            return dashboard_lint.variables(board)[name]

        def expr(text):
            def change(board):
                board["panels"][6]["targets"][0]["expr"] = text

            return change

        where = '{job=~"$job", instance=~"$instance", simulated=~"$simulated"}'
        slips = {
            "template-datasource-rule": lambda board: variable(board, "datasource").update(label="DS"),
            "template-job-rule": lambda board: variable(board, "job").update(multi=False),
            "template-instance-rule": lambda board: variable(board, "instance").update(allValue=".*"),
            "template-label-promql-rule": lambda board: variable(board, "gpu")["query"].update(query="values(x, gpu)"),
            "template-on-time-change-reload-rule": lambda board: variable(board, "gpu").update(refresh=1),
            "uneditable-dashboard-rule": lambda board: board.update(editable=True),
            "panel-title-description-rule": lambda board: board["panels"][6].update(description=""),
            "panel-datasource-rule": lambda board: board["panels"][6]["targets"][0].update(datasource={"uid": "prod"}),
            "panel-units-rule": lambda board: board["panels"][6]["fieldConfig"]["defaults"].update(unit="furlong"),
            "panel-no-targets-rule": lambda board: board["panels"][6].update(targets=[]),
            "target-promql-rule": expr("sum(up" + where),
            "target-job-rule": expr(f"up{where}".replace("$job", "fa-profile")),
            "target-instance-rule": expr(f"up{where}".replace("instance=~", "instance=")),
            "target-rate-interval-rule": expr(f"rate(faprof_device_energy_joules_total{where}[5m])"),
            "target-counter-agg-rule": expr(f"faprof_device_energy_joules_total{where}"),
            "target-histogram-rule": expr(f"increase(faprof_kernel_duration_seconds_bucket{where}[$window])"),
            "schema": lambda board: board["panels"][6]["gridPos"].update(x=13),
            "panel-kind": lambda board: board["panels"][6].update(type="graph"),
            "absent-is-not-zero": expr(f"up{where} or vector(0)"),
            "links": lambda board: board["links"][0].update(includeVars=False),
            "simulated": expr(f"up{where}".replace(', simulated=~"$simulated"', "")),
        }
        for rule, slip in slips.items():
            with self.subTest(rule):
                board = copy.deepcopy(self.board)
                slip(board)
                self.assertEqual(self.rules(board), {rule})


class DeploymentTest(unittest.TestCase):
    def test_promtool_accepts_rules_and_configuration(self):
        for command in (
            ["promtool", "check", "rules", *map(str, sorted((FOLDER / "rules").glob("*.yml")))],
            ["promtool", "check", "config", "prometheus.yml"],
            ["amtool", "check-config", "alertmanager.yml"],
        ):
            done = run(*command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_scrape_has_limits(self):
        job = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"][0]
        self.assertEqual(job["sample_limit"], 8 * 2000 + 1000)
        for limit in ("label_limit", "label_name_length_limit", "label_value_length_limit", "body_size_limit"):
            self.assertTrue(job[limit], limit)
        self.assertRegex(job["job_name"], re.search('"(.*)"', catalogue.OURS).group(1))

    def test_compose_pins_images_and_holds_no_password(self):
        parsed = yaml.safe_load((FOLDER / "compose.yaml").read_text())
        for service in parsed["services"].values():
            self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$")
            for volume in service["volumes"]:
                source = volume.split(":")[0]
                self.assertTrue(
                    (FOLDER / source).exists() if source.startswith(".") else source in parsed["volumes"], source
                )
        self.assertRegex(
            parsed["services"]["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"],
            r"^\$\{GRAFANA_ADMIN_PASSWORD:\?",
        )
        commands = " ".join(sum((service.get("command", []) for service in parsed["services"].values()), []))
        self.assertEqual(re.findall(r"web.listen-address=(?!127\.0\.0\.1)", commands), [])

    def test_provisioning_points_at_what_compose_mounts(self):
        provider = yaml.safe_load((FOLDER / "grafana/provisioning/dashboards/fa-profile.yml").read_text())["providers"][
            0
        ]
        mounted = [
            volume.split(":")[1]
            for volume in yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]["grafana"]["volumes"]
        ]
        self.assertIn(provider["options"]["path"], mounted)
        source = yaml.safe_load((FOLDER / "grafana/provisioning/datasources/prometheus.yml").read_text())[
            "datasources"
        ][0]
        self.assertEqual((source["type"], source["url"]), ("prometheus", "http://127.0.0.1:9090"))


class RollUpTest(unittest.TestCase):
    def test_at_most_sixty_series_of_a_gpu_whatever_its_labels(self):
        """From the rules' labels and the most values each may take in an exporter (exported_metrics.h)."""
        most = {"kernel": 33, "phase": 10, "shape": 4}
        found, per_gpu, per_job = generate.read_catalogue(), 0, 0
        for name, _ in all_rules():
            if not re.fullmatch(recording.ROLLUP_REGEX, name):
                continue
            count = 1
            for label in found.labels(name) - {"job", "simulated", "instance", "gpu"}:
                count *= most[label]
            if "gpu" in found.labels(name):
                per_gpu += count
            else:
                per_job += count
        self.assertLessEqual(per_gpu, recording.ROLLUPS_PER_GPU)
        self.assertGreater(per_gpu, 30)
        self.assertEqual(per_job, 330)


if __name__ == "__main__":
    unittest.main()
