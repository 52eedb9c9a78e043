# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of a function: read from files and checked against the signature, or random."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from ...runtime import tensor
from ...runtime.arrays import numpy_type
from ...runtime.foreign_types import Array
from ...runtime.manifest import PassedValue, Signature
from ...support.errors import OptionError
from ...support.suggest import suggest
from .input_sizes import InputSizes, shape_text

if TYPE_CHECKING:
    import numpy

#: Value of an input. None stands for an omitted optional.
Given: TypeAlias = "Array | float | list[Array | float] | None"
_INTEGERS_BELOW = 10


#: Inputs by name: an array or number from a file, and the file's name.
FromFiles: TypeAlias = "dict[str, tuple[Any, str]]"


def read_inputs(signature: Signature, files: Sequence[str]) -> FromFiles:
    """Read the inputs of --input. Raise RelaxError for invalid files and names."""
    described = {input_.name: input_ for input_ in signature.inputs}
    inputs: FromFiles = {}
    for text in files:
        name, equals, path = text.partition("=")
        arrays = {name: _one(name, path, described)} if equals else _named(text)
        for key, array in arrays.items():
            _check_name(key, described, "--input")
            if key in inputs:
                raise OptionError(f"--input: '{key}' is given twice")
            origin = path if equals else text
            inputs[key] = (_check_input(key, array, described[key], origin), origin)
    return inputs


def make_inputs(
    signature: Signature, from_files: FromFiles, shapes: Mapping[str, Sequence[int]], seed: int
) -> tuple[dict[str, Array | float], list[str]]:
    """Return all inputs by name in order, random unless given, and notes about assumed sizes.

    Raises RelaxError for an input that is an object, and for sizes that do not agree.
    """
    described = {input_.name: input_ for input_ in signature.inputs}
    for name, value in described.items():
        if value.kind == "object":
            raise OptionError(f"input '{name}' is an object that only a program can make: relax-run passes arrays")
    sizes = InputSizes()
    for name, (array, origin) in from_files.items():
        if described[name].kind == "tensor":
            sizes.bind(name, described[name].shape, array.shape, origin)
    _bind_shapes(shapes, described, sizes)
    known = set(sizes.values)
    values: dict[str, Array | float] = {}
    for position, (name, each) in enumerate(described.items()):
        if name in from_files:
            values[name] = from_files[name][0]
        elif each.kind == "scalar":
            values[name] = random_array(_scalar_dtype(each.dtype), (), [seed, position]).item()
        else:
            shape = tuple(shapes[name]) if name in shapes else sizes.shape(each.shape)
            values[name] = random_array(each.holds or each.dtype, shape, [seed, position])
    assumed = [symbol for symbol in sizes.values if symbol not in known]
    return values, [_note(assumed, described)] if assumed else []


def _note(assumed: Sequence[str], described: Mapping[str, PassedValue]) -> str:
    """Return a note about sizes that no file or option determines, with the option that would."""
    name, shape = next(
        (name, value.shape)
        for name, value in described.items()
        if value.kind == "tensor" and any(isinstance(size, str) and assumed[0] in size for size in value.shape)
    )
    example = ",".join(str(size) if isinstance(size, int) else f"<{size or 'size'}>" for size in shape)
    option = f"--shape={name}:{example}"
    if len(assumed) == 1:
        return f"size {assumed[0]} is taken to be 1, as no input given here has it: {option} says another one"
    return f"sizes {', '.join(assumed)} are taken to be 1, as no input given here has them: {option} says other ones"


def _bind_shapes(shapes: Mapping[str, Sequence[int]], described: Mapping[str, PassedValue], sizes: InputSizes) -> None:
    for name, shape in shapes.items():
        _check_name(name, described, "--shape")
        if described[name].kind != "tensor":
            raise OptionError(f"--shape: input '{name}' is a scalar")
        sizes.bind(name, described[name].shape, shape, "--shape")


def _check_name(name: str, described: Mapping[str, PassedValue], option: str) -> None:
    if name not in described:
        known = ", ".join(described) or "none"
        raise OptionError(f"{option}: the function has no input '{name}'{suggest(name, described)} (it has {known})")


def _named(path: str) -> dict[str, Array]:
    if not path.endswith(".npz"):
        raise OptionError(f"option --input expects name=file.npy or file.npz, got '{path}'")
    loaded = _load(path)
    if not hasattr(loaded, "files"):
        raise OptionError(f"cannot read '{path}': it holds one array without a name: --input name={path}")
    with loaded, _reading(path):
        arrays = {name: loaded[name] for name in loaded.files}
    strange = next((name for name, array in arrays.items() if not hasattr(array, "dtype")), None)
    if strange is not None:
        raise OptionError(f"cannot read '{path}': its '{strange}' is no array")
    return arrays


