# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as contractions, for convolutions and transposed convolutions.

Dimensions have letters: N, C and the spatial ones in data and result, O, I and the spatial ones in the weight. Groups
are a dimension G before the channels, and blocks of channels have small letters. The parallel loops are N, G, O, the
result's positions, and o. The reduction loops are I, the kernel's positions, and i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import starmap
from math import gcd, prod
from typing import Any, NamedTuple

from ...bindings.ir import AffineMap, Value
from ...bindings.mlir import ir
from ...dialects.core.codec import decode
from ...dialects.core.facts import Window
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import dim_mod, dim_mul, equal
from ...dialects.relax.infer.layouts import Layout, blocked_dimensions, layouts_of
from ...dialects.relax.infer.windows import windows_of
from ...emit import linalg, loops, tensors
from ...emit.contraction import Factor, products_added, sum_of_products, summed
from ...emit.numbers import Number, Size, as_index, constant, maximum, minimum
from ...emit.parallel import are_steps_apart
from ...emit.windows import Meeting, meeting, padded, span
from ..graph.layout.conversion import converted, permuted
from .call import LegalizeCall

#: Number of products per result from which an extra read, addition and write of the result pays.
_MANY = 16


class DimensionRange(NamedTuple):
    """A range of a dimension: `size` elements from `start` on."""

    start: Size
    size: Size


class Lettered(NamedTuple):
    """A tensor with a letter for each dimension."""

    value: Value
    letters: str

    @property
    def sizes(self) -> dict[str, Size]:
        return dict(zip(self.letters, linalg.sizes(self.value), strict=True))

    def replaced(self, value: Value) -> Lettered:
        """Return another tensor with the same letters."""
        return Lettered(value, self.letters)

    def renamed(self, letter: str, other: str) -> Lettered:
        """Return the tensor with another letter for a dimension."""
        return Lettered(self.value, self.letters.replace(letter, other))

    def part(self, places: Mapping[str, DimensionRange]) -> Lettered:
        """Return the slice at these ranges. Dimensions without a range are whole."""
        return self.replaced(tensors.slice_of(self.value, *self._offsets_and_sizes(places)))

    def with_part(self, value: Value, places: Mapping[str, DimensionRange]) -> Value:
        """Return the tensor with the slice at these ranges replaced by a value."""
        offsets, sizes = self._offsets_and_sizes(places)
        return tensors.put_slice(value, self.value, offsets, sizes=sizes)

    def _offsets_and_sizes(self, places: Mapping[str, DimensionRange]) -> tuple[list[Size], list[Size]]:
        parts = [places.get(letter, DimensionRange(0, size)) for letter, size in self.sizes.items()]
        return [part.start for part in parts], [part.size for part in parts]

    def in_groups(self, letter: str, groups: int) -> Lettered:
        """Split a dimension into groups of channels. A single group leaves the tensor unchanged."""
        if groups == 1:
            return self
        axis = self.letters.index(letter)
        one = self.sizes[letter] // groups
        letters = self.letters[:axis] + "G" + self.letters[axis:]
        return Lettered(tensors.split(self.value, axis, [groups, one]), letters)


