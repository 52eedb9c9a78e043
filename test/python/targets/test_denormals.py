# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target option `denormals=flush`: denormal operands and results become zero, and callers keep their own mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.runtime.cpu import host_triple
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.llvm.objects.code_target import code_target
from relax_mlir.tools.relax_compile import run

import relax_mlir as rx
from relax_mlir import relax

FLUSH = "llvm{denormals=flush}"
HAS_MODE = host_triple().partition("-")[0] in ("x86_64", "aarch64")
needs_mode = pytest.mark.skipif(not HAS_MODE, reason="this machine's CPU has no mode that flushes denormal numbers")
#: Enough elements for two threads.
MANY = 1 << 20


def module_of(make: Callable[..., Any], *shapes: tuple[int | str, ...], dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(make(*f))
    return module


def compiled(
    make: Callable[..., Any], *shapes: tuple[int | str, ...], target: str = FLUSH, dtype: str = "float32"
) -> Any:
    executable = rx.compile(module_of(make, *shapes, dtype=dtype), target)
    executable.threads = 2
    return executable["main"]


def flushed(values: Any) -> Any:
    """Return the values with zeros of the same sign in place of denormal numbers."""
    is_denormal = abs(values) < numpy.finfo(values.dtype).tiny
    return numpy.where(is_denormal, numpy.copysign(values.dtype.type(0), values), values)


def keeps_denormals() -> bool:
    """Check whether this thread's own arithmetic keeps denormal numbers."""
    small, factor = numpy.float32(1e-38), numpy.float32(0.01)
    return bool(small * factor != 0 and numpy.float32(1e-40) * numpy.float32(1) != 0)


def mixed(dtype: str, *shape: int, seed: int = 0) -> Any:
    """Return numbers around the smallest normal number, of both signs, and some ordinary numbers."""
    random = numpy.random.default_rng(seed)
    tiny = float(numpy.finfo(dtype).tiny)
    small = random.normal(size=shape) * tiny
    return numpy.where(random.random(shape) < 0.5, small, random.normal(size=shape)).astype(dtype)


@needs_mode
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 7, 64, MANY])
@pytest.mark.parametrize(
    ("make", "compute"),
    [
        (relax.multiply, numpy.multiply),
        (relax.add, numpy.add),
        (relax.subtract, numpy.subtract),
        (relax.divide, numpy.divide),
    ],
)
def test_operands_and_results_are_flushed(make: Any, compute: Any, size: int, dtype: str) -> None:
    x, y = mixed(dtype, size), mixed(dtype, size, seed=1)
    if compute is numpy.divide:
        y = numpy.where(abs(y) < 0.1, y.dtype.type(0.5), y)
    got = numpy.asarray(compiled(make, ("n",), ("n",), dtype=dtype)(x, y))
    expected = flushed(compute(flushed(x), flushed(y)))
    numpy.testing.assert_array_equal(got, expected)
    numpy.testing.assert_array_equal(numpy.signbit(got), numpy.signbit(expected))
    assert keeps_denormals()


@needs_mode
def test_products_with_one_are_zero() -> None:
    x, ones = numpy.full(MANY, 1e-40, "float32"), numpy.ones(MANY, "float32")
    assert not numpy.asarray(compiled(relax.multiply, ("n",), ("n",))(x, ones)).any()
    kept = numpy.asarray(compiled(relax.multiply, ("n",), ("n",), target="llvm")(x, ones))
    numpy.testing.assert_array_equal(kept, x)


@needs_mode
def test_sums_of_two_threads_are_flushed() -> None:
    x = numpy.full((512, 4096), 1e-40, "float32")
    x[::2, 0] = 1
    got = numpy.asarray(compiled(lambda x: relax.sum(x, axis=[1]), ("n", 4096))(x))
    numpy.testing.assert_array_equal(got, flushed(x).sum(1))
    kept = numpy.asarray(compiled(lambda x: relax.sum(x, axis=[1]), ("n", 4096), target="llvm")(x))
    assert (kept[1::2] > 4e-37).all()


