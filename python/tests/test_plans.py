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


CAMPAIGN = """
checks = "none"

[[sweep]]
plan = "mandelbrot.toml"
matrix."launch.0.kernel" = ["mandelbrot", "mandelbrot"]

[[mutate]]
plan = "sums.toml"
of = ["barriers"]

[[fuzz]]
target = ["gfx701", "gfx900"]
seeds = "0..20"
"""


def test_campaigns(plan):
    file = plan.with_name("c.toml")
    file.write_text(CAMPAIGN)
    campaign = gcn.Campaign(file)
    whole = campaign.run(plan.with_name("whole.journal"))
    assert whole.done == len(campaign) == whole["items"]
    assert [s.kind for s in whole.sections] == ["sweep", "mutate", "fuzz"]
    # Items one by one, in another order, give the same.
    journal = campaign.journal()
    journal.append([campaign.run_text(item) for item in reversed(range(3, len(campaign)))])
    with pytest.raises(gcn.Error, match="another process has the journal open"):
        campaign.journal()
    del journal
    again = campaign.run()
    assert again == whole
    assert campaign.run_item(0).outcome == "ok"
    with pytest.raises(gcn.Error, match="there is no item 1000"):
        campaign.run_item(1000)
    file.write_text("[[sweep]]")
    with pytest.raises(gcn.Error, match="c.toml:1:1: missing field `plan`") as raised:
        gcn.Campaign(file)
    assert raised.value.kind == "file"


def test_ray_runs_shards_again_whose_node_is_lost(plan, monkeypatch):
    """Three local nodes, of which one is killed while shards run. Ray is an optional extra: without it the test is skipped."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address)
    try:
        cluster.wait_for_nodes()
        # A node is lost when the third task has ended and others wait or run.
        lost, ended, wait = [], [], ray.wait

        def waiting(*args, **kwargs):
            done = wait(*args, **kwargs)
            ended.append(done)
            if len(ended) == 3:
                cluster.remove_node(nodes[len(lost)], allow_graceful=False)
                lost.append(True)
            return done

        monkeypatch.setattr(ray, "wait", waiting)
        merged = gcn.ray.run(plan, 24, num_cpus=1)
        assert len(lost) == 1
        assert merged.shards == 24 and merged.checks[0].ok
        ended[:] = [None] * 3
        with pytest.raises(gcn.Error, match="cannot be sharded"):
            gcn.ray.run(plan.with_name("sums.toml"), 4)
        file = plan.with_name("c.toml")
        file.write_text(CAMPAIGN)
        ended.clear()
        summary = gcn.ray.campaign(file, items_per_task=1, num_cpus=1)
        assert len(lost) == 2
        assert summary.done == summary["items"] == len(gcn.Campaign(file))
        assert summary == gcn.Campaign(file).run(plan.with_name("alone.journal"))
        # All is in the journal: nothing is left.
        assert gcn.ray.campaign(file) == summary
    finally:
        ray.shutdown()
        cluster.shutdown()
