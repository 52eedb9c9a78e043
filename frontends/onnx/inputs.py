# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that callers pass: element types and shapes, from the model or from `shapes`.

A sequence is a list of tensors, as many as `shapes` says. An optional is its content, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import FUNCTIONS, Dim, SymbolError, SymExpr, parse, sym
from ...dialects.relax.function_attributes import LIST, NOTHING, VALUE, Group
from ...support.errors import ModelError, OptionError, RelaxError
from ...support.names import FreshNames
from ...support.suggest import counted
from .model import OnnxModel
from .tensor_data import TEXT, TypeProto, ValueInfoProto, check_size, dtype_of

#: None is a dynamic size; a string is the name of a dynamic size.
Shape = Sequence[int | str | None]
#: Shape of a tensor. A sequence has a list of shapes, with None for the model's own. None leaves out an optional.
InputShape = Shape | Sequence[Shape | None] | None


class PassedInput(NamedTuple):
    """Input of callers, and its tensors in the graph function: one, several, or none."""

    name: str
    kind: str
    infos: tuple[TensorInfo, ...]
    #: Element type of the tensors, also of an empty list.
    dtype: str

    @property
    def group(self) -> Group:
        return Group(self.kind, len(self.infos), self.name)

    @property
    def names(self) -> list[str]:
        """Return the names of the function's arguments."""
        if self.kind == LIST:
            return [f"{self.name}.{index}" for index in range(len(self.infos))]
        return [self.name] * len(self.infos)


def passed_inputs(model: OnnxModel, shapes: Mapping[str, InputShape]) -> list[PassedInput]:
    """Return the inputs that callers pass. `shapes` replaces shapes of the model."""
    inputs = declared_inputs(model)
    _check_names(shapes, [input_.name for input_ in inputs])
    symbols = _Symbols([input_.type for input_ in inputs], shapes.values())
    return [_passed_input(input_, shapes, symbols) for input_ in inputs]


def declared_inputs(model: OnnxModel) -> list[ValueInfoProto]:
    """Return the model's inputs that have no default value."""
    graph = model.proto.graph
    constants = {each.name for each in graph.initializer}
    return [each for each in graph.input if each.name not in constants]


def kind_of(type_: TypeProto) -> str:
    """Return the kind of a type: "tensor", "sequence", "optional", "map" and so on, or "" if it is not stated."""
    return (type_.WhichOneof("value") or "").removesuffix("_type")


def _check_names(shapes: object, names: list[str]) -> None:
    if not isinstance(shapes, Mapping):
        raise OptionError(f"shapes: expected inputs' names with their shapes, got {type(shapes).__name__}")
    if (unknown := next((name for name in shapes if name not in names), None)) is not None:
        raise OptionError(f"shapes: the model has no input '{unknown}' (it has {', '.join(names) or 'none'})")
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise ModelError(f"'{twice}' is defined twice: names of a graph are unique")


# Exporters write such names for unknown sizes. Two sizes with such a name may differ.
_NO_NAME = re.compile(r"\W*|-\d+|none|null", re.IGNORECASE)


class _Symbols:
    """Symbols of sizes: one for each name in the model, and new ones for sizes without a name."""

    def __init__(self, types: Sequence[TypeProto], asked_for: Iterable[object]):
        names = [dim.dim_param for type_ in types for dim in _tensor_of(type_).shape.dim if dim.dim_param]
        # Names that are valid symbols are kept. Others get the nearest valid name.
        own = [name for name in dict.fromkeys(names) if not _NO_NAME.fullmatch(name)]
        self._known = {name: name for name in own if _as_symbol(name) == name and name not in FUNCTIONS}
        near = FreshNames([*self._known, *FUNCTIONS])
        self._known |= {name: near.of(_as_symbol(name)) for name in own if name not in self._known}
        self._fresh = FreshNames([*self._known.values(), *_words(asked_for)])

    def of(self, name: str, fallback: str) -> SymExpr:
        """Return the symbol for a size's name in the model, or a new symbol if it has no name."""
        return sym(self._known[name]) if name in self._known else self.new(fallback)

    def new(self, wanted: str) -> SymExpr:
        return sym(self._fresh.of(_as_symbol(wanted)))


