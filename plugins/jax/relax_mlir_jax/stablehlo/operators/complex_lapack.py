# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LAPACK for complex numbers: calls of packed functions that use SciPy's LAPACK at run time."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from relax_mlir.dialects.core.infos import ObjectInfo, TensorInfo
from relax_mlir.frontends.core.complex_numbers import in_pairs
from relax_mlir.support.lapack_names import NEEDS, PREFIX

from ..hlo_types import info_of, is_complex
from ..prelude import ComplexValue, HloNode, Outputs, relax
from .python_calls import element_of, number

#: Type of a result, and True for complex numbers.
Result = tuple[TensorInfo, bool]


def through_scipy(node: HloNode, name: str, *options: bool | int) -> Outputs:
    """Call a function for the operands and results of a node."""
    return call_lapack(node, name, options, [(info_of(type_), is_complex(type_)) for type_ in node.result_types])


def call_lapack(node: HloNode, name: str, options: Sequence[bool | int], results: Sequence[Result]) -> list[Any]:
    """Call a function for the operands of a node. Its options and results are in runtime/scipy_lapack.py."""
    if find_spec("scipy") is None:
        raise node.fail(NEEDS)
    inputs = [
        in_pairs(input_) if isinstance(input_, ComplexValue) else node.tensor(place)
        for place, input_ in enumerate(node.inputs)
    ]
    found = relax.call_pure_packed(
        PREFIX + name, [*(number(int(option)) for option in options), *inputs], ty_args=ObjectInfo()
    )
    return [element_of(found, place, *result) for place, result in enumerate(results)]