@needs_mode
def test_products_of_matrices_are_flushed() -> None:
    x, y = numpy.full((256, 512), 1e-30, "float32"), numpy.full((512, 256), 1e-12, "float32")
    # One product is denormal. The sum of 512 is not.
    got = numpy.asarray(compiled(relax.matmul, ("n", 512), (512, 256))(numpy.full_like(x, 1e-40), y))
    assert not got.any()
    kept = numpy.asarray(compiled(relax.matmul, ("n", 512), (512, 256), target="llvm")(x, y))
    numpy.testing.assert_allclose(kept, 512e-42, rtol=1e-2)


@needs_mode
def test_worker_threads_keep_their_own_mode() -> None:
    """Programs of one process share worker threads: a program with the option must not change the others'."""
    flush, keep = (compiled(relax.multiply, ("n",), ("n",), target=target) for target in (FLUSH, "llvm"))
    x, ones = numpy.full(MANY, 1e-40, "float32"), numpy.ones(MANY, "float32")
    for _ in range(20):
        assert not numpy.asarray(flush(x, ones)).any()
        assert numpy.asarray(keep(x, ones)).all()


@needs_mode
def test_errors_restore_the_callers_mode() -> None:
    main = compiled(relax.multiply, ("n",), ("n",))
    x = numpy.ones(4, "float32")
    with pytest.raises(TypeError, match="expected 2 arguments"):
        main(x)
    assert keeps_denormals()
    with pytest.raises(ValueError, match="dimension 0 expected size n = 4"):
        main(x, x[:3].copy())
    assert keeps_denormals()


@needs_mode
def test_errors_of_kernels_restore_the_callers_mode() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((8, "n")), rx.tensor(("m",), "int64")]) as f:
        data, places = f
        f.returns(relax.take(data, places, axis=1, mode="fast"))
    main = rx.compile(module, FLUSH)["main"]
    x = numpy.full((8, 4), 1e-40, "float32")
    main(x, numpy.array([0, 3]))
    assert keeps_denormals()
    with pytest.raises(Exception, match=r"(?i)index|bounds"):
        main(x, numpy.array([0, 9]))
    assert keeps_denormals()


@needs_mode
def test_a_mode_of_the_caller_stays() -> None:
    torch = pytest.importorskip("torch")
    if not torch.set_flush_denormal(True):
        pytest.skip("torch cannot flush denormal numbers here")
    try:
        main = compiled(relax.multiply, (4,), (4,))
        main(numpy.ones(4, "float32"), numpy.ones(4, "float32"))
        assert not keeps_denormals()
    finally:
        torch.set_flush_denormal(False)
    assert keeps_denormals()


@needs_mode
def test_saved_programs_flush(tmp_path: Path) -> None:
    executable = rx.compile(module_of(relax.multiply, ("n",), ("n",)), FLUSH)
    executable.save(tmp_path / "model.rxa")
    x, ones = numpy.full(MANY, 1e-40, "float32"), numpy.ones(MANY, "float32")
    loaded = rx.runtime.load(tmp_path / "model.rxa")
    loaded.threads = 2
    assert not numpy.asarray(loaded["main"](x, ones)).any()
    assert keeps_denormals()


@needs_mode
def test_cached_programs_follow_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_CACHE_DIR", str(tmp_path))
    x, ones = numpy.full(MANY, 1e-40, "float32"), numpy.ones(MANY, "float32")
    for _ in range(2):
        for target, is_flushed in ((FLUSH, True), ("llvm", False), ("llvm{denormals=keep}", False)):
            main = rx.compile(module_of(relax.multiply, ("n",), ("n",)), target)["main"]
            assert numpy.asarray(main(x, ones)).any() != is_flushed


