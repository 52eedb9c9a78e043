# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules per target: registration, the choice of a rule, and valid results of a rule."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from relax_mlir.emit import linalg, loops
from relax_mlir.emit.broadcast import require_broadcast

import relax_mlir as rx
from relax_mlir import relax

rx.register_target(rx.Target("test_npu", parents=("llvm",), legal=frozenset({"relax.nn.conv2d"})))
rx.register_target(rx.Target("test_npu_2", parents=("test_npu",)))


@rx.register_legalize("relax.exp", target="test_npu")
def exp_on_the_npu(call: Any) -> Any:
    return relax.call_dps_packed("npu.exp", call.operands, out_ty=call.op.result.type)


@rx.register_legalize("relax.sin", target="test_npu")
def sin_of_vectors(call: Any) -> Any:
    if len(call.operands[0].type.shape) != 1:
        return call.decline("the unit takes vectors only")
    return relax.call_dps_packed("npu.sin", call.operands, out_ty=call.op.result.type)


@rx.register_legalize("relax.nn.silu", target="test_npu")
def silu_from_others(call: Any) -> Any:
    return relax.multiply(call.operands[0], relax.sigmoid(call.operands[0]))


def legalized(name: str, target: str, shape: tuple[Any, ...] = (4,), **options: Any) -> str:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape)]) as f:
        f.returns(rx.find_op(name)(*f))
    rx.LegalizeOps(target=target, **options)(module)
    module.verify()
    return str(module)


@pytest.mark.parametrize(
    ("target", "packed"), [("test_npu", True), ("test_npu_2", True), ("llvm", False), ("default", False)]
)
def test_a_target_s_rule_is_for_it_and_its_children(target: str, packed: bool) -> None:
    assert ('func = "npu.exp"' in legalized("relax.exp", target)) is packed


def test_the_next_rule_is_tried_when_one_declines() -> None:
    assert 'func = "npu.sin"' in legalized("relax.sin", "test_npu_2")
    assert '"tir.sin"' in legalized("relax.sin", "test_npu_2", shape=(2, 2))


def test_operators_created_by_a_rule_are_legalized() -> None:
    text = legalized("relax.nn.silu", "test_npu")
    assert text.count("relax.call_tir") == 2 and '"relax.sigmoid"(' not in text


def test_the_runs_own_map_precedes_rules_and_skipped_operators_stay() -> None:
    def mine(call: Any) -> Any:
        return relax.call_pure_packed("mine", call.operands, ty_args=call.op.result.type)

    assert 'func = "mine"' in legalized("relax.exp", "test_npu", customize_legalize_map={"relax.exp": mine})
    assert '"relax.exp"' in legalized("relax.exp", "test_npu", skip_ops=("relax.exp",))


def test_operators_that_a_target_takes_stay() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 3, 8, 8)), rx.tensor((4, 3, 3, 3))]) as f:
        f.returns(relax.exp(relax.nn.conv2d(*f)))
    rx.LegalizeOps(target="test_npu_2")(module)
    assert '"relax.nn.conv2d"' in str(module) and '"relax.exp"' not in str(module)


def test_a_rule_of_the_form_before_is_taken_with_a_warning() -> None:
    def doubled(op: Any, operands: list[Any], builder: Any, factor: float = 2.0) -> Any:
        assert builder.call.operands["x"] == builder.info(operands[0]) and op.definition.name == "tanh"
        return builder.elementwise(lambda x: x * factor)

    said = r"targets/test_legalize_rules.py:\d+: rules have the form rule\(call\), .* is accepted until 0.2"
    with pytest.warns(DeprecationWarning, match=said) as found:
        rx.register_legalize("relax.tanh", target="test_npu")(doubled)
    assert found[0].filename == __file__
    assert "arith.mulf" in legalized("relax.tanh", "test_npu")
    with pytest.warns(DeprecationWarning, match=said):
        legalized("relax.tanh", "llvm", customize_legalize_map={"relax.tanh": doubled})


def test_a_rule_that_returns_none_is_refused() -> None:
    with pytest.raises(rx.RelaxError, match="returned nothing"):
        legalized("relax.exp", "llvm", customize_legalize_map={"relax.exp": lambda call: None})


