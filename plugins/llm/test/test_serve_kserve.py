# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""KServe's protocol over compiled programs, with requests that share calls."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_llm.serve.batching import BatchedCall, Batcher
from relax_mlir_llm.serve.http_app import State
from relax_mlir_llm.serve.kserve import ServedProgram, chosen_function, make_kserve_app
from served_text import Served, wait_for

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def compiled(name: str = "main") -> rx.runtime.Executable:
    """Return a program with a symbolic number of rows, and a symbolic second size."""
    module = rx.Module()
    with module.function(name, {"x": rx.tensor(("n", 3)), "ids": rx.tensor(("n", "m"), "i64")}) as f:
        x, ids = f
        f.returns(relax.add(x, x), relax.add(ids, ids))
    return rx.compile(module)


class Programs(Served):
    """Server of a program in a thread."""

    def __init__(self, program: ServedProgram, key: str | None = None) -> None:
        self.program = program
        state = State()
        super().__init__(make_kserve_app(program, state, key=key), state, grace=5.0)

    def infer(self, inputs: Sequence[dict[str, object]], **body: object) -> httpx.Response:
        return self.client.post(f"/v2/models/{self.program.name}/infer", json={"inputs": list(inputs), **body})

    def refusal(self, inputs: Sequence[dict[str, object]], **body: object) -> str:
        """Return the message of a request that is refused."""
        answer = self.infer(inputs, **body)
        assert answer.status_code == 400, answer.text
        return str(answer.json()["error"])


def served_program(executable: rx.runtime.Executable, function: str = "main", **options: object) -> Programs:
    given = {"most_rows": 8, "delay": 0.05, "most_jobs": 64, **options}
    return Programs(ServedProgram("double", executable, function, **given))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def served() -> Iterator[Programs]:
    made = served_program(compiled(), delay=0.0)
    made.program.batcher.start()
    with made.running():
        yield made
    made.program.batcher.close()


def tensors(x: object = X, ids: object = ((1, 2), (3, 4))) -> list[dict[str, object]]:
    """Return the two inputs as JSON."""
    return [tensor("x", "FP32", x), tensor("ids", "INT64", ids)]


def tensor(name: str, datatype: str, values: object) -> dict[str, object]:
    array = numpy.array(values)
    return {"name": name, "datatype": datatype, "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def test_metadata_and_health(served: Programs) -> None:
    get = served.client.get
    assert get("/v2").json()["extensions"] == ["binary_tensor_data"]
    assert get("/v2/health/live").json() == {"live": True} and get("/v2/health/ready").json() == {"ready": True}
    model = get("/v2/models/double").json()
    assert model["inputs"] == [
        {"name": "x", "datatype": "FP32", "shape": [-1, 3]},
        {"name": "ids", "datatype": "INT64", "shape": [-1, -1]},
    ]
    assert [each["shape"] for each in model["outputs"]] == [[-1, 3], [-1, -1]]
    assert get("/v2/models/double/versions/1").json() == model
    assert get("/v2/models/double/ready").status_code == 200
    assert get("/v2/models/other").status_code == 404 and get("/v2/models/double/versions/2").status_code == 404
    assert "there is double" in get("/v2/models/other/ready").json()["error"]


def test_results_come_as_json(served: Programs) -> None:
    answer = served.infer(tensors(), id="7").json()
    assert answer["model_name"] == "double" and answer["id"] == "7"
    first, second = answer["outputs"]
    assert first["datatype"] == "FP32" and first["shape"] == [2, 3] and first["data"] == [2, 4, 6, 8, 10, 12]
    assert second["datatype"] == "INT64" and second["data"] == [2, 4, 6, 8]
    nested = [{**tensors()[0], "data": X}, tensors()[1]]
    assert served.infer(nested).json()["outputs"] == answer["outputs"]
    (only,) = served.infer(tensors(), outputs=[{"name": second["name"]}]).json()["outputs"]
    assert only == second


def test_tensors_may_be_bytes_behind_the_json(served: Programs) -> None:
    x, ids = numpy.array(X, "float32"), numpy.array([[1], [2]], "int64")
    inputs = [
        {"name": each, "datatype": kind, "shape": list(array.shape), "parameters": {"binary_data_size": array.nbytes}}
        for each, kind, array in (("x", "FP32", x), ("ids", "INT64", ids))
    ]
    names = [each.name for each in served.program.signature.outputs]
    outputs = [{"name": names[0], "parameters": {"binary_data": True}}, {"name": names[1]}]
    head = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    body = head + x.tobytes() + ids.tobytes()
    answer = served.client.post("/v2/models/double/infer", content=body, headers=headers)
    size = int(answer.headers["inference-header-content-length"])
    described = json.loads(answer.content[:size])["outputs"]
    assert described[0]["parameters"] == {"binary_data_size": 24} and described[1]["data"] == [2, 4]
    assert struct.unpack("<6f", answer.content[size:]) == (2, 4, 6, 8, 10, 12)
    for wrong in (body[:-1], body + b"a"):
        answer = served.client.post("/v2/models/double/infer", content=wrong, headers=headers)
        assert answer.status_code == 400 and "bytes" in answer.json()["error"]
    headers["Inference-Header-Content-Length"] = "9999"
    answer = served.client.post("/v2/models/double/infer", content=body, headers=headers)
    assert answer.status_code == 400 and "expected at most" in answer.json()["error"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"name": "y"}, "'y' is not an input of the model, expected x, ids"),
        ({"name": "ids"}, "'ids' is given twice"),
        ({"datatype": "FP64"}, "the input 'x' has the type 'FP64', expected FP32"),
        ({"shape": [3, 2]}, "the input 'x' has the shape [3, 2], expected [n, 3]"),
        ({"shape": [6]}, "the input 'x' has the shape [6], expected [n, 3]"),
        ({"shape": [1, 3], "data": [1, 2, 3]}, "the input 'ids' has the shape [2, 2], expected [n, m] with n = 1"),
        ({"shape": [-1, 3]}, "expected a list of sizes"),
        ({"shape": None}, "expected a list of sizes"),
        ({"data": [1, 2]}, "has 2 elements, expected 6 for the shape [2, 3]"),
        ({"data": None}, "expected a list of numbers"),
        ({"data": [1, 2, 3, 4, 5, "6"]}, "has '6', expected FP32"),
        ({"data": [1, 2, 3, 4, 5, None]}, "has None, expected FP32"),
        ({"data": [1, 2, 3, 4, 5, True]}, "has True, expected FP32"),
        ({"parameters": {"binary_data_size": 24}, "data": None}, "has 0 bytes, expected 24"),
    ],
)
def test_wrong_inputs_are_refused(served: Programs, change: dict[str, object], message: str) -> None:
    first, second = tensors()
    given = [second, {**first, **change}] if change.get("name") == "ids" else [{**first, **change}, second]
    assert message in served.refusal(given)


