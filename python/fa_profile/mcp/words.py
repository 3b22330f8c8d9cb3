"""What the words of an answer mean: metrics by id and by label, stall reasons, and the views' own words."""

from __future__ import annotations

from dataclasses import dataclass

from .answers import Json

# Words that answers print and that no table of the program has.
_OWN = {
    "compute": "Bound by compute: of all units a compute pipe is nearest to its peak, at 60 % or more; from 80 % on it is at its roof. "
    "Fewer instructions for that pipe are a gain.",
    "memory": "Bound by memory: of all units L1, L2 or DRAM is nearest to its peak, at 60 % or more; from 80 % on it is at its roof. "
    "Fewer bytes or wavefronts there are a gain.",
    "latency": "Bound by latency: no unit reaches 60 % of its peak, so warps wait. After it: what they wait for most, and the unit nearest to its peak.",
    "occupancy": "Warps on an SM over the warps that it can hold, and what limits them: warps, blocks, registers or shared memory.",
    "registers": "Of a thread. As a limit of occupancy: with fewer registers a thread (__launch_bounds__, smaller tiles) more blocks fit on an SM.",
    "shared memory": "Of a block. As a limit of occupancy: with less shared memory a block more blocks fit on an SM.",
    "warps": "As a limit of occupancy: an SM holds all the warps that it can.",
    "blocks": "As a limit of occupancy: an SM holds all the blocks that it can; larger blocks bring more warps.",
    "share of the time": "Of the kernel's time, the part in which warps worked in this phase or waited at a barrier for it; from samples.",
    "(unattributed)": "Code in no phase. Above 5 % name more phases, give phase_map, or build with -lineinfo.",
    "of warp-cycles": "Of the cycles of all resident warps, the part in which a warp was stalled for this reason.",
    "exact": "A count that repeats in each run; other metrics differ from run to run.",
}


@dataclass(frozen=True)
class Word:
    """`kind`: metric, phase metric, stall reason or word. `id`: as reports have it."""

    kind: str
    id: str
    label: str
    text: str


def vocabulary(report: Json) -> dict[str, Word]:
    """By the words that an answer may print, in small letters. `report`: what fa-profile writes of any recording."""
    words: dict[str, Word] = {}
    for kind, metrics in (("phase metric", report["phase_metrics"]), ("metric", report["metrics"])):  # a label of both is the kernel's
        for name, metric in metrics.items():
            word = Word(kind, name, metric["label"], f"{metric['help']} Unit: {metric['unit']}.")
            words[name] = word
            words[metric["label"].lower()] = word
    words.update((name, Word("word", name, name, text)) for name, text in _OWN.items())
    words.update((name, Word("stall reason", name, name, reason["help"])) for name, reason in report["stall_reasons"].items())
    return words
