# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of a sharded program on several ranks: `rx.launch`."""

from __future__ import annotations

import json
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any, NamedTuple
from zlib import crc32

import numpy
from relax_mlir.runtime import Executable
from relax_mlir.runtime.arrays import tensor, to_numpy
from relax_mlir.runtime.call_structure import StructuredFunction
from relax_mlir.runtime.errors import UnsupportedArray
from relax_mlir.runtime.results import maker_of
from relax_mlir.runtime.threads import usable_cores
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.errors import OptionError
from relax_mlir.support.files import hidden_sibling
from relax_mlir.support.suggest import suggest

from . import exchanges
from .checkpoints import StoredTensor, copy_rows, read_index, reserve_file, safetensors_header
from .engine_choice import choose_engine, join_processes
from .engines import Array, RankError, ThreadPool, describe_array, using
from .mesh import Mesh, Sharding
from .shard import PLAN


class _PlannedTensor(NamedTuple):
    """Argument or result: its sharding and its whole sizes. A size is None if only its parts are known."""

    sharding: Sharding
    sizes: tuple[int | None, ...]

    @staticmethod
    def from_plan(entry: Mapping[str, Any]) -> _PlannedTensor:
        return _PlannedTensor(tuple(map(tuple, entry["sharding"])), tuple(entry["sizes"]))


def _whole_size(part: Any, size: int | None, axes: Sequence[str]) -> Any:
    return size if axes else part


class RankParts:
    """Parts of a tensor for each rank of this process. Calls take them in place of the whole tensor."""

    def __init__(self, arrays: Mapping[int, Array]) -> None:
        self.arrays = dict(arrays)


