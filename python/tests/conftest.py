"""What the tests share."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
if list(pathlib.Path(__file__).parents[1].glob("gcn/*.so")):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    # Processes that tests start, as Ray's workers, find it too.
    os.environ["PYTHONPATH"] = sys.path[0]

import gcn  # noqa: E402


@pytest.fixture
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture
def gpu() -> gcn.Gpu:
    return gcn.Gpu("gfx900")


@pytest.fixture
def clang() -> str:
    """A clang with the AMDGPU target and a library of OpenCL's functions; without one the test is skipped, and says so."""
    try:
        gcn.compile("kernel void f(global int *x) { x[get_global_id(0)] = 1; }", "gfx900")
    except gcn.Error as error:
        pytest.skip(f"no clang for OpenCL C: {error}")
    return gcn._compile.find_clang()
