"""Pipelines of tf.data's guide, each as TensorFlow has it; see tf_steps.py."""

import contextlib
import os
import tempfile

import numpy as np
import tensorflow
from tf_steps import differs, step


def plain(elements):
    """Elements as lists of Python; floats to 3 digits, tuples and dicts by name."""

    def one(value):
        if isinstance(value, tuple):
            return tuple(one(item) for item in value)
        if isinstance(value, dict):
            return {name: one(item) for name, item in value.items()}
        if isinstance(value, tensorflow.sparse.SparseTensor):
            value = tensorflow.sparse.to_dense(value)
        array = np.asarray(value)
        return (
            np.round(array.astype(np.float64), 3).tolist()
            if array.dtype.kind == "f"
            else array.tolist()
        )

    return [one(element) for element in elements]


@contextlib.contextmanager
def records():
    """Two TFRecord files, one of text, and an image."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2):
            path = os.path.join(folder, f"part-{number}.tfrecord")
            with tensorflow.io.TFRecordWriter(path) as writer:
                for k in range(5):
                    writer.write(_example(10 * number + k))
        with open(os.path.join(folder, "lines.txt"), "wb") as file:
            file.write(b"one 1\ntwo 2\n\nThree 33\n")
        pixels = (np.arange(8 * 10 * 3).reshape(8, 10, 3) % 250).astype(np.uint8)
        with open(os.path.join(folder, "image.png"), "wb") as file:
            file.write(tensorflow.io.encode_png(pixels).numpy())
        yield folder


def _example(n):
    train = tensorflow.train
    feature = {
        "label": train.Feature(int64_list=train.Int64List(value=[n])),
        "ids": train.Feature(int64_list=train.Int64List(value=list(range(n % 4)))),
        "point": train.Feature(float_list=train.FloatList(value=[n / 2, n / 4])),
        "name": train.Feature(bytes_list=train.BytesList(value=[b"n%d" % n])),
    }
    return train.Example(features=train.Features(feature=feature)).SerializeToString()


# ---- numbers


@step
def steps_of_numbers(tf):
    numbers = tf.data.Dataset.range(10)
    auto = tf.data.AUTOTUNE
    return [
        plain(dataset)
        for dataset in (
            numbers.batch(4),
            numbers.batch(batch_size=4, drop_remainder=True, num_parallel_calls=auto),
            numbers.map(lambda x: x * 2, num_parallel_calls=auto, deterministic=True),
            numbers.map(lambda x: {"a": x, "b": x + 1}).batch(4),
            numbers.filter(lambda x: x % 2 == 1).prefetch(auto),
            numbers.take(3),
            numbers.take(-1),
            numbers.skip(7),
            numbers.repeat(2).take(12),
            numbers.repeat(-1).take(12),
            numbers.shard(num_shards=3, index=1),
            numbers.batch(4).unbatch(),
            numbers.batch(4).rebatch(3),
            numbers.cache().prefetch(2),
            numbers.concatenate(tf.data.Dataset.range(3)),
            numbers.shuffle(1),
        )
    ]


@step
def slices_and_tuples(tf):
    features = np.arange(12, dtype=np.float32).reshape(6, 2)
    labels = np.arange(6)
    pairs = tf.data.Dataset.from_tensor_slices((features, labels))
    return [
        plain(dataset)
        for dataset in (
            tf.data.Dataset.from_tensor_slices(labels),
            tf.data.Dataset.from_tensor_slices({"x": features, "y": labels}).batch(4),
            pairs,
            pairs.batch(4).prefetch(1),
            pairs.map(lambda x, y: (x * 2, y + 1)).batch(2),
            pairs.filter(lambda x, y: y > 3).map(lambda x, y: {"sum": tf.reduce_sum(x), "y": y}),
            tf.data.Dataset.range(3).map(lambda x: (x, x * x)),
            pairs.map(lambda x, y: y),
        )
    ]


@step
def shuffles_have_all_elements(tf):
    numbers = tf.data.Dataset.range(50)
    return [
        sorted(plain(numbers.shuffle(buffer_size, seed=3, reshuffle_each_iteration=True)))
        for buffer_size in (3, 50, 1000)
    ]


@step
def cardinalities(tf):
    numbers = tf.data.Dataset.range(10)
    return [
        int(dataset.cardinality())
        for dataset in (
            numbers.batch(4),
            numbers.repeat(),
            numbers.repeat().take(3),
            numbers.filter(lambda x: x > 3),
        )
    ] + [len(numbers.batch(4))]


@step
def an_unknown_length(tf):
    return len(tf.data.Dataset.range(9).filter(lambda x: x > 3))


@step
def interleave_of_numbers(tf):
    numbers = tf.data.Dataset.range(1, 5)
    return [
        plain(
            numbers.interleave(
                lambda x: (
                    tf.data.Dataset.range(10 * int(x), 10 * int(x) + 5)
                    if tf.__name__ != "tensorflow"
                    else tf.data.Dataset.range(10 * x, 10 * x + 5)
                ),
                cycle_length=cycle_length,
                block_length=block_length,
            )
        )
        for cycle_length, block_length in ((1, 1), (2, 1), (3, 2), (4, 4))
    ]


@step
def padded_batches(tf):
    with records() as folder:
        features = {"ids": tf.io.RaggedFeature(tf.int64)}
        dataset = tf.data.TFRecordDataset(os.path.join(folder, "part-0.tfrecord"))
        dataset = dataset.map(lambda record: tf.io.parse_single_example(record, features))
        return plain(
            dataset.padded_batch(
                batch_size=2,
                padded_shapes={"ids": [None]},
                padding_values={"ids": np.int64(-1)},
                drop_remainder=True,
            )
        )


@differs("`shuffle(…, reshuffle_each_iteration=False)`")
def the_same_order_in_each_epoch(tf):
    dataset = tf.data.Dataset.range(9).shuffle(9, reshuffle_each_iteration=False)
    return plain(dataset) == plain(dataset)


# ---- files


def _features(tf):
    return {
        "label": tf.io.FixedLenFeature([], tf.int64),
        "point": tf.io.FixedLenFeature([2], tf.float32),
        "name": tf.io.FixedLenFeature([], tf.string),
        "ids": tf.io.VarLenFeature(tf.int64),
        "missing": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
    }


@step
def examples_are_parsed(tf):
    with records() as folder:
        dataset = tf.data.TFRecordDataset(
            [os.path.join(folder, f"part-{k}.tfrecord") for k in range(2)],
            num_parallel_reads=None,
            buffer_size=1 << 20,
        )
        return plain(dataset.map(lambda r: tf.io.parse_single_example(r, _features(tf))))


@step
def examples_are_parsed_and_mapped(tf):
    def parsed(record):
        example = tf.io.parse_single_example(record, _features(tf))
        point = tf.cast(example["point"], tf.float64) * 2
        return {"sum": tf.reduce_sum(point), "label": example["label"] + 1}

    with records() as folder:
        return plain(tf.data.TFRecordDataset(os.path.join(folder, "part-0.tfrecord")).map(parsed))


@step
def files_are_interleaved(tf):
    with records() as folder:
        files = tf.data.Dataset.list_files(os.path.join(folder, "*.tfrecord"), shuffle=False)
        dataset = files.interleave(
            tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=tf.data.AUTOTUNE
        )
        features = {"label": tf.io.FixedLenFeature([], tf.int64)}
        return (
            [os.path.basename(name) for name in files.as_numpy_iterator()],
            plain(dataset.map(lambda r: tf.io.parse_single_example(r, features))),
            plain(
                tf.data.TFRecordDataset(files).map(
                    lambda r: tf.io.parse_single_example(r, features)
                )
            ),
        )


@step
def shuffled_files_have_all_records(tf):
    with records() as folder:
        files = tf.data.Dataset.list_files(os.path.join(folder, "*.tfrecord"))
        return len(plain(tf.data.TFRecordDataset(files))), len(files)


@step
def a_pattern_without_files(tf):
    return plain(tf.data.Dataset.list_files("/nowhere/*.tfrecord"))


@step
def lines(tf):
    with records() as folder:
        dataset = tf.data.TextLineDataset(os.path.join(folder, "lines.txt"))
        return plain(dataset), plain(
            dataset.filter(lambda line: tf.strings.length(line) > 0).map(
                lambda line: {
                    "words": tf.strings.split(line, " ")[0],
                    "lower": tf.strings.lower(line),
                    "upper": tf.strings.upper(line),
                    "number": tf.strings.to_number(tf.strings.split(line)[1], tf.int64),
                    "replaced": tf.strings.regex_replace(line, "[0-9]+", "#"),
                    "short": tf.strings.regex_full_match(line, "[a-z]+ [0-9]"),
                    "part": tf.strings.substr(line, 1, 2),
                    "length": tf.strings.length(line),
                }
            )
        )


@step
def records_of_a_length(tf):
    with records() as folder:
        dataset = tf.data.FixedLengthRecordDataset(
            os.path.join(folder, "lines.txt"), 2, header_bytes=1, footer_bytes=1
        )
        return plain(dataset), plain(dataset.map(lambda x: tf.io.decode_raw(x, tf.uint8)))


# ---- tensors and images


@step
def functions_of_tensors(tf):
    def made(x):
        row = tf.cast(tf.stack([x, x + 1, x + 2], axis=0), tf.float32)
        return {
            "square": tf.square(row),
            "sum": tf.reduce_sum(row),
            "max": tf.reduce_max(row),
            "min": tf.reduce_min(row, axis=0),
            "mean": tf.reduce_mean(row),
            "clip": tf.clip_by_value(row, 1.0, 3.0),
            "hot": tf.one_hot(x, 5),
            "shape": tf.shape(row),
            "column": tf.reshape(row, [3, 1]),
            "turned": tf.transpose(tf.reshape(row, [3, 1]), perm=[1, 0]),
            "joined": tf.concat([row, row], axis=0),
            "chosen": tf.where(x > 2, row, -row),
            "root": tf.sqrt(row),
            "larger": tf.maximum(row, 2.0),
            "smaller": tf.minimum(row, 2.0),
            "size": tf.abs(-row),
        }

    return plain(tf.data.Dataset.range(5).map(made))


@step
def images(tf):
    def made(line):
        image = tf.io.decode_png(line, channels=3)
        return {
            "grey": tf.image.decode_png(line, channels=1),
            "whole": tf.image.decode_image(line, channels=3, expand_animations=False),
            "large": tf.image.resize(image, [16, 20]),
            "small": tf.image.resize(image, (4, 5), method="bilinear"),
            "crop": tf.image.crop_to_bounding_box(image, 1, 2, 3, 4),
            "mirror": tf.image.flip_left_right(image),
            "upside": tf.image.flip_up_down(image),
            "turn": tf.image.rot90(image),
            "floats": tf.image.convert_image_dtype(image, tf.float32),
        }

    with records() as folder:
        return plain(
            _bytes_of(tf, os.path.join(folder, "image.png")).map(lambda e: made(e["image"]))
        )


def _bytes_of(tf, path):
    if tf.__name__ == "tensorflow":
        return tf.data.Dataset.from_tensors({"image": tf.io.read_file(path)})
    return tf.data.Dataset.images(path)


@step
def standardized_images(tf):
    with records() as folder:
        (element,) = plain(
            _bytes_of(tf, os.path.join(folder, "image.png")).map(
                lambda e: {
                    "image": tf.image.per_image_standardization(
                        tf.io.decode_png(e["image"], channels=3)
                    )
                }
            )
        )
        return element["image"]


@differs("`image.resize(…, method='nearest')`, `'area'`, `'bicubic'`")
def nearest_pixels(tf):
    with records() as folder:
        return plain(
            _bytes_of(tf, os.path.join(folder, "image.png")).map(
                lambda e: tf.image.resize(
                    tf.io.decode_png(e["image"], channels=3), [4, 5], method="nearest"
                )
            )
        )
