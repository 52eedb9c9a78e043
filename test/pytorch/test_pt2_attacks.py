# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hostile .pt2 archives that try to run code or to exhaust memory."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pt2_files import MODEL, altered, nodes, places, records_of, replaced, write
from torch import nn

import relax_mlir as rx

COMPILE = Path(sys.executable).parent / "relax-compile"
MADE = "executed"
CODE = f"__import__('os').mkdir('{MADE}')"


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (MADE,)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return torch.relu(self.inner(x)) + self.count


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "good.pt2"
    shapes = ({0: torch.export.Dim("n")},)
    torch.export.save(torch.export.export(Model(), (torch.ones(2, 4),), dynamic_shapes=shapes), path)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a module that must not be imported."""
    (tmp_path / "relax_mlir_evil.py").write_text(f"import os\nos.mkdir('{MADE}')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def pickled() -> bytes:
    """Return bytes for torch.load that hold an object which runs code."""
    buffer = io.BytesIO()
    torch.save(Evil(), buffer)
    return buffer.getvalue()


def refused(path: Path) -> str:
    """Return the message of a refused file, and check that nothing has run."""
    with pytest.raises(rx.ModelError) as caught:
        rx.from_torch(path)
    assert not Path(MADE).exists()
    assert path.name in str(caught.value)
    return str(caught.value)


# ---- pickles ----


def test_sample_inputs_are_not_read(good: Path) -> None:
    records = {name: pickled() if "sample_inputs" in name else data for name, data in records_of(good).items()}
    bad = write(Path("bad.pt2"), records)
    assert str(rx.from_torch(bad)) == str(rx.from_torch(good))
    assert not Path(MADE).exists()


def test_trust_runs_what_the_file_says(good: Path) -> None:
    records = {name: pickled() if "sample_inputs" in name else data for name, data in records_of(good).items()}
    with pytest.raises(rx.ModelError):
        rx.from_torch(write(Path("bad.pt2"), records), trust=True)
    assert Path(MADE).exists()


def _pickled_tensor(records: dict[str, bytes], kind: str, prefix: str) -> None:
    name = f"data/{kind}/model_{kind}_config.json"
    config = json.loads(records[name])
    entry = {"path_name": f"{prefix}0", "is_param": False, "use_pickle": True, "tensor_meta": None}
    config["config"]["evil"] = entry
    records[name] = json.dumps(config).encode()
    records[f"data/{kind}/{prefix}0"] = pickle.dumps(Evil()) if prefix == "opaque_obj_" else pickled()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda records: _pickled_tensor(records, "weights", "weight_"), "tensor 'evil' is a pickle"),
        (lambda records: _pickled_tensor(records, "constants", "tensor_"), "tensor 'evil' is a pickle"),
        (lambda records: _pickled_tensor(records, "constants", "opaque_obj_"), "'evil' is an object"),
        (lambda records: _pickled_tensor(records, "constants", "custom_obj_"), "'evil' is an object"),
        (lambda records: records.update({"data/weights/model.pt": pickled()}), "is a pickle, as torch 2.8 writes"),
        (lambda records: records.update({"data/constants/model.pt": pickled()}), "is a pickle, as torch 2.8 writes"),
    ],
    ids=["weight", "constant", "opaque object", "custom object", "old weights", "old constants"],
)
def test_pickles_are_refused(good: Path, change: Callable[[dict[str, bytes]], None], message: str) -> None:
    records = records_of(good)
    change(records)
    found = refused(write(Path("bad.pt2"), records))
    assert message in found and "trust=True" in found


def test_the_format_of_older_versions_is_refused() -> None:
    with zipfile.ZipFile("bad.pt2", "w") as archive:
        archive.writestr("version", "8.20")
        archive.writestr("serialized_exported_program.json", "{}")
        for name in ("state_dict", "constants", "example_inputs"):
            archive.writestr(f"serialized_{name}.pt", pickled())
    assert "written by torch 2.7 or older" in refused(Path("bad.pt2"))


# ---- texts that become Python's source code, or are evaluated ----


def _renamed(old: str, new: str) -> Callable[[Any], Any]:
    return lambda document: json.loads(json.dumps(document).replace(json.dumps(old), json.dumps(new)))


def _signature(document: Any) -> Any:
    return document["graph_module"]["module_call_graph"][0]["signature"]


def _called_by(name: str, value: object) -> Callable[[Any], None]:
    return lambda document: _signature(document).update({name: value})


def _tree(kind: str, context: object) -> str:
    leaf = {"type": None, "context": None, "children_spec": []}
    return json.dumps([1, {"type": kind, "context": context, "children_spec": [leaf]}])


def _keywords(name: str) -> str:
    leaf = {"type": None, "context": None, "children_spec": []}
    positional = {"type": "builtins.tuple", "context": "null", "children_spec": []}
    keyword = {"type": "builtins.dict", "context": json.dumps([name]), "children_spec": [leaf]}
    whole = {"type": "builtins.tuple", "context": "null", "children_spec": [positional, keyword]}
    return json.dumps([1, whole])


def _calling(target: str, *texts: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        node = next(each for each in nodes(document) if each["target"] == "torch.ops.aten.relu.default")
        inputs = [{"name": "", "arg": {"as_string": text}, "kind": 1} for text in texts]
        node.update(target=target, inputs=inputs or node["inputs"])

    return change


def _range(document: Any) -> None:
    document["range_constraints"]["u999999999999"] = {"min_val": 0, "max_val": None}


_FACTORY = {"default_factory_module": "relax_mlir_evil", "default_factory_name": "x", "dict_context": ["r"]}
_MEMBER = json.dumps([{"__enum__": True, "fqn": "relax_mlir_evil:x", "name": "x"}])

ATTACKS: dict[str, tuple[Callable[[Any], object], str]] = {
    "size": (lambda document: replaced(document, "expr_str", CODE), "symbolic size"),
    "name of a symbol": (lambda document: replaced(document, "expr_str", f"Symbol({CODE!r})"), "symbolic size"),
    "assumption": (lambda document: replaced(document, "expr_str", f"Symbol('s0', integer={CODE})"), "symbolic size"),
    "node": (_renamed("relu", f"relu = {CODE}\n    relu"), "is not a name"),
    "placeholder": (_renamed("x", f"x={CODE}"), "is not a name"),
    "parameter": (_renamed("inner.weight", f'inner.a" + str({CODE}) + "'), "is not a name"),
    "class": (_renamed("inner.weight", "__class__"), "is not a name"),
    "name of an argument": (_called_by("forward_arg_names", [f"x={CODE}"]), "is not a name"),
    "keyword": (_called_by("in_spec", _keywords(f"x={CODE}")), "is not a name"),
    "factory": (_called_by("out_spec", _tree("collections.defaultdict", _FACTORY)), "factory of a defaultdict"),
    "enumeration": (_called_by("out_spec", _tree("builtins.dict", _MEMBER)), "not an enumeration that is imported"),
    "type": (_called_by("out_spec", _tree("relax_mlir_evil.Type", "null")), "which torch does not know"),
    "library": (_calling("torch.ops.load_library", "./evil.so"), "which is not an operator"),
    "function": (_calling("torch.os.mkdir", MADE), "which is not an operator"),
    "system": (_calling("torch.ops.sys.modules.get"), "that torch does not know"),
    "operator": (_calling("_operator.methodcaller", "mkdir"), "which is not an operator"),
    "file": (_calling("torch.ops.aten.from_file.default", MADE), "not an operator on tensors"),
    "TorchScript": (_calling("torch.ops.aten.save.default", MADE), "not an operator on tensors"),
    "package": (_calling("torch.ops.symm_mem.set_signal_pad_size.default"), "symm_mem"),
    "extension": (_calling("#relax_mlir:evil"), "which is not an operator"),
    "many symbols": (_range, "at most 1000000"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_code_in_texts_is_refused(name: str, good: Path) -> None:
    change, message = ATTACKS[name]
    found = refused(altered(good, Path("bad.pt2"), MODEL, change))
    assert message in found and "trust=True" in found
    assert "relax_mlir_evil" not in sys.modules


def test_tools_trust_only_when_told(good: Path) -> None:
    from relax_mlir.tools.common.models import read_model

    records = {name: pickled() if "sample_inputs" in name else data for name, data in records_of(good).items()}
    bad = str(write(Path("bad.pt2"), records))
    read_model(bad)
    assert not Path(MADE).exists()
    with pytest.raises(rx.ModelError):
        read_model(bad, trust=True)
    assert Path(MADE).exists()
    with pytest.raises(rx.OptionError, match=r"--trust is for \.pt2 files"):
        read_model("model.onnx", trust=True)


def test_guards_are_not_executed(good: Path) -> None:
    bad = altered(good, Path("bad.pt2"), MODEL, lambda document: document.update(guards_code=[CODE]))
    assert str(rx.from_torch(bad)) == str(rx.from_torch(good))
    assert not Path(MADE).exists()


def test_metadata_names_no_functions(good: Path) -> None:
    def change(document: Any) -> None:
        for node in nodes(document):
            node["metadata"]["source_fn_stack"] = "x,torch.relax_mlir_evil"
            node["metadata"]["custom"] = node["metadata"]["from_node"] = "no JSON"

    bad = altered(good, Path("bad.pt2"), MODEL, change)
    assert str(rx.from_torch(bad)) == str(rx.from_torch(good))


@pytest.mark.parametrize(
    "text",
    [
        "Pow(Integer(10), Integer(1000000000000))",
        "Pow(Pow(Pow(Integer(9), Integer(64)), Integer(64)), Integer(64))",
        "PowByNatural(Integer(2), Integer(99999999999))",
        "Pow(Integer(2), Symbol('s0', integer=True))",
        "LShift(Integer(1), Integer(99999999999))",
        "FloorToInt(Float('1e999999999', precision=53))",
        f"Pow({'Add(' + ', '.join(f'Symbol({name!r})' for name in ('s1', 's2', 's3', 's4', 's5')) + ')'}, Integer(64))",
        "Add(" * 5000 + ")" * 5000,
        "-" * 20000 + "1",
        "9" * 5000,
        "factorial(Integer(99999))",
        "Symbol('s0').subs",
        "(lambda: 1)()",
        "Integer(*[1])",
        "Add(**{})",
        "",
        "Integer(1) if True else 2",
        "Symbol('s0', commutative=False)",
        "Rational(1, 0)()",
    ],
)
def test_sizes_that_are_no_arithmetic_or_too_large(text: str, good: Path) -> None:
    message = refused(altered(good, Path("bad.pt2"), MODEL, lambda document: replaced(document, "expr_str", text)))
    assert "symbolic size" in message


def test_levels_of_vmap_are_left() -> None:
    class Rows(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.vmap(lambda row: row.sum() * 2)(x)

    torch.export.save(torch.export.export(Rows(), (torch.ones(4, 3),)), "rows.pt2")

    def without_end(document: Any) -> None:
        nodes(document)[:] = [each for each in nodes(document) if "_decrement_nesting" not in each["target"]]

    _check_damaged(altered(Path("rows.pt2"), Path("bad.pt2"), MODEL, without_end))
    assert torch._C._functorch.get_dynamic_layer_stack_depth() == 0


# ---- memory ----


def _weights(good: Path, **changes: object) -> Path:
    """Return a file with other properties of its first weight, and the graph's unchanged type of the weight."""

    def change(config: Any) -> None:
        config["config"]["inner.weight"]["tensor_meta"].update(changes)

    return altered(good, Path("bad.pt2"), "data/weights/model_weights_config.json", change)


