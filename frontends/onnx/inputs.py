# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What callers of a model pass: element types and shapes, those of the model or those that are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...bindings.errors import RelaxError
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, SymbolError, parse, sym
from .dtypes import dtype_of
from .model import Model
from .tensors import check_size

#: None is a size that only the run tells, a string one that has this name.
Shape = Sequence[int | str | None]


def input_infos(model: Model, shapes: Mapping[str, Shape]) -> dict[str, TensorInfo]:
    """The inputs that callers pass, with `shapes` in place of what the model says of theirs."""
    graph = model.proto.graph
    constants = {each.name for each in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    _check_names(shapes, [each.name for each in inputs])
    return {each.name: _input_info(each, shapes.get(each.name)) for each in inputs}


def _check_names(shapes: Any, names: list[str]) -> None:
    if not isinstance(shapes, Mapping):
        raise RelaxError(f"shapes: expected inputs' names with their shapes, got {type(shapes).__name__}")
    unknown = next((name for name in shapes if name not in names), None)
    if unknown is not None:
        raise RelaxError(f"shapes: the model has no input '{unknown}' (it has {', '.join(names) or 'none'})")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RelaxError(f"'{twice}' is defined twice: names of a graph are unique")


def _input_info(value: Any, shape: Shape | None) -> TensorInfo:
    name, kind = value.name, value.type.WhichOneof("value")
    if kind is None:
        raise RelaxError(f"input '{name}' has no type")
    if kind != "tensor_type":
        raise RelaxError(f"input '{name}' is of kind {kind.removesuffix('_type')}: only tensors can be passed")
    tensor = value.type.tensor_type
    try:
        dtype = dtype_of(tensor.elem_type)
    except RelaxError as error:
        raise RelaxError(f"input '{name}': {error.message}") from None
    own = None
    if tensor.HasField("shape"):
        own = [_dim(dim, f"{name}_{axis}") for axis, dim in enumerate(tensor.shape.dim)]
    dims = own if shape is None else _asked_for(name, own, shape)
    if dims is None:
        raise RelaxError(f"input '{name}' has no shape: give one (shapes={{'{name}': (...)}})")
    check_size(f"input '{name}'", [dim for dim in dims if isinstance(dim, int)])
    return TensorInfo(tuple(dims), dtype)


def _dim(dim: Any, fallback: str) -> Dim:
    kind = dim.WhichOneof("value")
    if kind == "dim_value" and dim.dim_value >= 0:
        return int(dim.dim_value)
    return sym(_symbol(dim.dim_param if kind == "dim_param" and dim.dim_param else fallback))


def _symbol(name: str) -> str:
    """A name for a symbol, as near to the model's as it may be."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    return cleaned if re.match(r"[A-Za-z_]", cleaned) else f"_{cleaned}"


def _asked_for(name: str, own: Sequence[Dim] | None, shape: Any) -> list[Dim]:
    """A shape from `shapes`; of a size that is None the model may have a name already."""
    if not isinstance(shape, (list, tuple)):
        raise RelaxError(f"shapes: input '{name}': expected a tuple of sizes, got {shape!r}")
    if own is not None and len(shape) != len(own):
        raise RelaxError(f"shapes: input '{name}' has {len(own)} dimensions, got {tuple(shape)}")
    return [_size(name, axis, size, own) for axis, size in enumerate(shape)]


def _size(name: str, axis: int, size: Any, own: Sequence[Dim] | None) -> Dim:
    if size is None:
        known = own is not None and not isinstance(own[axis], int)
        return own[axis] if known and own is not None else sym(f"{_symbol(name)}_{axis}")
    try:
        found = parse(size) if isinstance(size, str) else size
    except SymbolError as error:
        raise RelaxError(f"shapes: input '{name}', dimension {axis}: {error}") from None
    if isinstance(size, str) and not isinstance(found, int):
        return found
    if isinstance(found, bool) or not hasattr(found, "__index__") or int(found) < 0:
        raise RelaxError(f"shapes: input '{name}', dimension {axis}: expected a size, a name or None, got {size!r}")
    return int(found)
