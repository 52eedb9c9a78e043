# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime that programs call: it copies arguments into the machine's memory, runs it, and copies results out."""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import numpy
import tvm_ffi
from relax_mlir.runtime import to_numpy

from .isa import BYTES
from .simulator import Cycles, Simulator


class Layer(NamedTuple):
    """Kernel of the model: cycles until all kernels up to this one had ended, and the array's share of them."""

    operators: str
    nodes: str
    cycles: int
    rows: int

    @property
    def utilisation(self) -> float:
        return self.rows / max(self.cycles, 1)


class Run(NamedTuple):
    """Cost of a call."""

    layers: list[Layer]
    cycles: Cycles

    def table(self) -> str:
        """Return the cycles, and the array's utilization, for each layer and in total."""
        whole = Layer("in all", "", self.cycles.total, int(self.cycles.rows.sum()))
        lines = [f"{'operators':<44} {'nodes':<28} {'cycles':>9}  array"]
        for layer in [*self.layers, whole]:
            operators = layer.operators.replace("relax.", "").replace("nn.", "")
            share = f"{layer.utilisation:5.0%}" if layer.rows else ""
            lines.append(f"{operators[:44]:<44} {layer.nodes[:28]:<28} {layer.cycles:>9}  {share}".rstrip())
        busy = ", ".join(f"{engine} {cycles / whole.cycles:.0%}" for engine, cycles in self.cycles.busy.items())
        return "\n".join([*lines, f"engines at work: {busy}"])


#: The last call, for inspection.
last: list[Run] = []
#: Cycles of all calls.
_cycles = [0]


def seconds() -> float:
    """Return the time of all calls by the machine's clock, with a cycle per nanosecond."""
    return _cycles[0] * 1e-9


@tvm_ffi.register_global_func("npu.run", override=True)
def run(program: Any, *tensors: Any) -> None:
    data = numpy.from_dlpack(program).tobytes()
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    code, constants = data[4 + length :][: header["code"]], data[4 + length + header["code"] :]
    dram = numpy.zeros(header["size"], numpy.uint8)
    dram[: len(constants)] = numpy.frombuffer(constants, numpy.uint8)
    inputs, outputs = header["inputs"], header["outputs"]
    for (address, *_), tensor in zip(inputs, tensors, strict=False):
        given = _bytes(tensor)
        dram[address : address + len(given)] = given
    known = max([len(constants), *(address + _size(*rest) for address, *rest in inputs)])
    cycles = Simulator(dram, known).run(code)
    ends = [first for _, _, first in header["layers"][1:]] + [len(cycles.at)]
    begun = zip(header["layers"], ends, strict=False)
    layers = [Layer(*names, *cycles.between(first, end)) for (*names, first), end in begun]
    last[:] = [Run(layers, cycles)]
    _cycles[0] += cycles.total
    for (address, *_), tensor in zip(outputs, tensors[len(inputs) :], strict=True):
        result = _bytes(tensor)
        result[...] = dram[address : address + len(result)]


def _bytes(tensor: Any) -> numpy.ndarray:
    return to_numpy(tensor).reshape(-1).view(numpy.uint8)


def _size(shape: list[int], dtype: str) -> int:
    return int(numpy.prod(shape, dtype=int)) * BYTES[dtype]
