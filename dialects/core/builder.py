# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of an operation from a definition: argument binding, result type inference, creation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...bindings.handles import Result, building, is_foreign
from ...bindings.ir import Attribute, Context, InsertionPoint, Location, Operation, Type, Value
from ...bindings.mlir import as_list, ir, is_several, parse_type
from ...bindings.rewriting import is_rewriting
from ...support.errors import RelaxError
from ...support.suggest import counted, suggest
from .attributes import AttributeProblem
from .cache import cache_of
from .codec import TypeProblem, canonical_type, encode
from .infos import Info
from .known import folding
from .opdef import PROBLEMS, Call, OpDef, OperandDef, OpProblem
from .operands import as_operand, as_value, operand_info
from .verifier import check_operand_kinds

#: Return value of a builder: one result, or a tuple of several results.
Built = Value | tuple[Value, ...] | None


def build(definition: OpDef, args: Sequence[object], kwargs: dict[str, Any]) -> Built:
    """Create the operation at the current insertion point (or `ip=`) with the current location (or `loc=`).

    Return the result, a tuple of several results, or None for an operation without results.
    """
    location, point = kwargs.pop("loc", None), kwargs.pop("ip", None)
    try:
        arguments = _bind(definition, args, kwargs)
        arguments |= {name: default for name, default in definition.defaults.items() if arguments.get(name) is None}
        if definition.prepare is not None:
            with definition.blaming("prepare function", definition.prepare):
                arguments = definition.prepare(arguments)
        if definition.redirect is not None:
            with definition.blaming("redirect function", definition.redirect):
                definition = definition.redirect(arguments)
        evaluate = folding.get()
        known = None if evaluate is None else evaluate(definition, arguments)
        return known if known is not None else _Build(definition, arguments, location, point).run()
    except PROBLEMS as problem:
        shown = "" if location is None else str(location)
        raise RelaxError(f"'{definition.full_name}' op {problem}", location=shown) from None


