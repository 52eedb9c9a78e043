# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is in a TFLite file, read once and with bounds: subgraphs with their tensors and operators, buffers, signatures.

The schema's classes follow whatever offsets a file has, within its bytes. A file whose offsets are wrong, or lead to
one table many times, is refused as a whole; what tables say is checked where it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...support.errors import ModelError
from ...support.suggest import suggest
from .schema import DTYPES, fields_of, names_in, schema

#: What a file has behind its first offset.
IDENTIFIER = b"TFL3"
#: What the schema's classes raise where an offset leads out of the bytes.
_DAMAGED = (struct.error, TypeError, ValueError, IndexError, OverflowError)
#: A table in a vector has at least an offset in that, and one to the list of its fields.
_LEAST_TABLE = 8
#: How many times its own bytes a file may be read: tables, numbers and texts are there once, but short texts.
_MOST_READ = 4


class Quantization(NamedTuple):
    """real = (stored - zero point) * scale, with one of both, or one for each slice along an axis."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int


class Sparsity(NamedTuple):
    """How the elements of a constant that are not zero are stored."""

    order: list[int]
    block_map: list[int]
    #: Of each dimension whether it is sparse, its size, where its parts begin, and where elements are.
    dimensions: list[tuple[bool, int, list[int], list[int]]]


class TensorRow(NamedTuple):
    """A tensor as the file describes it. `shape` has -1 where a size is dynamic."""

    name: str
    type: str
    shape: tuple[int, ...]
    buffer: int
    quantization: Quantization | None
    is_variable: bool
    sparsity: Sparsity | None

    @property
    def dtype(self) -> str:
        """The element type as relax has it; empty for one that it does not have."""
        return DTYPES.get(self.type, "")

    @property
    def is_quantized(self) -> bool:
        """Whether its integers stand for real numbers. Of wider ones that is up to who uses them."""
        return self.quantization is not None and self.dtype in ("i8", "ui8", "i16", "ui16")


class OperatorRow(NamedTuple):
    """`op` is the operator's name, a custom one's own; inputs and outputs are places of tensors, -1 for none."""

    op: str
    is_custom: bool
    inputs: list[int]
    outputs: list[int]
    options: dict[str, Any]
    custom_options: bytes


class Subgraph(NamedTuple):
    name: str
    tensors: list[TensorRow]
    inputs: list[int]
    outputs: list[int]
    operators: list[OperatorRow]


class FileSignature(NamedTuple):
    """How a subgraph is called: what its inputs and outputs are called there, by places of tensors."""

    key: str
    subgraph: int
    inputs: dict[int, str]
    outputs: dict[int, str]


class TfliteFile(NamedTuple):
    name: str
    subgraphs: list[Subgraph]
    buffers: list[memoryview]
    signatures: list[FileSignature]

    def signature(self, key: str) -> FileSignature:
        """The signature with this key."""
        found = {each.key: each for each in self.signatures}
        if key not in found:
            known = ", ".join(sorted(found)) or "none"
            raise ModelError(f"{self.name} has no signature '{key}'{suggest(key, found)}: there are {known}")
        return found[key]


def read_model(source: str | Path | bytes | bytearray | memoryview) -> TfliteFile:
    """The model of a file, by its path or its bytes. Raises RelaxError for what is none."""
    name, data = "the model", source
    if isinstance(source, (str, Path)):
        name = str(source)
        try:
            data = Path(source).read_bytes()
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot read '{name}': {getattr(error, 'strerror', error)}") from None
    assert not isinstance(data, (str, Path))
    content = bytes(data)
    if content[4:8] != IDENTIFIER:
        raise ModelError(f"{name} is no TFLite model: bytes 4 to 7 are not {IDENTIFIER.decode()}")
    schema()
    try:
        model = _FileReader(content, name).model()
    except _DAMAGED:
        raise ModelError(f"{name} is damaged or cut short: there are offsets that lead out of it") from None
    if not model.subgraphs:
        raise ModelError(f"{name} has no subgraph: there is nothing to compile")
    return model


class _FileReader:
    def __init__(self, data: bytes, name: str):
        self._data, self._name = data, name
        #: How much may still be read.
        self._left = _MOST_READ * len(data)

    def model(self) -> TfliteFile:
        root = schema().Model.GetRootAs(self._data, 0)
        codes = [self._code(each) for each in self._tables(root, "OperatorCodes")]
        return TfliteFile(
            self._name,
            [self._subgraph(each, codes) for each in self._tables(root, "Subgraphs")],
            [self._buffer(each) for each in self._tables(root, "Buffers")],
            [self._signature(each) for each in self._tables(root, "SignatureDefs")],
        )

    # ---- parts of tables ----

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError("what is read lies in the same bytes")

    def _tables(self, table: Any, accessor: str) -> list[Any]:
        count = getattr(table, f"{accessor}Length")()
        self._take(_LEAST_TABLE * count)
        return [getattr(table, accessor)(index) for index in range(count)]

    def _numbers(self, table: Any, accessor: str) -> list[Any]:
        count = getattr(table, f"{accessor}Length")()
        self._take(count)
        found: list[Any] = getattr(table, f"{accessor}AsNumpy")().tolist() if count else []
        return found

    def _text(self, found: bytes | None) -> str:
        self._take(len(found or b""))
        return (found or b"").decode("utf-8", "replace")

    def _options(self, table: Any, accessor: str, unions: str = "") -> dict[str, Any]:
        """The fields of a table of a union: numbers, bytes, lists of numbers."""
        name = names_in(unions or accessor).get(getattr(table, f"{accessor}Type")(), "NONE")
        union = getattr(table, accessor)()
        if name == "NONE" or union is None:
            return {}
        found = getattr(schema(), name)()
        found.Init(union.Bytes, union.Pos)
        return {
            field.name: self._numbers(found, field.accessor) if field.is_vector else getattr(found, field.accessor)()
            for field in fields_of(name)
        }

    def _at(self, offset: int, size: int) -> memoryview:
        """Bytes behind the tables, as files of more than 2 GB have them."""
        if offset + size > len(self._data):
            raise ValueError("they are not in the file")
        return memoryview(self._data)[offset : offset + size]

    # ---- tables ----

    def _code(self, table: Any) -> tuple[str, bool]:
        # Codes that fit in a byte are in the older field.
        code = max(table.DeprecatedBuiltinCode(), table.BuiltinCode())
        name = names_in("BuiltinOperator").get(code, f"#{code}")
        return (self._text(table.CustomCode()), True) if name == "CUSTOM" else (name, False)

    def _buffer(self, table: Any) -> memoryview:
        if table.Offset() > 1:  # 1 is where none has been written
            return self._at(table.Offset(), table.Size())
        count = table.DataLength()
        return memoryview(table.DataAsNumpy()).cast("B") if count else memoryview(b"")

    def _signature(self, table: Any) -> FileSignature:
        inputs, outputs = (
            {each.TensorIndex(): self._text(each.Name()) for each in self._tables(table, accessor)}
            for accessor in ("Inputs", "Outputs")
        )
        return FileSignature(self._text(table.SignatureKey()), table.SubgraphIndex(), inputs, outputs)

    def _subgraph(self, table: Any, codes: Sequence[tuple[str, bool]]) -> Subgraph:
        return Subgraph(
            self._text(table.Name()),
            [self._tensor(each) for each in self._tables(table, "Tensors")],
            self._numbers(table, "Inputs"),
            self._numbers(table, "Outputs"),
            [self._operator(each, codes) for each in self._tables(table, "Operators")],
        )

    def _tensor(self, table: Any) -> TensorRow:
        shape, signature = (self._numbers(table, name) for name in ("Shape", "ShapeSignature"))
        return TensorRow(
            self._text(table.Name()),
            names_in("TensorType").get(table.Type(), f"#{table.Type()}"),
            tuple(signature if len(signature) == len(shape) else shape),
            table.Buffer(),
            self._quantization(table.Quantization()),
            table.IsVariable(),
            self._sparsity(table.Sparsity()),
        )

    def _quantization(self, table: Any) -> Quantization | None:
        if table is None or not table.ScaleLength():
            return None
        scale, zero_point = self._numbers(table, "Scale"), self._numbers(table, "ZeroPoint")
        return Quantization(tuple(scale), tuple(zero_point or [0]), table.QuantizedDimension())

    def _sparsity(self, table: Any) -> Sparsity | None:
        if table is None:
            return None
        dimensions = []
        for each in self._tables(table, "DimMetadata"):
            segments, indices = (
                self._options(each, accessor, "SparseIndexVector").get("values", [])
                for accessor in ("ArraySegments", "ArrayIndices")
            )
            dimensions.append((each.Format() != 0, each.DenseSize(), segments, indices))
        return Sparsity(self._numbers(table, "TraversalOrder"), self._numbers(table, "BlockMap"), dimensions)

    def _operator(self, table: Any, codes: Sequence[tuple[str, bool]]) -> OperatorRow:
        index = table.OpcodeIndex()
        op, is_custom = codes[index] if index < len(codes) else (f"code #{index}, which the file does not have", False)
        custom = bytes(self._numbers(table, "CustomOptions"))
        return OperatorRow(
            op,
            is_custom,
            self._numbers(table, "Inputs"),
            self._numbers(table, "Outputs"),
            {**self._options(table, "BuiltinOptions"), **self._options(table, "BuiltinOptions2")},
            custom or self._at(table.LargeCustomOptionsOffset(), table.LargeCustomOptionsSize()).tobytes(),
        )
