//! `who` and `gcn run --trace` tell the same, of every register lane, LDS byte and memory byte, on ten kernels: loops, LDS, atomics, divergence
//! and calls, hand-written and compiled, of all generations.

use std::collections::HashMap;

use gcn::plan::Plan;
use gcn_debug::{Moment, Options, Session, ValueLocation, WaveId, Writer};
use gcn_isa::access::File;

mod kernels;
use kernels::{kernel, launch, path};

/// Ten kernels.
fn plans() -> Vec<(&'static str, Plan)> {
    let one = |n: u32| [n, 1, 1];
    let source = include_str!("kernels/mix.s");
    let mix = gcn::gpu::assemble(source, "mix.s", None).expect("mix.s");
    let fixture = |file: &str, name: &str, grid, group, args: &[&str]| {
        kernel(&format!("kernels/{file}.co"), name, grid, group, args)
    };
    let compiled = |clang: &str, name: &str, items: u32, args: &[&str]| {
        let file = format!("debug/kernels-{clang}.co");
        kernel(&file, name, one(items), one(64), args)
    };
    let written = |name: &str| {
        let file = path(&format!("examples/{name}.toml"));
        gcn::plan_toml::read(&file, None).expect("a plan").0
    };
    let picture = [
        "buf:zero:512",
        "i32:16",
        "i32:8",
        "f32:-2",
        "f32:-1.2",
        "f32:0.2",
        "f32:0.3",
        "i32:30",
    ];
    let floats = [
        "buf:randf32:400:1",
        "buf:randf32:400:2",
        "buf:zero:400",
        "u32:100",
    ];
    vec![
        (
            "mix",
            launch(
                mix,
                "mix",
                one(256),
                one(128),
                &["buf:rand:1024:9", "buf:zero:64", "buf:zero:1024"],
            ),
        ),
        ("absolute", written("absolute")),
        ("saxpy", written("saxpy")),
        (
            "vadd",
            fixture("vadd-gfx600", "vadd", one(128), one(64), &floats),
        ),
        (
            "reduce",
            fixture(
                "reduce-gfx701",
                "reduce_sum",
                one(384),
                one(128),
                &["buf:rand:2000:3", "buf:zero:4", "u32:500", "local:512"],
            ),
        ),
        (
            "matmul",
            fixture(
                "matmul-gfx803",
                "matmul",
                [16, 16, 1],
                [16, 16, 1],
                &[
                    "buf:randf32:1024:5",
                    "buf:randf32:1024:6",
                    "buf:zero:1024",
                    "i32:16",
                ],
            ),
        ),
        (
            "mandelbrot",
            fixture(
                "mandelbrot-gfx900",
                "mandelbrot",
                [16, 8, 1],
                [16, 4, 1],
                &picture,
            ),
        ),
        (
            "reversed",
            compiled(
                "clang22-gfx906",
                "reversed",
                64,
                &["buf:rand:256:3", "buf:zero:256"],
            ),
        ),
        (
            "turns",
            compiled("clang15-gfx803", "turns", 128, &["buf:zero:1024"]),
        ),
        (
            "cubes",
            compiled(
                "clang14-gfx900",
                "cubes",
                128,
                &["buf:rand:512:3", "buf:zero:512"],
            ),
        ),
    ]
}

/// The trace's knowledge of a register, in a lane if it has lanes, or of a byte.
#[derive(Clone, Copy, Default, Debug)]
struct Tracked {
    value: u32,
    /// The last instruction that wrote it, by its number in the trace: it changed the value, or always writes all of it.
    written: Option<u64>,
    /// The last instruction that changed it.
    changed: Option<u64>,
    /// The last instruction that may have written the old value, which the trace does not show.
    perhaps: Option<u64>,
}

/// The registers of a wave, from the trace.
struct Wave {
    scalars: Vec<Tracked>,
    scc: Tracked,
    vectors: Vec<[Tracked; 64]>,
}

