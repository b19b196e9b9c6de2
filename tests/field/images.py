#!/usr/bin/env python3
"""Images as people have them, decoded by feedmill and by Pillow.

    tests/field/images.py --binary build/release/bin/feedmill [TEST …]"""
import io
import json
import pathlib
import struct
import warnings

import numpy as np
from PIL import Image, ImageFile

from field_case import equal, main


def picture(height=67, width=93):
    y, x = np.mgrid[0:height, 0:width]
    noise = np.random.default_rng(3).integers(0, 30, (height, width, 3))
    return Image.fromarray((np.stack([x * 2, y * 3, x + y], -1) % 200 + noise).astype("u1"))


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def opened(data, mode):
    image = Image.open(io.BytesIO(data))
    image.draft(mode, image.size)  # grey as libjpeg makes it
    return np.asarray(image.convert(mode))


def by_pillow(data, mode="RGB"):
    """The pixels, and whether Pillow reads the file only when it accepts truncated ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return opened(data, mode), False
        except OSError:
            ImageFile.LOAD_TRUNCATED_IMAGES = True
            try:
                return opened(data, mode), True
            finally:
                ImageFile.LOAD_TRUNCATED_IMAGES = False


def decode(feedmill, name, options="", prefix=""):
    """Runs a decode_image step, with the pixels if it succeeds."""
    step = f"steps: [{prefix}{{decode_image: {{component: image{options}}}}}, {{map: {{image: image}}}}]"
    done = feedmill.run(f"{{images: {{files: {name}}}}}", step)
    return done, [np.array(json.loads(line)["image"], "u1") for line in done.stdout.splitlines()]


def assert_decoded(feedmill, name, want, warns, options=""):
    done, images = decode(feedmill, name, options)
    assert done.returncode == 0, f"{name}: {done.stderr}"
    assert len(images) == 1 and np.array_equal(images[0], want), f"{name}: the pixels differ"
    assert ("warning: 1 image" in done.stderr) == warns, f"{name}: {done.stderr}"


def odd_jpegs(data, progressive):
    scan = data.find(b"\xff\xda")
    components = data[scan + 4]
    spectral_end = scan + 5 + 2 * components + 1
    revision = data.find(b"JFIF\0") + 5
    header_end = 20  # after APP0
    odd = {"revision": data[:revision] + b"\x02" + data[revision + 1:],
           "revision_0": data[:revision] + b"\x00\x99" + data[revision + 2:],
           "header_garbage": data[:header_end] + b"\x00\x01" + data[header_end:],
           "header_garbage_long": data[:header_end] + bytes(range(200)) + data[header_end:],
           "end_garbage": data[:-2] + bytes(range(1, 120)) + data[-2:]}
    if not progressive:
        odd["spectral_end"] = data[:spectral_end] + b"\x00" + data[spectral_end + 1:]
        odd["approximation"] = data[:spectral_end + 1] + b"\x11" + data[spectral_end + 2:]
    return odd


def jpeg_warnings(feedmill):
    image = picture()
    for form, options in (("base", {}), ("progressive", {"progressive": True}), ("optimized", {"optimize": True}),
                          ("full", {"subsampling": 0})):
        data = saved(image, "JPEG", quality=90, **options)
        plain, _ = by_pillow(data)
        for kind, odd in odd_jpegs(data, form == "progressive").items():
            name = f"{form}-{kind}.jpg"
            feedmill.write(name, odd)
            want, truncated = by_pillow(odd)
            assert not truncated and np.array_equal(want, plain), name
            assert_decoded(feedmill, name, want, True)
            assert_decoded(feedmill, name, by_pillow(odd, "L")[0][..., None], True, ", channels: 1")
            done, images = decode(feedmill, name, ", on_warning: fail")
            assert done.returncode == 1 and not images and name in done.stderr and "JPEG: " in done.stderr, done.stderr
        feedmill.write(f"{form}.jpg", data)
        assert_decoded(feedmill, f"{form}.jpg", plain, False)
        assert_decoded(feedmill, f"{form}.jpg", plain, False, ", on_warning: fail, truncated: pad")
        # Tails after the end marker are no warning: libjpeg does not read them.
        feedmill.write(f"{form}-tail.jpg", data + b"tail" * 100)
        assert_decoded(feedmill, f"{form}-tail.jpg", plain, False)
    # All are counted, and on_error has none to leave out.
    done, images = decode(feedmill, "'base-*.jpg'", prefix="{on_error: skip}, ")
    assert done.returncode == 0 and len(images) == 8, done.stderr
    assert "7 images were decoded" in done.stderr and "left out" not in done.stderr, done.stderr
    done = feedmill.run("{images: {files: 'base-*.jpg'}}",
                        "steps: [{decode_image: {on_warning: fail}}, {on_error: skip}]")
    assert done.returncode == 0 and "7 elements" in done.stderr and len(done.stdout.splitlines()) == 1, done.stderr
    # The function decodes as the step does.
    got = feedmill.read("{images: {files: base-revision.jpg}}", "steps: [{map: {image: \"image.decode(image)\"}}]")
    assert np.array_equal(np.array(got[0]["image"], "u1"), by_pillow(saved(image, "JPEG", quality=90))[0])


def truncated_jpegs(feedmill):
    image = picture()
    for form, options in (("base", {}), ("progressive", {"progressive": True}), ("optimized", {"optimize": True})):
        data = saved(image, "JPEG", quality=90, **options)
        scans = [at for at in range(len(data) - 1) if data[at:at + 2] == b"\xff\xda"]
        cuts = {"half": len(data) // 2, "late": len(data) - 40, "early": scans[0] + 200}
        if len(scans) > 1:
            cuts["between_scans"] = scans[-1]
        for kind, at in cuts.items():
            name = f"{form}-{kind}.jpg"
            feedmill.write(name, data[:at])
            want, truncated = by_pillow(data[:at])
            assert truncated, name
            for strict in ("", ", on_warning: fail"):
                done, images = decode(feedmill, name, strict)
                assert done.returncode == 1 and not images, f"{name}: {done.stderr}"
                for part in (name, "truncated", "truncated: pad"):
                    assert part in done.stderr, done.stderr
                done, images = decode(feedmill, name, strict + ", truncated: pad")
                assert done.returncode == 0 and "1 image" in done.stderr, f"{name}: {done.stderr}"
                assert images[0].shape == want.shape
                # Pillow leaves rows without data black; rows that were read whole before are the same.
                if form != "progressive":
                    rows = np.flatnonzero(want.any(axis=(1, 2)))[-1] + 1 - 24
                    assert rows < 8 or np.array_equal(images[0][:rows], want[:rows]), name
        feedmill.write(f"{form}-header.jpg", data[:scans[0] - 10])
        for options_text in ("", ", truncated: pad"):
            done, _ = decode(feedmill, f"{form}-header.jpg", options_text)
            assert done.returncode == 1 and f"{form}-header.jpg" in done.stderr, done.stderr


def images_without_an_end(feedmill):
    image = picture()
    for form, options in (("base", {}), ("progressive", {"progressive": True}), ("full", {"subsampling": 0})):
        data = saved(image, "JPEG", quality=90, **options)
        want, _ = by_pillow(data)
        for cut in (1, 2):
            name = f"{form}-{cut}.jpg"
            feedmill.write(name, data[:-cut])
            assert np.array_equal(by_pillow(data[:-cut])[0], want)
            assert_decoded(feedmill, name, want, True)
            done, _ = decode(feedmill, name, ", on_warning: fail")
            assert done.returncode == 1 and name in done.stderr, done.stderr
    modes = {"rgb": picture(), "grey": picture().convert("L"), "palette": picture().convert("P"),
             "alpha": picture().convert("RGBA")}
    for mode, source in modes.items():
        data = saved(source, "PNG")
        want = np.asarray(source.convert("RGB"))
        assert data[-8:-4] == b"IEND"
        text = b"tEXtComment\0hi"
        odd = {"checksum": data[:-4] + b"\0\1\2\3", "no_end": data[:-12], "half_end": data[:-6],
               "text_checksum": data[:-12] + (len(text) - 4).to_bytes(4, "big") + text + b"\0\0\0\0" + data[-12:]}
        for kind, file in odd.items():
            name = f"{mode}-{kind}.png"
            feedmill.write(name, file)
            assert np.array_equal(by_pillow(file)[0], want), name
            # libpng itself ignores a text whose checksum is wrong.
            ignored = kind == "text_checksum"
            assert_decoded(feedmill, name, want, not ignored)
            done, _ = decode(feedmill, name, ", on_warning: fail")
            assert (done.returncode == 1 and name in done.stderr) or ignored, done.stderr
        # Damaged pixels are errors, as for Pillow.
        at = data.find(b"IDAT")
        size = int.from_bytes(data[at - 4:at], "big")
        for kind, file in (("pixels", data[:at + 4 + size // 2]),
                           ("sum", data[:at + 4 + size] + b"\0\0\0\0" + data[at + 8 + size:])):
            feedmill.write(f"{mode}-{kind}.png", file)
            done, images = decode(feedmill, f"{mode}-{kind}.png")
            assert done.returncode == 1 and not images and f"{mode}-{kind}.png" in done.stderr, done.stderr


def folders_of_images(feedmill):
    jpeg, png = saved(picture(8, 9), "JPEG"), saved(picture(5, 6), "PNG")
    images = {"cat/1.jpg": jpeg, "cat/2.JPEG": jpeg, "cat/bare": png, "dog/x.data": jpeg, "dog/y.Png": png,
              "dog/deep/z.webp": saved(picture(7, 7), "WEBP"), "dog/bitmap": saved(picture(4, 3), "BMP")}
    others = {"notes.txt": b"about these", "cat/Thumbs.db": b"\xd0\xcf\x11\xe0", "cat/empty": b"",
              "cat/short": b"RIFF", "cat/shorter": b"BM", "dog/labels.csv": b"a,b\n", "only_text/readme.md": b"# text"}
    for name, data in (images | others).items():
        feedmill.write(f"photos/{name}", data)
    steps = "steps: [{map: {size: length(image), label: label, path: path, pixels: image.decode(image)}}]"

    def read(files, want, left_out):
        done = feedmill.run(f"{{images: {{files: {files}}}}}", steps)
        assert done.returncode == 0, f"{files}: {done.stderr}"
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        place = str(feedmill.folder.resolve() / "photos") + "/"
        equal([row["path"].removeprefix(place) for row in rows], want)
        equal([row["size"] for row in rows], [len(images[name]) for name in want])
        # Folders without images make no label.
        folders = sorted({name.split("/")[-2] for name in want})
        equal([row["label"] for row in rows], [folders.index(name.split("/")[-2]) for name in want])
        counted = {0: "", 1: "1 file was left out"}.get(left_out, f"{left_out} files were left out")
        assert counted in done.stderr and done.stderr.count("warning") == (left_out > 0), done.stderr

    read("photos", sorted(images), 7)
    read("'photos/**'", sorted(images), 7)
    read("'photos/cat/*'", ["cat/1.jpg", "cat/2.JPEG", "cat/bare"], 4)
    read("'photos/*/[xy].*'", ["dog/x.data", "dog/y.Png"], 0)
    read("[photos/dog, photos/cat/bare]", ["dog/bitmap", "dog/deep/z.webp", "dog/x.data", "dog/y.Png", "cat/bare"], 1)
    # Files that are named by themselves, and suffixes that are spelled out, are read.
    for files in ("photos/notes.txt", "[photos/dog/y.Png, photos/notes.txt]", "'photos/*.txt'", "'photos/**/*.md'"):
        done = feedmill.run(f"{{images: {{files: {files}}}}}", steps)
        assert done.returncode == 1 and "neither JPEG, PNG, WebP" in done.stderr, done.stderr
    equal(len(feedmill.read("{images: {files: 'photos/**/*.csv'}}")), 1)
    feedmill.refused("{images: {files: photos/only_text}}", "photos/only_text", "none of the 1 file(s)", "readme.md")


def same_as_pillow(feedmill, files, modes, part):
    """Files have Pillow's pixels in each mode. Their first parts are errors."""
    for name, data in files.items():
        feedmill.write(f"set/{name}", data)
    for mode, options in modes.items():
        done, images = decode(feedmill, "set", options)
        assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
        equal(len(images), len(files))
        for (name, data), got in zip(sorted(files.items()), images):
            want = by_pillow(data, mode)[0]
            assert np.array_equal(got, want.reshape(got.shape)), f"{name}, {mode}: the pixels differ"
    for name, data in files.items():
        feedmill.write("cut", data[:len(data) // part])
        done, images = decode(feedmill, "cut")
        assert done.returncode == 1 and not images and "/cut" in done.stderr, f"{name}: {done.stderr}"


def formats_of_images(feedmill):
    """A folder as torchvision's ImageFolder reads it, and animations."""
    image, frames = picture(31, 40), [picture(20, 30).rotate(90 * k).quantize(40) for k in range(3)]
    files = {"a.gif": saved(image.quantize(100), "GIF"), "b.bmp": saved(image, "BMP"), "c.ppm": saved(image, "PPM"),
             "d.pgm": saved(image.convert("L"), "PPM"), "e.pbm": saved(image.convert("1"), "PPM"),
             "f.gif": saved(frames[0], "GIF", save_all=True, append_images=frames[1:]),
             "g.webp": saved(frames[0], "WEBP", save_all=True, append_images=frames[1:]),
             "h.bmp": saved(image.quantize(9), "BMP"), "i.dib": saved(image, "BMP")}
    same_as_pillow(feedmill, files, {"RGB": "", "L": ", channels: 1"}, 4)
    feedmill.write("scan.jxl", b"\xff\x0a" + bytes(99))
    done, _ = decode(feedmill, "scan.jxl")
    assert done.returncode == 1 and "scan.jxl" in done.stderr and "a JPEG XL image" in done.stderr, done.stderr


def tiled_tiff(pixels, tile, more=()):
    """A file of uncompressed tiles."""
    height, width, samples = pixels.shape
    whole = np.zeros((-(-height // tile) * tile, -(-width // tile) * tile, samples), pixels.dtype)
    whole[:height, :width] = pixels
    parts = [whole[y:y + tile, x:x + tile].tobytes() for y in range(0, height, tile) for x in range(0, width, tile)]
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8 * pixels.itemsize] * samples), (259, 3, [1]),
            (262, 3, [2 if samples > 2 else 1]), (277, 3, [samples]), (284, 3, [1]), (322, 3, [tile]), (323, 3, [tile]),
            (324, 4, [8 + sum(map(len, parts[:k])) for k in range(len(parts))]), (325, 4, [len(p) for p in parts]), *more]
    data = b"".join(parts)
    at = 8 + len(data)  # of longer values
    entries, longer = b"", b""
    for tag, kind, values in sorted(tags):
        text = struct.pack(f"<{len(values)}{'H' if kind == 3 else 'I'}", *values)
        if len(text) > 4:
            text, longer = struct.pack("<I", at + len(longer)), longer + text
        entries += struct.pack("<HHI", tag, kind, len(values)) + text.ljust(4, b"\0")
    return b"II*\0" + struct.pack("<I", at + len(longer)) + data + longer + struct.pack("<H", len(tags)) + entries + bytes(4)


def tiff_images(feedmill):
    """Kinds of TIFF, and their damage."""
    image = picture(31, 40)
    alpha = image.convert("RGBA")
    alpha.putalpha(image.convert("L").point(lambda v: v + 40))
    deep = np.random.default_rng(5).integers(0, 1 << 16, (31, 40, 3)).astype("u2")
    files = {f"{mode}-{how}.tif": saved(image.convert(mode), "TIFF", compression=how)
             for mode in ("RGB", "L", "P") for how in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits")}
    files |= {"bits.tiff": saved(image.convert("1"), "TIFF", compression="group4"), "alpha.tif": saved(alpha, "TIFF"),
              "grey-alpha.tif": saved(alpha.convert("LA"), "TIFF"), "tiles.tif": tiled_tiff(np.asarray(image), 16),
              "grey-tiles.tif": tiled_tiff(np.asarray(image.convert("L"))[..., None], 16)}
    same_as_pillow(feedmill, files, {"RGB": "", "RGBA": ", channels: 4", "L": ", channels: 1"}, 3)
    # Samples of 16 bits, or their high bytes. Others are refused.
    feedmill.write("deep.tif", tiled_tiff(deep, 32))
    done, images = decode(feedmill, "deep.tif")
    assert done.returncode == 0 and np.array_equal(images[0], deep >> 8), done.stderr
    steps = "steps: [{decode_image: {component: image, dtype: uint16}}, {map: {image: image}}]"
    done = feedmill.run("{images: {files: deep.tif}}", steps)
    assert np.array_equal(json.loads(done.stdout)["image"], deep), done.stderr
    for kind, pixels in (("3", deep[..., :1].astype("f4")), ("2", deep[..., :1])):
        feedmill.write("odd.tif", tiled_tiff(pixels, 32, [(339, 3, [int(kind)])]))
        done, _ = decode(feedmill, "odd.tif")
        assert done.returncode == 1 and "signed or floating samples" in done.stderr, done.stderr
    feedmill.write("bomb.tif", tiled_tiff(np.zeros((1, 1, 1), "u1"), 16).replace(struct.pack("<HHIHH", 322, 3, 1, 16, 0),
                                                                                 struct.pack("<HHIHH", 322, 3, 1, 65520, 0)))
    done, _ = decode(feedmill, "bomb.tif")
    assert done.returncode == 1 and "corrupt" in done.stderr, done.stderr
    turned = image.getexif()
    turned[274] = 6
    feedmill.write("turned.tif", saved(image, "TIFF", exif=turned))
    done, images = decode(feedmill, "turned.tif", ", apply_exif_orientation: true")
    assert done.returncode == 0 and np.array_equal(images[0], np.rot90(np.asarray(image), -1)), done.stderr


def heif_images(feedmill):
    """A gradient as HEIF and AVIF (made by pillow-heif and by Pillow 13), which loses little of it."""
    y, x = np.mgrid[0:48, 0:64]
    want = np.stack([x * 3, y * 5, 255 - x - y, x * 4], -1)
    for name in ("gradient.heic", "gradient.avif", "gradient_alpha.avif"):
        data = (pathlib.Path(__file__).parent / "image_files" / name).read_bytes()
        feedmill.write(name, data)
        for channels in (3, 4, 1):
            done, images = decode(feedmill, name, f", channels: {channels}")
            assert done.returncode == 0 and len(images) == 1, f"{name}: {done.stderr}"
            expected = want[..., :channels].copy() if channels > 1 else luma(want)
            if channels == 4 and "alpha" not in name:
                expected[..., 3] = 255
            far = np.abs(images[0].astype(int) - expected).max()
            assert images[0].shape == expected.shape and far <= 24, f"{name}, {channels}: {far} levels"
        for end in (10, 40, len(data) // 2, len(data) - 20):
            feedmill.write("cut", data[:end])
            done, images = decode(feedmill, "cut")
            assert done.returncode == 1 and not images and "/cut" in done.stderr, f"{name}: {done.stderr}"
    # Its boxes declare 16 x 16; its data, of 8,192 x 8,192, would take 500 MB.
    feedmill.write("bomb.avif", (pathlib.Path(__file__).parent / "image_files" / "declares_16_by_16.avif").read_bytes())
    done, _ = decode(feedmill, "bomb.avif")
    assert done.returncode == 1 and "is coded as 8192 x 8192" in done.stderr, done.stderr


def luma(rgb):
    return (rgb[..., :3] @ [0.299, 0.587, 0.114]).round()[..., None]


TESTS = [jpeg_warnings, truncated_jpegs, images_without_an_end, folders_of_images, formats_of_images, tiff_images, heif_images]


if __name__ == "__main__":
    main(__doc__, TESTS)
