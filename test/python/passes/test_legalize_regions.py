# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and regions with a target of their own, from legalization to the program's results.

TVM uses virtual devices for this: test_transform_legalize_ops.py, test_transform_realize_vdevice.py.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax, tir

rx.register_target(rx.Target("regions-npu", parents=("llvm",), legal=frozenset({"relax.sin"})))

_asked: list[str] = []
_KERNEL = """
func.func @negated(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  linalg.negf ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
"""


@rx.register_legalize("relax.exp", target="regions-npu", by_types=True)
def doubled(call: Any) -> Any:
    """Double the result, so that it shows which rule was used."""
    _asked.append("exp")
    return call.elementwise(lambda x: rx.number(tir.exp(x)) * 2.0)


def _negated(x: Any, out: Any) -> None:
    rx.loops.nest(rx.loops.sizes(x), lambda i: rx.loops.store(-rx.loops.load(x, i), out, i))


def _two() -> rx.Module:
    module = rx.Module()
    for name, target in (("npu", "regions-npu"), ("plain", ""), ("npu_too", "regions-npu")):
        with module.function(name, {"x": rx.tensor(("n",))}, target=target) as f:
            (x,) = f
            f.returns(relax.abs(relax.exp(relax.exp(x))))
    return module


def _functions(module: rx.Module) -> dict[str, str]:
    """Return names of PrimFuncs, and their targets."""
    found = {}
    for view in module.body.operations:
        held = view.operation.attributes
        if "tir.prim_func" in held:
            found[held["sym_name"].value] = held["tir.target"].value if "tir.target" in held else ""
    return found


def test_functions_of_two_targets() -> None:
    x = numpy.linspace(-2, 1, 5, dtype="float32")
    program = rx.compile(_two())
    plain, npu = (numpy.from_dlpack(program[name](x)) for name in ("plain", "npu"))
    numpy.testing.assert_allclose(plain, numpy.exp(numpy.exp(x)), rtol=1e-5)
    numpy.testing.assert_allclose(npu, 2 * numpy.exp(2 * numpy.exp(x)), rtol=1e-5)


def test_prim_funcs_are_shared_within_a_target() -> None:
    module = _two()
    _asked.clear()
    rx.Pipeline("relax-legalize-ops{target=llvm}").run(module)
    expected = {"exp": "", "abs": "", "exp_regions_npu": "regions-npu", "abs_regions_npu": "regions-npu"}
    assert _functions(module) == expected
    assert len(_asked) == 1, "what a rule did for one function is done again in the other one of its target"


def test_the_module_is_compiled_for_the_other_target() -> None:
    """Compile for npu: functions without a target are npu's, which does not legalize sin, and others llvm's."""
    module = rx.Module()
    for name, target in (("npu", ""), ("cpu", "llvm")):
        with module.function(name, {"x": rx.tensor((4,))}, target=target) as f:
            f.returns(relax.sin(*f))
    rx.Pipeline("relax-legalize-ops{target=regions-npu}").run(module)
    assert _functions(module) == {"sin_llvm": "llvm"}
    npu, cpu = str(module).split("func.func @cpu")
    assert "relax.sin" in npu and '"relax.sin"(' not in cpu


@pytest.mark.parametrize("text", [True, False])
def test_kernels_written_by_hand(text: bool) -> None:
    module = rx.Module()
    for name, target in (("npu", "regions-npu"), ("plain", ""), ("again", "regions-npu")):
        with module.function(name, {"x": rx.tensor((4,))}, target=target) as f:
            f.returns(relax.negative(*f))
    kernel = _KERNEL if text else _negated
    by_map = {"relax.negative": lambda call: call.call_tir(kernel)}
    rx.LegalizeOps(target="llvm", customize_legalize_map=by_map)(module)
    assert sorted(_functions(module).values()) == ["", "regions-npu"]
    x = numpy.arange(4, dtype="float32")
    program = rx.compile(module)
    for name in ("npu", "plain"):
        numpy.testing.assert_array_equal(numpy.from_dlpack(program[name](x)), -x)


