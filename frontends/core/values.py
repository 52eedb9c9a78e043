# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of an importer: what a name of a model stands for.

A constant is an array until an operator needs it as a tensor. A small integer tensor that is a function of dimensions
is known too: its elements are numbers and expressions over symbols, and where shapes are asked for it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from ...bindings.ir import Location, Operation, Type
from ...bindings.ir import Value as IRValue
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.codec import decode, encode
from ...dialects.core.infos import TensorInfo, bit_width, is_bool, is_float, is_unsigned, tensor
from ...dialects.core.known import KnownTensor, folding, folding_by
from ...dialects.core.symbols import SymExpr
from ...dialects.relax import const
from ...support.errors import ModelError

if TYPE_CHECKING:
    import numpy

#: A name for annotations: who imports this needs no numpy.
Array: TypeAlias = "numpy.ndarray"
#: A tensor of the graph.
Tensor: TypeAlias = IRValue

# Constants of more elements are made once, in front of the regions that use them; of floats, which may be weights,
# those of more than one.
_LARGE = 64


class Value(KnownTensor):
    """A tensor of the graph: an SSA value, a constant array, or elements that are sizes or ratios of them."""

    def __init__(
        self, *, ssa: Tensor | None = None, array: Array | None = None, elements: Any = None, dtype: str = "i64"
    ):
        held: Any = ssa
        if isinstance(held, Value):  # while nodes are folded, a tensor that is known
            held, array, elements, dtype = held._ssa, held.array, held._elements, held._dtype
        self._ssa: Tensor | None = held
        #: A constant's elements, a numpy array, and what the model calls it.
        self.array = array
        self.name = ""
        self._elements = elements
        self._dtype = dtype

    @property
    def info(self) -> TensorInfo:
        if self._ssa is not None:
            info = decode(self._ssa.type)
            if not isinstance(info, TensorInfo):
                raise ModelError("a sequence or an optional stands where a tensor is expected")
            return info
        held = self._elements if self.array is None else self.array
        dtype = self._dtype if self.array is None else tensor((), self.array.dtype.name).dtype
        return TensorInfo(tuple(held.shape), dtype)

    @property
    def dtype(self) -> str:
        return self.info.dtype

    @property
    def shape(self) -> tuple[Any, ...] | None:
        return self.info.shape

    @property
    def rank(self) -> int | None:
        return self.info.rank

    @property
    def is_in_graph(self) -> bool:
        """Whether it is a tensor of the graph by now."""
        return self._ssa is not None

    @property
    def type(self) -> Type:
        return encode(self.info, ir.Context.current) if self._ssa is None else self._ssa.type

    @property
    def ssa(self) -> Tensor:
        """The value as a tensor in the graph, or while nodes are folded, where it is known, itself."""
        if folding.get() is not None and self.known is not None:
            return cast(Tensor, self)
        return self.in_graph() if self._ssa is None else self._ssa

    def in_graph(self) -> Tensor:
        if self._ssa is None:
            with folding_by(None):
                self._ssa = self._sizes_as_tensor() if self.array is None else const(self.array, loc=self._location())
        return self._ssa

    def _location(self) -> Location | None:
        """The constant's own name, in front of that of the node that needs it first."""
        return ir.Location.name(self.name, ir.Location.current) if self.name else None

    @property
    def elements(self) -> Array | None:
        """Integer elements that are known, an array of objects: numbers and expressions. None where they are not."""
        if is_float(self._dtype):
            return None
        if self._elements is None and self.array is not None and self.array.dtype.kind in "iub":
            self._elements = self.array.astype(object)
        return self._elements

    @property
    def known(self) -> Array | None:
        """The elements, numbers or objects as rules of evaluation take them (passes/evaluate). None for others."""
        return self.array if self.array is not None else self._elements

    def inside(self, operation: Operation) -> Value:
        """The value for a region of an operation: what the region makes of a constant is seen nowhere else."""
        if self.array is not None and self.array.size > (1 if self.array.dtype.kind == "f" else _LARGE):
            with ir.InsertionPoint(operation):
                _ = self.ssa
        if self._ssa is not None:
            return self
        copy = Value(array=self.array, elements=self._elements, dtype=self._dtype)
        copy.name = self.name
        return copy

    def _sizes_as_tensor(self) -> Tensor:
        """Dynamic sizes, as a tensor of 64-bit integers, or of the type that it was cast to."""
        if is_float(self._dtype):
            return self._ratios_as_tensor()
        flat = [size if isinstance(size, SymExpr) else int(size) for size in self._elements.ravel()]
        # A shape's literal sizes are not negative.
        literal = [size if isinstance(size, SymExpr) or size >= 0 else 0 for size in flat]
        made = relax.shape_to_tensor(tuple(literal))
        if literal != flat:
            made = relax.add(made, const([min(size, 0) if isinstance(size, int) else 0 for size in flat], "i64"))
        if self._elements.ndim != 1:
            made = relax.reshape(made, tuple(self._elements.shape))
        return made if self._dtype == "i64" else relax.astype(made, dtype=self._dtype)

    def _ratios_as_tensor(self) -> Tensor:
        import numpy

        numbers, divisors = (numpy.frompyfunc(attrgetter(name), 1, 1)(self._elements) for name in ("number", "divisor"))
        floats = relax.astype(known(numbers).in_graph(), dtype=self._dtype)
        return relax.divide(floats, const(numpy.asarray(divisors, "float64"), self._dtype))


