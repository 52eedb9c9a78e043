# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code for other CPUs: right results for older CPUs of this machine's kind, and good objects for other kinds."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import ml_dtypes
import numpy
import pytest
from elf import read_object
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.execution import to_llvm_ir
from relax_mlir.bindings.mlir import ir
from relax_mlir.runtime import ArtifactError, Executable, to_numpy
from relax_mlir.runtime.cpu import host_features, host_triple
from relax_mlir.targets.core.llvm_ir_text import for_older_llvm
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.llvm.objects.code_target import code_target
from relax_mlir.targets.llvm.objects.cpus import architectures, llvm_version

import relax_mlir as rx
from relax_mlir import relax

# Symbols of the process that loads an object: the C library, its mathematics, tvm-ffi.
SUPPLIED = set(
    "malloc calloc aligned_alloc free memcpy memmove memset memcmp bcmp strlen snprintf abort madvise clock_gettime "
    "pthread_self pthread_mutex_lock pthread_mutex_unlock "
    "__relax_constants _GLOBAL_OFFSET_TABLE_".split()
)
MATHEMATICS = {
    name + suffix
    for name in "fma fmod exp log pow sin cos tan atan2 erf exp2 log2 log1p expm1 cbrt round rint nearbyint "
    "roundeven floor ceil trunc fmin fmax ldexp".split()
    for suffix in ("", "f")
}
LESSER = ["generic", "x86-64-v2", "haswell"]


def lesser(cpu: str) -> str:
    """Return the target of an x86 CPU with no more features than this machine, or skip the test."""
    target = f"llvm{{cpu={cpu}}}"
    if not host_triple().startswith("x86_64") or not set(code_target(parse_target(target)).required) <= host_features():
        pytest.skip(f"this machine cannot run code for {cpu}")
    return target


def floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def perceptron() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 40)), rx.tensor((40, 33)), rx.tensor((33,))]) as f:
        x, w, b = f
        hidden = relax.nn.relu(relax.add(relax.matmul(x, w), b))
        f.returns(relax.nn.softmax(hidden), relax.argmax(hidden, axis=1), relax.sum(hidden, axis=[0]))
    return module


def everything() -> rx.Module:
    """Return a module with every kind of operation: narrow floats, functions, integers, conversions, data-dependent
    sizes."""
    module = rx.Module()
    types = ("float16", "bfloat16", "float32", "float64", "int8", "uint64")
    with module.function("main", [rx.tensor(("n", 12), dtype) for dtype in types]) as f:
        half, brain, single, double, byte, word = f
        functions = ("exp", "tan", "erf", "round")
        results = [getattr(relax, name)(value) for name in functions for value in (half, double)]
        results += [relax.astype(value, to) for value in f for to in ("float16", "bfloat16", "uint64")]
        results += [relax.power(brain, brain), relax.floor_divide(word, word), relax.mod(single, single)]
        results += [relax.matmul(value, relax.permute_dims(value)) for value in (half, brain, byte)]
        results += [relax.sort(single), relax.nonzero(single), relax.max(half, axis=[1])]
        f.returns(*results)
    return module


# ---- texts of one LLVM for the other ----

BITS = {"f16": (16, "half"), "bf16": (16, "bfloat"), "f32": (32, "float"), "f64": (64, "double")}


def special_bits(bits: int, mantissa: int) -> list[int]:
    """Return zeros, the smallest and largest numbers of each kind, infinities, and both kinds of NaN with payloads."""
    infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    quiet = 1 << (mantissa - 1)
    one = (infinity >> 1) & infinity
    found = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, one - 1, infinity - 1, infinity]
    found += [infinity | quiet, infinity | quiet | 1, infinity | 1, infinity | (quiet - 1), infinity | (2 * quiet - 1)]
    return [value | sign for value in found for sign in (0, 1 << (bits - 1))]


def object_with(type_: str, values: list[int]) -> bytes:
    """Return an object with these bits as a constant array of an element type, through both texts."""
    listed = ", ".join(f"0x{value:0{BITS[type_][0] // 4}X}" for value in values)
    count = len(values)
    text = f"llvm.mlir.global constant @g(dense<[{listed}]> : tensor<{count}x{type_}>) : !llvm.array<{count} x {type_}>"
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(text)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    code = llvm.parse_assembly(for_older_llvm(to_llvm_ir(module)), llvm.create_context())
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine()
    return bytes(machine.emit_object(code))