class Convolution:
    """Attributes of a convolution, with an entry for each spatial dimension."""

    def __init__(self, call: LegalizeCall):
        self.data_layout, self.kernel_layout, self.out_layout = layouts_of(call.inferred).values()
        self._windows = windows_of(call.inferred)
        self.is_transposed = self.kernel_layout.dimensions.startswith("I")
        self.spatial = "".join(self._windows)
        infos: list[Any] = [call.info(operand) for operand in call.operands]
        self.data, self.weight = infos
        #: True for depthwise convolutions on blocks of channels. The loops over the weight's channels are then the
        #: data's, and groups are not needed.
        self.is_by_blocks = (
            call.op.groups > 1 and not self.is_transposed and self._has_blocks_of_single_channels(call.op.groups)
        )
        self.groups = 1 if self.is_by_blocks else call.op.groups
        self.dtype: str = call.result_dtype()

    def _has_blocks_of_single_channels(self, groups: int) -> bool:
        """Check for layouts such as NCHW16c, OIHW16o with one input channel, and NCHW16c."""
        data, weight, out = (_blocks(layout) for layout in (self.data_layout, self.kernel_layout, self.out_layout))
        if len(data) != 1 or [block for _, block in data] != [block for _, block in weight] or data != out:
            return False
        sizes = dict(zip(_letters(self.kernel_layout), self.weight.shape or (), strict=True))
        is_of_channels = (data[0][0], weight[0][0]) == ("C", "O")
        return is_of_channels and sizes["I"] == 1 and sizes["O"] * sizes["o"] == groups

    def windows(self, taps: Mapping[str, Any]) -> dict[str, Window]:
        """Return the windows over the data, by dimension, for a kernel with these taps along each."""
        return {letter: window._replace(taps=taps[letter]) for letter, window in self._windows.items()}

    def laid_out(self, weight: Value) -> Value:
        """Return the graph's weight in the order in which the loops read it, and record its layout."""
        axes = self.kernel_layout.axes
        if not is_widely_padded(self._windows):
            return weight
        # Tap by tap, the multiplied slice of the weight is then contiguous.
        order = sorted(range(len(axes)), key=lambda place: axes[place].dimension not in self.spatial)
        if order == list(range(len(axes))):
            return weight
        self.kernel_layout = self.kernel_layout.with_axes(axes[place] for place in order)
        moved = permuted(weight, order)
        self.weight = decode(moved.type)
        return moved

    @property
    def has_fitting_blocks(self) -> bool:
        """Check that only channels have blocks, with loops of their own, as in NCHW4c, OIHW4i8o and NCHW8c."""
        blocks = [_blocks(layout) for layout in (self.data_layout, self.kernel_layout, self.out_layout)]
        if not any(blocks):
            return True
        data, weight, out = ({letter: block for letter, block in each if letter in "CIO"} for each in blocks)
        are_all = [len(each) for each in (data, weight, out)] == [len(each) for each in blocks]
        do_fit = (self.is_by_blocks or data.get("C") == weight.get("I")) and out.get("C") == weight.get("O")
        pairs = ((self.data, self.data_layout), (self.weight, self.kernel_layout))
        return self.groups == 1 and are_all and do_fit and all(starmap(_knows_blocks, pairs))

    def of_data(self, value: Value) -> Lettered:
        letters = _letters(self.data_layout)
        return Lettered(value, letters.replace("C", "O").replace("c", "o") if self.is_by_blocks else letters)

    def of_weight(self, value: Value) -> Lettered:
        return Lettered(value, _letters(self.kernel_layout))

    def of_result(self, value: Value) -> Lettered:
        return Lettered(value, _letters(self.out_layout))


def _letters(layout: Layout) -> str:
    return "".join(axis.dimension if axis.block is None else axis.dimension.lower() for axis in layout.axes)


def _blocks(layout: Layout) -> list[tuple[str, int]]:
    return [(axis.dimension, axis.block) for axis in layout.axes if axis.block is not None]


def _knows_blocks(info: TensorInfo, layout: Layout) -> bool:
    """Check whether the type states the sizes of the blocks."""
    assert info.shape is not None
    return all(axis.block in (None, size) for axis, size in zip(layout.axes, info.shape, strict=True))


def in_plain_layouts(call: LegalizeCall, conv: Convolution) -> Any:
    """Apply the operation to tensors without blocks, and convert the result to its layout."""
    texts = {
        name: layout.dimensions if blocked_dimensions(layout) else layout.text
        for name, layout in (
            ("data_layout", conv.data_layout),
            ("kernel_layout", conv.kernel_layout),
            ("out_layout", conv.out_layout),
        )
    }
    data, weight = (
        converted(value, layout, layout.plain) if blocked_dimensions(layout) else value
        for value, layout in zip(call.operands, (conv.data_layout, conv.kernel_layout), strict=True)
    )
    result = call.op.definition(data=data, weight=weight, **{**call.inferred.attributes, **texts})
    if blocked_dimensions(conv.out_layout):
        result = converted(result, conv.out_layout.plain, conv.out_layout)
    return call.cast(result, call.result_infos[0])