def test_other_wrong_requests_are_refused(served: Programs) -> None:
    assert "the inputs ids are missing, expected x, ids" in served.refusal(tensors()[:1])
    assert "'z' is not a result of the model" in served.refusal(tensors(), outputs=[{"name": "z"}])
    assert "'input' is not supported; did you mean 'inputs'?" in served.refusal(tensors(), input=[])
    assert "has 1.5, expected INT64" in served.refusal([tensors()[0], tensor("ids", "INT64", [[1.5], [2.5]])])
    big = {"name": "ids", "datatype": "INT64", "shape": [2, 1], "data": [2**64, 1]}
    assert "no room" in served.refusal([tensors()[0], big])
    deep: object = [1]
    for _ in range(800):
        deep = [deep]
    answer = served.infer([{**tensors()[0], "data": deep}, tensors()[1]])
    assert answer.status_code == 400
    answer = served.client.post("/v2/models/double/infer", content=b"{")
    assert answer.status_code == 400 and "no valid JSON" in answer.json()["error"]


def test_requests_share_calls() -> None:
    made = served_program(compiled(), most_rows=6)
    with made.running():
        with ThreadPoolExecutor(8) as pool:
            # The first ids differ in their second size: these cannot share a call with the others.
            sizes = [3, 1, 1, 1, 1, 1, 1, 1]
            asked = [
                pool.submit(made.infer, [tensor("x", "FP32", [[n] * 3]), tensor("ids", "INT64", [[n] * size])])
                for n, size in enumerate(sizes)
            ]
            wait_for(lambda: made.program.batcher.waiting == 8)
            made.program.batcher.start()
            answers = [each.result(20).json() for each in asked]
        for n, size in enumerate(sizes):
            first, second = answers[n]["outputs"]
            assert first["data"] == [2.0 * n] * 3 and second["data"] == [2 * n] * size
        counts = made.program.batcher.counts
        assert counts.requests == 8 and counts.rows == 14  # the first shared call of 6 rows is checked row by row
        assert counts.calls == 1 + 1 + 6 + 1
        assert made.program.batcher.is_batching
        assert "relax_infer_calls_total" in made.client.get("/metrics").text
    made.program.batcher.close()


def test_jobs_of_two_kinds_share_calls_in_their_order() -> None:
    calls = []

    def run(inputs: Sequence[numpy.ndarray]) -> Sequence[numpy.ndarray]:
        calls.append(inputs[0].tolist())
        return inputs

    batcher = Batcher(run, most_rows=4, delay=0.0)
    jobs = [
        BatchedCall([numpy.full((rows, 2), n)], rows, key) for n, (rows, key) in enumerate([(1, "a"), (2, "b")] * 3)
    ]
    assert all(map(batcher.submit, jobs))
    batcher.start()
    results = [job.result.result(20)[0].tolist() for job in jobs]
    batcher.close()
    assert results == [job.inputs[0].tolist() for job in jobs]
    assert [len(call) for call in calls] == [3, 1, 1, 1, 4, 2]  # the first shared call is checked
    assert not batcher.submit(jobs[0])


