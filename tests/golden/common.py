"""What the parts of make_golden.py share: numbers to start from, cases, and the file format."""

import json
import math
import pathlib
import random
import struct

import torch

INF = math.inf

rng = random.Random(1)


def values(*numbers):
    """f64 numbers that f32 can hold."""
    return torch.tensor(numbers, dtype=torch.float32).double()


def normal(*shape, scale=1.0):
    return values(*(rng.gauss(0, scale) for _ in range(math.prod(shape)))).reshape(shape)


def positive(*shape):
    return values(*(rng.uniform(0.2, 3) for _ in range(math.prod(shape)))).reshape(shape)


def ids(count, *shape):
    """Integers below count."""
    return torch.tensor([rng.randrange(count) for _ in range(math.prod(shape))]).reshape(shape)


class Cases(dict):
    """Named tensors of functions: "add.broadcast.input.0", ".ids.0", ".output", ".cotangent", ".grad.0"."""

    def __call__(self, name, f, *inputs, indices=()):
        """f(inputs, indices), and the gradients of the inputs for a random cotangent, where there are any."""
        assert f"{name}.output" not in self, f"{name} is there twice"
        leaves = [x.clone().requires_grad_() for x in inputs]
        y = f(*leaves, *indices)
        self.update({f"{name}.input.{i}": x.float() for i, x in enumerate(inputs)})
        self.update({f"{name}.ids.{i}": index.float() for i, index in enumerate(indices)})
        self[f"{name}.output"] = y.double()
        if y.requires_grad:
            cotangent = normal(*y.shape)
            self[f"{name}.cotangent"] = cotangent.float()
            for i, dx in enumerate(torch.autograd.grad(y, leaves, cotangent, allow_unused=True)):
                self[f"{name}.grad.{i}"] = torch.zeros_like(inputs[i]) if dx is None else dx


def write(name, tensors):
    """A safetensors file beside this one: the header's length, the header in JSON, the numbers."""
    header, data = {"__metadata__": {"made_by": f"PyTorch {torch.__version__}"}}, b""
    for key, tensor in sorted(tensors.items(), key=lambda item: item[1].dtype == torch.float32):  # f64 first: aligned
        kind, code = ("F32", "f") if tensor.dtype == torch.float32 else ("F64", "d")
        raw = struct.pack(f"<{tensor.numel()}{code}", *tensor.detach().flatten().tolist())
        header[key] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (pathlib.Path(__file__).parent / name).write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{name}: {len(tensors)} tensors, {8 + len(text) + len(data)} bytes")


def read(path):
    """The tensors of a safetensors file, by name."""
    raw = path.read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    kinds = {"F32": torch.float32, "F64": torch.float64}
    result = {}
    for key, entry in header.items():
        first, last = entry["data_offsets"]
        numbers = torch.frombuffer(bytearray(raw[start + first:start + last]), dtype=kinds[entry["dtype"]])
        result[key] = numbers.reshape(entry["shape"])
    return result
