# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reverse mode: from a tensor back to the tensors that it depends on, operation by operation, by the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from relax_mlir.bindings.handles import building
from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import as_list, ir
from relax_mlir.bindings.navigation import made_by
from relax_mlir.bindings.rewriting import Decline, blaming_at, located_error
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import find_op, row_of
from relax_mlir.dialects.core.infos import (
    Info,
    ScalarInfo,
    ShapeInfo,
    TensorInfo,
    VectorInfo,
    bit_width,
    describe,
    is_float,
)
from relax_mlir.dialects.core.operands import as_value
from relax_mlir.dialects.core.rules import RuleByTypes
from relax_mlir.dialects.core.symbols import equal
from relax_mlir.dialects.relax.values import stated
from relax_mlir.passes.graph.decompose.registry import decomposed, find_decomposition
from relax_mlir.passes.graph.decompose.tensor_formulas import zeros_for
from relax_mlir.passes.graph.gradient_rules import find_gradient, reason_against
from relax_mlir.support.errors import RefusalError, RelaxError

from .checkpoints import END, computed_again
from .gradient_call import Gradient, GradientCall, Gradients, UnknownSizes, named
from .operation_path import Step, StepMaking, step_making, steps_to
from .remembered import Remembered
from .scalar_derivatives import SCALARS
from .scf_derivatives import CONTROL_FLOW, DifferentiatedRegion, Options
from .unknown_sizes import with_named_sizes

_BESIDE = Options()
#: Operators that quantize and dequantize. Gradients pass between them, and no other operator reads a quantized tensor
#: as a continuous one.
QUANTIZE, DEQUANTIZE = "relax.quantize", "relax.dequantize"
#: Derivatives of operations that are not in an operator table.
_BACKWARDS = {**CONTROL_FLOW, **SCALARS}


def gradients(
    y: Value,
    xs: Sequence[Value],
    seed: Value | None = None,
    *,
    options: Options = _BESIDE,
    step_of: StepMaking = step_making,
    remembered: Remembered | None = None,
) -> list[Value]:
    """Return the gradients of the sum of y's elements by each of the xs, or zeros without a dependence.

    `seed`, a tensor of y's shape, weighs y's elements. The new operations are at the insertion point, with the
    locations of the operations that they differentiate. The xs are taken as independent of each other. `step_of` may
    leave out operations that do not depend on the xs.
    """
    return _Reverse(xs, options, remembered or Remembered(), step_of).gradients([(y, seed)])


def gradients_at(values: Sequence[Value], function: Callable[..., object], seeds: object = None) -> list[Value]:
    """Return the gradients of `function(*values)` by its arguments, some of which may be the same value.

    `seeds` are the gradients of the results, one or several. None marks a result without a gradient. Default: ones.
    Other values that the function uses count as constants, even if they are among `values`.
    """
    # Casts without effect distinguish an argument from other uses of its value.
    casts = [
        ir.Operation.create("builtin.unrealized_conversion_cast", results=[value.type], operands=[value])
        for value in values
    ]
    arguments = [cast.result for cast in casts]
    try:
        given = as_list(function(*arguments))
        arriving = list(zip(given, [None] * len(given) if seeds is None else as_list(seeds), strict=True))
        if seeds is not None:
            arriving = [each for each in arriving if each[1] is not None]
        found = _Reverse(arguments, _BESIDE).gradients(arriving)
        by_argument = dict(zip(arguments, values, strict=True))
        return [by_argument.get(each, each) for each in found]
    finally:
        for cast, value in zip(casts, values, strict=True):
            cast.result.replace_all_uses_with(value)
            cast.erase()


