# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in .pt2 archives, read as data, compared with torch.export.load."""

from __future__ import annotations

import dataclasses
import logging
import subprocess
import sys
import threading
import zipfile
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy
import pt2_files
import pytest
import torch
import torch.utils._pytree as pytree
from relax_mlir_torch.exported_program import read_program
from torch import nn
from torch.export import Dim

import relax_mlir as rx

Pair = namedtuple("Pair", ["first", "second"])  # as users write them


@dataclasses.dataclass
class Boxed:
    left: torch.Tensor
    right: torch.Tensor


torch.export.register_dataclass(Boxed, serialized_type_name="relax_mlir_test.Boxed")
pytree._register_namedtuple(Pair, serialized_type_name="relax_mlir_test.Pair")


class Case(NamedTuple):
    model: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = MappingProxyType({})
    shapes: Any = None


class Of(nn.Module):
    """Model of a function, with parameters and buffers."""

    def __init__(self, function: Callable[..., object], **held: torch.Tensor):
        super().__init__()
        self.function = function
        for name, each in held.items():
            if isinstance(each, nn.Parameter):
                self.register_parameter(name, each)
            else:
                self.register_buffer(name, each)

    def forward(self, *args: Any, **kwargs: Any) -> object:
        return self.function(self, *args, **kwargs)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.names = nn.ModuleDict({"a-b": nn.Linear(4, 4), "c d": nn.Linear(4, 4)})
        self.names["c d"].weight = self.names["a-b"].weight
        whole = torch.randn(8, 4)
        self.part = nn.Parameter(whole[2:6].t())
        self.register_buffer("row", whole[1])
        self.register_buffer("count", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return self.names["c d"](self.names["a-b"](x)) @ self.part + self.row + self.count


class Keyword(nn.Module):
    def forward(self, x: torch.Tensor, flag: bool, *, options: dict[str, torch.Tensor], mode: str) -> object:
        return {"sum": x * options["a b"], mode: [x, flag, None]}


class Structured(nn.Module):
    def forward(self, x: list[Any], pair: Any, boxed: Boxed, ordered: Any, lots: Any) -> object:
        total = x[0] + x[1][0] + pair.first * pair.second + boxed.left - boxed.right
        return Pair(total, [ordered["b"], lots["z"]]), OrderedDict(d=total * 2)


class Unknown(nn.Module):
    def forward(self, x: torch.Tensor) -> object:
        count = x.sum().to(torch.int64).item()
        torch._check(count >= 2)
        torch._check(count < 10)
        return torch.zeros(count) + x.max() + torch.tensor([2.0]), x.nonzero(), x[x > 0]


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> object:
        chosen = torch.cond(x.sum() > 0, lambda y: self.inner(y), lambda y: y - 1, (x,))
        count, last = torch.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.zeros((), dtype=torch.int64), x)
        )
        return chosen, count, last


