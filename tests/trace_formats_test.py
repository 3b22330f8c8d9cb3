"""report --format perfetto, folded and speedscope, as their readers see them: trace_formats_test.py PROGRAM SOURCE WRITE_PAGE_RECORDINGS

Traces go through Perfetto's own trace processor (support/trace_processor.py) and are asked by SQL; what they say is held
against the recordings, which sqlite3 reads.
"""

import collections
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from recordings import LADDER  # noqa: E402
from trace_processor import trace_processor  # noqa: E402

PROGRAM, SOURCE, WRITE_RECORDINGS = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
WATCHED = SOURCE / "recordings" / "pytorch-sdpa.fap"
STATISTICAL = "share of samples, order not measured"
LAID_OUT = "laid end to end, order not measured"
SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"

# What speedscope's published description of its format asks of a file with sampled profiles:
# https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources
NUMBER, TEXT = {"type": "number"}, {"type": "string"}
LIST_OF_NUMBERS = {"type": "array", "items": NUMBER}


def an_object(needed, **optional):
    return {"type": "object", "required": list(needed), "properties": needed | optional, "additionalProperties": False}


FRAME = an_object({"name": TEXT}, file=TEXT, line=NUMBER, col=NUMBER)
SAMPLED = an_object({
    "type": {"const": "sampled"},
    "name": TEXT,
    "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"]},
    "startValue": NUMBER,
    "endValue": NUMBER,
    "samples": {"type": "array", "items": LIST_OF_NUMBERS},
    "weights": LIST_OF_NUMBERS,
})
SPEEDSCOPE = an_object(
    {
        "$schema": {"const": SPEEDSCOPE_SCHEMA},
        "shared": an_object({"frames": {"type": "array", "items": FRAME}}),
        "profiles": {"type": "array", "items": SAMPLED},
    },
    name=TEXT, activeProfileIndex=NUMBER, exporter=TEXT)


def report(recording, form, *more):
    done = subprocess.run([PROGRAM, "report", str(recording), "--format", form, *more], capture_output=True, timeout=600, check=True)
    return done.stdout


