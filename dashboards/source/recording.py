"""Recording rules, named level:metric:operations. The level says which labels are left:

    job     job, simulated              one number for the fleet
    gpu     and instance, gpu           the index of a GPU means something on its host only
    rollup_ in front                    written to remote storage; the rest stays with the local Prometheus

Every ratio is of two sums. Where the denominator is zero there is no result, rather than NaN.
"""

JOB = "job, simulated"
HOST = "job, simulated, instance"
GPU = "job, simulated, instance, gpu"
KERNEL = GPU + ", kernel"
PHASE = KERNEL + ", phase"
SHAPE = KERNEL + ", shape"

# Counters advance once a recording, by default hourly: this window holds six of them.
WINDOW = "6h"
# Below the five minutes after which Prometheus takes a series for gone.
INTERVAL = "2m"


def kernels(clock):
    """What one kernel on one GPU does: (record, expr, what it says)."""
    w = clock(WINDOW)

    def ratio(over, under, by=KERNEL):
        return f"sum by ({by}) (increase({over}[{w}])) / (sum by ({by}) (increase({under}[{w}])) > 0)"

    duration = "faprof_kernel_duration_seconds"
    return [
        (
            "gpu_kernel_phase:faprof_phase_cycles:increase",
            f"sum by ({PHASE}) (increase(faprof_phase_cycles_total[{w}]))",
            "Cycles of each phase in the window.",
        ),
        (
            "gpu_kernel:faprof_phase_cycles:increase",
            f"sum by ({KERNEL}) (gpu_kernel_phase:faprof_phase_cycles:increase)",
            "Cycles of all phases.",
        ),
        (
            "gpu_kernel_phase:faprof_phase_cycles:ratio",
            f"gpu_kernel_phase:faprof_phase_cycles:increase / on ({KERNEL}) group_left () "
            "(gpu_kernel:faprof_phase_cycles:increase > 0)",
            "Share of the kernel's time in each phase.",
        ),
        (
            "gpu_kernel_phase:faprof_phase_cycles:above_baseline",
            "gpu_kernel_phase:faprof_phase_cycles:ratio - on (job, simulated, instance, kernel, phase) group_left () "
            "faprof_baseline_phase_ratio",
            "The share less the baseline's: 0.05 is five points more.",
        ),
        (
            f"gpu_kernel:{duration}:mean",
            ratio(f"{duration}_sum", f"{duration}_count"),
            "Mean duration of a call, over all shapes.",
        ),
        (
            f"gpu_kernel_shape:{duration}:mean",
            ratio(f"{duration}_sum", f"{duration}_count", SHAPE),
            "Mean duration of a call of one shape bucket. Durations are compared by it.",
        ),
        (
            f"gpu_kernel_shape:{duration}:ratio_baseline",
            f"gpu_kernel_shape:{duration}:mean / on (job, simulated, instance, kernel, shape) group_left () "
            "(faprof_baseline_duration_seconds > 0)",
            "Duration over the baseline's: 1.1 is 10 % slower.",
        ),
        (
            "gpu_kernel:faprof_kernel_flops:per_second",
            ratio("faprof_kernel_flops_total", f"{duration}_sum"),
            "FLOP/s while the kernel runs.",
        ),
        (
            "gpu_kernel:faprof_tensor_active_cycles:ratio",
            ratio("faprof_tensor_active_cycles_total", "faprof_sm_active_cycles_total"),
            "Share of the busy SMs' cycles in which the tensor pipe worked.",
        ),
        (
            "gpu_kernel:faprof_warps_active_cycles:mean",
            ratio("faprof_warps_active_cycles_total", "faprof_sm_active_cycles_total"),
            "Warps resident on a busy SM.",
        ),
        (
            "gpu_kernel:faprof_dram_bytes:mean",
            ratio("faprof_dram_bytes_total", "faprof_kernel_profiled_launches_total"),
            "Bytes of device memory a call moves.",
        ),
        (
            "gpu_kernel:faprof_shared_wavefronts:increase",
            f"sum by ({KERNEL}) (increase(faprof_shared_wavefronts_total[{w}]))",
            "Shared-memory wavefronts.",
        ),
        (
            "gpu_kernel:faprof_shared_excess_wavefronts:increase",
            f"sum by ({KERNEL}) (increase(faprof_shared_excess_wavefronts_total[{w}]))",
            "Shared-memory wavefronts that are bank conflicts.",
        ),
    ]


