# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writer of the models in this folder with TensorFlow's own converter: small networks of keras with random weights.

pip install tensorflow-cpu==2.21.0
python make_models.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FOLDER = Path(__file__).parent
SIZE = 32


def _block(x: Any, filters: int, stride: int, expansion: int) -> Any:
    """Return a block of MobileNetV2: wide inside, with a residual connection where both shapes are equal."""
    wide = layers.Conv2D(expansion * x.shape[-1], 1, use_bias=False)(x)
    wide = layers.ReLU(6.0)(layers.BatchNormalization()(wide))
    wide = layers.DepthwiseConv2D(3, stride, "same", use_bias=False)(wide)
    wide = layers.ReLU(6.0)(layers.BatchNormalization()(wide))
    made = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(wide))
    return layers.Add()([x, made]) if made.shape == x.shape else made


def mobilenet() -> Any:
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(8, 3, 2, "same", use_bias=False)(image)))
    for filters, stride in ((8, 1), (12, 2), (12, 1), (16, 2), (16, 1)):
        x = _block(x, filters, stride, 3)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(48, 1, use_bias=False)(x)))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(10, activation="softmax")(x))


def segments() -> Any:
    """Return a segmentation network: transposed convolutions, resized images, joined channels."""
    image = keras.Input((SIZE, SIZE, 3), name="image")
    first = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    low = layers.MaxPooling2D()(first)
    low = layers.Conv2D(12, 3, padding="same", activation="swish", dilation_rate=2)(low)
    up = layers.Conv2DTranspose(8, 3, 2, "same", activation="relu")(low)
    other = layers.UpSampling2D(2, interpolation="bilinear")(low)
    x = layers.Concatenate()([first, up, other])
    return keras.Model(image, layers.Conv2D(4, 1)(layers.PReLU(shared_axes=[1, 2])(x)))


def recurrent() -> Any:
    steps = keras.Input(batch_shape=(1, 7, 5), name="steps")  # the converter needs a batch that is fixed
    x = layers.LSTM(6, return_sequences=True)(steps)
    return keras.Model(steps, layers.Dense(3)(layers.GRU(4)(x)))


def transformer() -> Any:
    rows = keras.Input((6, 16), name="rows")
    attended = layers.MultiHeadAttention(2, 8)(rows, rows)
    x = layers.LayerNormalization()(layers.Add()([rows, attended]))
    inner = layers.Dense(16)(layers.Dense(32, activation="gelu")(x))
    return keras.Model(rows, layers.LayerNormalization()(layers.Add()([x, inner])))


def _representative(model: Any) -> Callable[[], Iterator[list[Any]]]:
    def samples() -> Iterator[list[Any]]:
        random = numpy.random.default_rng(7)
        for _ in range(20):
            shape = (1, *model.inputs[0].shape[1:])
            yield [random.uniform(-1, 1, shape).astype("float32")]

    return samples


def _trained(model: Any) -> Any:
    """Return the model with statistics that differ from their initial values."""
    random = numpy.random.default_rng(5)
    for weight in model.weights:
        if "moving_variance" in weight.path:
            weight.assign(random.uniform(0.5, 1.5, weight.shape))
        elif "moving_mean" in weight.path or "bias" in weight.path:
            weight.assign(random.uniform(-0.2, 0.2, weight.shape))
    return model


def _written(name: str, model: Any, kind: str = "") -> None:
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if kind:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if kind.startswith("int"):
        converter.representative_dataset = _representative(model)
        wide = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.target_spec.supported_ops = [wide if kind == "int16" else tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = getattr(tf, kind)
    path = FOLDER / f"{name}.tflite"
    path.write_bytes(converter.convert())
    print(path.name, path.stat().st_size)


def main() -> None:
    keras.utils.set_random_seed(3)
    model = _trained(mobilenet())
    for kind in ("", "int8", "int16", "float16"):
        _written("_".join(filter(None, ["mobilenet", kind])), model, kind)
    for make in (segments, recurrent, transformer):
        model = _trained(make())
        _written(make.__name__, model)
        if make is not recurrent:
            _written(f"{make.__name__}_int8", model, "int8")


if __name__ == "__main__":
    main()