const EXEC: usize = 126;

impl Wave {
    fn exec(&self) -> u64 {
        self.scalars[EXEC].value as u64 | (self.scalars[EXEC + 1].value as u64) << 32
    }
}

/// The state after the instructions up to a moment, from the trace.
struct Told {
    lines: Vec<serde_json::Value>,
    at: usize,
    waves: HashMap<WaveId, Wave>,
    memory: HashMap<u64, u64>,
    /// By workgroup and address: the last change of a dword.
    lds: HashMap<([u32; 3], u64), u64>,
    /// The locations that names in the trace stand for.
    names: HashMap<(WaveId, String), ValueLocation>,
}

fn wave_of(line: &serde_json::Value) -> WaveId {
    let id = |n: usize| line["workgroup"][n].as_u64().unwrap() as u32;
    WaveId {
        workgroup: [id(0), id(1), id(2)],
        wave: line["wave"].as_u64().unwrap() as usize,
    }
}

/// The values of a change: one, or `count` values of the lanes or of a range; `..` repeats the last.
fn values(text: &str, count: usize) -> Vec<u64> {
    let list = text.trim_start_matches('[').trim_end_matches(']');
    let number = |t: &str| gcn::run::integer(t.trim()).unwrap() as u64;
    match list.strip_suffix(" ..") {
        Some(list) => {
            let mut all: Vec<u64> = list.split(',').map(number).collect();
            let last = *all.last().unwrap();
            all.resize(count, last);
            all
        }
        None => list.split(',').map(number).collect(),
    }
}

/// `mem[0x100..0x108]`: true for LDS, and the bytes.
fn range(name: &str) -> Option<(bool, std::ops::Range<u64>)> {
    let (unit, rest) = name.split_once('[')?;
    let size = match unit {
        "mem" | "lds" => 4,
        "byte" => 1,
        _ => return None,
    };
    let rest = rest.trim_end_matches(']');
    let (first, end) = rest.split_once("..").unwrap_or((rest, ""));
    let first = gcn::run::integer(first)? as u64;
    let end = gcn::run::integer(end).map_or(first + size, |end| end as u64);
    Some((unit == "lds", first..end))
}

fn set(known: &mut Tracked, value: u32, n: u64) {
    if known.value != value {
        (known.value, known.changed, known.written) = (value, Some(n), Some(n));
    }
}

