"""What can be queried: the metrics of docs/metrics.md, what recording rules add, and what Prometheus itself writes."""

import pathlib
import re

# Labels that the scrape adds to every series. `simulated` is there only on targets of a simulated fleet.
TARGET = ("job", "simulated", "instance")

# Series that Prometheus writes about each target, and about alerts (whose labels are those of the alert).
OF_PROMETHEUS = {
    "up": set(TARGET),
    "scrape_duration_seconds": set(TARGET),
    "scrape_samples_scraped": set(TARGET),
    "ALERTS": None,
}
# Every job of a Prometheus has such series; a job of ours is one whose name begins so.
OURS = 'job=~"fa-profile.*"'

SECTION = "# Metrics for Prometheus"
ROW = re.compile(r"\| `(faprof_\w+)` \| (counter|gauge|histogram) \| ([\w ]*?) ?\| ([^|]*) \| ([^|]*) \| ([^|]*) \|")


class Metric:
    """One row of the table: a metric family as the exporter writes it."""

    def __init__(self, name, kind, labels, unit, text):
        self.name = name
        self.kind = kind
        self.labels = set(labels)
        self.unit = unit
        self.text = text


class Catalogue:
    """Names and the labels each has. `labels(name)` is None where any label may be."""

    def __init__(self, metrics):
        self.metrics = {metric.name: metric for metric in metrics}
        self._labels = dict(OF_PROMETHEUS)
        for metric in metrics:
            labels = metric.labels | set(TARGET)
            if metric.kind == "histogram":
                self._labels[metric.name + "_bucket"] = labels | {"le"}
                self._labels[metric.name + "_sum"] = labels
                self._labels[metric.name + "_count"] = labels
            else:
                self._labels[metric.name] = labels

    def add_rule(self, name, labels):
        if name in self._labels:
            raise ValueError(f"{name} is there already")
        self._labels[name] = labels

    def __contains__(self, name):
        return name in self._labels

    def labels(self, name):
        return self._labels[name]

    def family(self, name):
        """The metric that a series called `name` belongs to: of a histogram's three, the histogram. None for a rule."""
        if name in self.metrics:
            return name
        stem = re.sub(r"_(bucket|sum|count)$", "", name)
        return stem if stem in self.metrics else None


def read(path):
    """The catalogue of docs/metrics.md, which a test holds equal to what the exporter writes."""
    text = pathlib.Path(path).read_text()
    if SECTION not in text:
        raise ValueError(
            f"{path} has no section '{SECTION}': run exporters_tests with FA_PROFILE_UPDATE_GOLDEN=1"
        )
    section = text.split(SECTION, 1)[1].split("\n# ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    metrics = []
    for row in rows:
        match = ROW.fullmatch(row)
        if not match:
            raise ValueError(f"{path}: not a row of the table of metrics: {row}")
        name, kind, labels, unit, text, _ = match.groups()
        metrics.append(Metric(name, kind, labels.split(), unit, text))
    if not metrics:
        raise ValueError(f"{path}: the table of metrics is empty")
    return Catalogue(metrics)
