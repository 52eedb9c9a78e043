# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a dialect's description as an IRDL module: what MLIR loads, and what `--dump-irdl` prints.

The module is built op by op rather than parsed, because IRDL's verifier refuses names with a dot
(`nn.conv2d`) while its loader takes them. `irdl_name` spells such a name in letters that the verifier accepts.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .ir import Attribute, Block, Context, Module, OpView, Value
from .mlir import ir, string_array, string_value


class Operand(NamedTuple):
    """An operand or result: its name, how many ("single", "optional", "variadic") and what type it may have.

    A constraint names base types; none means any: ("!builtin.tensor",) or ("@relax::@shape",).
    """

    name: str
    arity: str = "single"
    constraint: tuple[str, ...] = ()


class OpShape(NamedTuple):
    """What IRDL can say about an operation."""

    name: str
    operands: Sequence[Operand]
    results: Sequence[Operand]
    attributes: Sequence[str] = ()
    regions: Sequence[str] = ()


class ParamShape(NamedTuple):
    """A type or attribute with its parameters' names."""

    name: str
    parameters: Sequence[str]


#: Values of one variadic operand must share a type in IRDL. Where other tools are to read the IR, a variadic
#: operand stands for this many, each for a run of values of one type (see tools/opt/irdl_names.py).
RUNS = 32
_IRDL_NAME = re.compile(r"[a-z0-9_]+")


def as_runs(values: Sequence[Operand]) -> list[Operand]:
    """Each variadic operand as RUNS of them, `args` as `args_0` to `args_31`."""
    return [
        run
        for value in values
        for run in (
            [value._replace(name=f"{value.name}_{index}") for index in range(RUNS)]
            if value.arity == "variadic"
            else [value]
        )
    ]


def without_clashes(op: OpShape) -> OpShape:
    """IRDL's verifier wants operands and results to have different names."""
    taken = {operand.name for operand in op.operands} | set(op.attributes)
    results = [result._replace(name=f"{result.name}_out") if result.name in taken else result for result in op.results]
    return op._replace(results=results)


def irdl_name(op_name: str) -> str:
    """`nn.conv2d` -> `nn_conv2d`: the spelling of an operation's name that IRDL's verifier accepts."""
    return op_name.replace(".", "_").lower()


def build_irdl_module(
    dialect: str,
    types: Sequence[ParamShape],
    attributes: Sequence[ParamShape],
    ops: Sequence[OpShape],
    context: Context,
    spell: Callable[[str], str] = str,
) -> Module:
    """The IRDL module of a dialect. With `spell=irdl_name` it verifies, so that other tools can read its text."""
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            body = _symbol("irdl.dialect", dialect)
            with ir.InsertionPoint(body):
                writer = _IrdlWriter(context)
                for type_ in types:
                    writer.parametric("irdl.type", type_)
                for attribute in attributes:
                    writer.parametric("irdl.attribute", attribute)
                for op in ops:
                    writer.operation(op, spell(op.name))
    return module


class KeptDescription:
    """A dialect's IRDL module as bytes: to read it into another context takes a third of building it there.

    What is read is verified, so operations are spelled for the verifier, and get their names afterwards.
    """

    def __init__(self, module: Module, names: Iterable[str]) -> None:
        """Of a module of operations `without_clashes`, built with `spell=irdl_name`; it gets its names."""
        spelled = {irdl_name(name): name for name in names if irdl_name(name) != name}
        symbols = [string_value(op.attributes["sym_name"]) for op in _described(module)]
        # By place in the module: to ask each of hundreds of operations for its name takes longer than to read them.
        self._names = {place: spelled[name] for place, name in enumerate(symbols) if name in spelled}
        stream = io.BytesIO()
        module.operation.write_bytecode(stream)
        self._code = stream.getvalue()
        self._name(module)

    def read(self, context: Context) -> Module:
        """The module, ready to be loaded."""
        with context:
            module = ir.Module.parse(self._code)
        self._name(module)
        return module

    def _name(self, module: Module) -> None:
        described = _described(module)
        for place, name in self._names.items():
            described[place].attributes["sym_name"] = ir.StringAttr.get(name, module.context)


