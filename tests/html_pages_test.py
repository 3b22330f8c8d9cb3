#!/usr/bin/env python3
"""The pages of --format html in a real browser: html_pages_test.py PROGRAM WRITE_PAGE_RECORDINGS WRITE_GATE_REPORTS ROOT

Fails, and never skips, when Chromium is missing: ci/setup.sh installs it.
"""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from support.chromium import Browser  # noqa: E402
from support.forge import forge  # noqa: E402
from support.recordings import LADDER  # noqa: E402

PROGRAM = WRITE_RECORDINGS = WRITE_GATE = ROOT = None
MOST_BYTES = 3_000_000
CODE = "document.querySelector('.code-map')"  # which has been unpacked after the view was drawn
# In every text of a recording. It would change the title, or write to the console, if the page took it for markup.
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<svg onload=alert(1)>&lt;b&gt;{{7*7}}${7*7}\"'`javascript:alert(1)\u202e\u2028 __proto__"
)


class Pages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([WRITE_RECORDINGS, folder.name, HOSTILE], check=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.console.clear()
        self.browser.requests.clear()

    def tearDown(self):
        self.assertEqual(self.browser.console, [])
        other = [url for url in self.browser.requests if not url.startswith(("file://", "about:", "blob:"))]
        self.assertEqual(other, [], "a page loads nothing")

    def write(self, name, *arguments):
        path = self.folder / f"{name}.html"
        if not path.exists():
            subprocess.run([PROGRAM, *arguments, "--format", "html", "-o", path], check=True)
        return path

    def report(self, name):
        recording = self.folder / f"{name}.fap"
        if not recording.exists():
            recording = ROOT / "recordings" / f"{name}.fap"
        return self.write(name, "report", recording)

    def forged(self, name, source, *statements):
        """The page of a recording that was changed with SQL."""
        if not (self.folder / f"{name}.fap").exists():
            own = self.folder / f"{source}.fap"
            forge(own if own.exists() else ROOT / "recordings" / own.name, self.folder / f"{name}.fap", *statements)
        return self.report(name)

    def table(self, label):
        """The rows of a long table that are in the page, as texts of their cells."""
        return self.browser.value(
            f"[...document.querySelectorAll('[role=grid][aria-label={json.dumps(label)}] .long-row')]"
            ".map((row) => [...row.children].map((cell) => cell.textContent))"
        )

    def sort(self, label, title):
        self.browser.value(
            f"[...document.querySelectorAll('[aria-label={json.dumps(label)}] .sort')].find((e) => e.textContent === {json.dumps(title)}).click()"
        )

    def find(self, label, text):
        self.browser.value(f"document.querySelector('input[aria-label={json.dumps('find ' + label)}]').focus()")
        self.browser.press(*text)

    def opens_again(self, path, label):
        """The address of what is shown, which shows the same again."""
        rows, fragment = self.table(label), self.browser.value("location.hash")
        self.browser.open(path, fragment)
        self.assertEqual(self.table(label), rows)
        self.assertEqual(self.browser.value("location.hash"), fragment)
        return fragment


class LadderTest(Pages):
    def test_the_ladder_is_small_and_opens_with_its_gpu_driver_and_date(self):
        path = self.report(LADDER.stem)
        self.assertLess(path.stat().st_size, MOST_BYTES)
        self.browser.open(path)
        self.assertEqual(self.browser.text(".lead"), ["NVIDIA H100 80GB HBM3 \u00b7 driver 580.159.04 \u00b7 2026-11-26T17:48:27Z"])
        self.assertEqual(self.browser.text("main h2"), ["What to act on", "Kernels", "Roofline", "Missing data", "How it was measured"])
        rows = self.table("kernels")
        self.assertEqual(len(rows), 33)
        self.assertEqual(rows[0][:5], ["minimal", "1,8,512,64", "yes", "559 us", "960 GFLOP/s"])
        self.assertIn("tensor-absent", self.browser.text(".finding .chip")[0])

    def test_a_kernel_has_all_that_the_report_knows(self):
        path = self.report(LADDER.stem)
        self.browser.open(path, "#view=kernel&kernel=mma@1,8,512,64")
        self.assertEqual(
            self.browser.text("main h2"),
            ["What to act on", "Phases", "Code", "Roofline", "Speed of light", "What warps did", "Occupancy", "Launches"],
        )
        self.assertIn("5.81 us", self.browser.text(".tile-value"))
        phases = self.browser.text("#phases tbody tr:not(.below) th")
        self.assertEqual(phases[:2], ["softmax", "load_kv"])
        self.assertIn("registers", self.browser.text("#occupancy .chip"))
        self.assertIn("128\u00d71\u00d71", self.browser.text("#launches td"))
        # The kernel and its phases with FLOPs.
        marks = self.browser.value("document.querySelectorAll('.roofline circle, .roofline path').length")
        self.assertEqual(marks, self.browser.value("document.querySelectorAll('#roofline tbody tr').length"))
        self.assertGreaterEqual(marks, 4)

    def test_what_another_finding_explains_is_nothing_to_act_on(self):
        path = self.report(LADDER.stem)
        report = json.loads(re.search(r'id="report">(.*?)</script>', path.read_text(), re.S)[1])
        findings = {each["kernel"]: each["findings"] for each in report["entries"] if each["shape"]["seqlen"] == 512 and each["part"] is None}
        explained = [finding for finding in findings["serial_softmax"] if finding["cause"] is not None]
        self.assertIn(("bottleneck-phase", "serial-softmax"), [(finding["id"], finding["cause"]) for finding in explained])
        self.browser.open(path, "#view=kernel&kernel=serial_softmax@1,8,512,64")
        shown = self.browser.text("#findings .chip")
        self.assertEqual(shown, [finding["id"] for finding in findings["serial_softmax"] if finding["cause"] is None])
        self.assertIn("serial-softmax", shown)
        self.browser.open(path)
        self.assertNotIn("Cure: see ", " ".join(self.browser.text("#findings .cure")))
        text = subprocess.run([PROGRAM, "report", LADDER], capture_output=True, text=True, check=True).stdout
        own = re.search(r"what to act on: (\d+) findings", text)[1]
        self.assertGreater(int(own), 10)
        tiles = self.browser.value("[...document.querySelectorAll('.tile')].map((e) => [e.children[0].textContent, e.children[1].textContent])")
        self.assertEqual(dict(tiles)["Findings"], own, "as in the text")

    def test_a_phase_has_a_roof_of_its_own(self):
        self.browser.open(self.report(LADDER.stem), "#view=kernel&kernel=mma@2,16,2048,128")
        rows = self.browser.value(
            "[...document.querySelectorAll('#roofline tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))"
        )
        roofs = {row[0]: row[-3:] for row in rows}
        self.assertEqual(roofs["qk"], ["573 TFLOP/s", "88.1\u202f%", "shared memory"])
        self.assertEqual((roofs["softmax"][-1], roofs["(unattributed)"][-1]), ("MUFU", "instruction issue"))
        # The work of these overlaps other phases: more than their share of the time could hold.
        self.assertEqual((roofs["pv"], roofs["rescale"]), (["n/a"] * 3, ["n/a"] * 3))
        self.assertEqual(self.browser.value("document.querySelectorAll('.roofline .own-roof').length"), 4)
        # Where the peaks were not counted there is none.
        self.browser.open(self.report("program"), "#view=kernel&kernel=flash_fwd_kernel<<<64,%20128>>>")
        self.assertEqual(self.browser.value("document.querySelectorAll('.own-roof').length"), 0)

    def test_labels_of_the_roofline_lie_apart_and_on_no_mark(self):
        hits = (
            "(() => { const box = (e) => e.getBoundingClientRect();"
            " const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom - 2 <= b.top || b.bottom - 2 <= a.top;"
            " const labels = [...document.querySelectorAll('.point-label, .roof-label:not([transform])')];"
            " const others = [...labels, ...document.querySelectorAll('.point')];"
            " return labels.flatMap((a) => others.filter((b) => a !== b && !apart(box(a), box(b))).map((b) => `${a.textContent} on ${b.textContent}`)); })()"
        )
        for name, fragments in (
            (LADDER.stem, [f"#roofline-shape={shape}" for shape in ("1,8,512,64", "4,16,1024,64", "2,16,2048,128")]),
            (LADDER.stem, [f"#view=kernel&kernel={kernel}@2,16,2048,128" for kernel in ("tiled", "wmma", "mma")]),
            ("h100-hopper", [f"#roofline-shape={shape}" for shape in ("4,16,2048,64", "4,16,2048,128", "1,16,16384,128")]),
            ("pytorch-sdpa", [""]),
        ):
            for fragment in fragments:
                self.browser.open(self.report(name), fragment)
                self.assertEqual(self.browser.value(hits), [], f"{name}{fragment}")
                points = self.browser.value("document.querySelectorAll('.point').length")
                self.assertEqual(len(self.browser.text(".point-label")), points, f"{name}{fragment}")

    def test_a_phase_opens_and_says_what_its_warps_did(self):
        self.browser.open(self.report(LADDER.stem), "#view=kernel&kernel=mma@1,8,512,64")
        self.browser.value("document.querySelector('#phases .expand').click()")
        self.assertEqual(self.browser.value("document.querySelector('#phases .expand').getAttribute('aria-expanded')"), "true")
        text = self.browser.text("#phases tr.below")[0]
        self.assertIn("mio_throttle", text)
        self.assertIn("exponentials2.23 M", text)
        fragment = self.browser.value("location.hash")
        self.assertEqual(fragment, "#view=kernel&kernel=mma%401%2C8%2C512%2C64&open=softmax")
        self.browser.open(self.report(LADDER.stem), fragment)
        self.assertEqual(self.browser.text("#phases tr.below")[0], text)
        self.browser.value("[...document.querySelectorAll('#phases thead .sort')].find((e) => e.textContent === 'phase').click()")
        self.assertEqual(self.browser.value("document.querySelectorAll('#phases tr.below:not([hidden])').length"), 1)

    def test_stalls_are_in_the_groups_of_the_report_and_only_what_issued_is_issuing(self):
        path = self.report("h100-hopper")
        self.browser.open(path, "#view=kernel&kernel=mma@1,8,512,64")
        report = json.loads(re.search(r'id="report">(.*?)</script>', path.read_text(), re.S)[1])
        titles = [group["title"] for group in report["stall_groups"]]
        self.assertEqual(self.browser.text("[aria-label='colours of stalls'] li"), titles)
        entry = next(entry for entry in report["entries"] if entry["shape"]["seqlen"] == 512)
        issuing = f"issuing {100 * entry['metrics']['warp_issuing_ratio']:.1f}\u202f%"
        self.assertIn(issuing, self.browser.value("document.querySelector('#stalls .bar').getAttribute('aria-label')"))

    def test_where_two_stall_reasons_were_counted_the_rest_is_not_issuing_and_there_is_no_top_stall(self):
        path = self.write("phases-set", "report", ROOT / "recordings" / "hopper" / "1-plain.fap")
        self.browser.open(path, "#view=kernel&kernel=hopper_64@4,16,2048,64")
        label = self.browser.value("document.querySelector('#stalls .bar').getAttribute('aria-label')")
        self.assertIn("global memory", label)
        self.assertNotIn("issuing", label)
        self.assertNotIn("long_scoreboard", " ".join(self.browser.text(".tiles")))

    def test_waits_for_asynchronous_work_stand_below_the_phases(self):
        self.browser.open(self.report("h100-hopper"), "#view=kernel&kernel=hopper@4,16,2048,64")
        rows = self.browser.text("#phases table:has(caption.hidden) tbody tr")
        waits = [row for row in rows if ".h:" in row or ".cuh:" in row]
        self.assertEqual(len(waits), 8)
        self.assertTrue(any("load_kv schedule.h:81, schedule.h:83" in row for row in waits), waits)
        self.assertTrue(any("pvmatrixforward.cuh:" in row and "softmax" in row for row in waits), waits)
        self.assertRegex("".join(self.browser.text("#phases")), r"Of all products together 9\d\.\d.% ?, 8\d\.\d.% in softmax\.")
        self.browser.open(self.report("h100-hopper"), "#view=kernel&kernel=mma@1,8,512,64")
        self.assertIn("copy", "".join(self.browser.text("#phases")))
        self.assertNotIn("products together", "".join(self.browser.text("#phases")))

    def test_the_shape_of_the_roofline_is_in_the_address(self):
        path = self.report(LADDER.stem)
        self.browser.open(path)
        choose = "(() => { const e = document.querySelector('#roofline select'); e.value = '2,16,2048,128'; e.dispatchEvent(new Event('change')); })()"
        self.browser.value(choose)
        shown = self.browser.text("#roofline tbody tr")
        fragment = self.browser.value("location.hash")
        self.assertEqual(fragment, "#roofline-shape=2%2C16%2C2048%2C128")
        self.browser.open(path, fragment)
        self.assertEqual(self.browser.text("#roofline tbody tr"), shown)
        self.assertEqual(self.browser.value("document.querySelector('#roofline select').value"), "2,16,2048,128")

    def test_code_is_unpacked_sorted_and_searched(self):
        self.browser.open(self.report(LADDER.stem), "#view=code&kernel=mma@1,8,512,64")
        self.browser.wait(CODE)
        lines = self.table("source lines")
        self.assertEqual(lines[0][0], "sm80.cuh:71")
        self.assertEqual(lines[0][2], "19.0\u202f%")
        self.browser.value("[...document.querySelectorAll('.tabs button')].find((e) => e.textContent === 'Machine code').click()")
        grid = "document.querySelector('[role=grid]')"
        self.assertEqual(self.browser.value(f"{grid}.getAttribute('aria-rowcount')"), "1281")
        self.assertLess(len(self.table("machine instructions")), 100)
        self.browser.value(f"[...{grid}.querySelectorAll('.sort')].find((e) => e.textContent === 'samples').click()")
        hottest = self.table("machine instructions")[0]
        self.assertIn("sync", hottest[1])
        self.browser.press("/")
        self.browser.press(*"mufu.ex2")
        texts = self.browser.text(".long-row code")
        self.assertTrue(texts and all("MUFU.EX2" in text for text in texts), texts)
        # The address has all of it: it opens the same view again.
        fragment = self.browser.value("location.hash")
        self.assertIn("q=mufu.ex2", fragment)
        self.browser.open(self.report(LADDER.stem), fragment)
        self.browser.wait(CODE)
        self.assertEqual(self.browser.text(".long-row code"), texts)

    def test_a_source_line_opens_its_machine_code(self):
        self.browser.open(self.report(LADDER.stem), "#view=code&kernel=mma@1,8,512,64")
        self.browser.wait(CODE)
        self.browser.value("document.querySelector('[role=grid]').focus()")
        self.browser.press("ArrowDown", "Enter")
        rows = self.table("machine instructions")
        self.assertEqual({row[-2] for row in rows}, {"sm80.cuh:71"})

    def test_source_says_whose_it_is_and_where_it_has_no_such_line(self):
        source = self.folder / "mine.cu"
        source.write_text("".join(f"line {i};\n" for i in range(1, 61)))
        forge(self.folder / "sample.fap", self.folder / "sourced.fap", ("UPDATE source_file SET name = ?", (str(source),)))
        path = self.write("sourced", "report", self.folder / "sourced.fap", "--source-root", self.folder)
        self.browser.open(path, "#view=code&kernel=mma@1,8,512,64")
        self.browser.wait(CODE)
        texts = {row[0]: row[-1] for row in self.table("source lines")}
        self.assertEqual(texts["mine.cu:60"], "line 60;")
        self.assertIn("no such line now", {text for place, text in texts.items() if int(place.split(":")[1]) > 60})
        self.assertIn(f"is of the machine that wrote this page, as it was then: {source}.", " ".join(self.browser.text(".note")))
        self.browser.open(self.report("sample"), "#view=code&kernel=mma@1,8,512,64")
        self.browser.wait(CODE)
        self.assertEqual({row[-1] for row in self.table("source lines")}, {"source not read"})

    def test_everything_works_with_the_keyboard(self):
        self.browser.open(self.report(LADDER.stem))
        self.browser.press("/")
        self.assertEqual(self.browser.value("document.activeElement.type"), "search")
        self.browser.press(*"wmma")
        self.assertEqual({row[0] for row in self.table("kernels")}, {"wmma"})
        for _ in range(3):
            self.browser.press("Tab")
            if self.browser.value("document.activeElement.getAttribute('role')") == "grid":
                break
        self.browser.press("ArrowDown", "ArrowDown")
        active = self.browser.value("document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent")
        self.assertTrue(active.startswith("wmma4,16,1024,64"), active)
        self.browser.press("Enter")
        self.browser.wait("document.querySelector('h1').textContent === 'wmma \u00b7 4,16,1024,64'")
        self.assertEqual(self.browser.value("document.activeElement.tagName"), "H1")
        self.browser.value("history.back()")
        self.browser.wait("document.querySelector('h1').textContent === '8 kernels at 3 shapes'")
        self.assertEqual(self.browser.value("location.hash"), "#query=wmma")
        self.assertEqual({row[0] for row in self.table("kernels")}, {"wmma"})
        self.browser.press("?")
        self.browser.wait("document.querySelector('dialog').open")
        self.browser.press("Escape")
        self.browser.wait("!document.querySelector('dialog').open")

    def test_all_that_can_be_used_has_a_name_and_every_chart_a_text(self):
        path = self.report(LADDER.stem)
        for fragment in ("", "#view=kernel&kernel=mma@1,8,512,64", "#view=code&kernel=mma@1,8,512,64"):
            self.browser.open(path, fragment)
            self.browser.wait(f"document.querySelector('[role=grid][aria-label=kernels], #phases') || {CODE}")
            nameless = self.browser.value(
                "[...document.querySelectorAll('button, a, input, select, summary, [role=grid], [role=img], dialog')].filter((e) =>"
                "!(e.textContent.trim() || e.getAttribute('aria-label') || e.title)).map((e) => e.outerHTML.slice(0, 200))"
            )
            self.assertEqual(nameless, [])
            self.assertEqual(self.browser.value("document.querySelectorAll('h1').length"), 1)
            self.assertEqual(self.browser.value("document.documentElement.lang"), "en")
            charts = "[...document.querySelectorAll('main svg')].filter((e) => !e.parentElement.closest('svg'))"
            self.assertEqual(
                self.browser.value(f"{charts}.filter((e) => e.getAttribute('role') !== 'img' && e.getAttribute('aria-hidden') !== 'true').length"), 0
            )

    def test_light_and_dark_follow_the_system_and_the_button(self):
        path = self.report(LADDER.stem)
        page = "getComputedStyle(document.body).backgroundColor"
        colours = {}
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.browser.open(path)
            colours[scheme] = self.browser.value(page)
        self.assertNotEqual(colours["light"], colours["dark"])
        self.browser.value("document.querySelector('.theme').click()")
        self.assertEqual(self.browser.value(page), colours["light"])
        self.browser.value("document.querySelector('.theme').click()")
        self.assertEqual(self.browser.value(page), colours["dark"])
        self.browser.prefer("light")

    def test_pictures_of_a_kernel_are_not_blank(self):
        path = self.report(LADDER.stem)
        self.addCleanup(self.browser.prefer, "light")
        self.browser.open(path)
        self.browser.value("localStorage.clear()")  # a theme that another test has chosen
        lights = {}
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.browser.open(path, "#view=kernel&kernel=mma@1,8,512,64")
            colours, largest, lights[scheme] = self.seen()
            self.assertGreater(colours, 100, scheme)
            self.assertLess(largest, 0.95, scheme)
        self.assertGreater(lights["light"], 0.8)
        self.assertLess(lights["dark"], 0.3)

    def seen(self):
        """Of a picture of the page: its colours, the share of the commonest, the mean light."""
        picture = self.folder / "picture.png"
        self.browser.picture(picture)
        data = base64.b64encode(picture.read_bytes()).decode()
        self.browser.navigate("about:blank")
        return self.browser.value(
            f"""createImageBitmap(new Blob([Uint8Array.from(atob('{data}'), (c) => c.charCodeAt(0))])).then((picture) => {{
                const draw = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
                draw.drawImage(picture, 0, 0);
                const pixels = new Uint32Array(draw.getImageData(0, 0, picture.width, picture.height).data.buffer);
                const count = new Map();
                let light = 0;
                for (const pixel of pixels) {{
                    count.set(pixel, (count.get(pixel) || 0) + 1);
                    light += (pixel & 255) / 255;
                }}
                return [count.size, Math.max(...count.values()) / pixels.length, light / pixels.length];
            }})"""
        )

    def test_print_is_as_wide_as_the_paper(self):
        self.browser.resize(1047)  # A4 without its margins
        self.addCleanup(self.browser.resize, 1400)
        self.addCleanup(self.browser.ask, "Emulation.setEmulatedMedia", media="")
        for fragment in ("", "#view=kernel&kernel=mma@1,8,512,64", "#view=code&kernel=mma@1,8,512,64"):
            self.browser.open(self.report(LADDER.stem), fragment)
            self.browser.wait(f"document.querySelector('[role=grid][aria-label=kernels], #phases') || {CODE}")
            self.browser.ask("Emulation.setEmulatedMedia", media="print")
            self.browser.value("window.dispatchEvent(new Event('beforeprint'))")
            wide = self.browser.value(
                "[...document.querySelectorAll('.long-row, .table-scroll')].filter((e) => e.getBoundingClientRect().right > innerWidth ||"
                " e.scrollWidth > innerWidth).length"
            )
            self.assertEqual(wide, 0, fragment)

    def test_print_shows_the_whole_table_and_no_controls(self):
        self.browser.open(self.report("many"))
        self.browser.value("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(len(self.table("kernels")), 300)
        self.browser.ask("Emulation.setEmulatedMedia", media="print")
        self.addCleanup(self.browser.ask, "Emulation.setEmulatedMedia", media="")
        self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('.toolbar')).display"), "none")
        self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('.top')).display"), "none")

    def test_an_address_of_a_kernel_that_is_not_there_says_so(self):
        self.browser.open(self.report(LADDER.stem), "#view=kernel&kernel=<img src=x onerror=alert(1)>")
        self.assertEqual(self.browser.text("h1"), ["Kernel not found"])


