# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data from codegens to their runtimes: it comes back unchanged, and damaged bytes end in an error message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy
import pytest
from relax_mlir.support.external_bytes import Data, PartFunction, packed, unpacked

import relax_mlir as rx


@dataclass(frozen=True)
class Step:
    name: str
    sizes: tuple[int, ...]
    bias: int | None = None


@dataclass(frozen=True)
class Part:
    functions: Mapping[str, PartFunction[Step]]
    blob: Data
    names: Sequence[str] = ()


def sample() -> Part:
    constants: Mapping[int, Any] = {1: numpy.arange(12, dtype="float32").reshape(3, 4), 2: numpy.zeros((0, 4), "int8")}
    steps = [Step("gemm", (3, 4), 2), Step("relu", ())]
    return Part({"f": PartFunction([0], constants, steps, [3])}, b"code", ["a", "b"])


def test_a_part_comes_back_as_it_was() -> None:
    part, data = sample(), memoryview(packed("npu", sample()))
    found = unpacked("npu", data, Part)
    function, given = found.functions["f"], part.functions["f"]
    assert (function.steps, list(function.inputs), list(function.outputs)) == (given.steps, [0], [3])
    assert all((function.constants[key] == array).all() for key, array in given.constants.items())
    assert function.constants[1].base is not None, "arrays stay where their bytes are"
    assert (bytes(found.blob), found.names) == (b"code", ["a", "b"])


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_are_refused_in_words(seed: int) -> None:
    """Check that no other exception is raised for any damaged byte of the text, including type names and offsets."""
    random, data = Random(seed), packed("npu", sample())
    text = data.rindex(b"}") + 1
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(random.choice((1, 1, 2, 4))):
            damaged[random.randrange(text)] = random.choice((0, 255, *b'"{}[],:09-$pe.', random.randrange(256)))
        try:
            unpacked(
                "npu", memoryview(damaged[: random.choice((len(data), len(data), random.randrange(len(data))))]), Part
            )
        except rx.RelaxError as error:
            refused += "npu" in error.message or "its bytes are" in error.message
    assert refused > 1000


def test_a_type_that_numpy_cannot_read() -> None:
    data = packed("npu", sample()).replace(b'"float32"', b'"flo,+32"')
    with pytest.raises(rx.RelaxError, match="its bytes are cut short, or damaged at their beginning"):
        unpacked("npu", memoryview(data), Part)