impl Told {
    /// Takes the initial registers of waves from the session.
    fn new(lines: Vec<serde_json::Value>, session: &mut Session) -> Told {
        let mut waves: HashMap<WaveId, Wave> = HashMap::new();
        for (n, line) in lines.iter().enumerate() {
            let id = wave_of(line);
            if waves.contains_key(&id) {
                continue;
            }
            let tick = n as u64;
            session.travel(Moment { launch: 0, tick }).unwrap();
            let state = session.wave(id).unwrap();
            let known = |value: u32| Tracked {
                value,
                ..Tracked::default()
            };
            let wave = Wave {
                scalars: state.sgprs.iter().map(|v| known(*v)).collect(),
                scc: known(state.scc.into()),
                vectors: state.vgprs.iter().map(|v| v.map(known)).collect(),
            };
            waves.insert(id, wave);
        }
        Told {
            lines,
            at: 0,
            waves,
            memory: HashMap::new(),
            lds: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// Advances to a moment. The session is used for names and decoding.
    fn go_on(&mut self, tick: u64, session: &Session) {
        while self.at < tick as usize {
            self.next(session);
            self.at += 1;
        }
    }

    fn next(&mut self, session: &Session) {
        let Told {
            lines,
            at,
            waves,
            memory,
            lds,
            names,
        } = self;
        let (line, n) = (&lines[*at], *at as u64);
        let id = wave_of(line);
        let wave = waves.get_mut(&id).unwrap();
        let exec = wave.exec();
        for (name, value) in line["changed"].as_object().unwrap() {
            let text = value.as_str().unwrap();
            if let Some((in_lds, range)) = range(name) {
                for byte in range {
                    match in_lds {
                        true => lds.insert((id.workgroup, byte), n),
                        false => memory.insert(byte, n),
                    };
                }
                continue;
            }
            let values = values(text, 64);
            let key = (id, name.clone());
            let location = match names.get(&key) {
                Some(location) => *location,
                None => {
                    // The wave need not be running: its name is sufficient.
                    let Ok((location, _)) =
                        session.location_of(&session.expr(name).unwrap(), Some(id))
                    else {
                        continue;
                    };
                    names.insert(key, location);
                    location
                }
            };
            match location {
                ValueLocation::Vgpr { first, count, .. } => {
                    for part in 0..count as usize {
                        let lanes = &mut wave.vectors[first as usize + part];
                        for (lane, known) in lanes.iter_mut().enumerate() {
                            let all = values.get(lane).or(values.last()).unwrap();
                            set(known, (all >> (32 * part)) as u32, n);
                        }
                    }
                }
                ValueLocation::Scalar { first, count, .. } => {
                    for part in 0..count as usize {
                        let known = &mut wave.scalars[first as usize + part];
                        set(known, (values[0] >> (32 * part)) as u32, n);
                    }
                }
                ValueLocation::Scc(_) => set(&mut wave.scc, values[0] as u32, n),
                _ => {}
            }
        }
        // The registers that it writes, even if their values do not change.
        let file = gcn::run::integer(line["pc"].as_str().unwrap()).unwrap() as u64;
        let pc = session.entry() - session.kernel().entry + file;
        let info = session.code().decode(pc, session.memory()).unwrap();
        let text = line["inst"].as_str().unwrap();
        let perhaps = [
            "dpp",
            "row_",
            "quad_perm",
            "v_writelane",
            "s_cmov",
            "v_readlane",
        ];
        let perhaps = perhaps.iter().any(|word| text.contains(word));
        let wrote = |known: &mut Tracked| match perhaps {
            true => known.perhaps = Some(n),
            false => known.written = Some(n),
        };
        for access in info.writes.iter().filter(|a| !a.anywhere) {
            for register in access.first..access.first + access.count as u16 {
                match access.file {
                    File::Vector => {
                        let lanes = &mut wave.vectors[register as usize];
                        for (lane, known) in lanes.iter_mut().enumerate() {
                            if exec >> lane & 1 != 0 || text.starts_with("v_writelane") {
                                wrote(known);
                            }
                        }
                    }
                    File::Scalar => wrote(&mut wave.scalars[register as usize]),
                    File::Scc => wrote(&mut wave.scc),
                    File::Hwreg => {}
                }
            }
        }
    }
}

/// Compares the result of `who` for a register or a byte with the trace.
fn same(
    told: &Told,
    location: ValueLocation,
    known: Tracked,
    now: &[u8],
    writer: Option<&Writer>,
    exact: bool,
) {
    let line = |n: Option<u64>| n.map(|n| told.lines[n as usize].to_string());
    let (written, changed) = (line(known.written), line(known.changed));
    let text = format!(
        "tick {}, {location:?} = {now:?}: {writer:?}, {known:?}\n{written:?}\n{changed:?}",
        told.at
    );
    let found = writer.map(|w| w.moment.tick);
    match exact {
        true => {
            let perhaps = known.perhaps.filter(|n| Some(*n) > known.written);
            assert!(
                found == known.written || found == perhaps && found.is_some(),
                "{text}"
            );
        }
        false => assert!(found >= known.changed, "{text}"),
    }
    let Some(writer) = writer else { return };
    let line = &told.lines[writer.moment.tick as usize];
    assert_eq!(line["inst"], writer.text.as_str(), "{text}");
    assert_eq!(wave_of(line), writer.wave, "{text}");
    assert_eq!(writer.after, now, "{text}");
    if location.wave().is_some() || !exact {
        let changed = writer.before != writer.after;
        assert_eq!(changed, found == known.changed, "{text}");
    }
}

struct Rng(u64);

impl Rng {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Compares at some moments. `most` is the maximum number of locations of each kind that are compared at each of them; without
/// it, all are.
fn compare(name: &str, plan: Plan, moments: u64, most: Option<usize>) -> u64 {
    // Checks of a plan may fail: absolute has an error.
    let (lines, _) = kernels::trace(&plan);
    let mut session = Session::new(plan, Options::default()).unwrap();
    let total = lines.len() as u64;
    let mut told = Told::new(lines, &mut session);
    let mut rng = Rng(total * 31 + 7);
    let mut compared = 0;
    let mut ticks: Vec<u64> = (0..moments - 1).map(|_| 1 + rng.next(total - 1)).collect();
    ticks.push(total);
    ticks.sort_unstable();
    for tick in ticks {
        session.travel(Moment { launch: 0, tick }).unwrap();
        told.go_on(tick, &session);
        let mut locations: Vec<(ValueLocation, Tracked, bool)> = Vec::new();
        for view in session.waves() {
            let id = view.id;
            let wave = &told.waves[&id];
            for (n, lanes) in wave.vectors.iter().enumerate() {
                for (lane, known) in lanes.iter().enumerate() {
                    let location = ValueLocation::Vgpr {
                        wave: id,
                        first: n as u16,
                        count: 1,
                        lane: Some(lane as u8),
                    };
                    locations.push((location, *known, true));
                }
            }
            let scalars = (0..session.sgprs()).chain([106, 107, 124, 126, 127]);
            for first in scalars {
                let location = ValueLocation::Scalar {
                    wave: id,
                    first,
                    count: 1,
                };
                locations.push((location, wave.scalars[first as usize], true));
            }
            locations.push((ValueLocation::Scc(id), wave.scc, true));
        }
        let mut bytes: Vec<(ValueLocation, Tracked, bool)> = Vec::new();
        for (_, address, size) in session.buffers() {
            for address in address..address + size as u64 {
                let written = told.memory.get(&address).copied();
                let known = Tracked {
                    written,
                    ..Tracked::default()
                };
                bytes.push((ValueLocation::Memory { address, bytes: 1 }, known, true));
            }
        }
        let mut groups: Vec<[u32; 3]> = session.waves().iter().map(|w| w.id.workgroup).collect();
        groups.dedup();
        for workgroup in groups {
            let size = session.lds(workgroup).map_or(0, <[u8]>::len) as u64;
            for address in (0..size & !3).step_by(4) {
                let changed = told.lds.get(&(workgroup, address)).copied();
                let known = Tracked {
                    changed,
                    ..Tracked::default()
                };
                let location = ValueLocation::Lds {
                    workgroup,
                    address,
                    bytes: 4,
                };
                bytes.push((location, known, false));
            }
        }
        for mut locations in [locations, bytes] {
            if let Some(most) = most {
                for n in 0..most.min(locations.len()) {
                    let other = n + rng.next((locations.len() - n) as u64) as usize;
                    locations.swap(n, other);
                }
                locations.truncate(most);
            }
            for (location, known, exact) in locations {
                let writer = session.who(location).unwrap();
                assert_eq!(session.now().tick, tick, "{name}: who stays");
                let now = session.read(location).unwrap();
                same(&told, location, known, &now, writer.as_ref(), exact);
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn who_agrees_with_the_trace_on_ten_kernels() {
    for (name, plan) in plans() {
        compare(name, plan, 4, Some(40));
    }
}

/// Compares all locations at some moments: half an hour in an unoptimised build, minutes in an optimised one.
#[test]
#[ignore = "takes minutes: cargo test --release -p gcn-debug --test who -- --ignored"]
fn who_agrees_with_the_trace_everywhere() {
    for (name, plan) in plans() {
        let compared = compare(name, plan, 6, None);
        println!("{name}: {compared} places");
    }
}
