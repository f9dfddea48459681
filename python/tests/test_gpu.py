"""Kernels on the machine: arguments, results, errors."""

import multiprocessing
import signal
import threading
import time

import gcn
import numpy as np
import pytest

ENDLESS = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
.text
.globl endless
.p2align 8
.type endless,@function
endless:
  s_add_u32 s0, s0, 1
  s_branch endless
.rodata
.p2align 6
.amdhsa_kernel endless
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 8
.end_amdhsa_kernel
"""


def load(gpu, root, name):
    return gpu.load_file(root / f"testdata/kernels/{name}-gfx900.co").kernel(name)


@pytest.fixture(params=["interp", None])
def either(request):
    return gcn.Gpu("gfx900", engine=request.param, threads=2)


def test_arrays_are_changed_in_place(either, root):
    vadd = load(either, root, "vadd")
    rng = np.random.default_rng(1)
    a, b, c = rng.random(1000, np.float32), rng.random(1000, np.float32), np.zeros(1000, np.float32)
    stats = vadd.launch(1000, 256, a, b, c, 1000)
    assert np.array_equal(c, a + b) and stats.waves == 16 and stats.instructions > 100 and stats.ms > 0
    # Fewer, by a NumPy scalar; the rest stays.
    c[:] = -1
    vadd.launch((1000,), (256, 1, 1), a, b, c, np.uint32(10))
    assert np.array_equal(c[:10], (a + b)[:10]) and (c[10:] == -1).all()


def test_matmul_of_two_dimensions(either, root):
    matmul = load(either, root, "matmul")
    names = matmul.parameters
    assert any("float*" in n for n in names)


def test_the_same_array_twice_and_overlapping_views(gpu, root):
    vadd = load(gpu, root, "vadd")
    x = np.arange(64, dtype=np.float32)
    vadd.launch(64, 64, x, x, x, 64)
    assert np.array_equal(x, np.arange(64) * 2)
    x = np.arange(96, dtype=np.float32)
    expected = x.copy()
    expected[32:] = x[:64] + x[:64]
    vadd.launch(64, 64, x[:64], x[:64], x[32:], 64)
    assert np.array_equal(x, expected)


def test_read_only_arrays(gpu, root):
    vadd = load(gpu, root, "vadd")
    a = np.ones(64, np.float32)
    a.flags.writeable = False
    c = np.zeros(64, np.float32)
    vadd.launch(64, 64, a, a, c, 64)
    assert (c == 2).all()
    with pytest.raises(gcn.Error, match="argument 2: the array is read-only") as raised:
        vadd.launch(64, 64, c, c, a, 64)
    assert raised.value.argument == 2 and (a == 1).all()


def test_buffers_are_seen_without_a_copy(gpu, root):
    vadd = load(gpu, root, "vadd")
    a = gpu.array(np.arange(64, dtype=np.float32))
    c = gpu.zeros(64, np.float32)
    view = np.asarray(c)
    vadd.launch(64, 64, a, a, c, 64)
    assert np.array_equal(view, np.arange(64) * 2)
    view[0] = 7
    assert np.frombuffer(c.tobytes(), np.float32)[0] == 7
    other = np.from_dlpack(c)
    assert other[0] == 7 and other.__array_interface__["data"][0] == view.__array_interface__["data"][0]
    assert c.shape == (64,) and c.dtype == np.float32 and c.nbytes == 256 and len(c) == 64
    # The memory lives as long as a view of it.
    del c
    assert view[0] == 7
    with pytest.raises(gcn.Error, match="another gcn.Gpu"):
        load(gcn.Gpu("gfx900"), root, "vadd").launch(64, 64, a, a, a, 64)


def test_objects_with_dlpack_alone(gpu, root):
    class Exported:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    load(gpu, root, "vadd").launch(64, 64, Exported(x), Exported(x), Exported(out), 64)
    assert np.array_equal(out, x * 2)


@pytest.mark.parametrize(
    "args, what",
    [
        (lambda x: (x, x, x), "takes 4 arguments"),
        (lambda x: (x, x, x.astype(np.float64), 64), "argument 2"),
        (lambda x: (x, x, x, 1.5), "1.5 is a float"),
        (lambda x: (x, x, x, 1 << 40), "does not fit u32"),
        (lambda x: (x, x, [1.0, 2.0], 64), "a list is no array"),
        (lambda x: (x, x, x[::2], 64), "not contiguous"),
        (lambda x: (x, x, x.astype(">f4"), 64), "big-endian"),
        (lambda x: (x, x, object(), 64), "object is no argument"),
        (lambda x: (x, x, np.float32(1), 64), "a number is no array"),
        (lambda x: (x, x, x, np.float32(64)), "argument 3"),
    ],
)
def test_arguments_that_do_not_fit(gpu, root, args, what):
    with pytest.raises(gcn.Error, match=what) as raised:
        load(gpu, root, "vadd").launch(64, 64, *args(np.zeros(64, np.float32)))
    assert raised.value.kind == "argument"


def test_any_type_and_options(gpu, root):
    vadd = load(gpu, root, "vadd")
    x = np.zeros(64, np.float64)
    vadd.launch(64, 64, x, x, x, 64, any_type=True, threads=1, deterministic=True, offset=0)
    with pytest.raises(TypeError, match="no option `thread`"):
        vadd.launch(64, 64, x, x, x, 64, thread=1)
    with pytest.raises(gcn.Error, match="grid: expected"):
        vadd.launch((), 64, x, x, x, 64)
    with pytest.raises(gcn.Error, match="group: expected"):
        vadd.launch(64, 0, x, x, x, 64)


def test_null_and_addresses(gpu, root):
    vadd = load(gpu, root, "vadd")
    c = gpu.zeros(64, "f4")
    vadd.launch(64, 64, c, c.address, c, 64)
    with pytest.raises(gcn.Error) as raised:
        vadd.launch(64, 64, None, c, c, 64)
    error = raised.value
    assert error.kind == "fault" and error.fault_address == 0 and error.kernel == "vadd"
    assert error.workgroup == [0, 0, 0] and error.wave == 0 and error.lane == 0
    assert error.instruction and error.address and error.pc and error.operands


def test_an_empty_array(gpu, root):
    empty = np.zeros(0, np.float32)
    load(gpu, root, "vadd").launch(64, 64, empty, empty, empty, 0)


def test_limits_and_names(gpu, root):
    with pytest.raises(gcn.Error) as raised:
        gpu.assemble(ENDLESS).kernel().launch(64, 64, max_instructions=1000)
    assert raised.value.kind == "limit"
    with pytest.raises(gcn.Error) as raised:
        gpu.load_file(root / "testdata/kernels/vadd-gfx900.co").kernel("vsub")
    assert raised.value.kernels == ["vadd", "saxpy_f4"]
    with pytest.raises(gcn.Error) as raised:
        gpu.load_file("/nowhere.co")
    assert raised.value.file == "/nowhere.co"
    with pytest.raises(gcn.Error):
        gpu.load(b"not an object")
    with pytest.raises(gcn.Error) as raised:
        gpu.assemble("s_nop 0\nv_nonsense\n", "k.s")
    assert (raised.value.file, raised.value.line) == ("k.s", 2)
    with pytest.raises(gcn.Error, match="for gfx906"):
        gpu.load_file(root / "testdata/kernels/vadd-gfx906.co")


def test_ctrl_c_stops_a_kernel(gpu):
    import _thread

    kernel = gpu.assemble(ENDLESS).kernel()
    # A process that a shell has started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            kernel.launch(64, 64)
        assert time.monotonic() - start < 20
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_run_while_a_kernel_does(gpu):
    kernel = gpu.assemble(ENDLESS).kernel()
    counted = 0
    stop = threading.Event()

    def count():
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    during = 0
    # The other thread needs some of this machine's time, so a launch that is too short to give it any is repeated, longer.
    for limit in (30_000_000, 300_000_000, 3_000_000_000):
        before = counted
        with pytest.raises(gcn.Error):
            kernel.launch(64, 64, max_instructions=limit)
        during = counted - before
        if during > 2:
            break
    stop.set()
    thread.join()
    assert during > 2


def test_launches_from_several_threads(gpu, root):
    vadd = load(gpu, root, "vadd")
    wrong = []

    def work(n):
        x, c = np.full(4096, n, np.float32), np.zeros(4096, np.float32)
        for _ in range(5):
            vadd.launch(4096, 256, x, x, c, 4096)
            if not (c == 2 * n).all():
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes are not forked here")
def test_a_forked_process_launches(root):
    def launch():
        gpu = gcn.Gpu("gfx900", threads=2)
        x = np.arange(200_000, dtype=np.float32)
        load(gpu, root, "vadd").launch(len(x), 64, x, x, x, len(x))
        assert np.array_equal(x, np.arange(200_000) * 2)

    launch()
    process = multiprocessing.get_context("fork").Process(target=launch)
    process.start()
    process.join(60)
    ended = process.exitcode
    process.kill()
    assert ended == 0


def test_checks_and_profiles(gpu, root):
    vadd = load(gpu, root, "vadd")
    x = np.zeros(64, np.float32)
    found = vadd.check(128, 64, x, x, x, 65)
    assert {r.check for r in found.reports} == {"oob"} and found.stats.waves == 2 and found.error is None
    assert found.reports[0].kernel == "vadd" and isinstance(found.reports[0].pc, int)
    clean = vadd.check(64, 64, x, x, x, 64, metrics=True)
    assert clean.reports == [] and clean.metrics
    with pytest.raises(gcn.Error, match="`nonsense` is no check"):
        vadd.check(64, 64, x, x, x, 64, checks="nonsense")
    profile = vadd.profile(64, 64, x, x, x, 64)
    assert any(i.times == 1 and i.inst.startswith("s_endpgm") for i in profile.instructions)


def test_code_objects_as_objects(root):
    path = root / "testdata/kernels/reduce-gfx900.co"
    for code in (path, str(path), path.read_bytes()):
        assert gcn.info(code)["kernels"][0]["name"] == "reduce_sum"
        assert gcn.analyze(code).kernels[0].occupancy.waves_per_simd > 0
        assert gcn.check(code) == []
        assert "s_endpgm" in gcn.dis(code, plain=True)
    assert gcn.assemble(gcn.dis(path)) == gcn.assemble(gcn.dis(gcn.assemble(gcn.dis(path))))
    with pytest.raises(gcn.Error, match="expected one of"):
        gcn.analyze(path, chip="navi10")
    with pytest.raises(gcn.Error):
        gcn.info(b"")
    with pytest.raises(gcn.Error, match="did you mean"):
        gcn.doc("s_bfe_u33")


def test_variables_and_info(gpu, root):
    program = gpu.load_file(root / "testdata/kernels/vadd-gfx900.co")
    assert program.info()["kernels"][0]["name"] == "vadd" and program.kernels == ["vadd", "saxpy_f4"]
    assert program["vadd"].name == "vadd"
    with pytest.raises(gcn.Error, match="no variable"):
        program.variable("nothing")


def test_display(gpu):
    listing = gcn.disasm(gcn.asm("s_nop 0; s_endpgm", "gfx900"), "gfx900", 0x100)
    assert "<table" in listing._repr_html_() and "s_endpgm" in listing._repr_html_()
    lanes = gcn.Lanes(range(64), "v3", exec=1)
    assert lanes._repr_html_().count("<td") == 64 and "inactive" in lanes._repr_html_()
    state = gcn.eval("v_mov_b32 v0, s0", "gfx900", s0=5, exec=0xF)
    assert state["v0"][:5] == [5, 5, 5, 5, 0] and "v0" in state._repr_html_() and state.end == "fell_off"
    with pytest.raises(gcn.Error):
        gcn.eval("nonsense", "gfx900")


def test_compile(gpu, clang):
    source = """
    kernel void saxpy(global float *y, global const float *x, float a, uint n) {
      uint i = get_global_id(0);
      if (i < n) y[i] += a * x[i];
    }
    kernel void scaled(global float4 *y, float4 by) { y[get_global_id(0)] *= by; }
    kernel void turned(global int *y, local int *tmp) {
      uint i = get_local_id(0);
      tmp[i] = y[i];
      barrier(CLK_LOCAL_MEM_FENCE);
      y[i] = tmp[get_local_size(0) - 1 - i];
    }
    """
    program = gpu.compile(source)
    assert program.kernels == ["saxpy", "scaled", "turned"]
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    program["saxpy"].launch(128, 64, y, x, 0.5, 100)
    assert np.array_equal(y, 1 + np.float32(0.5) * x)
    v = np.ones((64, 4), np.float32)
    program["scaled"].launch(64, 64, v, (1, 2.0, 3, 4))
    assert np.array_equal(v, np.tile(np.float32([1, 2, 3, 4]), (64, 1)))
    w = np.arange(64, dtype=np.int32)
    program["turned"].launch(64, 64, w, gcn.Local(256))
    assert np.array_equal(w, np.arange(64)[::-1])
    with pytest.raises(gcn.Error) as raised:
        gpu.compile("kernel void f() {\n  nonsense;\n}")
    assert raised.value.kind == "compile" and raised.value.line == 2
    with pytest.raises(gcn.Error, match="no compiler `clang-nonsense`"):
        gpu.compile(source, clang="clang-nonsense")
    with pytest.raises(gcn.Error, match="no language"):
        gpu.compile(source, lang="cuda")


def test_an_array_without_dimensions(gpu, root):
    x = np.array(2.0, np.float32)
    load(gpu, root, "vadd").launch(1, 1, x, x, x, np.array(1, np.uint32))
    assert x == 4


def test_printf_goes_to_sys_stdout(gpu, root, capsys):
    program = gpu.load_file(root / "testdata/programs/objects/prints-gfx900-libclc-v4-O2.co")
    out = np.zeros(64, np.int32)
    program[program.kernels[0]].launch(2, 2, *[out] * len(program[program.kernels[0]].parameters), any_type=True)
    assert capsys.readouterr().out