def check_channels(conv: Convolution, data: Lettered, weight: Lettered) -> None:
    """Check at run time that channels agree and groups divide them, unless the types prove it."""
    if conv.is_by_blocks:
        loops.require_same(data.sizes["O"], weight.sizes["O"], "channels of the data and the weight")
        return
    channels, taken = _find_size(conv.data, data, "C"), _find_size(conv.weight, weight, "I")
    if equal(channels, taken if conv.is_transposed else dim_mul(taken, conv.groups)) is not True:
        one, other = data.sizes["C"], weight.sizes["I"]
        if conv.groups > 1 and not conv.is_transposed:
            other = other * conv.groups
        loops.require_same(one, other, "channels of the data and the weight")
    grouped = "I" if conv.is_transposed else "O"
    if equal(dim_mod(_find_size(conv.weight, weight, grouped), conv.groups), 0) is not True:
        size = as_index(weight.sizes[grouped])
        loops.require(size % conv.groups == 0, "ValueError", f"{conv.groups} groups do not divide {{}} channels", size)


def _find_size(info: TensorInfo, tensor: Lettered, letter: str) -> Any:
    """Return a size as the graph knows it."""
    assert info.shape is not None
    return info.shape[tensor.letters.index(letter)]


def convolve(conv: Convolution, data: Lettered, weight: Lettered, out: Lettered, windows: Windows) -> Value:
    """Overwrite `out` by the convolution, with a window for each spatial dimension."""
    if are_steps_apart() and _is_by_channels(conv, weight):
        # A group of one channel needs no dimension of its own, which epilogues would not have either.
        data, weight, target = (each.renamed(letter, "G") for each, letter in ((data, "C"), (weight, "O"), (out, "C")))
        return _compute(conv, data, weight, target, windows)
    grouped = "I" if conv.is_transposed else "O"
    target = out.in_groups("C", conv.groups)
    data, weight = data.in_groups("C", conv.groups), weight.in_groups(grouped, conv.groups)
    computed = _compute(conv, data, weight, target, windows)
    return computed if conv.groups == 1 else tensors.merge(computed, target.letters.index("G"), 2)


def _is_by_channels(conv: Convolution, weight: Lettered) -> bool:
    """Check for a depthwise convolution on tensors without blocks."""
    known = dict(zip(weight.letters, weight.value.type.shape, strict=True))
    is_plain = not (conv.is_transposed or conv.is_by_blocks or {"i", "o"} & set(weight.letters))
    return is_plain and conv.groups > 1 and (known["O"], known["I"]) == (conv.groups, 1)


def _compute(conv: Convolution, data: Lettered, weight: Lettered, out: Lettered, windows: Windows) -> Value:
    weight, windows = _drop_padding_taps(weight, windows, data.sizes, out.sizes)

    def over_padding() -> Value:
        along = [windows.get(letter, Window(1)) for letter in data.letters]
        zero = constant(0, data.value.type.element_type)
        before, after = [each.before for each in along], [each.after for each in along]
        around = data.replaced(padded(data.value, zero, before, after, at_once=are_steps_apart()))
        if are_steps_apart():
            # GPU threads do not share the vector and cache constraints of a CPU core.
            return sum_of_products(*_contraction(conv, around, weight, out, _places(windows)))
        if has_short_rows(windows, around, out, weight.sizes):
            return _convolve_joined(conv, around, weight, out, windows)
        if conv.groups == 1 and phases_of(windows, around, out) > 1:
            return _convolve_phases(conv, around, weight, out, windows)
        return sum_of_products(*_contraction(conv, around, weight, out, _places(windows)))

    def by_taps() -> Value:
        add_taps = lambda zeros: _add_taps(conv, data, weight, out.replaced(zeros), windows)  # noqa: E731
        return summed([conv.data.dtype, conv.weight.dtype], out.value, conv.dtype, add_taps)

    if linalg.is_nothing([*data.sizes.values(), *weight.sizes.values()]):
        # Upstream's slices may not start at the end of a dimension, so empty dimensions are handled here.
        return summed([], out.value, conv.dtype, lambda zeros: zeros)
    if not is_widely_padded(windows) or are_steps_apart():
        return over_padding()
    products = weight.sizes["I"]
    if not isinstance(products, int) or products * weight.sizes.get("i", 1) >= _MANY:
        return by_taps()
    if isinstance(is_faster := is_mostly_padding(windows, data.sizes, out.sizes), bool):
        return by_taps() if is_faster else over_padding()
    return loops.when(is_faster, by_taps, over_padding, [out.value.type])[0]


