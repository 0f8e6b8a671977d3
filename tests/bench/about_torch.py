"""Says in a line of JSON what this PyTorch is: its version, its BLAS and how fast that multiplies matrices, what memory
it takes before anything is computed, and which variants of workload_bench.py it can run.

    about_torch.py THREADS
"""

import ctypes
import json
import os
import re
import resource
import sys
import time

import torch
from torch.nn import functional as F


def blas():
    """Its name; None for one that nobody would use who waits for results."""
    mkl = re.search(r"Math Kernel Library Version (\S+?)-", torch.__config__.show())
    if mkl:
        return f"MKL {mkl[1]}"
    try:
        library = ctypes.CDLL("libopenblas.so.0", mode=os.RTLD_NOLOAD)  # only if PyTorch has loaded it
    except OSError:
        return None
    library.openblas_get_config.restype = library.openblas_get_corename.restype = ctypes.c_char_p
    version = library.openblas_get_config().decode().split()[1]
    return f"OpenBLAS {version}, core {library.openblas_get_corename().decode()}"


def gflops(size=512, seconds=0.3):
    a, b = torch.randn(size, size), torch.randn(size, size)
    a @ b  # the first one may wait for threads to start
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    return 2e-9 * size ** 3 / best


memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
torch.set_num_threads(int(sys.argv[1]))
variants = ["plain"]
if hasattr(F, "scaled_dot_product_attention"):
    variants.append("sdpa")
if hasattr(torch, "compile"):
    variants += [f"{variant}+compile" for variant in variants]
print(json.dumps({"version": torch.__version__, "blas": blas(), "gflops": gflops(), "mib": memory,
                  "variants": variants}))
