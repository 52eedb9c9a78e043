# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calibration: run a model on samples with tensors as additional results, and collect their statistics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import body_of, functions_in, operations_of, symbol_name
from relax_mlir.compilation.compiling import compile
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.frontends.module import Module
from relax_mlir.passes.core.stages import Stages
from relax_mlir.passes.graph.params.signature import state_type
from relax_mlir.passes.graph.relax_bind_symbolic_vars import BindSymbolicVars
from relax_mlir.passes.graph.relax_observe import return_values
from relax_mlir.runtime import to_numpy
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.support.suggest import counted, suggest
from relax_mlir.targets.core.code import stages_of

from .placement import producer_of
from .ranges import NumberRange, range_of
from .sample_files import read_samples

if TYPE_CHECKING:
    from numpy import ndarray

#: Called with each observed tensor: its number, elements and range.
See = Callable[[int, "ndarray", NumberRange], object]
#: Called after each sample with the number of samples so far.
Progress = Callable[[int], object]


def function_named(module: Module, name: str) -> Operation:
    """Return a function of a module. Raises OptionError."""
    functions = {symbol_name(function): function for function in functions_in(module.operation)}
    if name not in functions:
        raise OptionError(
            f"the module has no function @{name}{suggest(name, functions)}; it has {', '.join(functions)}"
        )
    return functions[name]


def places_of(function: Operation, values: Iterable[Value]) -> list[tuple[int, int]]:
    """Return the places of tensors in a function: the number of the operation and of its result, or -1 for arguments.

    A copy of the function has the same tensors at these places.
    """
    body = body_of(function)
    found = {value: (-1, number) for number, value in enumerate(body.arguments)}
    for place, operation in enumerate(operations_of(body)):
        found.update({value: (place, number) for number, value in enumerate(operation.results)})
    return [found[value] for value in values]


def values_at(function: Operation, places: Iterable[tuple[int, int]]) -> list[Value]:
    """Return the tensors at places of a function."""
    body = body_of(function)
    operations = operations_of(body)
    return [body.arguments[number] if at < 0 else operations[at].results[number] for at, number in places]


class Observer:
    """Compiled model that returns tensors from inside of a function."""

    def __init__(
        self,
        module: Module,
        function: str,
        places: Sequence[tuple[int, int]],
        target: str = "llvm",
        *,
        rewrite: Callable[[Module], object] | None = None,
        sizes: Mapping[str, int] = MappingProxyType({}),
        **options: Any,
    ):
        """Compile the model after `rewrite` has changed its copy. `options` are options of rx.compile().

        sizes: values of symbolic sizes of the function.
        """
        observed = module.copy()
        with observed.context:
            copied = function_named(observed, function)
            return_values(copied, values_at(copied, places))
            state_type(copied)
        if sizes:
            BindSymbolicVars(vars=sizes, function=function)(observed)
        if rewrite is not None:
            rewrite(observed)
        self._call = compile(observed, target, **options)[function]

    def __call__(self, arguments: Sequence[object]) -> list[ndarray]:
        """Return the tensors for one sample."""
        results = self._call(*arguments)
        listed = results if isinstance(results, (list, tuple)) else [results]
        return [to_numpy(each) for each in listed]


def observe(
    module: Module,
    function: str,
    values: Sequence[Value],
    samples: Samples,
    see: See,
    progress: Progress,
    *,
    count: int = 0,
    most: int | None = None,
) -> None:
    """Run a model on samples and pass each tensor on, with its range. No tensor is kept.

    The first `count` samples are left out, because they were seen before. At most `most` are used. Raises ModelError
    for tensors with NaN or infinite numbers.
    """
    places = places_of(function_named(module, function), values)
    observer = Observer(module, function, places, sizes=samples.sizes, pipeline=_stages_for_samples())
    for arguments in itertools.islice(samples, count, most):
        for number, array in enumerate(observer(arguments)):
            limits = range_of(array)
            if not limits.is_finite:
                raise ModelError(f"{producer_of(values[number])}: computes NaN or infinite numbers for the samples")
            see(number, array, limits)
        count += 1
        progress(count)


def _stages_for_samples() -> Stages:
    """Return the CPU's stages without packed weights. Packed copies would stay in memory as long as the model."""
    stages = stages_of("llvm")
    return stages.replace("plan", [pass_ for pass_ in stages["plan"].passes if "tir-pack-constants" not in str(pass_)])


