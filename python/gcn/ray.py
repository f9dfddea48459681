"""Plans on a Ray cluster (an optional extra: ``pip install gcn-emu[ray]``).

A plan runs in shards (docs/clusters.md), each a task of Ray, on any node. Ray runs a task again whose node or process was lost; a shard gives the
same every time. The plan and the files that it names must be readable under the same names on all nodes.
"""

from __future__ import annotations

import os
from typing import Any

import ray

from ._gcn import merge, run_shard
from ._record import Record

#: How often Ray runs a shard again whose node or process was lost.
RETRIES = 10


def run(plan: str | os.PathLike[str], shards: int, *, arch: str | None = None, **options: Any) -> Record:
    """Runs a plan in this number of shards, unites them here, and checks and saves as ``gcn.run_plan`` does.

    ``options`` are those of a Ray task, as ``num_cpus``. Call ``ray.init`` before to choose a cluster. The first shard that fails or is refused
    ends the run, with its :class:`gcn.Error`.
    """
    path = os.path.abspath(os.fspath(plan))
    options.setdefault("max_retries", RETRIES)
    task = ray.remote(**options)(run_shard_of)
    waiting = [task.remote(path, index, shards, arch) for index in range(shards)]
    parts: list[bytes] = []
    try:
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            parts += ray.get(done)
    except ray.exceptions.RayTaskError as error:
        for rest in waiting:
            ray.cancel(rest)
        raise error.cause from None
    return merge(path, parts, arch)


def run_shard_of(path: str, index: int, count: int, arch: str | None) -> bytes:
    """The task of Ray."""
    return run_shard(path, index, count, arch)