def _numbers(*values: int) -> list[dict[str, int]]:
    return [{"as_int": value} for value in values]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"storage_offset": {"as_int": 1}}, "reaches to byte 68 of the record 'data/weights/weight_0', which has 64"),
        ({"storage_offset": {"as_int": -4}}, "expected a number"),
        ({"strides": _numbers(-1, 1)}, "expected a number"),
        ({"strides": _numbers(1 << 61, 1)}, "reaches to byte"),
        ({"sizes": _numbers(1 << 30, 1 << 30)}, "elements, at most"),
        ({"sizes": _numbers(1 << 20, 1 << 20), "strides": _numbers(0, 0)}, "at most 1024 MiB"),
        ({"sizes": _numbers(8, 2), "strides": _numbers(2, 1)}, "and in the graph torch.float32"),
        ({"dtype": 6}, "and in the graph torch.float32"),
        ({"dtype": 99}, "unknown element type, number 99"),
        ({"dtype": True}, "unknown element type"),
        ({"layout": 1}, "expected 7, strided"),
        ({"sizes": _numbers(4)}, "1 sizes and 2 strides"),
        ({"sizes": [{"as_expr": {"expr_str": CODE}}] * 2}, "expected a number"),
        ({"device": "cpu"}, "expected an object"),
        ({"device": {"type": "cuda", "index": 0}}, "is on device 'cuda': export the model from the CPU"),
    ],
)
def test_weights_outside_of_their_records(good: Path, changes: dict[str, object], message: str) -> None:
    assert message in refused(_weights(good, **changes))


