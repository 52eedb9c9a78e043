# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that names of a model represent during import.

A constant is an array until an operator needs a tensor. A small integer tensor that is a function of dimensions is
known too. Its elements are numbers and expressions over symbols, and operands of kind shape use them directly.
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

#: Name for annotations, so that importers of this module need no NumPy.
Array: TypeAlias = "numpy.ndarray"
#: A tensor of the graph.
Tensor: TypeAlias = IRValue

# Constants with more elements are created once, in front of the regions that use them. Constants of floats, which may
# be weights, are if they have more than one element.
_LARGE = 64


class Value(KnownTensor):
    """Tensor of the graph: an SSA value, a constant array, or elements that are sizes or ratios of sizes."""

    def __init__(
        self, *, ssa: Tensor | None = None, array: Array | None = None, elements: Any = None, dtype: str = "i64"
    ):
        held: Any = ssa
        if isinstance(held, Value):  # During folding, a tensor may be a known value.
            held, array, elements, dtype = held._ssa, held.array, held._elements, held._dtype
        self._ssa: Tensor | None = held
        #: Elements of a constant as a NumPy array, and the constant's name in the model.
        self.array = array
        self.name = ""
        self._elements = elements
        self._dtype = dtype

    @property
    def info(self) -> TensorInfo:
        if self._ssa is not None:
            if not isinstance(info := decode(self._ssa.type), TensorInfo):
                raise ModelError("expected a tensor, got a sequence or an optional")
            return info
        _elements = self._elements if self.array is None else self.array
        dtype = self._dtype if self.array is None else tensor((), self.array.dtype.name).dtype
        return TensorInfo(tuple(_elements.shape), dtype)

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
        """Check whether the value is a tensor of the graph already."""
        return self._ssa is not None

    @property
    def type(self) -> Type:
        return encode(self.info, ir.Context.current) if self._ssa is None else self._ssa.type

    @property
    def ssa(self) -> Tensor:
        """Return the value as a tensor in the graph. During folding, return a known value itself."""
        if folding.get() is not None and self.known is not None:
            return cast(Tensor, self)
        return self.in_graph() if self._ssa is None else self._ssa

    def in_graph(self) -> Tensor:
        if self._ssa is None:
            with folding_by(None):
                self._ssa = self._sizes_as_tensor() if self.array is None else const(self.array, loc=self._location())
        return self._ssa

    def _location(self) -> Location | None:
        """Return a location with the constant's own name, in front of the location of its first user."""
        return ir.Location.name(self.name, ir.Location.current) if self.name else None

    @property
    def elements(self) -> Array | None:
        """Return known integer elements as an array of numbers and expressions, or None if they are not known."""
        if is_float(self._dtype):
            return None
        if self._elements is None and self.array is not None and self.array.dtype.kind in "iub":
            self._elements = self.array.astype(object)
        return self._elements

    @property
    def known(self) -> Array | None:
        """Return the elements for constant evaluation (passes/evaluate), or None if they are not known."""
        return self.array if self.array is not None else self._elements

    def inside(self, operation: Operation) -> Value:
        """Return the value for a region of an operation.

        Tensors that the region creates for a constant are not visible outside.
        """
        if self.array is not None and self.array.size > (1 if self.array.dtype.kind == "f" else _LARGE):
            with ir.InsertionPoint(operation):
                _ = self.ssa
        if self._ssa is not None:
            return self
        copy = Value(array=self.array, elements=self._elements, dtype=self._dtype)
        copy.name = self.name
        return copy

    def _sizes_as_tensor(self) -> Tensor:
        """Return dynamic sizes as a tensor of 64-bit integers, or of the type that they were cast to."""
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
    """Sequence of a length that is known at import: its items."""

    def __init__(self, items: Iterable[Value], dtype: str = "f32"):
        self.items: list[Value] = list(items)
        #: Element type of the tensors. An empty sequence has one too.
        self.dtype: str = self.items[0].dtype if self.items else dtype

    def inside(self, operation: Operation) -> SequenceValue:
        return SequenceValue([item.inside(operation) for item in self.items], self.dtype)


class RunTimeSequence:
    """Sequence of dynamic length: some items, then any number of tensors of one rank.

    The tensors are joined. `data` has their elements, one tensor after the other. Each row of `rows` has the number of
    elements of a tensor, and then its shape.
    """

    def __init__(self, items: Iterable[Value], data: Value, rows: Value):
        self.items: list[Value] = list(items)
        self.data = data
        self.rows = rows
        self.dtype = data.dtype

    @property
    def rank(self) -> int:
        """Return the rank of the joined tensors."""
        shape = self.rows.shape
        assert shape is not None and isinstance(shape[1], int)
        return shape[1] - 1

    def inside(self, operation: Operation) -> RunTimeSequence:
        items = [item.inside(operation) for item in self.items]
        return RunTimeSequence(items, self.data.inside(operation), self.rows.inside(operation))


class OneOf:
    """Tensor that is one of several of different ranks. `place`, a 0-D tensor, is the index of the chosen one.

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
    """Tensor of strings that are known. `places` has the index of each string in `words`, as a 64-bit integer."""

    def __init__(self, places: Value, words: Iterable[str]):
        self.places = places
        self.words: tuple[str, ...] = tuple(words)
        self.dtype: str = places.dtype

    def inside(self, operation: Operation) -> Texts:
        return Texts(self.places.inside(operation), self.words)


class ComplexValue:
    """Tensor of complex numbers. Programs have its real and imaginary part as two tensors."""

    def __init__(self, real: Value, imag: Value):
        self.real = real
        self.imag = imag
        #: Element type of the parts.
        self.dtype: str = real.dtype

    @property
    def shape(self) -> tuple[Any, ...] | None:
        return self.real.shape

    def inside(self, operation: Operation) -> ComplexValue:
        return ComplexValue(self.real.inside(operation), self.imag.inside(operation))


class EmptyOptional:
    """Empty optional. An optional with content is represented by its content."""

    def inside(self, operation: Operation) -> EmptyOptional:
        return self


class RunTimeOptional:
    """Optional that may be empty at run time. `present`, a 0-D tensor, says whether it has content."""

    def __init__(self, present: Value, held: Held):
        self.present = present
        self.held = held

    def inside(self, operation: Operation) -> RunTimeOptional:
        return RunTimeOptional(self.present.inside(operation), self.held.inside(operation))


#: Values that a name may represent.
Held: TypeAlias = (
    Value | ComplexValue | Texts | OneOf | SequenceValue | RunTimeSequence | EmptyOptional | RunTimeOptional
)
#: Result of a converter: all outputs in a list, or the only output. None is an unused output.
Output: TypeAlias = Held | Tensor | None
Outputs: TypeAlias = Output | Sequence[Output]


def as_values(returned: Outputs) -> list[Held | None]:
    """Return the results of a converter as a list of values."""
    items: list[Any] = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    return [item if item is None or isinstance(item, get_args(Held)) else Value(ssa=item) for item in items]


def known(elements: object, dtype: str = "i64") -> Value:
    """Return a value of known integers. Without symbols, the value is a constant."""
    import numpy

    array = numpy.asarray(elements, dtype=object)
    if not any(isinstance(each, SymExpr) for each in array.ravel()):
        return Value(array=array.astype(_numpy_name(dtype)))
    return Value(elements=array, dtype=dtype)


def _numpy_name(dtype: str) -> str:
    """Return NumPy's name of an integer type."""
    return "bool" if is_bool(dtype) else f"{'u' if is_unsigned(dtype) else ''}int{bit_width(dtype)}"
