"""The PyTorches of this machine, and what lets each of them run as fast as it can."""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import typing

BENCH = pathlib.Path(__file__).resolve().parent
OWN = BENCH.parents[1] / "build/peer/bin/python"  # as get_peer makes it


class Peer(typing.NamedTuple):
    python: str
    version: str
    blas: str
    gflops: float  # of its matrix product, 512 x 512
    mib: float  # of memory, once it is imported
    variants: typing.List[str]

    def describe(self, peak):
        return (f"PyTorch {self.version}: {self.blas}, {100 * self.gflops / peak:.0f} % of the multipliers' speed at "
                f"512 x 512; {self.mib:.0f} MiB of memory before it does anything")


def note(*words):
    """What happens meanwhile; results alone go to standard output."""
    print(*words, file=sys.stderr, flush=True)


def last_line(text):
    return text.strip().rpartition("\n")[2]


def processor():
    """Its name, and the list of what it can do."""
    about = pathlib.Path("/proc/cpuinfo").read_text()
    name, flags = (re.search(rf"^{key}\s*: (.*)", about, re.MULTILINE) for key in ("model name", "flags"))
    return name[1] if name else platform.machine(), flags[1].split() if flags else []


def siblings(core):
    """All numbers that stand for the same core, "3,11"."""
    path = pathlib.Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
    return path.read_text().strip() if path.exists() else str(core)


def pin(threads):
    """What a process does as its first act to stay on that many cores, which share no multipliers if there are enough."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < threads:
        sys.exit(f"--threads {threads}: only {len(cores)} cores can be used here")
    distinct, others, seen = [], [], set()
    for core in cores:
        (others if siblings(core) in seen else distinct).append(core)
        seen.add(siblings(core))
    return lambda: os.sched_setaffinity(0, (distinct + others)[:threads])


def at_full_speed(threads, folder):
    """The environment for a peer; `folder` must stay while it runs."""
    name, flags = processor()
    count = str(threads)
    environment = {**os.environ, "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count,
                   "OMP_PROC_BIND": "true", "OMP_PLACES": "cores", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    if "avx512f" in flags:
        environment.setdefault("OPENBLAS_CORETYPE", "SkylakeX")  # left to itself, it may take one without AVX-512
    if "AMD" in name:  # MKL keeps its fastest kernels for Intel's processors, and asks this function
        library = pathlib.Path(folder) / "mkl.so"
        subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", library], check=True, text=True,
                       input="int mkl_serv_intel_cpu_true(void) { return 1; }")
        environment["LD_PRELOAD"] = str(library)
    return environment


def find_peers(threads, environment):
    """Debian's PyTorch, and that of $PYTHON or else of get_peer, as far as they are there and worth a comparison."""
    peers = []
    for python in dict.fromkeys(["/usr/bin/python3", os.environ.get("PYTHON", str(OWN))]):
        if not os.path.exists(python):
            continue
        about = subprocess.run([python, BENCH / "about_torch.py", str(threads)], env=environment, text=True,
                               capture_output=True, preexec_fn=pin(threads))
        if about.returncode != 0:
            note(f"{python} is left out:", last_line(about.stderr))
            continue
        peer = Peer(str(python), **json.loads(about.stdout))
        if peer.blas:
            peers.append(peer)
        else:
            note(f"{python} is left out: its PyTorch runs on the reference BLAS, ten times slower than need be. "
                 "On Debian: apt-get install libopenblas0-openmp")
    return peers