class WrongValuesTest(Pages):
    """What a counter cannot have been."""

    DRAM = "SET value = {} WHERE metric_id IN (SELECT id FROM metric WHERE name LIKE 'dram__bytes.%peak_sustained')"
    KERNEL = "#view=kernel&kernel=mma@1,8,512,64"

    def test_a_page_whose_dram_peak_is_zero_or_tiny_has_all_but_the_roofline(self):
        for name, value in (("zero-peak", "0"), ("tiny-peak", "1e-300"), ("huge-peak", "1e300")):
            path = self.forged(name, LADDER.stem, "UPDATE value " + self.DRAM.format(value))
            with self.subTest(name):
                self.browser.open(path)
                titles = self.browser.text("main h2")
                self.assertEqual([each for each in titles if each != "Roofline"], ["What to act on", "Kernels", "Missing data", "How it was measured"])
                self.assertEqual(len(self.table("kernels")), 33)
                self.browser.open(path, self.KERNEL)
                self.assertIn("Speed of light", self.browser.text("main h2"))
                self.assertEqual(self.browser.text("#roofline svg"), [])
                self.assertIn("No", self.browser.text("#roofline .note")[0])
                self.assertEqual(self.browser.text(".warning"), [])

    def test_a_kernel_whose_counters_are_all_zero_is_drawn(self):
        ranges = "(SELECT range.id FROM range JOIN kernel_case ON kernel_case.id = case_id WHERE kernel = 'mma')"
        path = self.forged("zeros", LADDER.stem, f"UPDATE value SET value = 0 WHERE range_id IN {ranges}")
        self.browser.open(path, self.KERNEL)
        self.assertIn("Launches", self.browser.text("main h2"))
        self.assertEqual([each.split(":")[0] for each in self.browser.text(".warning")], ["Sums that do not close"])

    def test_what_cannot_be_drawn_says_so_and_the_rest_is_drawn(self):
        whole = self.report("sample").read_text()
        path = self.folder / "broken.html"
        path.write_text(whole.replace('"limiters":[', '"limiters":7,"was":['))
        self.browser.open(path, self.KERNEL)
        self.assertIn("The occupancy could not be drawn: TypeError", " ".join(self.browser.text("#occupancy .warning")))
        self.assertIn("Launches", self.browser.text("main h2"))
        self.assertTrue(self.browser.console)
        path.write_text(whole.replace('"losses":[', '"losses":null,"was":['))
        self.browser.open(path)
        self.assertEqual(len(self.browser.text("main > .warning")), 1)
        self.assertGreater(len(self.table("kernels")), 3)
        self.browser.console.clear()


