# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module means the same at each stage of the target llvm: the reference runs each stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gpu_operator_cases
import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax

STAGES = (
    *("legalize", "fuse", "intrinsics", "plan", "apply", "bufferize", "small-types", "constants", "parallel"),
    *("entries", "errors", "memory", "calls", "to-llvm"),
)
#: Stages that transform the whole module. The others change parts of it.
QUICK = ("legalize", "apply", "entries", "to-llvm")

_random = numpy.random.default_rng(42)


def floats(*shape: int) -> Any:
    return _random.normal(size=shape).astype("float32")


def integers(limit: int, *shape: int, dtype: str = "int64") -> Any:
    return _random.integers(-limit, limit, shape).astype(dtype)


def lowered(module: rx.Module, target: str = "llvm") -> Iterator[tuple[str, rx.Module]]:
    """Yield the module after each stage from the legalization on."""
    module = module.copy()
    for stage in rx.stages(target):
        stage.run(module, target)
        if stage.name in STAGES:
            yield stage.name, module
        if stage.name == STAGES[-1]:
            return


def compare(found: Any, expected: Any, where: str) -> None:
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for got, wanted in pairs:
        assert numpy.shape(got) == numpy.shape(wanted), where
        if numpy.asarray(wanted).dtype.kind != "f":
            numpy.testing.assert_array_equal(got, wanted, err_msg=where)
            continue
        largest = float(numpy.max(numpy.abs(numpy.where(numpy.isfinite(wanted), wanted, 0)), initial=1))
        numpy.testing.assert_allclose(got, wanted, rtol=2e-5, atol=5e-6 * largest, err_msg=where)


def check(module: rx.Module, arguments: Sequence[Any], stages: Sequence[str], wide: bool = False) -> None:
    expected = rx.reference(module, wide=wide)["main"](*arguments)
    met = []
    for name, each in lowered(module):
        if name in stages:
            met.append(name)
            compare(rx.reference(each, wide=wide)["main"](*arguments), expected, name)
    assert met == list(stages)


def built(body: Callable[..., Any], *arrays: Any, shapes: Sequence[Any] = ()) -> tuple[rx.Module, Sequence[Any]]:
    module = rx.Module()
    infos = [
        rx.tensor(shape, array.dtype.name)
        for shape, array in zip(shapes or map(numpy.shape, arrays), arrays, strict=True)
    ]
    with module.function("main", infos) as f:
        made = body(*f.args)
        f.returns(*(made if isinstance(made, (tuple, list)) else [made]))
    return module, arrays


def convolution() -> Any:
    weights = relax_constant(floats(6, 3, 3, 3))

    def body(x: Any) -> Any:
        y = relax.nn.relu(relax.nn.conv2d(x, relax.const(weights), padding=(1, 1, 1, 1)))
        return relax.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))

    return built(body, floats(2, 3, 8, 8), shapes=[("n", 3, 8, 8)])


def relax_constant(array: Any) -> Any:
    array.flags.writeable = False
    return array


def product() -> Any:
    weights = relax_constant(floats(24, 20))
    return built(
        lambda x: relax.nn.softmax(relax.matmul(x, relax.const(weights)), axis=-1),
        floats(5, 24), shapes=[("n", 24)],
    )  # fmt: skip


def norm() -> Any:
    return built(lambda x, g, b: relax.nn.layer_norm(x, g, b, [-1]), floats(3, 19), floats(19), floats(19))


def attention() -> Any:
    arrays = [floats(1, 5, 2, 4) for _ in range(3)]
    return built(relax.nn.attention, *arrays, shapes=[(1, "n", 2, 4)] * 3)


def reductions() -> Any:
    def body(x: Any) -> list[Any]:
        return [relax.sum(x, 1), relax.argmax(x, 0), relax.max(x), relax.cumsum(x, 1)]

    return built(body, floats(7, 13), shapes=[("n", "m")])


def indexing() -> Any:
    def body(x: Any, places: Any, updates: Any) -> list[Any]:
        return [relax.take(x, places, axis=0), relax.scatter_elements(x, relax.reshape(places, (4, 1)), updates)]

    places = numpy.array([2, 0, -1, 1])
    return built(body, floats(5, 3), places, floats(4, 1), shapes=[("n", 3), (4,), (4, 1)])


def sorting() -> Any:
    return built(lambda x: [relax.sort(x, 1), relax.argsort(x, 1), *relax.topk(x, 3, 1)], floats(4, 9))


def quantized() -> Any:
    """Return a product of bytes with scales, which is computed on integers."""
    left, right = integers(127, 6, 32, dtype="int8"), integers(127, 32, 8, dtype="int8")

    def body(x: Any, y: Any) -> Any:
        scale, zero = relax.const(0.125, "float32"), relax.const(0, "int8")
        product = relax.matmul(relax.dequantize(x, scale, zero, axis=-1), relax.dequantize(y, scale, zero, axis=-1))
        return [relax.quantize(product, relax.const(2.0, "float32"), zero, axis=-1, out_dtype="int8"), product]

    return built(body, left, right)


def sizes() -> Any:
    """Return operators with result sizes that depend on the data."""
    return built(lambda x: [relax.nonzero(x), relax.unique(x)], integers(3, 8, dtype="int32"), shapes=[("n",)])


def narrow() -> Any:
    """Return elements that memory stores in bytes: booleans and floats of 8 bits."""

    def body(x: Any) -> list[Any]:
        return [relax.logical_not(relax.greater(x, relax.const(0.0, "float32"))), relax.astype(x, "bfloat16")]

    return built(body, floats(3, 5), shapes=[("n", 5)])


