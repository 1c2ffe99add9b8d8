"""Files of format torch in the real torch.load, Python's zipfile and unzip."""
import os
import pickle
import struct
import subprocess
import zipfile

from common import check, crc32, path, random_tensors, rng, skip, stream, write

try:
    import torch
except ImportError as error:
    torch = None
    WHY = f"no torch here: {error}"

def torch_dtype(name):
    return {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
            "int64": torch.int64, "int32": torch.int32, "int8": torch.int8, "uint8": torch.uint8}[name]


def raw_bytes(tensor):
    """Of its elements, whatever they are."""
    if tensor.numel() == 0:
        return b""
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def same(loaded, tensors, places):
    """What is wrong with a loaded dict; nothing where it is the list."""
    if list(loaded) != [t[0] for t in tensors]:
        return f"names {list(loaded)[:5]}"
    for name, dtype, shape, *_ in tensors:
        tensor = loaded[name]
        if tensor.dtype != torch_dtype(dtype) or list(tensor.shape) != shape:
            return f"{name}: {tensor.dtype} {tensor.shape} for {dtype} {shape}"
        if not tensor.is_contiguous() or raw_bytes(tensor) != stream(*places[name]):
            return f"{name}: other values"
    return ""


def check_loads(random):
    for case in range(6):
        tensors = random_tensors(random, random.randint(0, 40))
        options = random.choice([[], ["--window", "4096"], ["--torch-1-13"], ["--no-crc"]])
        places, size = write("torch", "t.pt", tensors, *options)
        label = f"{len(tensors)} tensors {' '.join(options)}"
        check(os.path.getsize(path("t.pt")) == size, f"torch: size is as computed, {label}")
        wrong = same(torch.load(path("t.pt")), tensors, places)
        check(wrong == "", f"torch: torch.load gives the values, {label}", wrong)
        wrong = same(torch.load(path("t.pt"), weights_only=True), tensors, places)
        check(wrong == "", f"torch: weights_only gives the values, {label}", wrong)


def check_many(count):
    tensors = [(f"p.{i}", "fp16", [3]) for i in range(count)]
    places, _ = write("torch", "many.pt", tensors)
    wrong = same(torch.load(path("many.pt"), weights_only=True), tensors, places)
    check(wrong == "", f"torch: {count} tensors load", wrong)


def twin(tensors, places):
    """The same tensors made by torch."""
    state = {}
    for name, dtype, shape in tensors:
        tensor = torch.empty(shape, dtype=torch_dtype(dtype))
        if tensor.numel() > 0:
            data = torch.frombuffer(bytearray(stream(*places[name])), dtype=torch_dtype(dtype))
            tensor = data.reshape(shape)
        state[name] = tensor
    return state


def check_bytes(random):
    """What torch itself writes of the same tensors, byte by byte."""
    if not torch.__version__.startswith("1.13"):
        skip("torch: the bytes of torch.save", f"this is torch {torch.__version__}, not 1.13")
        return
    counts = [0, 1, 2, 11, 999, 1000, 1001, 2500]
    for count in counts:
        most = 3 if count > 100 else 5000
        tensors = random_tensors(random, count, most)
        tensors = tensors if random.randint(0, 1) == 1 and count < 900 else tensors[:count]
        places, _ = write("torch", "ours.pt", tensors, "--torch-1-13")
        with open(path("theirs.pt"), "wb") as file:
            torch.save(twin(tensors, places), file)
        with open(path("ours.pt"), "rb") as ours, open(path("theirs.pt"), "rb") as theirs:
            check(ours.read() == theirs.read(), f"torch: the bytes of torch.save, {len(tensors)} tensors")


class Structure(pickle.Unpickler):
    """Reads data.pkl without torch: a tensor is its storage's key and length, shape and strides."""

    def find_class(self, module, name):
        def rebuild(storage, _offset, shape, strides, *_rest):
            return storage, shape, strides
        return {"_rebuild_tensor_v2": rebuild, "OrderedDict": dict}.get(name, name)

    def persistent_load(self, pid):
        return pid[1], pid[2], pid[4]


