# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutation runner: its changes, the tests that it finds for a file, and detection of a bug that a test notices."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = REPOSITORY / "tools" / "dev"
sys.path.insert(0, str(TOOLS))

import mutants  # noqa: E402
import mutations  # noqa: E402
import watched  # noqa: E402
from mirrored import Nearness, environment_of, function_around, make_targets, mirrored_tests, words_of  # noqa: E402


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            "FAILED test/python/test_a.py::test_b[(4, 6)-a - b] - AssertionError: x",
            "test/python/test_a.py::test_b[(4, 6)-a - b]",
        ),
        ("FAILED test/python/test_a.py::test_b", "test/python/test_a.py::test_b"),
        ("ERROR test/python/test_a.py - ImportError: broken", "test/python/test_a.py"),
        ("FAIL: relax-mlir :: test_a.mlir (1 of 2)", "test/test_a.mlir"),
        ("FAILED plugins/a/test/test_a.py::test_b - AssertionError", "plugins/a/test/test_a.py::test_b"),
        (
            "test/python/test_a.py::test_c PASSED [ 50%]\ntest/python/test_a.py::test_b[1 2] ",
            "test/python/test_a.py::test_b[1 2]",
        ),
    ],
)
def test_the_test_that_fails_is_known_by_its_name(line: str, name: str) -> None:
    tests = ["test/python/test_a.py", "test/test_a.mlir", "plugins/a/test/test_a.py"]
    assert mutants._failing_test(f"something\n{line}\n", tests) == [name]
    assert mutants._failing_test("killed", tests) == tests


def changed(source: str) -> dict[str, list[str]]:
    """Return the mutated texts of a source by kind."""
    found: dict[str, list[str]] = {}
    for each in mutations.mutations_of(source.encode()):
        found.setdefault(each.kind, []).append(each.applied(source.encode()).decode())
    return found


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ("x = a < b", "comparison", ["x = a <= b"]),
        ("x = a not in b", "comparison", ["x = a in b"]),
        ("x = (a) >= (b)", "comparison", ["x = (a) > (b)"]),
        ("x = a and b", "and, or", ["x = a or b"]),
        ("x = not a", "not dropped", ["x = (a)"]),
        ("x = y[1:]", "off by one", ["x = y[2:]"]),
        ("x = y[-3]", "off by one", ["x = y[-4]", "x = y[-2]"]),
        ("f(a, b)", "arguments swapped", ["f(b, a)"]),
        ("f(a)", "statement dropped", ["pass"]),
        ("x -= 1", "statement dropped", ["pass"]),
        ("x = min(a)", "min, max, any, all", ["x = max(a)"]),
        ("x = a - b", "operands swapped", ["x = (b) - (a)"]),
        ("x = f(flag=True)", "boolean", ["x = f(flag=False)"]),
        ("def f(a):\n    if a:\n        return 1\n    return 2", "guard dropped",
         ["def f(a):\n    if False:\n        return 1\n    return 2"]),
    ],
)  # fmt: skip
def test_what_is_changed(source: str, kind: str, expected: list[str]) -> None:
    assert sorted(changed(source)[kind]) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        "x: Literal[3]", "def f(a: Literal[3] = x) -> Literal[4]: ...", "raise Error(a + 3)", "x = f'{a + 3}'",
        "@cache(maxsize=3)\ndef f(): ...", "zip(a, strict=True)", "x = 'a' + y",
    ],
)  # fmt: skip
def test_messages_and_annotations_stay(source: str) -> None:
    assert not {kind: texts for kind, texts in changed(source).items() if kind != "statement dropped"}


