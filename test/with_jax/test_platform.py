# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Platform `relax` of jax, in separate processes: a process has one set of platforms."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_HEAD = """
import gc, os, sys, threading
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(6.0).reshape(2, 3)
def refusal(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("not refused")
"""


def run(tmp_path: Path, program: str, platforms: str = "relax", **variables: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "program.py"
    path.write_text(_HEAD + program, encoding="utf-8")
    environment = {**os.environ, "JAX_PLATFORMS": platforms, **variables}
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=600, check=False, env=environment
    )


def passes(tmp_path: Path, program: str, platforms: str = "relax", **variables: str) -> str:
    """Run a program that must end without an error, and return its output."""
    done = run(tmp_path, program, platforms, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_functions_run_on_its_device(tmp_path: Path) -> None:
    found = passes(tmp_path, "print(jax.devices(), jax.jit(lambda a: a * 2)(jnp.arange(3.0)))")
    assert found == "[relax:0] [0. 2. 4.]\n"


def test_arrays_in_and_out(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
for name in "bfloat16 float16 float32 int2 uint4 int8 int32 bool complex64 float8_e4m3fn float4_e2m1fn".split():
    given = (np.arange(12) % 4 + 1).reshape(3, 4).astype(jnp.dtype(name))
    for each in (given, given[::-2, ::-1], given.T, given[:0], given[0, 0]):
        np.testing.assert_array_equal(np.asarray(jnp.asarray(each)).astype("c8"), np.asarray(each).astype("c8"))
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda a: a)(each)).astype("c8"), each.astype("c8"))
with jax.enable_x64(True):
    assert (jnp.arange(3) / 2).dtype == "float64"
a = x + 1
shown = np.asarray(a)
assert shown.ctypes.data == a.unsafe_buffer_pointer()
a.delete()
del a
gc.collect()
others = [x * each for each in range(20)]
np.testing.assert_array_equal(shown, np.arange(1.0, 7).reshape(2, 3))
assert "deleted" in refusal(lambda: others[0].delete() or others[0] + 1)
assert jax.device_put(x, jax.devices()[0]).shape == (2, 3)
""",
    )


def test_exchange_by_dlpack(tmp_path: Path) -> None:
    """Share the memory, which stays while the other array is there, also after the own array is deleted."""
    program = """
from relax_mlir.runtime.arrays import share, to_numpy
for name in "bool int8 uint64 float16 float32 bfloat16 complex64 float8_e4m3fn".split():
    with jax.enable_x64(True):
        given = jax.device_put(np.arange(6).reshape(2, 3).astype(jnp.dtype(name)))
    assert given.__dlpack_device__() == (1, 0)
    shown = to_numpy(share(given)) if name in ("bfloat16", "float8_e4m3fn") else np.from_dlpack(given)
    assert shown.dtype == name and shown.ctypes.data == given.unsafe_buffer_pointer()
    np.testing.assert_array_equal(shown, np.asarray(given))
shown, copied = np.from_dlpack(x), np.from_dlpack(x, copy=True)
assert shown.ctypes.data == x.unsafe_buffer_pointer() != copied.ctypes.data and not shown.flags.writeable
x.delete()
gc.collect()
others = [jnp.ones((2, 3)) * each for each in range(20)]
np.testing.assert_array_equal(shown, np.arange(6.0).reshape(2, 3))
assert "not int4 to a CPU" in refusal(jnp.ones(3, "int4").__dlpack__)
assert "not float32 to (2, 0)" in refusal(lambda: others[0].__dlpack__(dl_device=(2, 0)))
if "cpu" in jax.config.jax_platforms:
    cpu, relax = jax.devices("cpu")[0], jax.devices()[0]
    back = jax.dlpack.from_dlpack(others[3])
    assert back.devices() == {cpu} and back.tolist() == others[3].tolist() == np.from_dlpack(back).tolist()
    assert jax.dlpack.from_dlpack(copied.copy(), device=relax).devices() == {relax}
"""
    passes(tmp_path, program)
    passes(tmp_path, program, "relax,cpu")


