# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.jit beside jax.jit."""

from __future__ import annotations

import functools
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from relax_mlir.passes.kernels.tir_use_tuned import UseTuned
from relax_mlir_jax import jax_arrays

import relax_mlir as rx

#: Element types that numpy cannot compare.
_BELOW_A_BYTE = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn")
_WIDENED = ("bfloat16", "float8_e8m0fnu", *_BELOW_A_BYTE)


def agree(function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    """Check that the structure, element types (including weak ones) and values equal jax's."""
    got, wanted = rx.jit(function)(*arguments, **named), jax.jit(function)(*arguments, **named)
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert isinstance(one, jax.Array)
        assert (one.shape, one.dtype, one.aval.weak_type) == (other.shape, other.dtype, other.aval.weak_type)
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        exact = not jnp.issubdtype(one.dtype, jnp.inexact)
        wide = [np.asarray(each.astype("float32") if each.dtype.name in _WIDENED else each) for each in (one, other)]
        np.testing.assert_allclose(*wide, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)


class Pair(NamedTuple):
    first: Any
    second: Any


x = jnp.linspace(-1.0, 2.0, 6).reshape(2, 3)


def test_arrays_and_numbers() -> None:
    agree(lambda a, b: jnp.tanh(a) @ a.T + b, x, 2)
    agree(lambda a: a * 2.5, 3)
    agree(lambda a: (a + 1, a.sum()), np.arange(6, dtype="int64"))  # 32 bits, like in jax
    agree(lambda a: a * 2, np.arange(6.0)[::-2])
    agree(lambda a, b: jnp.where(b, a, 0), x, True)
    agree(lambda a: a.astype("float32").mean(), jnp.arange(7, dtype="uint8"))


def test_results_are_weak_without_a_program_of_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return weak types without jax's conversion, which would take longer than a small program."""

    def refused() -> Any:
        raise AssertionError("jax converts")

    monkeypatch.setattr(jax_arrays, "_convert_weakly", refused)
    strong, weak = rx.jit(lambda a, b: (a * 2, b + 1))(x, 3.0)
    assert weak.aval.weak_type and weak.weak_type and not strong.aval.weak_type
    # This also applies to the signatures by which jax finds traced functions.
    scaled = jax.jit(lambda a: a * jnp.ones((), "bfloat16"))
    assert [scaled(each).dtype for each in (strong, weak, strong)] == ["float32", "bfloat16", "float32"]


@pytest.mark.parametrize(
    "dtype", [*"bfloat16 float16 bool int8 uint32 complex64 float8_e8m0fnu".split(), *_BELOW_A_BYTE]
)
def test_element_types(dtype: str) -> None:
    agree(lambda a: (a, a * a), jnp.arange(1, 7).astype(dtype))
    agree(lambda a: a + a, np.arange(1, 4).astype(jnp.dtype(dtype)))
    agree(lambda a: a.astype("float32"), jnp.arange(1, 7).astype(dtype))
    agree(lambda a: a.astype(dtype), jnp.array([0.26, 0.75, 1.25, 2.5, 3.0]))


def test_trees_of_arguments_and_results() -> None:
    agree(lambda tree, *, scale: Pair(tree["a"] * scale, [tree["b"][0], None]), {"a": x, "b": (x + 1,)}, scale=3.0)
    agree(lambda pair: {"sum": pair.first + pair.second, "empty": ()}, Pair(x, 1))


def test_functions_may_ignore_or_lack_arguments() -> None:
    agree(lambda a, b, c: b * 2, x, x + 1, jnp.ones((0, 2)))
    agree(lambda: jnp.arange(4))
    agree(lambda a: None, x)
    agree(lambda a: (a, a), x)


def test_keys_of_random_numbers() -> None:
    agree(lambda key: (jax.random.split(key), jax.random.uniform(key, (3,))), jax.random.key(1))


def test_static_arguments() -> None:
    calls = []

    @functools.partial(rx.jit, static_argnames=("rows", "flag"))
    def f(a: Any, rows: int, *, flag: bool = False) -> Any:
        calls.append(rows)
        return a.reshape(rows, -1) if flag else a

    assert f(x, 3, flag=True).shape == (3, 2)
    assert f(x + 1, 3, flag=True).shape == (3, 2)
    assert f(x, rows=6, flag=True).shape == (6, 1)
    assert f(x, 3).shape == (2, 3)
    assert calls == [3, 6, 3]
    by_place = rx.jit(lambda n, a: a * n, static_argnums=0)
    assert [by_place(n, x).dtype for n in (1, 1.0, True)] == [x.dtype] * 3
    with pytest.raises(TypeError, match=r"static argument 0 of <lambda> is a list, which cannot be hashed"):
        by_place([1], x)


def test_one_program_for_arguments_of_one_kind() -> None:
    traced = []

    @rx.jit
    def f(a: Any) -> Any:
        traced.append(a.shape)
        return a + 1

    for each in (x, x * 2, x[:1], np.asarray(x), x.astype(jnp.bfloat16), x):
        np.testing.assert_array_equal(np.asarray(f(each), "float32"), np.asarray(each + 1, "float32"))
    assert len(traced) <= 4
    with jax.enable_x64(True):
        assert f(jnp.arange(3, dtype="float64")).dtype == "float64"


def test_threads_share_programs() -> None:
    traced: list[int] = []
    f = rx.jit(lambda a: traced.append(1) or a * 2)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(f(x))) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 8 and len(traced) == 1
    np.testing.assert_array_equal(np.stack(found), np.stack([x * 2] * 8))


