#!/usr/bin/python3
"""Loads in PyTorch what Reel saves: every model, by name and strictly, and compares what both make of the same texts.

    /usr/bin/python3 tests/golden/exchange.py build/release/bin/reel_tests

The other direction needs no PyTorch: the golden tests load its weights by name.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import torch

import models
import translators
from common import read

TOLERANCE = 1e-5  # of the largest magnitude, in f32

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], "exchange: *"], check=True,
                   env={**os.environ, "REEL_EXCHANGE": folder}, stdout=subprocess.DEVNULL)
    for name, make in {**models.MODELS, **translators.MODELS}.items():
        state = read(pathlib.Path(folder) / f"{name}.safetensors")
        expected = read(pathlib.Path(folder) / f"{name}.expected.safetensors")
        module = make().float()
        module.load_state_dict(state, strict=True)
        texts = [expected[key].long() for key in sorted(expected) if key.startswith("ids.")]
        with torch.no_grad():
            output = module(*texts)
        error = ((output - expected["output"]).abs().max() / expected["output"].abs().max()).item()
        assert error <= TOLERANCE, f"{name}: the outputs differ by {error:.1e}"
        print(f"{name}: {len(state)} tensors loaded by name, outputs within {error:.1e}")