def test_transfers_are_guarded_as_on_jax_s_cpus(tmp_path: Path) -> None:
    """Raise JAX's own error for implicit transfers, and none for runs without them."""
    passes(
        tmp_path,
        """
y, key = jnp.ones((2, 3)), jax.random.key(1)
f = jax.jit(lambda a, b: jax.lax.fori_loop(0, 3, lambda i, held: held * b + np.arange(3.0), a))
quiet = [lambda: f(x, y), lambda: jax.jit(jax.random.normal)(key), lambda: x + y, lambda: jnp.arange(5),
         lambda: jax.jit(jnp.linalg.eigh)(x @ x.T), lambda: jax.device_put(np.ones(3)), lambda: jax.device_get(f(x, y)),
         lambda: jax.jit(lambda a: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((2, 3), "float32"), a))(x)]
implicit = [lambda: f(x, np.ones((2, 3))), lambda: x + 1, lambda: jnp.sin(np.ones(3)), lambda: jax.random.key(0)]
for guard in (jax.transfer_guard, jax.transfer_guard_host_to_device):
    with guard("disallow"):
        for each in quiet:
            jax.block_until_ready(each())
        for each in implicit:
            text = refusal(each)
            assert text.startswith("JaxRuntimeError: INVALID_ARGUMENT: Disallowed host-to-device transfer"), text
with jax.transfer_guard("disallow_explicit"):
    jax.block_until_ready(f(x, y))
    assert "Disallowed host-to-device transfer" in refusal(lambda: jax.device_put(np.ones(3)))
""",
        "relax,cpu",
    )


def test_small_floats_are_those_of_jax(tmp_path: Path) -> None:
    """Round conversions like XLA, with the same element types."""
    passes(
        tmp_path,
        """
values = np.array([0.26, 0.75, 1.25, 2.5, 5, 7, 448, -1, 2.0**-130, np.inf, np.nan], "float32")
own, cpu = jax.devices("relax")[0], jax.devices("cpu")[0]
for name in "float4_e2m1fn float8_e8m0fnu float8_e4m3 float8_e3m4".split():
    functions = [lambda a: a.astype("float32").astype(name).astype("bfloat16"), lambda a: a.astype(name)[::-1]]
    for function in functions:
        one, other = (np.asarray(jax.jit(function)(jax.device_put(values, each))) for each in (own, cpu))
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.astype("float32"), other.astype("float32"), err_msg=name)
""",
        "relax,cpu",
    )


def test_arrays_of_the_platform_in_rx_jit(tmp_path: Path) -> None:
    """Return results on the platform."""
    program = """
import relax_mlir as rx
f = rx.jit(lambda tree, y: {"sum": tree["a"] + y, "same": tree["a"]}, opt_level=0)
for name in "float32 complex64 float4_e2m1fn".split():
    given = jax.device_put(np.ones((2, 3), jnp.dtype(name)))
    found = f({"a": given}, given)
    assert all(each.devices() == given.devices() and each.dtype == name for each in found.values())
    np.testing.assert_array_equal(np.asarray(found["same"]), np.asarray(given))
    assert (np.asarray(found["sum"]).astype("complex64") == 2).all()
key = jax.device_put(jax.random.key(1))
donated = jax.device_put(np.float32(2))
split, product = rx.jit(lambda k, a, b: (jax.random.split(k), a * b), donate_argnums=1)(key, donated, np.ones(3, "i1"))
assert split.devices() == product.devices() == x.devices() and product.tolist() == [2, 2, 2] and donated.is_deleted()
"""
    alone = "\nassert rx.jit(lambda: jnp.arange(3))().devices() == x.devices()"
    passes(tmp_path, program + alone)
    both = "\ncpu = jax.devices('cpu')[0]\nassert rx.jit(lambda a: a + 1)(jax.device_put(x, cpu)).devices() == {cpu}"
    passes(
        tmp_path,
        "import relax_mlir as rx\nassert rx.jit(lambda a: a + 1)(x).devices() == x.devices()" + both,
        "relax,cpu",
    )


