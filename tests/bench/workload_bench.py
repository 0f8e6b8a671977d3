"""Times training steps (forward, backward, clipping to norm 1, Adam) of a workload: the twin of workload_bench.cpp.

    workload_bench.py NAME THREADS STEPS FILE [VARIANT]

FILE has weights and batch, as workload_bench leaves them; the other arguments and the line of results are as there.
VARIANT is plain (attention spelt out) or sdpa (PyTorch's fused attention); "+compile" puts torch.compile around it.
"""

import pathlib
import resource
import statistics
import sys
import sysconfig
import time

import torch
from torch import nn
from torch.nn import functional as F

sys.path.append(str(pathlib.Path(__file__).parents[1] / "golden"))

from common import read
from workloads import WORKLOADS, attention


def adam(parameters):
    """With one pass over memory, where PyTorch can do that on a CPU."""
    version = tuple(int(number) for number in torch.__version__.split(".")[:2])
    return torch.optim.Adam(parameters, lr=1e-4, **({"fused": True} if version >= (2, 4) else {"foreach": True}))


def compiled(function):
    # What this links must be this PyTorch's libraries, not those of another one among the system's.
    sysconfig.get_config_vars()["LIBDIR"] = str(pathlib.Path(torch.__file__).parent / "lib")
    return torch.compile(function)


class Training:
    def __init__(self, workload, state, variant):
        attend, *compile = variant.split("+")
        count = sum(key.startswith("batch.") for key in state)
        batch = [state.pop(f"batch.{i}").long() for i in range(count)]
        tensors = workload.inputs + 1
        self.parts = [batch[i:i + tensors] for i in range(0, count, tensors)]
        self.model = workload.model(attention if attend == "plain" else F.scaled_dot_product_attention)
        self.model.load_state_dict(state)
        self.loss = lambda *inputs, goal: workload.loss(self.model(*inputs), goal) / len(self.parts)
        if compile:
            self.loss = compiled(self.loss)
        self.optimizer = adam(self.model.parameters())

    def step(self):
        """Loss and norm of the gradient."""
        total = 0
        for *inputs, goal in self.parts:
            loss = self.loss(*inputs, goal=goal)
            loss.backward()
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0).item()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total, norm

    def median_milliseconds(self, steps):
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times)


def main():
    name, threads, steps, file, variant = sys.argv[1:5] + (sys.argv[5:] or ["plain"])
    torch.set_num_threads(int(threads))
    torch.set_flush_denormal(True)
    training = Training(WORKLOADS[name], read(pathlib.Path(file)), variant)
    loss, norm = training.step()
    training.step()
    for count in sys.stdin if steps == "-" else [steps]:
        milliseconds = training.median_milliseconds(int(count))
        mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"loss {loss:.7g} norm {norm:.7g} ms {milliseconds:.2f} mib {mib:.1f}", flush=True)


if __name__ == "__main__":
    main()
