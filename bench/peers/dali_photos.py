"""The ImageNet recipe in NVIDIA DALI, on the CPU.

    dali_photos.py FOLDER PASSES THREADS

Prints one line of JSON: elements (batches), seconds, CPU seconds of the process."""
import json
import sys
import time

from nvidia.dali import fn, pipeline_def, types

BATCH = 64


@pipeline_def(batch_size=BATCH, device_id=None)
def crops(folder):
    jpeg, label = fn.readers.file(file_root=folder, name="files")
    image = fn.decoders.image_random_crop(jpeg, device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[0.75, 4 / 3])
    image = fn.resize(image, size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=False)
    return fn.crop_mirror_normalize(image, mirror=fn.random.coin_flip(), dtype=types.FLOAT, output_layout="CHW",
                                    mean=[123.7, 116.3, 103.5], std=[58.4, 57.1, 57.4]), label


def main():
    folder, passes, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    pipeline = crops(folder, num_threads=threads, prefetch_queue_depth=2)
    pipeline.build()
    batches = passes * pipeline.epoch_size("files") // BATCH
    pipeline.run()  # DALI initialises itself at the first batch
    cpu, start = time.process_time(), time.perf_counter()
    for _ in range(batches):
        images, _ = pipeline.run()
        assert images.shape()[0] == [3, 224, 224] or images.shape()[0] == (3, 224, 224)
    print(json.dumps({"elements": batches, "rows": batches * BATCH, "seconds": time.perf_counter() - start,
                      "cpu_s": time.process_time() - cpu}))


main()
