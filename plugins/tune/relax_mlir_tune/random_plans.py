# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check of random plans over small kernels (relax-tune --check): results only, without times.

The check compares the default's results with NumPy's in float64, and the results of random plans with the default's,
bit by bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.schedules import planned
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.runtime import to_numpy

from .block_space import plan_space
from .measuring import KernelJob, Outcome
from .runners import LocalRunner
from .space import Plans, Space
from .tasks import Task, tasks_of

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.random import Generator

#: Plans of a kernel, and the most changes that lead to one.
_PLANS, _CHANGES = 24, 8
#: Seconds of a plan, also on a busy machine.
_LIMIT_S = 300.0
#: Largest error by element type, as a share of the largest result.
_TOLERANCE = {"f32": 1e-4, "bf16": 4e-2, "i8": 0.0}
_SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72)
_LONG = (128, 129, 200, 256, 300)


@dataclass(frozen=True)
class Case:
    """Small module, and NumPy's results of its arguments."""

    name: str
    dtype: str
    module: rx.Module
    shapes: Sequence[Sequence[int]]
    expected: Callable[..., ndarray]


@dataclass
class Checked:
    """Result of a check."""

    kernels: int = 0
    plans: int = 0
    #: Plans that the compiler refused, after `check_plan` had taken them.
    refused: dict[str, int] = field(default_factory=dict)
    #: Texts that reproduce wrong results and crashes.
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def summary(self) -> str:
        """Return a line of counts, and the most frequent reasons of refused plans."""
        rate = self.plans / self.seconds if self.seconds else 0.0
        refused = sum(self.refused.values())
        line = f"{self.plans} plans of {self.kernels} kernels: {len(self.wrong)} wrong, {refused} refused"
        reasons = sorted(self.refused.items(), key=lambda pair: -pair[1])[:5]
        return "\n".join([f"{line}, {rate:.1f} plans a second", *(f"  {count} x {why}" for why, count in reasons)])


def check_random_plans(
    count: int, seed: int = 0, target: str = "llvm", tell: Callable[[str], object] = lambda text: None
) -> Checked:
    """Check as many random plans, or fewer until Ctrl-C. `tell` gets the text of each wrong one."""
    random, found, runner, start = Random(seed), Checked(), LocalRunner(_LIMIT_S), time.monotonic()
    try:
        while found.plans < count:
            case = random_case(random)
            if problem := _difference_of(case, target, random.randrange(1 << 30)):
                _add_wrong(found, f"{case.name}: {problem}\n{case.module}", tell)
            for task in tasks_of(case.module, target):
                most = min(_PLANS, count - found.plans)
                for outcome, text in _check(task, target, most, random, runner):
                    found.plans += 1
                    if text:
                        _add_wrong(found, f"{case.name}: {text}", tell)
                    elif outcome.problem:
                        found.refused[outcome.problem] = found.refused.get(outcome.problem, 0) + 1
                found.kernels += most > 0
    except KeyboardInterrupt:
        tell("stopped")
    finally:
        runner.close()
        found.seconds = time.monotonic() - start
    return found


def _add_wrong(checked: Checked, text: str, tell: Callable[[str], object]) -> None:
    checked.wrong.append(text)
    tell(text)


def _check(task: Task, target: str, most: int, random: Random, runner: LocalRunner) -> Iterator[tuple[Outcome, str]]:
    """Yield the outcomes of a kernel's random plans, each with a text that reproduces it if it is wrong."""
    space = plan_space(rx.lower(task.module, target, pipeline=planned(rx.stages(target))), target)
    plans = random_plans(space, most, random)
    for outcome in runner.measured(KernelJob(task.key, task.module.bytecode(), target, 1), plans, 0):
        is_fault = outcome.is_wrong or "crashed" in outcome.problem or "took more than" in outcome.problem
        yield outcome, repro_of(task, space.default, outcome) if is_fault else ""


def random_plans(space: Space, count: int, random: Random) -> list[Plans]:
    """Return different plans that random changes lead to."""
    found: dict[Plans, None] = {}
    for _ in range(2 * count if space.choices else 0):
        plans = space.default
        for _ in range(random.randint(1, _CHANGES)):
            plans = space.neighbour(plans, random) or plans
        if plans != space.default:
            found[plans] = None
    return list(found)[:count]


def repro_of(task: Task, default: Plans, outcome: Outcome) -> str:
    """Return the plans and the kernel's text."""
    plans = "\n".join(f"  operation {place}: {text}" for place, text in enumerate(outcome.plans))
    rules = "\n".join(f"  operation {place}: {text}" for place, text in enumerate(default))
    return f"@{task.name}: {outcome.problem}\nplans\n{plans}\ndefault\n{rules}\n{task.module}"