def test_a_branch_of_another_target() -> None:
    module = rx.Module.parse("""
    func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = scf.if %c -> tensor<4xf32> {
        %1 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %1 : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      } {relax.target = "regions-npu"}
      %2 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }
    """)
    main, x = rx.compile(module)["main"], numpy.linspace(-1, 1, 4, dtype="float32")
    expected = {True: numpy.exp(2 * numpy.exp(x)), False: numpy.exp(x)}
    for flag, values in expected.items():
        numpy.testing.assert_allclose(numpy.from_dlpack(main(flag, x)), values, rtol=1e-5)


_SCRIPT = """
@I.ir_module
class M:
    @R.function(private=True)
    def there(x: R.Tensor(("n",), "float32")):
        R.func_attr({"relax.target": TARGET, "relax.force_pure": True})
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((SIZE,), "float32")):
        return M.there(R.exp(x))
"""
_HEAD = "from tvm.script import ir as I, relax as R\n"


def _script(target: str, size: str = '"n"') -> str:
    return _HEAD + _SCRIPT.replace("TARGET", target).replace("SIZE", size)


def test_scripts_say_it_by_func_attr() -> None:
    module = rx.Module.from_script(_script('"regions-npu"'))
    x = numpy.zeros(3, "float32")
    once = rx.compile(module)["main"](x)
    numpy.testing.assert_allclose(numpy.from_dlpack(once), [2 * numpy.e] * 3, rtol=1e-5)


@pytest.mark.parametrize(
    ("target", "size", "message"),
    [
        ("7", '"n"', "'relax.target' is the name of a target, not 7"),
        ('"regions-npu"', "4", "'there' has its own target: the arguments' types must equal its parameters' types"),
    ],
)
def test_what_scripts_cannot_say(target: str, size: str, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.Module.from_script(_script(target, size))


def test_an_unknown_target_changes_nothing() -> None:
    module = _two()
    with module.function("third", {"x": rx.tensor((4,))}, target="regions-npuu") as f:
        f.returns(relax.exp(*f))
    before = str(module)
    with pytest.raises(rx.RelaxError, match="unknown target 'regions-npuu'; did you mean 'regions-npu'"):
        rx.Pipeline("relax-legalize-ops{target=llvm}").run(module)
    assert str(module) == before


def test_lifted_work_on_weights_keeps_the_target() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,)), "w": rx.tensor((4,))}, target="regions-npu") as f:
        x, w = f
        f.returns(relax.add(x, relax.exp(w)))
    rx.Pipeline("relax-lift-transform-params{weights=w}").run(module)
    x, w = numpy.zeros(4, "float32"), numpy.ones(4, "float32")
    program = rx.compile(module)
    found = program["main"](x, program["main_transform_params"](w))
    numpy.testing.assert_allclose(numpy.from_dlpack(found), [2 * numpy.e] * 4, rtol=1e-5)


@pytest.mark.parametrize("every", [1, 2])
def test_derivatives_of_regions_keep_the_target(every: int) -> None:
    module = rx.Module.parse("""
    func.func @f(%c: i1, %x: tensor<4xf32>) -> tensor<f32> {
      %zero = arith.constant 0 : index
      %five = arith.constant 5 : index
      %one = arith.constant 1 : index
      %0 = scf.for %i = %zero to %five step %one iter_args(%s = %x) -> tensor<4xf32> {
        %1 = "relax.tanh"(%s) : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %1 : tensor<4xf32>
      } {relax.target = "regions-npu"}
      %2 = scf.if %c -> tensor<4xf32> {
        %3 = "relax.sigmoid"(%0) : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %3 : tensor<4xf32>
      } else {
        scf.yield %0 : tensor<4xf32>
      } {relax.target = "regions-npu"}
      %4 = "relax.sum"(%2) : (tensor<4xf32>) -> tensor<f32>
      return %4 : tensor<f32>
    }
    """)
    rx.Pipeline(f"relax-gradient{{function=f wrt=arg1 checkpoint-every={every}}}").run(module)
    adjoint = str(module).partition("@f_adjoint")[2]
    regions = adjoint.count("scf.for") + adjoint.count("scf.if")
    assert regions > 3 and adjoint.count('relax.target = "regions-npu"') == regions