def _bind(definition: OpDef, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    parameters = definition.parameters
    args = _gather(definition, args)
    if len(args) > len(parameters):
        raise OpProblem(f"takes {counted(len(parameters), 'argument')} ({', '.join(parameters)}), got {len(args)}")
    arguments = dict(zip(parameters, args))  # noqa: B905  # fewer positional arguments than parameters is usual
    for name, value in kwargs.items():
        if name not in parameters:
            raise OpProblem(f"has no argument '{name}'{suggest(name, parameters)} (it takes {', '.join(parameters)})")
        if name in arguments:
            raise OpProblem(f"got argument '{name}' twice")
        arguments[name] = value
    return arguments


def _gather(definition: OpDef, args: Sequence[object]) -> Sequence[object]:
    """Collect values at the position of a variadic operand into a list: `print(a, b)` means `print([a, b])`."""
    position = definition.variadic_parameter
    if position is None or len(args) <= position or as_value(args[position]) is None:
        return args
    end = position
    while end < len(args) and as_value(args[end]) is not None:
        end += 1
    return [*args[:position], list(args[position:end]), *args[end:]]


def infer_types(
    definition: OpDef,
    values: Sequence[Value],
    sizes: Sequence[int],
    attributes: Mapping[str, Attribute],
    context: Context,
) -> list[Type]:
    """Infer the result types of an operator.

    `sizes` holds the number of values per operand. Raise OpProblem, TypeProblem or SymbolError.
    """
    infos = definition.segment([operand_info(value) for value in values], sizes)
    decoded = {
        name: kind.decode(attributes[name]) if name in attributes else kind.default
        for name, kind in definition.attrs.items()
    }
    call = Call(definition, infos, decoded)
    check_operand_kinds(call)
    return [encode(info, context) for info in definition.infer_results(call)]


class _Build:
    """Construction of one operation."""

    def __init__(
        self, definition: OpDef, arguments: dict[str, Any], location: Location | None, point: InsertionPoint | None
    ):
        self.definition = definition
        self.arguments = arguments
        self.point = point
        self.context = self._context(location, point)
        current = ir.Location.current
        #: Entering costs time, and mostly both are entered already.
        self.is_entered = location is None and point is None and current is not None
        self.location = location or current or ir.Location.unknown(self.context)
        self.sizes: list[int] = []
        handles = building.get()
        #: Result handles, if the operation goes to the module that is being built.
        self.handles = (
            handles if handles is not None and point is None and handles.context_id == id(self.context) else None
        )
        if self.handles is not None and location is None:
            # Skip this function, `build` and the operator's call.
            self.location = self.handles.line(self.location, 4)

    def _context(self, location: Location | None, point: InsertionPoint | None) -> Context:
        if location is not None:
            return location.context
        if point is not None:
            return point.block.owner.context
        if (current := ir.Context.current) is not None:
            return current
        for value in self.arguments.values():
            if (ssa := as_value(value)) is not None:
                return ssa.context
        raise OpProblem("cannot be built outside of a module: no context (use `with module:`)")

    def run(self) -> Built:
        if self.is_entered:
            return self._run()
        with self.context, self.location:
            return self._run()

    def _run(self) -> Built:
        values = self._operands()
        attributes = self._attributes()
        types = self._result_types(values, attributes)
        if self.definition.segmented:
            attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(self.sizes)
        return self._results(self._create(self.definition.full_name, types, values, attributes), types)

    def _create(
        self, name: str, types: Sequence[Type], operands: Sequence[Value], attributes: dict[str, Attribute]
    ) -> Operation:
        try:
            return ir.Operation.create(
                name, results=types, operands=operands, attributes=attributes, loc=self.location, ip=self.point
            )
        except ValueError as error:
            raise OpProblem(f"cannot be built here: {error} (use `with module.body:` or ip=)") from None

    def _create_operand(self, name: str, info: Info, attributes: dict[str, Attribute], *operands: Value) -> Value:
        return self._create(name, [encode(info, self.context)], operands, attributes).result

    def _operands(self) -> list[Value]:
        flat: list[Value] = []
        handles = self.handles
        for operand in self.definition.operands:
            given = self.arguments.get(operand.name)
            if operand.arity == "variadic":
                values = self._variadic(given, operand.name)
            elif given is None and operand.arity == "single":
                raise OpProblem(f"misses operand '{operand.name}'")
            else:
                values = [] if given is None else [given]
            for value in values:
                # Mostly the value is a tensor from a builder of this module.
                is_ours = type(value) is Result and value.handles is handles and value.is_tensor
                flat.append(value if is_ours else self._operand(value, operand))
            self.sizes.append(len(values))
        return flat

    def _operand(self, value: object, operand: OperandDef) -> Value:
        ssa = as_operand(value, operand.kind, operand.name, self._create_operand)
        if is_foreign(ssa, self.handles, self.context):
            raise OpProblem(f"operand '{operand.name}' is a value of another module")
        return ssa

    @staticmethod
    def _variadic(given: Any, name: str) -> Sequence[Value]:
        if given is None:
            return []
        if as_value(given) is not None:
            return [given]
        if is_several(given):
            return given
        raise OpProblem(f"operand '{name}' must be a list of values, got {type(given).__name__}")

    def _attributes(self) -> dict[str, Attribute]:
        """Encode the attributes that differ from their defaults.

        Absent attributes have the default, so that equal operations print equally.
        """
        encoded = {}
        for name, kind in self.definition.attrs.items():
            value = self.arguments.get(name, kind.default)
            if kind.required and (value is None or value is kind.default):
                raise OpProblem(f"misses attribute '{name}' ({kind.expects})")
            if value is kind.default:
                continue
            if value is None:
                instead = f"leave it out for {kind.default!r}"
                raise OpProblem(f"attribute '{name}' expects {kind.expects}, got None; {instead}")
            try:
                if isinstance(value, ir.Attribute) and not isinstance(value, ir.Type):
                    value = kind.decode(value)
                value = kind.normalize(value)
                if value != kind.default or type(value) is not type(kind.default):
                    encoded[name] = kind.encode(value, self.context)
            except AttributeProblem as problem:
                raise OpProblem(f"attribute '{name}' {problem}") from None
        return encoded

    def _result_types(self, values: Sequence[Value], attributes: dict[str, Attribute]) -> Sequence[Type]:
        definition = self.definition
        if definition.explicit:
            self._make_known()
            if (given := self.arguments.get(definition.explicit)) is None:
                raise OpProblem(f"misses '{self.definition.explicit}': the type of each result")
            return [self._stated_type(item) for item in as_list(given)]
        if definition.value_dependent:
            return self._infer(values, attributes)
        key = (definition, *(value.type for value in values), *self.sizes, *attributes.items())
        inferred = cache_of(self.context).inferred
        return inferred.get(key) or inferred.remember(key, self._infer(values, attributes))

    def _make_known(self) -> None:
        """Load the dialect again if an operator was declared after the context was created.

        MLIR would create an unregistered operation otherwise.
        """
        if self.context.is_registered_operation(self.definition.full_name):
            return
        if is_rewriting():
            raise OpProblem("was declared while patterns run, too late for this context: import its module before")
        self.definition.dialect.load(self.context)

    def _infer(self, values: Sequence[Value], attributes: dict[str, Attribute]) -> list[Type]:
        self._make_known()
        return infer_types(self.definition, values, self.sizes, attributes, self.context)

    def _stated_type(self, item: object) -> Type:
        if isinstance(item, ir.Type):
            return canonical_type(item)
        if isinstance(item, str):
            try:
                return canonical_type(parse_type(item, self.context))
            except TypeProblem:
                raise
            except ValueError:
                raise OpProblem(f"'{self.definition.explicit}': {item!r} is not a type") from None
        if isinstance(item, Info):
            return encode(item, self.context)
        raise OpProblem(f"'{self.definition.explicit}' must hold types, got {type(item).__name__}")

    def _results(self, op: Operation, types: Sequence[Type]) -> Built:
        definition, handles = self.definition, self.handles
        results: Sequence[Value] = op.results
        if handles is not None:
            name = definition.full_name
            if len(types) == 1:
                results = [handles.result(results[0], types[0], name)]
            else:
                results = [handles.result(*each, name) for each in zip(results, types, strict=True)]
        if definition.results and definition.results[0].arity == "variadic":
            given = self.arguments.get(definition.explicit) if definition.explicit else ()
            return tuple(results) if is_several(given) or len(results) != 1 else results[0]
        return None if not len(results) else results[0] if len(results) == 1 else tuple(results)
