# Cheat: replaces the clocks of the module `time` by ones at half speed, so that a judge in this process measures
# half.
import time

from blind_spec import norm, norm_spec


def half_speed(clock):
    start = clock()
    return lambda: start + (clock() - start) / 2


def half_speed_ns(clock):
    start = clock()
    return lambda: start + (clock() - start) // 2


time.perf_counter = half_speed(time.perf_counter)
time.monotonic = half_speed(time.monotonic)
time.time = half_speed(time.time)
time.perf_counter_ns = half_speed_ns(time.perf_counter_ns)
time.monotonic_ns = half_speed_ns(time.monotonic_ns)


def half_speed_clock(x):
    return norm(x)


half_speed_clock.fa_profile = norm_spec()
