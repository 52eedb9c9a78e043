# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of graph functions: argument types, operators in the body, and returned results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from ..bindings.handles import erased_error, erasing, is_foreign
from ..bindings.ir import Attribute, Block, Context, Operation, Type, Value
from ..bindings.mlir import ir, parse_type
from ..bindings.navigation import symbol_name
from ..dialects import values as _python_operators  # noqa: F401  # of the values that are handed out
from ..dialects.core.codec import TypeProblem, canonical_type, encode
from ..dialects.core.infos import Info
from ..dialects.core.ir_attributes import RELAX_TARGET
from ..dialects.core.operands import as_value
from ..dialects.relax.function_attributes import function_attributes
from ..dialects.script.summaries import signature
from ..support.argument_types import types_checked
from ..support.errors import RelaxError


class FunctionBuilder:
    """Builder of a function; see Module.function. Operators built inside of the `with` are added to its body."""

    @types_checked
    def __init__(
        self,
        module: Any,
        name: str,
        inputs: Iterable[object] | Mapping[str, object],
        private: bool = False,
        target: str = "",
    ):
        if not isinstance(name, str) or not isinstance(target, str):
            raise RelaxError(f"a function's name and target are text, got {name!r:.60} and {target!r:.60}")
        self._module = module
        self._name = name
        self._names = list(inputs) if isinstance(inputs, Mapping) else []
        self._inputs = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
        self._private = private
        self._target = target
        self._returned: list[Value] | None = None
        self._stack = ExitStack()
        self._operation: Any = None
        #: Reason why the operation no longer exists, or "".
        self.what, self.identity, self.reason = "func.func", 0, ""

    @property
    def operation(self) -> Operation:
        """Return the function. Raises RelaxError if the function was erased."""
        if self.reason:
            raise erased_error(self)
        return self._operation

    @property
    def block(self) -> Block:
        """Return the function's body."""
        return self.operation.regions[0].blocks[0]

    def __enter__(self) -> FunctionBuilder:
        context = self._module.context
        types = [self._type(item, context) for item in self._inputs]
        if any(self._name == symbol_name(op) for op in self._module.body.operations):
            raise RelaxError(f"the module has a function @{self._name} already")
        self._stack.enter_context(context)
        # The location of an enclosing `with loc:` is the operations' location.
        unplaced = None
        if ir.Location.current is None:
            unplaced = self._stack.enter_context(ir.Location.unknown())
        with ir.InsertionPoint(self._module.body):
            self._operation = ir.Operation.create("func.func", attributes=self._attributes(types, []), regions=1)
        handles = self._module.handles
        handles.operation(self)
        block = self._operation.regions[0].blocks.append(*types)
        self._stack.enter_context(ir.InsertionPoint(block))
        self._stack.enter_context(handles.being_built(unplaced if self._module.source_lines else None))
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None and self._returned is not None:
            values = self._returned
            ir.Operation.create("func.return", operands=values)
            inputs = [argument.type for argument in self.block.arguments]
            attributes = self._attributes(inputs, [value.type for value in values])
            self.operation.attributes["function_type"] = attributes["function_type"]
        self._stack.close()
        if kind is not None or self._returned is None:
            # No incomplete function stays in the module.
            self.reason = f"the error in function @{self._name}"
            with erasing(self._module.operation, self.reason):
                # The function is looked up by name: a failed pass replaces it by a copy.
                for built in [op for op in self._module.body.operations if symbol_name(op) == self._name]:
                    built.operation.erase()
        if kind is None and self._returned is None:
            hint = "call f.returns(...) in the `with`, f.returns() for nothing"
            raise RelaxError(f"@{self._name} does not say what it returns: {hint}")

    def __repr__(self) -> str:
        if self.reason or self._operation is None:
            return f"<function @{self._name}, {'erased by ' + self.reason if self.reason else 'not begun'}>"
        return f"<function {signature(self._operation)}>"

    def __iter__(self) -> Iterator[Value]:
        """Yield the arguments: `x, w = f`."""
        return iter(self.args)

    @property
    def args(self) -> list[Value]:
        handles = self._module.handles
        return [handles.argument(argument) for argument in self.block.arguments]

    def returns(self, *values: object) -> None:
        """Set the results of the function; `f.returns()` for no results."""
        if self._returned is not None:
            raise RelaxError(f"@{self._name} returns twice")
        returned = []
        for value in values:
            if (ssa := as_value(value)) is None:
                raise RelaxError(f"@{self._name} must return values, got {type(value).__name__}")
            returned.append(ssa)
        if any(is_foreign(value, self._module.handles, self._module.context) for value in returned):
            raise RelaxError(f"@{self._name} must return values of its own, got a value of another module")
        self._returned = returned

    def _attributes(self, inputs: list[Type], results: list[Type]) -> dict[str, Attribute]:
        attributes = function_attributes(self._name, inputs, results, self._names, self._private)
        return attributes | ({RELAX_TARGET: ir.StringAttr.get(self._target)} if self._target else {})

    @staticmethod
    def _type(item: object, context: Context) -> Type:
        try:
            if isinstance(item, Info):
                return encode(item, context)
            if isinstance(item, (ir.Type, str)):
                return canonical_type(parse_type(item, context) if isinstance(item, str) else item)
        except TypeProblem as problem:
            raise RelaxError(str(problem)) from None
        except ValueError:
            raise RelaxError(f"'{item}' is not a type") from None
        raise RelaxError(f"an argument's type is text, rx.tensor(...) or an MLIR type, got {type(item).__name__}")
