# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs call: puts arguments into the machine's memory, runs it, takes results out."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy
import tvm_ffi

from .isa import BYTES
from .simulator import Cycles, Simulator

#: Of the last run, for who asks: its layers, and what it took.
last: list[tuple[list[Any], Cycles]] = []


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
    last[:] = [(header["layers"], Simulator(dram, known).run(code))]
    for (address, *_), tensor in zip(outputs, tensors[len(inputs) :], strict=True):
        result = _bytes(tensor)
        result[...] = dram[address : address + len(result)]


def _bytes(tensor: Any) -> numpy.ndarray:
    """A tensor's memory, which numpy may have no type for."""
    flat = numpy.from_dlpack(tensor.view("int8") if "bfloat" in str(tensor.dtype) else tensor)
    return flat.reshape(-1).view(numpy.uint8)


def _size(shape: list[int], dtype: str) -> int:
    return int(numpy.prod(shape, dtype=int)) * BYTES[dtype]