def _described(records: dict[str, bytes], **changes: object) -> None:
    records.update({name: str(value).encode() for name, value in changes.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda records: records.pop("data/weights/weight_0"), "no record 'data/weights/weight_0'"),
        (
            lambda records: records.pop("data/weights/model_weights_config.json"),
            "no record 'data/weights/model_weights",
        ),
        (lambda records: records.pop(MODEL), "no record 'models/model.json'"),
        (lambda records: records.pop("archive_format"), "not an archive of torch.export"),
        (lambda records: _described(records, archive_version=7), "version of the archive's format is '7'"),
        (lambda records: _described(records, byteorder="big"), "'big' order of bytes"),
        (lambda records: records.update({MODEL: b"[" * 100_000}), "bad.pt2"),
        (lambda records: records.update({MODEL: b"\xff"}), "bad.pt2"),
        (lambda records: records.update({MODEL: b"{}"}), "bad.pt2"),
        (lambda records: records.update({MODEL: b"7" * 10_000}), "bad.pt2"),
    ],
)
def test_damaged_archives(good: Path, change: Callable[[dict[str, bytes]], object], message: str) -> None:
    records = records_of(good)
    change(records)
    assert message in refused(write(Path("bad.pt2"), records))


def test_records_with_one_name(good: Path) -> None:
    data = records_of(good)
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = write(Path("bad.pt2"), data)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"root/{MODEL}", b"{}")
    assert "two records of the archive have the same name" in refused(path)


