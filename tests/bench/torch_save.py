"""What a checkpoint costs by torch.save: FILES files of SIZE bytes each in DIRECTORY, each synced.

    torch_save.py DIRECTORY FILES SIZE
    torch=VERSION save_wall_s=... save_cpu_s=...   (the calls of torch.save and fsync alone)
"""
import os
import resource
import sys
import time

import torch


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    directory, files, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    wall = cpu = 0.0
    paths = [os.path.join(directory, f"shard-{i}.pt") for i in range(files)]
    for path in paths:
        # Each file has content of its own, in tensors of 64 MiB.
        state = {f"layer{i}": torch.rand(16 << 20) for i in range(size >> 26)}
        wall_before, cpu_before = time.monotonic(), cpu_seconds()
        with open(path, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        wall += time.monotonic() - wall_before
        cpu += cpu_seconds() - cpu_before
    for path in paths:
        os.remove(path)
    print(f"torch={torch.__version__} save_wall_s={wall:.4f} save_cpu_s={cpu:.4f}")


main()
