# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialects: operators, types, attributes and their registration in contexts. Registry of all dialects."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...bindings.ir import Context, Module, OperationBase, OpView
from ...bindings.irdl import (
    KeptDescription,
    Operand,
    OpShape,
    ParamShape,
    as_runs,
    build_irdl_module,
    irdl_name,
    is_verifiable,
    without_clashes,
)
from ...bindings.mlir import ir, load_irdl, register_dialect_classes, register_type_caster
from ...support.blaming import can_be_declared_again, place_of_caller
from ...support.callbacks import callback, fragile
from ...support.errors import RelaxError
from ...support.suggest import suggest
from .attributes import AttrKind
from .opdef import OPERAND_KINDS, OpDef, OperandDef, OpRow
from .operator import Operator, VariadicOperator

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _NoEffects(ir.MemoryEffectsOpInterface):
    @staticmethod
    @callback(failed=None)
    def get_effects(op: OpView, effects: object) -> None:
        """Report no effects: dead code elimination and CSE may remove a pure operator."""


class _Speculatable(ir.ConditionallySpeculatable):
    @staticmethod
    @callback(failed=ir.Speculatability.NotSpeculatable)
    def get_speculatability(op: OpView) -> object:
        return ir.Speculatability.Speculatable


#: Lock for the registration of a dialect in a context: the classes of its operations are created once, for all
#: contexts.
_loading = threading.RLock()


class OpNamespace:
    """Operators with a common name prefix. Lookup happens at first use, so that later declarations are found."""

    def __init__(self, dialect: Dialect, prefix: str = ""):
        self._dialect = dialect
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        full = self._prefix + name
        ops = self._dialect.ops
        op_namespace: Operator | OpNamespace | None = ops.get(full)
        if op_namespace is None and not name.startswith("__") and any(op.startswith(full + ".") for op in list(ops)):
            op_namespace = OpNamespace(self._dialect, full + ".")
        if op_namespace is not None:
            # A lookup result never changes. Python finds it in the dictionary the next time.
            self.__dict__[name] = op_namespace
            return op_namespace
        hint = suggest(full, ops) if not name.startswith("_") else ""
        raise AttributeError(f"dialect {self._dialect.name} has no operator '{full}'{hint}")

    def __dir__(self) -> list[str]:
        start = len(self._prefix)
        return sorted({op[start:].split(".")[0] for op in list(self._dialect.ops) if op.startswith(self._prefix)})

    def __repr__(self) -> str:
        return f"<operators {self._dialect.name}.{self._prefix}*>"


