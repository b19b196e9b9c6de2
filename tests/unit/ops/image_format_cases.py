"""Files of GIF, BMP and PNM, with Pillow as oracle. Pillow writes some of them; the others are put together here."""
import io
import struct

import numpy as np
from PIL import Image

from case_format import column, emit, literal, ragged, strings


def saved(image, form, **options):
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def opened(file, mode):
    return np.array(Image.open(io.BytesIO(file)).convert(mode)).reshape(*Image.open(io.BytesIO(file)).size[::-1], -1)


def picture(height, width):
    y, x = np.mgrid[0:height, 0:width]
    return Image.fromarray((np.stack([9 * x, 12 * y, 5 * (x + y)], -1) % 256).astype(np.uint8))


def bmp(width, height, bits, data, compression=0, colors=b"", masks=b"", extra=0):
    """A file with a header of 40 bytes, or of 40 + extra, that holds the masks."""
    info = struct.pack("<IiiHHIIiiII", 40 + extra, width, height, 1, bits, compression, len(data), 2835, 2835,
                       len(colors) // 4, 0)
    head = info + masks + bytes(max(0, extra - len(masks))) + colors
    return b"BM" + struct.pack("<IHHI", 14 + len(head) + len(data), 0, 0, 14 + len(head)) + head + data


def bmp_files():
    rgb = picture(9, 13)
    grey, few = rgb.convert("L"), rgb.quantize(12)
    files = [saved(image, "BMP") for image in (rgb, grey, few, grey.convert("1"), rgb.convert("RGBA"))]
    words = np.arange(6 * 5, dtype="<u2").reshape(5, 6) * 2111
    rows = words.tobytes()
    colors = bytes(range(16, 80))  # of 16 entries
    files.append(bmp(6, 5, 16, rows))
    files.append(bmp(6, -5, 16, rows))  # the first row is the top
    for masks in ((0xF800, 0x7E0, 0x1F), (0x7C00, 0x3E0, 0x1F)):
        files.append(bmp(6, 5, 16, rows, 3, masks=struct.pack("<3I", *masks)))
    for masks in ((0xFF000000, 0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000, 0xFF000000)):
        files.append(bmp(3, 5, 32, rows, 3, masks=struct.pack("<4I", *masks), extra=68))
    nibbles = bytes(range(0x10, 0x10 + 4 * 3))
    files.append(bmp(7, 3, 4, nibbles, colors=colors))
    files.append(bmp(7, -3, 4, nibbles, colors=colors))
    core = b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + 12 + 48) + struct.pack("<IHHHH", 12, 7, 3, 1, 4)
    files.append(core + bytes(range(100, 148)) + nibbles)  # OS/2: entries of three bytes
    runs = bytes([4, 1, 3, 2, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 2, 7, 0, 0, 0, 2, 3, 0, 4, 9, 0, 1])
    files.append(bmp(7, 3, 8, runs, 1, colors=colors))
    files.append(bmp(7, 3, 4, bytes([7, 0x12, 0, 0, 0, 4, 0x34, 0x56, 3, 0x70, 0, 0, 7, 0x89, 0, 1]), 2, colors=colors))
    return files


def gif_files():
    rgb = picture(19, 14)
    files = [saved(rgb.quantize(n), "GIF", interlace=interlaced) for n in (2, 5, 64, 256) for interlaced in (0, 1)]
    files.append(saved(rgb.convert("L"), "GIF"))
    files.append(saved(rgb.quantize(32), "GIF", transparency=3))
    noise = np.random.default_rng(5).integers(0, 256, (64, 70), np.uint8)
    files.append(saved(Image.fromarray(noise), "GIF"))  # fills the table of codes several times
    frames = [picture(20, 18).rotate(90 * k).quantize(16) for k in range(3)]
    files.append(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    # A small image on a larger screen, with a transparent colour and without one, and one beyond the screen.
    small = saved(picture(4, 5).quantize(4), "GIF", interlace=0)
    at = small.index(b",\0\0\0\0", 25)
    part = b",\x02\0\x03\0" + small[at + 5:at + 9] + b"\0" + small[at + 10:]
    for control, screen in ((b"!\xf9\x04\x01\0\0\x02\0", 9), (b"!\xf9\x04\0\0\0\x02\0", 9), (b"", 3)):
        head = b"GIF89a" + struct.pack("<HHBBB", screen, screen, 0x81, 1, 0) + bytes(range(200, 212))
        files.append(head + control + part)
    return files


def pnm_files():
    rgb = picture(5, 11)
    grey = rgb.convert("L")
    files = [saved(image, "PPM") for image in (rgb, grey, grey.convert("1"))]
    samples = np.arange(5 * 11 * 3)
    text = " ".join(map(str, samples % 100)).encode()
    files.append(b"P3\n# a comment\n11 5 # sizes\n99\n" + text)
    files.append(b"P2 11 5 255\n" + b"\n".join(str(k).encode() for k in range(55)) + b"\n")
    files.append(b"P1\n5 3\n10110\n0 1 0 1 0\n1\n1\n1\n0\n0\n")
    files.append(b"P6 11 5 31\n" + (samples % 32).astype("u1").tobytes())
    files.append(b"P6\n11 5\n65535\n" + (samples * 397).astype(">u2").tobytes())
    files.append(b"P6\n11 5\n1000\n" + (samples * 6).astype(">u2").tobytes())
    files.append(b"P5 11 5 200 " + samples[:55].astype("u1").tobytes() + b"more")
    return files


def webp_animations():
    frames = [picture(8, 11).rotate(90 * k) for k in range(3)]
    return [saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=lossless)
            for lossless in (True, False)]


def image_format_cases():
    gifs, bmps, pnms = gif_files(), bmp_files(), pnm_files()
    for files in (gifs, bmps, pnms, webp_animations()):
        for channels, mode in ((3, "RGB"), (1, "L")):
            emit("image.decode", [column(strings(files)), literal(channels)], ragged([opened(f, mode) for f in files]))
    for bad in (gifs[0][:-30], gifs[0][:12], gifs[0][:30], b"GIF89a" + bytes(7) + b";", bmps[0][:-9], bmps[0][:50],
                bmps[0][:20], bmp(7, 3, 8, b"\4\1\3", 1), bmp(7, 3, 3, bytes(99)), bmp(7, 3, 24, bytes(99), 1), b"BM",
                pnms[0][:-1], b"P5 3", b"P5 3 3 70000 ", b"P5 1 x 255 .", b"P2 1 1 9 10", b"P1 1 1 2", b"P3 1 1 9 1 2"):
        emit("image.decode", [column(strings([bmps[1], bad, pnms[0]]))], "data-error 1")
