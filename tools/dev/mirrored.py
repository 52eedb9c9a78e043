# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that mirror a product file: by folder and name, by imports, by words; nearest first."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

#: Folders of the package.
PRODUCT = (
    *("bindings", "compilation", "dialects", "emit", "frontends", "passes", "relax_mlir", "runtime"),
    *("plugins", "support", "targets", "tools"),
)
#: Tests of a folder that are not in the folder of its name: tests in another folder, or of the whole.
ELSEWHERE = {
    "passes/memory/lower_calls": ("test_compile", "test_joined_loops", "relax_lower_calls"),
    "passes/legalize": ("test_legalize",),
    "compilation": ("test_compile", "relax_compile", "test_torch", "test_jit", "test_platform"),
    "plugins/jax/relax_mlir_jax/pjrt": ("test_platform", "test_jax"),
    "plugins/torch/relax_mlir_torch/pt2": ("test_pt2",),
    "plugins/torch/relax_mlir_torch": ("test_from_torch", "test_torch"),
    "plugins/jax/relax_mlir_jax/stablehlo": ("test_stablehlo", "test_jit", "test_lapack"),
    "plugins/proof/relax_mlir_proof/interpreter": ("test_reference",),
    "plugins/proof/relax_mlir_proof/testing": ("test_rows", "test_faults", "test_relax_check"),
    "emit": ("test_legalize",),
    "targets/core": ("test_target_options", "test_plugins", "test_compile"),
    "passes/kernels/intrinsics": ("test_lower_intrinsics", "test_intrinsics", "test_own_intrinsic"),
    "passes/graph/canonicalize": ("test_canonicalize", "relax_canonicalize"),
    "passes/kernels/loops": ("test_schedule", "test_random_schedules", "test_tensorize"),
    "passes/kernels/primitives": ("test_random_schedules", "test_schedule"),
    "emit/te": ("test_te",),
    "passes/kernels/schedule": ("test_schedule", "test_plan", "tir_plan", "tir_apply_plan"),
    "passes/graph/layout": ("test_convert_layout", "relax_convert_layout"),
    "passes/graph/layout/rules": ("test_convert_layout", "relax_convert_layout"),
    "plugins/onnx_domains/relax_mlir_onnx_domains/microsoft": ("test_microsoft",),
    "plugins/onnx_domains/relax_mlir_onnx_domains/ml": ("test_ml",),
    "plugins/training/relax_mlir_training/gradient": ("test_gradients", "test_gradient_loops", "relax_gradient"),
    "plugins/training/relax_mlir_training/gradient/rules": ("test_gradients",),
    "plugins/training/relax_mlir_training": ("test_training", "test_fine_tuning"),
    "passes/graph/decompose": ("test_decompose_ops", "relax_decompose_ops"),
    "passes/graph/decompose/definitions": ("test_decompose_ops", "relax_decompose_ops"),
    "targets/llvm/passes": ("test_compile",),
    "targets/llvm/plans": ("test_schedule", "tir_plan"),
    "targets/llvm/intrinsics": ("test_intrinsics", "test_lower_intrinsics"),
    "targets/llvm": ("test_compile", "test_packed", "test_schedule", "test_intrinsics", "test_lower_intrinsics"),
    "plugins/c/relax_mlir_c": ("test_c_", "c_"),
    "targets/gpu": ("test_parallel_operators",),
    "targets/gpu/emit": ("test_parallel_operators",),
    "targets/gpu/forms": ("test_parallel_operators",),
    "targets/gpu/attention": ("test_attention",),
    "targets/gpu/kernels": ("test_parallel_operators",),
    "targets/gpu/planned": ("test_product", "test_nbits", "test_truth_values"),
    "targets/gpu/unplanned": ("test_parallel_operators",),
    "targets/gpu/plans": ("test_product",),
    "targets/cuda/attention": ("test_attention",),
    "targets/cuda/planned": ("test_product",),
    "targets/cuda/plans": ("test_product",),
    "targets/default": ("test_legalize", "test_intrinsics", "test_lower_intrinsics"),
    "passes/core": ("test_pipeline", "test_instruments", "test_plugins", "relax_opt"),
    "relax_mlir": ("test_compile", "test_pipeline", "test_plugins"),
    "frontends": ("test_module", "test_function", "test_te", "test_script"),
    "frontends/core": ("test_node_suite", "test_bad_models", "test_known"),
    "targets/llvm/legalize_decompositions.py": ("test_linear_algebra", "test_lapack"),
    "frontends/core/control": ("test_control_flow", "test_branches", "test_sequences", "test_run_time_sequences"),
    "frontends/onnx": ("test_node_suite",),
    "frontends/onnx/export": ("test_export", "test_onnxruntime"),
    "frontends/onnx/export/operators": ("test_export",),
}
#: Words that many files share are not informative.
_COMMON = {"relax", "tir", "llvm", "test", "onnx", "legalize", "core", "operators", "infer", "passes", "rules"}
_NOT_LIT = ("python", "fuzz", "gpu_emulator", "pytorch", "with_jax", "with_tvm")  # as lit.cfg.py excludes them
#: Tests that run in environments of their own, by their folders below test/.
ENVIRONMENTS = {"pytorch": "build/env-torch", "with_jax": "build/env-jax", "with_tvm": "build/env-tvm"}
#: Test of a plug-in that runs in such an environment.
_OF_TORCH = "plugins/llm/test/test_transformers.py"
#: Product folders that tests of such a folder mirror.
_MIRRORED = {
    "pytorch": ("plugins", "torch"),
    "with_jax": ("plugins", "jax"),
    "with_tvm": ("plugins", "tvm"),
}
#: Floors of passes/, which folders of tests do not repeat.
_FLOORS = (["graph"], ["kernels"], ["memory"])
_MOST_OTHERS = 32  # tests without the file's name
_ANYWHERE = 3  # so many of these are the nearest by words, at any place
_MEANT = 1.5  # weight of more specific evidence than words
_CALLED = 3  # weight of tests named after a file that calls the function
_TOGETHER = 8  # in one process
FUNCTION = 3  # the weight of a function's words relative to the words of its file