class _Reverse:
    """One traversal backwards, from some tensors to the tensors to differentiate by."""

    def __init__(
        self,
        xs: Sequence[Value],
        options: Options,
        remembered: Remembered | None = None,
        step_of: StepMaking = step_making,
    ):
        self._wanted = xs
        self._xs = set(xs)
        self._options = options
        self._remembered = remembered
        self._step_of = step_of
        #: The values on the path that vary with the xs.
        self._varying = set(xs)
        #: Results of relax.quantize that vary with the xs.
        self._quantized: set[Value] = set()
        self._totals: dict[Value, Value] = {}
        self._is_continuous = _Continuous()
        self._rules: dict[str, RuleByTypes] = {}

    def gradients(self, seeds: Sequence[tuple[Value, Value | None]], known: Iterable[Value] = ()) -> list[Value]:
        """Return the gradients of the xs for seeds at some values. A seed of None means ones.

        The traversal stops at the known values.
        """
        path = self._find_path([value for value, _ in seeds], known)
        for value, seed in seeds:
            if value in self._varying:
                self._add(value, relax.ones_like(value) if seed is None else seed)
        for step, varies in reversed(path):
            operation, _, _, results = step
            arriving = [None if result in self._xs else self._totals.pop(result, None) for result in results]
            if [each for each in arriving if each is not None]:
                try:
                    with operation.location:
                        self._pass_on(step, varies, arriving)
                except RelaxError as error:
                    # Errors get the location of the differentiated operation, unless they have one.
                    if error.location:
                        raise
                    raise located_error(error.message, operation.location, error.notes) from error.__cause__
        return [self._totals[x] if x in self._totals else zeros_for(x) for x in self._wanted]

    def _find_path(self, ys: Sequence[Value], known: Iterable[Value]) -> list[tuple[Step, list[bool]]]:
        """Return the operations on the path from the xs to the ys, in order, with flags for operands that vary.

        The method also records the varying values.
        """
        path, varying, quantized = [], self._varying, self._quantized
        for step in steps_to(ys, self._xs.union(known), self._step_of):
            operation, operands, captured, results = step
            varies = [operand in varying for operand in operands]
            if quantized and operation.name == DEQUANTIZE:
                varies[0] = varies[0] or operands[0] in quantized
            if True in varies or not varying.isdisjoint(captured):
                path.append((step, varies))
                if operation.name == QUANTIZE:
                    quantized.update(results)
                else:
                    varying.update([result for result in results if self._is_continuous[result.type]])
        return path

    def _pass_on(self, step: Step, varies: list[bool], arriving: list[Any]) -> None:
        """Add the gradients at an operation's results to the gradients of the values that it uses."""
        operation, operands, used, _ = step
        name = operation.name
        backwards = _BACKWARDS.get(name)
        if self._remembered is not None and (backwards is not None or name == END):
            self._remembered.has_unused = True
        if backwards is not None:
            captured = [each for each in used if each in self._varying]
            for value, gradient in backwards(
                DifferentiatedRegion(operation, arriving, captured, self._derive, self._options)
            ):
                if value in self._varying:
                    self._add(value, gradient)
            return
        if name == END:
            again = computed_again(operation, arriving[0], self._varying, self._derive)
            for value, gradient in again:
                self._add(value, gradient)
            if again:
                return
        rule = self._rules.get(name) or find_gradient(name) or _rule_of_decomposition(name)
        if rule is None:
            raise RefusalError(f"no rule gives the derivative of {named(operation)}: {_help_with(operation)}")
        self._rules[name] = rule

        def ask() -> list[Value | None]:
            return _apply_rule(rule, operation, list(arriving), varies)

        # If a builder is active, it follows each new operation. Copies would escape it.
        remembered = self._remembered if rule.by_types and building.get() is None else None
        if remembered is None and self._remembered is not None:
            self._remembered.has_unused = True
        try:
            values = ask() if remembered is None else remembered.derived(step, arriving, varies, ask)
        except UnknownSizes:
            if not self._pass_on_named(operation, arriving):
                raise
            return
        for operand, found in zip(operands, values, strict=True):
            if found is not None:
                self._add(operand, found)

    def _pass_on_named(self, operation: Operation, arriving: list[Value | None]) -> bool:
        """Apply the rule to named sizes if it refuses sizes without a name. Returns False if there were none."""
        sizes = GradientCall(find_op(operation.name), operation, arriving).segments
        pairs = with_named_sizes(operation, sizes, arriving, self._derive)
        for value, gradient in pairs:
            if value in self._varying:
                self._add(value, gradient)
        return bool(pairs)

    def _add(self, value: Value, gradient: Value) -> None:
        known = self._totals.get(value)
        if known is not None:
            # If a builder is active, it follows each new operation. Copies would escape it.
            again = self._remembered if building.get() is None else None
            gradient = relax.add(known, gradient) if again is None else again.sum(known, gradient)
        self._totals[value] = gradient

    def _derive(self, seeds: Sequence[tuple[Value, Value]], xs: Sequence[Value], known: Iterable[Value]) -> list[Value]:
        """Return the gradients within a region, with separate totals."""
        options = self._options._replace(replaces_loops=True)
        return _Reverse(xs, options, self._remembered).gradients(seeds, known)


