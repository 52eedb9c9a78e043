# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schur form of a matrix that need not be symmetric, with the eigenvalues on the diagonal.

The matrix is reduced to Hessenberg form, then by QR steps with two shifts. Eigenvalues are found in LAPACK's order,
from the last row on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....emit import loops
from ....emit.numbers import Number, as_index, constant, larger, maximum, minimum, select
from .matrix_loops import Matrix, Place, absolute, folded, root, total, with_sign_of

# An eigenvalue takes two or three steps. After ten steps without success, exceptional shifts are used.
_STEPS_OF_A_VALUE = 10
_MOST_STEPS = 300


def find(t: Matrix, z: Matrix | None, real: Matrix, imag: Matrix) -> None:
    """Reduce `t` to a triangle, with blocks of two rows for complex eigenvalues.

    The rows of `z` are the coordinates in which the matrix has this form.
    """
    _isolate(t, z)
    t.scratch([t.rows], lambda v: t.scratch([t.rows], lambda along: reduce(t, z, v, along)))

    def step(i: Number, count: Number, whole: Number) -> list[Number]:
        start = loops.repeat_while([i], lambda k: loops.and_then(k > 0, lambda: ~_is_apart(t, k)), lambda k: k - 1)[0]
        loops.when(start > 0, lambda: t.__setitem__((start, start - 1), t.real(0.0)))

        def finish() -> list[Number]:
            loops.when(start == i, lambda: real.__setitem__(i, t[i, i]), lambda: _pair(t, z, real, imag, i))
            return [start - 1, as_index(0)]

        def go_on() -> list[Number]:
            _sweep(t, z, start, i, count + 1)
            return [i, count + 1]

        return [*loops.when(start + 1 >= i, finish, go_on, [i.type, count.type]), whole + 1]

    most = as_index(t.rows) * _MOST_STEPS
    first = [as_index(t.rows) - 1, as_index(0), as_index(0)]
    loops.repeat_while(first, lambda i, _, whole: (i >= 0) & (whole < most), step)


# ---- rows and columns that are eigenvalues already ----


def _isolate(t: Matrix, z: Matrix | None) -> None:
    """Move rows that are 0 beside the diagonal down, and such columns up.

    A matrix that is triangular in another order becomes triangular, and its eigenvalues are exact.
    """

    def move(one: Number, other: Number) -> None:
        t.swap_rows(one, other)
        loops.for_range(0, t.rows, lambda i: t.exchange((i, one), (i, other)))
        if z is not None:
            z.swap_rows(one, other)

    def found(at: Callable[..., tuple[Place, Place]], start: Place, stop: Number) -> Number:
        """Return the last such row or column, or a position in front of all."""
        is_nothing = lambda j, i, held: held & ((i == j) | (t[at(j, i)] == 0.0))  # noqa: E731
        is_alone = lambda j: folded(start, stop, lambda i, held: is_nothing(j, i, held), constant(True, "i1"))  # noqa: E731
        goes_on = lambda j: loops.and_then(j >= start, lambda: ~is_alone(j))  # noqa: E731
        return loops.repeat_while([stop - 1], goes_on, lambda j: j - 1)[0]

    def down(stop: Number, _: Number) -> list[Number]:
        row = found(lambda j, i: (j, i), 0, stop)
        loops.when(row >= 0, lambda: move(row, stop - 1))
        return [select(row >= 0, stop - 1, stop), row >= 0]

    def up(start: Number, _: Number) -> list[Number]:
        column = found(lambda j, i: (i, j), start, stop)
        loops.when(column >= start, lambda: move(column, start))
        return [select(column >= start, start + 1, start), column >= start]

    goes_on = constant(True, "i1")
    stop = loops.repeat_while([as_index(t.rows), goes_on], lambda stop, more: more & (stop > 0), down)[0]
    loops.repeat_while([as_index(0), goes_on], lambda start, more: more & (start < stop), up)


# ---- Hessenberg form ----