def _as_symbol(name: str) -> str:
    """Return the nearest valid symbol name."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    return cleaned if re.match(r"[A-Za-z_]", cleaned) else f"_{cleaned}"


def _tensor_of(type_: TypeProto) -> TypeProto.Tensor:
    """Return the tensor type inside a type."""
    while kind_of(type_) in ("sequence", "optional"):
        type_ = (type_.sequence_type if kind_of(type_) == "sequence" else type_.optional_type).elem_type
    return type_.tensor_type


def _words(shapes: object) -> list[str]:
    """Return all names in requested shapes, including names in expressions."""
    if isinstance(shapes, str):
        return re.findall(r"\w+", shapes)
    listed = shapes if isinstance(shapes, Iterable) else ()
    return [word for each in listed for word in _words(each)]


def _passed_input(value: ValueInfoProto, shapes: Mapping[str, Any], symbols: _Symbols) -> PassedInput:
    name, type_ = value.name, value.type
    if kind_of(type_) == "optional":
        if name not in shapes:
            raise OptionError(
                f"input '{name}' is an optional: state whether it is passed, by its shape or None "
                f"(shapes={{'{name}': None}}, --shape {name}:-)"
            )
        type_ = type_.optional_type.elem_type
        if shapes[name] is None:
            return PassedInput(name, NOTHING, (), "f32")
    if kind_of(type_) == "sequence":
        return _passed_list(name, type_.sequence_type.elem_type, shapes, symbols)
    if name in shapes and shapes[name] is None:
        raise OptionError(f"shapes: input '{name}' is not an optional: it cannot be left out (None)")
    info = _tensor_info(name, name, type_, shapes.get(name), symbols, own_sizes=True)
    return PassedInput(name, VALUE, (info,), info.dtype)


def _passed_list(name: str, item: TypeProto, shapes: Mapping[str, object], symbols: _Symbols) -> PassedInput:
    if name not in shapes:
        raise OptionError(
            f"input '{name}' is a sequence: state how many tensors it has, by their shapes "
            f"(shapes={{'{name}': [(2, 3), (None, 3)]}}, --shape '{name}:[(2,3),(?,3)]')"
        )
    given = shapes[name]
    if not isinstance(given, (list, tuple)) or not all(
        each is None or isinstance(each, (list, tuple)) for each in given
    ):
        raise OptionError(
            f"shapes: input '{name}' is a sequence: expected a list of shapes, as [(2, 3), (None, 3)], got {given!r}"
        )
    infos = [
        _tensor_info(name, f"{name}_item{index}", item, shape, symbols, own_sizes=False)
        for index, shape in enumerate(given)
    ]
    return PassedInput(name, LIST, tuple(infos), _dtype(name, item))


def _dtype(name: str, type_: TypeProto) -> str:
    if not (kind := kind_of(type_)):
        raise ModelError(f"input '{name}' has no type")
    if kind != "tensor":
        raise ModelError(
            f"input '{name}' contains values of kind {kind}: only tensors, sequences and optionals of tensors "
            "can be passed"
        )
    if type_.tensor_type.elem_type == TEXT:
        raise ModelError(
            f"input '{name}' contains strings, which programs do not take: let callers look them up (the strings and "
            "numbers are in the attributes of the LabelEncoder, OneHotEncoder or TfIdfVectorizer that takes them), and "
            "import the model behind that node (onnx.utils.extract_model)"
        )
    try:
        return dtype_of(type_.tensor_type.elem_type)
    except RelaxError as error:
        raise ModelError(f"input '{name}': {error.message}") from None


def _tensor_info(
    name: str, label: str, type_: TypeProto, shape: Shape | None, symbols: _Symbols, *, own_sizes: bool
) -> TensorInfo:
    """Return the type of a tensor.

    `label` begins the names of sizes without one. With `own_sizes`, a size of None keeps the model's name.
    """
    dtype, tensor = _dtype(name, type_), type_.tensor_type
    own = list(tensor.shape.dim) if tensor.HasField("shape") else None
    if shape is not None:
        dims: Sequence[Dim] | None = _requested_shape(name, label, own, shape, symbols, own_sizes)
    else:
        dims = None if own is None else [_dim(dim, f"{label}_{axis}", symbols) for axis, dim in enumerate(own)]
    if dims is None:
        raise ModelError(f"input '{name}' has no shape: give one (shapes={{'{name}': (...)}})")
    check_size(f"input '{name}'", [dim for dim in dims if isinstance(dim, int)])
    return TensorInfo(tuple(dims), dtype)


def _dim(dim: Any, fallback: str, symbols: _Symbols) -> Dim:
    if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
        return int(dim.dim_value)
    return symbols.of(dim.dim_param, fallback)


def _requested_shape(
    name: str, label: str, own: Sequence[Any] | None, shape: Shape, symbols: _Symbols, own_sizes: bool
) -> list[Dim]:
    """Return a shape from `shapes`. A size of None has the model's name, unless the name occurs twice."""
    if not isinstance(shape, (list, tuple)):
        raise OptionError(f"shapes: input '{name}': expected a tuple of sizes, got {shape!r}")
    if own is not None and len(shape) != len(own):
        raise OptionError(f"shapes: input '{name}' has {counted(len(own), 'dimension')}, got {tuple(shape)}")
    names = [""] * len(shape)
    if own is not None and own_sizes:
        names = [dim.dim_param if size is None else "" for dim, size in zip(own, shape, strict=True)]
    return [
        symbols.of(named if names.count(named) == 1 else "", f"{label}_{axis}")
        if size is None
        else _size(name, axis, size)
        for axis, (size, named) in enumerate(zip(shape, names, strict=True))
    ]


def _size(name: str, axis: int, size: Any) -> Dim:
    try:
        found = parse(size) if isinstance(size, str) else size
    except SymbolError as error:
        raise OptionError(f"shapes: input '{name}', dimension {axis}: {error}") from None
    if isinstance(size, str) and not isinstance(found, int):
        return found
    if isinstance(found, bool) or not hasattr(found, "__index__") or int(found) < 0:
        raise OptionError(f"shapes: input '{name}', dimension {axis}: expected a size, a name or None, got {size!r}")
    return int(found)