class TimelineTest(Pages):
    KERNEL = "#view=kernel&kernel=mma@1,8,512,64"

    def values(self):
        return self.browser.text("#timeline .series-value")

    def test_every_metric_has_a_row_on_one_axis_of_time(self):
        self.browser.open(self.report("timeline"), self.KERNEL)
        self.assertIn("Over the time of the call", self.browser.text("main h2"))
        names = self.browser.text("#timeline .series-name")
        self.assertEqual(names[0], "SMs activemean 90.8\u202f%, largest 100\u202f%")
        self.assertEqual(len(names), 10)
        self.assertEqual(names[-1], "time")
        self.assertEqual(self.browser.text("#timeline .tick text, #timeline text.tick"), [f"{each} us" for each in ("0", "200", "400", "600", "800", "1,000")])
        lefts = self.browser.value("[...new Set([...document.querySelectorAll('#timeline .series-plot')].map((e) => e.getBoundingClientRect().left))].length")
        self.assertEqual(lefts, 1)
        # Rows of one launch are together.
        groups = self.browser.value("[...document.querySelectorAll('#timeline [role=group]')].map((e) => e.children.length)")
        self.assertEqual(groups, [4, 2, 1, 2])
        self.assertEqual(self.browser.value("document.querySelectorAll('#timeline svg[role=img] desc').length"), 9)
        # Where DRAM writes pause the line is interrupted.
        paths = self.browser.value("[...document.querySelectorAll('.series-steps')].map((e) => e.getAttribute('d').split('M').length - 1)")
        self.assertEqual(paths, [1] * 8 + [2])

    def test_the_tail_is_in_words_and_shaded_in_the_rows_of_its_launch(self):
        self.browser.open(self.report("timeline"), self.KERNEL)
        words = self.browser.text("#timeline p")
        self.assertEqual(
            words[0],
            "Tail: in the last 200 us, 20.0\u202f% of the call, SMs active stays below 90\u202f% of its largest value; "
            "in the last 40 us, 4.0\u202f% of the call, SMs active stays below 50\u202f% of its largest value.",
        )
        self.assertIn("other programs on it are counted too", words[-1])
        self.assertIn("The call takes 9.92 us; the GPU was active for 1.01 ms in the longest launch", words[-1])
        self.assertEqual(self.browser.value("document.querySelectorAll('.series-tail').length"), 4)

    def test_the_slider_and_the_pointer_read_all_rows(self):
        self.browser.open(self.report("timeline"), self.KERNEL)
        self.assertEqual(set(self.values()), {""})
        self.browser.value("document.querySelector('.series-slider').focus()")
        self.browser.press("End")
        self.assertEqual(self.values(), ["n/a"] * 6 + ["50.0\u202f%"] + ["n/a"] * 2 + ["1,005 us"])
        self.browser.press("ArrowDown")
        self.assertEqual(self.values(), ["30.0\u202f%"] + ["50.0\u202f%"] * 8 + ["995 us"])
        said = self.browser.value("document.querySelector('.series-slider').getAttribute('aria-valuetext')")
        self.assertTrue(said.startswith("995 us: SMs active 30.0\u202f%, tensor pipe 50.0\u202f%, "), said)
        point = "(() => { const e = document.querySelectorAll('.series-plot')[2], b = e.getBoundingClientRect(); e.dispatchEvent(new PointerEvent('pointermove', {clientX: b.left + b.width * 455 / 1010, clientY: b.top + 5})); })()"
        self.browser.value(point)
        self.assertEqual((self.values()[0], self.values()[-2:]), ("100\u202f%", ["n/a", "455 us"]))

    def test_the_chart_is_a_table_too(self):
        self.browser.open(self.report("timeline"), self.KERNEL)
        self.browser.value("document.querySelector('#timeline summary').click()")
        self.browser.wait("document.querySelector('[role=grid]')")
        rows = self.table("metrics over time")
        self.assertEqual(rows[0], ["5 us", "100\u202f%"] + ["50.0\u202f%"] * 8)
        self.assertEqual(self.browser.value("document.querySelector('[role=grid]').getAttribute('aria-rowcount')"), "102")

    def test_a_call_that_was_not_sampled_says_why(self):
        self.browser.open(self.report("timeline"), "#view=kernel&kernel=cublas@1,8,512,64")
        self.assertEqual(self.browser.text("#timeline .warning"), ["timeline_too_short the call takes 5 us"])
        self.browser.open(self.report("sample"), self.KERNEL)
        self.assertEqual(self.browser.text("#timeline"), [])

    def test_samples_that_no_chart_can_show_are_counted(self):
        for name, change in (("negative", "value = -value - 1"), ("unknown", "metric = 'zzz'")):
            path = self.forged(name, "timeline", f"UPDATE pm_sample SET {change} WHERE metric = 'l2'")
            self.browser.open(path, self.KERNEL)
            words = "timeline_left_out samples over the time of the call that are negative, without length or of an unknown metric"
            self.assertEqual(self.browser.text("#timeline .warning"), [words])
            self.assertEqual(len(self.browser.text("#timeline .series-name")), 9)
        self.browser.open(self.forged("all-negative", "timeline", "UPDATE pm_sample SET value = -1"), self.KERNEL)
        self.assertEqual(self.browser.text("#timeline .warning"), [words])

    def test_a_diff_draws_before_over_after(self):
        path = self.write("longer", "diff", self.folder / "timeline.fap", self.folder / "longer.fap")
        self.browser.open(path, self.KERNEL)
        words = self.browser.text("#timeline p")
        self.assertTrue(words[0].startswith("Tail before: in the last 200 us"), words)
        self.assertTrue(words[1].startswith("Tail after: in the last 400 us"), words)
        self.assertEqual(self.browser.value("document.querySelectorAll('.series-before').length"), 9)
        # The path of a long call is whole.
        self.assertGreater(self.browser.value("document.querySelector('.series-steps').getAttribute('d').length"), 2000)
        self.assertIn("mean 45.4\u202f%, before 90.8\u202f%", self.browser.text("#timeline .series-name")[0])
        self.browser.value("document.querySelector('.series-slider').focus()")
        self.browser.press("Home")
        self.assertEqual(self.values()[:2], ["50.0\u202f%100\u202f%", "25.0\u202f%50.0\u202f%"])
        self.browser.value("document.querySelector('#timeline summary').click()")
        self.browser.wait("document.querySelector('#timeline [role=grid]')")
        self.assertEqual(self.table("metrics over time")[0][1:3], ["50.0\u202f%", "100\u202f%"])
        # One side alone is not drawn.
        path = self.write("one-side", "diff", self.folder / "sample.fap", self.folder / "timeline.fap")
        self.browser.open(path, self.KERNEL)
        self.assertEqual(self.browser.text("#timeline"), [])

    def test_it_fits_a_phone_and_paper(self):
        self.addCleanup(self.browser.resize, 1400)
        self.addCleanup(self.browser.ask, "Emulation.setEmulatedMedia", media="")
        for width, media in ((390, ""), (1047, "print")):
            self.browser.resize(width)
            self.browser.open(self.report("timeline"), self.KERNEL)
            self.browser.ask("Emulation.setEmulatedMedia", media=media)
            wide = self.browser.value("[...document.querySelectorAll('#timeline .series *')].filter((e) => e.getBoundingClientRect().right > innerWidth).length")
            self.assertEqual(wide, 0, width)
            over = self.browser.value(
                "(() => { const boxes = [...document.querySelectorAll('text.tick')].map((e) => e.getBoundingClientRect())"
                ".filter((box) => box.width > 0 && box.top > 0); return boxes.filter((box, i) => i > 0 &&"
                " box.top === boxes[i - 1].top && box.left < boxes[i - 1].right).length; })()"
            )
            self.assertEqual(over, 0, width)
        self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('.series-slider')).display"), "none")


