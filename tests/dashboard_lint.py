"""The rules of Grafana's dashboard-linter, from its documentation, and this project's own, on the committed dashboards.

Run as: python3 dashboard_lint.py ROOT. Each rule is a function that yields what is wrong. Exceptions are in
dashboards/grafana/.lint in dashboard-linter's own format, and one that is not needed is an error. What a rule must
notice is tested in dashboards_test.py. Needs PyYAML for the exceptions.
"""

import json
import pathlib
import re
import sys

import yaml

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "dashboards"))

from source import panels, promql  # noqa: E402

# Those of Grafana's value formats that are used here: https://github.com/grafana/grafana, valueFormats/categories.ts
UNITS = {"none", "percentunit", "s", "bytes", "flops", "hertz", "watt", "celsius", "reqps", "bool_yes_no"}
KINDS = {"timeseries", "stat", "table", "heatmap", "state-timeline", "bargauge"}
COUNTER_CALLS = {"rate", "irate", "increase", "max_over_time"}


def variables(board):
    return {each["name"]: each for each in board["templating"]["list"]}


def targets(board):
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel, target


def expression(target):
    return panels.substitute(target["expr"], panels.VALUES)


def selectors_with_parents(node, parents=()):
    if node.kind == "selector":
        yield node, parents
    for child in node.children:
        yield from selectors_with_parents(child, parents + (node,))


# Rules about a dashboard yield (rule, panel or "", what is wrong).


def template_datasource(board):
    found = [each for each in board["templating"]["list"] if each["type"] == "datasource"]
    if len(found) != 1 or found[0]["query"] != "prometheus":
        yield "template-datasource-rule", "", "there is not one variable for a Prometheus data source"
    elif (found[0]["name"], found[0]["label"]) != ("datasource", "Data source"):
        yield "template-datasource-rule", "", "it is not called datasource, Data source"


def template_job_and_instance(board):
    for name in ("job", "instance"):
        found, rule = variables(board).get(name), f"template-{name}-rule"
        if not found:
            yield rule, "", f"there is no variable {name}"
            continue
        wanted = {"type": "query", "label": name.capitalize(), "multi": True, "allValue": ".+"}
        for key, value in wanted.items():
            if found.get(key) != value:
                yield rule, "", f"{key} of {name} is {found.get(key)!r}, not {value!r}"
        if found.get("datasource", {}).get("uid") not in ("$datasource", "${datasource}"):
            yield rule, "", f"{name} does not use the data source variable"


def template_queries(board):
    for each in board["templating"]["list"]:
        if each["type"] != "query":
            continue
        query = each["query"]["query"]
        match = re.fullmatch(r"(label_values|query_result|metrics|label_names)\((.+)\)", query)
        if not match:
            yield "template-label-promql-rule", "", f"{each['name']}: not a query of labels: {query}"
            continue
        try:
            promql.parse(panels.substitute(re.sub(r", \w+$", "", match.group(2)), panels.VALUES))
        except promql.QueryError as error:
            yield "template-label-promql-rule", "", f"{each['name']}: {error}"
        if each["refresh"] != 2:
            yield "template-on-time-change-reload-rule", "", f"{each['name']} is read once only"


def uneditable(board):
    if board.get("editable", True):
        yield "uneditable-dashboard-rule", "", "can be edited in place, and is generated"


def each_panel(board):
    known = {f"${{{each['name']}}}" for each in board["templating"]["list"] if each["type"] == "datasource"}
    for panel in board["panels"]:
        title = panel.get("title", "")
        if not title or not panel.get("description"):
            yield "panel-title-description-rule", title, "has no title or no description"
        sources = [panel.get("datasource", {}).get("uid")]
        sources += [target.get("datasource", {}).get("uid") for target in panel.get("targets", [])]
        if not set(sources) <= known:
            yield "panel-datasource-rule", title, f"does not use the data source variable: {sources}"
        if panel["fieldConfig"]["defaults"].get("unit") not in UNITS:
            yield "panel-units-rule", title, f"has no valid unit: {panel['fieldConfig']['defaults'].get('unit')}"
        if not panel.get("targets"):
            yield "panel-no-targets-rule", title, "asks for nothing"