class Dialect:
    """Set of operators under one prefix. Creating a dialect registers it: contexts then know its operators."""

    def __init__(
        self,
        name: str,
        *,
        doc: str = "",
        types: Mapping[str, Sequence[str]] | None = None,
        attributes: Mapping[str, Sequence[str]] | None = None,
    ):
        #: Location of the declaration.
        self.declared_at = place_of_caller(1)
        _check_namespace(name, self.declared_at)
        self.name = name
        self.doc = doc
        self.types = dict(types or {})
        self.attributes = dict(attributes or {})
        self.ops: dict[str, Operator] = {}
        #: Operators by their names in IRDL.
        self._spelled: dict[str, str] = {}
        self._classes: list[type] = []
        self._classes_registered = False
        #: Number of operators that each context knows.
        self._known: WeakKeyDictionary[Context, int] = WeakKeyDictionary()
        #: IRDL descriptions of ranges of operators.
        self._descriptions: dict[tuple[int, int], KeptDescription] = {}
        self._dialect_class = type(name.capitalize(), (ir.Dialect,), {"DIALECT_NAMESPACE": name})
        _DIALECTS[name] = self
        for row in [text for text in _ROWS if text.partition(".")[0] == name]:  # of a dialect that this one replaces
            del _ROWS[row]

    def __repr__(self) -> str:
        return f"<dialect {self.name}: {len(self.ops)} operators>"

    def __getattr__(self, name: str) -> Operator:
        """Return an operator: `mynpu.scaled_relu(x)`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(OpNamespace(self), name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(OpNamespace(self))]

    def op(self, name: str, operands: str = "", *others: str, **row: Unpack[OpRow]) -> Operator:
        """Declare an operator.

        Calls of the operator build operations.

        `operands` are words of one text, "x y": `x`, `bias?` (optional), `*tensors` (any number), `shape:shape` (of
        another kind than tensor).

        `row` holds the columns of opdef.OpRow. Every operator has `doc=` and `infer=` (or `explicit=`). Passes query
        the row, so columns work for operators of other packages as well: `view="x"`, `writes="state"`, `pure=False`,
        `role="call"`, `shaped_by="shape"`.
        """
        if others:
            words = " ".join(map(str, (operands, *others)))
            raise RelaxError(f'operator {self.name}.{name}: operands are words of one text: write "{words}"')
        return self._declare(name, operands, row, place_of_caller(1), _caller_family())

    def _declare(self, name: str, operands: str, row: OpRow, place: str, family: str) -> Operator:
        taken = self.ops.get(name)
        if taken is not None and not can_be_declared_again(taken.place, place):
            raise RelaxError(f"operator {self.name}.{name} is declared twice: at {taken.place} and at {place}")
        if (clash := self._spelled.get(irdl_name(name))) not in (None, name):
            raise RelaxError(f"operator {self.name}.{name} has the same name in IRDL as {self.name}.{clash}")
        if not all(part.isidentifier() and part == part.lower() for part in name.split(".")):
            raise RelaxError(f"'{name}' is no operator name: lower-case letters, digits, '_' and '.' only")
        first = name.partition(".")[0]
        if first.startswith("_") or first in vars(self) or hasattr(type(self), first):
            # Attribute lookup would find and call that member instead.
            what = "Python's own" if first.startswith("_") else "a member that every dialect has"
            raise RelaxError(
                f"operator {self.name}.{name} could not be called: {self.name}.{first} is {what}; "
                f"name it otherwise, '{_free_name(name)}' for instance"
            )
        if "__" in irdl_name(name):
            raise RelaxError(f"'{name}' is no operator name: MLIR takes none with two adjacent '_', or '_' next to '.'")
        variadic = any(text.startswith("*") for text in f"{operands} {row.get('results', '')}".split())
        definition = (VariadicOperator if variadic else Operator)(self, name, operands, family=family, **row)
        definition.place = place
        self.ops[name] = definition
        self._spelled[irdl_name(name)] = name
        if taken is not None:
            self._forget(taken)
        return definition

    def _forget(self, replaced: Operator) -> None:
        """Drop cached descriptions of a redeclared operator, so that new contexts see the new declaration."""
        with _loading:
            self._descriptions.clear()
            if (place := list(self.ops).index(replaced.name)) < len(self._classes):
                self._classes[place] = op_class(self.ops[replaced.name])
                register_dialect_classes(self.name, self._dialect_class, [self._classes[place]])

    def irdl_module(self, context: Context) -> Module:
        """Return the dialect in IRDL. Parts that IRDL cannot express are written in a form that other tools accept."""
        ops = [_op_shape(definition) for definition in self.ops.values()]
        runs = [op._replace(operands=as_runs(op.operands), results=as_runs(op.results)) for op in ops]
        return build_irdl_module(
            self.name, *self._parametric(), [without_clashes(op) for op in runs], context, irdl_name
        )

    def _description(self, context: Context, known: int, definitions: Sequence[Operator]) -> Module:
        """Return the IRDL module of further operators, for a context that knows `known` operators.

        The module is built once, for all contexts.
        """
        state = known, known + len(definitions)
        if state in self._descriptions:
            return self._descriptions[state].read(context)
        ops = [_op_shape(definition) for definition in definitions]
        types, attributes = self._parametric() if not known else ([], [])
        if not is_verifiable([*types, *attributes, *ops]):
            return build_irdl_module(self.name, types, attributes, ops, context)
        ops = [without_clashes(op) for op in ops]
        module = build_irdl_module(self.name, types, attributes, ops, context, irdl_name)
        self._descriptions[state] = KeptDescription(module, [definition.name for definition in definitions])
        return module

    def _parametric(self) -> tuple[list[ParamShape], list[ParamShape]]:
        """Return the parameters of the dialect's types and attributes."""
        return (
            [ParamShape(name, parameters) for name, parameters in self.types.items()],
            [ParamShape(name, parameters) for name, parameters in self.attributes.items()],
        )

    @fragile
    def load(self, context: Context) -> None:
        """Load the dialect into a context, or the operators declared since the last call."""
        if self._known.get(context, 0) == len(self.ops) and context.is_dialect_loaded(self.name):
            return
        with _loading:
            self._load(context)

    def _load(self, context: Context) -> None:
        known = self._known.get(context, 0)
        if context not in self._known and context.is_dialect_loaded(self.name):
            return  # loaded before the dialect was declared again
        # Another thread may be importing a module that declares more operators.
        declared = list(self.ops.values())
        load_irdl(self._description(context, known, declared[known:]))
        with context:
            for definition in declared[known:]:
                ir.DynamicOpTrait.attach(definition.full_name, definition)
                if definition.pure:
                    _NoEffects.attach(definition.full_name)
                    _Speculatable.attach(definition.full_name)
            if not known:
                for name in self.types:
                    register_type_caster(ir.DynamicType.lookup_typeid(f"{self.name}.{name}"), ir.DynamicType)
                for name in self.attributes:
                    register_type_caster(ir.DynamicAttr.lookup_typeid(f"{self.name}.{name}"), ir.DynamicAttr)
        self._register_op_classes(declared)
        self._known[context] = len(declared)

    def _register_op_classes(self, declared: Sequence[Operator]) -> None:
        fresh = [op_class(definition) for definition in declared[len(self._classes) :]]
        if fresh or not self._classes_registered:
            register_dialect_classes(self.name, self._dialect_class, fresh)
        self._classes += fresh
        self._classes_registered = True


def _free_name(name: str) -> str:
    """Return a free operator name similar to a taken name."""
    first, dot, rest = name.partition(".")
    stripped = first.strip("_")
    return f"{stripped if first != stripped else f'{first}_op'}{dot}{rest}"