@draws(15)
@given(st.sampled_from(sorted(BITS)), st.data())
def test_constants_keep_their_bits(type_: str, data: Any) -> None:
    bits = BITS[type_][0]
    values = special_bits(bits, {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[type_])
    values += data.draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=20, max_size=200))
    # Numbers with short decimals are printed as such.
    tenths = data.draw(st.lists(st.integers(-20000, 20000), min_size=20, max_size=100))
    dtype = {"f16": "float16", "bf16": ml_dtypes.bfloat16, "f32": "float32", "f64": "float64"}[type_]
    values += (numpy.array(tenths) / 1000).astype(dtype).view(f"uint{bits}").tolist()
    assert numpy.array(values, f"uint{bits}").tobytes() in object_with(type_, values)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%1 = fadd float %0, 1.000000e-01", "%1 = fadd float %0, 0x3FB99999A0000000"),
        ("%1 = fcmp fast olt double %0, +inf", "%1 = fcmp fast olt double %0, 0x7FF0000000000000"),
        ("%1 = phi half [ %2, %a ], [ -qnan, %b ]", "%1 = phi half [ %2, %a ], [ 0xHFE00, %b ]"),
        ("splat (bfloat f0x3F80)", "splat (bfloat 0xR3F80)"),
        ("[float +snan(0x1), float -0.000000e+00]", "[float 0x7FF0000020000000, float 0x8000000000000000]"),
    ],
)  # fmt: skip
def test_constants_in_instructions(before: str, after: str) -> None:
    assert for_older_llvm(before) == after


@pytest.mark.parametrize(
    "text",
    [
        r'@"float 0.5" = constant [12 x i8] c"float +inf\22\00"',
        "; float 0.5",
        "%0.5 = fadd nnan ninf float %f0x3F80, %inf",
        "declare float @nan(float nofpclass(nan inf), i32 1)",
        "float %x\n  %2 = add i32 %1.5, 7",
        "!0 = !{i32 2, !\"float 0.5\"}",
    ],
)  # fmt: skip
def test_what_is_no_constant_stays(text: str) -> None:
    assert for_older_llvm(text) == text


# ---- lesser CPUs of this machine's kind ----


@pytest.mark.parametrize("cpu", [*LESSER, "x86-64-v3", "skylake-avx512"])
def test_lesser_cpus_give_right_results(cpu: str, tmp_path: Path) -> None:
    rx.compile(perceptron(), lesser(cpu)).save(tmp_path / "model.rxa")
    main = rx.runtime.load(tmp_path / "model.rxa")["main"]
    w, b = floats(40, 33, seed=4), floats(33, seed=5)
    for n in (1, 5, 20):
        x = floats(n, 40)
        hidden = numpy.maximum(x.astype("float64") @ w + b, 0)
        powers = numpy.exp(hidden - hidden.max(1, keepdims=True))
        softmax, best, total = map(to_numpy, main(x, w, b))
        numpy.testing.assert_allclose(softmax, powers / powers.sum(1, keepdims=True), rtol=2e-5, atol=1e-7)
        numpy.testing.assert_array_equal(best, hidden.argmax(1))
        numpy.testing.assert_allclose(total, hidden.sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_lesser_cpu_does_without_this_ones_instructions() -> None:
    def called(cpu: str) -> set[str]:
        return set(compiled_object(f"llvm{{triple=x86_64-linux-gnu cpu={cpu}}}").undefined)

    module_calls = called("x86-64-v2") - called("haswell")
    assert module_calls <= {"fma", "fmaf"} and module_calls


def compiled_object(target: str, module: rx.Module | None = None, **options: Any) -> Any:
    """Return the symbols that all object files of a program define together, and those that they lack."""
    found = [read_object(code) for code in code_of(rx.compile(module or perceptron(), target, **options))]
    defined = frozenset[str]().union(*(each.defined for each in found))
    undefined = frozenset[str]().union(*(each.undefined for each in found))
    assert len({(each.machine, each.flags) for each in found}) == 1
    return dataclasses.replace(found[0], defined=defined, undefined=undefined - defined)


def code_of(executable: Executable) -> list[bytes]:
    return [bytes(each) for each in executable._artifact.objects]


def conversions(source: str, *targets: str) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), source)]) as f:
        f.returns(*(relax.astype(*f, target) for target in targets))
    return module


@pytest.mark.parametrize("cpu", ["generic", "haswell"])
def test_every_half(cpu: str) -> None:
    """Without instructions for half the conversions are functions of ours."""
    halves = numpy.arange(1 << 16, dtype="uint16").view("float16")
    single, double = rx.compile(conversions("float16", "float32", "float64"), lesser(cpu))["main"](halves)
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_array_equal(to_numpy(single), halves.astype("float32"))
        numpy.testing.assert_array_equal(to_numpy(double), halves.astype("float64"))
    numpy.testing.assert_array_equal(numpy.signbit(to_numpy(single)), numpy.signbit(halves))


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_rounding_to_half(source: str) -> None:
    """Round every half, every tie and their neighbours, and values out of range."""
    halves = numpy.arange(0x7C00, dtype="uint16").view("float16").astype(source)
    ties = (halves[:-1] + halves[1:]) / 2
    limits = [65519.99, 65520, 65536, 1e30, numpy.inf, numpy.nan]
    exact = numpy.concatenate([halves, ties, numpy.array(limits, source)])
    ends = (numpy.array(0, source), numpy.array(numpy.inf, source))
    around = [exact, *(numpy.nextafter(exact, end) for end in ends)]
    values = numpy.concatenate([sign * each for each in around for sign in (1, -1)])
    result = to_numpy(rx.compile(conversions(source, "float16"), lesser("generic"))["main"](values))
    with numpy.errstate(over="ignore", under="ignore"):
        numpy.testing.assert_array_equal(result, values.astype("float16"))