def check_zip64():
    """4.5 GiB in one entry, and two that begin beyond 4 GiB; all but zeros, so that the file is a few
    blocks."""
    tensors = [("first", "bf16", [3, 805306368]), ("second", "fp32", [268435456]), ("third", "fp16", [7, 3])]
    places, size = write("torch", "large.pt", tensors, "--zero")
    taken = os.stat(path("large.pt")).st_blocks * 512
    check(os.path.getsize(path("large.pt")) == size and size > 5 << 30, "torch: zip64 has its size")
    check(taken < 64 << 20, "torch: zip64 is sparse", taken)
    with open(path("large.pt"), "r+b") as file:
        for name, (begin, length) in places.items():
            for place in (begin, begin + length - 8):
                file.seek(place)
                file.write(struct.pack("<Q", 0x0101010101010101 * (1 + place % 101)))
    with zipfile.ZipFile(path("large.pt")) as archive:
        sizes = {i.filename: i.file_size for i in archive.infolist()}
        check([sizes[f"archive/data/{i}"] for i in range(3)] == [places[t[0]][1] for t in tensors],
              "torch: zipfile knows the sizes of zip64", sizes)
        structure = Structure(archive.open("archive/data.pkl")).load()
    check_large_descriptors(tensors, places)
    check(structure == {"first": (("BFloat16Storage", "0", 2415919104), (3, 805306368), (805306368, 1)),
                        "second": (("FloatStorage", "1", 268435456), (268435456,), (1,)),
                        "third": (("HalfStorage", "2", 21), (7, 3), (3, 1))},
          "torch: zip64's pickle tells lengths and shapes", structure)
    if torch is None:
        skip("torch: zip64 loads", WHY)
        return
    reader = torch._C.PyTorchFileReader(path("large.pt"))
    third = torch.frombuffer(bytearray(reader.get_record("data/2")), dtype=torch.float16)
    with open(path("large.pt"), "rb") as file:
        file.seek(places["third"][0])
        check(raw_bytes(third) == file.read(42), "torch: the entry beyond 4 GiB has its values")
    if os.environ.get("FORMAT_LARGE"):
        check_zip64_loads(places)
    else:
        skip("torch: torch.load of zip64", "it takes 6 GiB of memory; FORMAT_LARGE=1 does it")


def check_large_descriptors(tensors, places):
    """Sizes of 64 bits behind an entry that is large or far, which no reader here looks at."""
    found = []
    with open(path("large.pt"), "rb") as file:
        for name, *_ in tensors:
            begin, length = places[name]
            file.seek(begin + length)
            mark, _, packed, size = struct.unpack("<IIQQ", file.read(24))
            found.append((mark, packed, size) == (0x08074B50, length, length))
    check(all(found), "torch: descriptors of zip64 have sizes of 64 bits", found)


def check_zip64_loads(places):
    loaded = torch.load(path("large.pt"))
    with open(path("large.pt"), "rb") as file:
        for name, (begin, length) in places.items():
            values = loaded[name].reshape(-1).view(torch.uint8)
            for place in (0, length - 8):
                file.seek(begin + place)
                check(values[place:place + 8].numpy().tobytes() == file.read(8),
                      f"torch: torch.load of zip64, {name} at {place}")
        check(int(torch.count_nonzero(loaded["first"].view(torch.int16))) == 8,
              "torch: torch.load of zip64, the rest is zero")


def check_zip_tools(random):
    tensors = random_tensors(random, 30)
    places, _ = write("torch", "z.pt", tensors)
    with zipfile.ZipFile(path("z.pt")) as archive:
        check(archive.testzip() is None, "torch: zipfile finds right CRC-32s")
        names = [f"archive/data/{i}" for i in range(len(tensors))]
        check(all(archive.read(n) == stream(*places[t[0]]) for n, t in zip(names, tensors)),
              "torch: zipfile reads the storages")
        large = [i.header_offset for i in archive.infolist() if i.file_size >= 128 * 1024]
        check(len(large) > 0 and all(places[t[0]][0] % 4096 == 0 for t in tensors
                                     if places[t[0]][1] >= 128 * 1024),
              "torch: large storages begin at a block")
        check(archive.read("archive/byteorder") == b"little", "torch: the byte order is told")
    check(subprocess.run(["python3", "-m", "zipfile", "-t", path("z.pt")],
                         stdout=subprocess.DEVNULL).returncode == 0, "torch: python3 -m zipfile -t")
    try:
        done = subprocess.run(["unzip", "-tq", path("z.pt")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(done.returncode == 0, "torch: unzip -t", done.stdout)
    except FileNotFoundError:
        skip("torch: unzip -t", "no unzip here")
    check_descriptors(places, tensors)
    with open(path("z.pt"), "r+b") as file:
        file.seek(places["large.weight"][0] + 5)
        old = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([old[0] ^ 1]))
    with zipfile.ZipFile(path("z.pt")) as archive:
        check(archive.testzip() is not None, "torch: zipfile finds a flipped bit")


def check_descriptors(places, tensors):
    """Most readers look at the directory alone; the descriptor behind each entry is right as well."""
    wrong = []
    with open(path("z.pt"), "rb") as file:
        for name, dtype, shape in tensors:
            begin, length = places[name]
            file.seek(begin)
            data, descriptor = file.read(length), file.read(16)
            want = struct.pack("<IIII", 0x08074B50, crc32(data), length, length)
            if length > 0 and descriptor != want:
                wrong.append(name)
    check(wrong == [], "torch: descriptors hold right CRC-32s", wrong)


def main():
    random = rng()
    check_zip_tools(random)
    if torch is None:
        skip("torch: torch.load", WHY)
    else:
        check_loads(random)
        check_many(3000)
        check_bytes(random)
    check_zip64()


main()
