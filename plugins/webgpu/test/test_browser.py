# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in a browser: headless Chromium, which has a device of WebGPU on the CPU.

A page of the test shows the page under test in a frame, waits for its end, and posts its text.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from decoding_model import HEADS, SIZE, WIDTH, expected, growing
from real_webgpu import graph
from relax_mlir import relax

EXAMPLE = Path(__file__).parents[3] / "examples" / "webgpu" / "digits.py"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = ("--headless=new", "--no-sandbox", "--no-first-run", "--enable-unsafe-webgpu")
#: Chromium's own device, and one by the system's Vulkan.
_ADAPTERS = (("--use-webgpu-adapter=swiftshader",), ("--enable-features=Vulkan",))
_PATIENCE = 180.0
_WATCH = """<!doctype html><iframe src="index.html"></iframe><script>
const frame = document.querySelector("iframe");
const timer = setInterval(() => {
  const body = frame.contentDocument?.body;
  if (body?.dataset.state !== "done") return;
  clearInterval(timer);
  fetch("/shown", {method: "POST", body: frame.contentDocument.getElementById("shown").textContent});
}, 100);
</script>"""
#: Runs programs of a folder on their arguments, and shows the results as JSON.
_RUN = """<!doctype html><pre id="shown"></pre><script type="module">
const kinds = {float32: Float32Array, int32: Int32Array, int64: BigInt64Array};
const shown = {};
for (const [name, given] of Object.entries(await (await fetch("cases.json")).json())) {
  try {
    const {load} = await import(`./${name}/relax.js`);
    const halve = (x, out) => out.data.set(x.data.map((each) => each / 2));
    const program = await load(name, undefined, {"test.halve": halve});
    const taken = Object.fromEntries(program.entries.main.inputs.map(({name, dtype}, place) => {
      const {data, shape} = given[place];
      return [name, {data: kinds[dtype].from(data, (each) => dtype === "int64" ? BigInt(each) : each), shape}];
    }));
    const results = Object.values(await program.run(taken));
    shown[name] = results.map(({data, shape}) => ({data: Array.from(data, Number), shape}));
  } catch (error) {
    shown[name] = `${error.name}: ${error.message}`;
  }
}
document.getElementById("shown").textContent = JSON.stringify(shown);
document.body.dataset.state = "done";
</script>"""


