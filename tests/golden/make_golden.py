#!/usr/bin/python3
"""Makes the golden files: small vectors computed by PyTorch, with which Reel's tests compare.

    /usr/bin/python3 tests/golden/make_golden.py     # Debian's python3-torch; rewrites the .safetensors beside it

What goes in (inputs, weights, cotangents) is drawn by Python's own generator, which gives the same numbers everywhere,
and rounded to f32. What comes out is computed in f64. So one reference serves both of Reel's types, and both start from
exactly the same numbers.
"""

import platform

import torch

from common import rng, write
from layers import functions, layers
from models import models
from operations import operations
from optimizers import optimizers
from translators import translators

print(f"Python {platform.python_version()}, PyTorch {torch.__version__}, {platform.machine()}")
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
for make in operations, functions, layers, models, translators, optimizers:
    rng.seed(make.__name__)  # so that a new case changes its own file alone
    write(f"{make.__name__}.safetensors", make())
