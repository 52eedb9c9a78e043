# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegens that are registered for a while, and their patterns."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
from hypothesis import strategies as st
from relax_mlir.passes.core.external import CODEGENS
from relax_mlir.passes.graph.partition.codegen import Codegen, register_codegen
from relax_mlir.support import external_runtime

import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, wildcard

matmul, add, relu = is_op("relax.matmul"), is_op("relax.add"), is_op("relax.nn.relu")
product = matmul(wildcard(), wildcard())


class Native(Codegen):
    """Codegen that compiles a part with the target: a program in the program."""

    def compile(self, module: rx.Module, options: Mapping[str, str]) -> bytes:
        return pickle.dumps(rx.compile(module, opt_level=0, cache=False, jobs=1))

    def load(self, data: memoryview) -> dict[str, Callable[..., Any]]:
        program = pickle.loads(data)
        return {name: writing(program[name]) for name in program}


def writing(function: Callable[..., Any]) -> Callable[..., None]:
    """Return a function of inputs and outputs for a function that returns its results."""

    def write(*arguments: Any) -> None:
        count = len(inspect.signature(function).parameters)
        found = function(*arguments[:count])
        for result, place in zip(found if isinstance(found, tuple) else (found,), arguments[count:], strict=True):
            numpy.from_dlpack(place)[...] = numpy.from_dlpack(result)

    return write


@contextmanager
def codegen(rows: Sequence[Any], name: str = "npu", base: type[Codegen] = Native, **members: Any) -> Iterator[str]:
    """Register a codegen with these patterns for the duration of the context."""
    made = type("Npu", (base,), {"patterns": rows, **members})
    try:
        register_codegen(name)(made)
        yield name
    finally:
        CODEGENS.entries.pop(name, None)
        external_runtime._RUNTIMES.entries.pop(name, None)


def built(body: Callable[..., Any], *shapes: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes or [(4, 4), (4, 4)]]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


@st.composite
def rows(draw: Any) -> list[Any]:
    """Draw patterns of the operators of random graphs, some with repeats, options and alternatives."""
    heads = [
        product,
        is_op("relax.nn.conv2d")(wildcard(), is_const(), ...),
        is_op("relax.reshape")(wildcard(), ...),
        is_op("relax.nn.softmax"),
        add(wildcard(), wildcard()),
    ]
    made = []
    for number in range(draw(st.integers(1, 4))):
        pattern: Any = draw(st.sampled_from(heads))
        if draw(st.booleans()):
            pattern = pattern.optional(lambda y: add(y, wildcard()))
        if draw(st.booleans()):
            pattern = pattern.repeated(lambda y: relu(y) | is_op("relax.tanh", "relax.sigmoid")(y), most=2)
        made.append((f"npu.p{number}", pattern))
    return made