#: Calls that add rows to a cache; then it forgets some, and goes on.
_GROW = """<!doctype html><pre id="shown"></pre><script type="module">
const plain = ({data, shape}) => ({data: Array.from(data), shape});
const shown = [];
try {
  const {load} = await import("./program/relax.js");
  const program = await load("program");
  const cache = program.cache("main", {room: 3});
  for (const {data, shape, length} of await (await fetch("cases.json")).json()) {
    cache.length = length;
    const {result0} = await program.run({x: {data: Float32Array.from(data), shape}}, cache);
    shown.push(...[result0, await cache.get("keys"), await cache.get("values")].map(plain));
  }
  await program.run({x: new Float32Array(6)}).catch((error) => shown.push(`${error.name}: ${error.message}`));
} catch (error) {
  shown.push(`${error.name}: ${error.message}`);
}
document.getElementById("shown").textContent = JSON.stringify(shown);
document.body.dataset.state = "done";
</script>"""


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, shown: list[str], **options: Any) -> None:
        self._shown = shown
        super().__init__(*args, **options)

    def do_POST(self) -> None:
        self._shown.append(self.rfile.read(int(self.headers["content-length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Suppress the log."""


def shown_by(folder: Path, profile: Path) -> str:
    """Return the final text of the folder's index.html. Skip the test if no browser has a device of WebGPU."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(_BROWSERS)} is installed (apt install chromium)")
    (folder / "watch.html").write_text(_WATCH)
    shown = ""
    for number, adapter in enumerate(_ADAPTERS):
        shown = _asked([browser, *_FLAGS, *adapter, f"--user-data-dir={profile / str(number)}"], folder)
        if "WebGPU" not in shown:
            return shown
    pytest.skip(f"the browser has no device: {shown}")


def _asked(command: list[str], folder: Path) -> str:
    shown: list[str] = []
    server = ThreadingHTTPServer(("localhost", 0), partial(_Handler, shown=shown, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = f"http://localhost:{server.server_port}/watch.html"
    running = subprocess.Popen([*command, page], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + _PATIENCE
        while not shown and time.monotonic() < end and running.poll() is None:
            time.sleep(0.1)
    finally:
        running.kill()
        running.wait()
        server.shutdown()
        server.server_close()
    assert shown, f"{' '.join(command)} has shown nothing in {_PATIENCE:.0f} s"
    return shown[0]


def test_digits(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    subprocess.run([sys.executable, EXAMPLE, folder], check=True, capture_output=True)
    shown = shown_by(folder, tmp_path / "profile")
    assert "of 300 pictures are read rightly" in shown, shown
    assert int(shown.split()[0]) >= 295


#: Programs by names of folders: the computation, the types of arguments, and arguments.
_Case = tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]
_RANDOM = numpy.random.default_rng(5)
CASES: dict[str, _Case] = {
    "softmax": (relax.nn.softmax, (rx.tensor(("n", 300)),), (_RANDOM.normal(size=(3, 300)).astype("float32"),)),
    "sort": (
        lambda x: relax.sort(x, axis=0),
        (rx.tensor(("n", 2)),),
        (_RANDOM.normal(size=(1500, 2)).astype("float32"),),
    ),
    "unique": (relax.unique, (rx.tensor((40,), "i32"),), (_RANDOM.integers(0, 9, 40).astype("int32"),)),
    "take": (
        lambda x, at: relax.take(x, at, axis=0),
        (rx.tensor(("n", 3)), rx.tensor(("k",), "i64")),
        (numpy.arange(12, dtype="float32").reshape(4, 3), numpy.array([3, -1, 0])),
    ),
    "wrong": (
        lambda x, at: relax.take(x, at, axis=0),
        (rx.tensor(("n", 3)), rx.tensor(("k",), "i64")),
        (numpy.arange(12, dtype="float32").reshape(4, 3), numpy.array([3, 4])),
    ),
    "halve": (
        lambda x: relax.exp(relax.call_dps_packed("test.halve", [relax.negative(x)], rx.tensor(("n", 3)))),
        (rx.tensor(("n", 3)),),
        (_RANDOM.normal(size=(5, 3)).astype("float32"),),
    ),
    "sizes": (relax.add, (rx.tensor(("n",)), rx.tensor(("n",))), (numpy.ones(2, "float32"), numpy.ones(3, "float32"))),
}


def _write_program(folder: Path, module: rx.Module, donate: Sequence[str] = ()) -> None:
    folder.mkdir(parents=True)
    for file, held in rx.sources(module, target="webgpu", donate=donate).items():
        (folder / file).write_bytes(held.encode() if isinstance(held, str) else held)


@pytest.mark.slow
def test_rows_stay_on_the_device(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    _write_program(folder / "program", growing(), ["keys", "values"])
    lengths, counts = (0, 5, 6, 4), (5, 1, 70, 2)
    given = [_RANDOM.standard_normal((2, count, WIDTH), "float32") for count in counts]
    pairs = zip(given, lengths, strict=True)
    cases = [{"data": x.ravel().tolist(), "shape": x.shape, "length": length} for x, length in pairs]
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "index.html").write_text(_GROW)
    *shown, refusal = json.loads(shown_by(folder, tmp_path / "profile"))
    assert refusal == "TypeError: 'main' adds rows to a cache: run(given, cache(\"main\"))"
    keys = values = numpy.empty((2, HEADS, 0, SIZE), "float32")
    wanted: list[Any] = []
    for x, length in zip(given, lengths, strict=True):
        result, keys, values = expected(x, keys[:, :, :length], values[:, :, :length])
        wanted += [result, keys, values]
    for found, array in zip(shown, wanted, strict=True):
        numpy.testing.assert_allclose(numpy.reshape(found["data"], found["shape"]), array, rtol=1e-4, atol=1e-4)


def test_programs_give_what_numpy_gives(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    for name, (build, infos, _) in CASES.items():
        _write_program(folder / name, graph(build, *infos))
    given = {
        name: [{"data": each.ravel().tolist(), "shape": list(each.shape)} for each in arrays]
        for name, (_, _, arrays) in CASES.items()
    }
    (folder / "cases.json").write_text(json.dumps(given))
    (folder / "index.html").write_text(_RUN)
    shown = json.loads(shown_by(folder, tmp_path / "profile"))

    def found(name: str) -> Any:
        assert not isinstance(shown[name], str), shown[name]
        (result,) = shown[name]
        return numpy.array(result["data"]).reshape(result["shape"])

    arrays = {name: case[2] for name, case in CASES.items()}
    powers = numpy.exp(arrays["softmax"][0])
    numpy.testing.assert_allclose(found("softmax"), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    numpy.testing.assert_array_equal(found("sort"), numpy.sort(arrays["sort"][0], axis=0))
    numpy.testing.assert_array_equal(found("unique"), numpy.unique(arrays["unique"][0]))
    numpy.testing.assert_allclose(found("halve"), numpy.exp(-arrays["halve"][0] / 2), rtol=1e-6)
    x, at = arrays["take"]
    numpy.testing.assert_array_equal(found("take"), x[at])
    assert "IndexError: relax.take at" in shown["wrong"]
    assert "index 4 is out of range for axis 0 of size 4" in shown["wrong"]
    assert shown["sizes"] == "ValueError: main: argument 'arg1': axis 0 has 3 elements, but n is 2"
