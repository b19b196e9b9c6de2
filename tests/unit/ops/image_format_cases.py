"""Files of GIF, BMP and PNM, with Pillow as oracle. Pillow writes some of them; the others are put together here."""
import io
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

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


def exif(orientation):
    data = Image.Exif()
    data[0x0112] = orientation
    return data.tobytes()


def turned_files():
    """Files of each orientation and format, and what ImageOps.exif_transpose makes of them."""
    files = []
    for orientation in range(1, 9):
        image = picture(9, 14 + orientation)
        files += [saved(image, "JPEG", exif=exif(orientation)), saved(image, "PNG", exif=exif(orientation)),
                  saved(image, "WEBP", lossless=True, exif=exif(orientation))]
    return files


def transposed(file, mode):
    return np.array(ImageOps.exif_transpose(Image.open(io.BytesIO(file))).convert(mode))


def ink_files():
    """JPEGs of CMYK, and one whose Adobe marker says that they are YCCK."""
    inks = np.random.default_rng(8).integers(0, 256, (9, 13, 4), np.uint8)
    cmyk = saved(Image.fromarray(inks, "CMYK"), "JPEG", quality=95)
    at = cmyk.index(b"Adobe") + 11
    return [cmyk, cmyk[:at] + b"\2" + cmyk[at + 1:], saved(Image.new("CMYK", (8, 8), (9, 90, 200, 30)), "JPEG")]


def alpha_files():
    alpha = picture(9, 13).convert("RGBA")
    alpha.putalpha(picture(9, 13).convert("L"))
    few = picture(9, 13).quantize(12)
    return [saved(alpha, "PNG"), saved(alpha, "WEBP", lossless=True), saved(alpha.convert("LA"), "PNG"),
            saved(picture(9, 13), "PNG"), saved(few, "PNG", transparency=3), saved(few, "GIF", transparency=3),
            saved(few, "GIF"), saved(few, "BMP"), saved(picture(9, 13), "BMP"), saved(picture(9, 13), "PPM"),
            saved(picture(9, 13), "JPEG"), saved(picture(9, 13).convert("L"), "JPEG")]


def deep_png(samples, color, interlaced=0):
    """A PNG of 16 bits; color is its type: 0 grey, 2 RGB, 4 grey and alpha, 6 RGBA."""
    height, width = samples.shape[:2]

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, color, 0, 0, interlaced))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def wide_cases():
    """Samples of 16 bits are kept; samples of 8 bits are multiplied by 257."""
    draw = np.random.default_rng(9)
    grey, rgb, rgba = (draw.integers(0, 1 << 16, (5, 7, c)) for c in (1, 3, 4))
    opaque = np.full((5, 7, 1), 65535)
    files = [deep_png(grey, 0), deep_png(rgb, 2), deep_png(rgba, 6),
             b"P5 7 5 65535\n" + grey.astype(">u2").tobytes(), b"P6 7 5 65535\n" + rgb.astype(">u2").tobytes()]
    colors = [grey.repeat(3, 2), rgb, rgba[..., :3], grey.repeat(3, 2), rgb]
    small = saved(picture(5, 7), "PNG")
    wide = opened(small, "RGB").astype(np.int64) * 257
    for channels in (3, 4):
        arrays = [np.concatenate([c, rgba[..., 3:] if k == 2 else opaque], 2)[..., :channels]
                  for k, c in enumerate(colors)]
        arrays.append(np.concatenate([wide, opaque], 2)[..., :channels])
        emit("image.decode", [column(strings([*files, small])), literal(channels), literal(b"uint16")],
             ragged([a.astype(np.uint16) for a in arrays]))
    for files in ([saved(picture(5, 7), form) for form in ("JPEG", "WEBP", "BMP", "GIF")],):
        emit("image.decode", [column(strings(files)), literal(3), literal(b"uint16")],
             ragged([opened(f, "RGB").astype(np.uint16) * 257 for f in files]))
    greys = [deep_png(grey, 0), b"P5 7 5 65535\n" + grey.astype(">u2").tobytes(), saved(picture(5, 7).convert("L"), "PNG")]
    emit("image.decode", [column(strings(greys)), literal(1), literal(b"uint16")],
         ragged([grey.astype(np.uint16), grey.astype(np.uint16), opened(greys[2], "L").astype(np.uint16) * 257]))


def webp_animations():
    frames = [picture(8, 11).rotate(90 * k) for k in range(3)]
    return [saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=lossless)
            for lossless in (True, False)]


def image_format_cases():
    gifs, bmps, pnms = gif_files(), bmp_files(), pnm_files()
    for files in (gifs, bmps, pnms, webp_animations()):
        for channels, mode in ((3, "RGB"), (1, "L")):
            emit("image.decode", [column(strings(files)), literal(channels)], ragged([opened(f, mode) for f in files]))
    for mode, channels in (("RGB", 3), ("L", 1), ("RGBA", 4)):
        inks, turned = ink_files(), turned_files()
        emit("image.decode", [column(strings(inks)), literal(channels)], ragged([opened(f, mode) for f in inks]))
        if channels > 1:  # Pillow's grey of a JPEG is the luma of its RGB, and not the one in the file
            emit("image.decode", [column(strings(turned)), literal(channels), literal(b"apply_exif_orientation")],
                 ragged([transposed(f, mode) for f in turned]))
    alphas = alpha_files()
    emit("image.decode", [column(strings(alphas)), literal(4)], ragged([opened(f, "RGBA") for f in alphas]))
    wide_cases()
    for bad in (gifs[0][:-30], gifs[0][:12], gifs[0][:30], b"GIF89a" + bytes(7) + b";", bmps[0][:-9], bmps[0][:50],
                bmps[0][:20], bmp(7, 3, 8, b"\4\1\3", 1), bmp(7, 3, 3, bytes(99)), bmp(7, 3, 24, bytes(99), 1), b"BM",
                pnms[0][:-1], b"P5 3", b"P5 3 3 70000 ", b"P5 1 x 255 .", b"P2 1 1 9 10", b"P1 1 1 2", b"P3 1 1 9 1 2"):
        emit("image.decode", [column(strings([bmps[1], bad, pnms[0]]))], "data-error 1")