@pytest.mark.slow
def test_every_mutation_of_the_product_is_python() -> None:
    for file in (
        "passes/graph/fuse/block.py",
        "dialects/core/symbols_expr.py",
        "passes/kernels/schedule/vector_nest.py",
    ):
        source = (REPOSITORY / file).read_bytes()
        found = mutations.mutations_of(source)
        assert len(found) > 50, file
        for each in found:
            ast.parse(each.applied(source))
            assert each.applied(source) != source, each


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("passes/graph/relax_inline.py", "test/passes/relax-inline.py"),
        ("passes/core/pipeline.py", "test/python/test_pipeline.py"),
        ("passes/graph/fuse/block.py", "test/python/passes/test_tir_fuse.py"),
        (
            "plugins/onnx_domains/relax_mlir_onnx_domains/microsoft/attention.py",
            "test/python/frontends/onnx/test_attention.py",
        ),
        ("emit/windows.py", "test/python/targets/test_legalize_pool.py"),
        ("targets/default/legalize_softmax.py", "test/python/targets/test_legalize_softmax.py"),
        ("targets/default/intrinsics.py", "test/python/passes/test_lower_intrinsics.py"),
        ("targets/llvm/objects/native_code.py", "test/python/targets/test_units.py"),
        ("targets/host/passes/host_keep_arena.py", "test/targets/host/host-keep-arena.mlir"),
        ("passes/graph/decompose/definitions/norms.py", "test/python/passes/test_decompose_ops.py"),
        ("frontends/onnx/operators/pools.py", "test/python/frontends/onnx/test_pools.py"),
        ("dialects/relax/infer/joining.py", "test/dialects/relax/manipulate.mlir"),
        ("passes/kernels/primitives/cache_write.py", "test/passes/primitives/refusals-buffers.py"),
        ("plugins/tvm/relax_mlir_tvm/primitives/blockize.py", "plugins/tvm/test/primitives/refusals-blocks.py"),
        ("plugins/c/relax_mlir_c/steps.py", "plugins/c/test/lit/c-steps.py"),
        ("plugins/c/relax_mlir_c/source/same_sizes.py", "plugins/c/test/test_c_same_sizes.py"),
        # A common word is a name where it is the whole one.
        ("dialects/script/operators.py", "test/dialects/script/operators.mlir"),
        # A folder's list applies to its subfolders, too.
        ("targets/llvm/intrinsics/hyperbolic.py", "test/python/passes/test_lower_intrinsics.py"),
        ("plugins/llm/relax_mlir_llm/serve/batching.py", "plugins/llm/test/test_serve_kserve.py"),
        ("plugins/dnnl/relax_mlir_dnnl/converter.py", "plugins/dnnl/test/test_dnnl_sizes.py"),
    ],
)
def test_mirrored_tests_come_first(file: str, expected: str) -> None:
    groups = mirrored_tests(REPOSITORY, file)
    assert any(expected in group for group in groups[:3]), groups[:3]


def test_environments_of_tests_are_known() -> None:
    tests = ["test/python/test_mutants.py", "test/with_jax/test_jit.py", "plugins/tvm/test/test_tvm_registry.py"]
    assert [environment_of(each) for each in tests] == ["", "build/env-jax", ""]
    assert make_targets(tests) == ["env-jax"]
    transformers = "plugins/llm/test/test_transformers.py"
    assert environment_of(transformers) == "build/env-torch"
    assert make_targets([transformers, "test/pytorch/test_ops.py"]) == ["env-llm", "env-torch"]


def test_a_helper_of_tests_is_no_test() -> None:
    """Check that helpers are not passed to lit: all tests that run at the same time would fail, with and without the
    bug."""
    tests = [test for group in mirrored_tests(REPOSITORY, "plugins/blas/relax_mlir_blas/products.py") for test in group]
    assert "plugins/blas/test/test_blas_products.py" in tests
    assert not any(test.startswith("test/gpu_emulator") for test in tests)


def _line_of(file: str, text: str) -> int:
    before, found, _ = (REPOSITORY / file).read_text().partition(text)
    assert found, f"{file} has no {text!r} any more: take another line for this test"
    return before.count("\n") + 1


def test_tests_of_the_changed_function_come_first() -> None:
    """Check that tests of a refusal come before tests of the file's other functions."""
    file, test = "plugins/c/relax_mlir_c/source/functions.py", "plugins/c/test/test_c_refusals.py"
    line = _line_of(file, "depends on the data")
    assert mirrored_tests(REPOSITORY, file, line)[0].index(test) < mirrored_tests(REPOSITORY, file)[0].index(test)


def test_tests_of_who_calls_the_changed_function_come_first() -> None:
    """Check that a function of a widely imported file comes with the few tests that use it."""
    file = "emit/broadcast.py"
    tests = mirrored_tests(REPOSITORY, file, _line_of(file, "def along_axis("))
    assert tests[0][0] == "test/python/targets/test_legalize_quantize.py"


