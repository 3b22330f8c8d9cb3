"""What dashboards/deploy ships, held against the program and itself: deploy_test.py PROGRAM SOURCE

The units through systemd-analyze, the manifests against each other and against dashboards/, every command line against the
program's own help and then run, without capabilities, until its probes answer. No cluster and no systemd runs here.
"""
import functools
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import yaml

from support.processes import LONG, free_port, get, wait_for
from support.recordings import LADDER

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
DEPLOY = SOURCE / "dashboards" / "deploy"
SYSTEMD = DEPLOY / "systemd"
KUBERNETES = DEPLOY / "kubernetes"
SPOOL, STATE = "/var/spool/fa-profile", "/var/lib/fa-profile"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600, **options)


def unit(name):
    """{key: [values]} of a unit's sections together."""
    values = {}
    for line in (SYSTEMD / name).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            values.setdefault(key, []).append(value)
    return values


def environment(name):
    """NAME=VALUE lines of an environment file."""
    return dict(shlex.split(line)[0].split("=", 1) for line in (SYSTEMD / name).read_text().splitlines()
                if line and not line.startswith("#"))


def command_of(line, variables):
    """The words that systemd makes of an ExecStart=."""
    words = []
    for word in shlex.split(line):
        words += variables[word[1:]].split() if word.startswith("$") else [word.replace("%i", "0")]
    return words


@functools.cache
def resources(folder):
    """Every manifest that a kustomization names, as (file, document)."""
    found = []
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        path = folder / name
        if path.is_dir():
            found += resources(path)
        else:
            found += [(path, document) for document in yaml.safe_load_all(path.read_text())]
    return found


def manifest(kind):
    found = [document for _, document in resources(KUBERNETES / "base") if document["kind"] == kind]
    assert len(found) == 1, f"{len(found)} of kind {kind}"
    return found[0]


def pod():
    return manifest("DaemonSet")["spec"]["template"]["spec"]


def image_command():
    text = (DEPLOY / "Containerfile").read_text()
    return yaml.safe_load(re.search(r"^CMD (.*)$", text, re.M)[1])


def serve_commands():
    """Every way in which serve is started, by what starts it, without the program."""
    service = unit("fa-profile-exporter.service")
    network = unit("scrape-from-network.conf")
    variables = environment("exporter.env")
    return {"service": command_of(service["ExecStart"][0], variables)[1:],
            "service from the network": command_of(network["ExecStart"][-1], variables)[1:],
            "daemonset": pod()["containers"][0]["args"],
            "image": image_command()}


def names_of_options(words):
    return [word.split("=")[0] for word in words if word.startswith("-")]


class Units(unittest.TestCase):
    def test_systemd_analyze_verify_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in SYSTEMD.iterdir():
                if path.suffix in (".service", ".timer"):
                    text = path.read_text().replace("/usr/local/bin/fa-profile", PROGRAM)
                    (pathlib.Path(folder) / path.name).write_text(text)
            for path in sorted(pathlib.Path(folder).iterdir()):
                done = run("systemd-analyze", "verify", "--man=no", path)
                self.assertEqual((done.returncode, done.stdout), (0, ""), path.name)

    def test_systemd_rates_the_exposure_as_low(self):
        for name, most in (("fa-profile-exporter.service", 20), ("fa-profile-record@.service", 40)):
            done = run("systemd-analyze", "security", "--no-pager", "--offline=true", f"--threshold={most}", SYSTEMD / name)
            self.assertEqual(done.returncode, 0, done.stdout[-200:])

    def test_the_exporter_has_the_least_privilege(self):
        service = unit("fa-profile-exporter.service")
        for key, value in {"User": "fa-profile", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "",
                           "AmbientCapabilities": "", "ProtectSystem": "strict", "ProtectHome": "yes",
                           "DevicePolicy": "closed", "DeviceAllow": "char-nvidia* rw", "IPAddressDeny": "any",
                           "IPAddressAllow": "localhost", "Restart": "on-failure", "OOMPolicy": "continue",
                           "KillMode": "mixed", "StateDirectory": "fa-profile", "ReadWritePaths": SPOOL}.items():
            self.assertEqual(service[key], [value], key)
        self.assertEqual(service["SystemCallFilter"][0], "@system-service")
        for key in ("MemoryMax", "LimitNOFILE", "TasksMax", "TimeoutStopSec"):
            self.assertIn(key, service)
        for hides in ("PrivateDevices", "ProcSubset"):  # the GPUs, and what the driver says of itself
            self.assertNotIn(hides, service)

    def test_the_folders_are_those_of_the_units_and_of_their_user(self):
        line = [line.split() for line in (SYSTEMD / "fa-profile.tmpfiles").read_text().splitlines() if line[0] == "d"]
        self.assertEqual(line, [["d", SPOOL, "2770", "fa-profile", "fa-profile", "-"]])
        user = [line.split()[:2] for line in (SYSTEMD / "fa-profile.sysusers").read_text().splitlines() if line[0] == "u"]
        self.assertEqual(user, [["u", "fa-profile"]])
        for name in ("fa-profile-exporter.service", "fa-profile-record@.service"):
            self.assertEqual(unit(name)["ReadWritePaths"], [SPOOL])
            self.assertEqual(unit(name)["User"], ["fa-profile"])

    def test_recordings_come_as_often_as_serve_expects(self):
        self.assertEqual(unit("fa-profile-record@.timer")["OnCalendar"], ["hourly"])
        for name, words in serve_commands().items():
            if name != "image":
                self.assertIn("--recording-interval=1h", "=".join(words), name)


