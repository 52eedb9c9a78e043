# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with planned memory, compiled by their stated plan, and random graphs that share much memory."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
from relax_mlir.bindings.mlir import string_array
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.ir_attributes import MEMORY

import relax_mlir as rx
from relax_mlir import relax

_WIDTH = 16  # of which a row is as long as places are apart
_UNARY = "exp negative tanh abs".split()
_KINDS = "unary unary binary flip flip softmax norm product scatter scatter split slice concat view joined".split()
_BINARY = "add subtract multiply maximum".split()


def finished(module: rx.Module, level: int, target: str = "llvm") -> Any:
    stages = rx.stages(target, level).between("bufferize").replace("bufferize", "relax-lower-calls")
    return rx.compile(module, target, pipeline=stages, opt_level=level)


def planned(module: rx.Module, level: int, target: str = "llvm") -> rx.Module:
    copied = rx.Module.parse(str(module))
    rx.stages(target, level).between("", "apply").run(copied, "llvm")  # which has the options
    rx.Pipeline("tir-bufferize,relax-plan-memory").run(copied)
    return copied


def set_apart(module: rx.Module) -> rx.Module:
    """Return a module with each tensor in memory of its own."""
    copied = module.copy()
    with copied.context:
        for op in operations_in(copied.operation):
            if MEMORY in op.attributes:
                op.attributes[MEMORY] = string_array(["own" if text.value else "" for text in op.attributes[MEMORY]])
    return copied


def random_graph(random: Random, length: int | str, width: int = _WIDTH) -> rx.Module:
    """Build a graph of operators that may and may not write over their operands, and that split and join tensors."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((length, width)), "y": rx.tensor((4, width))}) as f:
        values = list(f)
        for _ in range(random.randint(2, 14)):
            values += _step(random, values)
        f.returns(*random.choices(values[2:], k=random.randint(1, 3)))
    return module


def _rows(value: Any) -> Any:
    return decode(value.type).shape[0]


def _step(random: Random, values: list[Any]) -> list[Any]:
    # Mostly the last value: then the lifetime of an operand often ends there.
    x = values[-1] if random.random() < 0.5 else random.choice(values)
    rows, width = decode(x.type).shape
    kind = random.choice(_KINDS)
    if kind == "unary":
        return [rx.find_op(f"relax.{random.choice(_UNARY)}")(relax.tanh(x))]
    if kind == "binary":
        other = random.choice([each for each in values if _rows(each) == rows])
        return [rx.find_op(f"relax.{random.choice(_BINARY)}")(x, other)]
    if kind == "flip":
        return [relax.flip(x, axis=random.randint(0, 1))]
    if kind == "softmax":
        return [relax.nn.softmax(x, axis=random.randint(0, 1))]
    if kind == "norm":
        return [relax.subtract(x, relax.mean(x, axis=[random.randint(0, 1)], keepdims=True))]
    if kind == "product":
        return [relax.matmul(x, relax.const(numpy.eye(width, k=1, dtype="float32")))]
    if kind == "scatter" and isinstance(rows, int):
        places = numpy.array([[random.randrange(rows) for _ in range(width)]])
        updates = relax.const(numpy.arange(width, dtype="float32")[None])
        reduction = random.choice(["update", "add"])
        return [relax.scatter_elements(x, relax.const(places), updates, axis=0, reduction=reduction)]
    if kind == "split" and isinstance(rows, int) and rows % 2 == 0:
        return list(relax.split(x, 2, axis=0))
    if kind == "slice" and isinstance(rows, int) and rows > 1:
        begin = random.randint(0, rows - 1)
        return [relax.strided_slice(x, axes=[0], begin=[begin], end=[random.randint(begin + 1, rows)])]
    if kind == "view":
        return [relax.exp(relax.reshape(relax.reshape(x, (-1,)), (rows, width)))]
    if kind == "joined":
        return [relax.concat([relax.reshape(relax.exp(relax.reshape(x, (-1,))), (rows, width)), x], axis=0)]
    parts = random.choices([*values, *values[-2:] * 4], k=random.randint(1, 2))
    return [relax.concat([x, *parts], axis=0)]
