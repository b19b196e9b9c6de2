#!/usr/bin/env python3
"""attack.py HOW tcp://HOST:PORT …: what an attacker does to a port.

scan             connects and hangs up, in both ways
random           sends random bytes
truncated        stops at every point of ZMTP's greeting and handshake
huge             announces messages of 2 GiB
endless          sends parts of one message for as long as they are taken; fails
                 if that is more than 1 GiB
half-open COUNT  holds COUNT connections open and silent; prints "open COUNT",
                 and ends with its standard input
record FILE      forwards one connection and keeps what its client said, in FILE;
                 prints where it listens
replay FILE      says that again; fails unless it gets nothing but a greeting
                 and a welcome
"""
import pathlib
import random
import resource
import select
import socket
import struct
import sys

MECHANISMS = (b"NULL", b"CURVE", b"PLAIN", b"\xff" * 20)
READY = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
# ZMTP's greeting, and the frame of CURVE's WELCOME.
GREETING_BYTES, WELCOME_BYTES = 64, 170


def greeting(mechanism):
    return (b"\xff" + b"\0" * 7 + b"\x01\x7f\x03\x01" + mechanism.ljust(20, b"\0")
            + b"\0" * 32)


def connect(address):
    return socket.create_connection(address, timeout=10)


def say(address, *messages):
    """Says all of it; how the other side takes it does not matter."""
    with connect(address) as connection:
        try:
            for message in messages:
                connection.sendall(message)
        except OSError:
            pass


def hear_all(connection, seconds):
    connection.settimeout(seconds)
    heard = b""
    try:
        while chunk := connection.recv(65536):
            heard += chunk
    except ConnectionError:
        pass
    return heard


def scan(address):
    for _ in range(200):
        connect(address).close()
        with connect(address) as connection:  # with a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def send_random(address):
    noise = random.Random(17)
    for _ in range(200):
        say(address, noise.randbytes(noise.randrange(1, 20_000)))


def truncated(address):
    for mechanism in MECHANISMS:
        start = greeting(mechanism)
        hello = b"\x04\xc8\x05HELLO\x01\x00" + bytes(192)
        for whole in (start, start + READY, start + hello):
            for length in range(0, len(whole), 7):
                say(address, whole[:length])
            say(address, whole)


def huge(address):
    held = []
    for mechanism in (b"NULL", b"CURVE"):
        for flags in (b"\x02", b"\x03", b"\x06"):
            for size in ((1 << 31) - 1, 1 << 31, 1 << 62):
                connection = connect(address)
                held.append(connection)
                try:
                    connection.sendall(greeting(mechanism) + READY + flags
                                       + struct.pack(">Q", size) + b"x" * 1000)
                except OSError:
                    pass
    for connection in held:
        connection.close()


def hear(connection, count):
    heard = b""
    while len(heard) < count and (chunk := connection.recv(count - len(heard))):
        heard += chunk
    return heard


def shake_hands(connection):
    """Greets like a peer without keys. Bytes that it sends before the other side
    is ready would end the handshake."""
    connection.sendall(greeting(b"NULL") + READY)
    hear(connection, GREETING_BYTES)
    command = hear(connection, 2)
    if len(command) < 2 or not hear(connection, command[1]).startswith(b"\x05READY"):
        sys.exit("the handshake failed")


def endless(address):
    part = b"\x03" + struct.pack(">Q", 64 << 10) + bytes(64 << 10)
    sent = 0
    with connect(address) as connection:
        shake_hands(connection)
        try:
            while sent < 1 << 30:
                connection.sendall(part)
                sent += len(part)
        except OSError:
            return
    sys.exit(f"{sent} bytes of a message were taken that does not end")


def half_open(address, count):
    wanted = count + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.exit(f"{wanted} file descriptors are needed, {hard} are allowed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    held = [connect(address) for _ in range(count)]
    for number, connection in enumerate(held):
        try:
            connection.send(greeting(b"CURVE")[:number % 64])
        except OSError:
            pass
    print("open", count, flush=True)
    sys.stdin.read()


def record(address, path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print("tcp://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
        listener.settimeout(30)
        client, _ = listener.accept()
    said = b""
    with client, connect(address) as server:
        while True:
            for source in select.select([client, server], [], [], 30)[0]:
                chunk = source.recv(65536)
                if source is client:
                    said += chunk
                    pathlib.Path(path).write_bytes(said)
                if not chunk:
                    return
                (server if source is client else client).sendall(chunk)


def replay(address, path):
    said = pathlib.Path(path).read_bytes()
    if len(said) < 600:  # a greeting, HELLO, INITIATE and a message at least
        sys.exit(f"only {len(said)} bytes were recorded")
    for cut in (0, GREETING_BYTES, GREETING_BYTES + 202):
        with connect(address) as connection:
            try:
                connection.sendall(said[:cut])
                connection.sendall(said[cut:])
                heard = hear_all(connection, 20)
            except ConnectionError:
                continue
        if len(heard) > GREETING_BYTES + WELCOME_BYTES:
            sys.exit(f"{len(heard)} bytes came back for a replayed hello")


def main():
    how, target, *rest = sys.argv[1:]
    host, port = target.removeprefix("tcp://").rsplit(":", 1)
    address = (host, int(port))
    if how == "half-open":
        half_open(address, int(rest[0]))
    elif how in ("record", "replay"):
        globals()[how](address, rest[0])
    else:
        {"scan": scan, "random": send_random, "truncated": truncated, "huge": huge, "endless": endless}[how](address)


if __name__ == "__main__":
    main()
