"""Checks of checkpoints of format dcp: by a reader made from the format's description, and torch's own.
`wholes` says what must be in a checkpoint: {name: (dtype, shape)}."""
import dataclasses
import io
import os
import pickle
import sys
import types
import zipfile

from common import BYTES, check, product, skip

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int64": "int64"}
METADATA = "torch.distributed.checkpoint.metadata"
FILESYSTEM = "torch.distributed.checkpoint.filesystem"


class Value:
    """Stands for an object of any class: what it was made of, and its state."""

    def __init__(self, *words):
        self.words = words

    def __setstate__(self, state):
        self.state = state
        if isinstance(state, dict):
            self.__dict__.update(state)

    def __hash__(self):
        return hash((self.fqn, self.offset.words))

    def __eq__(self, other):
        return self.fqn == other.fqn and self.offset.words == other.offset.words


class Structure(pickle.Unpickler):
    allowed = {
        (METADATA, "Metadata"), (METADATA, "TensorStorageMetadata"), (METADATA, "TensorProperties"),
        (METADATA, "ChunkStorageMetadata"), (METADATA, "MetadataIndex"), (METADATA, "_MEM_FORMAT_ENCODING"),
        (FILESYSTEM, "_StorageInfo"), ("torch", "Size"), ("torch.serialization", "_get_layout"),
        *(("torch", name) for name in DTYPES.values()),
    }

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is not of this format")
        return name if name in DTYPES.values() else type(name, (Value,), {})


def item_bytes(folder, info):
    """The data of one item, an archive of its own, and where in its file it begins."""
    with open(os.path.join(folder, info.relative_path), "rb") as file:
        file.seek(info.offset)
        data = file.read(info.length)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        good = archive.testzip() is None and names[0] == "archive/data.pkl" and "archive/version" in names
        return (archive.read("archive/data/0") if good else None), data


def check_by_description(folder, wholes):
    with open(folder + "/.metadata", "rb") as file:
        metadata = Structure(file).load()
    check(sorted(metadata.state_dict_metadata) == sorted(wholes), "dcp: .metadata names all tensors")
    check(metadata.planner_data == {key: (key,) for key in wholes}, "dcp: .metadata has a path for each tensor")
    wrong, chunks_in_all, aligned = [], 0, True
    for key, (dtype, shape) in wholes.items():
        tensor = metadata.state_dict_metadata[key]
        covered = 0
        for i, chunk in enumerate(tensor.chunks):
            index = Value()
            index.fqn, index.offset = key, chunk.offsets
            stored = metadata.storage_data[index]
            kept = next(k for k in metadata.storage_data if k == index)
            data, _ = item_bytes(folder, stored)
            size = product(chunk.sizes.words[0]) * BYTES[dtype]
            covered += product(chunk.sizes.words[0])
            aligned = aligned and stored.offset % 4096 == 0
            if data is None or len(data) != size or kept.index != i:
                wrong.append(f"{key} {chunk.offsets.words}")
            chunks_in_all += 1
        if covered != product(shape) or list(tensor.size.words[0]) != shape or \
                tensor.properties.state[0] != DTYPES[dtype]:
            wrong.append(f"{key}: {covered} elements of {shape}")
    check(wrong == [], "dcp: parts cover each tensor, each an archive of its size", wrong[:4])
    check(aligned, "dcp: items begin at a block")
    check(len(metadata.storage_data) == chunks_in_all, "dcp: replicas are told once",
          f"{len(metadata.storage_data)} for {chunks_in_all}")


def import_torch():
    """torch 1.13 has the reader under an older name, which Python 3.11 does not import as it is: a
    dataclass there is the default of a field, and so has to have a hash."""
    plain = dataclasses.dataclass

    def hashable(cls=None, **options):
        def wrap(wrapped):
            made = plain(wrapped, **options)
            if made.__hash__ is None:
                made.__hash__ = object.__hash__
            return made
        return wrap if cls is None else wrap(cls)
    dataclasses.dataclass = hashable
    import torch
    from torch.distributed._shard import checkpoint
    from torch.distributed._shard.sharded_tensor import metadata as properties
    dataclasses.dataclass = plain
    package = types.ModuleType("torch.distributed.checkpoint")
    classes = types.ModuleType(METADATA)
    classes.__dict__.update(checkpoint.metadata.__dict__)
    classes.TensorProperties = properties.TensorProperties
    classes._MEM_FORMAT_ENCODING = properties.MEM_FORMAT_ENCODING
    sys.modules.update({package.__name__: package, METADATA: classes, FILESYSTEM: checkpoint.filesystem})
    return torch, checkpoint


def raw(torch, tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def check_by_torch(folder, wholes, stream=None):
    """stream: what payload lies at an offset of a file, where that is known."""
    try:
        torch, checkpoint = import_torch()
    except Exception as error:  # whatever another torch or Python makes of it
        skip("dcp: torch's own reader loads it", f"{type(error).__name__}: {error}")
        return
    state = {key: torch.zeros(shape, dtype=getattr(torch, DTYPES[dtype])) for key, (dtype, shape) in wholes.items()}
    reader = checkpoint.FileSystemReader(folder)
    checkpoint.load_state_dict(state, reader, no_dist=True)
    with open(folder + "/.metadata", "rb") as file:
        metadata = pickle.load(file)
    wrong = []
    for index, stored in metadata.storage_data.items():
        chunk = next(c for c in metadata.state_dict_metadata[index.fqn].chunks if c.offsets == index.offset)
        part = state[index.fqn]
        for dim, (begin, length) in enumerate(zip(chunk.offsets, chunk.sizes)):
            part = part.narrow(dim, begin, length)
        data, item = item_bytes(folder, stored)
        # The item's data is payload, which depends on where in the file it lies.
        known = stream is None or data == stream(stored.offset + item.index(data), len(data))
        if raw(torch, part) != data or not known:
            wrong.append(f"{index.fqn} {list(index.offset)}")
    check(wrong == [], "dcp: torch's own reader puts the parts together", wrong[:4])
    check(all(int(torch.count_nonzero(raw_view)) > 0 for raw_view in
              (t.reshape(-1).view(torch.uint8) for t in state.values())), "dcp: no tensor stays empty")
