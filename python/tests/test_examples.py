"""The examples of the repository."""

import subprocess
import sys


def test_ten_kernels_are_as_numpy(root, clang, tmp_path):
    done = subprocess.run([sys.executable, root / "examples/kernels.py"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 10 and all(line.endswith("0 reports  as NumPy") for line in lines), done.stdout