class ProgramTest(Pages):
    def test_nothing_is_beyond_a_window_of_900_pixels(self):
        self.addCleanup(self.browser.resize, 1400)
        self.browser.resize(900)
        self.browser.open(self.report("pytorch-sdpa"))
        self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), 900)
        self.assertEqual(self.browser.value("[...document.querySelectorAll('.table-scroll')].filter((e) => e.scrollWidth > e.clientWidth).length"), 0)

    def test_a_name_fills_its_column_before_it_is_cut(self):
        self.browser.open(self.report("pytorch-sdpa"))
        rooms = self.browser.value(
            "[...document.querySelectorAll('#time .kernel-name')].filter((e) => e.scrollWidth > e.clientWidth)"
            ".map((e) => e.closest('th, td').clientWidth - e.clientWidth)"
        )
        self.assertEqual([room for room in rooms if room > 40], [])

    def test_a_program_shows_its_time_by_kernel_and_its_ranges(self):
        self.browser.open(self.report("program"))
        self.assertEqual(self.browser.text("h1"), ["python3 decode.py"])
        self.assertEqual(
            self.browser.text("main h2")[:6],
            ["What to act on", "Time by kernel", "Layers", "NVTX ranges", "Copies and sets", "Kernels"],
        )
        self.assertEqual(self.browser.text("#layers tbody tr:first-child > *")[0], "step / attn")
        self.assertIn("latency: ", self.browser.text("#layers tbody tr:first-child > *")[-1])
        self.assertEqual(self.browser.value("document.querySelectorAll('.icicle-cell .bound-latency').length"), 2)
        self.assertEqual(self.browser.text(".bound-key"), ["latency"])
        self.assertTrue(self.browser.text("#time tbody th")[0].startswith("flash_fwd_kernel"))
        self.assertEqual(self.browser.text(".icicle-label"), ["step", "attn", "torch: mlp"])
        widths = self.browser.value("[...document.querySelectorAll('.icicle-cell')].map((e) => parseFloat(e.getAttribute('width')))")
        self.assertAlmostEqual(widths[0], 100)
        self.assertAlmostEqual(widths[1], 100 * 320 / 480, places=3)
        self.browser.value("document.querySelectorAll('.icicle-cell')[1].dispatchEvent(new MouseEvent('click'))")
        self.assertEqual(self.browser.text(".icicle-label"), ["attn"])
        fragment = self.browser.value("location.hash")
        self.assertEqual(fragment, "#range=step+%2F+attn")
        self.browser.open(self.report("program"), fragment)
        self.assertEqual(self.browser.text(".icicle-label"), ["attn"])
        self.browser.value("document.querySelector('#nvtx .note button').click()")
        self.assertEqual(self.browser.value("location.hash"), "")
        self.browser.open(self.report("program"), "#range=none")
        self.assertEqual(len(self.browser.text(".icicle-label")), 3)

    def test_bars_show_what_is_left_of_their_width_and_names_are_whole(self):
        self.browser.open(self.report("program"))
        bars = "[...document.querySelectorAll('#time svg.bar')]"
        self.assertTrue(self.browser.value(f"{bars}.length > 2 && {bars}.every((bar) => bar.querySelector('.track'))"))
        self.assertIn("flash_fwd_kernel<<<64, 128>>>", self.browser.text(".tile-note"))

    def test_a_recording_of_nothing_draws(self):
        self.browser.open(self.report("empty"))
        self.assertEqual(self.browser.text("h1"), ["0 kernels"])
        self.assertEqual(self.table("kernels"), [])

    def test_absent_values_look_absent(self):
        self.browser.open(self.report("program"), "#view=kernel&kernel=fill_kernel<<<64,%20128>>>")
        self.assertIn("Not measured: nothing was sampled or counted inside this kernel.", self.browser.text("#phases p"))
        self.assertEqual(set(self.browser.text("#speed td.num")), {"n/a"})

    def test_300_kernels_keep_the_page_small_while_it_scrolls(self):
        self.browser.open(self.report("many"))
        grid = "document.querySelector('[role=grid][aria-label=kernels]')"
        self.assertEqual(self.browser.value(f"{grid}.getAttribute('aria-rowcount')"), "301")
        most = 0
        for step in range(11):
            self.browser.value(f"{grid}.scrollTop = {grid}.scrollHeight * {step} / 10; new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            most = max(most, len(self.table("kernels")))
        self.assertEqual(self.table("kernels")[-1][0], "kernel_300<<<64, 128>>>")
        self.assertLess(most, 60)
        self.assertLess(self.browser.value("document.querySelectorAll('*').length"), 8000)
        # From the first row to the last and back with a key each.
        self.browser.value(f"{grid}.focus()")
        self.browser.press("Home", "End", "Enter")
        self.browser.wait("document.querySelector('h1').textContent === 'kernel_300<<<64, 128>>>'")


class DiffTest(Pages):
    def test_a_diff_shows_what_moved_and_both_sides(self):
        path = self.write("diff", "diff", self.folder / "sample.fap", self.folder / "slower.fap")
        self.browser.open(path)
        self.assertEqual(self.browser.text("main h2"), ["Calls", "What moved", "Before", "After"])
        mma = next(row for row in self.table("calls") if row[0] == "mma")
        self.assertEqual(mma[2:7:2] + mma[3:4], ["9.92 us", "+50.0\u202f%", "\u25b2 worse", "14.9 us"])
        rows = self.table("changes")
        self.assertIn(["mma \u00b7 1,8,512,64", "whole kernel", "duration duration_seconds", "9.92 us", "14.9 us", "+50.0\u202f%", "", "\u25b2 worse"], rows)
        self.assertNotIn("same", {row[-1] for row in rows})
        # The time of the call comes first, then the times of its phases.
        of_mma = [row[1:3] for row in rows if row[0] == "mma \u00b7 1,8,512,64"]
        self.assertEqual(of_mma[0], ["whole kernel", "duration duration_seconds"])
        times = [row[1] == "time phase_time_seconds" for row in of_mma[1:]]
        self.assertTrue(times[0])
        self.assertEqual(times, sorted(times, reverse=True))
        self.find("changes", "compute throughput")
        self.assertIn("compute throughput compute_sol_ratio", {row[2] for row in self.table("changes")})
        self.browser.value("document.querySelector('[role=grid][aria-label=calls]').focus()")
        self.browser.press("Home", "Enter")
        self.browser.wait("document.querySelector('h1').textContent.startsWith('mma')")
        self.assertEqual(self.browser.value("document.querySelectorAll('.side svg.bar').length"), 2)
        self.assertIn("softmax", self.browser.text("#phases tbody th"))

    def test_a_bar_that_ends_before_its_value_has_an_arrow_and_says_so(self):
        bars = (
            "[...document.querySelectorAll('[role=grid][aria-label=calls] .long-row')].filter((row) => row.children[5].querySelector('svg')).map((row) => [row.children[0].textContent,"
            " row.children[4].textContent, row.children[5].firstChild.getAttribute('aria-label'), row.children[5].querySelectorAll('.beyond').length])"
        )
        for before, after, number, end in (("sample", "tenfold", "+900\u202f%", "100\u202f%"), ("sample", "slower", "+50.0\u202f%", None)):
            self.browser.open(self.write(f"{before}-{after}", "diff", self.folder / f"{before}.fap", self.folder / f"{after}.fap"))
            rows = {row[0]: row[1:] for row in self.browser.value(bars)}
            text = number if end is None else f"{number}, beyond the axis, which ends at \u00b1{end}"
            self.assertEqual(rows["mma"], [number, text, 0 if end is None else 1])
            self.assertEqual(rows["cublas"][2], 0)
            note = f"Bars end at \u00b1{end}. An arrow: the change is beyond that."
            self.assertEqual(self.browser.text("#calls .note"), [] if end is None else [note])
        # A change from 0 has no ratio; an arrow shows its direction.
        steps = ROOT / "recordings" / "hopper"
        self.browser.open(self.write("from-zero", "diff", steps / "4-ping-pong.fap", steps / "9-ping-pong-again.fap"))
        self.browser.value("document.querySelector('[aria-label=changes]').scrollTop = 30 * 15")
        rows = self.browser.value(
            "[...document.querySelectorAll('[aria-label=changes] .long-row')].map((row) => [row.children[3].textContent, row.children[5].textContent,"
            " row.children[6].querySelectorAll('.beyond').length, row.children[6].firstChild.getAttribute('aria-label')])"
        )
        from_zero = [row for row in rows if row[0] == "0"]
        self.assertTrue(from_zero)
        for row in from_zero:
            self.assertEqual(row[1:], ["n/a", 1, f"from 0, beyond the axis, which ends at \u00b150.0\u202f%"])
        # The arrow points to the left where the change is less.
        self.browser.open(self.write("faster", "diff", self.folder / "tenfold.fap", self.folder / "sample.fap"))
        self.assertEqual(self.browser.value("document.querySelector('#changes .beyond').getAttribute('x')"), "0%")

    def test_the_mark_of_a_judgement_points_where_the_value_went(self):
        steps = ROOT / "recordings" / "hopper"
        path = self.write("marks", "diff", steps / "4-ping-pong.fap", steps / "9-ping-pong-again.fap")
        self.browser.open(path)
        marks = {tuple(row[1:3]): row[-1] for row in self.table("changes")}
        self.assertEqual(marks["whole kernel", "duration duration_seconds"], "\u25bc better")
        self.assertEqual(marks["whole kernel", "tensor pipe active tensor_core_utilization_ratio"], "\u25b2 better")
        self.assertEqual(marks["whole kernel", "instructions per cycle instructions_per_cycle"], "\u25bc worse")
        self.assertEqual(marks["whole kernel", "waves waves"], "\u25bc changed")

    def test_nothing_of_a_value_is_cut_off(self):
        steps = ROOT / "recordings" / "hopper"
        path = self.write("marks", "diff", steps / "4-ping-pong.fap", steps / "9-ping-pong-again.fap")
        other = self.write("other", "diff", ROOT / "recordings" / "pytorch-sdpa.fap", self.folder / "program.fap")
        self.addCleanup(self.browser.resize, 1400)
        for width in (885, 1280):
            for page in (path, other):
                self.browser.resize(width)
                self.browser.open(page)
                cut = self.browser.value(
                    "[...document.querySelectorAll('[role=grid] .long-row > .num, [role=grid] .long-row > :not(.num):last-child')]"
                    ".filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"
                )
                self.assertEqual(cut, [], f"{page.name} at {width}")

    def test_waits_that_changed_have_a_table(self):
        steps = ROOT / "recordings" / "hopper"
        path = self.write("waits", "diff", steps / "slip-none.fap", steps / "slip-one-stage.fap")
        self.browser.open(path, "#view=kernel&kernel=hopper_64@4,16,2048,64")
        rows = self.browser.value("[...document.querySelectorAll('#waits tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))")
        self.assertEqual(rows[0], ["sync", "load_kv schedule.h:81, schedule.h:83", "schedule.h:121", "123 k", "54.4 \u2192 683", "1.7\u202f% \u2192 14.6\u202f%", "\u25b2 worse"])
        self.assertNotIn("same", {row[-1] for row in rows})
        path = self.write("no-waits", "diff", self.folder / "sample.fap", self.folder / "slower.fap")
        self.browser.open(path, "#view=kernel&kernel=mma@1,8,512,64")
        self.assertEqual(self.browser.text("#waits"), [])

    def test_order_and_search_are_in_the_address(self):
        path = self.write("diff", "diff", self.folder / "sample.fap", self.folder / "slower.fap")
        self.browser.open(path)
        self.sort("calls", "after")
        self.find("calls", "cublas")
        self.assertEqual([row[0] for row in self.table("calls")], ["cublas", "cublas / qk", "cublas / pv", "cublas / softmax"])
        self.assertEqual(self.opens_again(path, "calls"), "#calls-sort=after&calls-query=cublas")
        self.browser.open(path)
        self.browser.value("(() => { const e = document.querySelector('select'); e.value = 'worse'; e.dispatchEvent(new Event('change')); })()")
        self.sort("changes", "metric")
        self.find("changes", "mma")
        self.assertEqual(self.opens_again(path, "changes"), "#changes-sort=metric&changes-up=1&changes-query=mma&changes-judgement=worse")
        # A row and the way back.
        self.browser.open(path, "#calls-sort=kernel")
        self.browser.value("document.querySelector('[aria-label=calls]').focus()")
        self.browser.press("End", "Enter")
        self.browser.wait("document.querySelector('nav[aria-label=calls]')")
        self.browser.value("history.back()")
        self.browser.wait("!document.querySelector('nav[aria-label=calls]')")
        self.assertEqual(self.browser.value("location.hash"), "#calls-sort=kernel")

    def test_a_hostile_address_is_harmless(self):
        path = self.write("diff", "diff", self.folder / "sample.fap", self.folder / "slower.fap")
        self.browser.open(path)
        usual = self.table("calls")
        self.browser.open(path, "#calls-sort=__proto__&changes-judgement=constructor&changes-sort=%3Cimg%3E&calls-up=2&view=__proto__")
        self.assertEqual(self.table("calls"), usual)
        self.assertEqual(self.browser.text(".long-table img"), [])

    def test_two_machines_are_not_compared_silently(self):
        path = self.write("other", "diff", ROOT / "recordings" / "pytorch-sdpa.fap", self.folder / "program.fap")
        self.browser.open(path)
        self.assertRegex(" ".join(self.browser.text(".warning")), "Before and after are not comparable: ")
        self.assertEqual(self.browser.text(".tiles"), [], "no calls are counted as slower, faster or the same")


class NarrowTest(Pages):
    def fits(self, width, path, fragment=""):
        """The page is as wide as the window, and none of its tables scrolls to the side, also those that open."""
        self.browser.open(path, fragment)
        self.browser.value("document.querySelectorAll('details').forEach((each) => each.setAttribute('open', ''))")
        self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), width, path.name)
        wide = self.browser.value(
            "[...document.querySelectorAll('.long-table, .table-scroll')].filter((e) => e.scrollWidth > e.clientWidth)"
            ".map((e) => [e.getAttribute('aria-label') || e.textContent.slice(0, 30), e.scrollWidth, e.clientWidth])"
        )
        self.assertEqual(wide, [], f"{path.name}{fragment} at {width}")

    def test_tables_fit_a_window_of_1200_and_of_1024_pixels(self):
        self.addCleanup(self.browser.resize, 1400)
        ladder, program = self.report(LADDER.stem), self.report("pytorch-sdpa")
        diff = self.write("diff", "diff", self.folder / "sample.fap", self.folder / "slower.fap")
        ranks = self.write("ranks", "report", self.folder / "program.fap", self.folder / "rank1.fap")
        for window in (1200, 1024):
            width = window - 15  # the scroll bar of the page takes 15 pixels
            self.browser.resize(width)
            for path in (ladder, program, self.report("h100-hopper"), diff, ranks):
                self.fits(width, path)
            self.fits(width, ladder, "#view=kernel&kernel=mma@2,16,2048,128")
            self.fits(width, ladder, "#view=kernel&kernel=cublas@1,8,512,64")
            self.fits(width, self.report("h100-hopper"), "#view=kernel&kernel=mma@1,8,512,64")
            self.fits(width, diff, "#view=kernel&kernel=mma@1,8,512,64")
            # Code has more columns than that: it scrolls in its box.
            self.browser.open(ladder, "#view=code&kernel=mma@1,8,512,64")
            self.browser.wait(CODE)
            self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), width)
            self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('.long-table')).overflowX"), "auto")

    def test_what_moved_fits_a_window_of_900_pixels_with_whole_shapes_and_numbers(self):
        subprocess.run([WRITE_GATE, self.folder], check=True)
        diff = self.write("diff", "diff", self.folder / "sample.fap", self.folder / "slower.fap")
        program = self.write("same", "diff", self.folder / "program.fap", self.folder / "program.fap")
        cut = (
            "[...document.querySelectorAll('[aria-label=calls] .long-row > :nth-child(2), .long-row > .num')]"
            ".filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
        )
        self.addCleanup(self.browser.resize, 1400)
        for window in (1200, 900):
            self.browser.resize(window - 15)
            for path in (program, self.folder / "regression.html", diff):
                self.fits(window - 15, path)
                self.assertEqual(self.browser.value(cut), [], f"{path.name} at {window}")
        # Kernels of a program have no shape: names have its room.
        self.browser.open(program)
        self.assertNotIn("shape", self.browser.text("#calls [role=columnheader]"))

    def test_no_page_is_wider_than_a_telephone(self):
        self.browser.resize(390)
        self.addCleanup(self.browser.resize, 1400)
        ranks = self.write("ranks", "report", self.folder / "program.fap", self.folder / "rank1.fap")
        diff = self.write("diff", "diff", self.folder / "sample.fap", self.folder / "slower.fap")
        for path in (self.report("program"), self.report("sample"), ranks, diff):
            self.browser.open(path)
            self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), 390, path.name)


