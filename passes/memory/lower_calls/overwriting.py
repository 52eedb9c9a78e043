# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place analysis: inputs that a PrimFunc's outputs may overwrite, and outputs that only move inputs' elements.

An output may alias an input if no element of the input is read after its place was written. The analysis compares each
read with each write. Within an iteration of the common loops, the order of operations decides. For later iterations, a
dimension must prove that other elements are accessed (a loop-carried dependence test). For loops shared by threads,
the proof must cover all other iterations. The step of a loop over chunks bounds the inner loop over a chunk.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of, outermost, users_of
from ....dialects.core.infos import Info, TensorInfo
from ....dialects.core.ir_attributes import ANY_ORDER, NOALIAS
from ....dialects.core.symbols import Size, SymbolError, at_most, dim_max
from ....emit.generic import GenericOp
from .accesses import Accesses, AxisRange, BoxAccess
from .addresses import Addresses, is_known
from .alike import distinct_pairs
from .linear import NONE, Linear, Term, is_positive

#: Maximum number of compared pairs of accesses. Kernels with more pairs are assumed to read everything last.
_MOST_PAIRS = 4096


class Move(NamedTuple):
    """Contiguous placement of an input's elements in an output, at an offset that may be negative."""

    input: int
    output: int
    distance: Size


#: Analysed kernels by name; None for functions other than PrimFuncs on memrefs.
Kernels = dict[str, "Kernel | None"]


class Kernel:
    """Properties of a PrimFunc on memrefs, computed on demand."""

    def __init__(self, function: Operation):
        self._function = function
        self._is_apart = NOALIAS in function.attributes
        self._is_any_order = ANY_ORDER in outermost(function).attributes
        self._accesses = Accesses(function)
        self._overwrites: dict[tuple[int, int, bool], bool] = {}
        self._parameters = list(body_of(function).arguments)
        self._moves: dict[tuple[Info, ...], Sequence[Move]] = {}

    def may_overwrite(self, read: int, written: int, is_alike: bool) -> bool:
        """Check whether parameter `written` may alias parameter `read`; if `is_alike`, element by element."""
        key = read, written, is_alike
        if key not in self._overwrites:
            self._overwrites[key] = self._find(*key)
        return self._overwrites[key]

    def _find(self, read: int, written: int, is_alike: bool) -> bool:
        known = self._accesses
        if self._is_apart or {read, written} & known.unknown or read in known.writes:
            return False
        if self._is_any_order:
            return is_alike and self._is_pointwise(read, written)
        reads, writes = known.reads.get(read, []), known.writes.get(written, [])
        # Without known writes nothing can be proven about the output.
        if not writes or len(reads) * len(writes) > _MOST_PAIRS:
            return False
        test = _is_read_before if is_alike else _is_all_read_before
        return all(test(*pair) for pair in distinct_pairs(reads, writes))

    def _is_pointwise(self, read: int, written: int) -> bool:
        """Check whether the kernel is a single pointwise operation that reads each element where it writes it."""
        ops = [op for op in operations_of(body_of(self._function)) if op.name.startswith("linalg.")]
        users = [
            [user for user in users_of(self._parameters[number]) if user.name != "memref.dim"]
            for number in (read, written)
        ]
        if len(ops) != 1 or users != [ops, ops] or ops[0].name != "linalg.generic":
            return False
        generic = GenericOp(ops[0])
        places = [generic.operands.index(self._parameters[number]) for number in (read, written)]
        first, second = (generic.maps[place] for place in places)
        return first == second and len(generic.parallels) == len(generic.kinds) and first.is_permutation

    @functools.cached_property
    def pairs(self) -> Sequence[tuple[BoxAccess, BoxAccess]]:
        """Return the (read, write) pairs of a kernel that only moves elements; otherwise return an empty sequence."""
        known = self._accesses
        if self._is_apart or known.unknown or known.has_effects or set(known.reads) & set(known.writes):
            return ()
        found = []
        for access in (access for accesses in known.writes.values() for access in accesses):
            source = self._source(access)
            if source is None or source.mask != access.mask or not _round_of(source, access):
                return ()
            found.append((source, access))
        return found

    @functools.cached_property
    def fixed(self) -> tuple[Info, ...] | None:
        """Return the tensor types of the parameters if all are memrefs of static shape, else None."""
        types = [parameter.type for parameter in self._parameters]
        if not all(isinstance(type_, ir.MemRefType) and type_.has_static_shape for type_ in types):
            return None
        return tuple(TensorInfo(tuple(type_.shape), "") for type_ in types)

    def moves(self, infos: tuple[Info, ...]) -> Sequence[Move]:
        """Return the moves of a kernel that only moves elements, for parameters of these types."""
        if not self.pairs:
            return ()
        if infos not in self._moves:
            try:
                self._moves[infos] = self._find_moves(infos)
            except SymbolError:  # an expression is too long
                self._moves[infos] = ()
        return self._moves[infos]

    def _find_moves(self, infos: tuple[Info, ...]) -> Sequence[Move]:
        addresses = Addresses(self._parameters, infos)
        found: dict[tuple[int, int], Size] = {}
        for read, write in self.pairs:
            source, target = addresses.of(read), addresses.of(write)
            if source is None or target is None or source.steps != target.steps:
                return ()
            distance = target.first - source.first
            place = read.view.parameter, write.view.parameter
            if not is_known(distance) or found.setdefault(place, distance) != distance:
                return ()
        written = [infos[parameter] for parameter in self._accesses.writes]
        if not all(_is_nothing_without(span, info) for span in addresses.spans for info in written):
            return ()
        return [Move(*place, distance) for place, distance in sorted(found.items())]

    def can_leave_out(self, inputs: Iterable[int], count: int) -> bool:
        """Check whether some of `count` inputs can stay unmoved: all inputs, or those moved by separate operations."""
        left_out = set(inputs)
        return len(left_out) == count or self.movers(left_out) is not None

    def movers(self, inputs: Collection[int]) -> list[Operation] | None:
        """Return the operations that move only these inputs, or None if an operation also moves others."""
        inside: dict[int, set[int]] = {}
        for read, write in self.pairs:
            inside.setdefault(write.trail[0], set()).add(read.view.parameter)
        steps = self._accesses.steps
        found = [steps[position] for position, read in inside.items() if read <= set(inputs)]
        is_rest_apart = all(read <= set(inputs) or read.isdisjoint(inputs) for read in inside.values())
        return found if is_rest_apart and not any(len(op.results) for op in found) else None

    def copies(self, read: int, written: int) -> list[tuple[Operation, int]]:
        """Return operations that only copy elements between two parameters, with their numbers of writes."""
        known = self._accesses
        steps: dict[int, list[BoxAccess]] = {}
        for accesses in (*known.reads.values(), *known.writes.values()):
            for access in accesses:
                steps.setdefault(access.trail[0], []).append(access)
        found = []
        for position, accesses in steps.items():
            writes = [each for each in accesses if each.is_write]
            is_between = all(each.view.parameter == (written if each.is_write else read) for each in accesses)
            if writes and is_between and all(self._is_copy_of(read, write) for write in writes):
                found.append((known.steps[position], len(writes)))
        return found

    def _is_copy_of(self, read: int, write: BoxAccess) -> bool:
        """Check whether a write stores a parameter's element at the same position, unchanged by earlier writes."""
        source = self._source(write)
        if source is None or source.view.parameter != read or not _is_same_place(source, write):
            return False
        others = self._accesses.writes[write.view.parameter]
        return not any(source.trail < other.trail < write.trail for other in others)

    def _source(self, write: BoxAccess) -> BoxAccess | None:
        """Return the read of the elements that are written, or None."""
        return None if write.value is None else self._sources.get(_unwrap(write.value, self._sources))

    @functools.cached_property
    def _sources(self) -> dict[Value | None, BoxAccess]:
        return {access.value: access for accesses in self._accesses.reads.values() for access in accesses}


