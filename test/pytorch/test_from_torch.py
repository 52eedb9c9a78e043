# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.from_torch: sizes and relations of them, structures of arguments and results, state, files, refusals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.export import Dim

import relax_mlir as rx


class Of(nn.Module):
    """Module that calls a function."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class Halves(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n = x.shape[0]
        return x[: n // 2], x[n // 2 :], x.reshape(n // 2, -1), x.repeat(2, 1), x[:n], x[0 : n + 5], x.flip(0)[: n - 1]


def compiled(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
    return rx.compile(rx.from_torch(model, args, kwargs, **options))["main"]


# ---- sizes ----


def test_expressions_over_sizes_hold_for_other_sizes() -> None:
    main = compiled(Halves(), (torch.randn(8, 3),), dynamic_shapes={"x": {0: 2 * Dim("half", min=2)}})
    for size in (4, 8, 14):
        x = torch.randn(size, 3)
        for one, other in zip(main(x), Halves()(x), strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("offset", [0, 1])
def test_sizes_that_no_whole_number_gives_are_refused(offset: int) -> None:
    """Call a model of 4*n or 4*n + 1 rows with other numbers of rows, which torch's own program refuses, too."""
    model = Of(lambda x: x[offset:].reshape(x.shape[0] // 4, 4).sum(1))
    dim = 4 * Dim("n", min=1, max=8) + offset
    module = rx.from_torch(model, (torch.randn(12 + offset),), dynamic_shapes=(({0: dim},),))
    assert "f64" not in str(module)  # quotients are whole numbers
    main = rx.compile(module)["main"]
    for size in range(4, 33):
        x = torch.randn(size + offset)
        if size % 4:
            with pytest.raises(ValueError, match=rf"has the size {size + offset}, expected 4\*\w+( \+ 1)? with"):
                main(x)
        else:
            torch.testing.assert_close(main(x), model(x))


def test_names_of_dimensions_are_those_of_sizes() -> None:
    batch, length = Dim("batch"), Dim("length")
    module = rx.from_torch(Of(lambda x, y: x + y), (torch.randn(2, 3), torch.randn(3)),
                           dynamic_shapes=(({0: batch, 1: length}, {0: length}),))  # fmt: skip
    assert 'R.Tensor(("batch", "length"), "float32")' in module.script()


def test_sizes_that_contradict_are_refused_by_torch_in_one_error() -> None:
    with pytest.raises(rx.ModelError, match=r"torch\.export cannot trace the model"):
        rx.from_torch(Of(lambda x, y: x + y), (torch.randn(2), torch.randn(3)))


class Kept(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept = x[x > 0]
        places = torch.nonzero(x > 0)
        return kept * 2, places + kept.shape[0]


def test_caches_of_transformers_are_refused_with_the_option() -> None:
    class DynamicCache:
        pass

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, DynamicCache]:
            return x, DynamicCache()

    with pytest.raises(rx.ModelError, match="cannot trace") as refused:
        rx.from_torch(Model(), (torch.ones(2),))
    assert "use_cache=False leaves it out" in refused.value.notes[0]


def test_sizes_that_depend_on_data() -> None:
    main = compiled(Kept(), (torch.randn(3, 4),))
    for x in (torch.randn(3, 4), -torch.ones(3, 4), torch.ones(3, 4)):
        for one, other in zip(main(x), Kept()(x), strict=True):
            torch.testing.assert_close(one, other)


class Counted(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        count = n.item()
        torch._check(count >= 1)
        torch._check(count <= 10)
        return torch.arange(count) + x.shape[0]


def test_a_number_in_a_tensor_is_a_size() -> None:
    main = compiled(Counted(), (torch.randn(3), torch.tensor(4)))
    for count in (1, 4, 9):
        assert main(torch.randn(3), torch.tensor(count)).tolist() == [3 + each for each in range(count)]


# ---- how a model is called ----


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


class Structured(nn.Module):
    def forward(
        self, x: torch.Tensor, options: dict[str, Any], pair: Pair, flag: bool = True, *, scale: torch.Tensor
    ) -> dict[str, Any]:
        total = x * options["factor"] + pair.first - pair.second
        return {
            "list": [total, total * scale],
            "inner": {"tuple": (x.sum(),), "none": None},
            "size": x.shape[0] * 2,
            "flag": flag,
        }


def test_programs_are_called_as_their_models() -> None:
    model, x, scale = Structured(), torch.randn(3, 2), torch.tensor(2.0)
    others = {"factor": torch.tensor(3.0)}, Pair(torch.ones(2), torch.zeros(2))
    main = compiled(model, (x, *others), {"scale": scale}, dynamic_shapes={
        "x": {0: Dim("n")}, "options": {"factor": None}, "pair": Pair(None, None), "scale": None})  # fmt: skip
    for size in (3, 5):
        x = torch.randn(size, 2)
        got, expected = main(x, *others, scale=scale), model(x, *others, scale=scale)
        assert got.keys() == expected.keys()
        assert (got["size"], got["flag"], got["inner"]["none"]) == (2 * size, True, None)
        assert isinstance(got["list"], list) and isinstance(got["inner"]["tuple"], tuple)
        torch.testing.assert_close(got["list"], expected["list"])
        torch.testing.assert_close(got["inner"]["tuple"], expected["inner"]["tuple"])


def test_calls_that_do_not_fit_say_where() -> None:
    x, pair, scale = torch.randn(3, 2), Pair(torch.ones(2), torch.ones(2)), torch.tensor(1.0)
    main = compiled(Structured(), (x, {"factor": scale}, pair), {"scale": scale})
    with pytest.raises(TypeError, match=r"argument 'options' must have the keys factor, got other"):
        main(x, {"other": scale}, pair, scale=scale)
    with pytest.raises(TypeError, match="missing argument scale"):
        main(x, {"factor": scale}, pair)
    with pytest.raises(TypeError, match="argument 'pair' must be a dictionary with the keys first, second, got int"):
        main(x, {"factor": scale}, 3, scale=scale)
    with pytest.raises(TypeError, match="no argument 'more'"):
        main(x, {"factor": scale}, pair, scale=scale, more=1)


def test_keywords_that_are_passed_by_position_are_named() -> None:
    x, pair, scale = torch.randn(3, 2), Pair(torch.ones(2), torch.ones(2)), torch.tensor(1.0)
    main = compiled(Structured(), (), {"x": x, "options": {"factor": scale}, "pair": pair, "scale": scale})
    with pytest.raises(
        TypeError, match=r"main: takes keywords: x, options, pair, scale; got 1 by position: main\(x=\.\.\.,"
    ):
        main(x)
    some = compiled(Structured(), (x, {"factor": scale}, pair), {"scale": scale})
    with pytest.raises(TypeError, match=r"takes 3 arguments by position and keywords: scale; got 4 by position"):
        some(x, {"factor": scale}, pair, scale)


def test_structures_survive_a_file(tmp_path: Path) -> None:
    args = torch.randn(3, 2), {"factor": torch.tensor(3.0)}, Pair(torch.ones(2), torch.ones(2))
    executable = rx.compile(rx.from_torch(Structured(), args, {"scale": torch.tensor(1.0)}))
    executable.save(tmp_path / "model.rxa")
    loaded = rx.runtime.load(tmp_path / "model.rxa")["main"]
    torch.testing.assert_close(
        loaded(*args, scale=torch.tensor(2.0))["list"], Structured()(*args, scale=torch.tensor(2.0))["list"]
    )


def test_gradients_are_returned_as_plain_tensors() -> None:
    class Named(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"y": (x * x).sum()}

    module = rx.from_torch(Named(), (torch.ones(3),))
    assert "relax.structure" in str(module)
    _, gradient = rx.compile(rx.grad(module, "main", ["x"]))["main_adjoint"](torch.ones(3))
    torch.testing.assert_close(gradient, 2 * torch.ones(3))


def test_damaged_structures_are_refused() -> None:
    from relax_mlir.runtime.call_structure import check_structure

    good = {"names": ["x"], "args": ["*"], "kwargs": [], "result": {"dict": [["y", "*"]]}}
    check_structure(good, 1, 1)
    numbers = {"complex": {"inputs": [0], "outputs": [1]}}
    changes = {"args": ["?"]}, {"result": {"set": []}}, {"names": []}, {"kwargs": 3}, {"args": ["*", "*"]}, numbers
    for change in changes:
        with pytest.raises(rx.runtime.ArtifactError, match="how the model is called"):
            check_structure({**good, **change}, 1, 1)


# ---- complex numbers ----


class Turned(nn.Module):
    """Module with complex parameters, changing buffers, arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = nn.Parameter(torch.tensor([1j, 2 - 1j, 0.5]))
        self.register_buffer("sum", torch.zeros(3, dtype=torch.complex64))

    def forward(self, x: torch.Tensor, options: dict[str, Any], *, scale: torch.Tensor) -> Any:
        self.sum.add_(x.sum(0))
        turned = x * self.turns + options["shift"]
        return {"turned": turned, "size": turned.abs()}, (turned * scale).conj()


def turned_program(**options: Any) -> tuple[rx.Executable, tuple[Any, ...], torch.Tensor]:
    args, scale = (numbers(4), {"shift": torch.ones(3)}), torch.tensor(2 - 3j)
    shapes = {"x": {0: Dim("n")}, "options": {"shift": None}, "scale": None}
    return rx.compile(rx.from_torch(Turned(), args, {"scale": scale}, dynamic_shapes=shapes, **options)), args, scale


def numbers(count: int) -> torch.Tensor:
    return torch.randn(count, 3, dtype=torch.complex64, generator=torch.Generator().manual_seed(count))


def test_complex_arguments_results_and_state(tmp_path: Path) -> None:
    executable, (_, options), scale = turned_program()
    executable.save(tmp_path / "model.rxa")
    loaded = rx.runtime.load(tmp_path / "model.rxa")
    model, own = Turned(), rx.to_torch(loaded, states={"sum": torch.zeros(3, dtype=torch.complex64)})
    total = torch.zeros(3, dtype=torch.complex64)
    for x in (numbers(4), numbers(3).T.contiguous().T, numbers(2).conj(), numbers(5)[::2]):
        expected = model(x, options, scale=scale)
        result, total = executable["main"](x, options, scale=scale, sum=total)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(total, model.sum)
        torch.testing.assert_close(own(x, options, scale=scale), expected)
    torch.testing.assert_close(own.sum, model.sum)


def test_complex_arguments_of_numpy() -> None:
    executable, (x, options), scale = turned_program()
    arguments = (x.numpy()[:, ::-1], {"shift": options["shift"].numpy()})
    (found, conjugated), _ = executable["main"](*arguments, scale=2 - 3j, sum=[0, 1j, 2])
    (expected, _) = Turned()(x.flip(1), options, scale=scale)
    torch.testing.assert_close(torch.from_numpy(found["turned"]), expected["turned"])
    assert conjugated.dtype == "complex64"
    assert rx.compile(rx.from_torch(Of(lambda: torch.full((2,), 1j)), ()))["main"]().tolist() == [1j, 1j]


def test_profiles_take_plain_tensors() -> None:
    executable, _, _ = turned_program()
    given = [rx.runtime.tensor(torch.ones(shape).numpy()) for shape in ((4, 3, 2), (3,), (2,), (3, 2))]
    assert executable.ready("main", *given)()[3].shape == (3, 2)
    assert executable.profile("main", *given, repeat=1).kernels


def test_complex_parameters_as_arguments() -> None:
    executable, (x, options), scale = turned_program(keep_params=True)
    turns = torch.tensor([0, 1j, 2])
    (found, _), _ = executable["main"](x, options, scale=scale, turns=turns, sum=turns)
    torch.testing.assert_close(found["turned"], x * turns + 1)


@pytest.mark.parametrize("change", [lambda x: x.real, lambda x: x.to(torch.complex128), torch.view_as_real])
def test_complex_arguments_of_other_types_are_refused(change: Callable[..., Any]) -> None:
    executable, (x, options), scale = turned_program()
    with pytest.raises(TypeError, match=r"main: argument 'x' expected dtype complex64, got \w+$"):
        executable["main"](change(x), options, scale=scale, sum=torch.zeros(3, dtype=torch.complex64))


def test_complex_steps_of_training_with_torch_compile() -> None:
    gradients = []
    for compiled_or_not in (lambda model: model, lambda model: torch.compile(model, backend="relax_mlir")):
        model = Turned()
        found, conjugated = compiled_or_not(model)(numbers(4), {"shift": torch.ones(3)}, scale=torch.tensor(1j))
        (found["size"].sum() + conjugated.imag.sum()).backward()
        gradients.append([model.turns.grad, model.sum, conjugated.detach()])
    torch.testing.assert_close(*gradients)


# ---- state and parameters ----


def test_parameters_as_arguments() -> None:
    model, x = nn.Linear(4, 2), torch.randn(3, 4)
    main = compiled(model, (x,), keep_params=True)
    torch.testing.assert_close(main(x, model.weight, bias=model.bias), model(x))
    torch.testing.assert_close(main(x, weight=2 * model.weight, bias=model.bias), model(x) * 2 - model.bias)


def test_parameters_share_torchs_memory() -> None:
    model = nn.Linear(64, 64)
    module = rx.from_torch(model, (torch.randn(3, 64),))
    with torch.no_grad():
        model.weight.fill_(0.5)  # which a module that shares memory sees
    (x,) = [torch.randn(3, 64)]
    torch.testing.assert_close(rx.compile(module)["main"](x), model(x))


# ---- files ----


def test_a_file_is_a_model(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 8), nn.GELU()), torch.randn(3, 4)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    torch.testing.assert_close(rx.compile(rx.from_torch(tmp_path / "model.pt2"))["main"](x), model(x))


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "model.pt2").write_bytes(b"no archive")
    with pytest.raises(rx.ModelError, match=r"is not a program that torch .* can read"):
        rx.from_torch(tmp_path / "model.pt2")
    with pytest.raises(rx.ModelError, match="no such file"):
        rx.from_torch(tmp_path / "other.pt2")


@pytest.mark.parametrize("target", ["llvm", "reference"])
def test_limits_of_sizes_are_those_of_torchs_program(target: str, tmp_path: Path) -> None:
    args = (torch.randn(8, 4), torch.randn(7, 3), torch.randn(2))
    dims = {0: 2 * Dim("half", max=5)}, {0: Dim("rows", min=5, max=9)}, {0: Dim("free")}
    program = torch.export.export(Of(lambda x, y, z: (x * 2, y.sum(0), z + 1)), args, dynamic_shapes=(dims,))
    torch.export.save(program, tmp_path / "model.pt2")
    ours, theirs = rx.compile(rx.from_torch(tmp_path / "model.pt2"), target)["main"], program.module()
    refused = []
    for sizes in ((2, 5, 1), (10, 9, 100), (12, 7, 2), (8, 4, 2), (8, 10, 2), (0, 7, 2)):
        given = [torch.randn(size, *each.shape[1:]) for size, each in zip(sizes, args, strict=True)]
        outcomes = []
        for function in (ours, theirs):
            try:
                function(*given)
                outcomes.append("")
            except Exception as error:
                outcomes.append(str(error))
        assert bool(outcomes[0]) == bool(outcomes[1]), (sizes, outcomes)
        refused.append(outcomes[0])
    assert [bool(each) for each in refused] == [False, False, True, True, True, False]
    assert "dimension 0: " in refused[2] and "is 12, expected 0 to 10" in refused[2]
    assert "is 4, expected 5 to 9" in refused[3] and "is 10, expected 5 to 9" in refused[4]


def test_limits_of_sizes_leave_the_plan_of_memory_alone() -> None:
    sizes = (({0: Dim("batch", max=1 << 20)},),)
    module = rx.from_torch(Of(lambda x: torch.softmax(x, 1) @ x.T), (torch.randn(3, 4),), dynamic_shapes=sizes)
    main = rx.compile(module)["main"]
    x = torch.randn(5, 4)
    torch.testing.assert_close(main(x), torch.softmax(x, 1) @ x.T)
    with pytest.raises(rx.OptionError, match=r"'batch' cannot be 1048577: @main allows 0\.\.1048576"):
        rx.compile(module, bind={"batch": (1 << 20) + 1})
    assert rx.compile(module, bind={"batch": 5})["main"](x).shape == (5, 5)


def test_only_the_least_size_may_be_limited() -> None:
    sizes = (({0: Dim("batch", min=3)},),)
    main = compiled(Of(lambda x: x + 1), (torch.randn(4),), dynamic_shapes=sizes)
    assert len(main(torch.zeros(100))) == 100
    with pytest.raises(ValueError, match="batch is 2, expected at least 3"):
        main(torch.zeros(2))


# ---- refusals ----


def test_everything_that_is_unknown_is_listed_with_its_line() -> None:
    with torch.library._scoped_library("relax_mlir_test", "FRAGMENT") as library:
        library.define("unknown(Tensor x) -> Tensor")
        library.define("other(Tensor x, int n) -> Tensor")
        library.impl("unknown", lambda x: x + 1, "CompositeExplicitAutograd")
        library.impl("other", lambda x, n: x + n, "CompositeExplicitAutograd")
        torch.library.register_fake("relax_mlir_test::unknown", torch.empty_like, lib=library)
        torch.library.register_fake("relax_mlir_test::other", lambda x, n: torch.empty_like(x), lib=library)
        operators = torch.ops.relax_mlir_test
        with pytest.raises(rx.ModelError) as caught:
            rx.from_torch(Of(lambda x: operators.other(operators.unknown(x).relu(), 3)), (torch.randn(3),))
    message = str(caught.value)
    assert "2 nodes of the model cannot be imported" in message
    assert "relax_mlir_test::unknown.default" in message and "relax_mlir_test::other.default" in message
    assert "test_from_torch.py:" in message
    assert '@rx.register_torch("relax_mlir_test::unknown.default")' in message


def test_an_operator_of_ones_own_in_five_lines() -> None:
    from relax_mlir import relax

    @torch.library.custom_op("relax_mlir_test::scaled_relu", mutates_args=())
    def scaled_relu(x: torch.Tensor, factor: float) -> torch.Tensor:
        return torch.relu(x) * factor

    scaled_relu.register_fake(lambda x, factor: torch.empty_like(x))

    @rx.register_torch("relax_mlir_test::scaled_relu.default")
    def convert(node: Any) -> Any:
        return relax.multiply(relax.nn.relu(node.tensor("x")), relax.const(node.float("factor"), node.dtype))

    x = torch.randn(5)
    torch.testing.assert_close(compiled(Of(lambda x: scaled_relu(x, 3.0)), (x,))(x), torch.relu(x) * 3)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (lambda x: x, {}, "a function is not a model: wrap it in a torch.nn.Module"),
        (3, {}, "a model of torch is a Module, an ExportedProgram or the path of a .pt2 file, got int"),
        (nn.ReLU(), {}, "a Module is traced with arguments"),
        ("model.pt2", {"args": (1,)}, "args, kwargs and dynamic_shapes are for a Module: a file has been traced"),
        (nn.ReLU(), {"args": torch.ones(2)}, "args are a tuple"),
        (nn.ReLU(), {"args": (torch.ones(2).to_sparse(),)}, "has the layout torch.sparse_coo"),
        (nn.Identity(), {"args": (torch.ones(2).view(torch.bits16),)}, "input 'input': tensors of bits16 are not"),
        (nn.Linear(2, 2, device="meta"), {"args": (torch.randn(1, 2, device="meta"),)}, "on device 'meta'"),
    ],
    ids=["function", "number", "no arguments", "of a file", "no tuple", "sparse", "dtype", "meta"],
)
def test_objects_that_are_no_models_are_refused(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.from_torch(source, **options)


def test_training_mode_is_said() -> None:
    with pytest.warns(UserWarning, match="the model is in training mode, and so are BatchNorm1d"):
        rx.from_torch(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train(), (torch.randn(3, 4),))


def test_a_refused_shape_is_one_message(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(rx.ModelError, match=r"torch\.export cannot trace the model"):
        rx.from_torch(Of(lambda x, y: x + y), (torch.randn(3), torch.randn(4)))
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_a_branch_on_values_is_told_torch_cond() -> None:
    with pytest.raises(rx.ModelError, match=r"torch\.cond\(condition, if_true, if_false, operands\)"):
        rx.from_torch(Of(lambda x: x if x.sum() > 0 else -x), (torch.randn(3),))