def _described(module: Module) -> Sequence[OpView]:
    """What a dialect's IRDL module declares: its types, attributes and operations."""
    return module.body.operations[0].regions[0].blocks[0].operations


def is_verifiable(shapes: Iterable[OpShape | ParamShape]) -> bool:
    """Whether IRDL's verifier allows what operations, types and their parts are called."""
    return all(_IRDL_NAME.fullmatch(name) for shape in shapes for name in _names_in(shape))


def _names_in(shape: OpShape | ParamShape) -> list[str]:
    if isinstance(shape, ParamShape):
        return [shape.name, *shape.parameters]
    values = [each.name for each in (*shape.operands, *shape.results)]
    return [irdl_name(shape.name), *values, *shape.attributes, *shape.regions]


def _symbol(op_name: str, name: str) -> Block:
    attributes = {"sym_name": ir.StringAttr.get(name)}
    op = ir.Operation.create(op_name, attributes=attributes, regions=1)
    return op.regions[0].blocks.append()


class _IrdlWriter:
    """Creates IRDL operations at the current insertion point."""

    def __init__(self, context: Context):
        self.attribute_type = ir.Type.parse("!irdl.attribute", context)
        self._variadicities: dict[tuple[str, ...], Attribute] = {}

    def parametric(self, op_name: str, shape: ParamShape) -> None:
        with ir.InsertionPoint(_symbol(op_name, shape.name)):
            if shape.parameters:
                operands = [self._any() for _ in shape.parameters]
                self._create("irdl.parameters", operands, names=shape.parameters)

    def operation(self, op: OpShape, name: str) -> None:
        with ir.InsertionPoint(_symbol("irdl.operation", name)):
            # Each value gets a constraint of its own: one that two values share would make their types equal.
            for kind, values in (("irdl.operands", op.operands), ("irdl.results", op.results)):
                if values:
                    counts = tuple(value.arity for value in values)
                    operands = [self._constraint(value.constraint) for value in values]
                    names = [value.name for value in values]
                    self._create(kind, operands, names=names, variadicity=self._variadicity(counts))
            if op.attributes:
                operands = [self._any() for _ in op.attributes]
                self._create("irdl.attributes", operands, attributeValueNames=op.attributes)
            if op.regions:
                region_type = ir.Type.parse("!irdl.region")
                regions = [ir.Operation.create("irdl.region", results=[region_type]).result for _ in op.regions]
                self._create("irdl.regions", regions, names=op.regions)

    def _create(self, name: str, operands: Sequence[Value], **attributes: Attribute | Sequence[str]) -> None:
        encoded = {
            key: value if isinstance(value, ir.Attribute) else string_array(value) for key, value in attributes.items()
        }
        ir.Operation.create(name, operands=list(operands), attributes=encoded)

    def _any(self) -> Value:
        return ir.Operation.create("irdl.any", results=[self.attribute_type]).result

    def _constraint(self, bases: tuple[str, ...]) -> Value:
        if not bases:
            return self._any()
        values = [self._base(base) for base in bases]
        if len(values) == 1:
            return values[0]
        return ir.Operation.create("irdl.any_of", operands=values, results=[self.attribute_type]).result

    def _base(self, base: str) -> Value:
        if base.startswith("@"):
            attributes = {"base_ref": ir.Attribute.parse(base)}
        else:
            attributes = {"base_name": ir.StringAttr.get(base)}
        return ir.Operation.create("irdl.base", attributes=attributes, results=[self.attribute_type]).result

    def _variadicity(self, counts: tuple[str, ...]) -> Attribute:
        if counts not in self._variadicities:
            text = f"#irdl<variadicity_array[{', '.join(counts)}]>"
            self._variadicities[counts] = ir.Attribute.parse(text)
        return self._variadicities[counts]