class SequenceValue:
    """A sequence whose length is known while the model is imported: its items."""

    def __init__(self, items: Iterable[Value], dtype: str = "f32"):
        self.items: list[Value] = list(items)
        #: The element type of the tensors; what an empty sequence knows of them.
        self.dtype: str = self.items[0].dtype if self.items else dtype

    def inside(self, operation: Operation) -> SequenceValue:
        return SequenceValue([item.inside(operation) for item in self.items], self.dtype)


class RunTimeSequence:
    """A sequence of dynamic length: some items, then any number of tensors of one rank.

    These are joined: `data` has their elements one behind the other, a row of `rows` says how many are one tensor's,
    and then its shape.
    """

    def __init__(self, items: Iterable[Value], data: Value, rows: Value):
        self.items: list[Value] = list(items)
        self.data = data
        self.rows = rows
        self.dtype = data.dtype

    @property
    def rank(self) -> int:
        """Of the tensors that are joined."""
        shape = self.rows.shape
        assert shape is not None and isinstance(shape[1], int)
        return shape[1] - 1

    def inside(self, operation: Operation) -> RunTimeSequence:
        items = [item.inside(operation) for item in self.items]
        return RunTimeSequence(items, self.data.inside(operation), self.rows.inside(operation))


class OneOf:
    """A tensor that is one of several of different ranks, chosen at run time: `place`, a 0-D tensor, says it.

    The others are empty.
    """

    def __init__(self, place: Value, tensors: Iterable[Value]):
        self.place = place
        self.tensors: list[Value] = list(tensors)
        self.dtype: str = self.tensors[0].dtype

    def __str__(self) -> str:
        ranks = " or ".join(str(tensor.rank) for tensor in self.tensors)
        return f"a tensor of {ranks} dimensions, known at run time only"

    def inside(self, operation: Operation) -> OneOf:
        return OneOf(self.place.inside(operation), [tensor.inside(operation) for tensor in self.tensors])


class Texts:
    """A tensor of strings that are known: of each element `places` has the place among `words`, a 64-bit integer."""

    def __init__(self, places: Value, words: Iterable[str]):
        self.places = places
        self.words: tuple[str, ...] = tuple(words)
        self.dtype: str = places.dtype

    def inside(self, operation: Operation) -> Texts:
        return Texts(self.places.inside(operation), self.words)


class ComplexValue:
    """A tensor of complex numbers: no program has any, but their real and imaginary parts."""

    def __init__(self, real: Value, imag: Value):
        self.real = real
        self.imag = imag
        #: The element type of the parts.
        self.dtype: str = real.dtype

    @property
    def shape(self) -> tuple[Any, ...] | None:
        return self.real.shape

    def inside(self, operation: Operation) -> ComplexValue:
        return ComplexValue(self.real.inside(operation), self.imag.inside(operation))


class EmptyOptional:
    """An optional that holds nothing; one that holds something is that."""

    def inside(self, operation: Operation) -> EmptyOptional:
        return self


class RunTimeOptional:
    """An optional that holds something or not, known at run time: `present`, a 0-D tensor, says it."""

    def __init__(self, present: Value, held: Held):
        self.present = present
        self.held = held

    def inside(self, operation: Operation) -> RunTimeOptional:
        return RunTimeOptional(self.present.inside(operation), self.held.inside(operation))


#: What a name may stand for.
Held: TypeAlias = (
    Value | ComplexValue | Texts | OneOf | SequenceValue | RunTimeSequence | EmptyOptional | RunTimeOptional
)
#: What a converter gives: all outputs in a list, or the only one; None is an unused one.
Output: TypeAlias = Held | Tensor | None
Outputs: TypeAlias = Output | Sequence[Output]


def as_values(returned: Outputs) -> list[Held | None]:
    """What a converter returned, as a list of values."""
    items: list[Any] = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    return [item if item is None or isinstance(item, get_args(Held)) else Value(ssa=item) for item in items]


def known(elements: object, dtype: str = "i64") -> Value:
    """A value of known integers: a constant where no symbol is among them."""
    import numpy

    array = numpy.asarray(elements, dtype=object)
    if not any(isinstance(each, SymExpr) for each in array.ravel()):
        return Value(array=array.astype(_numpy_name(dtype)))
    return Value(elements=array, dtype=dtype)


def _numpy_name(dtype: str) -> str:
    """Of an integer's type, as numpy calls it."""
    return "bool" if is_bool(dtype) else f"{'u' if is_unsigned(dtype) else ''}int{bit_width(dtype)}"
