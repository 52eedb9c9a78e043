# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a codegen's own patterns: modules that the patterns match, with each alternative once."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from partitioning import Native, codegen
from relax_mlir.dialects.core.codec import decode
from relax_mlir.patterns import every, is_const, is_filled, is_op, quantized_linear, wildcard
from relax_mlir_proof.testing.case_lists import all_cases
from relax_mlir_proof.testing.checking import check, subject_of
from relax_mlir_proof.testing.core.cases import Case, Unmade
from relax_mlir_proof.testing.core.variants import VARIANTS
from relax_mlir_proof.testing.pattern_trees import trees

_conv, _add, _relu = is_op("relax.nn.conv2d"), is_op("relax.add"), is_op("relax.nn.relu")


def _cases(name: str, variant: str = "") -> list[Case]:
    """Return the cases of one variant."""
    return [each for each in all_cases(subject_of(name), ["composites"]) if each.variant == variant]


def _names(pattern: object) -> list[str]:
    return [each.name for each in trees(pattern)]  # type: ignore[arg-type]


def test_optional_parts_are_there_and_not() -> None:
    pattern = _conv(wildcard(), is_const()).optional(lambda y: _add(y, is_const())).optional(_relu)
    assert sorted(_names(pattern)) == ["nn.conv2d", "nn.conv2d+add", "nn.conv2d+add+nn.relu", "nn.conv2d+nn.relu"]


def test_each_alternative_has_a_composite() -> None:
    assert _names(is_op("relax.exp", "relax.tanh")(wildcard()) | _relu(wildcard())) == ["exp", "nn.relu", "tanh"]
    repeated = wildcard().repeated(lambda y: is_op("relax.exp")(y), least=1)
    assert _names(repeated) == ["exp", "exp+exp", "exp+exp+exp"]
    assert _names(is_op("relax.concat")(every(wildcard, least=3))) == ["concat"]


def test_short_layers_come_before_long_layers() -> None:
    """A check that refuses an optional operator leaves the cases without that operator."""
    names = _names(quantized_linear())
    layer = "dequantize+dequantize+matmul"
    assert names[0] == f"{layer}+quantize"
    assert {f"{layer}+nn.relu+quantize", f"{layer}+dequantize+add+nn.relu+quantize"} <= set(names)


def test_repeated_wildcards_share_one_value() -> None:
    x = wildcard()
    (tree,) = trees(is_op("relax.multiply")(x, is_op("relax.sigmoid")(x)))
    sigmoid, multiply = tree.operators
    assert multiply.operands is not None and sigmoid.operands is not None
    assert multiply.operands["x1"] == sigmoid.operands["x"] and multiply.operands["x2"] == (sigmoid,)


def test_modules_are_such_as_the_pattern_wants() -> None:
    data = wildcard().has_rank(4).has_dtype("float16")
    pattern = _add(_conv(data, is_const()).has_attr(strides=(2, 2)), is_filled(1.0))
    with codegen([("npu.strided", pattern)]) as npu:
        (case,) = _cases(npu)
        setup = case.make(0)
        (main,) = [each for each in setup.module.operation.regions[0].blocks[0]]
        info = decode(main.regions[0].blocks[0].arguments[0].type)
        assert info.dtype == "f16" and info.rank == 4 and len(setup.calls[0]) == 1
        assert "strides = array<i64: 2, 2>" in str(setup.module)


def test_a_check_is_asked() -> None:
    pattern = is_op("relax.matmul")(wildcard(), wildcard())
    with codegen(
        [("npu.product", pattern, lambda match: len(match.root.result.type.shape) == 3 or "is no batch")]
    ) as npu:
        (case,) = _cases(npu)
        assert "tensor<2x3x5xf32>" in str(case.make(0).module)


def test_a_check_that_fails_is_said() -> None:
    with codegen([("npu.failing", is_op("relax.exp")(wildcard()), lambda match: match.nothing)]) as npu:
        report = check(npu, groups=["composites"], jobs=1)
    assert {each.verdict for each in report.verdicts} == {"unchecked"}
    assert all("pattern 'npu.failing'" in each.reason for each in report.verdicts)