@pytest.mark.parametrize(
    ("declared", "made", "error"),
    [
        ((4,), (3,), r"PrimFunc @exp: the body returned tensor<3xf32>, but tensor<4xf32> is expected"),
        ((4,), (4, 1), r"the body returned tensor<4x1xf32>, but tensor<4xf32> is expected"),
        ((4, 2), (4,), r"the body returned tensor<4xf32>, but tensor<4x2xf32> is expected"),
        ((4,), (4,), ""),
        # Its type knows more than the graph does.
        (("n",), (4,), ""),
    ],
)
def test_the_type_of_a_rules_body_is_checked(declared: tuple[Any, ...], made: tuple[int, ...], error: str) -> None:
    def rule(call: Any) -> Any:
        type_ = rx.ir.RankedTensorType.get(made, rx.ir.F32Type.get(call.op.operation.context), loc=call.op.location)
        return call.prim(lambda x, out: rx.ir.Operation.create("tensor.empty", results=[type_]).result, call.operands)

    module = rx.Module()
    with module.function("main", [rx.tensor(declared)]) as f:
        f.returns(relax.exp(*f))
    with pytest.raises(rx.RelaxError, match=error) if error else nullcontext():
        rx.LegalizeOps(target="llvm", customize_legalize_map={"relax.exp": rule})(module)


@pytest.mark.parametrize(
    ("op", "target", "message"),
    [
        ("relax.expp", "llvm", r"unknown operator 'relax.expp'; did you mean 'relax.exp'\?"),
        ("relax.exp", "lvm", r"unknown target 'lvm'; did you mean 'llvm'\?"),
        ("relax.exp", "test_npu", "has a rule for target 'test_npu' already: .*test_legalize_rules.py"),
    ],
)
def test_bad_registrations_are_refused(op: str, target: str, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.register_legalize(op, target=target)(lambda call: call.operands)


def test_bad_targets_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match="registered twice"):
        rx.register_target(rx.Target("test_npu"))
    with pytest.raises(rx.RelaxError, match="unknown target 'nobody'"):
        rx.register_target(rx.Target("test_orphan", parents=("nobody",)))
    with pytest.raises(rx.RelaxError, match="no target name"):
        rx.register_target(rx.Target("a b"))


def test_the_table_names_the_rule_that_is_tried_first() -> None:
    first = {rule.op: rule for rule in rx.all_rules("test_npu_2")}
    assert (first["relax.exp"].target, first["relax.add"].target) == ("test_npu", "default")
    assert "test_legalize_rules.py" in first["relax.exp"].place
    exp = [rule for rule in rx.all_rules() if rule.op == "relax.exp"]
    assert {"default", "test_npu"} <= {rule.target for rule in exp}  # other tests register some as well


@pytest.mark.parametrize(("name", "dtype"), [("relax.abs", "uint8"), ("relax.round", "int32")])
def test_operators_without_effect_make_no_prim_func(name: str, dtype: str) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,), dtype)]) as f:
        f.returns(rx.find_op(name)(*f))
    rx.LegalizeOps(target="llvm")(module)
    assert "relax." not in str(module) and "tir.prim_func" not in str(module)


def test_a_rule_is_given_the_target_with_its_options() -> None:
    """Pass the target with its options to a rule. Functions with another target get that target's defaults."""
    seen: list[str] = []
    places = ("here", ""), ("there", 'attributes {relax.target = "llvm"}')
    body = '%y = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> return %y : tensor<4xf32>'

    def rule(call: Any) -> Any:
        seen.append(str(call.target))
        return call.elementwise(lambda x: x + x)

    both = [f"func.func @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {where} {{ {body} }}" for name, where in places]
    module = rx.Module.parse("\n".join(both))
    rx.LegalizeOps(target="cuda{arch=sm_90a}", customize_legalize_map={"relax.exp": rule})(module)
    assert seen == ["cuda{arch=sm_90a}", "llvm"]
    stage = next(each for each in rx.stages("cuda{arch=sm_90a}") if each.name == "legalize")
    assert "target=@target{arch=sm_90a}" in str(stage.passes)
    with pytest.raises(rx.RelaxError, match="has no option 'arhc'"):
        rx.LegalizeOps(target="cuda{arhc=sm_90a}")


