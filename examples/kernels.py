"""Ten OpenCL kernels compiled, checked, run and compared with NumPy, and pictures of what they made.

    pip install ./python numpy matplotlib
    python examples/kernels.py [--arch gfx900] [--plot kernels.png]

It is in cells (`# %%`), which Jupyter, VS Code and Spyder run one by one. It needs a clang with OpenCL's library (docs/python.md).
"""

# %% What it needs
import argparse
import sys

import gcn
import numpy as np

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--arch", default="gfx900")
options.add_argument("--plot", metavar="FILE", help="a picture of the results, by matplotlib")
given = options.parse_args() if "ipykernel" not in sys.modules else options.parse_args([])

# %% The kernels
SOURCE = """
kernel void saxpy(global const float *x, global float *y, float a, uint n) {
  uint i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
kernel void reduce(global const int *x, global int *sums, local int *part) {
  uint l = get_local_id(0);
  part[l] = x[get_global_id(0)];
  for (uint step = get_local_size(0) / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < step) part[l] += part[l + step];
  }
  if (l == 0) sums[get_group_id(0)] = part[0];
}
kernel void transpose(global const float *in, global float *out, uint width, uint height) {
  local float tile[16][17];
  uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
  if (x < width && y < height) tile[ly][lx] = in[y * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint ox = get_group_id(1) * 16 + lx, oy = get_group_id(0) * 16 + ly;
  if (ox < height && oy < width) out[oy * height + ox] = tile[lx][ly];
}
kernel void matmul(global const float *a, global const float *b, global float *c, uint n) {
  uint x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (uint k = 0; k < n; k++) sum = fma(a[y * n + k], b[k * n + x], sum);
  c[y * n + x] = sum;
}
kernel void histogram(global const uchar *x, global uint *bins, uint n) {
  local uint own[256];
  for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) own[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&own[x[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) atomic_add(&bins[i], own[i]);
}
kernel void scan(global const uint *x, global uint *out, local uint *part) {
  uint l = get_local_id(0), i = get_global_id(0);
  part[l] = x[i];
  for (uint far = 1; far < get_local_size(0); far *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = l >= far ? part[l - far] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    part[l] += before;
  }
  out[i] = part[l];
}
kernel void stencil(global const float *in, global float *out, uint width, uint height) {
  uint x = get_global_id(0), y = get_global_id(1), i = y * width + x;
  bool inside = x > 0 && y > 0 && x + 1 < width && y + 1 < height;
  out[i] = inside ? 0.25f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]) : in[i];
}
kernel void mandelbrot(global uint *out, uint width, uint height, uint most) {
  uint px = get_global_id(0), py = get_global_id(1), n = 0;
  float cx = -2.2f + px * (3.2f / width), cy = -1.2f + py * (2.4f / height), x = 0, y = 0;
  while (n < most && x * x + y * y <= 4) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    n++;
  }
  out[py * width + px] = n;
}
kernel void bitonic(global int *x, uint distance, uint block) {
  uint i = get_global_id(0), other = i ^ distance;
  if (other > i) {
    int a = x[i], b = x[other];
    if ((a > b) == ((i & block) == 0)) { x[i] = b; x[other] = a; }
  }
}
kernel void softmax(global const float *in, global float *out, uint width) {
  uint row = get_global_id(0);
  float top = -INFINITY, sum = 0;
  for (uint i = 0; i < width; i++) top = fmax(top, in[row * width + i]);
  for (uint i = 0; i < width; i++) sum += native_exp(in[row * width + i] - top);
  for (uint i = 0; i < width; i++) out[row * width + i] = native_exp(in[row * width + i] - top) / sum;
}
"""
gpu = gcn.Gpu(given.arch)
program = gpu.compile(SOURCE, options=["-ffp-contract=off"])
random = np.random.default_rng(1)
pictures: dict[str, np.ndarray] = {}
failures = []


def show(name: str, grid, group, args, got: np.ndarray, expected: np.ndarray, close: float = 0.0) -> None:
    """Checks a launch, runs it, and compares: exactly, or with a relative difference."""
    kernel = program.kernel(name)
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    reports = kernel.check(grid, group, *before).reports
    stats = kernel.launch(grid, group, *args)
    same = np.allclose(got, expected, rtol=close, atol=close) if close else np.array_equal(got, expected)
    print(f"{name:<11} {stats.waves:>5} waves {stats.instructions:>8} instructions  {len(reports)} reports  {'as NumPy' if same else 'NOT AS NUMPY'}")
    for report in reports:
        print(f"    {report.check}: {report.message}")
    if reports or not same:
        failures.append(name)
    pictures[name] = got


