"""A reader of safetensors made from the format's description, as strict as it."""
import json
import os
import struct

from common import BYTES, path, product

# In the order of its own writer.
TYPES = {"I64": "int64", "F64": "fp64", "F32": "fp32", "I32": "int32", "BF16": "bf16", "F16": "fp16",
         "I8": "int8", "U8": "uint8"}


class Invalid(Exception):
    pass


def read(name):
    """{tensor: (dtype, shape, bytes)}"""
    with open(path(name), "rb") as file:
        data = file.read()
    if len(data) < 8:
        raise Invalid("no length")
    length, = struct.unpack("<Q", data[:8])
    if length > 100_000_000 or 8 + length > len(data) or data[8:9] != b"{":
        raise Invalid("header")
    # A name that comes twice would be lost in a dict.
    def no_twice(pairs):
        if len({key for key, _ in pairs}) != len(pairs):
            raise Invalid("a key comes twice")
        return dict(pairs)
    header = json.loads(data[8:8 + length].decode("utf-8"), object_pairs_hook=no_twice)
    metadata = header.pop("__metadata__", {})
    if any(not isinstance(value, str) for value in metadata.values()):
        raise Invalid("metadata")
    body, end, tensors = data[8 + length:], 0, {}
    for key, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        if set(info) != {"dtype", "shape", "data_offsets"}:
            raise Invalid(f"{key}: fields {sorted(info)}")
        begin, stop = info["data_offsets"]
        if begin != end or stop - begin != product(info["shape"]) * BYTES[TYPES[info["dtype"]]]:
            raise Invalid(f"{key}: {info}, after {end}")
        tensors[key] = TYPES[info["dtype"]], info["shape"], body[begin:stop]
        end = stop
    if end != len(body):
        raise Invalid(f"{len(body)} bytes of data, {end} are told")
    return tensors, 8 + length, list(header)