def mirrored_tests(repository: Path, file: str, line: int = 0) -> list[list[str]]:
    """Return groups of pytest files and lit tests, to be run in sequence. With a line, its function counts."""
    path = Path(file)
    source = (repository / path).read_text()
    nearness, text = _nearness(repository), f"{path.stem} {source}"
    function = [function_around(source, line)] * FUNCTION if line else []
    users = _importers(repository, path)
    callers = [each for each in users if _has_word((repository / each).read_text(), _name_of(*function[:1]))]

    def is_meant(test: str) -> bool:
        """Check whether a test is for the file, by its imports or its name."""
        return (
            _mentions(repository / test, path)
            or _same_name(path.stem, test)
            or _elsewhere(path, test)
            or _same_place(path, test)
            and _same_folder_name(path, test)
            or any(_has_its_name(each, test) for each in users)
        )

    words = {test: nearness.of(test, text, *function) for test in _tests(repository)}
    meant = {test for test in words if is_meant(test)}
    of_callers = {test for test in words if any(_has_its_name(each, test) for each in callers)}

    def order(test: str) -> tuple[float, str]:
        weight = _CALLED if test in of_callers else _MEANT if test in meant else 1
        return -words[test] * weight, test

    near = sorted(words, key=order)
    named = [test for test in near if _has_its_name(path, test) or _has_section(repository / test, path.stem)]
    others = [
        test
        for number, test in enumerate(near)
        if test not in named and (number < _ANYWHERE or test in meant or _same_place(path, test))
    ]
    return [*_in_groups(named), *_in_groups(others[:_MOST_OTHERS])]


