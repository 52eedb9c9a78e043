# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of the sweep of narrow kernels: numbered cases of products and convolutions of narrow numbers.

A case's number selects the operator with its layouts, the element types, the outputs and the depth, and whether the
weights are constant. The number seeds all other properties. So a case is the same in each run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from random import Random
from typing import NamedTuple

#: Sizes of the outputs, and of the inputs that a result sums.
SIZES = (*range(1, 18), 31, 32, 33, 63, 64, 65)
#: Cases with larger outputs or inputs share modules. In a module of one function LLVM knows all offsets.
SMALL = 17
#: Cases of a draw of `make test`: one of _ALONE has a module of its own, _DRAWN_TOGETHER others share one.
DRAWN = 72
_ALONE, _DRAWN_TOGETHER = 5, 6
#: Targets and levels of each draw's shared modules. Four others are drawn.
_DRAWN_KINDS = (("llvm", 2), ("llvm", 3), ("llvm{cpu=cascadelake}", 2))
#: Functions of a module of large cases.
TOGETHER = 8


class Family(NamedTuple):
    """Operator with its layouts. Layouts of convolutions have the letters of relax's attributes."""

    name: str
    kind: str
    rank: int = 0
    data: str = ""
    kernel: str = ""
    result: str = ""


FAMILIES = (
    Family("matmul", "matmul"),
    Family("turned", "turned"),
    Family("batched", "batched"),
    Family("shared", "shared"),
    Family("conv1d", "conv", 1, "NCW", "OIW"),
    Family("conv1d last", "conv", 1, "NWC", "WIO"),
    Family("conv2d", "conv", 2, "NCHW", "OIHW"),
    Family("conv2d last", "conv", 2, "NHWC", "HWIO"),
    Family("conv2d last outputs", "conv", 2, "NHWC", "OHWI"),
    Family("conv2d blocked", "conv", 2, "NCHW4c", "OIHW4i4o"),
    Family("conv2d blocked last", "conv", 2, "NCHW4c", "OIHW2i4o2i", "NHWC"),
    Family("conv3d", "conv", 3, "NCDHW", "OIDHW"),
    Family("conv3d last", "conv", 3, "NDHWC", "DHWIO"),
    Family("depthwise", "depthwise", 2, "NCHW", "OIHW"),
    Family("depthwise last", "depthwise", 2, "NHWC", "HWIO"),
    Family("depthwise 1d", "depthwise", 1, "NWC", "WIO"),
    Family("grouped", "grouped", 2, "NCHW", "OIHW"),
    Family("grouped last", "grouped", 2, "NHWC", "HWIO"),
    Family("transposed 1d", "transposed", 1, "NCW", "IOW"),
    Family("transposed", "transposed", 2, "NCHW", "IOHW"),
    Family("transposed last", "transposed", 2, "NHWC", "HWIO"),
)
NBITS = tuple(Family(f"nbits {bits}", "nbits", bits) for bits in (4, 2, 8))
PAIRS = (
    ("ui8", "i8"), ("i8", "i8"), ("ui8", "ui8"), ("i8", "ui8"), ("i16", "i16"),
    ("bf16", "bf16"), ("f16", "f16"), ("f8E4M3FN", "f8E4M3FN"), ("f8E5M2", "f8E5M2"),
)  # fmt: skip
INTEGERS = ("ui8", "i8", "i16", "i32")
_STRATA = (
    *((family, pair) for family in FAMILIES for pair in PAIRS),
    *((family, (dtype, "ui8")) for family in NBITS for dtype in ("f32", "f16", "bf16")),
)
_GRID = len(SIZES) ** 2
#: Coprime with the grid, so that few cases have many different sizes.
_STEP = 101
COUNT = len(_STRATA) * _GRID * 2

#: Options of target llvm. CPUs that this machine is not are emulated.
CPUS = ("", "x86-64-v2", "x86-64-v3", "cascadelake", "sapphirerapids", "neoverse-n1", "neoverse-v1")
_CPU_WEIGHTS = (6, 2, 3, 4, 2, 1, 1)
DEVICES = ("vulkan", "opencl", "webgpu")
OTHERS = ("c", "cuda", *DEVICES)
#: Share of the cases for each other target. Each takes a second or more.
_OTHER_SHARE = 0.01
FORMS = ("float", "q31", "q15", "power_of_two", "double")
ROUNDINGS = ("half_even", "half_up", "half_down", "half_away", "half_to_zero", "up", "down", "to_zero")
_STEPS = ("bias", "add", "relu", "clip")