def _is_same_place(read: BoxAccess, write: BoxAccess) -> bool:
    is_alike = read.view.frame == write.view.frame and read.axes is not None and read.axes == write.axes
    return is_alike and read.mask == write.mask and _round_of(read, write)


def _unwrap(value: Value, sources: dict[Value | None, BoxAccess]) -> Value:
    """Replace a one-element vector by its element."""
    if value in sources or isinstance(value.owner, Block) or value.owner.operation.name != "vector.broadcast":
        return value
    return value.owner.operation.operands[0] if value.type.shape == [1] else value


def _is_nothing_without(span: Size, info: Info) -> bool:
    """Check whether a tensor is empty whenever a number is 0 or less."""
    sizes = info.shape if isinstance(info, TensorInfo) else None
    return any(size is not None and at_most(size, dim_max(span, 0) or 0) for size in sizes or ())


def _round_of(read: BoxAccess, write: BoxAccess) -> bool:
    """Check whether the elements are read and written in the same iteration of all enclosing loops."""
    return [level.place for level in read.levels] == [level.place for level in write.levels]


# ---- order of accesses ----


def _is_all_read_before(read: BoxAccess, write: BoxAccess) -> bool:
    """Check whether the reading operation finishes before the writing operation starts."""
    return _common(read, write) == 1 and read.trail[0] < write.trail[0]


def _is_read_before(read: BoxAccess, write: BoxAccess) -> bool:
    """Check whether no written element is read later."""
    common = _common(read, write)
    if any(level.kind not in ("scf.for", "scf.if", "body") for level in read.levels[1:common]):
        return False
    own, other = read.trail[common - 1], write.trail[common - 1]
    if own == other and not _are_branches(read, write, common):
        return False
    if own > other and not _are_apart(read, write, common, None):
        return False
    loops = [depth for depth in range(1, common) if read.levels[depth].kind == "scf.for"]
    several = [depth for depth in loops if not read.levels[depth].runs_once]
    # If threads share a loop, a read of an earlier iteration may follow a write of a later one.
    shared = [depth for depth in several if read.levels[depth].is_shared]
    return all(_are_apart(read, write, common, depth) for depth in several) and all(
        _are_apart(write, read, common, depth) for depth in shared
    )


