# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls with torch's tensors: accepted arguments, results, refusals, and a later import of torch."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import tvm_ffi
from relax_mlir.runtime import UnsupportedArray, to_numpy

import relax_mlir as rx
from relax_mlir import relax

DTYPES = ["float16", "float32", "float64", "bfloat16", "int8", "int32", "int64", "uint8"]


def double(dtype: str, shape: tuple[Any, ...] = ("n", "m")) -> Any:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(shape, dtype)}) as f:
        f.returns(relax.logical_not(*f) if dtype == "bool" else relax.add(*f, *f))
    return rx.compile(module)


@pytest.fixture(scope="module")
def doubled() -> Any:
    return double("float32")["main"]


@pytest.fixture(scope="module")
def total() -> Any:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n",), "bfloat16"), "y": rx.tensor(("n",), "bfloat16")}) as f:
        f.returns(relax.add(*f))
    return rx.compile(module)["main"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_element_types(dtype: str) -> None:
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    main = double(dtype)["main"]
    for each in (x, x.T, x[:, 1:], x[0].expand(4, 3)):
        found = main(each)
        assert type(found) is torch.Tensor and found.dtype == x.dtype and found.is_contiguous()
        assert torch.equal(found, each + each)


def test_booleans() -> None:
    main, x = double("bool")["main"], torch.tensor([[True, False, True]])
    for each in (x, x.T, x.expand(2, 3)):
        found = main(each)
        assert found.dtype == torch.bool and torch.equal(found, ~each)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rank_0(dtype: str) -> None:
    x = torch.tensor(1.5, dtype=getattr(torch, dtype), requires_grad=True)
    found = double(dtype, ())["main"](x)
    assert type(found) is torch.Tensor and found.shape == () and found == 3


def test_sizes_of_0(doubled: Any) -> None:
    assert doubled(torch.ones(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("lay", [lambda x: x, lambda x: x.T, lambda x: x[:, ::2]], ids=["whole", "transposed", "steps"])
@pytest.mark.parametrize("of", [
    lambda x: x.requires_grad_(), lambda x: x.requires_grad_() * 1, torch.nn.Parameter, torch.nn.Buffer,
], ids=["leaf", "computed", "parameter", "buffer"])  # fmt: skip
def test_inference_needs_no_detach(doubled: Any, of: Callable[[Any], Any], lay: Callable[[Any], Any]) -> None:
    x = lay(of(torch.arange(8.0).reshape(2, 4)))
    found = doubled(x)
    assert type(found) is torch.Tensor and not found.requires_grad and found.grad_fn is None
    assert torch.equal(found, 2 * x.detach())


def test_parameters_are_passed_without_a_copy(doubled: Any) -> None:
    parameter = torch.nn.Parameter(torch.ones(1, 4))
    assert doubled.prepared(parameter)[0] is parameter
    assert to_numpy(parameter).tolist() == [[1.0] * 4]


def test_negated_views(doubled: Any) -> None:
    """Memory that torch reads with the other sign."""
    x = torch.arange(1.0, 7.0).reshape(2, 3)
    imaginary = torch.complex(x, x).conj().imag
    assert imaginary.is_neg()
    for each in (torch._neg_view(x), imaginary, torch._neg_view(x).requires_grad_(), torch._neg_view(x.T)):
        assert torch.equal(doubled(each), 2 * each.detach()) and to_numpy(each).tolist() == each.tolist()
        assert torch.equal(doubled(x), 2 * x)  # of the same type, with nothing to do


def test_negated_views_are_resolved(total: Any) -> None:
    x = torch.ones(3, dtype=torch.bfloat16)
    assert total(x, torch._neg_view(3 * x)).tolist() == [-2.0] * 3
    assert total(x.float().numpy().astype("bfloat16"), torch._neg_view(3 * x)).tolist() == [-2.0] * 3


def test_conjugates_are_refused(doubled: Any) -> None:
    with pytest.raises(UnsupportedArray, match=r"main: argument #0 'x': .* conjugate bit"):
        doubled(torch.ones(1, 4, dtype=torch.complex64).conj())


def test_subclasses(doubled: Any) -> None:
    class Own(torch.Tensor):
        pass

    x = torch.arange(8.0).reshape(2, 4)
    for each in (x, x.T):
        found = doubled(each.as_subclass(Own))
        assert isinstance(found, torch.Tensor) and found.tolist() == (2 * each).tolist()


def test_the_first_array_decides(total: Any) -> None:
    x = torch.ones(3, dtype=torch.bfloat16)
    array = to_numpy(x)
    assert type(total(x, array)) is torch.Tensor
    found = total(array, x)
    assert type(found) is numpy.ndarray and found.dtype.name == "bfloat16" and found.astype(int).tolist() == [2] * 3


def test_nothing_is_copied() -> None:
    """Return the input through a Python function that sees torch's own memory."""
    seen: list[int] = []

    def look(x: Any, y: Any) -> None:
        seen.extend([x.data_ptr(), y.data_ptr()])

    module = rx.Module.parse("""
    func.func @main(%x: tensor<?x4xf32> {relax.name = "x"}) -> tensor<2x4xf32> {
      %0 = "relax.call_dps_packed"(%x) {func = "test.look"} : (tensor<?x4xf32>) -> tensor<2x4xf32>
      return %0 : tensor<2x4xf32>
    }
    """)
    main, x = rx.compile(module, functions={"test.look": look})["main"], torch.ones(2, 4)
    found = main(x)
    assert seen == [x.data_ptr(), found.data_ptr()]
    main(torch.nn.Parameter(x))
    assert seen[2] == x.data_ptr()


REFUSED = {
    "meta": (lambda x: x.to("meta"), "Cannot pack tensors on meta"),
    "sparse": (lambda x: x.to_sparse(), "layout"),
    "mkldnn": (lambda x: x.to_mkldnn(), "layout"),
    "quantized": (lambda x: torch.quantize_per_tensor(x, 1.0, 0, torch.quint8), "not supported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tensors_without_memory(doubled: Any, name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(
        UnsupportedArray, match=rf"^main: argument #0 'x': an object of type Tensor .*{reason}"
    ) as error:
        doubled(make(torch.ones(2, 4)))
    assert "\n" not in str(error.value)  # torch adds its frames of C++


def test_transforms_of_functions_are_refused(doubled: Any) -> None:
    with pytest.raises(UnsupportedArray, match=r"main: argument #0 'x': .* storage"):
        torch.func.vmap(doubled)(torch.ones(2, 1, 4))


def test_fake_tensors_are_refused(doubled: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), pytest.raises(UnsupportedArray, match=r"main: argument #0 'x': expected data, got a null"):
        doubled(torch.ones(2, 4))


def test_a_program_s_own_errors_come_once() -> None:
    calls: list[int] = []

    def fails(x: Any, y: Any) -> None:
        calls.append(1)
        raise RuntimeError("no more")

    module = rx.Module.parse("""
    func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> {
      %0 = "relax.call_dps_packed"(%x) {func = "test.fails"} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    """)
    main = rx.compile(module, functions={"test.fails": fails})["main"]
    for x in (torch.ones(4), torch.ones(8)[::2], torch._neg_view(torch.ones(4))):
        calls.clear()
        with pytest.raises(RuntimeError, match="no more"):
            main(x)
        assert len(calls) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_tensors_of_a_gpu_are_refused_on_the_cpu(doubled: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"main: argument #0 'x' .*cpu"):
        doubled(torch.ones(2, 4, device="cuda"))


# ---- torch that is imported before, after, meanwhile ----

LATER = """
import sys
import numpy
import relax_mlir as rx
main = rx.runtime.load(sys.argv[1])["main"]
main(numpy.ones((1, 4), "float32"))
assert "torch" not in sys.modules
"""
CODES = {
    "later": LATER + """
import torch
x = torch.arange(4.0).reshape(1, 4)
assert torch.equal(main(x), x + x) and torch.equal(main(torch.nn.Parameter(x)), x + x)
import tvm_ffi
assert tvm_ffi.core.torch is torch and str(tvm_ffi.convert(torch.bfloat16)) == "bfloat16"
assert type(main.packed(x)) is torch.Tensor
""",
    "streams": LATER + """
import tvm_ffi
context = tvm_ffi.use_torch_stream()  # of torch, which asks for the device on entering it
assert "torch" in sys.modules and type(context).__name__ == "TorchStreamContext"
""",
    "a thread": LATER.replace("import relax_mlir as rx", """
import threading
def work():
    import torch
    found.append(torch.ones(1, 4))
found, thread = [], threading.Thread(target=work)
thread.start()
import relax_mlir as rx""").replace('assert "torch" not in sys.modules', """
thread.join()
assert main(found[0]).tolist() == [[2.0] * 4]
"""),
    "tvm_ffi before": """
import sys
import tvm_ffi, relax_mlir as rx
torch, own = sys.modules["torch"], tvm_ffi.use_torch_stream
main = rx.runtime.load(sys.argv[1])["main"]
assert main(torch.ones(1, 4)).tolist() == [[2.0] * 4] and tvm_ffi.use_torch_stream is own
""",
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("program") / "double.rxa"
    double("float32").save(path)
    return path


@pytest.mark.parametrize("name", CODES)
def test_torch_and_tvm_ffi_in_any_order(saved: Path, name: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(CODES[name]), str(saved)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


def test_tvm_ffi_gives_torch_s_tensors(doubled: Any) -> None:
    assert type(doubled(tvm_ffi.from_dlpack(torch.ones(1, 4)))) is tvm_ffi.Tensor


def test_dropped_gradients_are_told_once(doubled: Any) -> None:
    main, plain = double("float32")["main"], torch.ones(2, 3)
    needed = plain.clone().requires_grad_()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        main(plain)
        for quiet in (torch.no_grad, torch.inference_mode):
            with quiet():
                main(needed)
        assert not caught, "nobody expects gradients there"
        for _ in range(2):
            assert not main(needed).requires_grad
        double("float32")["main"](x=needed)  # in the first call of a program, by name
    assert [each.filename for each in caught] == [__file__] * 2
    assert "main: argument 'x' requires gradients, and a compiled program's results have none" in str(caught[0].message)


def test_dropped_gradients_of_modules_and_structures() -> None:
    class Inner(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor, options: dict[str, torch.Tensor]) -> torch.Tensor:
            return x * options["scale"] + self.weight

    args = torch.ones(2, 3), {"scale": torch.ones(3)}
    executable = rx.compile(rx.from_torch(Inner(), args))
    needed = args[0], {"scale": torch.ones(3, requires_grad=True)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for function in (executable["main"], rx.to_torch(executable)):
            function(*args)
        assert not caught, "trained weights of a model that is imported for inference are no arguments"
        executable["main"](*needed)
        rx.to_torch(executable)(args[0].clone().requires_grad_(), args[1])
    assert [each.filename for each in caught] == [__file__] * 2


def test_training_by_torch_compile_is_not_warned_of() -> None:
    model = torch.compile(torch.nn.Linear(3, 2), backend="relax_mlir")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(torch.ones(4, 3, requires_grad=True)).sum().backward()


@pytest.mark.parametrize("convert", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_tensors_are_refused_in_words(doubled: Any, convert: str) -> None:
    sparse = getattr(torch.ones(2, 3), convert)()
    for call in (doubled, double("float32")["main"]):
        with pytest.raises(
            UnsupportedArray, match=r"'x': .*expected a strided tensor, .* torch\.sparse_\w+: x\.to_dense"
        ):
            call(sparse)