def test_transformations_of_jax_work_on_the_platform(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
np.testing.assert_allclose(jax.grad(lambda a: jnp.sum(jnp.sin(a)))(x), np.cos(x), rtol=1e-5, atol=1e-6)
assert jax.lax.fori_loop(0, 5, lambda i, s: s + i, 0) == 10
assert jax.lax.scan(lambda c, y: (c + y, c * y), 0.0, jnp.arange(5.0))[0] == 10
np.testing.assert_array_equal(jax.vmap(jnp.dot)(x, x), (np.asarray(x) ** 2).sum(1))
assert jax.random.normal(jax.random.key(0), (3,)).shape == (3,)
np.testing.assert_allclose(jnp.fft.fft(x), np.fft.fft(x), rtol=1e-5, atol=1e-5)
assert len(jax.jit(lambda a: [a + each for each in range(20)])(x)) == 20
compiled = jax.jit(lambda a: a + 1).lower(x).compile()
np.testing.assert_array_equal(compiled(x), x + 1)
assert "HloModule" in compiled.as_text()
a = x + 1
b = jax.jit(lambda s: s * 2, donate_argnums=0)(a)
assert a.is_deleted() and b[0, 0] == 2
""",
    )


def test_errors_have_our_words_and_lose_no_exception(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
unknown = jax.ffi.ffi_call("acme_unknown", jax.ShapeDtypeStruct((2, 3), "float32"))
other = jax.ffi.ffi_call("acme_other", jax.ShapeDtypeStruct((2, 3), "float32"))
text = refusal(jax.jit(lambda a: (other(a), unknown(a))), x)
assert "JaxRuntimeError: UNIMPLEMENTED: 2 operations of the module cannot be imported" in text, text
assert "custom_call @acme_other" in text and "custom_call @acme_unknown" in text and "program.py:" in text, text
for number in range(100):
    try:
        a = x + number
        1 / 0
    except ZeroDivisionError:
        del a
def unwound():
    a = x + 1
    raise KeyError(a)
for number in range(100):
    try:
        unwound()
    except KeyError:
        pass
""",
    )


