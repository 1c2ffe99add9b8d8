"""Checkpoints of format dcp, with tensors cut in many ways."""
import os
import subprocess

from common import WRITER, check, list_file, path, rng, stream
from dcp_reader import DTYPES, check_by_description, check_by_torch


def make_tensors(random, ranks):
    """Lists for each rank, and the whole tensors: {name: (dtype, shape)}. Some are cut into rows, one
    into a grid, some are whole on one rank, and one is whole on all of them."""
    lists, wholes = [[] for _ in range(ranks)], {}
    for i in range(12):
        name, dtype, shape = f"model.layers.{i}.weight", random.choice(list(DTYPES)), [16, random.randint(1, 5000)]
        wholes[name] = dtype, shape
        if i % 3 == 0:
            rows = 16 // ranks
            for rank in range(ranks):
                lists[rank].append((name, dtype, [rows, shape[1]], shape, [rank * rows, 0]))
        elif i % 3 == 1:
            lists[random.randrange(ranks)].append((name, dtype, shape))
        else:
            middle = random.randint(0, shape[1])
            for rank, (begin, end) in enumerate(((0, middle), (middle, shape[1]))):
                if end > begin:
                    lists[rank].append((name, dtype, [16, end - begin], shape, [0, begin]))
    wholes["step"] = "fp32", []
    for rank in range(ranks):
        lists[rank].append(("step", "fp32", []))
    return lists, wholes


def write_checkpoint(name, lists):
    os.makedirs(path(name), exist_ok=True)
    files = [list_file(f"{name}.{rank}", tensors) for rank, tensors in enumerate(lists)]
    subprocess.run([WRITER, "dcp-checkpoint", path(name), *files], check=True)


def main():
    random = rng()
    for ranks in (2, 4):
        lists, wholes = make_tensors(random, ranks)
        write_checkpoint(f"dcp{ranks}", lists)
        check_by_description(path(f"dcp{ranks}"), wholes)
        check_by_torch(path(f"dcp{ranks}"), wholes, stream)


main()