class Launched(ABC):
    """A sharded program with its ranks. Functions take and return whole tensors."""

    #: Name of the engine.
    engine: str

    def __init__(self, program: Executable, ranks: int | None) -> None:
        self._program = program
        self._plan = plan_of(program)
        self._mesh = Mesh(tuple(self._plan["mesh"].items()))
        self._function = self._plan["function"]
        main = program[self._function]
        self._structured = main if isinstance(main, StructuredFunction) else None
        self._main = main if self._structured is None else self._structured.flat
        self._arguments = dict(
            zip(self._plan["names"], map(_PlannedTensor.from_plan, self._plan["arguments"]), strict=True)
        )
        self._returned = list(map(_PlannedTensor.from_plan, self._plan["results"]))
        self.ranks = self._mesh.size
        if ranks is not None and ranks != self.ranks:
            raise OptionError(
                f"rx.launch: the program is for a mesh of {self._mesh}, which are {self.ranks} ranks, got ranks={ranks}"
            )

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function with the model's arguments and results: containers, as in one process."""
        call = self.flat(name)
        if self._structured is None:
            return call
        function = copy(self._structured)
        vars(function)["flat"] = call
        return function

    def flat(self, name: str) -> Callable[..., Any]:
        """Return the function of individual tensors."""
        if name != self._function:
            raise OptionError(f"rx.launch: '{name}' is not divided, only '{self._function}' is")
        return self._call

    @property
    def names(self) -> list[str]:
        """Return the functions that are divided."""
        return [self._function]

    @property
    def argument_names(self) -> list[str]:
        return list(self._arguments)

    @property
    def is_first(self) -> bool:
        """Check whether rank 0 is in this process."""
        return 0 in self._own_ranks()

    def whole_signature(self, signature: Mapping[str, Any]) -> dict[str, Any]:
        """Return a rank's signature with the sizes of whole tensors, None where only parts are known."""
        whole = dict(signature)
        for key, tensors in (("inputs", self._arguments.values()), ("outputs", self._returned)):
            whole[key] = [
                {**entry, "shape": list(map(_whole_size, entry["shape"], tensor.sizes, tensor.sharding))}
                for entry, tensor in zip(signature[key], tensors, strict=True)
            ]
        return whole

    def __enter__(self) -> Launched:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object, /) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027  # not abstract: processes end by themselves
        """End the ranks."""

    def finish(self) -> None:  # noqa: B027  # not abstract: threads need no library
        """Finish the library of the engine. The process must not start ranks again."""

    @types_checked
    def divide(self, name: str, array: Any) -> RankParts:
        """Return the parts of an argument, for many calls: weights are divided once."""
        if name not in self._arguments:
            raise OptionError(f"'{self._function}' has no argument '{name}'{suggest(str(name), self._arguments)}")
        try:
            whole = to_numpy(array)
        except UnsupportedArray as error:
            raise OptionError(f"argument '{name}': {error}") from None
        self._check(name, whole.shape)
        return RankParts({rank: self._part(name, whole, rank) for rank in self._own_ranks()})

    @types_checked
    def load(self, path: str | os.PathLike[str]) -> dict[str, RankParts]:
        """Return the arguments that a .safetensors or .npz file has, by name. Ranks read their parts only."""
        path = os.fspath(path)
        stored = read_index(path)
        tensors = {name: stored[name] for name in self._arguments if name in stored}
        if not tensors:
            raise OptionError(f"'{path}' has none of the arguments {', '.join(self._arguments)}")
        for name, array in tensors.items():
            self._check(name, array.shape)
        return {
            name: RankParts({rank: self._read(path, name, tensor, rank) for rank in self._own_ranks()})
            for name, tensor in tensors.items()
        }

    @types_checked
    def save(self, path: str | os.PathLike[str], tensors: Mapping[str, Any]) -> None:
        """Write arguments, whole or divided, to a .safetensors file: whole tensors, for any number of ranks.

        Ranks write their parts to one file, which the machines must share. A file at the path stays if one fails.
        """
        path = os.fspath(path)
        if not path.endswith(".safetensors"):
            raise OptionError(f"'{path}' must end with .safetensors")
        divided = {
            name: value if isinstance(value, RankParts) else self.divide(name, value) for name, value in tensors.items()
        }
        kinds = {name: self._whole_kind(name, parts) for name, parts in divided.items()}
        header, stored, size = safetensors_header(kinds)
        temporary = self._together(path, lambda: hidden_sibling(path))

        def write() -> str:
            for name, parts in divided.items():
                for rank, part in parts.arrays.items():
                    self._write(temporary, name, stored[name], rank, part)
            return ""

        try:
            self._together(path, lambda: reserve_file(temporary, header, size) if self.is_first else "")
            self._together(path, write)
            self._together(path, lambda: os.replace(temporary, path) if self.is_first else None)
        finally:
            if self.is_first:
                with suppress(OSError):
                    os.unlink(temporary)

    def _together(self, path: str, action: Callable[[], str | None]) -> str:
        """Write on each rank, and return the value of rank 0. Raise an error of a rank on all ranks."""
        try:
            return action() or ""
        except OSError as error:
            raise OptionError(f"cannot write '{path}': {error.strerror}") from None

    def _read(self, path: str, name: str, tensor: StoredTensor, rank: int) -> Array:
        whole = tensor.map(path)
        part = part_of_rank(whole, self._arguments[name].sharding, self._mesh, rank)
        array = numpy.empty(part.shape, tensor.dtype)
        copy_rows(part, array, whole)
        return array

    def _write(self, path: str, name: str, tensor: StoredTensor, rank: int, part: Array) -> None:
        """Write a part, if no rank before this one has the same."""
        sharding, places = self._arguments[name].sharding, []
        used = {axis for axes in sharding for axis in axes}
        if any(index for axis, index in self._mesh.place(rank).items() if axis not in used):
            return
        for size, axes in zip(tensor.shape, sharding, strict=True):
            indices = part_of_rank(numpy.arange(size), (axes,), self._mesh, rank)
            places.append(slice(int(indices[0]), int(indices[-1]) + 1) if len(indices) else slice(0, 0))
        target = tensor.map(path, "r+")
        place = target[tuple(places)]
        copy_rows(part[tuple(map(slice, place.shape))], place, target)

    def _whole_kind(self, name: str, parts: RankParts) -> tuple[Any, tuple[int, ...]]:
        """Return the type and the whole shape of an argument."""
        array, tensor = next(iter(parts.arrays.values())), self._arguments[name]
        return array.dtype, tuple(
            part * self._mesh.count(axes) if size is None else size
            for part, size, axes in zip(array.shape, tensor.sizes, tensor.sharding, strict=True)
        )

    @abstractmethod
    def _own_ranks(self) -> Sequence[int]:
        """Return the ranks in this process."""

    @abstractmethod
    def join_result(self, index: int, result: RankParts) -> Array:
        """Return a whole result of `run_parts`."""

    @abstractmethod
    def _results(self, parts: Mapping[int, Sequence[Array]]) -> dict[int, list[Array]]:
        """Call the program for each rank of this process, and return the parts of its results."""

    def _part(self, name: str, whole: Array, rank: int) -> Array:
        part = part_of_rank(whole, self._arguments[name].sharding, self._mesh, rank)
        return numpy.array(part, order="C", copy=None)

    def _check(self, name: str, shape: Sequence[int]) -> None:
        tensor = self._arguments[name]
        if len(shape) != len(tensor.sizes):
            raise OptionError(
                f"argument '{name}' has {len(tensor.sizes)} dimensions, got an array of shape {tuple(shape)}"
            )
        for axis, (size, known, axes) in enumerate(zip(shape, tensor.sizes, tensor.sharding, strict=True)):
            if known is not None and size != known:
                raise OptionError(f"argument '{name}' has size {known} along dimension {axis}, got {size}")
            count = self._mesh.count(axes)
            if known is None and size % count:
                raise OptionError(
                    f"argument '{name}': its size {size} along dimension {axis} has no {count} equal parts"
                )

    def run_parts(self, *arguments: Any, **named: Any) -> list[RankParts]:
        """Call the function, and return the parts of its results: arguments of later calls, divided alike."""
        divided = self._divide_arguments(arguments, named)
        parts = {rank: [divided[name].arrays[rank] for name in self._arguments] for rank in self._own_ranks()}
        results = self._results(parts)
        return [RankParts(dict(zip(results, values, strict=True))) for values in zip(*results.values(), strict=True)]

    def _call(self, *arguments: Any, **named: Any) -> Any:
        results = [self.join_result(*result) for result in enumerate(self.run_parts(*arguments, **named))]
        make = maker_of(next((value for value in (*arguments, *named.values()) if hasattr(value, "__dlpack__")), None))
        if make is not to_numpy:
            results = [make(tensor(value)) for value in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _divide_arguments(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, RankParts]:
        values = self._bind_arguments(arguments, named)
        return {
            name: value if isinstance(value, RankParts) else self.divide(name, value) for name, value in values.items()
        }

    def _bind_arguments(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        names = list(self._arguments)
        values = dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names):
            raise OptionError(f"'{self._function}' takes {len(names)} arguments, got {len(arguments)}")
        for name in named:
            if name not in names or name in values:
                reason = "is given twice" if name in values else f"is none of its arguments{suggest(name, names)}"
                raise OptionError(f"'{self._function}': '{name}' {reason}")
        if missing := [name for name in names if name not in values and name not in named]:
            raise OptionError(f"'{self._function}' needs its argument '{missing[0]}'")
        return {**values, **named}

    def _run(self, parts: Sequence[Array]) -> list[Array]:
        results = self._main(*parts)
        return [to_numpy(value) for value in (results if isinstance(results, tuple) else (results,))]

    def _join_parts(self, index: int, parts: Sequence[Array]) -> Array:
        return join_parts(parts, self._returned[index].sharding, self._mesh, self._returned[index].sizes)


class _OnThreads(Launched):
    """All ranks are threads of this process. Calls from several threads take turns."""

    engine = "threads"

    def __init__(self, program: Executable, ranks: int | None, timeout: float | None) -> None:
        super().__init__(program, ranks)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._pool = ThreadPool(self.ranks)
        weakref.finalize(self, self._pool.close)
        program.threads = max(usable_cores() // self.ranks, 1)

    def close(self) -> None:
        self._pool.close()

    def _own_ranks(self) -> Sequence[int]:
        return range(self.ranks)

    def join_result(self, index: int, result: RankParts) -> Array:
        return self._join_parts(index, list(result.arrays.values()))

    def _results(self, parts: Mapping[int, Sequence[Array]]) -> dict[int, list[Array]]:
        with self._lock:
            return dict(enumerate(self._pool.run(lambda engine: self._run(parts[engine.rank]), self._timeout)))


class _InProcesses(Launched):
    """This process is one rank. All ranks make the same calls, and each gets the whole results."""

    def __init__(self, program: Executable, ranks: int | None, engine: Any) -> None:
        super().__init__(program, ranks)
        self._engine = engine
        self.engine = engine.name
        if engine.size != self.ranks:
            raise OptionError(
                f"rx.launch: the program is for a mesh of {self._mesh}, which are {self.ranks} ranks, and "
                f"{engine.name} started {engine.size} processes"
            )
        self._everyone = (tuple(range(self.ranks)),)
        engine.prepare(self._mesh)
        numerics = program.numerics
        self._agree(
            {**self._plan, "order of sums": numerics.order, "kernels": numerics.kernels, "parts": numerics.parts}
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object, /) -> None:
        """End the ranks: an error on the way ends all, since others would wait for this one."""
        if isinstance(error, (Exception, KeyboardInterrupt)):
            self._engine.fail(error)
        self.close()

    def finish(self) -> None:
        self._engine.finish()

    def _own_ranks(self) -> Sequence[int]:
        return (self._engine.rank,)

    def _together(self, path: str, action: Callable[[], str | None]) -> str:
        value, error = "", ""
        try:
            value = super()._together(path, action)
        except OptionError as problem:
            error = str(problem)
        texts = [json.loads(text) for text in self._engine.agree(json.dumps([value, error]).encode())]
        if problems := [
            f"rank {rank} of {self.ranks}: {problem}" for rank, (_, problem) in enumerate(texts) if problem
        ]:
            raise RankError(problems[0])
        return str(texts[0][0])

    def _agree(self, facts: Mapping[str, Any]) -> None:
        """Raise RankError if facts differ between ranks."""
        mine = json.loads(json.dumps(facts))
        for rank, text in enumerate(self._engine.agree(json.dumps(facts).encode())):
            theirs = json.loads(text)
            if theirs != mine:
                name = next(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
                raise RankError(
                    f"rank {self._engine.rank} and rank {rank} have different programs: start all with the same one; "
                    f"their '{name}' is {mine.get(name)} and {theirs.get(name)}"
                )

    def _divide_arguments(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, RankParts]:
        """Divide the arguments. Raise RankError if they differ between ranks, or if one has a wrong one."""
        divided: dict[str, RankParts] = {}
        error: OptionError | None = None
        try:
            divided = super()._divide_arguments(arguments, named)
        except OptionError as problem:
            error = problem
        shapes = [describe_array(array) for parts in divided.values() for array in parts.arrays.values()]
        mark = numpy.array([crc32("".join(shapes).encode()), error is not None], "int64")
        marks: list[list[int]] = []
        self._engine.exchange(self._everyone, mark, lambda arrays: marks.extend(array.tolist() for array in arrays))
        if error is not None or marks.count(marks[0]) < len(marks):
            self._explain(dict(zip(divided, shapes, strict=True)), error)
        return divided

    def _explain(self, shapes: Mapping[str, str], error: OptionError | None) -> None:
        """Raise the error of this rank, or one about another rank."""
        texts = self._engine.agree(json.dumps([shapes, None if error is None else str(error)]).encode())
        if error is not None:
            raise error
        for rank, (theirs, problem) in enumerate(map(json.loads, texts)):
            if problem is not None:
                raise RankError(f"rank {self._engine.rank} stops, because rank {rank} failed: {problem}")
            for name in shapes:
                if theirs[name] != shapes[name]:
                    raise RankError(
                        f"rank {self._engine.rank} has {shapes[name]} as argument '{name}', and rank {rank} has "
                        f"{theirs[name]}: pass the same arguments to all ranks"
                    )

    def _results(self, parts: Mapping[int, Sequence[Array]]) -> dict[int, list[Array]]:
        with self._failing(), using(self._engine):
            return {self._engine.rank: self._run(parts[self._engine.rank])}

    def join_result(self, index: int, result: RankParts) -> Array:
        (own,), joined = result.arrays.values(), []
        if not any(self._returned[index].sharding):
            return own
        with self._failing():
            self._engine.exchange(
                self._everyone, own, lambda parts: joined.append(self._join_parts(index, parts).copy())
            )
        return joined[0]

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Tell all ranks about an error."""
        try:
            yield
        except BaseException as error:
            self._engine.fail(error)
            raise


def launch(
    program: Executable, ranks: int | None = None, *, engine: str = "", timeout: float | None = 60.0
) -> Launched:
    """Run a program of `rx.shard` on the ranks of its mesh.

    The result has the program's function: `rx.launch(program)["main"](x)`. It takes and returns whole tensors.
    `engine`: "threads" of this process, "mpi" or "torch" for a process of each rank; default: as the process was
    started. Ranks that are threads share the cores of the process, and set `program.threads` for it.
    `timeout` limits the seconds that a rank waits for others; None waits without a limit.
    """
    chosen = choose_engine(engine, "rx.launch")
    if timeout is not None and not (isinstance(timeout, (int, float)) and 0 <= timeout < threading.TIMEOUT_MAX / 2):
        raise OptionError(f"rx.launch: timeout is a number of seconds, or None, got {timeout!r}")
    if chosen == "threads":
        return _OnThreads(program, ranks, timeout)
    return _InProcesses(program, ranks, join_processes(chosen, timeout))


def plan_of(program: Executable) -> dict[str, Any]:
    """Return the plan of a sharded program. Raise OptionError for another program."""
    if not isinstance(program, Executable):
        raise OptionError(f"rx.launch: expected a program of rx.compile, got {type(program).__name__}")
    if PLAN not in program:
        raise OptionError("rx.launch: the program has no plan for several ranks: divide its module with rx.shard first")
    plan: dict[str, Any] = json.loads(to_numpy(program[PLAN]()).tobytes())
    return plan


def part_of_rank(array: Array, sharding: Sharding, mesh: Mesh, rank: int) -> Array:
    """Return a rank's part of a whole tensor."""
    for dimension, axes in enumerate(sharding):
        for axis in axes:
            array = exchanges.part(array, dimension, mesh.part(rank, [axis]), mesh.count([axis]))
    return array


def join_parts(parts: Sequence[Array], sharding: Sharding, mesh: Mesh, sizes: Sequence[int | None]) -> Array:
    """Return the whole tensor of all ranks' parts."""
    results = list(parts)
    for dimension, axes in enumerate(sharding):
        for group in mesh.groups(axes) if axes else ():
            whole = _join_dimension([results[rank] for rank in group], dimension, axes, mesh, sizes[dimension])
            for rank in group:
                results[rank] = whole
    return results[0]


def _join_dimension(parts: Sequence[Array], dimension: int, axes: Sequence[str], mesh: Mesh, size: int | None) -> Array:
    """Join the parts of one dimension, along the innermost axis first, without copies behind its end."""
    outer, count = axes[:-1], mesh.count(axes[-1:])
    runs = [numpy.concatenate(parts[at : at + count], dimension) for at in range(0, len(parts), count)]
    if size is not None:
        limit = -(-size // mesh.count(outer))
        runs = [value[(slice(None),) * dimension + (slice(0, limit),)] for value in runs]
    return runs[0] if not outer else _join_dimension(runs, dimension, outer, mesh, size)
