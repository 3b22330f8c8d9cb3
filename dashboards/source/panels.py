"""Grafana's dashboard JSON from a few words: a board is a list of panels, a panel has queries.

`faprof_device_up{*}` in a query becomes `faprof_device_up{job=~"$job", ...}` with a matcher for each label that both
the metric and the board's variables have. Queries are checked against the catalogue where they are made.
"""

import re
from dataclasses import dataclass, field

from source import promql
from source.catalogue import OF_PROMETHEUS, OURS

SCHEMA_VERSION = 39
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
NO_VALUE = "n/a"

# Values of the variables where a query runs without Grafana, and where it is checked.
VALUES = {
    "job": ".+",
    "instance": ".+",
    "simulated": ".*",
    "gpu": ".+",
    "kernel": ".+",
    "phase": ".+",
    "case": ".+",
    "window": "6h",
    "since": "1d",
    "__rate_interval": "1m",
    "__range": "6h",
}
QUERY_VARIABLES = {  # variable: the metric whose label it lists
    "job": "faprof_build_info",
    "instance": "faprof_build_info",
    "gpu": "faprof_device_up",
    "kernel": "faprof_kernel_registers",
    "phase": "faprof_phase_cycles_total",
    "case": "faprof_gate_change_ratio",
}
INTERVALS = {
    "window": (
        "Window",
        "1h,3h,6h,12h,1d,7d",
        "6h",
        "Counters of kernels advance once per recording (hourly by default): a window must hold a few recordings",
    ),
    "since": ("Compared with", "1h,6h,12h,1d,7d", "1d", "How long ago to compare with"),
}


@dataclass
class Query:
    expr: str
    legend: str = ""
    instant: bool = False
    format: str = "time_series"
    name: str = ""  # column of a table


@dataclass
class Panel:
    kind: str  # timeseries stat table heatmap state-timeline bargauge
    title: str
    description: str
    unit: str
    queries: list
    width: int = 12
    height: int = 8
    thresholds: list = None  # [(from, colour)], the first from None
    mappings: dict = None  # value: (text, colour)
    stack: bool = False
    decimals: int = None
    minimum: float = None
    maximum: float = None
    dashed: str = ""  # series whose name begins with this are dashed: what others are held against
    columns: dict = field(default_factory=dict)  # of a table: label: header, in order
    sort: str = ""  # header of the column to sort by, largest first
    links: list = field(default_factory=list)  # (title, uid of the board)


def fill(expr, variables, catalogue):
    """`{*}` and `{*, more}` written out. What all jobs have, `up` and `scrape_*`, is narrowed to ours."""

    def matchers(match):
        name, more = match.group(1), match.group(2).lstrip(", ")
        if name not in catalogue:
            raise promql.QueryError(f"unknown metric {name}\n  in the query: {expr}")
        there = catalogue.labels(name)
        given = set(re.findall(r"(\w+)\s*[=!]", more))
        wanted = [v for v in variables if v not in given and v not in INTERVALS and v != "datasource"]
        found = [f'{label}=~"${label}"' for label in wanted if there is None or label in there]
        if name in OF_PROMETHEUS:
            found.insert(0, OURS)
        return f"{name}{{{', '.join(found + ([more] if more else []))}}}"

    return re.sub(r"([a-zA-Z_:][\w:]*)\{\*([^}]*)\}", matchers, expr)


def substitute(expr, values):
    """A query as Grafana would send it."""
    return re.sub(r"\$\{?(\w+)\}?", lambda match: str(values[match.group(1)]), expr)