def test_threads(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
wrong = []
def work(factor):
    function = jax.jit(lambda a: a * factor + 1)
    for number in range(200):
        if float(function(jnp.full(4, float(number)))[0]) != number * factor + 1:
            wrong.append(number)
        if number % 50 == 0:
            gc.collect()
threads = [threading.Thread(target=work, args=(factor,)) for factor in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert not wrong
gc.collect()
from relax_mlir_jax.pjrt import c_handles as handles
handles.clear()
assert len(handles.held_by_handle) < 100, len(handles.held_by_handle)
""",
    )


def test_serialized_executables_and_the_compilation_cache(tmp_path: Path) -> None:
    program = f"""
from jax.experimental.serialize_executable import deserialize_and_load, serialize
f = jax.jit(lambda a, b: (jnp.sin(a) @ b.T, (a > 2).sum(), b), donate_argnums=1)
def bits(g):
    return [np.asarray(each).tobytes() for each in g(x, jnp.ones((2, 3)))]
data, *rest = serialize(f.lower(x, x).compile())
assert bits(deserialize_and_load(data, *rest)) == bits(f)
damaged = bytearray(data)
damaged[data.index(b"relax-mlir") + 1000] ^= 1
assert "is damaged" in refusal(deserialize_and_load, bytes(damaged), *rest)
assert "not of the platform relax" in refusal(deserialize_and_load, data.replace(b"relax-mlir", b"relax-nlir"), *rest)
calling = jax.jit(lambda a: jax.pure_callback(lambda b: b, a, a)).lower(x).compile()
assert "the program calls functions of this Python process" in refusal(serialize, calling)

from jax import monitoring
monitoring.register_event_listener(lambda event, **_: counts.append(event[29:]))
counts = []
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.jit(lambda a: jnp.tanh(a) + 1)(x)
print(*(counts.count(each) for each in ("misses", "hits")))
"""
    assert [passes(tmp_path, program, "relax,cpu") for _ in range(2)] == ["1 0\n", "0 1\n"]
    assert passes(tmp_path, program, "relax,cpu", RELAX_JAX_OPT_LEVEL="1") == "1 0\n"


_LONG_PROGRAM = """
long = jax.jit(lambda a: (jax.lax.fori_loop(0, 2000, lambda i, b: jnp.tanh(b @ a), a), a.sum()))
a = jnp.full((128, 128), 0.01)
def first(b):
    return long(b)[0]
first(a)
"""


def test_long_calls_are_queued(tmp_path: Path) -> None:
    passes(
        tmp_path,
        _LONG_PROGRAM
        + """
expected = np.asarray(first(a))
called = [first(a) for _ in range(3)]
assert not called[2].is_ready()
np.testing.assert_array_equal(called[2], expected)
# A short call waits in the queue for its argument. A deleted or donated one stays there.
donating = jax.jit(lambda b: b * 2, donate_argnums=0)
donating(a + 1)
pending = first(a)
doubled, kept = donating(pending), first(a)
plus = kept + 1
assert pending.is_deleted() and not plus.is_ready()
kept.delete()
np.testing.assert_array_equal(doubled, expected * 2)
np.testing.assert_array_equal(plus, expected + 1)
assert "deleted" in refusal(np.asarray, kept)
np.testing.assert_array_equal(np.from_dlpack(jax.device_put(first(a), jax.devices("cpu")[0])), expected)
# Errors come from the results, and from what is computed of them. Calls behind are not concerned.
huge = jax.jit(lambda b: jnp.broadcast_to(b[0], (1 << 30, 1 << 10, 128)) + 1)
assert "out of memory" in refusal(huge, a)
failed, other = huge(first(a)), first(a)
behind = failed[0] + 1
for each in (failed, behind):
    assert "JaxRuntimeError" in refusal(each.block_until_ready)
np.testing.assert_array_equal(other, expected)
# Python gets the result of a queued call.
seen = []
jax.jit(lambda b: jax.debug.callback(lambda c: seen.append(np.asarray(c)), b))(first(a))
jax.effects_barrier()
np.testing.assert_array_equal(seen[0], expected)
from concurrent.futures import ThreadPoolExecutor
list(ThreadPoolExecutor(4).map(lambda _: np.testing.assert_array_equal(first(a) + 0, expected), range(4)))
for _ in range(40):
    pending = first(a)
gc.collect()
assert np.asarray(pending).tobytes() == expected.tobytes()
from relax_mlir_jax.pjrt import c_handles as handles
del called, doubled, plus, failed, behind, other, pending
gc.collect()
handles.clear()
assert len(handles.held_by_handle) < 100, len(handles.held_by_handle)
""",
        "relax,cpu",
    )


@pytest.mark.parametrize("is_forked", [True, False])
def test_processes_end_with_queued_calls(tmp_path: Path, is_forked: bool) -> None:
    found = passes(
        tmp_path,
        _LONG_PROGRAM
        + f"""
from relax_mlir.support.ending import at_end
at_end(lambda: print(*[each.name for each in threading.enumerate() if "relax" in each.name]))
pending = first(a)
if {is_forked} and os.fork() == 0:
    print(bool(np.isfinite(np.asarray(first(pending))).all()), flush=True)
    os._exit(0)
if {is_forked}:
    assert os.wait()[1] == 0
first(pending)
""",
    )
    assert found == "True\n" * is_forked + "\n"  # and no thread


def test_options_of_the_environment(tmp_path: Path) -> None:
    assert passes(tmp_path, "print(x[0, 1])", RELAX_JAX_OPT_LEVEL="0", RELAX_JAX_PARTITION="") == "1.0\n"
    found = run(tmp_path, "", RELAX_JAX_OPT_LEVEL="fast")
    assert found.returncode == 1 and "opt_level is 0, 1, 2 or 3, got 'fast'" in found.stderr
    found = run(tmp_path, "print(refusal(lambda: x + 1))", RELAX_JAX_TARGET="nothere")
    assert "nothere" in found.stdout + found.stderr
    assert passes(tmp_path, "print(x[0, 1])", RELAX_JAX_TUNED=str(tmp_path)) == "1.0\n"
    found = run(tmp_path, "print(refusal(lambda: x + 1))", RELAX_JAX_TUNED="missing")
    assert "tuned kernels in 'missing' cannot be read" in found.stdout + found.stderr


def test_options_that_are_given(tmp_path: Path) -> None:
    program = """
from relax_mlir_jax.pjrt import plugin
plugin.register(target="llvm", opt_level=1)
assert (jax.device_put(np.ones(3), jax.devices("relax")[0]) + 1).tolist() == [2, 2, 2]
plugin.register()
assert "OptionError: the platform relax is there already" in refusal(lambda: plugin.register(opt_level=2))
from relax_mlir_jax.pjrt.client import client
print(sorted(client.options.items()))
"""
    given = program.replace("import jax\n", "")
    path = tmp_path / "given.py"
    path.write_text(_HEAD.replace("x = jnp.arange(6.0).reshape(2, 3)\n", "") + given, encoding="utf-8")
    environment = {name: each for name, each in os.environ.items() if name != "JAX_PLATFORMS"}
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=600, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[('opt_level', 1), ('target', 'llvm')]\n"


def test_jax_is_unchanged_without_the_platform(tmp_path: Path) -> None:
    done = run(
        tmp_path, "print([each.platform for each in jax.devices()], 'relax_mlir_jax.pjrt.api' in sys.modules)", ""
    )
    assert done.stdout == "['cpu'] False\n" and "experimental" not in done.stderr


@pytest.mark.parametrize("name", ["transformer", "llama_step", "training_step"])
def test_a_model_agrees_with_jax(name: str, tmp_path: Path) -> None:
    program = f"""
sys.path.append({str(Path(__file__).parent)!r})
from jax_models import MODELS
cpu, relax = jax.devices("cpu")[0], jax.devices("relax")[0]
with jax.default_device(cpu):
    function, arguments = MODELS[{name!r}]()
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
got = jax.tree.leaves(jax.jit(function)(*jax.device_put(arguments, relax)))
assert len(got) == len(wanted)
for one, other in zip(got, wanted, strict=True):
    assert one.devices() == {{relax}}
    largest = float(np.max(np.abs(other), initial=1e-6))
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * largest)
"""
    passes(tmp_path, program, "relax,cpu")


def test_decompositions(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
a = jnp.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
for found in (jnp.linalg.eigh(a), jnp.linalg.svd(a), jnp.linalg.qr(a), jax.scipy.linalg.lu(a)):
    assert all(each.devices() == {jax.devices()[0]} for each in found)
values, vectors = jnp.linalg.eigh(a)
np.testing.assert_allclose(np.asarray(vectors) * values @ np.asarray(vectors).T, a, rtol=1e-5, atol=1e-5)
u, s, vh = map(np.asarray, jnp.linalg.svd(a))
np.testing.assert_allclose(u * s @ vh, a, rtol=1e-5, atol=1e-5)
np.testing.assert_allclose(np.asarray(jnp.linalg.inv(a)) @ a, np.eye(3), atol=1e-5)
""",
    )