def test_rounding_to_bfloat() -> None:
    rng = numpy.random.default_rng(7)
    values = rng.integers(0, 1 << 32, 100_003, dtype="uint32")
    values[::2] &= 0xFFFF8000  # half of the numbers lie on or between two
    values = values.view("float32")
    result = to_numpy(rx.compile(conversions("float32", "bfloat16"), lesser("generic"))["main"](values))
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_array_equal(result.astype("float32"), values.astype(ml_dtypes.bfloat16).astype("float32"))


# ---- other kinds of CPU ----


@pytest.mark.parametrize(
    ("target", "machine", "flags"),
    [
        ("triple=aarch64-linux-gnu", 183, 0),
        ("triple=aarch64-linux-gnu cpu=neoverse-v1", 183, 0),
        ("triple=riscv64-linux-gnu", 243, 5),  # compressed instructions, floats in registers
        ("triple=riscv64-linux-gnu cpu=sifive-x280", 243, 5),
        ("triple=x86_64-linux-gnu cpu=generic", 62, 0),
    ],
)
def test_objects_need_what_the_loader_supplies(target: str, machine: int, flags: int) -> None:
    found = compiled_object(f"llvm{{{target}}}", everything())
    assert (found.machine, found.flags) == (machine, flags)
    assert "__tvm_ffi_main" in found.defined
    foreign = {name for name in found.undefined if not name.startswith("TVMFFI")} - SUPPLIED
    assert foreign <= MATHEMATICS


def test_another_machines_code_is_saved_and_refused(tmp_path: Path) -> None:
    other = "aarch64" if host_triple().startswith("x86_64") else "x86_64"
    executable = rx.compile(perceptron(), f"llvm{{triple={other}-linux-gnu}}")
    assert list(executable) == ["main"] and executable.signature("main")["name"] == "main"
    reason = f"the code is for {other}-unknown-linux-gnu, this machine is "
    with pytest.raises(ArtifactError, match=reason):
        executable["main"]
    executable.save(tmp_path / "model.rxa")
    with pytest.raises(ArtifactError, match=reason):
        rx.runtime.load(tmp_path / "model.rxa")


def test_a_cpu_that_can_do_more_is_needed(tmp_path: Path) -> None:
    missing = next(
        (
            name
            for name in ("avx512fp16", "sse4a", "avx512bf16")
            if host_triple().startswith("x86_64") and name not in host_features()
        ),
        None,
    )
    if missing is None:
        pytest.skip("this machine has it all")
    rx.compile(perceptron(), f"llvm{{features=+{missing}}}").save(tmp_path / "model.rxa")
    with pytest.raises(ArtifactError, match=f"this CPU lacks what the code was compiled for: .*{missing}"):
        rx.runtime.load(tmp_path / "model.rxa")


@pytest.mark.slow
def test_the_same_code_at_each_level() -> None:
    codes = [
        code_of(rx.compile(perceptron(), "llvm{triple=aarch64-linux-gnu}", opt_level=level)) for level in (0, 3, 3)
    ]
    assert codes[1] == codes[2] != codes[0]


# ---- LLVM's names, and llvmlite ----


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64", "riscv64"])
def test_llvm_knows_every_name(architecture: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Check that LLVM knows every name: it writes unknown ones to standard error."""
    assert ".".join(map(str, llvm.llvm_version_info)) == llvm_version()
    llvm.initialize_all_targets()
    target = llvm.Target.from_triple(f"{architecture}-unknown-linux-gnu")
    known = architectures()[architecture]
    for cpu in known.cpus:
        target.create_target_machine(cpu=cpu)
    for feature in known.features:
        target.create_target_machine(cpu=known.generic, features=f"+{feature}")
    assert capfd.readouterr().err == ""


def test_llvmlite_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(rx.RelaxError, match=re.escape("needs llvmlite: pip install relax-mlir[cross]")):
        rx.compile(perceptron(), "llvm{triple=aarch64-linux-gnu}")


def test_llvmlite_has_another_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "llvm_version_info", (19, 1, 0))
    with pytest.raises(rx.RelaxError, match=r"this llvmlite has LLVM 19, .* needs LLVM \d+'s: pip install"):
        rx.compile(perceptron(), "llvm{triple=aarch64-linux-gnu}")
