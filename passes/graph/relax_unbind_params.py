# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a model's constant weights to parameters, for training or exchange."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import count
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...bindings.ir import Attribute, Operation, Type
from ...bindings.mlir import i64_attribute, ir
from ...bindings.navigation import body_of, operations_in, operations_named, use_count
from ...dialects.core.codec import decode
from ...dialects.core.ir_attributes import WEIGHT_NUMBER
from ...dialects.relax.function_attributes import argument_names
from ...dialects.relax.known_constants import elements_in, is_constant
from ...dialects.script.value_names import location_name
from ...support.array_files import write_npz
from ...support.errors import OptionError
from ...support.names import FreshNames
from ...support.suggest import suggest
from ..core.base import Pass
from ..core.registry import register_pass
from .params.signature import NUM_INPUT, add_arguments, changing_copy, graph_function
from .relax_inline import inline_calls_in

if TYPE_CHECKING:
    from numpy import ndarray

_READABLE = ("f16", "f32", "f64")


@register_pass
@dataclass(frozen=True)
class UnbindParams(Pass):
    """Turn a function's f16, f32 and f64 constants into parameters, and write the values to a file like numpy.savez.

    The new parameters follow the others, under the names that the constants have in the model. Called functions are
    inlined. From Python, `rx.unbind_params(module)` gives the arrays.
    """

    name: ClassVar[str] = "relax-unbind-params"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "scf")

    #: The .npz file for the values.
    params: str = ""
    #: Function with the constants.
    function: str = "main"
    #: Constants to convert: names, or patterns of names (`*.weight`). Default: all with axes and two elements or more.
    weights: tuple[str, ...] = ()

    def run(self, op: Operation) -> None:
        if not self.params:
            raise OptionError(f"pass '{self.name}': params must name the file that the weights are written to")
        self.unbind(op)

    def unbind(self, op: Operation) -> dict[str, ndarray]:
        """Convert the constants, and return their values by the names of the new parameters."""
        what = f"pass '{self.name}'"
        function = graph_function(op, self.function, what)
        calls = bool(operations_named(function, "func.call"))
        with _number_constants(op) if calls else nullcontext(), changing_copy(function, what, retypes=False) as copy:
            if calls:
                inline_calls_in(copy)
            weights = self.chosen(copy, what)
            arrays = {weight.name: weight.array() for weight in weights}
            replace_by_parameters(copy, weights)
            if self.params:
                write_npz(self.params, arrays)
        return arrays

    def chosen(self, function: Operation, what: str) -> list[Weight]:
        """Return the constants to convert, in program order."""
        weights = _weights_of(function)
        if not self.weights:
            types = {
                type_: bool(type_.rank) and math.prod(type_.shape) > 1 for type_ in {weight.type for weight in weights}
            }
            if not (chosen := [each for each in weights if types[each.type]]):
                kinds = ", ".join(_READABLE)
                problem = f"{what}: @{self.function} has no constants of {kinds} that could be weights"
                raise OptionError(problem + _integers_instead(function))
            return chosen
        names = [weight.name for weight in weights]
        for pattern in self.weights:
            if not any(fnmatchcase(name, pattern) for name in names):
                known = f"{', '.join(names) or 'none'}{suggest(pattern, names)}"
                raise OptionError(f"{what}: no constant of @{self.function} is called '{pattern}'; it has: {known}")
        return [weight for weight in weights if any(fnmatchcase(weight.name, pattern) for pattern in self.weights)]


class Weight(NamedTuple):
    """Constant of the model. Inlining may have copied it for several calls."""

    name: str
    type: Type
    constants: list[Operation]

    def array(self) -> ndarray:
        elements = elements_in(self.constants[0].attributes["value"], decode(self.type))
        assert elements is not None
        return elements.copy()


@contextmanager
def _number_constants(module: Operation) -> Iterator[None]:
    """Number the module's constants while function bodies are inlined, to tell them apart."""
    numbers = count()
    for constant in _constants_in(module):
        constant.attributes[WEIGHT_NUMBER] = i64_attribute(next(numbers))
    try:
        yield
    finally:
        for constant in _constants_in(module):
            attributes = constant.attributes
            if WEIGHT_NUMBER in attributes:
                del attributes[WEIGHT_NUMBER]


def _constants_in(root: Operation) -> list[Operation]:
    """Return the constants that may be weights."""
    readable: dict[Type, bool] = {}
    constants = []
    for operation in operations_in(root, lambda inside: inside.name == "builtin.module"):
        if operation.name != "arith.constant" or not use_count(operation.result):
            continue
        if (type_ := operation.result.type) not in readable:
            readable[type_] = isinstance(type_, ir.RankedTensorType) and str(type_.element_type) in _READABLE
        if readable[type_]:
            constants.append(operation)
    return constants


def _weights_of(function: Operation) -> list[Weight]:
    """Return the constants of a function in program order, under unique names."""
    apart: dict[Attribute | Operation, list[Operation]] = {}
    for constant in _constants_in(function):
        attributes = constant.attributes
        apart.setdefault(attributes.get(WEIGHT_NUMBER, constant), []).append(constant)
    names = FreshNames(argument_names(function))
    weights = []
    for constants in apart.values():
        name = names.of(location_name(constants[0].location) or "const")
        weights.append(Weight(name, constants[0].result.type, constants))
    return weights


def _integers_instead(function: Operation) -> str:
    """Return a help for models with weights that are integers."""
    for operation in operations_named(function, "relax.dequantize"):
        if is_constant(operation.operands[0]):
            node = location_name(operation.location) or operation.name
            return f"; '{node}' reads integers: `rx.quantize(...).trainable()` returns a model to train"
    return ""


def replace_by_parameters(function: Operation, weights: list[Weight]) -> None:
    """Turn constants into parameters behind the others."""
    if NUM_INPUT not in function.attributes:
        function.attributes[NUM_INPUT] = i64_attribute(len(body_of(function).arguments))
    parameters = add_arguments(function, [each.name for each in weights], [each.type for each in weights])
    for weight, parameter in zip(weights, parameters, strict=True):
        for constant in weight.constants:
            constant.result.replace_all_uses_with(parameter)
            constant.erase()