def reduce(t: Matrix, z: Matrix | None, v: Matrix, along: Matrix, tau: Matrix | None = None) -> None:
    """Make `t` a Hessenberg matrix by reflections of rows and columns, and multiply `z` by their transposed product.

    With `tau`, the reflections' vectors stay below the diagonal and their factors in `tau`, as in LAPACK's gehrd.
    """

    def step(k: Number) -> None:
        most = folded(k + 2, t.rows, lambda i, best: larger(absolute(t[i, k]), best), t.real(0.0))
        scale = _or_one(maximum(absolute(t[k + 1, k]), most))
        square = lambda i: (t[i, k] / scale) * (t[i, k] / scale)  # noqa: E731
        first, below = t[k + 1, k] / scale, total(k + 2, t.rows, square, t.real(0.0))
        size = -with_sign_of(root(first * first + below), first)
        factor, divisor = (size - first) / _or_one(size), (first - size) * scale
        if tau is not None:
            tau[k] = select(most > 0.0, factor, t.real(0.0))

        def take(i: Number) -> None:
            v[i] = t[i, k] / divisor
            t[i, k] = 0.0 if tau is None else v[i]

        def reflect() -> None:
            loops.for_range(k + 2, t.rows, take)
            v[k + 1] = 1.0
            t[k + 1, k] = size * scale
            _reflect(t, v, factor, k + 1, along, k + 1)
            _reflect_columns(t, v, factor, k + 1)
            if z is not None:
                _reflect(z, v, factor, k + 1, along, 0)

        loops.when(most > 0.0, reflect)

    loops.for_range(0, as_index(t.rows) - 1, step)


def _reflect(a: Matrix, v: Matrix, tau: Number, first: Number, along: Matrix, start: Number | int) -> None:
    """Reflect the rows from `first` on, in the columns from `start` on."""

    def clear(j: Number) -> None:
        along[j] = 0.0

    def add(i: Number) -> None:
        factor = v[i]

        def each(j: Number) -> None:
            along[j] = along[j] + factor * a[i, j]

        loops.for_range(start, a.columns, each)

    def subtract(i: Number) -> None:
        factor = tau * v[i]

        def each(j: Number) -> None:
            a[i, j] = a[i, j] - factor * along[j]

        loops.for_range(start, a.columns, each)

    loops.for_range(start, a.columns, clear)
    loops.for_range(first, a.rows, add)
    loops.for_range(first, a.rows, subtract)


def _reflect_columns(a: Matrix, v: Matrix, tau: Number, first: Number) -> None:
    def row(i: Number) -> None:
        share = total(first, a.columns, lambda j: a[i, j] * v[j], a.real(0.0)) * tau

        def each(j: Number) -> None:
            a[i, j] = a[i, j] - share * v[j]

        loops.for_range(first, a.columns, each)

    loops.for_range(0, a.rows, row)


# ---- QR steps ----


def _tiny(t: Matrix) -> float:
    """Return the smallest normal number divided by epsilon."""
    return float(2.0**-126 if str(t.element) == "f32" else 2.0**-1022) / t.epsilon


def _is_apart(t: Matrix, k: Number) -> Number:
    """Check whether a subdiagonal element is negligible beside the elements around it."""
    left, above, own, before = absolute(t[k, k - 1]), absolute(t[k - 1, k]), t[k, k], t[k - 1, k - 1]
    most, least = maximum(left, above), minimum(left, above)
    between = absolute(before - own)
    large, small = maximum(absolute(own), between), minimum(absolute(own), between)
    whole = large + most
    is_small = left <= (absolute(own) + absolute(before)) * t.epsilon
    limit = maximum(small * (large / whole) * t.epsilon, t.real(_tiny(t)))
    return (left <= _tiny(t)) | (is_small & (least * (most / whole) <= limit))


class Shifts(NamedTuple):
    """Two shifts of a QR step: two real numbers, or a conjugate pair."""

    one: Number
    other: Number
    imag: Number


def _shifts(t: Matrix, i: Number, count: Number) -> Shifts:
    """Return the eigenvalues of the last two rows. Of two real ones, the nearer to the last element is used twice."""
    is_stuck = (count % _STEPS_OF_A_VALUE) == 0
    beside = absolute(t[i, i - 1]) + absolute(t[i - 1, i - 2])
    moved = beside * 0.75 + t[i, i]
    a, d = select(is_stuck, moved, t[i - 1, i - 1]), select(is_stuck, moved, t[i, i])
    b, c = select(is_stuck, beside * -0.4375, t[i - 1, i]), select(is_stuck, beside, t[i, i - 1])
    scale = absolute(a) + absolute(b) + absolute(c) + absolute(d)
    scale = select(scale == 0.0, scale.constant(1.0), scale)
    a, b, c, d = a / scale, b / scale, c / scale, d / scale
    middle = (a + d) * 0.5
    determinant = (a - middle) * (d - middle) - b * c
    distance = root(absolute(determinant))
    one, other = middle + distance, middle - distance
    nearer = select(absolute(one - d) <= absolute(other - d), one, other)
    is_complex = determinant >= 0.0
    real = select(is_complex, middle, nearer) * scale
    return Shifts(real, real, select(is_complex, distance * scale, distance.constant(0.0)))