def test_records_outside_of_the_archives_folder(good: Path) -> None:
    path = write(Path("bad.pt2"), records_of(good))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../outside", b"")
    assert "not in one folder" in refused(path)
    assert not Path("../outside").exists()


def test_a_directory_that_points_elsewhere(good: Path) -> None:
    data = good.read_bytes()
    name = b"data/weights/weight_0"
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(name))
    moved = data[: entry + 42] + (7).to_bytes(4, "little") + data[entry + 46 :]
    Path("bad.pt2").write_bytes(moved)
    assert "no header of the record" in refused(Path("bad.pt2"))


def _check_damaged(path: Path) -> None:
    """Read a damaged file: it is a program, or refused."""
    try:
        rx.from_torch(path)
    except rx.RelaxError as error:
        assert str(error)
    assert not Path(MADE).exists()


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bytes(good: Path, seed: int) -> None:
    choose, data = random.Random(seed), good.read_bytes()
    for _ in range(6):
        changed = bytearray(data)
        for _ in range(choose.choice((1, 4, 40))):
            changed[choose.randrange(len(changed))] = choose.randrange(256)
        end = choose.choice((len(changed), choose.randrange(len(changed))))
        Path("bad.pt2").write_bytes(changed[:end])
        _check_damaged(Path("bad.pt2"))


_VALUES = (None, True, -1, 0, 1 << 70, 1.5, "", "x", CODE, [], {}, [[]], {"as_int": -5})


@pytest.mark.parametrize("record", [MODEL, "data/weights/model_weights_config.json"])
@pytest.mark.parametrize("seed", range(3))
def test_damaged_json(good: Path, record: str, seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(8):

        def change(document: Any) -> object:
            *outer, last = choose.choice([each for each in places(document) if each])
            for key in outer:
                document = document[key]
            if isinstance(document, dict) and choose.random() < 0.3:
                del document[last]
            else:
                document[last] = choose.choice(_VALUES)
            return None

        _check_damaged(altered(good, Path("bad.pt2"), record, change))


# ---- tools ----


def test_relax_compile_runs_nothing(good: Path, folder: Path) -> None:
    records = {name: pickled() if "sample_inputs" in name else data for name, data in records_of(good).items()}
    write(folder / "model.pt2", records)
    altered(good, folder / "size.pt2", MODEL, lambda document: replaced(document, "expr_str", CODE))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(COMPILE), *arguments, "--cache-dir", "cache"]
        return subprocess.run(command, capture_output=True, text=True, timeout=600)

    done = run("model.pt2", "--check")
    assert (done.returncode, done.stdout) == (0, "model.pt2: all nodes can be imported\n")
    done = run("size.pt2", "--check")
    assert done.returncode == 1 and "symbolic size" in done.stderr and "--trust" in done.stderr
    assert "Traceback" not in done.stderr and not Path(MADE).exists()
