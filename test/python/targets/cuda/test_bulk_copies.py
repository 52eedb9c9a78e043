# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of plain matrices by TMA on sm_90a: their choice, results against numpy, tensor maps for each launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from assembler import needs_ptxas
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.tensors import CudaTensor, to_numpy
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.runtime.errors import DeviceError
from relax_mlir.runtime.executable import Executable
from relax_mlir.targets.cuda.objects.cubin import resources
from relax_mlir.targets.cuda.plans import warp_groups
from relax_mlir.targets.gpu.plans.product import BlockShape

import relax_mlir as rx
from relax_mlir import relax

Sizes = Sequence[int | str]
COPY, ENCODE = "cp.async.bulk.tensor", "cuTensorMapEncodeTiled"
DTYPES: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int8": np.int8, "float32": np.float32}


def built(
    shapes: Sequence[Sizes], body: Callable[..., Any], dtype: str = "float16", arch: str = "sm_90a", **options: Any
) -> rx.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(body(*f))
    return rx.compile(module, f"cuda{{arch={arch}}}", **options)


def code_of(program: rx.Executable) -> str:
    return bytes(program._artifact.devices[0].data).decode().rstrip("\0")


def arrays_of(shapes: Sequence[Sequence[int]], dtype: str = "float16", seed: int = 5) -> list[Any]:
    random = np.random.default_rng(seed)
    return [random.integers(-4, 5, shape).astype(DTYPES[dtype]) for shape in shapes]


def run(program: Any, arrays: Sequence[Any], library: EmulatedCuda | None = None) -> Any:
    """Run the program on the emulator, which raises its findings about kernels."""
    library = library or EmulatedCuda(capability=(9, 0))
    with use_library(library):
        executable = Executable(program._artifact)
        found = to_numpy(library, executable["main"](*(CudaTensor(library, each) for each in arrays)))
    library.check()
    return found


def checked(shapes: Sequence[Sequence[int]], body: Callable[..., Any], wanted: Callable[..., Any], dtype: str) -> str:
    program = built(shapes, body, dtype)
    arrays = arrays_of(shapes, dtype)
    found = run(program, arrays).astype(np.float64)
    expected = wanted(*(each.astype(np.float64) for each in arrays))
    np.testing.assert_allclose(found, expected, rtol=1e-2 if dtype == "bfloat16" else 2e-3)
    return code_of(program)


def along_steps(x: Any, w: Any, dtype: str) -> Any:
    """Return a product of two inputs that are contiguous along its steps: a convolution of single taps."""
    total = {"out_dtype": "int32"} if dtype == "int8" else {}
    return relax.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI", **total)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
@pytest.mark.parametrize("sizes", [(128, 128, 256), (130, 200, 208), (70, 96, 1040)], ids=["even", "odd", "parts"])
def test_products_of_matrices(dtype: str, sizes: Sequence[int]) -> None:
    """Pad with zeros beyond the last row, column and step. Blocks share the steps if there are few rectangles."""
    m, n, k = sizes
    code = checked(
        [(1, m, 1, k), (n, 1, 1, k)], lambda x, w: along_steps(x, w, dtype), lambda x, w: x @ w[:, 0, 0].T, dtype
    )
    assert COPY + ".2d" in code and "cp.async.c" not in code and "wgmma" in code


@pytest.mark.parametrize("sizes", [(128, 256, 192), (72, 264, 136)], ids=["even", "odd"])
def test_columns_that_lie_in_lines(sizes: Sequence[int]) -> None:
    """Copy pieces of 128 bytes of a line, one below the other in shared memory."""
    m, n, k = sizes
    code = checked([(m, k), (k, n)], relax.matmul, lambda a, b: a @ b, "float16")
    assert COPY in code and "cp.async.c" not in code
    turned = {"subscripts": "km,kn->mn"}
    rows = checked([(k, m), (k, n)], lambda a, b: relax.einsum([a, b], **turned), lambda a, b: a.T @ b, "float16")
    assert COPY in rows


