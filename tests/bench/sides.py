"""Programs that time steps of a workload, and how two of them are compared."""

import math
import os
import statistics
import subprocess
import tempfile
import typing

from peers import BENCH, last_line, pin

ROOT = BENCH.parents[1]

ROUND = 500  # milliseconds that a side works before it is the other's turn
HOPELESS = 1.2  # what is this much slower than the best peer after three pairs is not timed further


def build(*programs):
    """Builds benchmarks and says where they are."""
    run = lambda *command: subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "--preset", "bench", "--log-level=WARNING", "-DREEL_TESTS=OFF")
    run("cmake", "--build", "--preset", "bench", "-j", str(os.cpu_count()), "--target", *programs)
    return ROOT / "build/bench/bin"


class DoesNotRun(Exception):
    """What the program said last."""


class Side:
    """A program with the arguments and the line of results of workload_bench, which reads how many steps to take."""

    def __init__(self, name, command, threads, environment=None):
        self.name, self.errors = name, tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, env=environment, preexec_fn=pin(threads))
        self.first = self.run(1)
        self.steps = math.ceil(ROUND / self.first["ms"])

    def run(self, steps):
        """{"loss": 4.2, "ms": 92.5, ...}, after so many more steps."""
        try:
            print(steps, file=self.process.stdin, flush=True)
            words = self.process.stdout.readline().split()
        except BrokenPipeError:
            words = []
        if not words:
            self.process.wait()
            self.errors.seek(0)
            raise DoesNotRun(last_line(self.errors.read()))
        return {key: float(value) for key, value in zip(words[::2], words[1::2])}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Comparison(typing.NamedTuple):
    """Medians over pairs of runs."""
    name: str  # of the other side
    ratio: float  # of its time to Reel's, in each pair
    ms: float
    reel_ms: float
    mib: float
    pairs: int


def compare_sides(reel, other, pairs, best_ratio=math.inf):
    """Runs both in turn. The one that begins changes, too."""
    times, ratios = {reel: [], other: []}, []
    for pair in range(pairs):
        for side in (reel, other) if pair % 2 == 0 else (other, reel):
            side.last = side.run(side.steps)
            times[side].append(side.last["ms"])
        ratios.append(other.last["ms"] / reel.last["ms"])
        if pair == 2 and statistics.median(ratios) > HOPELESS * best_ratio:
            break
    return Comparison(other.name, statistics.median(ratios), statistics.median(times[other]),
                      statistics.median(times[reel]), other.last["mib"], len(ratios))