def _rule_of_decomposition(name: str) -> RuleByTypes | None:
    """Return a rule for an operator that has no gradient rule but a decomposition, or None."""
    decomposition = find_decomposition(name)
    if decomposition is None:
        return None

    def rule(call: GradientCall) -> Gradients:
        is_continuous = _Continuous()
        is_float = [is_continuous[operand.type] for operand in call.operands]

        def forward(*floats: Value) -> list[Value]:
            rest = iter(floats)
            operands = [
                next(rest) if varies else operand for operand, varies in zip(call.operands, is_float, strict=True)
            ]
            values = decomposed(decomposition, call.operation.opview, operands)
            return [stated(value, result.type) for value, result in zip(values, call.results, strict=True)]

        try:
            made = iter(gradients_at(list(compress(call.operands, is_float)), forward, call.arriving))
        except Decline as declined:
            raise UnknownSizes(call.fail(str(declined)).message) from None
        return [next(made) if varies else None for varies in is_float]

    return replace(decomposition, function=rule)


class _Continuous(dict[Type, bool]):
    """Cache of types with continuous values. Shapes, integers and truth values are not continuous."""

    def __missing__(self, type_: Type) -> bool:
        info = decode(type_)
        if isinstance(info, (TensorInfo, ScalarInfo, VectorInfo)):
            self[type_] = is_float(info.dtype)
        else:
            self[type_] = not isinstance(info, ShapeInfo)
        return self[type_]


def _help_with(operation: Operation) -> str:
    if operation.name == "func.call":
        return "only calls of functions that have a body and may be inlined are differentiated"
    if row_of(operation) is None:
        return "it is neither an operator of relax nor a scalar operation with a known derivative"
    reason = reason_against(operation.name)
    return f'{f"{reason}; " if reason else ""}rx.rules.register_gradient("{operation.name}") registers one'


def _apply_rule(
    rule: RuleByTypes, operation: Operation, arriving: list[Value | None], varies: Sequence[bool]
) -> list[Value | None]:
    """Return a rule's gradients, each as a tensor of its operand's type. None marks operands without a gradient."""
    call = GradientCall(find_op(operation.name), operation, arriving)
    with blaming_at(lambda: f"the rule for the derivative of '{operation.name}'", rule.function, operation):
        returned = _as_list(rule, operation, rule.function(call))
    values: list[Value | None] = [None] * len(operation.operands)
    for index, gradient in enumerate(returned):
        if varies[index]:
            with blaming_at(lambda: f"the rule for the derivative of '{operation.name}'", rule.function, operation):
                found = gradient() if callable(gradient) else gradient
            values[index] = (
                None if found is None else _with_operand_type(rule, operation, found, operation.operands[index])
            )
    return values


def _as_list(rule: RuleByTypes, operation: Operation, returned: object) -> list[Gradient]:
    listed = as_list(returned)
    if len(listed) > len(operation.operands):
        raise RefusalError(
            f"the rule for the derivative of {named(operation)} ({rule.place}) gives {len(listed)} gradients "
            f"for {len(operation.operands)} operands"
        )
    return listed


def _with_operand_type(rule: RuleByTypes, operation: Operation, gradient: object, operand: Value) -> Value:
    """Return a gradient with the type of its operand, or as a tensor without axes for a scalar operand."""
    value, wanted = as_value(gradient), _info_of_gradient(operand)
    given = None if value is None else decode(value.type)
    if given == wanted:
        return value
    if not isinstance(given, TensorInfo) or not isinstance(wanted, TensorInfo) or not _may_be(given, wanted):
        got = type(gradient).__name__ if given is None else describe(given)
        raise RefusalError(
            f"the rule for the derivative of {named(operation)} ({rule.place}) gives {got} for an operand "
            f"that is {describe(wanted)}"
        )
    # One of the types has a size that the other lacks. The program checks it at run time.
    return relax.match_cast(value, ty=wanted)


def _info_of_gradient(operand: Value) -> Info | None:
    info = decode(operand.type)
    if isinstance(info, ScalarInfo):
        return TensorInfo((), info.dtype)
    if isinstance(info, TensorInfo) and bit_width(info.dtype) <= 16 and made_by(operand, QUANTIZE) is not None:
        return info.with_dtype("f32")
    return info


def _may_be(info: TensorInfo, tensor_info: TensorInfo) -> bool:
    if info.dtype != tensor_info.dtype:
        return False
    if info.shape is None or tensor_info.shape is None:
        return True
    pairs = zip(info.shape, tensor_info.shape, strict=False)
    return info.rank == tensor_info.rank and all(equal(*pair) is not False for pair in pairs)
