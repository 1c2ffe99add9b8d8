"""Files of format safetensors in a reader made from the format's description: as strict as it."""
import os

from common import check, path, random_tensors, rng, stream, write
from safetensors_reader import TYPES, Invalid, read


def main():
    random = rng()
    for count in (0, 1, 40, 40, 40):
        tensors = random_tensors(random, count)[:count]
        places, size = write("safetensors", "t.safetensors", tensors)
        label = f"{len(tensors)} tensors"
        try:
            found, data_begin, names = read("t.safetensors")
            wrong = [t[0] for t in tensors if found.pop(t[0]) != (t[1], t[2], stream(*places[t[0]]))]
            check(wrong == [] and found == {}, f"safetensors: the values of {label}", wrong[:3])
            check(data_begin % 4096 == 0, f"safetensors: data begins at a block, {label}")
            order = sorted(tensors, key=lambda t: (list(TYPES.values()).index(t[1]), t[0]))
            check(names == [t[0] for t in order], f"safetensors: wide types first, then by name, {label}")
        except (Invalid, ValueError, KeyError) as error:
            check(False, f"safetensors: {label} are read", repr(error))
        check(os.path.getsize(path("t.safetensors")) == size, f"safetensors: size is as computed, {label}")


main()