def test_results_are_of_memory_of_their_own() -> None:
    given = np.arange(16, dtype="float32")
    same = rx.jit(lambda a: a)(given)
    flat = rx.jit(lambda a: a.reshape(4, 4))(given)
    given[:] = 7
    np.testing.assert_array_equal(same, np.arange(16))
    np.testing.assert_array_equal(flat.reshape(-1), np.arange(16))


def test_donated_arguments_are_deleted() -> None:
    state, step = {"w": x + 1}, x + 2
    f = rx.jit(lambda s, d: {"w": s["w"] + d}, donate_argnums=0)
    wanted = np.asarray(state["w"] + step)
    new = f(state, step)
    assert state["w"].is_deleted() and not step.is_deleted()
    np.testing.assert_array_equal(new["w"], wanted)
    with pytest.raises(rx.OptionError, match="argument 0 is static and donated"):
        rx.jit(lambda s: s, donate_argnums=0, static_argnums=0)


def test_methods_and_decorators() -> None:
    class Model:
        @rx.jit(static_argnums=0, opt_level=1)
        def __call__(self, a: Any) -> Any:
            """What it says."""
            return a * 3

    np.testing.assert_array_equal(Model()(x), x * 3)
    assert Model.__call__.__doc__ == "What it says."
    assert repr(Model.__call__) == "<rx.jit of __call__>"


def test_gradients_and_batches_are_taken_inside() -> None:
    agree(jax.value_and_grad(lambda a: jnp.sum(jnp.sin(a) ** 2)), x)
    agree(jax.vmap(lambda a: jnp.dot(a, a)), x)
    agree(jax.hessian(lambda a: jnp.sum(a**3)), x[0])
    agree(lambda a: jax.lax.fori_loop(0, 5, lambda i, s: s * 0.5 + i, a), x)


def test_inside_of_another_trace() -> None:
    f = rx.jit(lambda a: a * 2)
    f(x)
    for outer in (jax.jit(lambda a: f(a)), jax.grad(lambda a: f(a).sum()), jax.vmap(f)):
        with pytest.raises(rx.ModelError, match=r"while jax traces another function.*rx.jit\(jax.grad\(f\)\)"):
            outer(x)


def test_all_that_cannot_be_imported_is_told_at_once() -> None:
    def f(a: Any) -> Any:
        call = lambda name: jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((3,), "float32"))(a[0])  # noqa: E731
        return call("acme_other"), call("acme_unknown")

    with pytest.raises(rx.ModelError) as caught:
        rx.jit(f)(jnp.eye(3))
    text = str(caught.value)
    assert "custom_call @acme_other" in text and "custom_call @acme_unknown" in text and "test_jit.py" in text