class Requantize(NamedTuple):
    form: str
    rounding: str
    saturate: bool
    by_channel: bool
    dtype: str
    zero_point: int


class Case(NamedTuple):
    """Program of one function. `outputs` and `depth` are of a group."""

    number: int
    family: Family
    x: str
    w: str
    outputs: int
    depth: int
    constant: bool
    target: str
    level: int
    threads: int
    #: Batch, then rows of a product or spatial sizes of a convolution.
    sizes: tuple[int, ...]
    #: Whether these sizes are symbols.
    dynamic: bool
    groups: int = 1
    window: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    #: Zero points of x and w. The zero points of w differ by channel if `w_zero_by_channel`.
    x_zero: int = 0
    w_zero: int = 0
    w_zero_by_channel: bool = False
    #: Whether operands are dequantized, and the result is quantized.
    qdq: bool = False
    #: Whether the result has the operands' type, for floats.
    narrow_result: bool = False
    steps: tuple[str, ...] = ()
    requantize: Requantize | None = None

    @property
    def is_integer(self) -> bool:
        return self.x in INTEGERS

    @property
    def is_small(self) -> bool:
        return max(self.outputs, self.depth) <= SMALL

    def name(self) -> str:
        """Return a text for `--only`, such as `conv2d last ui8*i8 outputs=2 depth=5 constant llvm -O2 ...`."""
        fields = [f"{self.family.name} {self.x}*{self.w} outputs={self.outputs} depth={self.depth}"]
        fields += ["constant" if self.constant else "parameter", self.target, f"-O{self.level}"]
        fields += [f"threads={self.threads}", f"sizes={self.sizes}", "dynamic" if self.dynamic else "static"]
        of_window = {"groups": 1, "window": (), "strides": (), "dilation": (), "padding": (), "x_zero": 0, "w_zero": 0,
                     "w_zero_by_channel": False, "qdq": False, "narrow_result": False, "steps": (),
                     "requantize": None}  # fmt: skip
        fields += [f"{key}={getattr(self, key)}" for key, usual in of_window.items() if getattr(self, key) != usual]
        return " ".join(fields)


def case(number: int) -> Case:
    """Return the case of a number below COUNT."""
    round_, stratum = divmod(number, len(_STRATA))
    family, (x, w) = _STRATA[stratum]
    of_weights, place = divmod(round_, _GRID)
    outputs, depth = divmod((place * _STEP + 37 * stratum) % _GRID, len(SIZES))
    return _filled(number, family, (x, w), SIZES[outputs], SIZES[depth], not (of_weights + stratum) % 2)


def _filled(number: int, family: Family, types: tuple[str, str], outputs: int, depth: int, constant: bool) -> Case:
    random = Random(f"narrow {number}")
    target, level = _target(random), random.choice((2, 2, 2, 3, 1, 0))
    x, w = types
    found = Case(number, family, x, w, outputs, depth, constant, target, level, random.choice((1, 1, 1, 2)), (), False)
    sizes = (random.choice((1, 1, 2, 3)), *(_spatial(random) for _ in range(family.rank)))
    if not family.data:
        rows = random.choice((*range(1, 18), *SIZES)) if outputs * depth < 1100 else random.randint(1, 17)
        sizes = (random.choice((1, 2, 3)), rows)
    found = found._replace(sizes=sizes, dynamic=random.random() < 0.2)
    if family.data:
        found = _with_windows(random, found)
    if family.kind == "nbits":
        return found._replace(x_zero=0, steps=tuple(each for each in ("bias",) if random.random() < 0.3))
    return _with_integers(random, found) if found.is_integer else _with_floats(random, found)


def _target(random: Random) -> str:
    other = random.random() / _OTHER_SHARE
    if other < len(OTHERS):
        return OTHERS[int(other)]
    cpu = random.choices(CPUS, _CPU_WEIGHTS)[0]
    return f"llvm{{cpu={cpu}}}" if cpu else "llvm"


def _spatial(random: Random) -> int:
    return random.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 17))