def test_rules_of_a_run_are_no_option_of_the_pass_s_text() -> None:
    with pytest.raises(rx.RelaxError, match="has no option 'customize-legalize-map'"):
        rx.Pipeline("relax-legalize-ops{customize-legalize-map=relax.exp:x}")
    assert rx.LegalizeOps(customize_legalize_map={"relax.exp": exp_on_the_npu}).text() == "relax-legalize-ops"


@pytest.mark.parametrize(
    ("mode", "size", "pattern"),
    [("fast", 4, "opaque"), ("clip", 4, "injective"), ("clip", "n", "opaque"), ("nan", "n", "injective")],
)
def test_operators_that_can_raise_are_opaque(mode: str, size: int | str, pattern: str) -> None:
    """Treat clipping on an empty axis as opaque, since it may raise."""
    module = rx.Module()
    with module.function("main", [rx.tensor((size, 3)), rx.tensor((2,), "int64")]) as f:
        f.returns(relax.take(*f, axis=0, mode=mode))
    rx.LegalizeOps(target="llvm")(module)
    assert f'tir.op_pattern = "{pattern}"' in str(module)
    assert ("tir.assert" in str(module)) is (pattern == "opaque")


@pytest.mark.parametrize(("size", "raises"), [(4, False), (5, True)])
def test_sizes_that_do_not_fit_are_found_at_run_time_at_the_latest(size: int, raises: bool) -> None:
    """Find sizes that inference has overlooked at run time, so that nothing is read out of bounds."""

    def checked(call: Any) -> Any:
        def body(x: Any, output: Any) -> Any:
            loops.require_same(linalg.sizes(x)[0], size, "x")
            require_broadcast(x, [size])
            return output

        return call.prim(body)

    text = legalized("relax.exp", "llvm", customize_legalize_map={"relax.exp": checked})
    assert text.count("tir.assert") == 2 * raises


_MATRIX, _ROW = rx.tensor((3, 4)), rx.tensor((4,))


@pytest.mark.parametrize(
    ("patterns", "build", "infos"),
    [
        ("elemwise", lambda x: relax.clip(x, 0.0, 1.0), [_MATRIX]),
        ("elemwise", lambda x: relax.tril(x), [_MATRIX]),
        ("broadcast", lambda x, y: relax.nn.prelu(x, y), [_MATRIX, _ROW]),
        ("injective", lambda x: relax.permute_dims(x), [_MATRIX]),
        ("comm_reduce", lambda x: relax.variance(x, axis=[0]), [_MATRIX]),
        ("out_ewise_fusable", lambda x, y: relax.matmul(x, y), [_MATRIX, _ROW]),
        ("out_ewise_fusable", lambda x: relax.nn.max_pool2d(x, pool_size=[2]), [rx.tensor((1, 2, 4, 4))]),
        ("out_ewise_fusable", lambda x, y: relax.nn.conv1d(x, y), [rx.tensor((1, 2, 4)), rx.tensor((3, 2, 2))]),
        ("opaque", lambda x: relax.nn.softmax(x), [_MATRIX]),
        ("opaque", lambda x: relax.median(x, axis=[0]), [_MATRIX]),
        # Rules that make something else than the row says.
        ("injective", lambda x: relax.einsum(x, subscripts="ij->ji"), [_MATRIX]),
        ("opaque", lambda x, y: relax.nn.nll_loss(x, y, reduction="none"), [_MATRIX, rx.tensor((3,), "int64")]),
        ("broadcast", lambda *x: relax.nn.batch_norm(*x, axis=1, training=False), [_MATRIX, *[_ROW] * 4]),
        # How many elements there are is computed before.
        (
            "opaque injective",
            lambda x, _: relax.strided_slice(x, axes=[0], begin=["-k"], end=["n"], strides=[2]),
            [rx.tensor(("n",)), rx.tensor(("k",))],
        ),
        ("opaque injective", lambda x, y: relax.arange(x, y), [rx.ScalarInfo("i64")] * 2),
    ],
)
def test_a_kernel_fuses_as_its_operator_s_row_says(patterns: str, build: Any, infos: Any) -> None:
    module = rx.Module()
    with module.function("main", infos) as f:
        results = build(*f)
        f.returns(*(results if isinstance(results, tuple) else (results,)))
    rx.LegalizeOps(target="llvm")(module)
    assert re.findall(r'tir.op_pattern = "(\w+)"', str(module)) == patterns.split()
