"""What the checks of formats share. They run under the system's Python, which has its packages."""
import json
import os
import random
import subprocess
import sys
import zlib

WRITER = os.environ["FORMAT_WRITER"]
FOLDER = os.environ["FORMAT_FOLDER"]
BYTES = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2, "int64": 8, "int32": 4, "int8": 1, "uint8": 1}


def check(good, name, detail=""):
    print(("ok " if good else "not ok ") + name)
    if not good and detail != "":
        print("  ", str(detail)[:600].replace("\n", "\n#  "))
    sys.stdout.flush()


def skip(name, why):
    print(f"skip {name} # {why}", flush=True)


def path(name):
    return os.path.join(FOLDER, name)


def product(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def list_file(name, tensors):
    """tensors: [(name, datatype, shape)] or [(name, datatype, shape, whole, offset)]"""
    def words(shape):
        return "x".join(map(str, shape)) or "-"
    with open(path(name), "w") as file:
        for tensor in tensors:
            file.write(" ".join([tensor[0], tensor[1], *map(words, tensor[2:])]) + "\n")
    return path(name)


def write(form, name, tensors, *options):
    """Writes one file; returns its places by tensor, and its size as it was computed."""
    words = [WRITER, form, path(name), list_file(name + ".list", tensors), *options]
    answer = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    return {t["name"]: (t["offset"], t["bytes"]) for t in answer["tensors"]}, answer["size"]


STREAM = {}


def stream(begin, length):
    """Bytes of the payload that every file is cut from."""
    if len(STREAM.get("bytes", b"")) < begin + length:
        size = max(begin + length, 32 << 20)
        subprocess.run([WRITER, "stream", path("stream"), str(size)], check=True)
        with open(path("stream"), "rb") as file:
            STREAM["bytes"] = file.read()
        os.remove(path("stream"))
    return STREAM["bytes"][begin:begin + length]


def random_tensors(rng, count, most=40000):
    """Now and then a scalar, one of no elements, and one that is large enough to be aligned."""
    tensors = []
    for i in range(count):
        shape, left = [], rng.randint(1, most)
        for _ in range(rng.randint(0, 4)):
            shape.append(0 if rng.randint(0, 20) == 0 else rng.randint(1, left))
            left = max(1, left // max(1, shape[-1]))
        tensors.append((f"layers.{i}.weight_{rng.randint(0, 9999)}", rng.choice(list(BYTES)), shape))
    tensors.append(("large.weight", rng.choice(list(BYTES)), [3, 70001]))
    return tensors


def rng():
    seed = int(os.environ.get("SEED") or random.SystemRandom().randint(0, 1 << 31))
    print(f"SEED={seed}")
    return random.Random(seed)


def crc32(data):
    return zlib.crc32(data) & 0xFFFFFFFF
