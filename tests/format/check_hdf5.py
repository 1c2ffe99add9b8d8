"""Files of format hdf5 in h5py, that is in libhdf5 itself."""
import os
import sys

from common import check, path, random_tensors, rng, skip, stream, write

try:
    import h5py
    import numpy
except ImportError as error:
    skip("hdf5: h5py reads the values", f"no h5py here: {error}")
    sys.exit(0)

NUMPY = {"fp64": "<f8", "fp32": "<f4", "fp16": "<f2", "int64": "<i8", "int32": "<i4", "int8": "<i1",
         "uint8": "<u1"}


def wrong_values(dataset, dtype, expected):
    if dtype != "bf16":
        return dataset.dtype != numpy.dtype(NUMPY[dtype]) or dataset[()].tobytes() != expected
    # numpy has no bfloat16: h5py makes float32 of it.
    values = numpy.frombuffer(expected, dtype="<u2").astype("<u4") << 16
    found = numpy.asarray(dataset[()], dtype="<f4").reshape(-1)
    return not numpy.array_equal(found, values.view("<f4"), equal_nan=True)


def wrong_dataset(dataset, tensor, place):
    name, dtype, shape = tensor
    if list(dataset.shape) != shape or dataset.chunks is not None:
        return f"{name}: shape {dataset.shape}, chunks {dataset.chunks}"
    if place[1] > 0 and dataset.id.get_offset() != place[0]:
        return f"{name}: at {dataset.id.get_offset()}, not {place[0]}"
    if wrong_values(dataset, dtype, stream(*place)):
        return f"{name}: other values, {dtype}"
    return ""


def check_case(label, tensors):
    places, size = write("hdf5", "t.h5", tensors)
    check(os.path.getsize(path("t.h5")) == size, f"hdf5: size is as computed, {label}")
    with h5py.File(path("t.h5"), "r") as file:
        found = []
        file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
        check(sorted(found) == sorted(t[0] for t in tensors), f"hdf5: the names, {label}", found[:5])
        wrong = [wrong_dataset(file[t[0]], t, places[t[0]]) for t in tensors]
        wrong = [text for text in wrong if text]
        check(wrong == [], f"hdf5: h5py reads the values, {label}", wrong[:3])
    large = [places[t[0]][0] for t in tensors if places[t[0]][1] >= 128 * 1024]
    check(all(offset % 4096 == 0 for offset in large), f"hdf5: large datasets begin at a block, {label}")


def check_large():
    """Beyond 4 GiB; zeros, so that the file is a few blocks."""
    tensors = [("first", "bf16", [3, 805306368]), ("second", "fp32", [1000])]
    places, size = write("hdf5", "large.h5", tensors, "--zero")
    with open(path("large.h5"), "r+b") as file:
        file.seek(places["first"][0] + places["first"][1] - 2)
        file.write(b"\x80\x3f")
        file.seek(places["second"][0])
        file.write(b"\x00\x00\x80\x3f" * 1000)
    with h5py.File(path("large.h5"), "r") as file:
        check(file["first"][2, 805306367] == 1 and file["first"][2, 805306366] == 0,
              "hdf5: h5py reads beyond 4 GiB")
        check((file["second"][()] == 1).all(), "hdf5: h5py reads what lies behind it")
        check(file["second"].id.get_offset() == places["second"][0] and os.path.getsize(path("large.h5")) == size,
              "hdf5: beyond 4 GiB places and size are as computed")


def main():
    random = rng()
    check_case("no tensor", [])
    for _ in range(4):
        tensors = random_tensors(random, random.randint(1, 60))
        check_case(f"{len(tensors)} tensors", tensors)
    check_case("3000 tensors", [(f"model.layers.{i}.weight", "fp16", [i % 7 + 1]) for i in range(3000)])
    check_case("groups", [(f"model/layers/{i}/weight", "fp32", [100, 400]) for i in range(20)])
    check_large()


main()