def test_patterns_without_modules_are_reported_once() -> None:
    never = is_op("relax.exp", "relax.tanh")(wildcard()).where(lambda match: False, "never")
    with codegen([("npu.never", never)]) as npu:
        first, second = _cases(npu)
        said = r"that the pattern 'npu\.never' matches: the pattern or its check refused \d+ modules, .*with: .*never"
        with pytest.raises(Unmade, match=said):
            first.make(0)
        with pytest.raises(rx.RelaxError, match=r"the pattern takes no such module: .*never"):
            second.make(0)
        report = check("npu", groups=["composites"], jobs=1)
    assert [(each.verdict, each.case) for each in report.verdicts] == [("unchecked", "npu.never exp")]
    assert {each.case for each in report.absent} > {"npu.never tanh"} and "without a module (" in str(report)


def test_windows_have_unequal_steps_and_sides() -> None:
    channels_last = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    with codegen([("npu.conv", _relu(_conv(wildcard(), is_const()).has_attr(**channels_last)))]) as npu:
        (strided,), (padded,) = (_cases(npu, name) for name in ("by 2 and 1", "padded on two sides"))
        texts = [str(case.make(0).module) for case in (strided, padded)]
    assert all('data_layout = "NHWC"' in text for text in texts)
    assert "strides = array<i64: 2, 1>" in texts[0] and "padding = array<i64: 1, 0, 0, 1>" in texts[1]


def test_windows_that_a_pattern_states_are_not_varied() -> None:
    with codegen([("npu.conv", _relu(_conv(wildcard(), is_const()).has_attr(strides=(2, 2))))]) as npu:
        (case,) = _cases(npu, "by 2 and 1")
        with pytest.raises(rx.RelaxError, match="the pattern takes no such module"):
            case.make(0)
    with codegen([("npu.tanh", _relu(is_op("relax.tanh")(wildcard())))]) as npu:
        assert not _cases(npu, "by 2 and 1")


def test_one_operator_is_among_the_cases_of_operators() -> None:
    with codegen([("npu.exp", is_op("relax.exp"))]) as npu:
        assert not _cases(npu)


