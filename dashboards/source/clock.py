"""Times in rules and their division: a drill that waited for real windows would take a day."""

import re

SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds_of(duration):
    match = re.fullmatch(r"(\d+)(ms|[smhdw])", duration)
    if not match:
        raise ValueError(f"not a duration: {duration}")
    return int(match[1]) * SECONDS[match[2]]


class Clock:
    """Durations for queries (`clock("6h")`), numbers for comparisons, waits and intervals, `speedup` times shorter.

    Windows and ages stay at least `shortest`, because a window must hold two scrapes and an age is never below the time
    between two; Prometheus evaluates no group more than once a second here.
    """

    def __init__(self, speedup=1, shortest="0s"):
        if not speedup >= 1:
            raise ValueError("a speed-up is 1 or more")
        self.speedup = speedup
        self.shortest = seconds_of(shortest)

    def _text(self, duration, least):
        if self.speedup == 1:
            return duration
        milliseconds = round(1000 * max(seconds_of(duration) / self.speedup, least))
        return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"

    def __call__(self, duration):
        return self._text(duration, self.shortest)

    def seconds(self, duration):
        return f"{max(seconds_of(duration) / self.speedup, self.shortest):g}"

    def wait(self, duration):
        return self._text(duration, 0) if duration else ""

    def interval(self, duration):
        return self._text(duration, 1)
