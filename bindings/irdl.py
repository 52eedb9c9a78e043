# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptions of dialects as IRDL modules, for loading into MLIR and for `--dump-irdl`.

The module is built operation by operation instead of parsed. IRDL's verifier refuses names with a dot (`nn.conv2d`),
but its loader accepts them. `irdl_name` converts such names to accepted ones.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .ir import Attribute, Block, Context, Module, OpView, Value
from .mlir import ir, string_array, string_value


class Operand(NamedTuple):
    """Operand or result: name, arity ("single", "optional", "variadic") and allowed types.

    A constraint lists base types, such as ("!builtin.tensor",) or ("@relax::@shape",). An empty constraint allows any
    type.
    """

    name: str
    arity: str = "single"
    constraint: tuple[str, ...] = ()


class OpShape(NamedTuple):
    """Operation as IRDL can describe it."""

    name: str
    operands: Sequence[Operand]
    results: Sequence[Operand]
    attributes: Sequence[str] = ()
    regions: Sequence[str] = ()


class ParamShape(NamedTuple):
    """Type or attribute with the names of its parameters."""

    name: str
    parameters: Sequence[str]


#: IRDL requires equal types for all values of a variadic operand. For other tools, a variadic operand is exported as
#: RUNS operands, each for a run of values of equal type (see tools/opt/irdl_names.py).
RUNS = 32
_IRDL_NAME = re.compile(r"[a-z0-9_]+")


def as_runs(values: Sequence[Operand]) -> list[Operand]:
    """Expand each variadic operand into RUNS operands, such as `args` into `args_0` to `args_31`."""
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
    """Rename results that share a name with an operand or attribute: IRDL's verifier requires distinct names."""
    taken = {operand.name for operand in op.operands} | set(op.attributes)
    results = [result._replace(name=f"{result.name}_out") if result.name in taken else result for result in op.results]
    return op._replace(results=results)


def irdl_name(op_name: str) -> str:
    """Return the spelling of an operation's name that IRDL's verifier accepts: `nn.conv2d` -> `nn_conv2d`."""
    return op_name.replace(".", "_").lower()


def build_irdl_module(
    dialect: str,
    types: Sequence[ParamShape],
    attributes: Sequence[ParamShape],
    ops: Sequence[OpShape],
    context: Context,
    spell: Callable[[str], str] = str,
) -> Module:
    """Build the IRDL module of a dialect.

    With `spell=irdl_name` the module verifies, so other tools can read its text.
    """
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
    """Serialized IRDL module of a dialect.

    Reading it into another context takes a third of the time of building it.

    Reading verifies the module, so names are spelled for the verifier and restored afterwards.
    """

    def __init__(self, module: Module, names: Iterable[str]) -> None:
        """Serialize a module built with `spell=irdl_name` from operations `without_clashes`, and restore its names."""
        spelled = {irdl_name(name): name for name in names if irdl_name(name) != name}
        symbols = [string_value(op.attributes["sym_name"]) for op in _describe(module)]
        # Names by position: asking hundreds of operations for their names takes longer than reading them.
        self._names = {place: spelled[name] for place, name in enumerate(symbols) if name in spelled}
        stream = io.BytesIO()
        module.operation.write_bytecode(stream)
        self._code = stream.getvalue()
        self._name(module)

    def read(self, context: Context) -> Module:
        """Return the module in a context, ready for loading."""
        with context:
            module = ir.Module.parse(self._code)
        self._name(module)
        return module

    def _name(self, module: Module) -> None:
        described = _describe(module)
        for place, name in self._names.items():
            described[place].attributes["sym_name"] = ir.StringAttr.get(name, module.context)


def _describe(module: Module) -> Sequence[OpView]:
    """Return the declarations of a dialect's IRDL module: types, attributes and operations."""
    return module.body.operations[0].regions[0].blocks[0].operations


def is_verifiable(shapes: Iterable[OpShape | ParamShape]) -> bool:
    """Check whether IRDL's verifier accepts the names of operations, types and their parts."""
    return all(_IRDL_NAME.fullmatch(name) for shape in shapes for name in _names_in(shape))


def _names_in(shape: OpShape | ParamShape) -> list[str]:
    if isinstance(shape, ParamShape):
        return [shape.name, *shape.parameters]
    values = [value.name for value in (*shape.operands, *shape.results)]
    return [irdl_name(shape.name), *values, *shape.attributes, *shape.regions]


def _symbol(op_name: str, name: str) -> Block:
    attributes = {"sym_name": ir.StringAttr.get(name)}
    op = ir.Operation.create(op_name, attributes=attributes, regions=1)
    return op.regions[0].blocks.append()


class _IrdlWriter:
    """Builder of IRDL operations at the current insertion point."""

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
            # Each value needs its own constraint: values that share a constraint must have equal types.
            for kind, values in (("irdl.operands", op.operands), ("irdl.results", op.results)):
                if values:
                    counts = tuple(value.arity for value in values)
                    operands = [self._constraint(value.constraint) for value in values]
                    names = [value.name for value in values]
                    if counts not in self._variadicities:
                        text = f"#irdl<variadicity_array[{', '.join(counts)}]>"
                        self._variadicities[counts] = ir.Attribute.parse(text)
                    self._create(kind, operands, names=names, variadicity=self._variadicities[counts])
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
