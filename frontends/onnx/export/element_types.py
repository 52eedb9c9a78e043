# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types that ONNX allows for operators, and element types for which onnxruntime has kernels."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ....dialects.core.infos import is_float
from ...core.node import Unsupported

#: ONNX's names of element types, and the dialects' names.
NAMES = {
    "float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": f"ui{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    "float8e4m3fn": "f8E4M3FN", "float8e4m3fnuz": "f8E4M3FNUZ", "float8e5m2": "f8E5M2",
    "float8e5m2fnuz": "f8E5M2FNUZ", "float8e8m0": "f8E8M0FNU", "float4e2m1": "f4E2M1FN",
}  # fmt: skip
_TENSOR = re.compile(r"tensor\((\w+)\)")

#: Wider types in which elements can be computed with the same results, the nearest first.
_WIDER = {
    "f16": ("f32",), "bf16": ("f32",), "f4E2M1FN": ("f32",),
    "i1": ("ui8", "i32"), "i2": ("i8", "i32", "i64"), "i4": ("i8", "i32", "i64"), "i8": ("i32", "i64"),
    "i16": ("i32", "i64"), "i32": ("i64",), "ui2": ("ui8", "i32", "ui32", "i64"), "ui4": ("ui8", "i32", "ui32", "i64"),
    "ui8": ("i32", "ui32", "i64"), "ui16": ("i32", "ui32", "i64"), "ui32": ("i64", "ui64"),
}  # fmt: skip

#: First and last opset of a kernel, and its types by type variable.
_KernelRow = tuple[int, int, Mapping[str, str]]
#: Element types by type variable.
Types = Mapping[str, str]


class TypeChoice(NamedTuple):
    """Element types of a node: the requested types, and the types in which the node computes."""

    asked: Types
    used: Types
    #: Message if onnxruntime has no kernel for these types, else empty.
    lacking: str


class TypeSignature:
    """Type signature of an operator in an opset: the permitted combinations of types."""

    def __init__(self, operator: str, opset: int):
        from onnx import defs

        schema = defs.get_schema(operator, opset, "")
        self.operator, self._opset = operator, opset
        self._inputs = [input_.type_str for input_ in schema.inputs]
        self._outputs = [output.type_str for output in schema.outputs]
        self._last_repeats = (
            bool(schema.inputs) and schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic
        )
        self._allowed = {
            constraint.type_param_str: _names(constraint.allowed_type_strs) for constraint in schema.type_constraints
        }
        self._is_function = schema.has_function or schema.has_context_dependent_function
        self._kernels = _kernels_of(operator, opset)

    def choose(self, inputs: Sequence[str | None], output: str) -> TypeChoice:
        """Return the nearest types that ONNX allows and onnxruntime supports.

        `output` is the type of the first output.
        """
        asked = self._ask(inputs, output)
        if not (allowed := [used for used in self._candidates(asked) if self._is_allowed(used)]):
            raise self._refusal(inputs, output)
        best = next((used for used in allowed if self._has_kernel(used)), None)
        shown = " and ".join(dict.fromkeys(asked.values()))
        lacking = f"onnxruntime has no {self.operator} for elements of {shown}" if best is None else ""
        return TypeChoice(asked, allowed[0] if best is None else best, lacking)

    def _ask(self, inputs: Sequence[str | None], output: str) -> dict[str, str]:
        asked: dict[str, str] = {}
        for place, dtype in enumerate(inputs):
            if dtype is not None and (name := self._variable_of_input(place)) in self._allowed:
                asked.setdefault(name, dtype)
        first = self._outputs[0] if self._outputs else ""
        if output and first in self._allowed:
            asked.setdefault(first, output)
        return asked

    def _refusal(self, inputs: Sequence[str | None], output: str) -> Unsupported:
        from onnx import defs

        shown = " and ".join(dict.fromkeys(self._ask(inputs, output).values()))
        for newer in range(self._opset + 1, defs.onnx_opset_version() + 1):
            signature = signature_of(self.operator, newer)
            if signature._is_allowed(signature._ask(inputs, output)):
                wanted = f"since opset {newer}: ask for it (opset={newer})"
                return Unsupported(f"ONNX's {self.operator} takes {shown} {wanted}")
        return Unsupported(f"ONNX's {self.operator} does not take elements of {shown}")

    def _candidates(self, asked: Types) -> Iterator[Types]:
        if self.operator == "Cast":
            yield asked
            return
        ways = [(dtype, *_wider(dtype)) for dtype in asked.values()]
        for dtypes in itertools.product(*ways):
            yield dict(zip(asked, dtypes, strict=True))

    def _is_allowed(self, used: Types) -> bool:
        return all(dtype in self._allowed[name] for name, dtype in used.items())

    def _has_kernel(self, used: Types) -> bool:
        if not self._kernels:
            return self._is_function
        return any(
            all(dtype in kernel[name] for name, dtype in used.items() if name in kernel) for kernel in self._kernels
        )

    def _variable_of_input(self, place: int) -> str:
        if place < len(self._inputs):
            return self._inputs[place]
        return self._inputs[-1] if self._last_repeats else ""

    def input_type(self, place: int, choice: TypeChoice, dtype: str) -> str:
        """Return the element type to which an input must be cast."""
        name = self._variable_of_input(place)
        return choice.used.get(name) or _find_dtype(name) or dtype

    def output_type(self, place: int, choice: TypeChoice, dtype: str) -> str:
        """Return the element type of an output."""
        name = self._outputs[min(place, len(self._outputs) - 1)]
        found = choice.used.get(name) or _find_dtype(name) or self._only(name) or dtype
        assert found, f"{self.operator}: the type of output #{place} has to be stated"
        return found

    def _only(self, name: str) -> str:
        """Return the type of a variable that permits a single type."""
        allowed = self._allowed.get(name, frozenset())
        return next(iter(allowed)) if len(allowed) == 1 else ""

    def wanted_type(self, place: int, choice: TypeChoice, dtype: str) -> str:
        """Return the element type to which an output must be cast back."""
        return choice.asked.get(self._outputs[min(place, len(self._outputs) - 1)], dtype)


@cache
def signature_of(operator: str, opset: int) -> TypeSignature:
    """Return an operator's type signature. Raise Unsupported if the opset does not have the operator."""
    from onnx import defs

    try:
        return TypeSignature(operator, opset)
    except defs.SchemaError:
        since = min(
            (schema.since_version for schema in defs.get_all_schemas_with_history() if schema.name == operator),
            default=0,
        )
        raise Unsupported(f"ONNX has {operator} since opset {since}: ask for it (opset={since})") from None


def _wider(dtype: str) -> tuple[str, ...]:
    return ("f16", "f32") if dtype.startswith("f8") and is_float(dtype) else _WIDER.get(dtype, ())


def _names(types: Sequence[str]) -> frozenset[str]:
    matches = (_TENSOR.fullmatch(type_) for type_ in types)
    return frozenset(NAMES[match[1]] for match in matches if match is not None and match[1] in NAMES)


def _find_dtype(name: str) -> str:
    match = _TENSOR.fullmatch(name)
    return NAMES.get(match[1], "") if match else ""


@cache
def _table() -> Mapping[str, Sequence[_KernelRow]]:
    table: Mapping[str, Sequence[_KernelRow]] = json.loads((Path(__file__).parent / "kernels.json").read_text())
    return table


def _kernels_of(operator: str, opset: int) -> list[dict[str, frozenset[str]]]:
    rows = _table().get(operator, ())
    return [
        {name: frozenset(dtypes.split()) for name, dtypes in types.items()}
        for since, until, types in rows
        if since <= opset <= until
    ]