def test_calls_of_python(tmp_path: Path) -> None:
    found = passes(
        tmp_path,
        """
import logging
shape = jax.ShapeDtypeStruct((2, 3), "float32")
np.testing.assert_allclose(jax.jit(lambda a: jax.pure_callback(np.sin, shape, a) * 2)(x), np.sin(x) * 2, rtol=1e-6)
seen = []
@jax.jit
def f(a):
    jax.debug.print("a {}", a[0, 1])
    def step(place, held):
        jax.debug.print("step {}", place, ordered=True)
        return held + jax.experimental.io_callback(lambda v: seen.append(int(v)) or np.float32(v),
                                                   jax.ShapeDtypeStruct((), "float32"), place, ordered=True)
    return jax.lax.fori_loop(0, 3, step, a[0])
for _ in range(2):
    assert f(x).tolist() == [3, 4, 5]
jax.effects_barrier()
assert seen == [0, 1, 2] * 2
logging.disable()
def raising(a):
    raise KeyError("no such thing")
g = jax.jit(lambda a: jax.pure_callback(raising, shape, a))
for _ in range(20):
    text = refusal(lambda: g(x).block_until_ready())
    assert "JaxRuntimeError: INTERNAL: a callback of jax raised KeyError: 'no such thing'" in text, text
assert f(x).tolist() == [3, 4, 5]
""",
        "relax,cpu",
    )
    assert found == "a 1.0\nstep 0\nstep 1\nstep 2\n" * 3


def test_calls_of_python_need_jax_s_cpus(tmp_path: Path) -> None:
    found = passes(tmp_path, 'print(refusal(jax.jit(lambda a: jax.debug.print("{}", a)), x))')
    assert "failed to find a local CPU device" in found and '"cpu" is listed' in found


def test_a_program_for_several_devices_is_refused(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
device = jax.devices()[0]
twice = NamedSharding(Mesh(np.array([device, device]), "i"), P("i"))
text = refusal(jax.jit(lambda a: a + 1, out_shardings=twice), jnp.arange(4.0))
assert "JaxRuntimeError: UNIMPLEMENTED: the function is for 2 devices" in text, text
assert "ValueError" in refusal(jax.pmap(lambda a: a), x)
once = NamedSharding(Mesh(np.array([device]), "i"), P("i"))
np.testing.assert_array_equal(jax.pmap(lambda a: jax.lax.psum(a, "i"), axis_name="i")(x[None]), x[None])
np.testing.assert_array_equal(jax.jit(lambda a: a + 1, out_shardings=once)(x), x + 1)
""",
    )


def test_the_process_ends_while_threads_call(tmp_path: Path) -> None:
    """End the process while threads call: they are waited for or stopped without a crash, unlike in jax's own CPU
    platform."""
    program = """
f = jax.jit(lambda a: jnp.sin(a) @ a.T)
f(x)
def work():
    while True:
        f(x)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
import time
time.sleep(0.3)
print("end", flush=True)
"""
    for _ in range(3):
        done = run(tmp_path, program)
        assert done.stdout == "end\n" and done.returncode == 0, (done.returncode, done.stderr)
