"""The board about the fleet, and what all boards share."""

from source.panels import Board, bars, series, stat, table
from source.recording import GPU, KERNEL

ZERO_IS_GOOD = [(None, "green"), (1, "red")]
SHARE = "gpu_kernel_phase:faprof_phase_cycles:ratio"
INCREASE = "gpu_kernel_phase:faprof_phase_cycles:increase"
DURATION = "faprof_kernel_duration_seconds"
SOFTMAX_BOUND = 'faprof_kernel_phase_ratio{*, phase="softmax"} > bool 0.5'
WHERE = {"instance": "instance", "gpu": "GPU"}


def simulated():
    return stat(
        "Simulated hosts",
        "Hosts in view whose data are simulated from a recording, not measured. n/a: all data are measured. "
        "The variable Data chooses.",
        "none",
        "count(faprof_simulation_info{*})",
        thresholds=[(None, "purple")],
    )


def fleet():
    return Board(
        "fleet",
        "Fleet",
        "Which kernels the fleet runs, what they wait for, and which GPUs differ.",
        ["kernel"],
        [
            stat("Hosts up", "Exporters that answered the last scrape.", "none", "sum(up{*})"),
            stat(
                "Hosts down",
                "Exporters that did not answer the last scrape.",
                "none",
                "sum(up{*} == bool 0)",
                thresholds=ZERO_IS_GOOD,
            ),
            stat("GPUs", "GPUs that answer NVML.", "none", "sum(faprof_device_up{*})"),
            stat(
                "Wrong results",
                "Kernels, counted per GPU, whose newest verification against the float64 reference failed.",
                "none",
                "sum(faprof_kernel_correct{*} == bool 0)",
                thresholds=ZERO_IS_GOOD,
            ),
            stat(
                "Softmax-bound",
                "Kernels whose softmax takes more than half of the time at a bucket of shapes in the newest recording, "
                "and on how many GPUs.",
                "none",
                (f"sum(max by (kernel) ({SOFTMAX_BOUND}))", "kernels"),
                (f"sum(max by ({GPU}) ({SOFTMAX_BOUND}))", "GPUs"),
                thresholds=ZERO_IS_GOOD,
            ),
            simulated(),
            table(
                "Alerts firing",
                "Alerts of fa-profile that fire now. n/a: no alert fires, or Prometheus has not loaded the rules.",
                "none",
                {"alertname": "alert", "severity": "severity", "kernel": "kernel", "phase": "phase", **WHERE},
                (
                    "",
                    "count by (alertname, severity, kernel, phase, instance, gpu) "
                    '(ALERTS{job=~"$job", instance=~"$instance", '
                    'simulated=~"$simulated", alertname=~"Faprof.*", alertstate="firing"})',
                ),
                width=24,
                height=7,
            ),
            series(
                "Time by kernel",
                "Share of the profiled cycles of all GPUs in each kernel.",
                "percentunit",
                (
                    "sum by (kernel) (gpu_kernel:faprof_phase_cycles:increase{*}) / on () group_left () "
                    "(sum(gpu_kernel:faprof_phase_cycles:increase{*}) > 0)",
                    "{{kernel}}",
                ),
                stack=True,
                minimum=0,
                maximum=1,
                links=[("Kernel", "faprof-kernel")],
            ),
            series(
                "Time by phase",
                "Share of the profiled cycles of all kernels and GPUs in each phase.",
                "percentunit",
                (f"sum by (phase) ({INCREASE}{{*}}) / on () group_left () (sum({INCREASE}{{*}}) > 0)", "{{phase}}"),
                stack=True,
                minimum=0,
                maximum=1,
                links=[("Phases", "faprof-phases")],
            ),
            series(
                "Tensor pipe",
                "Share of the cycles in which the tensor pipe worked: of each kernel, the mean GPU (CUPTI); of all "
                "kernels and GPUs together; and of the devices, whatever they run (GPM).",
                "percentunit",
                ("avg by (kernel) (gpu_kernel:faprof_tensor_active_cycles:ratio{*})", "{{kernel}}"),
                (
                    "sum(rollup_gpu:faprof_tensor_active_cycles:increase{*}) / "
                    "(sum(rollup_gpu:faprof_sm_active_cycles:increase{*}) > 0)",
                    "all kernels",
                ),
                ("avg(rollup_gpu:faprof_device_tensor_active_ratio:avg{*})", "devices"),
                minimum=0,
            ),
            series(
                "Bank conflicts",
                "Share of the shared-memory wavefronts that are conflicts, over all GPUs: of each kernel, and of all.",
                "percentunit",
                (
                    "sum by (kernel) (gpu_kernel:faprof_shared_excess_wavefronts:increase{*}) / "
                    "(sum by (kernel) (gpu_kernel:faprof_shared_wavefronts:increase{*}) > 0)",
                    "{{kernel}}",
                ),
                (
                    "sum(rollup_gpu:faprof_shared_excess_wavefronts:increase{*}) / "
                    "(sum(rollup_gpu:faprof_shared_wavefronts:increase{*}) > 0)",
                    "all kernels",
                ),
                minimum=0,
            ),
            series(
                "Achieved occupancy",
                "Resident warps as a share of what an SM can hold: newest recording, mean over GPUs.",
                "percentunit",
                ("avg by (kernel) (faprof_kernel_achieved_occupancy_ratio{*})", "{{kernel}}"),
                minimum=0,
            ),
            series(
                "Softmax-bound kernels",
                "GPUs on which softmax takes more than half of the kernel's time at a bucket of shapes.",
                "none",
                (f"sum by (kernel) (max by ({KERNEL}) ({SOFTMAX_BOUND}))", "{{kernel}}"),
                minimum=0,
            ),
            bars(
                "Slowest GPUs",
                "Median over a GPU's kernels of its duration over that of the fleet's median GPU: 1.25 is 25 % "
                "slower. The ten slowest.",
                "none",
                f"topk(10, gpu:{DURATION}:ratio_median{{*}})",
                "{{instance}} GPU {{gpu}}",
                thresholds=[(None, "green"), (1.15, "red")],
                decimals=3,
                links=[("GPU", "faprof-gpu")],
            ),
            table(
                "Slowest GPUs over the range",
                "The same as a list, with a link to the GPU: now, and the most within the range.",
                "none",
                WHERE,
                ("now", f"topk(20, gpu:{DURATION}:ratio_median{{*}})"),
                (
                    "most",
                    f"max_over_time(gpu:{DURATION}:ratio_median{{*}}[$__range]) and on (job, simulated, instance, gpu) "
                    f"topk(20, gpu:{DURATION}:ratio_median{{*}})",
                ),
                sort="now",
                decimals=3,
                links=[("GPU", "faprof-gpu")],
            ),
            series(
                "Throttled GPUs",
                "GPUs whose clocks are reduced, by reason.",
                "none",
                ("sum by (reason) (faprof_device_throttled{*})", "{{reason}}"),
                minimum=0,
            ),
            series(
                "Power",
                "Power that the GPUs draw, and the sum of their limits.",
                "watt",
                ("sum(faprof_device_power_watts{*})", "drawn"),
                ("sum(faprof_device_power_limit_watts{*})", "limit"),
                dashed="limit",
                minimum=0,
            ),
            table(
                "Inventory",
                "GPUs by name and driver.",
                "none",
                {"name": "GPU", "driver": "driver", "compute_capability": "compute capability"},
                ("count", "count by (name, driver, compute_capability) (faprof_gpu_info{*})"),
                height=6,
            ),
            table(
                "Simulations",
                "The recording behind the simulated data.",
                "none",
                {"instance": "instance", "hosts": "hosts", "recording": "recording"},
                ("", "count by (instance, hosts, recording) (faprof_simulation_info{*})"),
                height=6,
            ),
        ],
    )