def test_calls_of_python(capfd: pytest.CaptureFixture[str]) -> None:
    shape = jax.ShapeDtypeStruct((2, 3), "float32")
    agree(lambda a: jax.pure_callback(np.sin, shape, a) * 2, x)
    agree(jax.vmap(lambda a: jax.pure_callback(np.sum, shape.update(shape=()), a, vmap_method="sequential")), x)
    several = (jax.ShapeDtypeStruct((2, 3), "complex64"), jax.ShapeDtypeStruct((3,), "bfloat16"))
    agree(lambda a: jax.pure_callback(lambda b: (np.asarray(b), b[0].real.astype("bfloat16")), several, a * 1j), x)
    agree(lambda a: jax.lax.cond(a[0, 0] > 0, lambda: jax.pure_callback(np.cos, shape, a), lambda: a), x)
    rx.jit(lambda a: jax.debug.print("first {} {last}", a.max(), last=a[0, 0]))(x)
    jax.effects_barrier()
    assert capfd.readouterr().out == "first 2.0 -1.0\n"


def test_calls_with_effects_are_in_order_and_none_is_left_out() -> None:
    seen: list[Any] = []

    def see(value: Any) -> Any:
        seen.append(float(value))
        return np.float32(value)

    def f(a: Any) -> Any:
        def step(place: Any, held: Any) -> Any:
            jax.debug.callback(see, -place, ordered=True)
            return held + jax.experimental.io_callback(see, jax.ShapeDtypeStruct((), "float32"), place, ordered=True)

        jax.debug.callback(see, a[0, 0])
        return jax.lax.fori_loop(0, 3, step, a[1])

    np.testing.assert_allclose(rx.jit(f)(x), x[1] + 3)
    assert seen == [-1.0, 0.0, 0.0, -1.0, 1.0, -2.0, 2.0]


def test_errors_of_callbacks_are_raised() -> None:
    class Mine(Exception):
        pass

    def raising(a: Any) -> Any:
        raise Mine("no such thing")

    shape = jax.ShapeDtypeStruct((2, 3), "float32")
    for function, text in (
        (raising, "a callback of jax raised Mine: no such thing"),
        (lambda a: np.zeros(3), r"gave float32\[3\] as result #0, float32\[2, 3\] was expected"),
        (lambda a: (a, a), "a callback of jax gave 2 results, 1 were expected"),
    ):
        f = rx.jit(lambda a, function=function: jax.pure_callback(function, shape, a) + 1)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=text):
                f(x)


def test_callbacks_live_as_long_as_their_programs(tmp_path: Path) -> None:
    from relax_mlir_jax import jax_callbacks

    shape, before = jax.ShapeDtypeStruct((2, 3), "float32"), len(jax_callbacks._callbacks)
    f = rx.jit(lambda a: jax.pure_callback(np.sin, shape, a))
    f(x)
    jax.clear_caches()
    gc.collect()
    np.testing.assert_allclose(f(x), np.sin(x), rtol=1e-6)
    executable = f.executable(x)
    del f
    jax.clear_caches()
    gc.collect()
    assert len(jax_callbacks._callbacks) == before
    with pytest.raises(RuntimeError, match="lives in the process which compiled it only"):
        executable["main"](x)


def test_large_constants_go_as_bytecode_and_unreadable_ones_as_text() -> None:
    table = np.arange(300_000, dtype="float32").reshape(-1, 3)
    agree(lambda a: a @ table.T, x)
    agree(lambda a: jax.lax.top_k(a @ table.T, 2), x)


def test_modules_whose_text_cannot_be_parsed_go_as_bytecode() -> None:
    """Use bytecode, since StableHLO's parser refuses its printed dynamic_slice without dimensions."""
    assert int(rx.jit(lambda x: jax.lax.dynamic_slice(x, [], []))(jnp.int32(3))) == 3