def _common(read: BoxAccess, write: BoxAccess) -> int:
    """Return the number of enclosing blocks that two accesses share."""
    count = 0
    for one, other in zip(read.levels, write.levels, strict=False):
        if one.place != other.place:
            break
        count += 1
    return count


def _are_branches(read: BoxAccess, write: BoxAccess, common: int) -> bool:
    """Check whether the accesses are in different branches of one condition, of which only one runs."""
    pair = read.levels[common : common + 1] + write.levels[common : common + 1]
    return [level.kind for level in pair] == ["scf.if", "scf.if"]


def _are_apart(read: BoxAccess, write: BoxAccess, common: int, loop: int | None) -> bool:
    """Check whether two accesses touch different elements, with the read in a later iteration of `loop`.

    Without `loop`, both accesses are in the same iteration.
    """
    if read.axes is None or write.axes is None:
        return False
    rounds = _Rounds(read, write, common, loop)
    is_one_frame = all(_is_shared(term, read, rounds.shared) for term in read.view.depends)
    if is_one_frame and read.view.frame == write.view.frame and len(read.axes) == len(write.axes):
        pairs = list(zip(read.axes, write.axes, strict=True))
    elif read.address is not None and write.address is not None:
        pairs = [(read.address, write.address)]
    else:
        return False
    counter = None if loop is None else read.levels[loop].counter
    # Dimensions that depend on the loop's counter come first, as they usually give the proof.
    pairs.sort(key=lambda pair: counter not in pair[0].first.terms)
    return any(_is_apart(rounds, *pair) for pair in pairs)


class _Rounds(NamedTuple):
    """Compared iterations: equal ones of loops around `loop`, a later one of `loop`, any of inner loops."""

    read: BoxAccess
    write: BoxAccess
    common: int
    loop: int | None

    @property
    def shared(self) -> int:
        """Return the number of enclosing blocks whose iteration is shared."""
        return self.common if self.loop is None else self.loop


def _is_apart(rounds: _Rounds, read: AxisRange, write: AxisRange) -> bool:
    """Check along one dimension whether reads are behind or before the writes, in the compared and later iterations."""
    return _is_behind(rounds, rounds.read, read.first, rounds.write, write.lasts, 1) or _is_behind(
        rounds, rounds.write, write.first, rounds.read, read.lasts, -1
    )


def _is_behind(
    rounds: _Rounds, one: BoxAccess, first: Linear, other: BoxAccess, lasts: Iterable[Linear], sign: int
) -> bool:
    """Check whether an index range starts behind the end of another, in later (sign 1) or earlier iterations (-1)."""
    loop = None if rounds.loop is None else rounds.read.levels[rounds.loop]
    counter, steps = ((), (NONE,)) if loop is None else (loop.counter, loop.steps)
    factor = first.terms.get(counter, 0)
    low = _end(rounds, one, first, counter, -1) if factor * sign >= 0 else None
    if low is None:
        return False
    for last in lasts:
        high = _end(rounds, other, last, counter, 1) if last.terms.get(counter, 0) == factor else None
        gaps = [] if high is None else [low.plus(high, -1).plus(step, abs(factor)) for step in steps]
        if any(map(is_positive, gaps)):
            return True
    return False


def _end(rounds: _Rounds, access: BoxAccess, index: Linear, counter: Term, sign: int) -> Linear | None:
    """Return the maximum (sign 1) or minimum (-1) of an index without its counter, in terms of shared values."""
    end = Linear(index.number, {})
    for term, times in index.terms.items():
        if term == counter:
            continue
        bound = _term_bound(rounds, access, term, is_last=times * sign > 0)
        if bound is None:
            return None
        end = end.plus(bound, times)
    return end


def _term_bound(rounds: _Rounds, access: BoxAccess, term: Term, is_last: bool) -> Linear | None:
    """Return an upper or lower bound of a term in terms of shared values, or None."""
    if _is_shared(term, access, rounds.shared):
        return Linear(0, {term: 1})
    for level in access.levels:
        if level.counter is not None and level.counter == term:
            bounds = level.lasts if is_last else level.firsts
            shared = (
                bound for bound in bounds if all(_is_shared(inner, access, rounds.shared) for inner in bound.terms)
            )
            return next(shared, None)
    return None


def _is_shared(term: Term, access: BoxAccess, shared: int) -> bool:
    """Check whether a term has the same value in all compared iterations."""
    for depth, level in enumerate(access.levels):
        if level.counter is not None and level.counter == term:
            return depth < shared
    if not isinstance(term, Value):
        return False
    block = term.owner if isinstance(term.owner, Block) else term.owner.operation.block
    return any(level.block is not None and level.block == block for level in access.levels[:shared])