@pytest.mark.parametrize(
    ("own", "difference", "is_batching"),
    [
        (numpy.array([[1 << 20]], "int32"), 1, False),
        (numpy.array([[True]]), True, False),
        (numpy.array([[1000.0, 1.0]], "float32"), 0.1, True),
        (numpy.array([[1000.0, 1.0]], "float32"), 10.0, False),
        (numpy.array([[numpy.nan, 1.0]], "float32"), 1e-6, True),
        (numpy.array([[-numpy.inf, 1.0]], "float32"), 1e-6, True),
        (numpy.array([[numpy.inf, 1.0]], "float32"), 1.0, False),
        (numpy.array([[numpy.nan, 1.0]], "float32"), 1.0, False),
    ],
)
def test_integers_of_a_shared_call_are_exact(own: numpy.ndarray, difference: float, is_batching: bool) -> None:
    """Compare a shared call with separate calls that differ. Floats may be rounded in another way."""

    def run(inputs: Sequence[numpy.ndarray]) -> Sequence[numpy.ndarray]:
        (x,) = inputs
        return [x if len(x) == 1 else x ^ difference if x.dtype == bool else (x + difference).astype(x.dtype)]

    batcher = Batcher(run, most_rows=4, delay=0.0)
    jobs = [BatchedCall([own], 1, "a") for _ in range(2)]
    assert all(map(batcher.submit, jobs))
    batcher.start()
    for job in jobs:
        numpy.testing.assert_array_equal(job.result.result(20)[0], own)
    assert batcher.is_batching == is_batching
    batcher.close()


def test_a_function_that_mixes_rows_is_not_batched() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 2))}) as f:
        (x,) = f
        f.returns(relax.subtract(x, relax.mean(x, axis=[0], keepdims=True)))
    made = served_program(rx.compile(module))
    assert made.program.batcher.is_batching
    with made.running():
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(made.infer, [tensor("x", "FP32", [[n, 2 * n]])]) for n in range(4)]
            wait_for(lambda: made.program.batcher.waiting == 4)
            made.program.batcher.start()
            answers = [each.result(20).json() for each in asked]
        assert [each["outputs"][0]["data"] for each in answers] == [[0.0, 0.0]] * 4
        assert not made.program.batcher.is_batching
    made.program.batcher.close()


@pytest.mark.parametrize("shapes", [(("n", 3), (2, 3)), (("n", "n"), ("n", 3)), ((3, "n"), (3, "n"))])
def test_functions_without_rows_are_not_batched(shapes: tuple[tuple[object, ...], tuple[object, ...]]) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(shapes[0]), "y": rx.tensor(shapes[1])}) as f:
        x, y = f
        f.returns(relax.exp(x), relax.exp(y))
    program = served_program(rx.compile(module)).program
    assert program.signature.rows is None and not program.batcher.is_batching


def test_a_full_queue_and_the_key() -> None:
    made = served_program(compiled(), most_jobs=1)
    with made.running(), ThreadPoolExecutor(1) as pool:
        first = pool.submit(made.infer, tensors())
        wait_for(lambda: made.program.batcher.waiting == 1)
        assert made.infer(tensors()).status_code == 429
        made.program.batcher.start()
        assert first.result(20).status_code == 200
    made.program.batcher.close()
    guarded = Programs(made.program, key="secret")
    with guarded.running():
        assert guarded.client.get("/v2/models/double").status_code == 401
        headers = {"Authorization": "Bearer secret"}
        assert guarded.client.get("/v2/models/double", headers=headers).status_code == 200


def test_an_error_of_one_request_leaves_others_alone() -> None:
    made = served_program(compiled())
    program = made.program
    function = program._function
    program._function = _refusing(function)  # type: ignore[assignment]
    with made.running(), ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(made.infer, tensors([[n] * 3, [n] * 3])) for n in (1, -1, 2)]
        wait_for(lambda: program.batcher.waiting == 3)
        program.batcher.start()
        answers = [each.result(20) for each in asked]
        assert [each.status_code for each in answers] == [200, 500, 200]
        assert answers[2].json()["outputs"][0]["data"] == [4.0] * 6
        assert "the program failed: a negative number" in answers[1].json()["error"]
        assert program.batcher.counts.failures == 1
    program.batcher.close()


def _refusing(function: Callable[..., object]) -> Callable[..., object]:
    def refuse(x: numpy.ndarray, ids: numpy.ndarray) -> object:
        if (x < 0).any():
            raise ValueError("a negative number")
        return function(x, ids)

    return refuse


def test_functions_by_name() -> None:
    module = rx.Module()
    for name in ("first", "second"):
        with module.function(name, {"x": rx.tensor((2,))}) as f:
            (x,) = f
            f.returns(relax.exp(x))
    several = rx.compile(module)
    assert chosen_function(several, "second") == "second"
    assert chosen_function(compiled("only"), None) == "only"
    with pytest.raises(rx.RelaxError, match="several functions: expected --function with one of first, second"):
        chosen_function(several, None)
    with pytest.raises(rx.RelaxError, match="no function 'third'"):
        chosen_function(several, "third")