def _difference_of(case: Case, target: str, seed: int) -> str:
    """Compare the default with NumPy. Return a difference, or an empty text."""
    import numpy

    draw = numpy.random.default_rng(seed)
    arguments = [_argument(shape, case.dtype, draw) for shape in case.shapes]
    found = to_numpy(rx.compile(case.module, target, cache=False, jobs=1)["main"](*arguments)).astype(float)
    expected = case.expected(*(argument.astype(float) for argument in arguments))
    error, scale = numpy.abs(found - expected).max(initial=0.0), numpy.abs(expected).max(initial=1e-3)
    limit = _TOLERANCE[case.dtype] * scale
    return f"the default differs by {error:.3g}, more than {limit:.3g}, from NumPy" if not error <= limit else ""


def _argument(shape: Sequence[int], dtype: str, draw: Generator) -> ndarray:
    numbers = draw.standard_normal(shape) if is_float(dtype) else draw.integers(-9, 10, shape)
    return numbers.astype(storage_dtype(dtype))


# ---- cases: a random generator -> a module of some operators, and NumPy's results ----


def random_case(random: Random) -> Case:
    """Return a module with random sizes."""
    return random.choice(_CASES)(random)


def _case(
    name: str,
    dtype: str,
    shapes: Sequence[Sequence[int]],
    build: Callable[..., object],
    expected: Callable[..., ndarray],
) -> Case:
    with rx.Module() as module, module.function("main", [rx.tensor(tuple(shape), dtype) for shape in shapes]) as f:
        f.returns(build(*f))
    sizes = ", ".join("x".join(map(str, shape)) for shape in shapes)
    return Case(f"{name} {sizes} {dtype}", dtype, module, shapes, expected)


def _product(random: Random) -> Case:
    import numpy

    dtype = random.choice(("f32", "f32", "bf16", "i8"))
    rows, columns, depth = (random.choice(_SIZES) for _ in range(3))
    depth = random.choice((depth, *_LONG))
    batch = [random.choice((1, 2, 3))] * random.randint(0, 1)
    shapes = [(*batch, rows, depth), (*batch, depth, columns)]
    if dtype == "i8":
        return _case("product", dtype, shapes, lambda x, w: relax.matmul(x, w, out_dtype="i32"), numpy.matmul)
    if random.random() < 0.5:
        return _case("product", dtype, shapes, relax.matmul, numpy.matmul)
    return _case(
        *("product, relu", dtype, shapes),
        *(lambda x, w: relax.nn.relu(relax.matmul(x, w)), lambda x, w: numpy.maximum(x @ w, 0)),
    )


def _convolution(random: Random) -> Case:
    dtype = random.choice(("f32", "f32", "bf16"))
    height, width = random.randint(4, 15), random.randint(4, 15)
    channels, out, taps = random.choice((1, 3, 8, 17)), random.choice(_SIZES), random.choice((1, 2, 3))
    stride = random.choice((1, 2))
    shapes = [(random.choice((1, 2)), height, width, channels), (taps, taps, channels, out)]
    return _case(
        *("convolution", dtype, shapes),
        lambda x, w: relax.nn.conv2d(x, w, strides=(stride, stride), data_layout="NHWC", kernel_layout="HWIO"),
        lambda x, w: _convolve(x, w, stride),
    )


def _convolve(x: ndarray, w: ndarray, stride: int) -> ndarray:
    import numpy

    windows = numpy.lib.stride_tricks.sliding_window_view(x, w.shape[:2], axis=(1, 2))[:, ::stride, ::stride]
    found: ndarray = numpy.einsum("nhwcij,ijco->nhwo", windows, w)
    return found


def _row(random: Random) -> Case:
    shapes = [(random.choice(_SIZES), random.choice((*_SIZES, *_LONG)))]
    return _case("softmax", random.choice(("f32", "bf16")), shapes, lambda x: relax.nn.softmax(x, axis=-1), _softmax)


def _softmax(x: ndarray) -> ndarray:
    import numpy

    powers = numpy.exp(x - x.max(-1, keepdims=True))
    shares: ndarray = powers / powers.sum(-1, keepdims=True)
    return shares


def _norm(random: Random) -> Case:
    import numpy

    shapes = [(random.choice(_SIZES), random.choice(_SIZES), random.choice((*_SIZES, *_LONG)))]
    axes = random.choice(([1], [2], [1, 2]))
    return _case(
        *("norm", "f32", shapes),
        lambda x: relax.sqrt(relax.sum(relax.multiply(x, x), axis=axes)),
        lambda x: numpy.sqrt((x * x).sum(tuple(axes))),
    )


def _elementwise(random: Random) -> Case:
    import numpy

    shape = tuple(random.choice(_SIZES) for _ in range(random.randint(1, 3)))
    if random.random() < 0.3:
        shape = (random.choice(_SIZES), random.choice(_SIZES))
        return _case("transpose", "f32", [shape], lambda x: relax.permute_dims(x, axes=(1, 0)), numpy.transpose)
    return _case(
        *("elementwise", random.choice(("f32", "bf16")), [shape, shape]),
        lambda x, y: relax.add(relax.multiply(x, y), relax.tanh(x)),
        lambda x, y: x * y + numpy.tanh(x),
    )


_CASES = (_product, _product, _product, _convolution, _convolution, _row, _norm, _elementwise)