def _op_shape(definition: OpDef) -> OpShape:
    required = [name for name, kind in definition.attrs.items() if kind.required]
    return OpShape(
        definition.name,
        [_irdl_operand(definition, operand) for operand in definition.operands],
        [_irdl_operand(definition, result) for result in definition.results],
        required,
    )


def _irdl_operand(definition: OpDef, operand: OperandDef) -> Operand:
    types = OPERAND_KINDS[operand.kind][0]
    # MLIR crashes on a type of another IRDL dialect. The verifier checks such operands instead.
    is_elsewhere = any(type_[0] == "@" and not type_.startswith(f"@{definition.dialect.name}::") for type_ in types)
    return Operand(operand.name, operand.arity, () if is_elsewhere else types)


def op_class(definition: OpDef) -> type:
    """Return the Python class of an operator's operations (MLIR's OpView): `nn.conv2d` -> a class NnConv2dOp.

    `op.data` is the operand's value (None when absent, a list when variadic). `op.strides` is the attribute as a Python
    value with its default. A name that every operation has (`operands`) gets an underscore.
    """
    members: dict[str, object] = {
        "OPERATION_NAME": definition.full_name,
        "_ODS_REGIONS": (0, True),
        "_ODS_OPERAND_SEGMENTS": None,
        "_ODS_RESULT_SEGMENTS": None,
        "definition": definition,
        "__doc__": definition.doc,
    }
    for index, operand in enumerate(definition.operands):
        members[_member_name(operand.name)] = _operand_property(definition, index, operand.name)
    for name, kind in definition.attrs.items():
        members[_member_name(name)] = _attribute_property(name, kind)
    return type(class_name(definition.name), (ir.OpView,), members)


def class_name(op_name: str) -> str:
    return "".join(part.capitalize() for part in op_name.replace(".", "_").split("_")) + "Op"


def _member_name(name: str) -> str:
    return f"{name}_" if hasattr(ir.OpView, name) else name


def _operand_property(definition: OpDef, index: int, name: str) -> property:
    variable = definition.segmented or any(operand.arity != "single" for operand in definition.operands)
    if not variable:
        return property(lambda self: self.operation.operands[index])

    def read(self: OpView) -> object:
        sizes = list(self.operation.attributes["operandSegmentSizes"]) if definition.segmented else None
        value = definition.segment(list(self.operation.operands), sizes)[name]
        return list(value) if isinstance(value, tuple) else value

    return property(read)


def _attribute_property(name: str, kind: AttrKind) -> property:
    def read(self: OpView) -> object:
        attributes = self.operation.attributes
        return kind.decode(attributes[name]) if name in attributes else kind.default

    return property(read)


def _caller_family() -> str:
    """Return the name of the module that declares the operator. The reference groups operators by this name."""
    # Two frames up: past this function and Dialect.op.
    return str(sys._getframe(2).f_globals.get("__name__", "")).rpartition(".")[2]


def _check_namespace(name: str, place: str) -> None:
    if not isinstance(name, str) or not name.isidentifier() or name != name.lower():
        raise RelaxError(f"'{name}' is no dialect name: lower-case letters, digits and '_' only")
    if name.startswith("_") or "__" in name:
        raise RelaxError(f"'{name}' is no dialect name: MLIR takes none with '_' in front, or two adjacent ones")
    taken = _DIALECTS.get(name)
    if taken is not None and not can_be_declared_again(taken.declared_at, place):
        raise RelaxError(f"dialect '{name}' is declared twice: at {taken.declared_at} and at {place}")


_DIALECTS: dict[str, Dialect] = {}


def registered_dialects() -> Mapping[str, Dialect]:
    """Return every dialect that Python code has defined so far, by name."""
    return _DIALECTS


def all_ops() -> list[Operator]:
    """Return the definitions of all operators."""
    return [definition for dialect in list(_DIALECTS.values()) for definition in list(dialect.ops.values())]


def row_of(op: OperationBase) -> Operator | None:
    """Return the definition of an operation's operator, or None for upstream's operations."""
    return _row(op.operation.name)


def has_role(full_name: str) -> bool:
    """Check whether a name is that of an operator with a role."""
    row = _row(full_name)
    return row is not None and bool(row.role)


#: Cache of lookups by full name. A declared operator does not change.
_ROWS: dict[str, Operator] = {}


def _row(full_name: str) -> Operator | None:
    if (row := _ROWS.get(full_name)) is None:
        namespace, _, name = full_name.partition(".")
        dialect = _DIALECTS.get(namespace)
        row = None if dialect is None else dialect.ops.get(name)
        if row is not None:
            _ROWS[full_name] = row
    return row


def find_op(full_name: str) -> Operator:
    """Return the definition of an operator by its full name, `relax.nn.conv2d`."""
    if (found := _row(full_name)) is not None:
        return found
    known = [definition.full_name for definition in all_ops()]
    raise RelaxError(f"unknown operator '{full_name}'{suggest(full_name, known)}")
