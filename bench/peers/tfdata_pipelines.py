"""The benchmarks' workloads as tf.data pipelines, with the settings that the guides of tf.data recommend.

squares          int64 of a range, squared, one element each
squares_batched  the same, in batches of 1,024
large            elements of 1 MiB, filled with one byte
photos           JPEGs of TFRecords (environment TFRECORD, a glob), decoded with the fast DCT, resized to 224, in
                 batches of 32; N passes
crops            photos of TFRecords: decode_and_crop_jpeg of a random box, resized to 224, mirrored, normalised,
                 channels first, in batches of 64; N passes
words            lines of a text (environment TEXT, a file), split, hashed, in padded batches of 64; N passes
"""
import glob
import os

BATCHED = {"squares_batched", "photos", "crops", "words"}


def quiet():
    """Keeps TensorFlow from logging and from looking for GPUs. Call before importing it."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def photos(tf, passes):
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(record):
        example = tf.io.parse_single_example(record, features)
        image = tf.io.decode_jpeg(example["image"], channels=3, dct_method="INTEGER_FAST")
        return tf.cast(tf.image.resize(image, [224, 224]), tf.uint8), example["label"]

    files = sorted(glob.glob(os.environ["TFRECORD"]))
    records = tf.data.TFRecordDataset(files).repeat(passes)
    return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(4)


def crops(tf, passes):
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(record):
        example = tf.io.parse_single_example(record, features)
        jpeg = example["image"]
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(jpeg), tf.zeros([1, 0, 4]), area_range=(0.08, 1.0),
            aspect_ratio_range=(0.75, 4 / 3), use_image_if_no_bounding_boxes=True)
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.resize(tf.image.decode_and_crop_jpeg(jpeg, window, channels=3), [224, 224])
        image = (tf.image.random_flip_left_right(image) - [123.7, 116.3, 103.5]) / [58.4, 57.1, 57.4]
        return tf.transpose(image, [2, 0, 1]), example["label"]

    records = tf.data.TFRecordDataset(sorted(glob.glob(os.environ["TFRECORD"]))).repeat(passes)
    return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(64).prefetch(tf.data.AUTOTUNE)


def words(tf, passes):
    def hashed(line):
        return tf.strings.to_hash_bucket_fast(tf.strings.split(line), 1 << 16)

    lines = tf.data.TextLineDataset([os.environ["TEXT"]]).repeat(passes)
    return lines.map(hashed, num_parallel_calls=tf.data.AUTOTUNE).padded_batch(64).prefetch(tf.data.AUTOTUNE)


def rows_of(element):
    """Returns the rows of a batch: the first dimension of its first component."""
    return (element[0] if isinstance(element, tuple) else element).shape[0]