def _with_windows(random: Random, found: Case) -> Case:
    rank, kind = found.family.rank, found.family.kind
    window = tuple(random.choice((1, 1, 2, 3)) for _ in range(rank))
    strides = tuple(random.choice((1, 1, 1, 2, 3)) for _ in range(rank))
    dilation = tuple(random.choice((1, 1, 1, 2)) for _ in range(rank))
    padding = tuple(random.choice((0, 0, 1)) if size > 1 else 0 for size in (*window, *window))
    reached = [(size - 1) * step + 1 for size, step in zip(window, dilation, strict=True)]
    both = zip(reached, padding[:rank], padding[rank:], strict=True)
    least = [max(1, reach - before - after) for reach, before, after in both]
    batch, *spatial = found.sizes
    most = 6 if rank == 3 or found.outputs * found.depth > 1000 else 17
    spatial = [min(max(size, small), most + small) for size, small in zip(spatial, least, strict=True)]
    groups, outputs, depth = 1, found.outputs, found.depth
    if kind == "depthwise":
        groups, outputs, depth = depth, random.choice((1, 1, 1, 2)), 1
    elif kind == "grouped":
        groups = random.choice((2, 3, 4))
    if "4c" in found.family.data:
        outputs, depth = -(-outputs // 4) * 4, -(-depth // 4) * 4
    if kind == "transposed":
        padding = tuple(min(each, reach - 1) for each, reach in zip(padding, (*reached, *reached), strict=True))
        # The result needs an element.
        spatial = [max(each, 2) for each in spatial]
    return found._replace(sizes=(batch, *spatial), groups=groups, window=window, strides=strides, dilation=dilation,
                          padding=padding, outputs=outputs, depth=depth)  # fmt: skip


_LIMITS = {"ui8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "i32": (-(2**31), 2**31 - 1)}


def limits(dtype: str) -> tuple[int, int]:
    """Return the range of an integer type."""
    return _LIMITS[dtype]


def _zero_point(random: Random, dtype: str) -> int:
    low, high = limits(dtype)
    return random.choice((0, 0, low, high, (low + high + 1) // 2, random.randint(low, high)))


def _with_integers(random: Random, found: Case) -> Case:
    is_byte = found.x != "i16"
    zeros = {"x_zero": _zero_point(random, found.x), "w_zero": _zero_point(random, found.w)} if is_byte else {}
    if found.family.kind == "turned" and random.random() < 0.7:
        zeros = {}
    if random.random() < 0.4:
        zeros = {**zeros, "w_zero": 0}
    found = found._replace(**zeros, w_zero_by_channel=bool(zeros.get("w_zero")) and random.random() < 0.3)
    steps = tuple(each for each in _STEPS if random.random() < 0.2)
    qdq = is_byte and random.random() < 0.3
    requantize = None
    if qdq or random.random() < 0.4:
        dtype = random.choice(("i8", "ui8") if qdq else ("i8", "ui8", "i16"))
        form, rounding = random.choice(FORMS), random.choice(ROUNDINGS)
        by_channel = random.random() < 0.5 and "4c" not in found.family.data
        requantize = Requantize(form, rounding, random.random() < 0.8, by_channel, dtype, _zero_point(random, dtype))
    if "4c" in found.family.data:
        steps = tuple(each for each in steps if each != "bias")
        found = found._replace(w_zero_by_channel=False)
    return found._replace(steps=steps, qdq=qdq, requantize=requantize)


def _with_floats(random: Random, found: Case) -> Case:
    # A product by subscripts has the operands' type.
    if found.x in ("bf16", "f16") and (random.random() < 0.4 or found.family.kind == "turned"):
        return found._replace(narrow_result=True, steps=("relu",) if random.random() < 0.3 else ())
    steps = tuple(
        each for each in _STEPS if random.random() < 0.2 and not (each == "bias" and "4c" in found.family.data)
    )
    return found._replace(steps=steps)


# ---- parts of the table ----


def modules(numbers: Iterator[int], together: int = TOGETHER) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of the cases of each module: one small case, or large cases of a target and level."""
    waiting: dict[tuple[str, int], list[int]] = {}
    for number in numbers:
        each = case(number)
        if each.is_small or each.target in OTHERS:
            yield (number,)
            continue
        group = waiting.setdefault((each.target, each.level), [])
        group.append(number)
        if len(group) == together:
            yield tuple(waiting.pop((each.target, each.level)))
    for group in waiting.values():
        yield tuple(group)


def drawn(draw: str, count: int) -> Sequence[tuple[int, ...]]:
    """Return modules of `count` cases, mostly small ones of bytes with constant weights.

    A fifth of the cases have modules of their own, and up to six others share one, which takes half of the time. Each
    kind of rare kernels has a few cases.
    """
    random = Random(f"narrow draw {draw}")
    strata = random.choices(range(len(_STRATA)), [_weight(*each) for each in _STRATA], k=count)
    kinds = {*_DRAWN_KINDS, *((f"llvm{{cpu={random.choice(CPUS[1:])}}}", random.randrange(4)) for _ in range(4))}
    alone = [_small_of(random, stratum) for stratum in strata[: count // _ALONE]]
    others = [each.drawn(random) for each in _RARE for _ in range(each.count)]
    others += [_small_of(random, stratum, kinds) for stratum in strata[count // _ALONE + len(others) :]]
    together: dict[tuple[str, int], list[int]] = {}
    found = [(number,) for number in alone]
    for number in others:
        each = case(number)
        together.setdefault((each.target, each.level), []).append(number)
    for (target, _), group in together.items():
        step = 1 if target in OTHERS else _DRAWN_TOGETHER
        found += [tuple(group[place : place + step]) for place in range(0, len(group), step)]
    random.shuffle(found)
    return found


def _weight(family: Family, types: tuple[str, str]) -> float:
    """Return how often a row of the table is drawn: most kernels of their own are for bytes, channels last."""
    of_family = 3 if family.kind in ("matmul", "batched", "shared") or family.name.startswith("conv2d last") else 1
    if family.kind == "nbits":
        return 1.5
    return (2 if family.name.endswith("last") else of_family) * {"ui8": 3, "i8": 3, "bf16": 1.5}.get(types[0], 1)


class _Rare(NamedTuple):
    """Kind of kernels that few cases of the table have, with the number of its cases in a draw."""

    count: int
    families: Collection[str]
    types: Collection[tuple[str, str]]
    holds: Callable[[Case], bool]
    kinds: Sequence[tuple[str, int]] = _DRAWN_KINDS

    def drawn(self, random: Random) -> int:
        rows = [place for place, (family, types) in enumerate(_STRATA) if self._has(family, types)]
        while True:
            number = random.randrange(2 * _GRID) * len(_STRATA) + random.choice(rows)
            found = case(number)
            if (found.target, found.level) in self.kinds and self.holds(found):
                return number

    def _has(self, family: Family, types: tuple[str, str]) -> bool:
        return family.name in self.families and types in self.types


def _has_wide_rows(found: Case) -> bool:
    return found.constant and found.outputs > SMALL >= found.depth


def _has_masked_pairs(found: Case) -> bool:
    """Check for constant weights and enough rows for masks."""
    return found.constant and not found.x_zero and math.prod(found.sizes) >= 8 <= found.outputs


def _skips_elements(found: Case) -> bool:
    return found.is_small and found.strides[-1] == 2 and found.sizes[-1] > 4


def _shifts_both(found: Case) -> bool:
    return found.is_small and found.x_zero != 0 != found.w_zero


_PAIRED = [("llvm{cpu=x86-64-v3}", level) for level in (2, 3)]
_BYTES = tuple(pair for pair in PAIRS if pair[0] in ("ui8", "i8"))
_RARE = (
    # Packed rows of several vectors, and masks for pairs of bytes on a CPU without dot products of four.
    _Rare(4, ("batched", "conv1d last", "conv2d last"), _BYTES, _has_wide_rows),
    _Rare(5, ("matmul", "shared"), [("i8", "i8")], _has_masked_pairs, _PAIRED),
    _Rare(4, ("conv1d", "conv2d", "conv3d", "grouped"), PAIRS, _skips_elements),
    _Rare(3, ("matmul", "shared", "batched"), _BYTES, _shifts_both),
)


def _small_of(random: Random, stratum: int, kinds: Collection[tuple[str, int]] = ()) -> int:
    """Return a case of a row of the table. 9 of 10 are small, and most have constant weights.

    `kinds` are the targets and levels, or empty for all.
    """
    is_any, is_constant = random.random() < 0.1, random.random() < 0.7
    while True:
        number = random.randrange(2 * _GRID) * len(_STRATA) + stratum
        found = case(number)
        if kinds and (found.target, found.level) not in kinds:
            continue
        # Asking for a device takes seconds.
        if found.target not in DEVICES and (is_any or (found.is_small and found.constant == is_constant)):
            return number