def _settings(_: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        doubled = x * 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = x @ x.T
    return doubled + product.sum()


def _types(model: Any, x: torch.Tensor) -> object:
    narrow = [each.to(torch.float32).sum() for each in (model.sixteen, model.brain, model.eight, model.five)]
    return x + sum(narrow), model.mask & (model.unsigned > 3), model.turn * 2, model.wide + 1


def _sizes(_: nn.Module, x: torch.Tensor, y: torch.Tensor) -> object:
    larger = nn.functional.interpolate(y[None, None], scale_factor=1.5)
    return x.reshape(-1, 4), larger, x[: x.shape[0] // 2], x.shape[0] * 1.5, max(y.shape[0], y.shape[1]) + 1


def _randn(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(0))


CASES: dict[str, Callable[[], Case]] = {
    "tied weights, views, strides, buffers that change": lambda: Case(Tied(), (_randn(2, 4),)),
    "element types": lambda: Case(
        Of(
            _types,
            sixteen=_randn(3).half(), brain=_randn(3).bfloat16(), eight=_randn(3).to(torch.float8_e4m3fn),
            five=_randn(3).to(torch.float8_e5m2), mask=torch.tensor([True, False, True]),
            unsigned=torch.tensor([1, 5, 9], dtype=torch.uint8), turn=torch.tensor([1 + 2j, 3 - 1j]),
            wide=torch.tensor([2**40], dtype=torch.int64),
        ),
        (_randn(3),),
    ),
    "numbers and empty tensors": lambda: Case(
        Of(lambda m, x: (x * m.scale, torch.cat([x, m.none])), scale=torch.tensor(2.0), none=torch.empty(0, 4)),
        (_randn(2, 4),),
    ),
    "expanded and strided": lambda: Case(
        Of(lambda m, x: x + m.row + m.steps, row=torch.ones(1, 4).expand(3, 4), steps=_randn(3, 8)[:, ::2]),
        (_randn(3, 4),),
    ),
    "ranges and derived sizes": lambda: Case(
        Of(_sizes), (_randn(8, 4), _randn(8, 6)),
        shapes=(({0: 2 * Dim("half", min=2, max=64)}, {0: Dim("rows", max=512), 1: Dim("columns")}),),
    ),
    "sizes that depend on data": lambda: Case(Unknown(), (torch.ones(4),), shapes=({0: Dim("n")},)),
    "keyword arguments": lambda: Case(
        Keyword(), (_randn(2), True), {"options": {"a b": _randn(2)}, "mode": "it's"}
    ),
    "structures": lambda: Case(
        Structured(),
        (
            [_randn(2), (_randn(2),)], Pair(_randn(2), _randn(2)), Boxed(_randn(2), _randn(2)),
            OrderedDict(b=_randn(2)), defaultdict(list, z=_randn(2)),
        ),
    ),
    "branches and loops": lambda: Case(Branches(), (_randn(3, 4),), shapes=({0: Dim("n")},)),
    "settings": lambda: Case(Of(_settings), (_randn(4, 4),)),
    "vmap": lambda: Case(Of(lambda _, x: torch.vmap(lambda row: row.sum() * 2)(x)), (_randn(4, 3),)),
    "a size as an argument": lambda: Case(
        Of(lambda _, x, n: x * n), (_randn(4), 3), shapes=((None, Dim.DYNAMIC),)
    ),
    "recurrent": lambda: Case(nn.LSTM(4, 5, batch_first=True), (_randn(2, 3, 4),)),
    "convolutions and norms": lambda: Case(
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval(), (_randn(2, 3, 8, 8),),
        shapes=({0: Dim("batch")},),
    ),
    "attention": lambda: Case(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (_randn(2, 3, 8),)),
}  # fmt: skip


def saved(case: Case, folder: Path) -> Path:
    path = folder / "model.pt2"
    program = torch.export.export(case.model, case.args, dict(case.kwargs), dynamic_shapes=case.shapes, strict=False)
    torch.export.save(program, path)
    return path


def _text(path: Path, trust: bool) -> str:
    """Return the module of a file with its weights, or the error."""
    try:
        return rx.from_torch(path, trust=trust).print(debug_info=True)
    except rx.RelaxError as error:
        return str(error).replace("note: ", "")


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_is_read_as_data_is_the_same_program(name: str, tmp_path: Path) -> None:
    path = saved(CASES[name](), tmp_path)
    text = _text(path, trust=False)
    assert text == _text(path, trust=True)
    assert "func.func" in text
    found, expected = (read_program(path, None, None, trust=trust) for trust in (False, True))
    assert str(found.graph) == str(expected.graph)
    assert str(found.graph_signature) == str(expected.graph_signature)
    assert found.range_constraints == expected.range_constraints
    assert found.call_spec == expected.call_spec
    for own, other in ((found.state_dict, expected.state_dict), (found.constants, expected.constants)):
        _check_tensors(own, other)


def _check_tensors(own: dict[str, Any], other: dict[str, Any]) -> None:
    assert list(own) == list(other)
    assert _shared(own) == _shared(other)
    for name, each in own.items():
        assert (type(each), each.stride(), each.dtype) == (type(other[name]), other[name].stride(), other[name].dtype)
        torch.testing.assert_close(each, other[name], rtol=0, atol=0)


def _shared(tensors: dict[str, torch.Tensor]) -> list[list[str]]:
    """Return the groups of tensors that share memory."""
    groups: dict[int, list[str]] = {}
    for name, each in tensors.items():
        if each.numel():
            groups.setdefault(each.untyped_storage().data_ptr(), []).append(name)
    return list(groups.values())


def test_views_of_another_element_type(tmp_path: Path) -> None:
    # torch.export.load reads both with the first one's type.
    whole = _randn(4)
    model = Of(lambda model, x: (x + model.floats, model.bits + 1), floats=whole, bits=whole.view(torch.int32))
    module = rx.from_torch(saved(Case(model, (_randn(4),)), tmp_path))
    _, bits = rx.compile(module)["main"](torch.zeros(4))
    assert bits.tolist() == (whole.view(torch.int32) + 1).tolist()


def test_weights_are_aligned_and_survive_the_file(tmp_path: Path) -> None:
    path = saved(CASES["convolutions and norms"](), tmp_path)
    program = read_program(path, None, None)
    assert all(each.data_ptr() % 64 == 0 for each in program.state_dict.values() if each.numel())
    kept = [each.clone() for each in program.state_dict.values()]
    path.write_bytes(b"")
    for own, other in zip(program.state_dict.values(), kept, strict=True):
        assert torch.equal(own, other)


def test_threads_read_at_once(tmp_path: Path) -> None:
    path = saved(CASES["ranges and derived sizes"](), tmp_path)
    expected, found = str(rx.from_torch(path)), []
    threads = [threading.Thread(target=lambda: found.append(str(rx.from_torch(path)))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [expected] * 4


def test_a_file_is_read_in_any_order_of_records(tmp_path: Path) -> None:
    path = saved(CASES["attention"](), tmp_path)
    records = pt2_files.records_of(path)
    other = pt2_files.write(tmp_path / "other.pt2", dict(reversed(records.items())))
    assert str(rx.from_torch(other)) == str(rx.from_torch(path))


def test_native_code_beside_the_program_is_left_alone(tmp_path: Path) -> None:
    path = saved(CASES["vmap"](), tmp_path)
    records = {**pt2_files.records_of(path), "data/aotinductor/model/kernel.so": b"\x7fELF", "extra/notes": b"none"}
    assert str(rx.from_torch(pt2_files.write(tmp_path / "other.pt2", records))) == str(rx.from_torch(path))


def test_compressed_records_are_refused(tmp_path: Path) -> None:
    path = saved(CASES["settings"](), tmp_path)
    records = pt2_files.records_of(path)
    other = pt2_files.write(tmp_path / "other.pt2", records, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(rx.ModelError, match=r"other\.pt2: the record '.*' is compressed(.|\n)*trust=True"):
        rx.from_torch(other)


def test_operators_of_packages_need_a_converter(tmp_path: Path) -> None:
    with torch.library._scoped_library("relax_mlir_pt2", "FRAGMENT") as library:
        library.define("unknown(Tensor x) -> Tensor")
        library.impl("unknown", lambda x: x + 1, "CompositeExplicitAutograd")
        torch.library.register_fake("relax_mlir_pt2::unknown", torch.empty_like, lib=library)
        path = saved(Case(Of(lambda _, x: torch.ops.relax_mlir_pt2.unknown(x)), (_randn(2),)), tmp_path)
        with pytest.raises(rx.ModelError, match=r"relax_mlir_pt2::unknown\.default(.|\n)*@rx\.register_torch"):
            rx.from_torch(path)
    with pytest.raises(rx.ModelError, match="that torch does not know in this process"):
        rx.from_torch(path)


def test_programs_without_weights_are_refused(tmp_path: Path) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        model, x = nn.Linear(4, 4), torch.empty(2, 4)
        program = torch.export.export(model, (x,))
    torch.export.save(program, tmp_path / "model.pt2")
    with pytest.raises(rx.ModelError, match=r"'weight' reaches to byte 64 .* without the values of its weights"):
        rx.from_torch(tmp_path / "model.pt2")


def test_trust_is_for_files() -> None:
    with pytest.raises(rx.OptionError, match=r"trust=True is for the path of a \.pt2 file, got Linear"):
        rx.from_torch(nn.Linear(2, 2), (torch.ones(1, 2),), trust=True)


def test_results_are_the_models(tmp_path: Path) -> None:
    case = CASES["tied weights, views, strides, buffers that change"]()
    expected = case.model(*case.args)
    case.model.count.zero_()
    program = rx.compile(rx.from_torch(saved(case, tmp_path)))["main"]
    found, _ = program(*case.args, torch.zeros((), dtype=torch.int64))
    numpy.testing.assert_allclose(found, expected.detach(), rtol=1e-5)


def _in_new_process(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run relax-compile in a process that has imported no package for the file."""
    command = [sys.executable, "-m", "relax_mlir.tools.compile.driver", str(path), "--check", *options]
    return subprocess.run(command, text=True, capture_output=True, timeout=600)


@pytest.mark.parametrize("options", [(), ("--trust",)])
def test_types_of_transformers_need_no_import(tmp_path: Path, options: tuple[str, ...]) -> None:
    outputs = pytest.importorskip("transformers.modeling_outputs")
    model = Of(lambda _, x: outputs.BaseModelOutput(last_hidden_state=x * 2))
    found = _in_new_process(saved(Case(model, (_randn(2, 4),)), tmp_path), *options)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("options", [(), ("--trust",)])
def test_operators_of_quantized_models_need_no_import(tmp_path: Path, options: tuple[str, ...]) -> None:
    import torch.ao.quantization.fx._decomposed

    operators = torch.ops.quantized_decomposed

    def rounded(_: nn.Module, x: torch.Tensor) -> torch.Tensor:
        found = operators.quantize_per_tensor(x, 0.5, 0, -128, 127, torch.int8)
        result: torch.Tensor = operators.dequantize_per_tensor(found, 0.5, 0, -128, 127, torch.int8)
        return result

    found = _in_new_process(saved(Case(Of(rounded), (_randn(2, 4),)), tmp_path), *options)
    assert (found.returncode, found.stderr) == (0, "")


def _of_an_unknown_type(folder: Path) -> Path:
    """Write a program with a result of a type that only its author's package registers."""
    path = saved(Case(Of(lambda _, x: Pair(x, x)), (_randn(2),)), folder)
    records = pt2_files.records_of(path)
    text = records[pt2_files.MODEL].replace(b"relax_mlir_test.Pair", b"some_package.models.Pair")
    return pt2_files.write(folder / "other.pt2", {**records, pt2_files.MODEL: text})


def test_the_module_of_an_unknown_type_is_named(tmp_path: Path) -> None:
    with pytest.raises(rx.ModelError, match=r"'some_package.models.Pair'(.|\n)*--load-plugin=some_package.models\n"):
        rx.from_torch(_of_an_unknown_type(tmp_path))


def test_warnings_of_torch_about_a_file_are_notes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)  # another test may have disabled all logging
    with pytest.raises(rx.ModelError, match=r"note: torch says: .*some_package\.models\.Pair"):
        rx.from_torch(_of_an_unknown_type(tmp_path), trust=True)
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_packages_that_fail_to_import_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _of_an_unknown_type(tmp_path)
    records = pt2_files.records_of(path)
    text = records[pt2_files.MODEL].replace(b"some_package.models.Pair", b"transformers.modeling_outputs.Missing")
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "transformers.modeling_outputs", raising=False)
    with pytest.raises(
        rx.ModelError, match=r"transformers.modeling_outputs, which cannot be imported(.|\n)*pip install"
    ):
        rx.from_torch(pt2_files.write(path, {**records, pt2_files.MODEL: text}))