def _drop_padding_taps(
    weight: Lettered, windows: Windows, sizes: Mapping[str, Size], positions: Mapping[str, Size]
) -> tuple[Lettered, Windows]:
    """Drop leading and trailing taps that only read padding. On an image of one element, 3x3 taps become one."""
    kept, parts = dict(windows), dict[str, DimensionRange]()
    for letter, window in windows.items():
        taps, size, count = window.taps, sizes[letter], positions[letter]
        if not (window.is_padded and isinstance(taps, int) and isinstance(size, int) and isinstance(count, int)):
            continue
        met = [tap for tap in range(taps) if meeting(window, tap, size, count).length]
        first = min(met[0], window.before // window.gap) if met else 0
        if not met or met[-1] - first + 1 == taps:
            continue
        fewer = window._replace(taps=met[-1] - first + 1, before=window.before - first * window.gap)
        missing = (count - 1) * window.stride + fewer.reach - size - fewer.before
        kept[letter], parts[letter] = fewer._replace(after=max(missing, 0)), DimensionRange(first, fewer.taps)
    return weight.part(parts) if parts else weight, kept


def _add_taps(conv: Convolution, data: Lettered, weight: Lettered, total: Lettered, windows: Windows) -> Value:
    """Add the products of each tap and the data it reads to the total, one image and group after the other."""
    alone = [letter for letter in "NG" if letter in total.letters]
    sizes, positions = data.sizes, total.sizes

    def enter(value: Value, *at: Size) -> Value:
        if len(at) < len(alone):
            return one_by_one(positions[alone[len(at)]], lambda i, inner: enter(inner, *at, i), value)
        here = {letter: DimensionRange(position, 1) for letter, position in zip(alone, at, strict=True)}

        def add_tap(inner: Value, tap: dict[str, Size], met: dict[str, Meeting]) -> Value:
            read = {
                letter: DimensionRange(value.place, span(windows[letter], value.length))
                for letter, value in met.items()
            }
            written = {letter: DimensionRange(value.first, value.length) for letter, value in met.items()}
            own = {letter: DimensionRange(place, 1) for letter, place in tap.items()}
            whole = total.replaced(inner)
            parts = data.part(here | read), weight.part(here | own), whole.part(here | written)
            return whole.with_part(products_added(*_contraction(conv, *parts, _places(windows))), here | written)

        return for_each_tap(windows, sizes, positions, value, add_tap)

    return enter(total.value)


class _Contraction(NamedTuple):
    factors: list[Factor]
    out: Value
    dtype: str
    out_map: AffineMap
    iterators: list[str]


#: Callable that maps the loops and the kernel's loops, by dimension, to the data indices that they read.
Places = Callable[[Mapping[str, Any]], dict[str, Any]]


def _places(windows: Windows) -> Places:
    return lambda loop: {letter: window.place(loop[letter], loop[letter.lower()]) for letter, window in windows.items()}


def _contraction(conv: Convolution, data: Lettered, weight: Lettered, out: Lettered, places: Places) -> _Contraction:
    """Return the products to sum for `out`. Small spatial letters are the kernel's positions."""
    own = [letter for letter in conv.spatial if letter in out.letters]
    channels = [loop for letter, loop in (("G", "G"), ("C", "O")) if letter in out.letters]
    outer = ["N", *channels, *own, *(["o"] if "o" in weight.letters else [])]
    order = [*outer, "I", *conv.spatial.lower(), *(letter for letter in "pi" if letter in weight.letters)]
    loop = {letter: ir.AffineExpr.get_dim(position) for position, letter in enumerate(order)}
    taps = {letter: loop[letter.lower()] for letter in conv.spatial}

    def read(tensor: Lettered, at: Mapping[str, Any]) -> AffineMap:
        return ir.AffineMap.get(len(order), 0, [at[letter] for letter in tensor.letters])

    factors = [
        Factor(data.value, conv.data.dtype, read(data, {**loop, "C": loop["I"], "c": loop.get("i"), **places(loop)})),
        Factor(weight.value, conv.weight.dtype, read(weight, {**loop, **taps})),
    ]
    iterators = [linalg.PARALLEL] * len(outer) + [linalg.REDUCTION] * (len(order) - len(outer))
    out_map = read(out, {**loop, "C": loop.get("O"), "c": loop.get("o")})
    return _Contraction(factors, out.value, conv.dtype, out_map, iterators)


# ---- short rows ----


def has_short_rows(windows: Windows, data: Lettered, out: Lettered, taps: Mapping[str, Size]) -> bool:
    """Check whether rows fill vectors badly and would fill them better if joined, padding included."""
    *others, tall, wide = ["", *windows]
    if not (others and data.letters.endswith(tall + wide) and out.letters.endswith(tall + wide)):
        return False
    width, columns, rows = data.sizes[wide], out.sizes[wide], out.sizes[tall]
    if windows[tall].stride > 1 or windows[wide].stride > 1:
        return False
    if not (isinstance(width, int) and isinstance(columns, int) and isinstance(rows, int)):
        return False
    products = [taps["I"], *(taps[letter] for letter in windows)]
    # The results are written twice, so each one must sum many products.
    known = [size for size in products if isinstance(size, int)]
    is_long = len(known) == len(products) and prod(known) >= _MANY * _MANY // 2
    return is_long and rows > 1 and width * 10 <= -(-columns // _MANY) * _MANY * 9


def _convolve_joined(conv: Convolution, data: Lettered, weight: Lettered, out: Lettered, windows: Windows) -> Value:
    """Compute the convolution over joined rows. A window across the end of a row yields an unused result."""
    tall, wide = list(windows)[-2:]
    width, columns, rows = data.sizes[wide], out.sizes[wide], out.sizes[tall]
    joined = Lettered(tensors.merge(data.value, len(data.letters) - 2, 2), data.letters[:-1])
    *sizes, _, _ = out.sizes.values()
    whole = Lettered(linalg.empty([*sizes, rows * width], out.value.type.element_type), out.letters[:-1])
    used = {tall: DimensionRange(0, (rows - 1) * width + columns)}

    def places(loop: Mapping[str, Any]) -> dict[str, Any]:
        tap = loop[tall.lower()] * (windows[tall].gap * width) + loop[wide.lower()] * windows[wide].gap
        return {**_places({letter: windows[letter] for letter in list(windows)[:-2]})(loop), tall: loop[tall] + tap}

    summed = sum_of_products(*_contraction(conv, joined, weight, whole.part(used), places))
    apart = tensors.split(whole.with_part(summed, used), len(sizes), [rows, width])
    return linalg.copy(Lettered(apart, out.letters).part({wide: DimensionRange(0, columns)}).value, out.value)


# ---- long strides ----
# Adjacent windows with a long stride read elements that are far apart and form no vectors. For a kernel of 400 taps
# with stride 160, rows of [positions, 80] are transposed to [80, positions]. The kernel then has 5 x 80 taps and stride
# 2.

#: Largest stride that vector loads support.
_READ_AS_VECTORS = 2


def phases_of(windows: Windows, data: Lettered, out: Lettered) -> int:
    """Return the number of phases into which rows are split, or 1 if rows stay unchanged."""
    wide, window = list(windows.items())[-1]
    if not (data.letters.endswith(wide) and out.letters.endswith(wide)):
        return 1
    if window.stride <= _READ_AS_VECTORS or window.gap > 1 or not isinstance(window.taps, int):
        return 1
    phases = gcd(window.taps, window.stride)
    return phases if window.stride <= phases * _READ_AS_VECTORS else 1


def _convolve_phases(conv: Convolution, data: Lettered, weight: Lettered, out: Lettered, windows: Windows) -> Value:
    """Compute the convolution with the phases of rows as a dimension p."""
    wide, window = list(windows.items())[-1]
    phases, places, rank = phases_of(windows, data, out), out.sizes[wide], len(data.letters)
    reach = minimum(places, 1) * window.taps + maximum(places - 1, 0) * window.stride
    rows = data.part({wide: DimensionRange(0, reach)})
    apart = tensors.split(rows.value, rank - 1, [reach // phases, phases])
    *sizes, steps, _ = linalg.sizes(apart)
    turned = linalg.empty([*sizes, phases, steps], apart.type.element_type)
    turned = linalg.copy(apart, turned, [*range(rank - 1), rank, rank - 1])
    taps = tensors.split(weight.value, weight.letters.index(wide), [window.taps // phases, phases])
    by_phases = {**windows, wide: Window(window.taps // phases, window.stride // phases)}
    data = Lettered(turned, data.letters.replace(wide, "p" + wide))
    weight = Lettered(taps, weight.letters.replace(wide, wide + "p"))
    return sum_of_products(*_contraction(conv, data, weight, out, _places(by_phases)))


# ---- tap by tap ----
# A tap is computed only where it reads data, so that padding costs nothing. This pays if most taps read padding, as in
# widely dilated convolutions on small images. Otherwise sums that stay in registers for all taps are faster.


#: Windows by dimension.
Windows = Mapping[str, Window]
#: `body(total, tap, meetings)`, both by dimension, returns the new total.
TapBody = Callable[[Value, dict[str, Size], dict[str, Meeting]], Value]

#: The tap-by-tap form pays below this fraction (3/5) of taps that read data.
_MOST_INSIDE, _OF = 3, 5


def is_widely_padded(windows: Windows) -> bool:
    """Check whether the padding is wider than a border, which costs less than many small steps."""
    is_known = all(isinstance(window.taps, int) for window in windows.values())
    return is_known and any(max(window.before, window.after) > window.taps for window in windows.values())


def is_mostly_padding(windows: Windows, sizes: Mapping[str, Size], positions: Mapping[str, Size]) -> bool | Number:
    """Check whether most taps read padding. Return a run-time truth value for dynamic sizes."""
    met = [
        [meeting(window, tap, sizes[letter], positions[letter]).length for tap in range(window.taps)]
        for letter, window in windows.items()
    ]
    every = prod(window.taps * positions[letter] for letter, window in windows.items())
    return prod(map(sum, met)) * _OF < every * _MOST_INSIDE


def for_each_tap(
    windows: Windows, sizes: Mapping[str, Size], positions: Mapping[str, Size], total: Value, body: TapBody
) -> Value:
    """Return the total after all taps of a window, without taps that are known to read only padding."""
    letters = list(windows)

    def meet(letter: str, tap: Size) -> Meeting:
        return meeting(windows[letter], tap, sizes[letter], positions[letter])

    def enter(value: Value, *taps: Size) -> Value:
        if len(taps) == len(letters):
            at = dict(zip(letters, taps, strict=True))
            return body(value, at, {letter: meet(letter, tap) for letter, tap in at.items()})
        letter = letters[len(taps)]
        met = {tap: meet(letter, tap).length for tap in range(windows[letter].taps)}
        some = [tap for tap, count in met.items() if not linalg.is_nothing([count])]
        # Along the last dimension, static sizes give better vectors than one loop for all taps.
        is_worth_code = letter == letters[-1] and all(isinstance(met[tap], int) and met[tap] > 1 for tap in some)
        if len(some) > 1 and not is_worth_code:
            return loops.for_range(some[0], some[-1] + 1, lambda tap, inner: enter(inner, *taps, tap), value)[0]
        return reduce(lambda inner, tap: enter(inner, *taps, tap), some, value)

    return enter(total)


def one_by_one(count: Size, body: Callable[[Size, Value], Value], value: Value) -> Value:
    """Run `value = body(i, value)` `count` times, without a loop if the count is known to be one."""
    if isinstance(count, int) and count == 1:
        return body(0, value)
    return loops.for_range(0, count, lambda i, inner: body(i, inner), value)[0]
