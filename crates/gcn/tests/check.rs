//! The checks of kernels that run: the cases of testdata/check/run, compiled kernels, and the metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use gcn::check::dynamic::{Allocation, Allocator, Checker, Fresh, Launched, Options, Surroundings};
use gcn::check::report::{Check, Report, Severity};
use gcn::engine::{Engines, Kind};
use gcn::gpu::Checked;
use gcn::{Buffer, Gpu, Target};

type Marks = BTreeSet<(Severity, String)>;

/// A case: its name, targets, launch, and lines of code with their expected reports.
struct Case {
    name: String,
    targets: Vec<String>,
    launch: BTreeMap<String, u32>,
    lines: Vec<(String, Vec<String>)>,
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(testdata().join("check/run/cases.s")).expect("the cases");
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("== ") {
            let mut words = header.split_whitespace().map(String::from);
            cases.push(Case {
                name: words.next().expect("a case has a name"),
                targets: words.collect(),
                launch: BTreeMap::new(),
                lines: Vec::new(),
            });
            continue;
        }
        let case = cases.last_mut().expect("a file begins with a case");
        if line.starts_with("grid ") {
            let words: Vec<&str> = line.split_whitespace().collect();
            let pairs = words
                .chunks(2)
                .map(|w| (w[0].to_string(), w[1].parse().expect("a number")));
            case.launch = pairs.collect();
            continue;
        }
        let (code, mark) = line.split_once(';').unwrap_or((line, ""));
        let words = mark.split_whitespace().map(String::from).collect();
        case.lines.push((code.trim().to_string(), words));
    }
    cases
}

/// The source of a case for a target, and the expected reports by instruction number.
fn source(case: &Case, target: &str) -> (String, BTreeMap<usize, Marks>) {
    let (mut code, mut marks) = (String::new(), BTreeMap::new());
    let mut number = 0;
    for (line, words) in &case.lines {
        let only = words.first().filter(|w| w.starts_with("gfx"));
        if only.is_some_and(|only| only != target) {
            continue;
        }
        code.push_str(&format!("{line}\n"));
        if line.is_empty() || line.ends_with(':') {
            continue;
        }
        if let [sign, rule] = words.as_slice() {
            let severity = match sign.as_str() {
                "!" => Severity::Error,
                "?" => Severity::Note,
                _ => panic!("{}: a mark is `! CHECK/RULE` or `? CHECK/RULE`", case.name),
            };
            marks.insert(number, Marks::from([(severity, rule.clone())]));
        }
        number += 1;
    }
    let lds = case.launch["lds"];
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n.text\n.p2align 8\nk:\n{code}\n.rodata\n.p2align 6\n\
         .amdhsa_kernel k\n.amdhsa_next_free_vgpr 32\n.amdhsa_next_free_sgpr 60\n\
         .amdhsa_group_segment_fixed_size {lds}\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n"
    );
    (source, marks)
}

fn all() -> Options {
    Options::parse("all").expect("a list of checks")
}

fn run(source: &str, target: &str, launch: &BTreeMap<String, u32>, options: Options) -> Checked {
    let gpu = Gpu::new(Target::parse(target).expect("a target")).expect("a GPU");
    let program = gpu.assemble(source).expect("it assembles");
    let kernel = program.kernel("k").expect("the kernel");
    let buffer = gpu.zeros::<u8>(launch["buf"] as usize).expect("a buffer");
    let ready = kernel
        .launch([launch["grid"]], [launch["group"]])
        .arg(&buffer);
    gpu.check(&ready, options)
}

