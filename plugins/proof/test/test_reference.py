# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target reference: interpreted programs are called, saved and loaded like compiled ones."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op, wildcard
from relax_mlir_proof.testing.every_model import all_models

X = numpy.random.default_rng(0).normal(size=(3, 4)).astype("float32")


def module_of(infos: Any, build: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", infos) as f:
        made = build(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def two() -> rx.Module:
    infos = {"x": rx.tensor(("n", 4)), "s": rx.tensor(("n",), "i32")}
    module = module_of(infos, lambda x, s: (relax.nn.softmax(x), relax.add(s, s)))
    with module.function("sizes", {"x": rx.tensor(("n",))}) as f:
        f.returns(relax.shape_of(*f), relax.nonzero(*f))
    return module


def test_target_reference_equals_rx_reference() -> None:
    module = two()
    executable, expected = rx.compile(module, "reference"), rx.reference(module)
    s = numpy.arange(3, dtype="int32")
    for found, wanted in zip(executable["main"](X, s=s), expected["main"](X, s), strict=True):
        assert isinstance(found, numpy.ndarray) and found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()
    shape, places = executable["sizes"](numpy.float32([0, 2, 3]))
    assert (tuple(shape), places.tolist()) == ((3,), [[1, 2]])
    assert repr(executable["main"]) == repr(rx.compile(module)["main"])


@pytest.mark.parametrize(
    "arguments",
    [(X,), (X, X), (X[0], numpy.arange(3, dtype="int32")), (X, numpy.arange(4, dtype="int32")), (X, "text")],
    ids=["number", "dtype", "rank", "size", "kind"],
)
def test_target_reference_refuses_wrong_arguments_like_llvm(arguments: Any) -> None:
    said = []
    for target in ("reference", "llvm"):
        with pytest.raises((TypeError, ValueError)) as caught:
            rx.compile(two(), target)["main"](*arguments)
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]


def test_target_reference_raises_errors_of_calls_like_llvm() -> None:
    infos = {"x": rx.tensor((2, 3)), "i": rx.tensor((1,), "i64")}
    module = module_of(infos, lambda x, i: relax.take(x, i, axis=0, mode="fast"))
    for target in ("reference", "llvm"):
        with pytest.raises(IndexError, match="index 7 is out of range for axis 0 of size 2"):
            rx.compile(module, target)["main"](X[:2, :3], numpy.array([7]))


def test_small_elements_and_permuted_results() -> None:
    import ml_dtypes

    module = module_of({"x": rx.tensor(("n", 2), "i4")}, lambda x: relax.permute_dims(relax.add(x, x)))
    found = rx.compile(module, "reference")["main"](numpy.array([[1, -2], [3, 0]], ml_dtypes.int4))
    assert found.dtype == ml_dtypes.int4
    assert found.astype(int).tolist() == [[2, 6], [-4, 0]]


def test_a_saved_program_runs_where_nothing_is_compiled(tmp_path: Path) -> None:
    executable = rx.compile(two(), "reference")
    executable.save(tmp_path / "a.rxa")
    s = numpy.arange(3, dtype="int32")
    again = pickle.loads(pickle.dumps(executable))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(again["main"](X, s), executable["main"](X, s), strict=True))
    code = (
        "import numpy; from relax_mlir.runtime import load; "
        f"print(load({str(tmp_path / 'a.rxa')!r})['main'](numpy.ones((2, 4), 'f4'), numpy.ones(2, 'i4'))[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[2 2]\n", done.stderr


def test_the_same_module_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        rx.compile(two(), "reference", cache=False).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_calls_from_threads() -> None:
    function = rx.compile(two(), "reference")["main"]
    arrays = [numpy.full((size, 4), size, "float32") for size in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: function(x, numpy.zeros(len(x), "int32"))[0], arrays))
    assert [each.shape for each in found] == [each.shape for each in arrays]
    assert all((each == 0.25).all() for each in found)


def test_functions_that_write_to_arguments() -> None:
    from tvm_ffi import register_global_func

    @register_global_func("test.fill", override=True)
    def fill(x: Any) -> None:
        numpy.from_dlpack(x)[...] = 7

    module = rx.Module()
    with module.function("main", {"x": rx.tensor((3,))}) as f:
        relax.call_packed("test.fill", list(f), [])
        f.returns(relax.add(*f, *f))
    for target in ("reference", "llvm"):
        x = numpy.zeros(3, "float32")
        assert rx.compile(module, target)["main"](x).tolist() == [14, 14, 14]
        assert x.tolist() == [7, 7, 7]


def test_precision_is_what_it_is_for_code() -> None:
    module = module_of({"x": rx.tensor((2, 2)), "y": rx.tensor((2, 2))}, relax.matmul)
    found = rx.compile(module, "reference", precision="bf16")["main"](X[:2, :2], X[1:, :2])
    assert found.tobytes() != rx.compile(module, "reference")["main"](X[:2, :2], X[1:, :2]).tobytes()
    numpy.testing.assert_allclose(found, X[:2, :2] @ X[1:, :2], rtol=0.05)


def test_target_reference_refuses_donation_and_parts_of_codegens() -> None:
    grown = module_of({"past": rx.tensor(("p", 3)), "x": rx.tensor(("n", 3))}, lambda *xs: relax.concat(xs, axis=0))
    with pytest.raises(rx.RelaxError, match="arguments that grow in place require compiled code: remove donate="):
        rx.compile(grown, "reference", donate=["past"])
    relu = module_of({"x": rx.tensor((8, 8))}, relax.nn.relu)
    with pytest.raises(rx.RelaxError, match="parts compiled by codegens cannot be interpreted"):
        rx.compile(relu, "reference", partition=["reference_test"])
    own = rx.Dialect("reference_test", doc="Of this test.")
    own.op("unknown", "x", infer=lambda call: call.x, doc="Has no meaning.")
    unknown = module_of({"x": rx.tensor((2,))}, own.ops["unknown"])
    with pytest.raises(rx.RelaxError, match=r"'reference_test\.unknown': it has no reference"):
        rx.compile(unknown, "reference")["main"](X[0, :2])


@rx.codegens.register_codegen("reference_test")
class OfThisTest(rx.codegens.Codegen):
    patterns = (("reference_test.relu", is_op("relax.nn.relu")(wildcard().named("x"))),)

    def compile(self, module: Any, options: Any) -> bytes:
        return b""

    def load(self, data: memoryview) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("name", ["llama", "lstm"])
def test_a_model(name: str) -> None:
    (model,) = (each for each in all_models() if each.name == name)
    module, calls, *_ = model.made(0)
    found = rx.compile(module, "reference")["main"](*calls[0])
    wanted = rx.reference(module)["main"](*calls[0])
    for each, right in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        assert numpy.array_equal(each, right, equal_nan=True)