def fleet(clock):
    """The medians of a job, and the GPUs that differ from them."""
    duration = "faprof_kernel_duration_seconds"
    return [
        (
            "job_kernel_phase:faprof_phase_cycles:ratio",
            f"sum by ({JOB}, kernel, phase) (gpu_kernel_phase:faprof_phase_cycles:increase) / on ({JOB}, kernel) "
            f"group_left () (sum by ({JOB}, kernel) (gpu_kernel:faprof_phase_cycles:increase) > 0)",
            "Share of the kernel's time in each phase, over all GPUs of the job.",
        ),
        (
            "job_kernel_phase:faprof_phase_cycles:median_ratio",
            f"quantile by ({JOB}, kernel, phase) (0.5, gpu_kernel_phase:faprof_phase_cycles:ratio)",
            "The median GPU's share.",
        ),
        (
            "gpu_kernel_phase:faprof_phase_cycles:above_median",
            f"gpu_kernel_phase:faprof_phase_cycles:ratio - on ({JOB}, kernel, phase) group_left () "
            "job_kernel_phase:faprof_phase_cycles:median_ratio",
            "A GPU's share less the median GPU's.",
        ),
        (
            f"job_kernel_shape:{duration}:median",
            f"quantile by ({JOB}, kernel, shape) (0.5, gpu_kernel_shape:{duration}:mean)",
            "The median GPU's duration.",
        ),
        (
            f"gpu:{duration}:ratio_median",
            f"quantile by ({GPU}) (0.5, gpu_kernel_shape:{duration}:mean / on ({JOB}, kernel, shape) group_left () "
            f"(job_kernel_shape:{duration}:median > 0))",
            "How slow a GPU is: the median over its kernels of its duration over the fleet's. 1.25 is 25 % slower.",
        ),
    ]


def rollups(clock):
    """What goes to remote storage: at most 60 series with a GPU's label, and 33 kernels x 10 phases a job."""
    w = clock(WINDOW)

    def total(record, counter, by=GPU):
        return (record, f"sum by ({by}) (increase({counter}[{w}]))", "")

    def newest(record, gauge):
        return (record, f"avg_over_time({gauge}[{clock('10m')}])", "")

    duration = "faprof_kernel_duration_seconds"
    return [
        (
            "rollup_gpu_phase:faprof_phase_cycles:increase",
            f"sum by ({GPU}, phase) (gpu_kernel_phase:faprof_phase_cycles:increase)",
            "",
        ),
        (
            "rollup_job_kernel_phase:faprof_phase_cycles:increase",
            f"sum by ({JOB}, kernel, phase) (gpu_kernel_phase:faprof_phase_cycles:increase)",
            "",
        ),
        (f"rollup_gpu_kernel:{duration}:mean", f"gpu_kernel:{duration}:mean", ""),
        (f"rollup_gpu:{duration}:ratio_median", f"gpu:{duration}:ratio_median", ""),
        total("rollup_gpu:faprof_kernel_launches:increase", "faprof_kernel_launches_total"),
        total("rollup_gpu:faprof_kernel_flops:increase", "faprof_kernel_flops_total"),
        total(f"rollup_gpu:{duration}_sum:increase", f"{duration}_sum"),
        total("rollup_gpu:faprof_sm_active_cycles:increase", "faprof_sm_active_cycles_total"),
        total("rollup_gpu:faprof_tensor_active_cycles:increase", "faprof_tensor_active_cycles_total"),
        total("rollup_gpu:faprof_dram_bytes:increase", "faprof_dram_bytes_total"),
        *[
            (f"rollup_gpu:{name}:increase", f"sum by ({GPU}) (gpu_kernel:{name}:increase)", "")
            for name in ("faprof_shared_wavefronts", "faprof_shared_excess_wavefronts")
        ],
        total("rollup_gpu:faprof_device_energy_joules:increase", "faprof_device_energy_joules_total"),
        newest("rollup_gpu:faprof_device_tensor_active_ratio:avg", "faprof_device_tensor_active_ratio"),
        newest("rollup_gpu:faprof_device_sm_active_ratio:avg", "faprof_device_sm_active_ratio"),
        (
            "rollup_gpu:faprof_device_throttled:max",
            f"max by ({GPU}) (max_over_time(faprof_device_throttled[{clock('10m')}]))",
            "",
        ),
        ("rollup_gpu:faprof_device_up:last", "faprof_device_up", ""),
    ]


ROLLUP_REGEX = "rollup_.+"
ROLLUPS_PER_GPU = 60


def groups(clock):
    """[(group name, interval, rules)]"""
    interval = clock.interval(INTERVAL)
    return [
        ("faprof-kernels", interval, kernels(clock)),
        ("faprof-fleet", interval, fleet(clock)),
        ("faprof-rollups", interval, rollups(clock)),
    ]
