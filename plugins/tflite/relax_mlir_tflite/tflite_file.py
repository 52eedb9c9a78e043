# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of TFLite files: subgraphs with their tensors and operators, buffers and signatures.

The file is read once, and the total size of the parts read is bounded. The schema's classes follow any offset within
the file. The reader refuses a file with wrong offsets, or with offsets that lead to one table many times. Users of a
table check its contents.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from relax_mlir import ModelError
from relax_mlir.support.suggest import suggest

from .file_identifier import IDENTIFIER
from .schema import DTYPES, fields_of, names_in, schema

#: Exceptions that the schema's classes raise if an offset leads out of the file.
_DAMAGED = (struct.error, TypeError, ValueError, IndexError, OverflowError)
#: Minimum bytes of a table in a vector: its offset in the vector, and its offset to the list of fields.
_LEAST_TABLE = 8
#: Maximum ratio of bytes read to the size of the file. A valid file shares only short texts between tables.
_MOST_READ = 4


class Quantization(NamedTuple):
    """Parameters of real = (stored - zero point) * scale: one pair, or one pair for each slice along an axis."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int


class Sparsity(NamedTuple):
    """Storage format of a sparse constant."""

    order: list[int]
    block_map: list[int]
    #: For each dimension: a flag for sparse ones, the size, the starts of segments, and the indices of elements.
    dimensions: list[tuple[bool, int, list[int], list[int]]]


class TensorRow(NamedTuple):
    """Description of a tensor in the file. `shape` contains -1 for each dynamic size."""

    name: str
    type: str
    shape: tuple[int, ...]
    buffer: int
    quantization: Quantization | None
    is_variable: bool
    sparsity: Sparsity | None

    @property
    def dtype(self) -> str:
        """Return relax's name of the element type, or an empty string if relax does not have the type."""
        return DTYPES.get(self.type, "")

    @property
    def is_quantized(self) -> bool:
        """Check whether the tensor's integers represent real numbers.

        For integers wider than 16 bits, the using operator decides.
        """
        return self.quantization is not None and self.dtype in ("i8", "ui8", "i16", "ui16")


class OperatorRow(NamedTuple):
    """Description of an operator in the file.

    `op` is the name of a built-in or custom operator. Inputs and outputs are indices of tensors; -1 is an absent input.
    """

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
    """Signature of a subgraph: the names of its inputs and outputs, by indices of tensors."""

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
        """Return the signature with the key. Raises RelaxError if the file has no such signature."""
        found = {each.key: each for each in self.signatures}
        if key not in found:
            known = ", ".join(sorted(found)) or "none"
            raise ModelError(f"{self.name} has no signature '{key}'{suggest(key, found)}; its signatures: {known}")
        return found[key]


def read_model(source: str | Path | bytes | bytearray | memoryview) -> TfliteFile:
    """Read a model from the path of a file or from bytes. Raises RelaxError if the bytes are not a valid model."""
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
        raise ModelError(f"{name} is not a TFLite model: bytes 4 to 7 are not {IDENTIFIER.decode()}")
    schema()
    try:
        model = _FileReader(content, name).model()
    except _DAMAGED:
        raise ModelError(f"{name} is damaged or truncated: it has offsets beyond its end") from None
    if not model.subgraphs:
        raise ModelError(f"{name} has no subgraph: there is nothing to compile")
    return model


class _FileReader:
    def __init__(self, data: bytes, name: str):
        self._data, self._name = data, name
        #: Remaining budget of bytes to read.
        self._left = _MOST_READ * len(data)

    def model(self) -> TfliteFile:
        root = schema().Model.GetRootAs(self._data, 0)
        codes = [self._code(table) for table in self._tables(root, "OperatorCodes")]
        return TfliteFile(
            self._name,
            [self._subgraph(table, codes) for table in self._tables(root, "Subgraphs")],
            [self._buffer(table) for table in self._tables(root, "Buffers")],
            [self._signature(table) for table in self._tables(root, "SignatureDefs")],
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
        numbers: list[Any] = getattr(table, f"{accessor}AsNumpy")().tolist() if count else []
        return numbers

    def _text(self, found: bytes | None) -> str:
        self._take(len(found or b""))
        return (found or b"").decode("utf-8", "replace")

    def _options(self, table: Any, accessor: str, unions: str = "") -> dict[str, Any]:
        """Return the fields of a union's table: numbers, bytes and lists of numbers."""
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

    def _read(self, offset: int, size: int) -> memoryview:
        """Return bytes stored after the tables. Files of more than 2 GB store buffers there."""
        if offset + size > len(self._data):
            raise ValueError("they are not in the file")
        return memoryview(self._data)[offset : offset + size]

    # ---- tables ----

    def _code(self, table: Any) -> tuple[str, bool]:
        # The older field has the codes that fit in one byte.
        code = max(table.DeprecatedBuiltinCode(), table.BuiltinCode())
        name = names_in("BuiltinOperator").get(code, f"#{code}")
        return (self._text(table.CustomCode()), True) if name == "CUSTOM" else (name, False)

    def _buffer(self, table: Any) -> memoryview:
        if table.Offset() > 1:  # The value 1 is a placeholder: no offset has been written.
            return self._read(table.Offset(), table.Size())
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
            custom or self._read(table.LargeCustomOptionsOffset(), table.LargeCustomOptionsSize()).tobytes(),
        )