def function_around(source: str, line: int) -> str:
    """Return the outermost function or class method that contains the line, or the line itself."""
    found = source.splitlines()[line - 1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            text = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
            if first <= line <= (node.end_lineno or first) and len(text) > len(found):
                found = text
    return found


def _name_of(function: str = "") -> str:
    """Return the name in a function's text, which may start with decorators, or ""."""
    found = re.search(r"^ *def (\w+)", function, re.MULTILINE)
    return found[1] if found else ""


def _has_word(text: str, word: str) -> bool:
    return bool(word) and re.search(rf"\b{word}\b", text) is not None


def _in_groups(tests: list[str]) -> list[list[str]]:
    return [tests[start : start + _TOGETHER] for start in range(0, len(tests), _TOGETHER)]


@lru_cache(maxsize=1)
def _nearness(repository: Path) -> Nearness:
    return Nearness({test: f"{Path(test).stem} {(repository / test).read_text()}" for test in _tests(repository)})


def _tests(repository: Path) -> Iterator[str]:
    patterns = ("test/**/*.mlir", "test/**/*.py", "plugins/*/test/**/*.mlir", "plugins/*/test/**/*.py")
    for path in (path for pattern in patterns for path in repository.glob(pattern)):
        test = str(path.relative_to(repository))
        is_test = is_lit(test) or path.name.startswith("test_")
        if is_test and "Inputs" not in path.parts:
            yield test


def environment_of(test: str) -> str:
    """Return the environment that a test of pytest runs in, "" for the one of most tests."""
    return ENVIRONMENTS["pytorch"] if test == _OF_TORCH else ENVIRONMENTS.get(Path(test).parts[1], "")


def make_targets(tests: Iterable[str]) -> list[str]:
    """Return the Makefile's targets of the environments that tests run in, beside the one of most tests."""
    found = {Path(each).name for each in map(environment_of, tests) if each}
    return sorted(found | {"env-llm" for each in tests if each.startswith("plugins/llm/")})


def is_lit(test: str) -> bool:
    """Check whether lit runs a test: modules, and scripts in the same folders."""
    if len(Path(test).parts) < 2:
        return False
    top, folder, *rest = Path(test).parts
    if top == "plugins":  # lit tests of a plug-in are in folders of their own
        return len(rest) > 2 and not rest[-1].startswith("test_")
    return top == "test" and bool(rest) and folder not in _NOT_LIT


def _folders(test: str) -> tuple[str, ...]:
    """Return the product's folders that a test's folders mirror."""
    parts = Path(test).parts[1:-1]
    if test.startswith("plugins/"):
        return ("plugins", parts[0], *parts[2:])
    if parts[:1] == ("python",):
        return parts[1:]
    return (*_MIRRORED[parts[0]], *parts[1:]) if parts and parts[0] in _MIRRORED else parts


def _place(path: Path) -> tuple[str, ...]:
    """Return a file's folders, without a floor of passes/ and without the folder of a plug-in's package."""
    top, *folders = path.parent.parts
    if top == "passes" and folders[:1] in _FLOORS:
        folders = folders[1:]
    return (top, *(folder for folder in folders if not folder.startswith("relax_mlir_")))


def _name(test: str) -> str:
    return Path(test).stem.replace("-", "_").removeprefix("test_")


def _same_place(path: Path, test: str) -> bool:
    """Check whether a test is in the folder that mirrors the file's, or in a folder one level above."""
    folders, place = _folders(test), _place(path)
    return bool(folders) and place[: len(folders)] == folders and len(place) - len(folders) <= 1


def _has_its_name(path: Path, test: str) -> bool:
    """Check for a test with a user's name, in its place or in no folder, as tests of the whole."""
    return _same_name(path.stem, test) and (_same_place(path, test) or not _folders(test))


def _has_section(test: Path, stem: str) -> bool:
    """Check for a table of refusals (test/lit_schedules.py) with a section for the file."""
    is_table = test.name.startswith("refusals-")
    return is_table and re.search(rf'^{stem} = r?"""$', test.read_text(), re.MULTILINE) is not None


def _same_name(stem: str, test: str) -> bool:
    words = {word for word in stem.split("_") if word not in _COMMON and len(word) > 2}
    is_part = bool(words) and (stem in _name(test) or words <= set(_name(test).split("_")))
    return is_part or stem == _name(test)


def _same_folder_name(path: Path, test: str) -> bool:
    folder = path.parent.name
    return folder not in _COMMON and folder in _name(test)


def _mentions(test: Path, path: Path) -> bool:
    """Check whether a test imports the file."""
    parts = path.parent.parts[2:] if path.parts[0] == "plugins" else path.parent.parts
    package, module = re.escape(".".join(parts)), re.escape(path.stem)
    imports = rf"\b{package}(\.| import .*\b){module}\b"
    return test.suffix == ".py" and re.search(imports, test.read_text()) is not None


def _importers(repository: Path, path: Path) -> list[Path]:
    """Return the product files that import the file, by relative imports."""
    module, package = path.stem, path.parent.name
    imports = rf"from \.+[\w.]*\b{module} import |from \.+([\w.]*\b{package})? import .*\b{module}\b"
    pattern = re.compile(rf"^ *(?:{imports})", re.MULTILINE)
    files = (each for top in PRODUCT for each in sorted((repository / top).rglob("*.py")))
    found = [each.relative_to(repository) for each in files if pattern.search(each.read_text())]
    return [each for each in found if each != path]


def _elsewhere(path: Path, test: str) -> bool:
    """Check for a test that is listed for the nearest folder around the file."""
    listed = next((ELSEWHERE[str(each)] for each in path.parents if str(each) in ELSEWHERE), ())
    stem = Path(test).stem.replace("-", "_")
    return any(stem.startswith(name) for name in listed)


# ---- similarity of texts: by common words, where rare words count more than frequent ones ----

_NAME = re.compile(r"[A-Za-z]+(?:_[A-Za-z0-9]+)*[0-9]*")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SHORTEST_NAME, _SHORTEST_PART = 3, 4


@cache
def words_of(text: str) -> frozenset[str]:
    """Return names as written, and their parts: `GroupNormalization`, `group_norm`, `group`."""
    found: set[str] = set()
    for name in set(_NAME.findall(text)):
        found.add(name.lower())
        parts = [part.lower() for part in _PART.findall(name)]
        found.update(part for part in parts if len(part) >= _SHORTEST_PART)
    return frozenset(word for word in found if len(word) >= _SHORTEST_NAME)


class Nearness:
    """Similarity of texts, each under a key, to any other text."""

    def __init__(self, texts: Mapping[str, str]):
        self._words = {key: words_of(text) for key, text in texts.items()}
        having = Counter(word for words in self._words.values() for word in words)
        self._rarity = {word: math.log(len(self._words) / count) ** 2 for word, count in having.items()}
        self._lengths = {key: math.sqrt(1 + self._sum(words)) for key, words in self._words.items()}

    def of(self, key: str, *others: str) -> float:
        """Return the similarity to all of the other texts together. Words in several of them count as often."""
        words = self._words[key]
        return sum(self._sum(words & words_of(other)) for other in others) / self._lengths[key]

    def _sum(self, words: frozenset[str]) -> float:
        return sum(self._rarity[word] for word in sorted(words))