def loop() -> Any:
    """Return a loop with a number of steps that depends on the data."""
    module = rx.Module.parse("""
        func.func @main(%x: tensor<?xf32, #relax.sym<["n"]>>, %limit: tensor<f32>)
            -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<i64>) {
          %zero = arith.constant dense<0> : tensor<i64>
          %one = arith.constant dense<1> : tensor<i64>
          %0:2 = scf.while (%y = %x, %steps = %zero)
              : (tensor<?xf32, #relax.sym<["n"]>>, tensor<i64>) -> (tensor<?xf32, #relax.sym<["n"]>>, tensor<i64>) {
            %sum = "relax.sum"(%y) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<f32>
            %less = "relax.less"(%sum, %limit) : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %flag = tensor.extract %less[] : tensor<i1>
            scf.condition(%flag) %y, %steps : tensor<?xf32, #relax.sym<["n"]>>, tensor<i64>
          } do {
          ^bb0(%y: tensor<?xf32, #relax.sym<["n"]>>, %steps: tensor<i64>):
            %1 = "relax.add"(%y, %y)
              : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
            %2 = "relax.add"(%steps, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
            scf.yield %1, %2 : tensor<?xf32, #relax.sym<["n"]>>, tensor<i64>
          }
          return %0#0, %0#1 : tensor<?xf32, #relax.sym<["n"]>>, tensor<i64>
        }""")
    return module, [numpy.abs(floats(5)) + 0.5, numpy.array(1000, "float32")]


def shapes() -> Any:
    def body(x: Any, y: Any) -> Any:
        return relax.permute_dims(relax.concat([x, y], axis=0), [1, 0])

    return built(body, floats(3, 4), floats(2, 4), shapes=[("n", "k"), ("m", "k")])


MODULES: dict[str, Callable[[], Any]] = {
    "convolution": convolution, "product": product, "norm": norm, "attention": attention, "reductions": reductions,
    "indexing": indexing, "sorting": sorting, "quantized": quantized, "sizes": sizes, "narrow": narrow, "loop": loop,
    "shapes": shapes,
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_mean_the_same_at_some_stages(name: str) -> None:
    check(*MODULES[name](), QUICK)


# Rounding to bf16 by bits also happens with wide floats, but not in the operator. So "narrow" has no wide variant.
_WIDE = [(name, True) for name in MODULES if name != "narrow"]


@pytest.mark.slow
@pytest.mark.parametrize("name, wide", [*((name, False) for name in MODULES), *_WIDE])
def test_modules_mean_the_same_at_each_stage(name: str, wide: bool) -> None:
    check(*MODULES[name](), STAGES, wide)


@pytest.mark.slow
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("family", gpu_operator_cases.FAMILIES)
def test_operators_mean_the_same_at_each_stage(family: str, is_open: bool) -> None:
    cases = gpu_operator_cases.cases_of(family, is_open)
    module = gpu_operator_cases.module_of(cases, is_open)
    names = {name: gpu_operator_cases.function_name(name) for name in cases}
    meant = rx.reference(module)
    expected = {name: meant[names[name]](*case.arrays) for name, case in cases.items()}
    for stage, each in lowered(module):
        reference = rx.reference(each)
        for name, case in cases.items():
            compare(reference[names[name]](*case.arrays), expected[name], f"{name} at {stage}")


def test_the_stage_of_a_wrong_pass_is_found() -> None:
    """Find the stage of the changed pass, and no earlier stage."""
    module, arguments = product()
    expected = rx.reference(module)["main"](*arguments)
    wrong = []
    for name, each in lowered(module):
        text = str(each).replace("arith.addf", "arith.subf") if name == "apply" else str(each)
        found = rx.reference(rx.Module.parse(text))["main"](*arguments)
        if not numpy.allclose(found, expected, rtol=1e-5):
            wrong.append(name)
    assert wrong == ["apply"]


@pytest.mark.parametrize("stage", ["entries", "to-llvm"])
def test_code_of_a_device_is_refused(stage: str) -> None:
    module, arguments = norm()
    rx.stages("cuda").until(stage).run(module, "cuda")
    with pytest.raises(rx.RefusalError, match=r"the reference runs no code of a device"):
        rx.reference(module)["main"](*arguments)


#: CPUs with instructions that this machine may lack: pairs of bytes, VNNI, AMX, and Arm's dot products.
CPUS = ("cpu=x86-64-v3", "cpu=cascadelake", "cpu=graniterapids", "triple=aarch64-linux-gnu cpu=neoverse-v1")


@pytest.mark.parametrize("cpu", CPUS)
def test_dot_products_of_other_cpus(cpu: str) -> None:
    """Emulate the instructions of any CPU, before and after the conversion to the LLVM dialect."""
    target = f"llvm{{{cpu} cores=2}}"
    weights = relax_constant(integers(127, 64, 32, dtype="int8"))
    x, y = _random.integers(0, 256, (40, 64)).astype("uint8"), floats(40, 64)
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, "uint8"), rx.tensor(y.shape)]) as f:
        product = relax.matmul(f.args[0], relax.const(weights), out_dtype="int32")
        narrow = relax.matmul(*(relax.astype(each, "bfloat16") for each in (f.args[1], relax.const(floats(64, 32)))))
        f.returns(product, relax.astype(narrow, "float32"))
    exact, close = rx.reference(module)["main"](x, y)
    seen = set()
    for stage in ("apply", "to-llvm"):
        lowered = rx.lower(module, target, pipeline=rx.stages(target).until(stage))
        seen.add("llvm.call_intrinsic" in str(lowered))
        products, floating = rx.reference(lowered)["main"](x, y)
        numpy.testing.assert_array_equal(products, exact, err_msg=stage)
        numpy.testing.assert_allclose(floating, close, rtol=2e-2, atol=0.1, err_msg=stage)
    assert seen == {True}