class Commands(unittest.TestCase):
    def test_serve_knows_every_option(self):
        text = run(PROGRAM, "serve", "--help").stdout
        for name, words in serve_commands().items():
            self.assertEqual(words[0], "serve", name)
            for option in names_of_options(words):
                self.assertRegex(text, rf"(?m)^ +{option}\b", name)

    def test_a_run_knows_every_option(self):
        text = run(PROGRAM, "--help").stdout
        service = unit("fa-profile-record@.service")
        default = shlex.split(service["Environment"][0])[0].split("=", 1)
        self.assertEqual(default, ["FA_PROFILE_RECORD_OPTIONS", environment("record.env")["FA_PROFILE_RECORD_OPTIONS"]])
        words = command_of(service["ExecStart"][0], dict([default]))
        for option in names_of_options(words):
            self.assertRegex(text, rf"(?m)^ +(-\w,)?{option}\b")

    def test_they_run_without_privileges_and_answer_their_probes(self):
        probes = {probe: pod()["containers"][0][probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
        for name in ("service", "daemonset"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                self.serve_until_ready(pathlib.Path(folder), serve_commands()[name], probes)

    def serve_until_ready(self, folder, words, probes):
        spool, state = folder / "spool", folder / "state"
        spool.mkdir()
        shutil.copy(LADDER, spool)
        port = free_port()
        words = [word.replace(SPOOL, str(spool)).replace(STATE, str(state)).replace("=:9407", f"=127.0.0.1:{port}")
                 for word in words]
        if not any(word.startswith("--listen") for word in words):
            words.append(f"--listen=127.0.0.1:{port}")
        without = ["setpriv", "--no-new-privs"]
        if os.geteuid() == 0:
            without += ["--inh-caps=-all", "--bounding-set=-all"]
        log = open(folder / "log", "w+")
        # As systemd and the kubelet start it: no HOME, and nothing of the caller's.
        process = subprocess.Popen([*without, PROGRAM, *words, "--no-nvml"], stdout=log, stderr=log,
                                   env={"STATE_DIRECTORY": str(state), "TMPDIR": "/nonexistent"})
        try:
            for path in probes.values():
                url = f"http://127.0.0.1:{port}{path}"
                wait_for(f"an answer of {url}", lambda url=url: process.poll() is not None or get(url) is not None)
                self.assertIsNone(process.poll(), (folder / "log").read_text())
            self.check_limits(get(f"http://127.0.0.1:{port}/metrics"))
            self.assertTrue((state / "exporter.json").exists())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(LONG), 0)
        finally:
            process.kill()
            process.wait()
            log.close()

    def check_limits(self, page):
        """Of one GPU, here; the limits are of eight."""
        monitor = manifest("ServiceMonitor")["spec"]
        lines = [line for line in page.decode().splitlines() if line and not line.startswith("#")]
        self.assertLess(8 * len(lines), monitor["sampleLimit"])
        self.assertLess(8 * len(page), 1e6 * int(monitor["bodySizeLimit"].removesuffix("MB")))
        labels = [re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line) for line in lines]
        # Beside these: the name, job, instance and namespace.
        self.assertLess(max(map(len, labels)) + 4, monitor["labelLimit"])
        self.assertLess(max(len(name) for line in labels for name, _ in line), monitor["labelNameLengthLimit"])
        self.assertLess(max(len(value) for line in labels for _, value in line), monitor["labelValueLengthLimit"])


class Manifests(unittest.TestCase):
    def test_each_is_an_object_of_its_namespace(self):
        found = resources(KUBERNETES / "overlays" / "example")
        self.assertEqual(sorted(document["kind"] for _, document in found),
                         ["DaemonSet", "Namespace", "NetworkPolicy", "PrometheusRule", "Service", "ServiceAccount",
                          "ServiceMonitor"])
        for path, document in found:
            self.assertTrue(document["apiVersion"] and document["metadata"]["name"], path)
            if document["kind"] != "Namespace":
                self.assertEqual(document["metadata"]["namespace"], manifest("Namespace")["metadata"]["name"], path)
        named = {path.name for path, _ in found}
        there = {path.name for path in (KUBERNETES / "base").glob("*.yaml")} - {"kustomization.yaml"}
        self.assertEqual(named, there)

    def test_the_pod_has_the_least_privilege(self):
        spec = pod()
        self.assertFalse(spec["automountServiceAccountToken"])
        self.assertFalse(manifest("ServiceAccount")["automountServiceAccountToken"])
        self.assertEqual(spec["serviceAccountName"], manifest("ServiceAccount")["metadata"]["name"])
        for shares in ("hostNetwork", "hostPID", "hostIPC"):
            self.assertNotIn(shares, spec)
        user = spec["securityContext"]
        self.assertTrue(user["runAsNonRoot"])
        self.assertEqual((user["runAsUser"], user["runAsGroup"]), (9407, 9407))
        self.assertEqual(user["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertIn("\nUSER 9407:9407\n", (DEPLOY / "Containerfile").read_text())
        container, = spec["containers"]
        context = container["securityContext"]
        self.assertEqual(context, {"allowPrivilegeEscalation": False, "privileged": False, "readOnlyRootFilesystem": True,
                                   "capabilities": {"drop": ["ALL"]}})
        for quantity in ("cpu", "memory"):
            self.assertIn(quantity, container["resources"]["limits"])
            self.assertIn(quantity, container["resources"]["requests"])
        self.assertNotIn("nvidia.com/gpu", container["resources"]["limits"])

    def test_it_sees_the_gpus_through_the_runtime(self):
        spec = pod()
        self.assertEqual(spec["runtimeClassName"], "nvidia")
        environment_of = {entry["name"]: entry["value"] for entry in spec["containers"][0]["env"]}
        self.assertEqual(environment_of, {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"})

    def test_folders_probes_and_ports_are_those_of_the_command(self):
        container, = pod()["containers"]
        arguments = dict(word.split("=", 1) for word in container["args"][1:])
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        self.assertEqual(mounts, {"spool": arguments["--spool"], "state": arguments["--state"]})
        self.assertEqual({volume["name"]: volume["hostPath"]["path"] for volume in pod()["volumes"]},
                         {"spool": SPOOL, "state": STATE})
        self.assertEqual(container["livenessProbe"]["httpGet"], {"path": "/healthz", "port": "metrics"})
        self.assertEqual(container["readinessProbe"]["httpGet"], {"path": "/readyz", "port": "metrics"})
        port, = container["ports"]
        self.assertEqual((port["name"], port["containerPort"]), ("metrics", int(arguments["--listen"].rpartition(":")[2])))
        service_port, = manifest("Service")["spec"]["ports"]
        self.assertEqual((service_port["port"], service_port["targetPort"]), (port["containerPort"], port["name"]))
        rule, = manifest("NetworkPolicy")["spec"]["ingress"]
        self.assertEqual([entry["port"] for entry in rule["ports"]], [port["name"]])
        endpoint, = manifest("ServiceMonitor")["spec"]["endpoints"]
        self.assertEqual((endpoint["port"], endpoint["path"]), (service_port["name"], "/metrics"))

    def test_they_select_each_other(self):
        spec = manifest("DaemonSet")["spec"]
        labels = spec["template"]["metadata"]["labels"]
        self.assertEqual(spec["selector"]["matchLabels"], labels)
        self.assertEqual(manifest("Service")["spec"]["selector"], labels)
        self.assertEqual(manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"], labels)
        self.assertEqual(manifest("NetworkPolicy")["spec"]["egress"], [])
        monitor = manifest("ServiceMonitor")["spec"]
        service = manifest("Service")["metadata"]["labels"]
        self.assertEqual(monitor["selector"]["matchLabels"], service)
        # Rules and dashboards know exporters by it.
        self.assertTrue(service[monitor["jobLabel"]].startswith("fa-profile"))

    def test_pods_that_are_not_ready_are_scraped(self):
        self.assertTrue(manifest("Service")["spec"]["publishNotReadyAddresses"])

    def test_limits_are_those_of_the_shipped_scrape_config(self):
        config = yaml.safe_load((SOURCE / "dashboards" / "prometheus.yml").read_text())
        job = next(job for job in config["scrape_configs"] if job["job_name"] == "fa-profile")
        monitor = manifest("ServiceMonitor")["spec"]
        for ours, theirs in (("sampleLimit", "sample_limit"), ("labelLimit", "label_limit"),
                             ("labelNameLengthLimit", "label_name_length_limit"),
                             ("labelValueLengthLimit", "label_value_length_limit"), ("bodySizeLimit", "body_size_limit")):
            self.assertEqual(monitor[ours], job[theirs], ours)
        endpoint, = monitor["endpoints"]
        self.assertEqual(endpoint["interval"], config["global"]["scrape_interval"])
        self.assertEqual(endpoint["scrapeTimeout"], config["global"]["scrape_timeout"])

    def test_rules_are_those_of_dashboards(self):
        done = run(sys.executable, "-B", KUBERNETES / "make_rules.py", "--check")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        spec = manifest("PrometheusRule")["spec"]
        rules = [group for path in sorted((SOURCE / "dashboards" / "rules").glob("*.yml"))
                 for group in yaml.safe_load(path.read_text())["groups"]]
        self.assertEqual(spec["groups"], rules)
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump(spec, file)
            file.flush()
            done = run("promtool", "check", "rules", file.name)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_patches_of_the_example_name_existing_fields(self):
        folder = KUBERNETES / "overlays" / "example"
        overlay = yaml.safe_load((folder / "kustomization.yaml").read_text())
        kinds = {document["kind"] for _, document in resources(KUBERNETES / "base")}
        for patch in overlay["patches"]:
            content = yaml.safe_load((folder / patch["path"]).read_text())
            if "target" in patch:
                self.assertLessEqual(set(patch["target"]["kind"].split("|")), kinds)
            else:
                base = manifest(content["kind"])["metadata"]
                self.assertEqual(content["metadata"], {key: base[key] for key in ("name", "namespace")})
                volumes = {volume["name"]: volume["hostPath"]["path"] for volume in content["spec"]["template"]["spec"]["volumes"]}
                self.assertEqual(volumes, {volume["name"]: volume["hostPath"]["path"] for volume in pod()["volumes"]})
        self.assertEqual([image["name"] for image in overlay["images"]], [pod()["containers"][0]["image"].split(":")[0]])


class Image(unittest.TestCase):
    def test_it_installs_what_the_program_links_and_nothing_else(self):
        text = (DEPLOY / "Containerfile").read_text().split("\nFROM ")[-1]
        listed = set(re.search(r"--no-install-recommends \\\n((?:.*\\\n)+)", text)[1].split("&&")[0].replace("\\", "").split())
        direct = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", PROGRAM).stdout))
        loaded = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", PROGRAM).stdout))
        # Every image's.
        others = ("ld-linux", "libc.so", "libm.so")
        files = [loaded[library] for library in direct if not library.startswith(others)]
        # By the folder's last part: /lib is /usr/lib, or not.
        done = run("dpkg", "-S", *["*/" + "/".join(file.rsplit("/", 2)[1:]) for file in files])
        self.assertEqual(done.returncode, 0, done.stdout)
        owners = {os.path.basename(path): package.split(":")[0] for package, path in re.findall(r"(\S+): (\S+)", done.stdout)}
        self.assertEqual(listed, {owners[os.path.basename(file)] for file in files})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