#[test]
fn cases_report_what_is_marked() {
    let mut wrong = Vec::new();
    for case in cases() {
        for target in &case.targets {
            let (source, marks) = source(&case, target);
            let checked = run(&source, target, &case.launch, all());
            if let Err(error) = &checked.outcome {
                wrong.push(format!("{} {target}: {error}", case.name));
            }
            // The number of each instruction by its address.
            let gpu = Gpu::new(Target::parse(target).expect("a target")).expect("a GPU");
            let program = gpu.assemble(&source).expect("it assembles");
            let object = program.object();
            let section = (object.sections.iter()).position(|s| s.name == ".text");
            let section = section.expect("code");
            let (bytes, base) = (
                object.section_data(section),
                object.sections[section].address,
            );
            let mut numbers = BTreeMap::new();
            let mut at = 0;
            while at < bytes.len() {
                let target = Target::parse(target).expect("a target");
                let Some(insn) = gcn::isa::decode(target, &bytes[at..]) else {
                    break;
                };
                numbers.insert(base + at as u64, numbers.len());
                at += insn.len as usize;
            }
            let mut found: BTreeMap<usize, Marks> = BTreeMap::new();
            for report in &checked.reports {
                let rule = format!("{}/{}", report.check.name(), report.rule);
                let marks = found.entry(numbers[&report.pc]).or_default();
                marks.insert((report.severity, rule));
            }
            if found != marks {
                wrong.push(format!(
                    "{} {target}: reported {found:?}, marked {marks:?}",
                    case.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each check has a case that it reports and a similar case without a report.
#[test]
fn every_check_has_cases() {
    let marks: BTreeSet<String> = (cases().iter())
        .flat_map(|case| case.lines.iter())
        .filter_map(|(_, words)| words.get(1)?.split_once('/').map(|w| w.0.to_string()))
        .collect();
    for check in Check::ALL {
        assert!(marks.contains(check.name()), "{}", check.name());
    }
}

/// The two columns of code in each check's section of docs/check.md: the check reports the left one, and not the right one.
#[test]
fn the_examples_of_the_pages_are_what_they_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let text = std::fs::read_to_string(path).expect("the page");
    let buffer = "s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n";
    let addresses = "v_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 0x100, v1\n";
    for check in Check::ALL {
        let name = check.name();
        let mut sections = text.split("\n### ");
        let section = sections.find(|s| s.starts_with(&format!("{name}\n")));
        let section = section.unwrap_or_else(|| panic!("{name} has no section"));
        let shown = ["\nWrong, and right", "\nNoted, and not"];
        let example = (shown.iter()).find_map(|words| Some(section.split_once(words)?.1));
        let example = example.and_then(|rest| rest.split("```").nth(1));
        let example = example.unwrap_or_else(|| panic!("{name} has no example"));
        // What the examples take for granted: where the buffer is, and the address of each work-item's dword and of another one's.
        let (before, items) = match check {
            Check::Oob => (buffer.to_string(), 64),
            Check::Coherence => (format!("{buffer}{addresses}"), 64),
            Check::Race => (addresses.to_string(), 128),
            Check::Barrier => (addresses.to_string(), 64),
            Check::Hazard => ("s_mov_b64 s[6:7], 0\n".to_string(), 64),
            _ => (String::new(), 64),
        };
        let lines: Vec<&str> = example.trim_matches('\n').lines().collect();
        let left = lines[0].find("   ").expect("two columns");
        let column = left + lines[0][left..].find(|c| c != ' ').expect("two columns");
        for wrong in [true, false] {
            let of = |line: &&str| match wrong {
                true => line.get(..column).unwrap_or(line).trim().to_string(),
                false => line.get(column..).unwrap_or("").trim().to_string(),
            };
            let code: Vec<String> = lines.iter().map(of).collect();
            let code = format!("{before}{}\ns_endpgm", code.join("\n"));
            let launch = [
                ("grid", items),
                ("group", items),
                ("lds", 4 * items),
                ("buf", 256),
            ];
            let case = Case {
                name: name.to_string(),
                targets: Vec::new(),
                launch: BTreeMap::from(launch.map(|(name, n)| (name.to_string(), n))),
                lines: vec![(code.clone(), Vec::new())],
            };
            let list = Options::parse(name).expect("a check");
            let checked = run(&source(&case, "gfx900").0, "gfx900", &case.launch, list);
            let reported: Vec<&str> = checked.reports.iter().map(|r| r.check.name()).collect();
            let wanted: &[&str] = if wrong { &[name] } else { &[] };
            assert_eq!(reported, wanted, "{name}, wrong: {wrong}\n{code}");
            assert!(wrong || checked.outcome.is_ok(), "{name}\n{code}");
        }
    }
}

/// A report contains names, locations and the other access.
#[test]
fn a_report_tells_where() {
    let cases = cases();
    let case = cases
        .iter()
        .find(|c| c.name == "store-past-end")
        .expect("the case");
    let (source, _) = source(case, "gfx900");
    let checked = run(&source, "gfx900", &case.launch, Options::default());
    let [report] = checked.reports.as_slice() else {
        panic!("{:?}", checked.reports)
    };
    assert_eq!(report.lanes, Some(1 << 63));
    assert!(
        report
            .message
            .contains("at the end of argument 0, 256 bytes at 0x"),
        "{}",
        report.message
    );
    assert_eq!(report.instruction, "flat_store_dword v[2:3], v0");
    let at = report.at.expect("it ran");
    assert_eq!(
        (at.launch, at.workgroup, at.wave, at.step),
        (0, [0; 3], 0, 7)
    );
    // The report is the same on any number of threads, and the store was suppressed.
    let again = run(&source, "gfx900", &case.launch, Options::default());
    assert_eq!(again.reports, checked.reports);
    assert!(checked.outcome.is_ok());
}

/// Compiled kernels of four kinds cause no reports, on each target.
#[test]
fn compiled_kernels_are_right() {
    for target in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
        let gpu = Gpu::new(Target::parse(target).expect("a target")).expect("a GPU");
        let program = |name: &str| {
            let path = testdata().join(format!("kernels/{name}-{target}.co"));
            gpu.load_file(path).expect("the object")
        };
        let floats: Vec<f32> = (0..1024).map(|n| n as f32).collect();
        let ints: Vec<i32> = (0..1000).collect();
        let (a, out) = (gpu.buffer(&floats), gpu.zeros::<f32>(1024));
        let (a, out) = (a.expect("memory"), out.expect("memory"));
        let (values, sums) = (gpu.buffer(&ints), gpu.zeros::<i32>(16));
        let (values, sums) = (values.expect("memory"), sums.expect("memory"));
        let image = gpu.zeros::<u32>(32 * 16).expect("memory");
        let vadd = program("vadd").kernel("vadd").expect("it is there");
        let matmul = program("matmul").kernel("matmul").expect("it is there");
        let reduce = program("reduce").kernel("reduce_sum").expect("it is there");
        let minmax = program("reduce")
            .kernel("minmax_argmax")
            .expect("it is there");
        let mandelbrot = program("mandelbrot")
            .kernel("mandelbrot")
            .expect("it is there");
        let launches = [
            vadd.launch([1024], [64])
                .arg(&a)
                .arg(&a)
                .arg(&out)
                .arg(1000u32),
            matmul
                .launch([32, 32], [16, 16])
                .arg(&a)
                .arg(&a)
                .arg(&out)
                .arg(32i32),
            reduce
                .launch([512], [128])
                .arg(&values)
                .arg(&sums)
                .arg(1000u32)
                .local(512),
            minmax
                .launch([256], [64])
                .arg(&values)
                .arg(&sums)
                .arg(1000u32),
            (mandelbrot
                .launch([32, 16], [8, 8])
                .arg(&image)
                .arg(32i32)
                .arg(16i32))
            .arg(-2.0f32)
            .arg(-1.0f32)
            .arg(0.1f32)
            .arg(0.12f32)
            .arg(40i32),
        ];
        for launch in launches {
            let checked = gpu.check(&launch, Options::default());
            let name = launch.kernel().name();
            assert!(
                checked.outcome.is_ok(),
                "{target} {name}: {:?}",
                checked.outcome
            );
            assert_eq!(checked.reports, [], "{target} {name}");
        }
    }
}

/// A GPU with an engine of a kind.
fn gpu_of(target: &str, kind: Kind) -> Gpu {
    let target = Target::parse(target).expect("a target");
    Gpu::with_engines(target, 1 << 26, &Engines::new(kind)).expect("memory")
}

/// Metrics require an observer, so runs with metrics are not screened.
fn observed(list: &str) -> Options {
    Options {
        metrics: true,
        ..screened(list)
    }
}

fn screened(list: &str) -> Options {
    Options::parse(list).expect("a list of checks")
}

const LISTS: [&str; 3] = ["oob,waitcnt,hazard", "oob,race", ""];

/// Screened runs give the same reports, results and memory as observed runs. The ends of buffers cover all offsets in a page.
#[test]
fn screened_runs_are_as_observed_ones() {
    let run = |kind: Kind, threads: usize, bytes: usize, options: Options| {
        let gpu = gpu_of("gfx900", kind);
        let path = testdata().join("bench/sort-gfx900.co");
        let program = gpu.load_file(path).expect("the object");
        let kernel = program.kernel("bitonic_step").expect("the kernel");
        let data: Vec<u8> = (0..bytes).map(|n| ((n * 167) >> 3) as u8).collect();
        let (before, buffer) = (gpu.buffer(&[7u8; 5]), gpu.buffer(&data));
        let (before, buffer) = (before.expect("memory"), buffer.expect("memory"));
        let launch = kernel.launch([2048], [256]).any_type(true);
        let launch = launch.threads(threads);
        let launch = launch.arg(&buffer).arg(2u32).arg(4u32);
        let checked = gpu.check(&launch, options);
        let read = |b: &gcn::Buffer<u8>| b.read().expect("it is there");
        let memory = (read(&before), read(&buffer));
        (checked.reports, checked.outcome.is_ok(), memory)
    };
    for bytes in [16384, 8192, 8191, 8188, 8100, 4096, 4000, 64] {
        for list in LISTS {
            let expected = run(Kind::Interp, 1, bytes, observed(list));
            assert_eq!(expected.0.is_empty(), bytes >= 8192, "{bytes}");
            assert!(expected.1, "{bytes}");
            let kinds = Kind::jits().into_iter().chain([Kind::Interp]);
            for (kind, threads) in kinds.flat_map(|k| [(k, 1), (k, 3)]) {
                let found = run(kind, threads, bytes, screened(list));
                assert!(found == expected, "{kind:?} {threads} {bytes}: {found:?}");
            }
        }
    }
}

/// The cases give the same reports screened and observed.
#[test]
fn cases_are_screened_as_they_are_observed() {
    let key =
        |reports: &[Report]| -> Vec<String> { reports.iter().map(|r| format!("{r:?}")).collect() };
    for case in cases() {
        for target in &case.targets {
            let (source, _) = source(&case, target);
            for list in LISTS {
                let expected = run(&source, target, &case.launch, observed(list));
                let found = run(&source, target, &case.launch, screened(list));
                let name = format!("{} {target} {list}", case.name);
                assert_eq!(key(&found.reports), key(&expected.reports), "{name}");
                assert_eq!(found.outcome.is_ok(), expected.outcome.is_ok(), "{name}");
            }
        }
    }
}

/// Bank conflicts and lines equal a count by hand.
#[test]
fn metrics_are_those_of_a_count() {
    for stride in [1u64, 2, 3, 4, 8, 16, 32, 33, 64] {
        let source = format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.p2align 8\nk:\ns_load_dwordx2 s[4:5], s[0:1], 0x0\n\
             v_mul_u32_u24 v1, {}, v0\ns_waitcnt lgkmcnt(0)\nds_write_b32 v1, v0\nglobal_store_dword v1, v0, s[4:5]\n\
             s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 8\n\
             .amdhsa_group_segment_fixed_size 16384\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n",
            4 * stride
        );
        let launch = BTreeMap::from([("grid", 48), ("group", 48), ("buf", 16384)]);
        let launch = launch
            .into_iter()
            .map(|(k, v)| (k.to_string(), v))
            .collect();
        let options = Options {
            metrics: true,
            ..Options::default()
        };
        let checked = run(&source, "gfx900", &launch, options);
        assert_eq!(checked.reports, []);
        let of = |name: &str| {
            let mut all = checked.metrics.values();
            all.find(|m| m.instruction.starts_with(name))
                .expect("it ran")
        };
        // 48 work-items: lanes 0 to 31 and 32 to 47.
        let mut conflicts = 0;
        for lanes in [0..32u64, 32..48] {
            let of_bank =
                |bank: u64| lanes.clone().filter(|l| l * stride % 32 == bank).count() as u64;
            conflicts += (0..32).map(of_bank).max().expect("there are banks") - 1;
        }
        let lines: BTreeSet<u64> = (0..48).map(|lane| lane * stride * 4 / 64).collect();
        let (lds, memory) = (of("ds_write_b32"), of("global_store_dword"));
        assert_eq!(lds.lds, (1, conflicts), "stride {stride}");
        assert_eq!(memory.memory, (1, lines.len() as u64), "stride {stride}");
        assert_eq!((lds.count, lds.lanes), (1, 48));
    }
}

/// The allocations of a program beside which kernels run. During an observed launch the whole table is read, at other times only
/// its version.
#[derive(Default)]
struct Program {
    allocations: Mutex<Vec<Allocation>>,
    /// The allocations that the program accesses, too.
    of_host: Mutex<Vec<u64>>,
    observed: AtomicBool,
}

impl Allocator for Program {
    fn version(&self) -> u64 {
        self.observed.store(true, SeqCst);
        1
    }

    fn allocations(&self) -> Vec<Allocation> {
        self.allocations.lock().expect("no panic").clone()
    }

    fn screens(&self) -> bool {
        true
    }

    fn of_kernels(&self, at: u64) -> bool {
        !self.of_host.lock().expect("no panic").contains(&at)
    }

    fn story(&self, _at: u64) -> Vec<String> {
        Vec::new()
    }
}

/// A runtime with checks, its GPU, and the undefined memory.
struct Beside {
    gpu: Gpu,
    program: Arc<Program>,
    fresh: Arc<Fresh>,
    checker: Arc<Checker>,
    launches: u64,
}

impl Beside {
    fn new() -> Beside {
        let (program, fresh) = (Arc::<Program>::default(), Arc::<Fresh>::default());
        let surroundings = Surroundings {
            allocator: Some(program.clone()),
            fresh: Some(fresh.clone()),
        };
        Beside {
            gpu: Gpu::new(Target::parse("gfx900").expect("a target")).expect("a GPU"),
            program,
            fresh,
            checker: Arc::new(Checker::of_runtime(Options::default(), surroundings)),
            launches: 0,
        }
    }

    /// A buffer that the program has allocated, also for its own use (`of_host`) or as memory of the GPU.
    fn buffer(&self, words: usize, of_host: bool) -> Buffer<u32> {
        let buffer = self.gpu.zeros::<u32>(words).expect("a buffer");
        let (address, bytes) = (buffer.address(), 4 * words as u64);
        self.program
            .allocations
            .lock()
            .expect("no panic")
            .push(Allocation {
                address,
                bytes,
                name: "a buffer".into(),
                freed: false,
            });
        match of_host {
            true => self.program.of_host.lock().expect("no panic").push(address),
            false => self.fresh.allocated(address, bytes),
        }
        buffer
    }

    /// Runs code on two buffers. Returns the first reports, and true if the launch was observed.
    fn run(
        &mut self,
        code: &str,
        from: &Buffer<u32>,
        to: &Buffer<u32>,
    ) -> (Vec<&'static str>, bool) {
        let source = format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.p2align 8\nk:\n{code}\n.rodata\n.p2align 6\n\
             .amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 16\n\
             .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n"
        );
        let program = self.gpu.assemble(&source).expect("it assembles");
        let kernel = program.kernel("k").expect("the kernel");
        let mut launch = kernel.launch([64], [64]).arg(from).arg(to);
        self.launches += 1;
        let number = self.launches;
        let options = launch.options();
        options.outside_stores = true;
        options.observers.observe = Some(self.checker.of_launch(Launched {
            number,
            moves: false,
        }));
        self.program.observed.store(false, SeqCst);
        launch.run().expect("it runs");
        let reports = self.checker.of(number, |_| ());
        let rules = reports.iter().map(|report| report.rule).collect();
        (rules, self.program.observed.load(SeqCst))
    }
}

const COPY: &str = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32_e32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n\
    global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]\ns_endpgm";

/// Beside a program that allocates memory, a correct launch is not observed. A wrong one is observed, with the memory that was
/// undefined before it.
#[test]
fn launches_beside_a_program_are_observed_if_they_must_be() {
    let mut beside = Beside::new();
    let (first, second, third) = (
        beside.buffer(64, false),
        beside.buffer(64, false),
        beside.buffer(65, false),
    );
    let shared = beside.buffer(64, true);
    let numbers: Vec<u32> = (0..64).collect();
    shared.write(0, &numbers).expect("it fits");
    // Memory that the program has written is defined, and so is memory that a launch has written.
    assert_eq!(beside.run(COPY, &shared, &first), (vec![], false));
    assert_eq!(beside.run(COPY, &first, &second), (vec![], false));
    assert_eq!(second.read().expect("memory"), numbers);
    let undefined = |beside: &Beside, buffer: &Buffer<u32>| {
        let (start, end) = (buffer.address(), buffer.address() + 4 * buffer.len() as u64);
        let mut runs = Vec::new();
        beside.fresh.any(start, end, |(from, to)| {
            runs.push((from - start, to - start));
            false
        });
        runs
    };
    assert_eq!(undefined(&beside, &first), []);
    assert_eq!(undefined(&beside, &second), []);
    assert_eq!(undefined(&beside, &third), [(0, 260)]);
    // Its last word remains undefined.
    assert_eq!(beside.run(COPY, &first, &third), (vec![], false));
    assert_eq!(undefined(&beside, &third), [(256, 260)]);
    let shifted = COPY.replace("v2, v1, s[4:5]", "v2, v1, s[4:5] offset:4");
    assert_eq!(
        beside.run(&shifted, &third, &first),
        (vec!["undefined"], true)
    );
    // Stores to memory of the program cannot be rolled back.
    assert_eq!(beside.run(COPY, &second, &shared), (vec![], true));
    // Out of bounds, and freed.
    assert_eq!(
        beside.run(&shifted, &second, &first),
        (vec!["out-of-bounds"], true)
    );
    let mut all = beside.program.allocations.lock().expect("no panic");
    all[1].freed = true;
    drop(all);
    assert_eq!(
        beside.run(COPY, &second, &third),
        (vec!["use-after-free"], true)
    );
}

/// A program that allocates memory while a kernel waits for it is not blocked by the kernel.
#[test]
fn a_launch_that_waits_for_the_program_does_not_stop_it() {
    let mut beside = Beside::new();
    let (flag, out) = (beside.buffer(64, true), beside.buffer(64, false));
    let code = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_mov_b32_e32 v1, 0\nv_lshlrev_b32_e32 v3, 2, v0\ns_waitcnt lgkmcnt(0)\n\
        again:\nglobal_load_dword v2, v1, s[4:5] glc\ns_waitcnt vmcnt(0)\nv_cmp_eq_u32_e32 vcc, 0, v2\ns_cbranch_vccnz again\n\
        global_store_dword v3, v2, s[6:7]\ns_endpgm";
    let gpu = beside.gpu.clone();
    let (address, second) = (flag.address(), std::time::Duration::from_millis(200));
    let host = std::thread::spawn(move || {
        let memory = &gpu.machine().memory;
        std::thread::sleep(second);
        let at = memory
            .alloc(4096, 4096, gcn::emu::mem::Perm::RW)
            .expect("memory");
        memory.store_u32(address, 7).expect("it is mapped");
        memory.free(at).expect("it was allocated");
    });
    assert_eq!(beside.run(code, &flag, &out), (vec![], true));
    host.join().expect("no panic");
    assert_eq!(out.read().expect("memory"), [7; 64]);
}