def test_the_nearest_tests_come_first() -> None:
    """Check that the many cases of one test do not delay the others."""
    texts = {"a": "convolution of tensors", "b": "sorting of tensors", "c": "tensors"}
    nearness = Nearness(texts)
    found = sorted(texts, key=lambda key: -nearness.of(key, "def sort(tensors): sorting"))
    assert found[0] == "b"
    assert {"group", "normalization", "groupnormalization", "group_norm"} <= words_of("GroupNormalization group_norm")
    assert function_around("x = 1\n\n@mark\ndef f():\n    y = 2\n", 5) == "@mark\ndef f():\n    y = 2"
    assert function_around("x = 1\n\ndef f():\n    y = 2\n", 1) == "x = 1"


def test_the_cases_called_after_a_function_come_first() -> None:
    """Check that the first test notices a broken kernel of sinh, for any budget."""
    file, test = "targets/llvm/intrinsics/hyperbolic.py", "test/python/passes/test_lower_intrinsics.py"
    line = _line_of(file, "exp_scaled(size, -1)), x)")
    assert test in mirrored_tests(REPOSITORY, file, line)[0]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "nearest_first", "-p", "no:cacheprovider"]
    command += ["--nearest-to", f"{file}:{line}", test]
    environment = {**os.environ, "PYTHONPATH": str(TOOLS), "RELAX_MLIR_DRAW": ""}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=600)
    assert "[sinh-" in done.stdout.splitlines()[0], done.stdout[:500] + done.stderr


@pytest.mark.slow
def test_a_command_that_waits_for_what_never_comes_is_ended(tmp_path: Path) -> None:
    """End a command that waits for its child while the child waits for it: neither uses the processor."""
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    code = f"""
import subprocess, sys
words = [sys.executable, "-c", "print(input())"]
child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=open({str(alive)!r}, "w"), start_new_session=True)
print("started", flush=True)
child.wait()
"""
    started = [sys.executable, "-c", code]
    ended = watched.run(started, cwd=tmp_path, environment=os.environ, cpu_s=60, idle_s=2)
    assert ended == (None, "started\n")
    assert os.read(reader, 1) == b"", "and no writer is left"
    os.close(reader)


def test_a_command_ends_by_itself_or_as_it_took_too_long(tmp_path: Path) -> None:
    def code_of(text: str) -> tuple[int | None, str]:
        command = [sys.executable, "-c", text]
        return watched.run(command, cwd=tmp_path, environment=os.environ, cpu_s=1, idle_s=600)

    assert code_of("import sys; print(1, flush=True); print(2, file=sys.stderr); sys.exit(3)") == (3, "1\n2\n")
    assert code_of("while True: pass")[0] in (-signal.SIGXCPU, -signal.SIGKILL)


@pytest.mark.slow
def test_a_bug_that_is_noticed_and_one_that_is_not(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(TOOLS)!r})
import mutants
from pathlib import Path
copy = mutants.Copy(Path({str(tmp_path)!r}))
file = "support/suggest.py"
source = (mutants.REPOSITORY / file).read_bytes()
# All tests import it: none runs at all.
everywhere = mutants.Mutation("all wrong", 0, 0, "raise ImportError('broken')\\n")
at = source.index(b"match = nearest(word, candidates)")
noticed = mutants.Mutation("wrong", at, at + 5, "it")
harmless = mutants.Mutation("nothing", 0, 0, "# a comment\\n")
for mutation, budget_s in ((everywhere, 1.0), (noticed, 60.0), (harmless, 1.0)):
    verdict = mutants.try_mutation(copy, file, mutation, budget_s)
    print(verdict.noticed, verdict.by, verdict.tests)
print((mutants.REPOSITORY / file).read_bytes() == source == (copy.root / file).read_bytes())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stderr
    # The reason is pytest's or lit's last line: the tests with the most words in common run first.
    assert re.match(r"True it did not end, or died: \S+", lines[0]), done
    assert lines[1].startswith("True FAILED test/python/support/test_suggest.py"), done.stdout
    assert lines[2].startswith("False  ['test/python/support/test_suggest.py'"), done.stdout
    assert lines[3] == "True", "the files are as they were"
