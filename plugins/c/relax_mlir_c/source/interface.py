# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of a public function: named sizes, then inputs, then memory for results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir, string_value
from relax_mlir.bindings.rewriting import located_error
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import Info, ScalarInfo, TensorInfo, describe
from relax_mlir.dialects.core.intervals import Bounds
from relax_mlir.dialects.core.ir_attributes import GRAPH_INPUTS, GRAPH_RESULTS, INPUT_NAMES
from relax_mlir.dialects.core.size_bounds import allowed_ranges, size_bounds
from relax_mlir.dialects.core.symbols import Dim, SymExpr
from relax_mlir.dialects.core.symbols_expr import Size as Symbolic
from relax_mlir.dialects.core.symbols_expr import terms_of, value_of
from relax_mlir.dialects.core.symbols_terms import Atom, bounds

from .c_names import CNames
from .expressions import Expression, Size, binary, choice, name, of_size, product, quotient, remainder
from .types import INDEX, interface_type


@dataclass(frozen=True)
class InterfaceArgument:
    """Input or result of a public function."""

    name: str
    #: Name in the model.
    label: str
    info: Info
    #: C type of an element or a scalar.
    c_type: str
    #: Sizes of a tensor, as expressions of the size parameters.
    sizes: tuple[Size, ...] = ()
    is_written: bool = False

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.info, TensorInfo)

    @property
    def declaration(self) -> str:
        if not self.is_tensor:
            return f"{self.c_type} {self.name}"
        return f"{'' if self.is_written else 'const '}{self.c_type} *{self.name}"


@dataclass(frozen=True)
class SizeArgument:
    """Size parameter and its bounds."""

    name: str
    label: str
    bounds: Bounds

    @property
    def declaration(self) -> str:
        return f"{INDEX} {self.name}"


@dataclass
class Interface:
    """Signature of a public function in C."""

    name: str
    #: Name in the model.
    label: str
    sizes: list[SizeArgument] = field(default_factory=list)
    inputs: list[InterfaceArgument] = field(default_factory=list)
    results: list[InterfaceArgument] = field(default_factory=list)

    @property
    def declarations(self) -> list[str]:
        arguments = [value.declaration for value in (*self.inputs, *self.results)]
        return [*(size.declaration for size in self.sizes), *arguments] or ["void"]

    @property
    def names(self) -> list[str]:
        return [*(size.name for size in self.sizes), *(input_.name for input_ in (*self.inputs, *self.results))]


def interface_of(function: Operation, chosen: str, names: CNames, written: Iterable[int]) -> Interface:
    """Return the interface of a lowered graph function.

    Raises RelaxError with the location for types that C cannot pass.
    """
    interface = Interface(chosen, string_value(function.attributes["sym_name"]))
    inputs, results = (
        [decode(ir.TypeAttr(each).value) for each in function.attributes[key]] for key in (GRAPH_INPUTS, GRAPH_RESULTS)
    )
    labels = [string_value(each) for each in function.attributes[INPUT_NAMES]]
    sizes = _SizeFormulas(function, names, interface)
    for label, info in zip(labels, inputs, strict=True):
        sizes.define(label, info)
    changed = set(written)
    for position, (label, info) in enumerate(zip(labels, inputs, strict=True)):
        interface.inputs.append(sizes.argument(names.fresh(label), label, info, is_written=position in changed))
    for position, info in enumerate(results):
        label = "result" if len(results) == 1 else f"result{position}"
        interface.results.append(sizes.argument(names.fresh(label), label, info, is_written=True))
    return interface


class _SizeFormulas:
    """Sizes of a function, by the text of their formulas."""

    def __init__(self, function: Operation, names: CNames, made: Interface) -> None:
        self._function, self._names, self._made = function, names, made
        self._ranges = allowed_ranges(function)
        self._known: dict[str, Expression] = {}

    def define(self, label: str, info: Info) -> None:
        """Define the size parameters of an input's plain symbols."""
        sizes = [info.value] if isinstance(info, ScalarInfo) else list(getattr(info, "shape", None) or ())
        for size in sizes:
            if isinstance(size, SymExpr) and str(size) in size.variables and str(size) not in self._known:
                self._pass(str(size), str(size), size)

    def _pass(self, text: str, wanted: str, size: Dim) -> Expression:
        chosen = self._names.fresh(wanted)
        limits = size_bounds(size, self._ranges) if size is not None else (None, None)
        self._made.sizes.append(SizeArgument(chosen, text, limits))
        self._known[text] = name(chosen, is_place=True, is_natural=True)
        return self._known[text]

    def argument(self, chosen: str, label: str, info: Info, *, is_written: bool) -> InterfaceArgument:
        if isinstance(info, TensorInfo) and info.shape is not None:
            sizes = tuple(self._size(size, f"{chosen}_size{axis}", info) for axis, size in enumerate(info.shape))
            return InterfaceArgument(chosen, label, info, interface_type(info.dtype), sizes, is_written)
        if isinstance(info, ScalarInfo) and not is_written:
            return InterfaceArgument(chosen, label, info, _scalar_type(info))
        raise self._refusal(f"'{label}' is {describe(info)}: C only supports numbers and tensors of known rank")

    def _size(self, size: Dim, wanted: str, info: TensorInfo) -> Size:
        if isinstance(size, int):
            return size
        text = wanted if size is None else str(size)
        if text in self._known:
            return self._known[text]
        if isinstance(size, SymExpr) and size.variables <= self._known.keys():
            self._known[text] = of_size(self._formula(size))
            return self._known[text]
        return self._pass(text, wanted, size)

    def _formula(self, size: Symbolic) -> Size:
        return value_of(size, self._atom)

    def _atom(self, atom: Atom) -> Size:
        if atom.kind == "variable":
            return self._known[str(atom)]
        formulas = [self._formula(arg) for arg in atom.args]
        if atom.kind in ("//", "%"):
            least, _ = bounds(terms_of(atom.args[0]))
            rounded = quotient if atom.kind == "//" else remainder
            return rounded(*formulas, is_natural=least is not None and least >= 0)
        found, *parts = map(of_size, formulas)
        for part in parts:
            found = choice(binary("<" if atom.kind == "min" else ">", found, part), found, part)
        return found

    def _refusal(self, reason: str) -> Exception:
        return located_error(f"target 'c' cannot write @{self._made.label}: {reason}", self._function.location)


def _scalar_type(info: ScalarInfo) -> str:
    """Return the C type of a scalar's lowered type: i64, f64 or i1."""
    if info.dtype.startswith(("f", "bf")):
        return "double"
    return "bool" if info.dtype == "i1" else INDEX


def count_of(sizes: Sequence[Size]) -> Expression:
    """Return the number of elements."""
    return of_size(product(sizes))