def each_target(board):
    for panel, target in targets(board):
        title = panel.get("title", "")
        try:
            tree = promql.parse(expression(target))
            raw = promql.parse(
                panels.substitute(
                    target["expr"],
                    {name: "@" + name for name in panels.VALUES}
                    | {"window": "2h", "since": "3h", "__rate_interval": "7s", "__range": "4h"},
                )
            )
        except (promql.QueryError, KeyError) as error:
            yield "target-promql-rule", title, str(error)
            continue
        for name in ("job", "instance"):
            for selector in promql.selectors(raw):
                if (name, "=~", "@" + name) not in [matcher[:3] for matcher in selector.matchers]:
                    yield f"target-{name}-rule", title, f'{selector.name} has no matcher {name}=~"${name}"'
        for match in re.finditer(r"\b(rate|irate)\(.*?\[([^\]]+)\]", target["expr"]):
            if match.group(2) != "$__rate_interval":
                yield "target-rate-interval-rule", title, f"{match.group(1)} over {match.group(2)}"
        for selector, parents in selectors_with_parents(tree):
            calls = [parent.name for parent in parents if parent.kind == "call"]
            if selector.name.endswith(("_total", "_sum", "_count", "_bucket")):
                ranged = len(parents) > 1 and parents[-1].kind == "range" and parents[-2].name in COUNTER_CALLS
                if not ranged:
                    yield "target-counter-agg-rule", title, f"{selector.name} without rate or increase"
            if selector.name.endswith("_bucket") and "histogram_quantile" not in calls:
                yield "target-histogram-rule", title, f"{selector.name} without histogram_quantile"


# This project's own.


def schema(board):
    if board["schemaVersion"] < 39:
        yield "schema", "", f"schemaVersion {board['schemaVersion']}"
    if not re.fullmatch(r"faprof-[a-z]+", board["uid"]):
        yield "schema", "", f"uid {board['uid']}"
    ids = [panel["id"] for panel in board["panels"]]
    if len(set(ids)) != len(ids):
        yield "schema", "", "two panels with one id"
    taken = {}
    for panel in board["panels"]:
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24:
            yield "schema", panel["title"], "is wider than the grid"
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if taken.setdefault((x, y), panel["title"]) != panel["title"]:
                    yield "schema", panel["title"], f"lies on {taken[x, y]}"


def panel_kinds(board):
    for panel in board["panels"]:
        if panel["type"] not in KINDS:
            yield "panel-kind", panel["title"], f"is a {panel['type']}"
        if panel["fieldConfig"]["defaults"].get("noValue") != "n/a":
            yield "absent-is-not-zero", panel["title"], "does not show n/a where there are no data"
    for panel, target in targets(board):
        if re.search(r"\bor\s+(on\s*\(\s*\)\s*)?vector\s*\(|absent", target["expr"]):
            yield "absent-is-not-zero", panel["title"], "makes a number of absent data"


def links_carry_variables(board):
    for link in board["links"]:
        if not (link["includeVars"] and link["keepTime"]):
            yield "links", "", "a link drops the variables or the time range"
    if not board["links"]:
        yield "links", "", "no link to the other dashboards"
    for panel in board["panels"]:
        for link in panel["fieldConfig"]["defaults"].get("links", []):
            if not all(
                part in link["url"] for part in ("${datasource:queryparam}", "${job:queryparam}", "${__url_time_range}")
            ):
                yield "links", panel["title"], "a link drops the variables or the time range"


def simulated_apart(board):
    if "simulated" not in variables(board):
        yield "simulated", "", "there is no variable that keeps simulated data apart"
    if not any("faprof_simulation_info" in target["expr"] for _, target in targets(board)):
        yield "simulated", "", "no panel says that data are simulated"
    for panel, target in targets(board):
        for match in re.finditer(r"\{[^}]*\}", target["expr"]):
            if 'simulated=~"$simulated"' not in match.group():
                yield "simulated", panel["title"], f"mixes measured and simulated data: {match.group()}"


RULES = [
    template_datasource,
    template_job_and_instance,
    template_queries,
    uneditable,
    each_panel,
    each_target,
    schema,
    panel_kinds,
    links_carry_variables,
    simulated_apart,
]


def violations(boards, exclusions):
    """[(rule, dashboard, panel, what)], and exclusions that nothing needs."""
    found, used = [], set()
    for board in boards:
        for rule in RULES:
            for name, panel, what in rule(board):
                key = (name, board["title"], panel)
                if key in exclusions:
                    used.add(key)
                else:
                    found.append((*key, what))
    return found + [(*key, "is excepted and need not be") for key in exclusions - used]


def read_exclusions(path):
    parsed = yaml.safe_load(path.read_text())["exclusions"]
    return {(rule, entry["dashboard"], entry["panel"]) for rule, body in parsed.items() for entry in body["entries"]}


def main():
    folder = ROOT / "dashboards" / "grafana"
    boards = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    found = violations(boards, read_exclusions(folder / ".lint"))
    if len(boards) != 6:
        found.append(("schema", f"{len(boards)} dashboards", "", "and six are documented"))
    for rule, board, panel, what in found:
        print(f"{rule}: {board}{': ' + panel if panel else ''}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
