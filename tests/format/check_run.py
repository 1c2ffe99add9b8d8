"""What a run has written, in the readers that its files are made for.

    check_run.py FORMAT FOLDER SHARDS-JSON CHECKPOINT

FOLDER is the run's own; SHARDS-JSON is what `ckptsim shards --tensors --json` says of it. The bytes of
tensors are held against the files by a second reader; whether a file's bytes are the right ones is
`ckptsim verify`'s to say."""
import json
import os
import subprocess
import sys
import zipfile

os.environ.setdefault("FORMAT_WRITER", "/bin/false")
os.environ.setdefault("FORMAT_FOLDER", "/tmp")
from common import BYTES, check, product, skip

FORMAT, FOLDER, PLAN, CHECKPOINT = sys.argv[1:5]
EXTENSIONS = {"torch": ".pt", "dcp": ".distcp", "safetensors": ".safetensors", "hdf5": ".h5", "raw": None}
FILES_MAX = 6  # of which all tensors are compared; the others are opened


def shard_files():
    """[(path on the drive, tensors)] of the plan, and whether all are there."""
    with open(PLAN) as file:
        plan = json.load(file)
    found = []
    for rank in plan["ranks"]:
        for shard in rank["files"]:
            name = shard["path"]
            for extension in EXTENSIONS.values():
                if EXTENSIONS[FORMAT] and extension and name.endswith(extension):
                    name = name[:-len(extension)] + EXTENSIONS[FORMAT]
            found.append((os.path.join(FOLDER, name), shard["tensors"]))
    return plan, found


def differs(tensors, seen, read):
    """What is wrong with the (dtype, shape, bytes) that `read` gives of each name; nothing: ''."""
    if sorted(seen) != sorted(t["name"] for t in tensors):
        return f"{len(seen)} names for {len(tensors)}: {sorted(seen)[:3]}"
    for tensor in tensors:
        dtype, shape, data = read(tensor["name"])
        if dtype != tensor["dtype"] or list(shape) != tensor["shape"]:
            return f"{tensor['name']}: {dtype} {shape} for {tensor['dtype']} {tensor['shape']}"
        if len(data) != product(shape) * BYTES[dtype] or (len(data) > 64 and not any(data)):
            return f"{tensor['name']}: {len(data)} bytes, or none but zeros"
    return ""


def check_torch(files):
    try:
        import torch
    except ImportError as error:
        skip(f"{FORMAT}: torch.load", f"no torch here: {error}")
        return
    names = {torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
             torch.int64: "int64", torch.int32: "int32", torch.int8: "int8", torch.uint8: "uint8"}

    def raw(tensor):
        return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() > 0 else b""

    wrong, values = [], []
    for path, tensors in files:
        state = torch.load(path, weights_only=True)
        text = differs(tensors, state, lambda name: (names[state[name].dtype], state[name].shape, raw(state[name])))
        wrong += [f"{path}: {text}"] if text else []
    for path, tensors in files[:FILES_MAX]:
        state = torch.load(path)
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                values.append(f"{path}: a wrong CRC-32")
            for i, name in enumerate(state):
                if raw(state[name]) != archive.read(f"archive/data/{i}"):
                    values.append(f"{path}: {name}")
    check(wrong == [], f"torch.load, weights_only: names, types and shapes of {len(files)} files", wrong[:3])
    check(values == [], "torch.load gives the values that zipfile reads, with right CRC-32s", values[:3])
    tools = [["python3", "-m", "zipfile", "-t"], ["unzip", "-tq"]]
    for tool in tools:
        try:
            bad = [path for path, _ in files[:FILES_MAX]
                   if subprocess.run([*tool, path], stdout=subprocess.DEVNULL).returncode != 0]
            check(bad == [], f"{' '.join(tool)} takes them", bad[:3])
        except FileNotFoundError:
            skip(" ".join(tool), "it is not here")


def check_hdf5(files):
    try:
        import h5py
    except ImportError as error:
        skip("h5py reads them", f"no h5py here: {error}")
        return
    wrong = []
    for path, tensors in files:
        with h5py.File(path, "r") as file, open(path, "rb") as raw:
            found = []
            file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)

            def read(name):
                dataset = file[name]
                dtype = next(t["dtype"] for t in tensors if t["name"] == name)
                raw.seek(dataset.id.get_offset() or 0)
                data = raw.read(product(dataset.shape) * BYTES[dtype])
                if dtype != "bf16" and dataset[()].tobytes() != data:
                    data = b""
                return dtype, list(dataset.shape), data
            text = differs(tensors, found, read)
            wrong += [f"{path}: {text}"] if text else []
    check(wrong == [], f"h5py reads the datasets of {len(files)} files", wrong[:3])


def check_safetensors(files):
    import safetensors_reader as reader
    wrong, where = [], {}
    for path, tensors in files:
        try:
            found, _, _ = reader.read(path)
            text = differs(tensors, found, lambda name: found[name])
        except (reader.Invalid, ValueError, KeyError) as error:
            text = repr(error)
        where.update({t["name"]: os.path.basename(path) for t in tensors})
        wrong += [f"{path}: {text}"] if text else []
    check(wrong == [], f"a reader made from the description takes {len(files)} files", wrong[:3])
    index = os.path.join(os.path.dirname(files[0][0]), "model.safetensors.index.json")
    if os.path.exists(index):
        with open(index) as file:
            told = json.load(file)
        total = sum(t["bytes"] for _, tensors in files for t in tensors)
        check(told["weight_map"] == where and told["metadata"]["total_size"] == total,
              "the index says where each tensor is, and the size of all", told["metadata"])


def check_dcp(files):
    import dcp_reader
    folder = os.path.dirname(files[0][0])
    wholes = {}
    for _, tensors in files:
        for tensor in tensors:
            wholes[tensor["name"]] = tensor["dtype"], tensor.get("whole", tensor["shape"])
    dcp_reader.check_by_description(folder, wholes)
    dcp_reader.check_by_torch(folder, wholes)


def check_markers(plan):
    layout, number = plan["layout"], int(CHECKPOINT)
    wanted = {"deepspeed": ("latest", f"global_step{number}"),
              "megatron": ("latest_checkpointed_iteration.txt", str(number)),
              "megatron-dist": ("latest_checkpointed_iteration.txt", str(number))}.get(layout)
    if wanted:
        with open(os.path.join(FOLDER, wanted[0])) as file:
            check(file.read() == wanted[1], f"{wanted[0]} names the newest checkpoint")
    if layout == "megatron-dist":
        folder = os.path.join(FOLDER, f"iter_{number:07d}")
        with open(os.path.join(folder, "metadata.json")) as file:
            check(json.load(file)["sharded_backend"] == "torch_dist", "metadata.json names the backend")


def main():
    plan, files = shard_files()
    missing = [path for path, _ in files if not os.path.isfile(path)]
    check(missing == [], f"{len(files)} files lie where {plan['layout']} has them", missing[:3])
    if missing:
        return
    check_markers(plan)
    {"torch": check_torch, "hdf5": check_hdf5, "safetensors": check_safetensors, "dcp": check_dcp}[FORMAT](files)


main()