@pytest.mark.parametrize("name", ["example_npu"])
def test_patterns_of_codegens_are_made(name: str) -> None:
    cases = _cases(name)
    drawn = cases[:: max(len(cases) // 12, 1)]
    made = 0
    for case in drawn:
        try:
            made += bool(case.make(0).module.verify() is None)
        except rx.RelaxError:
            continue
    assert made >= 0.8 * len(drawn)


@rx.codegens.register_codegen("clipped")
class _Clipped(rx.codegens.Codegen):
    """Codegen with a wrong relu, which has an upper bound."""

    patterns = (("clipped.relu", is_op("relax.nn.relu")(wildcard())),)

    def compile(self, module: rx.Module, options: Any) -> bytes:
        return "\n".join(self.functions(module)).encode()

    def load(self, data: Any) -> dict[str, Any]:
        def relu(x: Any, out: Any) -> None:
            numpy.from_dlpack(out)[...] = numpy.clip(numpy.from_dlpack(x), 0, 2)

        return dict.fromkeys(bytes(data).decode().split("\n"), relu)


def test_variants_find_a_relu_with_a_bound() -> None:
    report = check("clipped", groups=["composites"], jobs=2)
    found = {each.case.split(" ")[-1]: each.verdict for each in report.verdicts}
    assert {name for name, verdict in found.items() if verdict == "wrong"} >= {"dynamic", "far", "many"}, found
    assert found["empty"] == "right"


def test_variants_differ_in_sizes_and_elements() -> None:
    pattern = _add(_relu(wildcard()), is_const())
    with codegen([("npu.relu", pattern)]) as npu:
        setups = {variant.name: _cases(npu, variant.name)[0].make(0) for variant in VARIANTS}
    (plain,), (empty,), (many,), (far,), (special,) = (
        setups[name].calls[0] for name in ("", "empty", "many", "far", "special")
    )
    assert empty.size == 0 and many.size > 10 * plain.size and abs(far).max() > 50
    assert numpy.isfinite(far).all() and not numpy.isfinite(special).all()
    assert [call[0].shape[0] for call in setups["dynamic"].calls] == [plain.shape[0], 1, 33, 0]
    assert "tensor<?x" in str(setups["dynamic"].module)


def test_constants_keep_their_usual_elements() -> None:
    with codegen([("npu.layer", is_op("relax.matmul")(wildcard(), is_const()))]) as npu:
        for variant in ("far", "special"):
            printed = str(_cases(npu, variant)[0].make(0).module)
            weights = numpy.float32(
                re.findall(r"-?\d\.\d+(?:e[-+]\d+)?", printed.partition("dense<")[2].partition(">")[0])
            )
            assert weights.size > 8 and abs(weights).max() < 10


def _infer_of_bytes(call: Any) -> Any:
    call.require(call.x.dtype == call.y.dtype == "i8", "adds i8")
    call.require(call.shift is None or call.shift.dtype == "i32", "shifts by i32")
    return call.x


def _add_saturating(call: Any, x: Any, y: Any, shift: Any) -> Any:
    return numpy.clip(x.astype("int32") + y.astype("int32"), -128, 127)


def _dialect(name: str, infer: Any) -> rx.Dialect:
    made = rx.Dialect(name, doc="An operator of another package.")
    made.op("sat_add", "x y shift?", infer=infer, reference=_add_saturating, doc="Add with saturation.")
    return made


def test_integer_operators_of_other_packages_are_proved() -> None:
    _dialect("bytes_proved", _infer_of_bytes)
    pattern = is_op("bytes_proved.sat_add")(wildcard(), wildcard(), wildcard())
    with codegen([("npu.sat_add", is_op("bytes_proved.sat_add")), ("npu.shifted", pattern)]) as npu:
        for (setup,) in ([case.make(0)] for case in _cases(npu)):
            assert [str(each.dtype) for each in setup.calls[0]][:2] == ["int8", "int8"]
        assert [str(each.dtype) for each in _cases(npu)[-1].make(0).calls[0]] == ["int8", "int8", "int32"]


def test_a_pattern_without_modules_lists_the_attempts() -> None:
    def refuse(call: Any) -> Any:
        raise call.fail("takes a tensor of rank 7")

    _dialect("bytes_refused", refuse)
    with codegen([("npu.sat_add", is_op("bytes_refused.sat_add"))]) as npu, pytest.raises(Unmade) as error:
        _cases(npu)[0].make(0)
    assert re.search(r"bytes_refused\.sat_add refused \d{2,} calls, the last one with: .*rank 7", str(error.value))


def test_a_case_is_the_same_whichever_was_made_before() -> None:
    pattern = _add(_relu(wildcard()), is_const())
    with codegen([("npu.relu", pattern)]) as npu:
        alone = _cases(npu, "far")[0].make(3)
        cases = all_cases(subject_of(npu), ["composites"])
        after = next(setup for case, setup in [(each, each.make(3)) for each in cases] if case.name.endswith("far"))
    assert str(alone.module) == str(after.module)
    numpy.testing.assert_array_equal(alone.calls[0][0], after.calls[0][0])


def test_constants_without_zero_points_are_tried() -> None:
    weights = is_op("relax.dequantize")(is_const().named("w"), is_const(), is_const().named("zero"))
    product = is_op("relax.matmul")(wildcard(), weights)
    symmetric = lambda match: match.number("zero") == 0 or "the unit's weights have no zero point"  # noqa: E731
    with codegen([("npu.layer", product, symmetric)]) as npu:
        setups = [case.make(0) for case in _cases(npu)]
    assert setups and all("relax.dequantize" in str(each.module) for each in setups)


def test_a_codegen_that_fails_to_compile_is_a_fault() -> None:
    class Failing(Native):
        def compile(self, module: rx.Module, options: Any) -> bytes:
            raise KeyError("scale")

    class Declining(Native):
        def compile(self, module: rx.Module, options: Any) -> bytes:
            raise rx.RelaxError("is too large")

    for base, verdict, reason in ((Failing, "error", "KeyError"), (Declining, "not taken", "is too large")):
        with codegen([("npu.relu", _relu(wildcard()))], base=base) as npu:
            (found,) = check(npu, only=["npu.relu nn.relu"], groups=["composites"], jobs=1).verdicts
        assert found.verdict == verdict and reason in found.reason