# %% y = a x + y
x, y = random.random(1000, np.float32), random.random(1000, np.float32)
show("saxpy", 1024, 256, (x, y, np.float32(2.5), np.uint32(1000)), y, np.float32(2.5) * x + y)

# %% Sums of workgroups
x, sums = random.integers(-1000, 1000, 4096, np.int32), np.zeros(16, np.int32)
show("reduce", 4096, 256, (x, sums, gcn.Local(1024)), sums, x.reshape(16, 256).sum(axis=1, dtype=np.int32))

# %% A transposed matrix, by tiles in LDS
x = random.random((40, 56), np.float32)
out = np.zeros((56, 40), np.float32)
show("transpose", (64, 48), (16, 16), (x, out, np.uint32(56), np.uint32(40)), out, x.T)

# %% The product of matrices
a, b = random.random((32, 32), np.float32), random.random((32, 32), np.float32)
c = np.zeros((32, 32), np.float32)
show("matmul", (32, 32), (16, 16), (a, b, c, np.uint32(32)), c, a @ b, close=1e-5)

# %% A histogram: atomics in LDS, then in memory
x, bins = random.normal(128, 30, 20000).clip(0, 255).astype(np.uint8), np.zeros(256, np.uint32)
show("histogram", 1024, 256, (x, bins, np.uint32(20000)), bins, np.bincount(x, minlength=256).astype(np.uint32))

# %% Prefix sums of workgroups
x, out = random.integers(0, 100, 1024, np.uint32), np.zeros(1024, np.uint32)
show("scan", 1024, 128, (x, out, gcn.Local(512)), out, x.reshape(8, 128).cumsum(axis=1, dtype=np.uint32).ravel())

# %% A stencil
x = np.zeros((48, 64), np.float32)
x[16:32, 24:40] = 1
out, expected = np.zeros_like(x), x.copy()
quarter = np.float32(0.25)
expected[1:-1, 1:-1] = quarter * (((x[1:-1, :-2] + x[1:-1, 2:]) + x[:-2, 1:-1]) + x[2:, 1:-1])
show("stencil", (64, 48), (16, 16), (x, out, np.uint32(64), np.uint32(48)), out, expected)


# %% The Mandelbrot set. Sizes are powers of two, because OpenCL's division may be 2.5 ulps off otherwise
def mandelbrot(width: int, height: int, most: int) -> np.ndarray:
    """As the kernel: every operation in 32 bits."""
    f = np.float32
    step_x, step_y = f(3.2) / f(width), f(2.4) / f(height)
    cx, cy = np.meshgrid(f(-2.2) + np.arange(width, dtype=f) * step_x, f(-1.2) + np.arange(height, dtype=f) * step_y)
    zx, zy, n = np.zeros_like(cx), np.zeros_like(cy), np.zeros(cx.shape, np.uint32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(most):
            on = zx * zx + zy * zy <= 4
            n += on
            zx, zy = np.where(on, zx * zx - zy * zy + cx, zx), np.where(on, f(2) * zx * zy + cy, zy)
    return n


out = np.zeros((64, 128), np.uint32)
show("mandelbrot", (128, 64), (16, 16), (out, np.uint32(128), np.uint32(64), np.uint32(64)), out, mandelbrot(128, 64, 64))

# %% Bitonic sort: one launch for each step; the buffer stays in the GPU's memory
x = random.integers(-10000, 10000, 512, np.int32)
array = gpu.array(x)
kernel = program.kernel("bitonic")
block = 2
while block <= 256:
    distance = block // 2
    while distance:
        kernel.launch(512, 64, array, np.uint32(distance), np.uint32(block))
        distance //= 2
    block *= 2
for distance in (256, 128, 64, 32, 16, 8, 4, 2):
    kernel.launch(512, 64, array, np.uint32(distance), np.uint32(512))
last = np.asarray(array).copy()
show("bitonic", 512, 64, (last, np.uint32(1), np.uint32(512)), last, np.sort(x))

# %% Softmax of rows
x, out = random.normal(size=(64, 24)).astype(np.float32), np.zeros((64, 24), np.float32)
e = np.exp(x - x.max(axis=1, keepdims=True))
show("softmax", 64, 64, (x, out, np.uint32(24)), out, e / e.sum(axis=1, keepdims=True), close=1e-5)

# %% Pictures
if given.plot:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(15, 6), layout="constrained")
    for axis, (name, data) in zip(axes.flat, pictures.items()):
        axis.set_title(name)
        axis.imshow(data) if data.ndim == 2 else axis.plot(data, linewidth=0.7)
    figure.savefig(given.plot)
    print(f"{given.plot}: {len(pictures)} pictures")

# %% How it went
if failures:
    sys.exit(f"not right: {', '.join(failures)}")