@needs_mode
def test_kernels_with_units_of_their_own_flush() -> None:
    """Check a program that is large enough for separate compilation of its kernels."""
    sizes = [64 + 16 * each for each in range(24)]

    def network(x: Any, y: Any) -> Any:
        for before, after in zip([64, *sizes], sizes, strict=False):
            x = relax.matmul(x, relax.const(numpy.eye(before, after, dtype="float32")))
            x = relax.add(x, x)
        return relax.multiply(x, y)

    main = compiled(network, (2048, 64), (2048, sizes[-1]))
    got = numpy.asarray(main(numpy.full((2048, 64), 1e-45, "float32"), numpy.ones((2048, sizes[-1]), "float32")))
    assert not got.any()


def test_the_tool_takes_the_option(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(str(module_of(relax.multiply, (4,), (4,))))
    texts = {}
    for target in ("llvm{triple=x86_64-linux-gnu denormals=flush}", "llvm{triple=x86_64-linux-gnu denormals=keep}"):
        assert (
            run([str(tmp_path / "model.mlir"), "--emit=ll", f"--target={target}", "-o", str(tmp_path / "model.ll")])
            == 0
        )
        texts[target] = (tmp_path / "model.ll").read_text()
    flush, keep = texts.values()
    assert len(re.findall(r"call void @llvm\.x86\.sse\.ldmxcsr", flush)) >= 2
    assert "mxcsr" not in keep


def test_the_option_is_parsed() -> None:
    x86 = "llvm{{triple=x86_64-linux-gnu denormals={}}}"
    assert code_target(parse_target(x86.format("flush"))).flushes_denormals
    assert not code_target(parse_target(x86.format("keep"))).flushes_denormals
    assert not code_target(parse_target("llvm")).flushes_denormals
    calls = {text: rx.stages(x86.format(text))["calls"].passes for text in ("keep", "flush")}
    assert calls["flush"] == (*calls["keep"], "host-flush-denormals{architecture=x86_64}")
    assert rx.stages("llvm{triple=aarch64-linux-gnu denormals=flush}")["calls"].passes[-1] == (
        "host-flush-denormals{architecture=aarch64}"
    )


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("llvm{denormals=flsh}", "denormals=flsh: expected one of keep, flush; did you mean 'flush'?"),
        ("llvm{denormals=true}", "target 'llvm{denormals=true}': denormals=true: expected one of keep, flush"),
        ("llvm{denormal=flush}", "has no option 'denormal'; did you mean 'denormals'?"),
        (
            "llvm{triple=riscv64-linux-gnu denormals=flush}",
            "target 'llvm{denormals=flush triple=riscv64-linux-gnu}': denormals=flush: riscv64 has no mode",
        ),
        ("cuda{denormals=flush}", "target 'cuda{denormals=flush}': denormals=flush applies to the code of CPUs"),
        ("vulkan{denormals=flush}", "denormals=flush applies to the code of CPUs"),
        ("c{denormals=flush}", "target 'c' has no option 'denormals'"),
    ],
)
def test_refusals(target: str, reason: str) -> None:
    with pytest.raises(rx.RelaxError, match=re.escape(reason)):
        rx.stages(target)


def test_riscv_keeps_denormals() -> None:
    target = parse_target("llvm{triple=riscv64-linux-gnu denormals=keep}")
    assert not code_target(target).flushes_denormals


@needs_mode
def test_torch_compile_takes_the_option() -> None:
    torch = pytest.importorskip("torch")
    compiled_function = torch.compile(torch.mul, backend="relax_mlir", options={"target": FLUSH})
    x, y = torch.full((64,), 1e-40), torch.ones(64)
    assert not compiled_function(x, y).any()
    assert (x * y).all()


@needs_mode
def test_jit_takes_the_option() -> None:
    jax = pytest.importorskip("jax")
    compiled_function = rx.jit(jax.numpy.multiply, target=FLUSH)
    x, y = numpy.full(64, 1e-40, "float32"), numpy.ones(64, "float32")
    assert not numpy.asarray(compiled_function(x, y)).any()
    assert keeps_denormals()
