# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that compute a model together: threads of this process, or processes that follow rank 0."""

from __future__ import annotations

import atexit
import pickle
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy
import relax_mlir as rx
from relax_mlir.runtime.threads import usable_cores

from .paged_engine import PagedEngine
from .tensor_parallel import PER_TOKEN, DividedModule, import_shard

if TYPE_CHECKING:
    from numpy import ndarray

    from .description import Description
    from .engine import Step


class _Rank:
    """Program of one rank, and its engines by number."""

    def __init__(self, program: rx.runtime.Executable, description: Description, part: tuple[int, int]) -> None:
        self.program, self._description, self._part = program, description, part
        self._engines: dict[int, PagedEngine] = {}

    def call(self, name: str, number: int, arguments: Sequence[Any], dropped: Sequence[int]) -> Any:
        """Call a method of an engine. `open` makes one, `threads` sets the threads of a call."""
        for other in dropped:
            del self._engines[other]
        if name == "threads":
            self.program.threads = number
        elif name == "open":
            self._engines[number] = PagedEngine(self.program, self._description, *arguments)
        elif name == "step":
            return self._engines[number].step(_part_of_step(arguments[0], *self._part))
        else:
            return getattr(self._engines[number], name)(*arguments)
        return None


def _part_of_step(step: Step, index: int, count: int) -> Step:
    """Return a part of the tokens. Additional tokens, which are written nowhere, make the parts equal."""
    missing = -len(step.tokens) % count
    padded = {
        name: numpy.pad(getattr(step, name), (0, missing), constant_values=-1 if name == "slots" else 0)
        for name in PER_TOKEN
    }
    return step._replace(**{name: numpy.split(array, count)[index] for name, array in padded.items()})


class RankGroup(ABC):
    """All ranks of a model."""

    def __init__(self, program: rx.runtime.Executable, description: Description) -> None:
        self.program, self._description = program, description
        self._lock = threading.Lock()
        self._numbers = count()
        self._dropped: list[int] = []

    def engine(self, page_count: int) -> RankedEngine:
        """Return a new engine with pages of its own."""
        number = next(self._numbers)
        self.run("open", number, page_count)
        engine = RankedEngine(self, number, self._description, page_count)
        # The collector may run inside of a call, so the next call tells the ranks.
        weakref.finalize(engine, self._dropped.append, number)
        return engine

    def run(self, name: str, number: int, *arguments: Any) -> Any:
        """Call a method of an engine on all ranks. Return the result of rank 0."""
        with self._lock:
            dropped = [self._dropped.pop() for _ in range(len(self._dropped))]
            return self._run((name, number, arguments, dropped))

    @abstractmethod
    def _run(self, call: tuple[Any, ...]) -> Any:
        """Make a call on all ranks. Return the result of rank 0."""

    @abstractmethod
    def close(self) -> None:
        """End the other ranks."""


class RankedEngine:
    """Model with pages on several ranks. An `Engine`."""

    adapters: tuple[str, ...] = ()

    def __init__(self, ranks: RankGroup, number: int, description: Description, page_count: int) -> None:
        self._ranks, self._number = ranks, number
        self.vocabulary, self.context = description.vocabulary, description.context
        self.page_size, self.page_count = description.page_size, page_count

    def grow(self, page_count: int) -> None:
        """Enlarge the number of pages. Existing pages keep their numbers and contents."""
        self._ranks.run("grow", self._number, page_count)
        self.page_count = max(page_count, self.page_count)

    def step(self, step: Step) -> ndarray:
        """Write keys and values of the tokens to their slots. Return logits f32 [results, vocabulary]."""
        logits: ndarray = self._ranks.run("step", self._number, step)
        return logits

    def copy_page(self, source: int, target: int) -> None:
        """Copy keys and values of a page, for sequences that share a part of it."""
        self._ranks.run("copy_page", self._number, source, target)