def rows_of(recording, sql):
    connection = sqlite3.connect(f"file:{recording}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


class TraceTest(unittest.TestCase):
    """A recording's trace in the trace processor, which is started once for all cases."""

    recording = None

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        path = pathlib.Path(folder) / "x.pftrace"
        subprocess.run([PROGRAM, "report", str(cls.recording), "--format", "perfetto", "-o", str(path)], check=True, timeout=600)
        cls.processor = cls.enterClassContext(trace_processor(path))
        cls.arguments = collections.defaultdict(dict)
        for row in cls.query("SELECT arg_set_id AS id, key, display_value AS value FROM args"):
            cls.arguments[row.id][row.key.removeprefix("debug.")] = row.value

    @classmethod
    def query(cls, sql):
        return list(cls.processor.query(sql))

    def slices(self, where):
        """Slices with the names of their track and of the one around it, and their arguments."""
        found = self.query(f"""SELECT slice.*, track.name AS track, around.name AS around FROM slice JOIN track ON slice.track_id = track.id
                               LEFT JOIN track AS around ON track.parent_id = around.id WHERE {where} ORDER BY ts, depth""")
        for each in found:
            each.arguments = self.arguments[each.arg_set_id]
        return found

    def expect_well_formed(self):
        bad = self.query("SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value != 0")
        self.assertEqual([(row.name, row.value) for row in bad], [])
        self.assertEqual(self.query("SELECT count() AS n FROM slice WHERE dur < 0")[0].n, 0)  # every begin has an end
        outside = self.query("""SELECT count() AS n FROM slice JOIN slice AS around ON slice.parent_id = around.id
                                WHERE slice.ts < around.ts OR slice.ts + slice.dur > around.ts + around.dur""")
        self.assertEqual(outside[0].n, 0)

    def expect_launches(self):
        launches = rows_of(self.recording, "SELECT * FROM launch ORDER BY start_ns")
        gpu = rows_of(self.recording, "SELECT name FROM device")[0]["name"]
        slices = {int(each.arguments["recorded_start_ns"]): each for each in self.slices("category = 'kernel' AND track.name GLOB 'stream *'")}
        self.assertEqual(sorted(slices), [launch["start_ns"] for launch in launches])
        for launch in launches:
            each = slices[launch["start_ns"]]
            self.assertEqual(each.dur, launch["end_ns"] - launch["start_ns"])
            self.assertEqual(each.track, f"stream {launch['stream']}")
            self.assertEqual(each.around, f"GPU 0: {gpu}")
            self.assertEqual(each.arguments["grid"], "{grid_x},{grid_y},{grid_z}".format(**launch))
            self.assertTrue(launch["kernel_name"].startswith(each.arguments["kernel"].removesuffix("...")))
        return launches, slices

    def expect_statistical_phases(self):
        phases = self.slices("category IN ('phase', 'line')")
        self.assertGreater(len(phases), 20)
        for phase in phases:
            self.assertTrue(phase.name.endswith(" (statistical)"))
            self.assertEqual(phase.arguments["statistical"], STATISTICAL)
        kinds = self.query("""SELECT DISTINCT slice.category AS kind, around.category AS around FROM slice
                              JOIN slice AS around ON slice.parent_id = around.id WHERE slice.category IN ('phase', 'line')""")
        self.assertLessEqual({(kind.kind, kind.around) for kind in kinds}, {("phase", "kernel"), ("line", "phase")})

    def counter(self, name):
        return [(row.ts, row.value) for row in
                self.query(f"SELECT ts, value FROM counter JOIN track ON counter.track_id = track.id WHERE track.name = '{name}' ORDER BY ts")]


class LadderTraceTest(TraceTest):
    recording = LADDER

    def test_it_is_well_formed(self):
        self.expect_well_formed()

    def test_each_launch_is_a_slice_of_its_stream_with_its_duration_to_the_nanosecond(self):
        self.expect_launches()

    def test_times_inside_a_call_are_as_recorded_and_the_time_between_calls_is_cut(self):
        launches, slices = self.expect_launches()
        calls = collections.defaultdict(list)
        for launch in launches:
            calls[launch["case_id"]].append(launch)
        for call in calls.values():
            first = slices[call[0]["start_ns"]]
            for launch in call:
                self.assertEqual(slices[launch["start_ns"]].ts - first.ts, launch["start_ns"] - call[0]["start_ns"])
        bounds = self.query("SELECT max(ts + dur) - min(ts) AS ns FROM slice")[0].ns
        durations = sum(launch["end_ns"] - launch["start_ns"] for launch in launches)
        self.assertLess(bounds, durations + len(calls) * 1_000_000)

    def test_phases_take_their_share_of_the_kernel(self):
        self.expect_statistical_phases()
        entries = json.loads(report(LADDER, "json"))["entries"]
        kernels = collections.defaultdict(list)
        for each in self.slices("category = 'kernel'"):
            kernels[each.arguments["call"].partition("/")[0]].append(each)
        nested = collections.defaultdict(dict)
        for each in self.slices("category = 'phase'"):
            nested[each.parent_id][each.name.removesuffix(" (statistical)")] = each.dur
        checked = 0
        for entry in entries:
            if entry["part"] or not entry["phases"] or len(entry["launches"]) != 1:
                continue
            shape = "{batch},{num_heads},{seqlen},{head_dim}".format(**entry["shape"])
            kernel, = kernels[f"{entry['kernel']}@{shape}"]
            for phase in entry["phases"]["phases"]:
                share = phase["metrics"].get("phase_time_ratio") or 0
                self.assertAlmostEqual(nested[kernel.id].get(phase["phase"], 0), share * kernel.dur, delta=1)
            self.assertEqual(sum(nested[kernel.id].values()), kernel.dur)
            checked += 1
        self.assertGreater(checked, 15)

    def test_nvtx_ranges_are_nested_slices_of_their_thread(self):
        ranges = rows_of(LADDER, "SELECT * FROM nvtx_range")
        slices = {int(each.arguments["recorded_start_ns"]): each for each in self.slices("around.name = 'Host'")}
        self.assertEqual(len(slices), len(ranges))
        for each in ranges:
            found = slices[each["start_ns"]]
            self.assertEqual((found.name, found.dur, found.depth), (f"fa_profile: {each['name']}", each["end_ns"] - each["start_ns"], each["depth"]))
            self.assertEqual(found.track, f"NVTX, thread {each['thread']}")

    def test_clocks_are_counters(self):
        samples = rows_of(LADDER, "SELECT * FROM clock_sample ORDER BY id")
        self.assertEqual([value for _, value in self.counter("SM clock")], [sample["sm_hz"] / 1e6 for sample in samples])
        self.assertEqual([value for _, value in self.counter("power")], [sample["power_watts"] for sample in samples])


class SampledTraceTest(TraceTest):
    """A recording with samples over the time of a call (--timeline)."""

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        subprocess.run([WRITE_RECORDINGS, folder, "text"], check=True)
        cls.recording = pathlib.Path(folder) / "timeline.fap"
        super().setUpClass()

    def test_samples_over_the_time_of_a_call_are_counters(self):
        for metric, label in (("sm_active", "SMs active"), ("tensor", "tensor pipe")):
            samples = rows_of(self.recording, f"SELECT start_ns, value FROM pm_sample WHERE metric = '{metric}' ORDER BY start_ns")
            self.assertGreater(len(samples), 50)
            points = self.counter(label)
            self.assertEqual([value for _, value in points], [sample["value"] for sample in samples])
            self.assertEqual([at - points[0][0] for at, _ in points], [sample["start_ns"] - samples[0]["start_ns"] for sample in samples])
        unit = self.query("SELECT DISTINCT unit FROM counter_track WHERE name = 'tensor pipe'")
        self.assertEqual([each.unit for each in unit], ["%"])


class WatchedTraceTest(TraceTest):
    recording = WATCHED

    def test_it_is_well_formed(self):
        self.expect_well_formed()
        self.expect_statistical_phases()

    def test_recorded_launches_are_at_their_times(self):
        launches, slices = self.expect_launches()
        first = launches[0]
        for launch in launches:
            self.assertEqual(slices[launch["start_ns"]].ts - slices[first["start_ns"]].ts, launch["start_ns"] - first["start_ns"])

    def test_all_time_of_a_class_is_laid_out_by_what_launched_it(self):
        classes = rows_of(WATCHED, """SELECT kernel, sum(launches) AS launches, sum(graph_launches) AS graph_launches, sum(total_ns) AS ns
                                      FROM kernel_work JOIN kernel_case ON case_id = kernel_case.id GROUP BY case_id""")
        slices = self.slices("track.name IN ('launched into streams', 'launched by CUDA graphs') AND slice.depth = 0")
        for each in slices:
            self.assertEqual(each.arguments["position"], LAID_OUT)
        for of in classes:
            mine = [each for each in slices if each.name == of["kernel"]]
            self.assertEqual(sum(each.dur for each in mine), of["ns"])
            self.assertEqual({each.track: int(each.arguments["launches"]) for each in mine},
                             {track: count for track, count in (("launched into streams", of["launches"] - of["graph_launches"]),
                                                                ("launched by CUDA graphs", of["graph_launches"])) if count})

    def test_nvtx_ranges_hold_the_time_of_their_kernels(self):
        ranges = rows_of(WATCHED, "SELECT path, sum(gpu_ns) AS ns FROM nvtx_kernel GROUP BY path")
        slices = {each.name: each for each in self.slices("track.name = 'GPU time by NVTX range' AND slice.depth = 0")}
        for each in ranges:
            self.assertEqual(slices[each["path"]].dur, each["ns"])
        kernels = rows_of(WATCHED, "SELECT sum(total_ns) AS ns FROM kernel_work")[0]["ns"]
        memory = rows_of(WATCHED, "SELECT sum(total_ns) AS ns FROM memory_work")[0]["ns"]
        self.assertEqual(sum(each.dur for each in slices.values()), kernels + memory)

    def test_how_busy_the_gpu_was_is_a_counter(self):
        windows = rows_of(WATCHED, "SELECT * FROM watch_window ORDER BY start_ns")
        found = self.counter("GPU busy")
        self.assertEqual([ts for ts, _ in found[:-1]], [window["start_ns"] - windows[0]["start_ns"] for window in windows])
        for (_, value), window in zip(found, windows):
            busy = window["busy_ns"] / (window["end_ns"] - window["start_ns"] - window["measuring_ns"])
            self.assertAlmostEqual(value, 100 * min(busy, 1), places=6)


def stacks_of(folded):
    stacks = collections.Counter()
    for line in folded.decode().splitlines():
        stack, ns = re.fullmatch(r"(.+) ([1-9][0-9]*)", line).groups()
        stacks[tuple(stack.split(";"))] += int(ns)
    return stacks


class StacksTest(unittest.TestCase):
    def test_stacks_of_the_ladder_add_up_to_the_median_durations(self):
        stacks = stacks_of(report(LADDER, "folded"))
        medians = {f"{row['kernel']}@{row['shape']}": round(row["median_ns"]) for row in
                   rows_of(LADDER, "SELECT kernel, shape, median_ns FROM timing_summary WHERE part = ''")}
        calls = collections.Counter()
        for stack, ns in stacks.items():
            calls[stack[0]] += ns
        self.assertEqual(set(calls), set(medians))
        for name, ns in calls.items():
            self.assertAlmostEqual(ns, medians[name], delta=1)  # of an even number of samples the median is between two

    def test_a_stack_is_range_kernel_phase_line(self):
        stacks = stacks_of(report(LADDER, "folded", "--kernel", "^mma$", "--shape", "1,8,512,64"))
        self.assertEqual({stack[0] for stack in stacks}, {"mma@1,8,512,64"})
        self.assertTrue(all(stack[1].startswith("MmaForward<") for stack in stacks))
        self.assertLess({"qk", "softmax", "pv"}, {stack[2] for stack in stacks if len(stack) > 2})
        self.assertTrue(any(re.fullmatch(r"rung7_mma\.cuh:\d+", stack[3]) for stack in stacks if len(stack) > 3))

    def test_parts_of_a_call_are_between_the_call_and_its_kernels(self):
        stacks = stacks_of(report(LADDER, "folded", "--kernel", "cublas", "--shape", "1,8,512,64"))
        self.assertEqual({stack[1] for stack in stacks}, {"qk", "softmax", "pv"})
        self.assertIn("RowSoftmaxKernel", {stack[2] for stack in stacks if stack[1] == "softmax"})

    def test_stacks_of_a_program_add_up_to_its_gpu_time(self):
        stacks = stacks_of(report(WATCHED, "folded"))
        kernels = rows_of(WATCHED, "SELECT sum(total_ns) AS ns FROM kernel_work")[0]["ns"]
        memory = rows_of(WATCHED, "SELECT sum(total_ns) AS ns FROM memory_work")[0]["ns"]
        self.assertEqual(sum(stacks.values()), kernels + memory)
        ranges = rows_of(WATCHED, "SELECT path, sum(gpu_ns) AS ns FROM nvtx_kernel GROUP BY path")
        for each in ranges:
            self.assertEqual(sum(ns for stack, ns in stacks.items() if stack[0] == each["path"]), each["ns"])

    def test_nvtx_chooses_ranges(self):
        stacks = stacks_of(report(WATCHED, "folded", "--nvtx", "^flash$"))
        self.assertEqual({stack[0] for stack in stacks}, {"flash"})
        self.assertEqual(sum(stacks.values()), rows_of(WATCHED, "SELECT sum(gpu_ns) AS ns FROM nvtx_kernel WHERE path = 'flash'")[0]["ns"])

    def test_speedscope_has_the_same_stacks_and_fits_its_format(self):
        for recording in LADDER, WATCHED:
            document = json.loads(report(recording, "speedscope"))
            jsonschema.Draft7Validator(SPEEDSCOPE).validate(document)
            frames = document["shared"]["frames"]
            profile, = document["profiles"]
            self.assertEqual(profile["unit"], "nanoseconds")
            self.assertEqual(sum(profile["weights"]), profile["endValue"])
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            stacks = collections.Counter()
            for sample, ns in zip(profile["samples"], profile["weights"]):
                stacks[tuple(frames[index]["name"] for index in sample)] += ns
            self.assertEqual(stacks, stacks_of(report(recording, "folded")))
            self.assertTrue(all("line" in frame for frame in frames if "file" in frame))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