def variable(name, one=False):
    if name == "datasource":
        return {
            "name": name,
            "label": "Data source",
            "type": "datasource",
            "query": "prometheus",
            "current": {},
            "hide": 0,
            "includeAll": False,
            "multi": False,
            "options": [],
            "refresh": 1,
            "regex": "",
        }
    if name == "simulated":
        options = [("measured", "()"), ("simulated", "true"), ("both", ".*")]
        return {
            "name": name,
            "label": "Data",
            "type": "custom",
            "query": ", ".join(f"{text} : {value}" for text, value in options),
            "current": {"selected": True, "text": "measured", "value": "()"},
            "hide": 0,
            "includeAll": False,
            "multi": False,
            "description": 'Simulated fleets carry the label simulated="true"; they are not shown unless asked for',
            "options": [{"selected": value == "()", "text": text, "value": value} for text, value in options],
        }
    if name in INTERVALS:
        label, steps, current, text = INTERVALS[name]
        return {
            "name": name,
            "label": label,
            "description": text,
            "type": "interval",
            "query": steps,
            "auto": False,
            "hide": 0,
            "refresh": 2,
            "current": {"selected": True, "text": current, "value": current},
            "options": [{"selected": step == current, "text": step, "value": step} for step in steps.split(",")],
        }
    narrowed = [f'{each}=~"${each}"' for each in ("simulated", "job", "instance")]
    where = ", ".join(narrowed[: {"job": 1, "instance": 2}.get(name, 3)])
    query = f"label_values({QUERY_VARIABLES[name]}{{{where}}}, {name})"
    return {
        "name": name,
        "label": {"gpu": "GPU"}.get(name, name.capitalize()),
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"qryType": 1, "query": query, "refId": "variable"},
        "refresh": 2,
        "sort": 3,
        "hide": 0,
        "includeAll": True,
        "allValue": ".+",
        "multi": True,
        "regex": "",
        "options": [],
        "current": {} if one else {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


class Board:
    """`one`: variables that begin with their first value, because all values at once are useless."""

    def __init__(self, name, title, description, variables, panels, one=()):
        self.one = one
        self.name = name
        self.uid = f"faprof-{name}"
        self.title = f"fa-profile / {title}"
        self.description = description
        self.variables = ["datasource", "simulated", "job", "instance", *variables]
        self.panels = panels

    def queries(self, catalogue):
        """(panel, query, filled in expression, labels of the result) for each query."""
        for panel in self.panels:
            for query in panel.queries:
                expr = fill(query.expr, self.variables, catalogue)
                yield panel, query, expr, promql.check(substitute(expr, VALUES), catalogue)

    def json(self, catalogue):
        filled, labels = {}, {}
        for panel, query, expr, found in self.queries(catalogue):
            filled[id(query)] = expr
            labels[id(panel)] = labels.get(id(panel), found) & found if isinstance(found, set) else set()
        places, x, y, row = [], 0, 0, 0
        for panel in self.panels:
            if x + panel.width > 24:
                x, y, row = 0, y + row, 0
            places.append({"h": panel.height, "w": panel.width, "x": x, "y": y})
            x, row = x + panel.width, max(row, panel.height)
        return {
            "annotations": {"list": []},
            "description": self.description,
            "editable": False,
            "fiscalYearStartMonth": 0,
            "graphTooltip": 1,
            "links": [
                {
                    "asDropdown": False,
                    "icon": "dashboard",
                    "includeVars": True,
                    "keepTime": True,
                    "tags": ["fa-profile"],
                    "targetBlank": False,
                    "title": "fa-profile",
                    "tooltip": "",
                    "type": "dashboards",
                    "url": "",
                }
            ],
            "panels": [
                panel_json(panel, number + 1, places[number], filled, labels[id(panel)])
                for number, panel in enumerate(self.panels)
            ],
            "refresh": "1m",
            "schemaVersion": SCHEMA_VERSION,
            "tags": ["fa-profile"],
            "templating": {"list": [variable(name, name in self.one) for name in self.variables]},
            "time": {"from": "now-24h", "to": "now"},
            "timepicker": {},
            "timezone": "utc",
            "title": self.title,
            "uid": self.uid,
            "version": 1,
            "weekStart": "",
        }


def link_json(title, uid, panel, labels):
    """A link to another board that carries the variables, and of the series or row clicked at its labels."""
    kept = "&".join(f"${{{name}:queryparam}}" for name in ("datasource", "job", "simulated"))
    picked = ""
    for label in ("instance", "gpu", "kernel", "phase"):
        if panel.kind == "table" and label in panel.columns:
            picked += f"&var-{label}=${{__data.fields.{panel.columns[label]}}}"
        elif panel.kind != "table" and label in labels:
            picked += f"&var-{label}=${{__field.labels.{label}}}"
    return {"title": title, "url": f"/d/{uid}?{kept}{picked}&${{__url_time_range}}", "targetBlank": False}


def thresholds_json(panel):
    steps = panel.thresholds or [(None, "blue")]
    return {"mode": "absolute", "steps": [{"color": colour, "value": value} for value, colour in steps]}


def options_json(panel):
    legend = {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True}
    reduce = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    return {
        "timeseries": {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}},
        "stat": {
            "colorMode": "value" if not panel.thresholds else "background",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "reduceOptions": reduce,
            "textMode": "auto",
            "wideLayout": True,
        },
        "bargauge": {
            "displayMode": "basic",
            "minVizHeight": 16,
            "minVizWidth": 8,
            "namePlacement": "left",
            "orientation": "horizontal",
            "reduceOptions": reduce,
            "showUnfilled": True,
            "sizing": "auto",
            "valueMode": "color",
        },
        "table": {
            "cellHeight": "sm",
            "footer": {"countRows": False, "fields": "", "reducer": ["sum"], "show": False},
            "showHeader": True,
            "sortBy": [{"desc": True, "displayName": panel.sort}] if panel.sort else [],
        },
        "heatmap": {
            "calculate": False,
            "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": False},
            "yAxis": {"axisPlacement": "left", "reverse": False, "unit": panel.unit},
        },
        "state-timeline": {
            "alignValue": "left",
            "legend": legend,
            "mergeValues": True,
            "rowHeight": 0.9,
            "showValue": "auto",
            "tooltip": {"mode": "single", "sort": "none"},
        },
    }[panel.kind]


