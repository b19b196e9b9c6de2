#!/usr/bin/env python3
"""send_noise.py tcp://HOST:PORT: what does not belong there, in many forms."""
import random
import socket
import sys

GREETING = (b"\xff" + b"\0" * 8 + b"\x7f" + b"\x03\x01" + b"NULL".ljust(20, b"\0")
            + b"\0" + b"\0" * 31)
READY = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"


def frame(body, more=False):
    flags = (1 if more else 0) | (2 if len(body) > 255 else 0)
    size = len(body).to_bytes(8 if len(body) > 255 else 1, "big")
    return bytes([flags]) + size + body


def main():
    host, port = sys.argv[1].removeprefix("tcp://").rsplit(":", 1)
    noise = random.Random(17)
    messages = [b"", b"\0" * 1000, b"GET / HTTP/1.1\r\n\r\n", GREETING[:20]]
    messages += [noise.randbytes(noise.randrange(1, 5000)) for _ in range(20)]
    # Past the handshake: whole frames of noise, and one that promises 2^60.
    for parts in range(1, 6):
        body = b"".join(frame(noise.randbytes(noise.randrange(0, 3000)), more=k + 1 < parts)
                        for k in range(parts))
        messages.append(GREETING + READY + body)
    messages.append(GREETING + READY + b"\x02" + (1 << 60).to_bytes(8, "big") + b"x")
    for message in messages:
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            try:
                connection.sendall(message)
            except OSError:
                pass  # hung up on: as good as any answer


if __name__ == "__main__":
    main()
