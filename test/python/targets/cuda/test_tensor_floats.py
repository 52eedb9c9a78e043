# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of f32 by tensor cores on request, with factors rounded to 10 bits. Exact products stay exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from assembler import needs_ptxas
from emulated_gpu import run_emulated
from relax_mlir.runtime import Executable, tensor, to_numpy
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.cuda.objects.cubin import resources

import relax_mlir as rx
from relax_mlir import relax

Build = Callable[..., Any]
Shapes = Sequence[Sequence[int | str]]


def program(build: Build, shapes: Shapes, target: str = "cuda{tf32=true}") -> Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(build(*f))
    return rx.compile(module, target)


def multiplies_tf32(executable: Executable) -> bool:
    code = bytes(executable._artifact.devices[0].data).decode()
    return "m16n8k8.row.col.f32.tf32.tf32.f32" in code and "cvt.rna.tf32.f32" in code


def rounded(x: np.ndarray) -> np.ndarray:
    """Round to 10 bits of the fraction, ties away from zero, and return doubles."""
    bits = x.astype(np.float32).view(np.uint32)
    finite = (bits & 0x7F800000) != 0x7F800000
    return (
        np.where(finite, (bits + 0x1000) & np.uint32(0xFFFFE000), bits).astype(np.uint32).view(np.float32).astype(float)
    )


def values(shapes: Sequence[Sequence[int]]) -> list[np.ndarray]:
    random = np.random.default_rng(11)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def run(executable: Executable, *arrays: np.ndarray) -> np.ndarray:
    return to_numpy(run_emulated(executable, *map(tensor, arrays)))


@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("sizes", [(32, 48, 64), (17, 33, 21)], ids=str)
def test_factors_are_rounded_and_nothing_else(sizes: Sequence[int], turned: str) -> None:
    rows, columns, steps = sizes
    shapes = [
        (steps, rows) if "a" in turned else (rows, steps),
        (columns, steps) if "b" in turned else (steps, columns),
    ]
    left, right = (f"{'km' if 'a' in turned else 'mk'}", f"{'nk' if 'b' in turned else 'kn'}")
    executable = program(lambda x, y: relax.einsum((x, y), f"{left},{right}->mn"), shapes)
    assert multiplies_tf32(executable)
    x, y = values(shapes)
    found = run(executable, x, y)
    exact, expected = (
        np.einsum(f"{left},{right}->mn", change(x), change(y)) for change in (lambda each: each.astype(float), rounded)
    )
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * scale)
    assert np.abs(found - exact).max() > 2e-5 * scale, "it is less exact: else nothing was multiplied in tf32"


@pytest.mark.parametrize("sizes", [(1, 40, 300), (9, 24, 1029), (40, 17, 5)], ids=str)
def test_any_sizes_and_what_follows(sizes: Sequence[int]) -> None:
    def build(x: Any, w: Any, b: Any) -> Any:
        return relax.nn.relu(relax.add(relax.matmul(x, w), b))

    rows, columns, steps = sizes
    executable = _of_any_sizes(build)
    x, w, b = values([(rows, steps), (steps, columns), (columns,)])
    expected = np.maximum(rounded(x) @ rounded(w) + b, 0)
    np.testing.assert_allclose(run(executable, x, w, b), expected, rtol=0, atol=2e-6 * max(expected.max(), 1))


_made: list[Executable] = []


def _of_any_sizes(build: Build) -> Executable:
    if not _made:
        _made.append(program(build, [("m", "k"), ("k", "n"), ("n",)]))
        assert multiplies_tf32(_made[0])
    return _made[0]


@pytest.mark.parametrize("stride,dilation", [(1, 1), (2, 1), (1, 2)])
def test_convolutions(stride: int, dilation: int) -> None:
    def build(x: Any, w: Any) -> Any:
        return relax.nn.conv2d(x, w, strides=[stride] * 2, dilation=[dilation] * 2)

    shapes = [(2, 5, 11, 9), (16, 5, 3, 3)]
    executable = program(build, shapes)
    assert multiplies_tf32(executable)
    x, w = values(shapes)
    high, wide = ((size - 2 * dilation - 1) // stride + 1 for size in x.shape[2:])
    expected = np.zeros((2, 16, high, wide))
    for i, j in np.ndindex(3, 3):
        rows, columns = (
            slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride)
            for at, count in ((i, high), (j, wide))
        )
        expected += np.einsum("nchw,oc->nohw", rounded(x)[:, :, rows, columns], rounded(w)[:, :, i, j])
    np.testing.assert_allclose(run(executable, x, w), expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_special_values() -> None:
    executable = program(relax.matmul, [(16, 24), (24, 16)])
    x, w = values([(16, 24), (24, 16)])
    x[0, 0], x[1, 3], x[2, 5], x[3] = np.nan, np.inf, -np.inf, -0.0
    x[4], w[:, 4] = 1e-40, 2.0
    found = run(executable, x, w)
    with np.errstate(invalid="ignore"):
        expected = rounded(x) @ rounded(w)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert np.isnan(found[0]).all() and np.isinf(found[1]).all()


def test_without_the_option_products_are_exact() -> None:
    shapes = [(32, 64), (64, 48)]
    for target in ("cuda", "cuda{tf32=false}"):
        executable = program(relax.matmul, shapes, target)
        assert "mma.sync" not in bytes(executable._artifact.devices[0].data).decode()
        x, w = values(shapes)
        expected = x.astype(float) @ w.astype(float)
        np.testing.assert_allclose(run(executable, x, w), expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_other_values_of_the_option_are_refused() -> None:
    with pytest.raises(RelaxError, match=r"cuda\{tf32=yes\}': option 'tf32' expects true or false, got 'yes'"):
        program(relax.matmul, [(32, 64), (64, 48)], "cuda{tf32=yes}")


@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100"])
def test_nothing_spills(arch: str) -> None:
    module = rx.Module()
    cases: dict[str, tuple[Build, Shapes]] = {
        "rows": (relax.matmul, ((4096, 1024), (1024, 4096))),
        "ragged": (relax.matmul, ((1001, 501), (501, 1003))),
        "taps": (relax.nn.conv2d, ((8, 64, 58, 58), (64, 64, 3, 3))),
    }
    for name, (build, shapes) in cases.items():
        with module.function(name, [rx.tensor(shape) for shape in shapes]) as f:
            f.returns(build(*f))
    executable = rx.compile(module, f"cuda{{arch={arch} tf32=true}}", opt_level=3)
    assert multiplies_tf32(executable)
    used = resources(bytes(executable._artifact.devices[0].data).decode().rstrip("\0"), arch)
    assert not any(each.spills for each in used.values()), used
