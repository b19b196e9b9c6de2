"""A data loader of DLIO that reads through feedmill.

    data_loader_classname: feedmill_loader.FeedmillDataLoader

FEEDMILL_SERVICE is the address of a service; without it each rank reads in its own process. DLIO's loaders read each
sample whole and hand out one constant array of the resized shape. This one hands out the sample's own bytes in that
shape: cut off, or repeated where they are too few.
"""
import os
import uuid
import zipfile

import feedmill as fm
from dlio_benchmark.common.enumerations import DataLoaderType, DatasetType, FormatType, Shuffle
from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader
from dlio_benchmark.utils.utility import DLIOMPI

PIXELS = (FormatType.JPEG, FormatType.PNG)
FIXED = (FormatType.INDEXED_BINARY, FormatType.MMAP_INDEXED_BINARY)


def npz_offset(path):
    """Returns where the items of the first array of an uncompressed .npz begin."""
    with zipfile.ZipFile(path) as archive:
        first = archive.infolist()[0]
    with open(path, "rb") as file:
        file.seek(first.header_offset)
        local = file.read(30)
        name, extra = int.from_bytes(local[26:28], "little"), int.from_bytes(local[28:30], "little")
        begin = first.header_offset + 30 + name + extra
        file.seek(begin + 8)
        return begin + 10 + int.from_bytes(file.read(2), "little")


class FeedmillDataLoader(BaseDataLoader):
    """Batches of samples, epoch after epoch; each rank reads its part."""

    def __init__(self, format_type, dataset_type, epoch):
        super().__init__(format_type, dataset_type, epoch, DataLoaderType.CUSTOM)
        training = dataset_type is DatasetType.TRAIN
        self._files = sorted(map(os.path.abspath, self._args.file_list_train if training else self._args.file_list_eval))
        self._loader = None

    def _samples(self):
        """Returns the dataset of the samples' bytes, as uint8 of one dimension."""
        size = self._args.dimension**2
        if self.format_type is FormatType.TFRECORD:
            records = self._shuffled(fm.Dataset.tfrecord(self._files))
            return records.parse_example({"image": "bytes", "size": "int64"}).map("decode_raw(image, uint8)")
        if self.format_type in FIXED:
            return self._shuffled(fm.Dataset.fixed_length(self._files, record_bytes=size)).map("decode_raw(x, uint8)")
        files = self._shuffled(fm.Dataset.images(self._files))
        if self.format_type in PIXELS:
            return files.decode_image(channels=1).map("reshape(image, [-1])")
        if self.format_type is FormatType.NPZ:
            begin = npz_offset(self._files[0])
            return files.map(f"slice(decode_raw(image, uint8), {begin}, {size})")
        raise ValueError(f"format {self.format_type}: feedmill_loader reads tfrecord, indexed_binary, npz, jpeg and png")

    def _shuffled(self, dataset):
        return dataset if self._args.sample_shuffle is Shuffle.OFF else dataset.shuffle()

    def read(self):
        side, size = self._args.max_dimension, self._args.dimension**2
        repeats = -(-side**2 // size)
        whole = "x" if repeats == 1 else f"concat({', '.join(['x'] * repeats)}, 0)"
        dataset = self._samples().map(f"reshape(slice({whole}, 0, {side**2}), [{side}, {side}])")
        dataset = dataset.batch(self.batch_size, drop_remainder=True).with_options(seed=self._args.seed)
        job = DLIOMPI.get_instance().comm().bcast(f"dlio-{self.dataset_type}-{uuid.uuid4().hex}", root=0)
        service = os.environ.get("FEEDMILL_SERVICE")
        self._loader = fm.Loader(dataset, service, job if service else None, rank=self._args.my_rank,
                                 ranks=self._args.comm_size, even="drop", threads=self._args.read_threads)

    def next(self):
        yield from self._loader
        self.epoch_number += 1

    def finalize(self):
        """Called after each epoch: the next one uses the same loader."""