def custom_json(panel):
    if panel.kind == "timeseries":
        return {
            "drawStyle": "line",
            "fillOpacity": 30 if panel.stack else 0,
            "lineWidth": 1,
            "showPoints": "auto",
            "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if panel.stack else "none"},
        }
    if panel.kind == "state-timeline":
        return {"fillOpacity": 80, "lineWidth": 0, "spanNulls": False}
    if panel.kind == "table":
        return {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True, "inspect": False}
    if panel.kind == "heatmap":
        return {"hideFrom": {"legend": False, "tooltip": False, "viz": False}, "scaleDistribution": {"type": "linear"}}
    return {}


def panel_json(panel, number, place, filled, labels):
    """`filled` has each query's expression; `labels` are those that the results of all queries have."""
    defaults = {
        "color": {"mode": "thresholds" if panel.thresholds else "palette-classic"},
        "custom": custom_json(panel),
        "mappings": [],
        "noValue": NO_VALUE,
        "thresholds": thresholds_json(panel),
        "unit": panel.unit,
    }
    for key, value in (("decimals", panel.decimals), ("min", panel.minimum), ("max", panel.maximum)):
        if value is not None:
            defaults[key] = value
    if panel.mappings:
        defaults["mappings"] = [
            {
                "type": "value",
                "options": {
                    str(value): {"text": text, "color": colour, "index": index}
                    for index, (value, (text, colour)) in enumerate(panel.mappings.items())
                },
            }
        ]
    overrides, transformations = [], []
    if panel.dashed:
        overrides.append(
            {
                "matcher": {"id": "byRegexp", "options": f"/^{panel.dashed}/"},
                "properties": [
                    {"id": "custom.lineStyle", "value": {"dash": [8, 6], "fill": "dash"}},
                    {"id": "custom.stacking", "value": {"group": "A", "mode": "none"}},
                    {"id": "custom.fillOpacity", "value": 0},
                ],
            }
        )
    if panel.kind == "table":
        values = {
            f"Value #{chr(65 + i)}" if len(panel.queries) > 1 else "Value": query.name
            for i, query in enumerate(panel.queries)
        }
        shown = dict(panel.columns) | {old: new for old, new in values.items() if new}
        hidden = {"Time": True, "__name__": True} | {old: True for old, new in values.items() if not new}
        hidden |= {label: True for label in sorted(labels) if label not in panel.columns}
        transformations = [
            {"id": "merge", "options": {}},
            {
                "id": "organize",
                "options": {
                    "excludeByName": hidden,
                    "includeByName": {},
                    "indexByName": {old: i for i, old in enumerate(shown)},
                    "renameByName": shown,
                },
            },
        ]
        if panel.sort:
            transformations.append(
                {"id": "sortBy", "options": {"fields": {}, "sort": [{"desc": True, "field": panel.sort}]}}
            )
    if panel.links:
        defaults["links"] = [link_json(title, uid, panel, labels) for title, uid in panel.links]
    targets = [
        {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": filled[id(query)],
            "format": query.format,
            "instant": query.instant,
            "legendFormat": query.legend or "__auto",
            "range": not query.instant,
            "refId": chr(65 + i),
        }
        for i, query in enumerate(panel.queries)
    ]
    return {
        "datasource": DATASOURCE,
        "description": panel.description,
        "fieldConfig": {"defaults": defaults, "overrides": overrides},
        "gridPos": place,
        "id": number,
        "options": options_json(panel),
        "targets": targets,
        "title": panel.title,
        "transformations": transformations,
        "type": panel.kind,
    }


# Short forms for the boards.
def series(title, description, unit, *queries, **more):
    return Panel("timeseries", title, description, unit, [Query(*query) for query in queries], **more)


def stat(title, description, unit, *queries, **more):
    """A query is an expression, or an expression and the name of its value."""
    # Instant: the last value of a range would be shown for as long as the range lasts after the data ended.
    more = {"width": 4, "height": 4} | more
    found = [Query(*([query] if isinstance(query, str) else query), instant=True) for query in queries]
    return Panel("stat", title, description, unit, found, **more)


def table(title, description, unit, columns, *queries, **more):
    found = [Query(expr, instant=True, format="table", name=name) for name, expr in queries]
    return Panel("table", title, description, unit, found, columns=columns, **more)


def states(title, description, unit, expr, legend, **more):
    return Panel("state-timeline", title, description, unit, [Query(expr, legend)], **more)


def bars(title, description, unit, expr, legend, **more):
    return Panel("bargauge", title, description, unit, [Query(expr, legend, instant=True)], **more)
