# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases: a module and arguments of calls, created when the case is run."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
from relax_mlir.dialects.core.infos import is_bool, is_float
from relax_mlir.frontends.module import Module
from relax_mlir.support.errors import RelaxError

from ...interpreter.held_values import stored

if TYPE_CHECKING:
    from numpy import ndarray

#: Groups of cases in the order of execution.
GROUPS = ("composites", "recipes", "operators", "models", "graphs")


class Unmade(RelaxError):
    """Raised if a case should exist but could not be created."""


class Batch(NamedTuple):
    """Batch of rows that do not depend on each other, as arguments of main."""

    #: Name of the dynamic size.
    size: str
    row_count: int
    arguments: Sequence[ndarray]
    #: Dimension of each argument and of each result that has the size, or None.
    axes: tuple[int | None, ...]
    result_axes: tuple[int | None, ...]

    def rows(self, rows: range) -> list[ndarray]:
        """Return the arguments for some of the rows."""
        pairs = zip(self.arguments, self.axes, strict=True)
        return [each if axis is None else numpy.take(each, list(rows), axis=axis) for each, axis in pairs]


class Setup(NamedTuple):
    """Module and calls of a case."""

    module: Module
    #: Arguments of main per call.
    calls: Sequence[Sequence[ndarray]]
    #: Batch that any division into calls gives the same results for.
    batch: Batch | None = None
    #: Reason why results depend on the whole batch, or "".
    whole_batch: str = ""


class Case(NamedTuple):
    """A case. `name` begins with the operator, the pattern or the model: "relax.nn.conv2d f32 strides empty"."""

    name: str
    group: str
    #: Create the module and its inputs for a seed. Raises RelaxError if there is no such case.
    make: Callable[[int], Setup]
    #: Name of the variant, for cases of a pattern. The other words of the name tell the alternative.
    variant: str = ""

    @property
    def subject(self) -> str:
        """The operator, pattern or model."""
        return self.name.partition(" ")[0]


class Range(NamedTuple):
    """Range of an argument's elements: integers from `low` to below `high`, or floats between them.

    Without bounds, floats are normally distributed and integers are small.
    """

    low: float | None = None
    high: float | None = None
    is_sorted: bool = False
    #: True if floats include infinities, NaN, zeros of both signs and the largest numbers.
    has_special: bool = False


#: Normal floats, small integers.
ANY = Range()
_SMALL = 12
_SHARE_SPECIAL = 0.3


def seeded(name: str, seed: int) -> numpy.random.Generator:
    """Return a random generator for a case, equal in each run."""
    return numpy.random.default_rng([seed, zlib.crc32(name.encode())])


def drawn(random: numpy.random.Generator, dtype: str, shape: Sequence[int], among: Range = ANY) -> ndarray:
    """Return an array of random elements."""
    element = stored(dtype)
    if is_bool(dtype):
        return random.random(shape) < 0.5
    if is_float(dtype):
        bounds = among.low, among.high
        values = random.normal(size=shape) if None in bounds else random.uniform(*bounds, shape)  # type: ignore[arg-type]
        array = numpy.asarray(values).astype(element)
        if among.has_special:
            _put_special(random, array)
    else:
        low, high = _integer_limits(element, among)
        array = numpy.asarray(random.integers(low, high, shape)).astype(element)
    return numpy.sort(array, axis=-1) if among.is_sorted and array.ndim else array


def _integer_limits(element: numpy.dtype, among: Range) -> tuple[int, int]:
    is_unsigned = element.name.startswith("uint")
    low = int(among.low) if among.low is not None else 0 if is_unsigned else -_SMALL
    return low, max(int(among.high) if among.high is not None else _SMALL, low + 1)


def _put_special(random: numpy.random.Generator, array: ndarray) -> None:
    import ml_dtypes

    limits = ml_dtypes.finfo(array.dtype)
    found = (limits.max, limits.min, limits.tiny, limits.smallest_subnormal)
    special = [numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0, 1.0, -1.0, *map(float, found)]
    at = random.random(array.shape) < _SHARE_SPECIAL
    array[at] = random.choice(special, int(at.sum())).astype(array.dtype)
