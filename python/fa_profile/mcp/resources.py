"""Resources and prompts: recordings, texts of findings, help for metrics; the loop that makes a kernel faster."""

from __future__ import annotations

import urllib.parse

from . import machine, reports
from .answers import printable
from .errors import ToolError
from .work import BUNDLED, Work, bundled_recordings

SCHEME = "fa-profile://"
PROMPT = "make_this_kernel_faster"

LOOP = """\
Make {kernel} faster. Work in this loop, one change at a time:
1. verify{call}: the results are right, and the time is real. Stop here until they are.
2. measure{call}: keep the recording's name. Read the finding that the answer names.
3. report with view=phase, then view=source: find the lines that the finding is about. explain tells what the finding means.
4. Before you change anything, write down one change, and the gain that you expect from the phase's share of the time.
5. Make that one change, and build it beside the old build.
6. verify, then measure again; diff with the recording before it. Compare the gain with what you expected: if they differ,
   you have not understood the kernel yet.
7. gate with base (the old build) and head (the new build): only its verdict counts. On REGRESSION or no gain take the change back.
8. receipt with action=make for what you keep. Then go on with the next finding.
Stop when the finding that is left has a weight below 0.05, or two changes in a row gained nothing.
Never: time a kernel that verify refused, compare recordings of different GPUs, change two things at once, or loosen a tolerance.
"""


def finding_uri(name: str) -> str:
    return f"{SCHEME}finding/{name}"


def recording_uri(name: str) -> str:
    return f"{SCHEME}recording/{urllib.parse.quote(name)}"


async def listed(work: Work) -> list[tuple[str, str, str]]:
    """URI, name and description of each resource."""
    rows = [(f"{SCHEME}metrics", "metrics", "All metrics: id, unit, help")]
    names = [work.roots.shown(path) for path in work.roots.recordings()]
    names += [BUNDLED + name for name in bundled_recordings(work.settings)]
    rows += [(recording_uri(name), name, "A recording: its summary") for name in names]
    for line in (await work.run("list", "findings")).stdout.splitlines():
        name, _, rest = line.partition(" ")
        if rest:
            rows.append((finding_uri(name), name, "Finding: " + rest.strip().partition(" ")[2].strip()))
    return rows


TEMPLATES = [
    (SCHEME + "recording/{path}", "recording", "Summary of a recording below a root, or of bundled:NAME"),
    (SCHEME + "finding/{id}", "finding", "What a finding means, when it fires, and its cure"),
    (SCHEME + "metric/{id}", "metric", "Unit and meaning of a metric"),
]


async def text_of(work: Work, uri: str) -> str:
    """Raises ToolError for a resource that does not exist."""
    kind, _, name = uri.removeprefix(SCHEME).partition("/")
    name = urllib.parse.unquote(name)
    if not uri.startswith(SCHEME):
        kind = ""
    if kind == "recording" and name:
        answer = await reports.summary(work, await reports.read(work, name, {}))
        return answer.rendered(full=False)[0]
    if kind in ("metrics", "metric"):
        rows = [row for row in await machine.metric_rows(work) if kind == "metrics" or row["metric"] == name]
        if rows:
            return "\n".join(printable(f"{row['metric']} ({row['unit']}): {row['help']}") for row in rows)
    if kind == "finding" and name:
        answer = await machine.explain(work, {"name": name})
        return str(answer.data["text"]) if answer.data and answer.data["kind"] != "metric" else answer.verdict
    raise ToolError(f"unknown resource {uri}", "resources/list has those that exist")


def loop_text(kernel: str, library: str | None, shape: str | None) -> str:
    named = [f"kernel_lib={library}" if library else "", f"kernel={kernel}" if not library else "", f"shape={shape}" if shape else ""]
    call = " with " + ", ".join(one for one in named if one)
    return LOOP.format(kernel=printable(kernel), call=printable(call))