def _first_of(t: Matrix, m: Number, shifts: Shifts) -> list[Number]:
    """Return the column from which the first reflection of a sweep is computed, for a sweep from row m on."""
    below, own = t[m + 1, m], t[m, m]
    away = own - shifts.other
    scale = absolute(away) + absolute(shifts.imag) + absolute(below)
    share = below / scale
    found = [
        share * t[m, m + 1] + (own - shifts.one) * (away / scale) + shifts.imag * (shifts.imag / scale),
        share * (own + t[m + 1, m + 1] - shifts.one - shifts.other),
        share * t[m + 2, m + 1],
    ]
    size = absolute(found[0]) + absolute(found[1]) + absolute(found[2])
    return [each / size for each in found]


def _sweep(t: Matrix, z: Matrix | None, start: Number, i: Number, count: Number) -> None:
    """Do a QR step on the rows from start to i."""
    shifts = _shifts(t, i, count)

    def is_start(m: Number) -> Number:
        first, second, third = map(absolute, _first_of(t, m, shifts))
        around = absolute(t[m - 1, m - 1]) + absolute(t[m, m]) + absolute(t[m + 1, m + 1])
        return absolute(t[m, m - 1]) * (second + third) <= first * around * t.epsilon

    goes_on = lambda m: loops.and_then(m > start, lambda: ~is_start(m))  # noqa: E731
    top = loops.repeat_while([i - 2], goes_on, lambda m: m - 1)[0]

    def step(k: Number, *given: Number) -> list[Number]:
        rows = [k, k + 1, select(k + 2 <= i, k + 2, k + 1)]
        third = select(k + 2 <= i, given[2], given[2].constant(0.0))
        size, reflection = _reflection(given[0], given[1], third)

        def is_first() -> None:
            loops.when(k > start, lambda: t.__setitem__((k, k - 1), t[k, k - 1] * (1.0 - reflection[0])))

        def is_later() -> None:
            for row in rows[1:]:
                t[row, k - 1] = 0.0
            t[k, k - 1] = size

        loops.when(k == top, is_first, is_later)
        _turn(lambda row, j: (row, j), t, rows, reflection, k, t.columns)
        _turn(lambda row, j: (j, row), t, rows, reflection, 0, minimum(k + 3, i) + 1)
        if z is not None:
            _turn(lambda row, j: (row, j), z, rows, reflection, 0, z.columns)
        following = [minimum(k + 1 + place, i) for place in range(3)]
        return [t[row, k] for row in following]

    loops.for_range(top, i, step, *_first_of(t, top, shifts))


def _reflection(first: Number, second: Number, third: Number) -> tuple[Number, list[Number]]:
    """Return the first element after the reflection; tau, and the vector behind its first element 1."""
    is_done = (second == 0.0) & (third == 0.0)  # The squares may be 0 although the numbers are not.
    scale = _or_one(maximum(absolute(first), maximum(absolute(second), absolute(third))))
    first, second, third = first / scale, second / scale, third / scale
    size = -with_sign_of(root(first * first + second * second + third * third), first)
    divisor = select(is_done, first.constant(1.0), first - size)
    tau = select(is_done, first.constant(0.0), (size - first) / select(is_done, first.constant(1.0), size))
    return select(is_done, first, size) * scale, [tau, second / divisor, third / divisor]


def _or_one(size: Number) -> Number:
    """Return 1 instead of 0, as a divisor."""
    return select(size == 0.0, size.constant(1.0), size)


def _turn(
    at: Callable[..., tuple[Place, Place]],
    a: Matrix,
    rows: list[Number],
    reflection: list[Number],
    start: Place,
    stop: Place,
) -> None:
    """Reflect three rows or columns, or two if the third coefficient is 0."""
    tau, second, third = reflection

    def each(j: Number) -> None:
        share = (a[at(rows[0], j)] + second * a[at(rows[1], j)] + third * a[at(rows[2], j)]) * tau
        a[at(rows[0], j)] = a[at(rows[0], j)] - share
        a[at(rows[1], j)] = a[at(rows[1], j)] - share * second
        a[at(rows[2], j)] = a[at(rows[2], j)] - share * third

    loops.for_range(start, stop, each)