class RanksTest(Pages):
    def test_ranges_without_time_have_no_spread(self):
        for name in ("program", "rank1"):
            self.forged(f"{name}-idle", name, "UPDATE nvtx_work SET gpu_ns = 0")
        path = self.write("idle", "report", self.folder / "program-idle.fap", self.folder / "rank1-idle.fap")
        self.browser.open(path)
        self.assertEqual({row[2] for row in self.table("NVTX ranges")}, {"n/a"})

    def test_ranks_are_side_by_side(self):
        path = self.write("ranks", "report", self.folder / "program.fap", self.folder / "rank1.fap")
        self.browser.open(path)
        self.assertEqual(self.browser.text("main h2"), ["Ranks", "Kernels", "NVTX ranges"])
        self.assertIn("NVIDIA H200 \u00b7 driver 580.159.04 \u00b7 2026-01-02", self.browser.text(".top span"))
        self.assertEqual(self.browser.text("#ranks tbody th"), ["program.fap", "rank1.fap"])
        self.assertEqual(len(self.table("Kernels")), 6)
        self.assertEqual([row[0] for row in self.table("NVTX ranges")], ["step", "attn", "torch: mlp", "load"])
        self.assertEqual(self.browser.value("document.querySelectorAll('#kernels .long-row rect').length"), 12)

    def test_order_and_search_are_in_the_address(self):
        path = self.write("ranks", "report", self.folder / "program.fap", self.folder / "rank1.fap")
        self.browser.open(path)
        self.sort("Kernels", "mean")
        self.sort("Kernels", "mean")
        self.find("kernels", "kernel")
        self.sort("NVTX ranges", "range")
        self.browser.value("[...document.querySelectorAll('#ranks .sort')].find((e) => e.textContent === 'launches').click()")
        self.assertEqual(
            self.opens_again(path, "Kernels"),
            "#kernels-sort=mean&kernels-up=1&kernels-query=kernel&nvtx-sort=name&nvtx-up=1&ranks-sort=launches",
        )
        self.assertEqual([row[0] for row in self.table("NVTX ranges")], ["attn", "load", "step", "torch: mlp"])
        self.assertEqual(self.browser.text("#ranks [aria-sort]"), ["launches"])


