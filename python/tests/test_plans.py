"""Plans, their shards, and Ray."""

import pathlib
import shutil

import gcn
import numpy as np
import pytest


@pytest.fixture
def plan(root, tmp_path):
    for file in ("mandelbrot.toml", "mandelbrot.s", "mandelbrot-64x32.npy", "sums.toml", "sums.s"):
        shutil.copy(root / "examples" / file, tmp_path)
    return tmp_path / "mandelbrot.toml"


def test_shards_are_what_a_plan_is(plan):
    whole = gcn.run_plan(plan)
    assert whole.checks[0].ok and whole.waves > 0
    expected = np.load(plan.with_name("mandelbrot-out.npy"))
    plan.with_name("mandelbrot-out.npy").unlink()
    shards = [gcn.run_shard(plan, n, 3) for n in range(3)]
    merged = gcn.merge(plan, shards[::-1])
    assert merged.shards == 3 and merged.checks[0].ok and merged.waves == whole.waves
    assert np.array_equal(np.load(plan.with_name("mandelbrot-out.npy")), expected)


def test_errors(plan):
    with pytest.raises(gcn.Error, match="missing: 1/2"):
        gcn.merge(plan, [gcn.run_shard(plan, 0, 2)])
    with pytest.raises(gcn.Error, match="it is no shard"):
        gcn.merge(plan, [b"nothing"])
    with pytest.raises(gcn.Error, match="expected I/N"):
        gcn.run_shard(plan, 2, 2)
    with pytest.raises(gcn.Error, match="cannot be sharded") as raised:
        gcn.run_shard(plan.with_name("sums.toml"), 0, 2)
    assert raised.value.kind == "run"
    with pytest.raises(gcn.Error) as raised:
        gcn.run_plan(pathlib.Path("/nowhere.toml"))
    assert raised.value.kind == "file"


def test_ray_runs_shards_again_whose_node_is_lost(plan):
    """Three local nodes, of which one is killed while shards run. Ray is an optional extra: without it the test is skipped."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address)
    try:
        cluster.wait_for_nodes()
        import threading

        timer = threading.Timer(2.0, lambda: cluster.remove_node(nodes[0], allow_graceful=False))
        timer.start()
        merged = gcn.ray.run(plan, 24, num_cpus=1)
        timer.join()
        assert merged.shards == 24 and merged.checks[0].ok
        with pytest.raises(gcn.Error, match="cannot be sharded"):
            gcn.ray.run(plan.with_name("sums.toml"), 4)
    finally:
        ray.shutdown()
        cluster.shutdown()
