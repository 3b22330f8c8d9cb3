#!/usr/bin/env python3
"""Nsight Compute with a GPU that is not there: prints rules as `ncu --page details --csv` does, by the kernel that
fa_ladder_once would launch. FAKE_NCU=fails: what it prints where counters are forbidden."""

import csv
import os
import sys

COLUMNS = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
           "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type",
           "Estimated Speedup"]  # fmt: skip
PIPES = ("HighPipeUtilization", "OPT", "All compute pipelines are under-utilized. Either this workload is very small or it doesn't issue "
         "enough warps per scheduler. Check the Launch Statistics and Scheduler Statistics sections for further details.", "local", "96.3")  # fmt: skip
RULES = {
    "serial_softmax": [
        ("SOLBottleneck", "OPT", "This workload exhibits low compute throughput and memory bandwidth utilization.", "", ""),
        ("CPIStall", "OPT", "On average, each warp of this workload spends 14.2 cycles being stalled waiting for sibling warps at a CTA\n"
         "barrier. A high number of warps waiting at a barrier is commonly caused by diverging code paths.", "global", "63.9"),
        PIPES,
    ],
    "wmma": [PIPES, ("SharedMemoryConflicts", "OPT", "The memory access pattern for shared stores might not be optimal.", "global", "21.5")],
    "mma": [("CPIStall", "OPT", "each warp of this workload spends 2.1 cycles being stalled on a fixed latency execution dependency", "global", "31.1")],
}  # fmt: skip


def main():
    words = sys.argv[1:]
    if os.environ.get("FAKE_NCU") == "fails":
        print("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters")
        sys.exit(1)
    name = words[words.index("--rungs") + 1]
    print(f"==PROF== Connected to process 1\n==PROF== Profiling \"{name}\" - 0: 0%....50%....100% - 44 passes\n{name} 4,16,1024,64")
    print("==PROF== Disconnected from process 1")
    table = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
    table.writerow(COLUMNS)
    kernel = ["0", "1", "fa_ladder_once", "127.0.0.1", name, "1", "7", "(128, 1, 1)", "(1024, 1, 1)", "0", "9.0"]
    table.writerow([*kernel, "GPU Speed Of Light Throughput", "Duration", "us", "190.40", "", "", "", "", ""])
    for rule in RULES.get(name, []):
        table.writerow([*kernel, "Section", "", "", "", *rule])


if __name__ == "__main__":
    main()