@pytest.mark.parametrize(
    "shape,rows,columns", [(BlockShape(2, 32, 64, 4, 1, 1.0), 136, 264), (BlockShape(10, 8, 32, 4, 1, 1.0), 328, 72)]
)
@pytest.mark.parametrize("turned", [False, True])
def test_blocks_of_several_boxes(
    shape: BlockShape, rows: int, columns: int, turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copy several boxes: a box has at most 256 rows, and 128 bytes of a line."""
    monkeypatch.setattr(warp_groups, "_SHAPES", (shape,))
    left, right = ((200, rows), (200, columns)) if turned else ((rows, 200), (columns, 200))
    subscripts = "km,kn->mn" if turned else "mk,nk->mn"
    code = checked(
        [left, right],
        lambda a, b: relax.einsum([a, b], subscripts=subscripts),
        lambda a, b: np.einsum(subscripts, a, b),
        "float16",
    )
    assert COPY in code


def test_batches_are_further_axes() -> None:
    code = checked([(3, 70, 136), (3, 136, 80)], relax.matmul, lambda a, b: a @ b, "float16")
    assert code.count(COPY + ".3d") and COPY + ".2d" not in code
    shared = checked([(3, 70, 136), (136, 80)], relax.matmul, lambda a, b: a @ b, "bfloat16")
    assert COPY + ".2d" in shared, "rows of all batches are one axis"


def test_no_batches_need_no_maps() -> None:
    library, shapes = EmulatedCuda(capability=(9, 0)), [(0, 70, 136), (0, 136, 80)]
    assert run(built(shapes, relax.matmul), arrays_of(shapes), library).shape == (0, 70, 80)
    assert not library.calls(ENCODE)


def test_heads_are_adjacent() -> None:
    """Copy an input with batches inside of its rows: the axes of a map need increasing strides."""
    code = checked(
        [(2, 66, 3, 64), (2, 3, 64, 72)],
        lambda a, b: relax.matmul(relax.permute_dims(a, axes=[0, 2, 1, 3]), b),
        lambda a, b: a.transpose(0, 2, 1, 3) @ b,
        "float16",
    )
    assert COPY in code


def test_epilogues_are_fused_into_products_with_bulk_copies() -> None:
    def body(a: Any, b: Any, bias: Any) -> Any:
        return relax.nn.relu(relax.add(relax.matmul(a, b), bias))

    code = checked([(96, 128), (128, 136), (136,)], body, lambda a, b, c: np.maximum(a @ b + c, 0), "float16")
    assert COPY in code and code.count(".entry") == 1


def test_one_kernel_is_launched_with_maps_of_its_own() -> None:
    """Launch equal layers, with intermediate results in the arena and weights elsewhere."""

    def body(x: Any, *weights: Any) -> Any:
        for each in weights:
            x = relax.nn.relu(relax.matmul(x, each))
        return x

    shapes = [(128, 128)] * 4
    program, arrays = built(shapes, body), arrays_of(shapes)
    arrays = [arrays[0], *(each / np.float16(16) for each in arrays[1:])]
    library = EmulatedCuda(capability=(9, 0))
    found = run(program, arrays, library)
    wanted = arrays[0].astype(np.float64)
    for each in arrays[1:]:
        wanted = np.maximum(wanted @ each.astype(np.float64), 0).astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=1e-2, atol=1e-2)
    assert code_of(program).count(".entry") == 1 and len(library.calls(ENCODE)) == 6


def test_graphs_have_maps_of_their_own_memory() -> None:
    """Record maps with the kernels for a graph's addresses, to which each call copies its arguments."""
    shapes = [(96, 192), (192, 136)]
    program, library = built(shapes, relax.matmul), EmulatedCuda(capability=(9, 0))
    with use_library(library):
        executable = Executable(program._artifact, graphs=True)
        for seed in range(3):
            a, b = arrays_of(shapes, seed=seed)
            found = to_numpy(library, executable["main"](CudaTensor(library, a), CudaTensor(library, b)))
            np.testing.assert_allclose(found.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64), rtol=2e-3)
        library.check()
    assert len(library.calls("cuGraphLaunch")) == 3 and len(library.calls(ENCODE)) == 2


def test_windows_and_unknown_sizes_are_not_copied_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use cp.async for windows and unknown sizes, and on other devices for everything."""
    known: list[Sizes] = [(256, 256), (256, 256)]
    for arch in ("sm_80", "sm_90", "sm_100", "sm_120"):
        assert "bulk" not in code_of(built(known, relax.matmul, arch=arch))
    unknown = code_of(built([("n", 256), (256, 256)], relax.matmul))
    assert "wgmma" in unknown and "cp.async.cg" in unknown and "bulk" not in unknown
    images: list[Sizes] = [(2, 12, 12, 64), (64, 3, 3, 64)]
    windows = code_of(
        built(
            images, lambda x, w: relax.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI", padding=[1, 1, 1, 1])
        )
    )
    assert "bulk" not in windows
    assert "bulk" not in code_of(built([(128, 100), (100, 128)], relax.matmul)), "lines of 200 bytes"
    monkeypatch.setattr(warp_groups, "_has_pieces", lambda *_: True)
    lines = code_of(built([(128, 100), (100, 128)], relax.matmul))
    assert "wgmma" in lines and "bulk" not in lines, "whatever is planned"


@needs_ptxas
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_the_assembler_accepts_bulk_copies_without_spills(dtype: str) -> None:
    shapes = [(1, 4096, 1, 4096), (4096, 1, 1, 4096)]
    program = built(shapes, lambda x, w: along_steps(x, w, dtype), dtype, opt_level=3)
    assert "wgmma.mma_async.sync.aligned.m64n256k" in code_of(program) and COPY in code_of(program)
    for found in resources(code_of(program), "sm_90a").values():
        assert found.spills == 0 and not found.remarks, found


class Old(EmulatedCuda):
    """Driver of CUDA 11."""

    def __getattribute__(self, name: str) -> Any:
        if name == ENCODE:
            raise AttributeError(name)
        return super().__getattribute__(name)


def test_drivers_that_make_no_maps() -> None:
    """Refuse only programs that need a newer driver."""
    program = built([(128, 128), (128, 128)], relax.matmul)
    with pytest.raises(DeviceError, match=f"has no {ENCODE}: it is too old, CUDA 12.0 is the oldest"):
        run(program, arrays_of([(128, 128)] * 2), Old(capability=(9, 0)))
    other = built([(128, 128), (128, 128)], relax.matmul, arch="sm_80")
    run(other, arrays_of([(128, 128)] * 2), Old(capability=(9, 0)))


def test_a_map_that_the_driver_refuses_is_reported_by_the_kernel() -> None:
    program = built([(128, 128), (128, 128)], relax.matmul)
    with pytest.raises(RuntimeError, match=rf"kernel 'matmul': {ENCODE}: CUDA_ERROR_INVALID_VALUE"):
        run(program, arrays_of([(128, 128)] * 2), EmulatedCuda(capability=(9, 0), fail={ENCODE: 1}))