def test_orders_of_operations() -> None:
    reason = "jax before 0.10 has no control dependencies"
    schedule = pytest.importorskip("jax.experimental.control_deps", reason=reason).schedule

    def ordered(x: Any) -> Any:
        parts = [jnp.sin(x), jnp.cos(x)]
        schedule(parts)
        return sum(parts)

    x = jnp.arange(3.0)
    np.testing.assert_allclose(rx.jit(ordered)(x), ordered(x), rtol=1e-6)


def test_options() -> None:
    with pytest.raises(rx.OptionError, match=r"rx\.jit takes a function, got int"):
        rx.jit(3)  # type: ignore[arg-type]
    with pytest.raises(rx.OptionError, match="no argument 'rows'"):
        rx.jit(lambda a: a, static_argnames="rows")
    with pytest.raises(rx.RelaxError, match="nothere"):
        rx.jit(lambda a: a, target="nothere")(x)
    with pytest.raises(rx.RelaxError, match="nothere"):
        rx.jit(lambda a: a, partition=["nothere"])(x)


def test_a_function_for_several_devices_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "devices.py"
    program.write_text(
        "import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'\n"
        "import jax, jax.numpy as jnp, relax_mlir as rx\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n"
        "mesh = Mesh(jax.devices(), 'i')\nx = jax.device_put(jnp.arange(4.0), NamedSharding(mesh, P('i')))\n"
        "def f(a):\n    swapped = jax.lax.ppermute(a, 'i', [(0, 1), (1, 0)])\n"
        "    return jax.lax.psum(a, 'i'), jax.lax.all_gather(a, 'i'), swapped\n"
        "split = jax.shard_map(f, mesh=mesh, in_specs=P('i'), out_specs=(P(), P('i'), P('i')))\n"
        "each = jax.pmap(lambda a: jax.lax.psum(a, 'i'), axis_name='i')\n"
        "for g, y in ((lambda a: a + 1, x), (split, x), (each, x.reshape(2, 2))):\n"
        "    try:\n        rx.jit(g)(y)\n    except rx.RelaxError as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False)
    plain, split, mapped = done.stdout.splitlines()
    for line in (plain, split, mapped):
        assert line.startswith("the function is for 2 devices"), done.stdout + done.stderr
    for name in ("stablehlo.all_gather (1)", "stablehlo.all_reduce (1)", "stablehlo.collective_permute (1)"):
        assert name in split
    assert "stablehlo.all_reduce (1)" in mapped


@pytest.mark.parametrize("scatter", [jax.lax.scatter, jax.lax.scatter_add, jax.lax.scatter_mul])
def test_updates_that_are_outside_in_part_are_dropped_whole(scatter: Any) -> None:
    """Drop windows of updates as a whole like XLA, on which jax's gradients rely."""
    numbers = jax.lax.ScatterDimensionNumbers((1,), (), (0,))
    indices, updates = jnp.array([[9], [-1], [3], [8]]), jnp.arange(1.0, 9.0).reshape(4, 2)
    agree(lambda a, b: scatter(a, indices, b, numbers, mode="fill"), jnp.arange(10.0), updates)


def test_collectives_of_one_device() -> None:
    """Run collectives on one device: each returns its operand, or zeros."""

    def each(a: Any) -> Any:
        summed = [jax.lax.psum(a, "i"), jax.lax.pmax(a, "i"), jax.lax.psum_scatter(a, "i", tiled=True)]
        moved = [jax.lax.ppermute(a, "i", pairs) for pairs in ([], [(0, 0)])]
        return [*summed, *moved, jax.lax.all_gather(a, "i"), jax.lax.all_to_all(a, "i", 0, 0), jax.lax.axis_index("i")]

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), "i")
    part = jax.sharding.PartitionSpec()
    agree(jax.shard_map(each, mesh=mesh, in_specs=part, out_specs=part, check_vma=False), x[:1])


def test_a_program_is_saved(tmp_path: Path) -> None:
    rx.jit(lambda a: {"double": a * 2}).executable(x).save(tmp_path / "f.rxa")
    np.testing.assert_array_equal(rx.runtime.load(tmp_path / "f.rxa")["main"](x), x * 2)