class Samples:
    """Samples of a function's arguments, checked when they are read. They can be read several times."""

    def __init__(self, data: object, function: Operation, most: int | None):
        if most is not None and most < 1:
            raise OptionError(f"samples={most}: expected a number of at least 1, or None for all")
        arguments = body_of(function).arguments
        self._names = argument_names(function)
        self._infos = [decode(argument.type) for argument in arguments]
        self._data = _list(data, self._rows(), most)
        if not self._data:
            raise OptionError("no sample to calibrate with: `data` is empty", notes=["pass a hundred typical inputs"])

    def __len__(self) -> int:
        return len(self._data)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Return the symbolic sizes of the inputs that are the same in all samples. Code for these is faster."""
        found: dict[str, set[int]] = {}
        for arguments in self:
            for info, array in zip(self._infos, arguments, strict=True):
                if not isinstance(info, TensorInfo) or info.shape is None:
                    continue
                for size, known in zip(info.shape, array.shape, strict=True):
                    if not isinstance(size, int) and str(size).isidentifier():
                        found.setdefault(str(size), set()).add(known)
        return {name: known.pop() for name, known in found.items() if len(known) == 1}

    def __iter__(self) -> Iterator[list[Any]]:
        return (self._arguments(sample, number) for number, sample in enumerate(self._data))

    def _rows(self) -> int:
        """Return the rows of a call: the first size of all arguments, or 1 if it is dynamic."""
        sizes = {(info.shape or [None])[0] for info in self._infos if isinstance(info, TensorInfo)}
        (size,) = sizes if len(sizes) == 1 else (None,)
        return size if isinstance(size, int) and size else 1

    def images(self) -> int:
        """Return the number of rows in all samples, as the first sample has them."""
        first = next(iter(self))
        return len(self) * max((len(each) for each in first if getattr(each, "ndim", 0)), default=1)

    def _arguments(self, sample: object, number: int) -> list[Any]:
        if isinstance(sample, Mapping):
            given = self._order_sample(sample, number)
        else:
            given = list(sample) if isinstance(sample, (tuple, list)) else [sample]
            if len(given) != len(self._names):
                expected = counted(len(self._names), "input")
                raise OptionError(f"sample {number}: {len(given)} arrays, but the model has {expected}")
        return [self._array(each, place, number) for place, each in enumerate(given)]

    def _order_sample(self, sample: Mapping[str, object], number: int) -> list[object]:
        if unknown := [name for name in sample if name not in self._names]:
            known = ", ".join(self._names)
            wish = suggest(str(unknown[0]), self._names)
            raise OptionError(f"sample {number}: the model has no input '{unknown[0]}'{wish}; it has {known}")
        if missing := [name for name in self._names if name not in sample]:
            given = ", ".join(sample) or "nothing"
            raise OptionError(f"sample {number}: the input '{missing[0]}' is missing; the sample has {given}")
        return [sample[name] for name in self._names]

    def _array(self, given: object, place: int, number: int) -> object:
        import numpy

        where, info = f"sample {number}: input '{self._names[place]}'", self._infos[place]
        if not isinstance(info, TensorInfo):
            return given
        try:
            array = given if isinstance(given, numpy.ndarray) else numpy.asarray(given)
        except (TypeError, ValueError) as error:
            raise OptionError(f"{where}: not an array: {error}") from None
        expected = storage_dtype(info.dtype)
        if array.dtype != expected:
            raise OptionError(
                f"{where}: elements are {array.dtype}, expected {expected}",
                notes=[f"convert them as the model's inputs are made, such as by array.astype('{expected}')"],
            )
        sizes = info.shape
        fits = sizes is None or (
            len(sizes) == array.ndim
            and all(not isinstance(size, int) or size == found for size, found in zip(sizes, array.shape, strict=True))
        )
        if not fits:
            raise OptionError(f"{where}: the shape is {list(array.shape)}, expected {_shape_text(sizes)}")
        if array.dtype.kind == "f" and not numpy.isfinite(array).all():
            raise OptionError(f"{where}: has NaN or infinite numbers")
        return numpy.asarray(array, order="C")  # ascontiguousarray makes a number an array of one


def _shape_text(sizes: Sequence[object] | None) -> str:
    return f"[{', '.join(str(size) for size in sizes or ())}]"


def _list(data: object, rows: int, most: int | None) -> list[object]:
    """Return samples: of files, arrays by name with a sample in each `rows` rows, or an iterable of samples."""
    import numpy

    if isinstance(data, (str, Path)):
        data = read_samples(Path(data))
    if isinstance(data, Mapping):
        arrays = {name: numpy.asarray(value) for name, value in data.items()}
        counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
        if len(set(counts.values())) > 1:
            shown = ", ".join(f"{name}: {count}" for name, count in counts.items())
            raise OptionError(f"arrays of samples have different numbers of rows: {shown}")
        if not (count := min(counts.values(), default=0) // rows) and any(counts.values()):
            raise OptionError(f"the arrays have {counted(min(counts.values()), 'row')}, but a call takes {rows}")
        firsts = range(0, rows * (count if most is None else min(count, most)), rows)
        return [{name: array[first : first + rows] for name, array in arrays.items()} for first in firsts]
    if isinstance(data, numpy.ndarray):
        raise OptionError(
            "data is one array: pass a list of samples, or {'input': array} with a sample per row along the first axis"
        )
    if not isinstance(data, Iterable):
        raise OptionError(f"data has to be samples, arrays by name, or a .npz file, got {type(data).__name__}")
    return list(itertools.islice(data, most))
