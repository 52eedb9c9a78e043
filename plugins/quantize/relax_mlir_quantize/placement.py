# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of quantized values: layers by a recipe's patterns, and the tensors that these read and make."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import body_of, made_by, operations_in, operations_of, users_of
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.passes.graph.recipes.forms import is_quantized_form
from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.passes.graph.recipes.recipe import RESULT, Fixed, Op, Recipe, Tensor
from relax_mlir.passes.patterns.match import matches_of, why_not
from relax_mlir.passes.patterns.matched import Match
from relax_mlir.passes.patterns.tree import GraphPattern
from relax_mlir.support.errors import RelaxError

from .channels import refusal_of_constants
from .float_form import FloatForm, float_form
from .tensor_entries import TensorEntries, node_of
from .weight_blocks import can_be_in_blocks

#: Operators that return some of their operand's numbers, with its scale in each recipe.
_MOVES = frozenset(
    f"relax.{name}"
    for name in (
        *("reshape", "flatten", "squeeze", "expand_dims", "permute_dims", "strided_slice", "split", "broadcast_to"),
        *("take", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"),
    )
)
#: Operators that return all of their operand's numbers.
_VIEWS = frozenset(f"relax.{name}" for name in ("reshape", "flatten", "squeeze", "expand_dims", "permute_dims"))
_REAL = ("f32", "f16", "bf16")
_BLOCKS_REASON = "blocks of weights are for the constant matrix on the right of a product, and for bytes of codes"
_MX_REASON = "MX blocks are for operands of products, whose summed size has to be known and a multiple of the block"


@dataclass(eq=False)
class Layer:
    """Layer that computes on integers."""

    op: Op
    match: Match
    #: Types of the operands that it has, by name, and of the result.
    types: dict[str, OperandType]
    #: True if the result may stay real.
    may_be_real: bool = False
    #: Entries of the recipe with the scale or the range of constants, by name.
    fixed: dict[str, Tensor] = field(default_factory=dict)
    #: Place of the last operation in its function.
    place: int = 0

    @property
    def node(self) -> str:
        return node_of(self.match.root)

    @property
    def result(self) -> Value:
        return self.match.root.results[0]

    def weights(self) -> Iterator[tuple[str, Value]]:
        """Yield names and values of constant operands."""
        return ((name, value) for name, value in self._operands() if is_constant(value))

    def activations(self) -> Iterator[tuple[str, Value]]:
        """Yield names and values of operands that are computed at run time."""
        return ((name, value) for name, value in self._operands() if not is_constant(value))

    def _operands(self) -> Iterator[tuple[str, Value]]:
        for name in self.op.operands:
            if name not in self.types:
                continue
            if (value := self.match.get(name)) is not None:
                yield name, value


@dataclass(eq=False)
class ScaleGroup:
    """Tensors that share a scale."""

    type: OperandType
    values: list[Value]
    fixed: Fixed | Tensor | None = None


#: A tensor, and the type that some of its readers want.
Key = tuple[Value, OperandType]


@dataclass(eq=False)
class Placement:
    """Quantized layers and tensors of a function."""

    layers: list[Layer] = field(default_factory=list)
    groups: dict[Key, ScaleGroup] = field(default_factory=dict)
    #: Types in which results are quantized for all of their readers.
    results: dict[Value, OperandType] = field(default_factory=dict)
    #: Reasons why operations stay real.
    kept: dict[Operation, str] = field(default_factory=dict)

    def all_groups(self) -> list[ScaleGroup]:
        return list(dict.fromkeys(self.groups.values()))


#: Types of a layer's operands, or the reason why the layer stays real.
Choice = Mapping[str, OperandType] | str
#: Place of a layer's last operation in its function, or that and the name of an entry that this layer does not have.
ChoiceKey = int | tuple[int, str]
#: Choices of layers. The choice of an entry is the reason against it.
Choices = Mapping[ChoiceKey, Choice]


def names_of(operation: Operation) -> set[str]:
    """Return the names by which a request can keep an operation real."""
    return {operation.name, operation.name.removeprefix("relax."), node_of(operation)}


def place(
    function: Operation,
    recipe: Recipe,
    rows: Mapping[str, GraphPattern],
    keep: Collection[str] = (),
    choices: Choices = MappingProxyType({}),
) -> Placement:
    """Choose the layers and tensors to quantize in a function's body.

    keep: operators, nodes or patterns of their names (`head.*`) that stay real. choices: other types than the first
    ones, and layers that stay real.
    """
    return _Placing(function, recipe, keep, choices, rows).run(recipe.patterns(rows))


class _Placing:
    def __init__(
        self,
        function: Operation,
        recipe: Recipe,
        keep: Collection[str],
        choices: Choices,
        rows: Mapping[str, GraphPattern],
    ):
        self._operations = operations_of(body_of(function))
        self._places = {operation: place for place, operation in enumerate(self._operations)}
        self._recipe, self._keep, self._choices = recipe, keep, choices
        self._tensors = TensorEntries(recipe, function)
        #: Patterns that entries other than Op name, such as `Share("mynpu.add")`.
        self._others = {name: rows[name] for name in (*recipe.shares, *recipe.floats) if name in rows}
        self._claimed: set[Operation] = set()
        #: Operations that no pattern ends with.
        self._unnamed: set[Operation] = set()
        self._made = Placement()

    def run(self, patterns: Sequence[tuple[Op, GraphPattern]]) -> Placement:
        forms = [(op, float_form_of(op, pattern)) for op, pattern in patterns]
        for op, form in forms:
            for operation in reversed(self._operations):
                if operation.name in (form.pattern.heads or ()) and operation not in self._claimed:
                    self._match(op, form, operation)
        self._made.layers.sort(key=lambda layer: layer.place)
        for layer in self._made.layers:  # an earlier pattern may have been refused
            for operation in layer.match.operations:
                self._made.kept.pop(operation, None)
        self._place_values()
        self._explain([(op.name, form.pattern) for op, form in forms])
        self._made.kept = self._list_kept_by_weight()
        return self._made

    def _list_kept_by_weight(self) -> dict[Operation, str]:
        """Return the reasons in program order, operators without a pattern last: nodes show their first reason."""
        kept, last = self._made.kept, len(self._operations)
        order = sorted(kept, key=lambda each: (each in self._unnamed, self._places.get(each, last)))
        return {operation: kept[operation] for operation in order}

    # ---- layers ----

    def _match(self, op: Op, form: FloatForm, operation: Operation) -> None:
        reasons: list[tuple[Match, str]] = []
        for match in matches_of(form.pattern, operation):
            if self._claimed.isdisjoint(match.operations) and not _has_inner_readers(match):
                if not (reason := self._refusal(op, match)):
                    break
                reasons.append((match, reason))
        else:
            for match, reason in reasons[:1]:
                self._keep_real(match, reason)
            return
        if isinstance(choice := self._choices.get((self._places[operation], op.name), {}), str):
            self._keep_real(match, choice)
            return
        choice = self._choices.get(self._places[operation], {})
        names = [name for name in op.types if name == RESULT or name in match]
        asked = {**self._tensors.types(match, names), **({} if isinstance(choice, str) else choice)}
        chosen = {name: _choose(op, name, match, asked.get(name)) for name in names}
        types = {name: type_ for name, type_ in chosen.items() if type_ is not None}
        if len(types) < len(chosen):
            is_mx = any(type_.granularity == "mx" for types in op.types.values() for type_ in types)
            self._keep_real(match, _MX_REASON if is_mx else _BLOCKS_REASON)
            return
        if any(type_.is_at_run_time for type_ in types.values()):
            # A scale that is derived from one of run time is not a constant: such a bias is added to real sums.
            types = {name: type_ for name, type_ in types.items() if not type_.derived}
        self._claimed.update(match.operations)
        for each in match.operations:
            self._made.kept.pop(each, None)
        if isinstance(choice, str):
            self._made.kept.update(dict.fromkeys(match.operations, choice))
            return
        fixed = self._tensors.constants(match, types)
        self._made.layers.append(Layer(op, match, types, form.may_be_real, fixed, self._places[operation]))

    def _keep_real(self, match: Match, reason: str) -> None:
        """Note why operations stay real, behind the reasons of earlier entries."""
        for operation in match.operations:
            reasons = dict.fromkeys((self._made.kept.get(operation, reason), reason))
            self._made.kept[operation] = "; ".join(reasons)

    def _refusal(self, op: Op, match: Match) -> str:
        for operation in match.operations:
            if (wish := self._wish(operation)) is not None:
                return f"kept by request: '{wish}'"
            if self._is_in(operation, self._recipe.floats):
                return f"the recipe keeps {operation.name} in floating point"
            if not all(map(_is_real, operation.results)):
                return f"computes {decode(operation.results[0].type)}, not floating point"
        return refusal_of_constants(op, match)

    def _wish(self, operation: Operation) -> str | None:
        """Return the request to keep an operation real, or None."""
        names = names_of(operation)
        return next((each for each in self._keep if any(fnmatchcase(name, each) for name in names)), None)

    def _is_in(self, operation: Operation, names: Collection[str]) -> bool:
        """Check whether names contain an operation, or a pattern that matches only this operation."""
        if operation.name in names:
            return True
        patterns = [pattern for name, pattern in self._others.items() if name in names]
        return any(
            [operation] == list(match.operations) for pattern in patterns for match in matches_of(pattern, operation)
        )

    # ---- tensors ----

    def _place_values(self) -> None:
        layer_at = {layer.match.root: layer for layer in self._made.layers}
        for layer in self._made.layers:
            for name, value in layer.activations():
                if not layer.types[name].is_at_run_time:
                    self._group(value, layer.types[name])
        for operation in reversed(self._operations):
            if operation not in self._claimed:
                self._lift(operation)
        for operation in self._operations:
            if operation in layer_at:
                self._place_result(layer_at[operation])
            elif operation not in self._claimed:
                self._share(operation)
            self._fix(operation)
        for group in self._made.all_groups():
            group.fixed = self._tensors.fixed(group.values, group.type) or group.fixed

    def _lift(self, operation: Operation) -> None:
        """Quantize the operands of an operator that shares scales, if all readers read the same integers."""
        if not self._shares(operation):
            return
        for source in operation.operands[:1] if operation.name in _MOVES else operation.operands:
            self._lift_over(operation, source)

    def _lift_over(self, operation: Operation, source: Value) -> None:
        types = {type_ for result in operation.results for value, type_ in self._made.groups if value == result}
        named = self._tensors.type(source) or self._tensors.type(operation.results[0])
        if not types or (len(types) > 1 and named is None) or is_constant(source) or not _is_real(source):
            return
        type_ = named or types.copy().pop()
        readers = {user for result in (source, *operation.results) for user in users_of(result)} - {operation}
        if named is not None or all(self._reads(user, types | {type_}) for user in readers):
            self._give(source, type_)

    def _reads(self, operation: Operation, types: Collection[OperandType]) -> bool:
        """Check whether an operation reads integers of one of several types, or no numbers at all."""
        if operation in self._claimed:
            layer = next((each for each in self._made.layers if operation in each.match.operations), None)
            return layer is not None and not set(types).isdisjoint(layer.types.values())
        if not any(map(_is_real, operation.results)) and len(operation.regions) == 0 and operation.results:
            return True
        return self._shares(operation) and self._made.results.get(operation.operands[0]) in types

    def _place_result(self, layer: Layer) -> None:
        """Quantize the result of a layer, unless it may stay real and all of its readers are real."""
        value = layer.result
        if layer.may_be_real and not self._is_wanted(value):
            layer.types.pop(RESULT, None)
        if RESULT in layer.types:
            others = () if self._tensors.types(layer.match, [RESULT]) else layer.op.types[RESULT]
            layer.types[RESULT] = self._choose_type(value, [layer.types[RESULT], *others])
            self._give(value, layer.types[RESULT])

    def _is_wanted(self, value: Value) -> bool:
        is_read = any(found == value for found, _ in self._made.groups)
        return is_read or any(self._shares(user) for user in users_of(value))

    def _shares(self, operation: Operation) -> bool:
        is_kept = operation in self._claimed or self._wish(operation) is not None
        return not is_kept and (operation.name in _MOVES or self._is_in(operation, self._recipe.shares))

    def _choose_type(self, value: Value, types: Sequence[OperandType]) -> OperandType:
        """Return the type of a result: one that a reader wants, if the layer can make it."""
        asked = [type_ for found, type_ in self._made.groups if found == value]
        return next((type_ for type_ in types if type_ in asked), types[0])

    def _group(self, value: Value, type_: OperandType) -> ScaleGroup:
        return self._made.groups.setdefault((value, type_), ScaleGroup(type_, [value]))

    def _give(self, value: Value, type_: OperandType) -> ScaleGroup:
        """Quantize a result for all of its readers."""
        self._made.results[value] = type_
        return self._group(value, type_)

    def _share(self, operation: Operation) -> None:
        """Give the results of an operation the scale of its operands, if all operands or one of several have one."""
        if not self._shares(operation):
            return
        operands = [operand for operand in operation.operands if _is_real(operand) and not is_constant(operand)]
        if operation.name in _MOVES:
            operands = operands[:1]
        if not (types := [self._made.results[operand] for operand in operands if operand in self._made.results]):
            return
        groups = [
            self._give(operand, types[0])
            for operand in operands
            if self._made.results.get(operand, types[0]) == types[0]
        ]
        if len(groups) < len(operands):
            return
        for result in operation.results:
            groups.append(self._give(result, types[0]))
        self._join(groups, operation)

    def _join(self, groups: Sequence[ScaleGroup], operation: Operation) -> None:
        first, *others = dict.fromkeys(groups)
        for other in others:
            if first.fixed is not None and other.fixed is not None and first.fixed is not other.fixed:
                raise RelaxError(
                    f"{operation.name} ({node_of(operation)}): the recipe shares the scale of results that it fixes "
                    f"differently: {first.fixed!r} and {other.fixed!r}"
                )
            first.fixed = first.fixed or other.fixed
            first.values += other.values
            for key, group in self._made.groups.items():
                if group is other:
                    self._made.groups[key] = first

    def _fix(self, operation: Operation) -> None:
        """Give a result its fixed scale, if a quantized layer makes it in that type, or reads it."""
        if (fixed := self._recipe.fixed.get(operation.name)) is None:
            return
        result = operation.results[0]
        is_of_layer = operation in self._claimed
        if is_of_layer and self._made.results.get(result) == fixed.type:
            self._made.groups[result, fixed.type].fixed = fixed
        elif not is_of_layer and any(value == result for value, _ in self._made.groups):
            self._give(result, fixed.type).fixed = fixed

    # ---- reasons ----

    def _explain(self, patterns: Sequence[tuple[str, GraphPattern]]) -> None:
        for operation in self._operations:
            is_open = operation not in self._claimed and operation not in self._made.kept
            if not is_open or not any(map(_is_real, operation.results)) or is_constant(operation.results[0]):
                continue
            is_integer = self._shares(operation) or operation.name in self._recipe.fixed
            if is_integer and all(result in self._made.results for result in operation.results):
                continue
            self._made.kept[operation] = self._reason(operation, patterns)
        self._explain_nested(patterns)

    def _explain_nested(self, patterns: Sequence[tuple[str, GraphPattern]]) -> None:
        """Tell that layers inside of branches and loops stay real: samples do not show their tensors."""
        heads = {name for _, pattern in patterns for name in pattern.heads or ()}
        for operation in self._operations:
            for region in operation.regions:
                for inner in operations_in(operation) if len(region.blocks) else ():
                    if inner.name in heads:
                        self._made.kept[inner] = f"inside of {operation.name}: layers in branches and loops stay real"

    def _reason(self, operation: Operation, patterns: Sequence[tuple[str, GraphPattern]]) -> str:
        if (wish := self._wish(operation)) is not None:
            return f"kept by request: '{wish}'"
        if self._is_in(operation, self._recipe.floats):
            return f"the recipe keeps {operation.name} in floating point"
        found = [
            (name, why_not(pattern, operation)) for name, pattern in patterns if operation.name in (pattern.heads or ())
        ]
        refusals = [(name, refusal) for name, refusal in found if refusal is not None]
        if not refusals and (operation.name in _MOVES or operation.name in self._recipe.shares):
            makers = dict.fromkeys(producer_of(operand) for operand in operation.operands if _is_real(operand))
            return f"has the scale of its operands, and these are not quantized for all readers: {', '.join(makers)}"
        if not refusals:
            self._unnamed.add(operation)
            return f"no pattern of the recipe has {operation.name}"
        name, refusal = max(refusals, key=lambda each: each[1].progress)
        return f"'{name}': {refusal}"


def _choose(op: Op, name: str, match: Match, asked: OperandType | None) -> OperandType | None:
    """Return the type that is asked for, or else the first one that an operand can have."""
    types = op.types[name] if asked is None else (asked, *op.types[name])
    return next((type_ for type_ in types if name == RESULT or can_be_in_blocks(match, name, type_)), None)


def float_form_of(op: Op, pattern: GraphPattern) -> FloatForm:
    """Return the float form of an entry's pattern. Raise RelaxError if it has none."""
    if not is_quantized_form(pattern):
        return FloatForm(pattern, op.may_be_real)
    if (form := float_form(pattern)) is None:
        raise RelaxError(f"recipe: {op!r}: the pattern has no form in floating point, so no float layer can become one")
    return form


def _has_inner_readers(match: Match) -> bool:
    """Check whether other operations read real sums inside of a layer, which hardware does not write."""
    inside = set(match.operations)
    values = (value for operation in inside if operation != match.root for value in operation.results)
    return any(user not in inside for value in values if not is_constant(value) for user in users_of(value))


def _is_real(value: Value) -> bool:
    info = decode(value.type)
    return isinstance(info, TensorInfo) and info.dtype in _REAL


def origin_of(value: Value) -> Value:
    """Return the tensor that has all numbers of a tensor first, in front of views."""
    while (maker := made_by(value)) is not None and maker.name in _VIEWS:
        value = maker.operands[0]
    return value


def producer_of(value: Value) -> str:
    """Return the node that makes a tensor, or "input"."""
    maker = made_by(value)
    return "input" if maker is None else node_of(maker)