def test_symbolic_sizes() -> None:
    sizes = export.symbolic_shape("b, 2*b")
    exported = export.export(jax.jit(lambda a: jnp.tanh(a).sum(1, keepdims=True) - a))(
        jax.ShapeDtypeStruct(sizes, "float32")
    )
    main = rx.compile(rx.from_stablehlo(exported))["main"]
    for size in (1, 3, 5):
        a = jnp.linspace(-1, 1, size * size * 2).reshape(size, 2 * size)
        np.testing.assert_allclose(main(a), jnp.tanh(a).sum(1, keepdims=True) - a, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError):
        main(jnp.ones((2, 3)))


def test_without_jax(tmp_path: Path) -> None:
    program = tmp_path / "without.py"
    program.write_text(
        "import sys\nsys.modules['jax'] = None\nimport relax_mlir as rx\n"
        "try:\n    rx.jit(lambda a: a)\nexcept rx.RelaxError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert "pip install relax-mlir[jax]" in done.stdout, done.stderr


def test_a_jax_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "__version_info__", (0, 4, 30))
    with pytest.raises(rx.ModelError, match=r"too old: 0.6 or newer is needed"):
        rx.jit(lambda a: a)


def test_a_jax_with_other_private_functions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir
    from relax_mlir_jax import jax_callbacks
    from relax_mlir_jax.pjrt import plugin

    words = rf"jax {jax.__version__} is not known: .*0.10"
    with monkeypatch.context() as patch:
        patch.delattr(mlir, "LoweringRuleEntry")
        jax_callbacks.register_lowerings.cache_clear()
        with pytest.raises(rx.ModelError, match=words):
            rx.jit(lambda a: a)
    jax_callbacks.register_lowerings.cache_clear()
    with monkeypatch.context() as patch:
        patch.delattr(xla_bridge, "register_plugin")
        with pytest.raises(rx.ModelError, match=words):
            plugin.register()


@pytest.mark.parametrize("algorithm", list(jax.lax.RandomAlgorithm))
def test_random_bits_are_those_of_jax(algorithm: Any) -> None:
    key = jnp.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], "uint32")
    for shape, dtype in (((), "uint32"), ((3, 5), "uint16"), ((4, 6), "uint32"), ((7,), "uint8")):
        agree(lambda a: jax.lax.rng_bit_generator(a, shape, dtype, algorithm), key)  # noqa: B023  # called at once


def test_logarithms_of_complex_numbers_near_the_unit_circle() -> None:
    near = jnp.exp(1j * jnp.linspace(-3.0, 3.0, 9)) * (1 + 1e-3 * jnp.arange(9))
    wanted = np.log(np.asarray(near, "complex128"))
    np.testing.assert_allclose(rx.jit(jnp.log)(near), wanted, rtol=1e-6, atol=1e-9)
    small = (near * 1e-5).astype("complex64")
    wanted = np.log1p(np.asarray(small, "complex128"))
    np.testing.assert_allclose(rx.jit(jnp.log1p)(small), wanted, rtol=1e-6)


def test_the_nearly_largest_elements() -> None:
    agree(lambda a: jax.lax.approx_max_k(a, 2), x)
    agree(lambda a: jax.lax.approx_min_k(a, 1, reduction_dimension=0), x)


def test_windows_larger_than_the_data() -> None:
    agree(lambda a, b: jax.lax.conv_general_dilated(a, b, (1, 1), "VALID"), x[None, None], jnp.ones((1, 1, 4, 4)))


def test_plans_of_a_folder_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(UseTuned, "run", lambda step, module: asked.append(step.folder))
    square = jnp.ones((4, 4))
    np.testing.assert_array_equal(rx.jit(lambda a: a @ a, tuned=tmp_path)(square), square @ square)
    assert asked == [str(tmp_path)]
    monkeypatch.undo()
    with pytest.raises(rx.RelaxError, match=r"tuned kernels in '.*missing' cannot be read"):
        rx.jit(lambda a: a @ a.T, tuned=tmp_path / "missing")(x)