def _one(name: str, text: str, described: Mapping[str, PassedValue]) -> Array | float:
    _check_name(name, described, "--input")
    if described[name].kind == "scalar" and not text.endswith(".npy"):
        return _number(name, text)
    loaded = _load(text)
    if hasattr(loaded, "files"):
        loaded.close()
        raise OptionError(f"'{text}' holds several arrays by their names: --input {text}")
    return loaded


def _number(name: str, text: str) -> float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise OptionError(f"--input: '{name}' is a scalar: expected a number or a file that ends with .npy, got '{text}'")


def _load(path: str) -> Any:
    import numpy

    with _reading(path):
        return numpy.load(path, allow_pickle=False)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn errors of NumPy and its helpers about missing or invalid files into OptionError."""
    try:
        yield
    except OSError as error:
        raise OptionError(f"cannot read '{path}': {error.strerror or _first_line(error)}") from None
    except (
        *(ValueError, EOFError, LookupError, SyntaxError, RuntimeError, tokenize.TokenError),
        *(zipfile.BadZipFile, zlib.error),
    ) as error:
        raise OptionError(
            f"cannot read '{path}': no .npy or .npz file, or a damaged one: {_first_line(error)}"
        ) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _check_input(name: str, array: Any, described: PassedValue, origin: str) -> Array | float:
    """Return the array, or a scalar's only element, after checking the type."""
    import numpy

    if described.kind == "scalar":
        if numpy.ndim(array) != 0:
            raise OptionError(f"input '{name}' is a scalar, but {origin} has shape {shape_text(array.shape)}")
        return array.item() if hasattr(array, "item") else array
    dtype = numpy_type(described.holds or described.dtype)
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        array = array.view(dtype)  # NumPy files do not name the types of ml_dtypes
    if array.dtype.newbyteorder("=") != dtype:
        raise OptionError(f"input '{name}' expected elements of {dtype.name}, but {origin} has {array.dtype.name}")
    return numpy.ascontiguousarray(array, dtype=dtype).reshape(array.shape)


def random_array(dtype_name: str, shape: tuple[int, ...], seed: Sequence[int]) -> Array:
    """Return random numbers that depend only on the seed. Integers have a small range, as they may be indices."""
    import numpy

    dtype = numpy_type(dtype_name)
    generator = numpy.random.default_rng(seed)
    try:
        if dtype.kind == "b":
            return generator.integers(0, 2, shape).astype(dtype)
        if "int" in dtype.name:
            return generator.integers(0, _limit(dtype), shape).astype(dtype)
        numbers = generator.standard_normal(shape, dtype="float64" if dtype.name == "float64" else "float32")
        return numpy.asarray(numbers).astype(dtype, copy=False)
    except (MemoryError, ValueError):
        raise OptionError(f"an array of shape {shape_text(shape)} is too large") from None


def _limit(dtype: numpy.dtype) -> int:
    """Return the exclusive upper bound of random integers of a type."""
    if dtype.name in ("int2", "int4"):
        return 2 if dtype.name == "int2" else 8
    return 4 if dtype.name == "uint2" else _INTEGERS_BELOW


def _scalar_dtype(dtype: str) -> str:
    """Return NumPy's type for a scalar with an MLIR type."""
    if dtype == "i1":
        return "bool"
    return "float64" if dtype[0] in "fb" else "int64"


# ---- lists of tensors: the items of `xs` are xs.0, xs.1 and so on; omitted inputs have no name ----


def spread_inputs(signature: Signature) -> Signature:
    """Return a signature in which each tensor of a list is an input of its own."""
    inputs = tuple(each for described in signature.inputs for each in _spread(described))
    names = [input_.name for input_ in inputs]
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise OptionError(f"'{twice}' names an input and a tensor in a list: relax-run cannot tell them apart")
    return signature._replace(inputs=inputs)


def _spread(described: PassedValue) -> list[PassedValue]:
    if described.kind == "nothing":
        return []
    if described.kind != "list":
        return [described]
    return [item._replace(name=f"{described.name}.{index}") for index, item in enumerate(described.items)]


def gathered_inputs(signature: Signature, values: Mapping[str, Array | float]) -> dict[str, Given]:
    """Return the function's inputs from values by the names of `spread_inputs`."""
    return {input_.name: _gather_list(input_, values) for input_ in signature.inputs}


def _gather_list(described: PassedValue, values: Mapping[str, Array | float]) -> Given:
    if described.kind == "list":
        return [values[each.name] for each in _spread(described)]
    return None if described.kind == "nothing" else values[described.name]


def spread_values(values: Mapping[str, Given]) -> Iterator[tuple[str, Array | float]]:
    """Yield values by name, with list items separate. None is skipped."""
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}.{index}", item) for index, item in enumerate(value))
        elif value is not None:
            yield name, value


def passed(value: Given) -> object:
    """Convert an input to the form that a program takes."""
    if isinstance(value, list):
        return [tensor(each) for each in value]
    return value if value is None or not hasattr(value, "shape") else tensor(value)