# ---- blocks of two rows ----


def _pair(t: Matrix, z: Matrix | None, real: Matrix, imag: Matrix, i: Number) -> None:
    """Rotate two rows and columns to a triangle, or to a block with equal diagonal elements."""
    h = i - 1
    a, b, c, d, cosine, sine = _standard(t, t[h, h], t[h, i], t[i, h], t[i, i])
    t[h, h], t[h, i], t[i, h], t[i, i] = a, b, c, d
    size = root(absolute(b)) * root(absolute(c))
    real[h], real[i], imag[h], imag[i] = a, d, size, -size

    def turn(memory: Matrix, at: Callable[..., tuple[Place, Place]], start: Place, stop: Place) -> None:
        def each(j: Number) -> None:
            one, other = memory[at(h, j)], memory[at(i, j)]
            memory[at(h, j)] = cosine * one + sine * other
            memory[at(i, j)] = cosine * other - sine * one

        loops.for_range(start, stop, each)

    turn(t, lambda row, j: (row, j), i + 1, t.columns)
    turn(t, lambda row, j: (j, row), 0, h)
    if z is not None:
        turn(z, lambda row, j: (row, j), 0, z.columns)


def _standard(t: Matrix, a: Number, b: Number, c: Number, d: Number) -> list[Number]:
    """Return the elements of a block of two rows after its rotation, then the cosine and sine of the rotation."""
    half = (a - d) * 0.5
    most = maximum(absolute(b), absolute(c))
    least = minimum(absolute(b), absolute(c)) * with_sign_of(t.real(1.0), b) * with_sign_of(t.real(1.0), c)
    scale = maximum(absolute(half), most)
    square = half / scale * half + most / scale * least
    zero, one = t.real(0.0), t.real(1.0)

    def are_real() -> list[Number]:
        distance = half + with_sign_of(root(scale) * root(square), half)
        size = _hypotenuse(c, distance)
        return [d + distance, b - c, zero, d - most / distance * least, distance / size, c / size]

    found = loops.when(
        square >= t.epsilon * 4, are_real, lambda: _with_equal_diagonal(t, a, b, c, d, half), [zero.type] * 6
    )
    return [select(b == 0.0, *pair) for pair in zip([d, -c, zero, a, zero, one], found, strict=True)]


def _hypotenuse(x: Number, y: Number) -> Number:
    """Return sqrt(x² + y²), computed by the ratio, so that no square of a tiny number becomes 0."""
    most, least = maximum(absolute(x), absolute(y)), minimum(absolute(x), absolute(y))
    ratio = least / _or_one(most)
    return most * root(ratio * ratio + 1.0)


def _with_equal_diagonal(t: Matrix, a: Number, b: Number, c: Number, d: Number, half: Number) -> list[Number]:
    """Make the diagonal elements equal, as for complex eigenvalues. Real, nearly equal eigenvalues give a triangle."""
    zero, one = t.real(0.0), t.real(1.0)
    both = b + c
    size = _hypotenuse(both, half * 2.0)
    is_done = size == 0.0
    size = select(is_done, one, size)
    cosine = select(is_done, one, root((absolute(both) / size + 1.0) * 0.5))
    sine = select(is_done, zero, -(half / (size * cosine)) * with_sign_of(one, both))
    aa, bb, cc, dd = a * cosine + b * sine, b * cosine - a * sine, c * cosine + d * sine, d * cosine - c * sine
    a, b, c, d = aa * cosine + cc * sine, bb * cosine + dd * sine, cc * cosine - aa * sine, dd * cosine - bb * sine
    middle = (a + d) * 0.5
    are_real = (b * c >= 0.0) & (b + c != 0.0)
    above, below = root(absolute(b)), root(absolute(c))
    share = one / root(select(are_real, absolute(b + c), one))
    distance = with_sign_of(above * below, c)
    turn = [above * share, below * share]
    parted = [middle + distance, b - c, zero, middle - distance,
              cosine * turn[0] - sine * turn[1], cosine * turn[1] + sine * turn[0]]  # fmt: skip
    return [select(are_real, *pair) for pair in zip(parted, [middle, b, c, middle, cosine, sine], strict=True)]