class _ThreadRanks(RankGroup):
    """Ranks that are threads of this process."""

    def __init__(
        self,
        programs: Sequence[rx.runtime.Executable],
        description: Description,
        own: Description,
        parts: Sequence[tuple[int, int]],
    ) -> None:
        super().__init__(programs[0], description)
        self._members = [_Rank(program, own, part) for program, part in zip(programs, parts, strict=True)]
        self._pool = import_shard("engines").ThreadPool(len(programs))
        weakref.finalize(self, self._pool.close)
        for program in programs:
            program.threads = max(usable_cores() // len(programs), 1)

    def _run(self, call: tuple[Any, ...]) -> Any:
        return self._pool.run(lambda engine: self._members[engine.rank].call(*call), None)[0]

    def close(self) -> None:
        self._pool.close()


class _ProcessRanks(RankGroup):
    """This process as a rank. Rank 0 tells the others each call."""

    def __init__(
        self,
        program: rx.runtime.Executable,
        description: Description,
        own: Description,
        transport: Any,
        part: tuple[int, int],
    ) -> None:
        super().__init__(program, description)
        self._member, self._transport = _Rank(program, own, part), transport
        self._is_open = True
        if transport.rank == 0:
            atexit.register(self.close)

    def _run(self, call: tuple[Any, ...]) -> Any:
        self._transport.agree(pickle.dumps(call))
        return self._execute(call)

    def _execute(self, call: tuple[Any, ...]) -> Any:
        from relax_mlir_shard.engines import using

        try:
            with using(self._transport):
                return self._member.call(*call)
        except BaseException as error:
            self._transport.fail(error)
            raise

    def follow(self) -> None:
        """Make the calls of rank 0 until it ends."""
        while message := self._transport.agree(b"")[0]:
            self._execute(pickle.loads(message))

    def close(self) -> None:
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._transport.agree(b"")


def start_ranks(
    divided: DividedModule,
    description: Description,
    engine: str,
    compile_module: Callable[[rx.Module, int], rx.runtime.Executable],
) -> RankGroup:
    """Compile the programs of the ranks in this process.

    Processes other than rank 0 follow it, and then end by SystemExit: their callers' code is for rank 0.
    """
    own = replace(description, pages=divided.layout)
    if engine == "threads":
        programs = [compile_module(divided.of_rank(rank), rank) for rank in range(divided.mesh.size)]
        return _ThreadRanks(programs, description, own, [*map(divided.tokens_of_rank, range(divided.mesh.size))])
    transport = _join_processes(divided, engine)
    transport.prepare(divided.mesh)
    program, problem = None, ""
    try:
        program = compile_module(divided.of_rank(transport.rank), transport.rank)
    except rx.RelaxError as error:
        problem = str(error)
    for rank, text in enumerate(transport.agree(problem.encode())):
        if text:
            raise import_shard("engines").RankError(f"rank {rank} of {transport.size}: {text.decode()}")
    assert program is not None
    ranks = _ProcessRanks(program, description, own, transport, divided.tokens_of_rank(transport.rank))
    if transport.rank:
        ranks.follow()
        raise SystemExit(0)
    return ranks


def _join_processes(divided: DividedModule, engine: str) -> Any:
    """Return the transport of this process. Raise RelaxError unless all processes divide the same model."""
    transport = import_shard("engine_choice").join_processes(engine)
    if transport.size != divided.mesh.size:
        raise rx.OptionError(
            f"mesh {divided.mesh}: it has {divided.mesh.size} ranks, and {engine} started {transport.size} processes"
        )
    shapes = pickle.dumps({name: (array.shape, str(array.dtype)) for name, (array, _) in divided.weights.items()})
    for rank, other in enumerate(transport.agree(shapes)):
        if other != shapes:
            raise import_shard("engines").RankError(
                f"rank {transport.rank} and rank {rank} load different models: start all with the same one"
            )
    return transport