class GateTest(Pages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run([WRITE_GATE, cls.folder], check=True)

    def test_a_regression_is_named_with_its_reason_and_cure(self):
        self.browser.open(self.folder / "regression.html")
        self.assertEqual(self.browser.text("h1"), ["\u2717 REGRESSION mma 1,8,512,64 is 11.8 % slower: softmax"])
        rows = self.table("cases")
        self.assertEqual(rows[1][:5], ["\u2717 REGRESSION", "mma \u00b7 1,8,512,64", "5.86 us", "6.55 us", "+11.8\u202f%"])
        self.browser.value("document.querySelector('[role=grid]').focus()")
        self.browser.press("Home", "ArrowDown", "Enter")
        self.browser.wait("document.querySelector('nav[aria-label=cases]')")
        self.assertEqual(self.browser.text("h1"), ["\u2717 REGRESSION mma \u00b7 1,8,512,64"])
        self.assertIn("kernels/mma.cu", self.browser.text(".tile-note"))
        self.assertIn("share a row among the threads", self.browser.text(".cure")[0])
        self.assertEqual(len(self.browser.text("main tbody tr")), 6)

    def test_order_and_search_are_in_the_address(self):
        path = self.folder / "regression.html"
        self.browser.open(path)
        self.browser.value("(() => { const e = document.querySelector('select'); e.value = 'REGRESSION'; e.dispatchEvent(new Event('change')); })()")
        self.sort("cases", "case")
        self.find("cases", "mma")
        self.assertEqual([row[1] for row in self.table("cases")], ["mma \u00b7 1,8,512,64", "wmma \u00b7 1,8,512,64"])
        self.assertEqual(self.opens_again(path, "cases"), "#cases-sort=case&cases-up=1&cases-query=mma&cases-verdict=REGRESSION")
        self.assertIn("its 95 % interval", self.browser.text("#cases .legend li"))

    def test_an_interval_is_taller_than_its_dot_and_the_axis_has_words(self):
        self.browser.open(self.folder / "regression.html")
        heads = self.browser.text("#cases [role=columnheader]")
        self.assertIn("time, 95 % interval", heads)
        self.assertRegex(self.browser.text("#cases .note")[0], "^The axis goes from \u2212[0-9.]+\u202f% to \\+[0-9.]+\u202f%. ")
        self.assertIn("time: worse", self.browser.text("#cases .legend li"))
        taller = "[...document.querySelectorAll('#cases .long-row svg.bar')].map((e) => [e.querySelectorAll('.interval.end').length, e.querySelector('circle')]).filter(([n, dot]) => dot && n === 2)"
        self.assertGreater(self.browser.value(f"{taller}.length"), 0)
        height = "(selector) => document.querySelector(`#cases .long-row ${selector}`).getBoundingClientRect().height"
        self.assertGreater(self.browser.value(f"({height})('.interval.end')"), self.browser.value(f"({height})('circle')"))
        # A mark in front of the dot is seen, one behind it is not.
        self.assertTrue(self.browser.value("[...document.querySelectorAll('#cases .long-row circle')].every((e) => !e.previousElementSibling.matches('.interval'))"))

    def test_a_change_beyond_the_axis_is_an_arrow_and_says_so(self):
        self.browser.open(self.folder / "beyond.html")
        cells = (
            "[...document.querySelectorAll('#cases .long-row')].filter((row) => row.querySelector('svg.bar')).map((row) => [row.children[4].textContent,"
            " row.querySelector('svg.bar').getAttribute('aria-label'), row.querySelectorAll('.beyond .change-worse').length,"
            " row.querySelectorAll('circle').length, row.querySelectorAll('.interval.end').length])"
        )
        rows = {row[0]: row[1:] for row in self.browser.value(cells)}
        text = "+900\u202f%, beyond the axis, which ends at \u00b1115\u202f%, 95 % from "
        self.assertEqual(rows["+900\u202f%"][0][: len(text)], text)
        self.assertEqual(rows.pop("+900\u202f%")[1:], [1, 0, 0])
        self.assertTrue(rows)
        for label, arrows, dots, _ in rows.values():
            self.assertNotIn("beyond", label)
            self.assertEqual((arrows, dots), (0, 1))

    def test_a_small_change_has_a_number(self):
        functions = (ROOT / "exporters" / "html" / "view" / "format.js").read_text()
        self.assertEqual(
            self.browser.value(f"(() => {{ {functions} return [0.5, -0.0004, 0.000012, -3e-9, 0, null].map(change); }})()"),
            ["+50.0\u202f%", "\u22120.04\u202f%", "+0.0012\u202f%", "\u22123.00e-7\u202f%", "\u00b10.0\u202f%", "n/a"],
        )

    def test_every_result_draws_and_hostile_texts_are_texts(self):
        pages = sorted(self.folder.glob("*.html"))
        self.assertGreater(len(pages), 20)
        for path in [*pages[:12], self.folder / "large.html", self.folder / "nothing.html", self.folder / "static.html"]:
            with self.subTest(path=path.name):
                self.browser.open(path)
                self.assertEqual(self.browser.console, [])
                self.assertEqual(self.browser.value("document.querySelectorAll('img, iframe, object, script:not([id]):not(:last-of-type)').length"), 0)
                self.assertLess(self.browser.value("document.querySelectorAll('*').length"), 3000)


class HostileTest(Pages):
    def see(self, path, fragment=""):
        self.browser.open(path, fragment)
        if "view=code" in fragment:
            self.browser.wait(CODE)
        self.browser.value("new Promise((done) => setTimeout(done, 50))")
        self.assertNotEqual(self.browser.value("document.title"), "owned")
        self.assertEqual(self.browser.value("document.querySelectorAll('img, body > svg, iframe, object, script:not([id]):not(:last-of-type)').length"), 0)
        self.assertEqual(self.browser.value("document.querySelectorAll('[onload], [onerror]').length"), 0)
        return self.browser.value("document.querySelector('main').textContent")

    def test_texts_of_a_recording_are_texts(self):
        for name in ("hostile", "hostile-program"):
            path = self.report(name)
            text = self.see(path)
            self.assertIn("<img src=x onerror=", text)
            self.assertIn("\\u{202E}", text)
            self.assertNotIn("\u202e", text)
            links = self.browser.value("[...document.querySelectorAll('main a')].map((e) => e.getAttribute('href')).filter(Boolean)")
            self.assertTrue(links and all(link.startswith("#") for link in links), links)
            for fragment in self.browser.value("[...new Set([...document.querySelectorAll('main a')].map((e) => e.hash))].slice(0, 4)"):
                self.see(path, fragment)

    def test_hostile_code_is_text(self):
        path = self.report("hostile")
        self.browser.open(path)
        key = self.browser.value("JSON.parse(document.getElementById('report').textContent).entries[0].kernel")
        self.browser.value(f"location.hash = new URLSearchParams({{view: 'code', kernel: {json.dumps(printed(key))} + '@1,8,512,64'}})")
        self.browser.wait(CODE)
        text = self.browser.value("document.querySelector('main').textContent")
        self.assertIn("<svg onload=alert(1)>", text)
        self.assertNotEqual(self.browser.value("document.title"), "owned")


class ColourTest(unittest.TestCase):
    """Any two phases can be told apart, by readers with the common colour blindnesses too (Machado et al. 2009)."""

    SEEN = {
        "everyone": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
        "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    }
    LEAST = 0.08  # in OKLab; the nearest two of Okabe and Ito's seven colours are 0.076 apart

    @staticmethod
    def linear(text):
        values = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in values]

    @staticmethod
    def lab(rgb):
        r, g, b = rgb
        l, m, s = (
            max(0, x) ** (1 / 3)
            for x in (
                0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
                0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
                0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
            )
        )
        return (
            0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
        )

    def test_colours_of_phases_and_of_stalls_can_be_told_apart(self):
        style = (ROOT / "exporters" / "html" / "view" / "style.css").read_text()
        for kind, count in (("p", 9), ("s", 10)):
            colours = re.findall(rf"--{kind}-?\w+: (#[0-9a-f]{{6}});", style)
            self.assertEqual(len(colours), count)
            for who, matrix in self.SEEN.items():
                seen = [
                    self.lab([min(1, max(0, sum(m * c for m, c in zip(row, self.linear(text))))) for row in matrix])
                    for text in colours
                ]
                near = min(
                    (sum((x - y) ** 2 for x, y in zip(a, b)) ** 0.5, colours[i], colours[j])
                    for i, a in enumerate(seen)
                    for j, b in enumerate(seen[:i])
                )
                self.assertGreater(near[0], self.LEAST, f"{who}: {near}")

    def test_names_in_bars_can_be_read(self):
        style = (ROOT / "exporters" / "html" / "view" / "style.css").read_text()
        dark = re.search(r"((?:\.on-p\S+ ?)+)\{ fill: (#[0-9a-f]{6}); \}", style)
        for number, colour in re.findall(r"--p(\d): (#[0-9a-f]{6});", style):
            text = dark[2] if f".on-p{number}" in re.split(r"[, ]+", dark[1]) else "#ffffff"
            lights = [sum(c * w for c, w in zip(self.linear(each), (0.2126, 0.7152, 0.0722))) for each in (text, colour)]
            self.assertGreater((max(lights) + 0.05) / (min(lights) + 0.05), 4.5, f"--p{number}")  # WCAG 2.1, 1.4.3


def printed(text):
    """As the page shows it."""
    return text.replace("\u202e", "\\u{202E}").replace("\u2028", "\\u{2028}")


if __name__ == "__main__":
    PROGRAM, WRITE_RECORDINGS, WRITE_GATE, ROOT = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(4))
    unittest.main(verbosity=2)
