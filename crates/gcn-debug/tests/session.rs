//! Sessions over kernels of testdata: they compute the same as a run, return to any moment byte for byte, and find the writer of
//! every value.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use gcn::engine::{Engines, Kind};
use gcn::plan::{self, Plan};
use gcn_debug::motion::{Scope, Unit};
use gcn_debug::{Moment, Options, Reason, Session, Status, ValueLocation, WaveId};

mod kernels;
use kernels::kernel;

/// Kernels with LDS, barriers, atomics, loops and divergence, of all generations.
fn plans() -> Vec<(String, Plan)> {
    let mut out = Vec::new();
    for target in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
        let file = |name: &str| format!("kernels/{name}-{target}.co");
        let vadd = [
            "buf:randf32:400:1",
            "buf:randf32:400:2",
            "buf:zero:400",
            "u32:100",
        ];
        let plan = kernel(&file("vadd"), "vadd", [128, 1, 1], [64, 1, 1], &vadd);
        out.push((file("vadd"), plan));
        let reduce = ["buf:rand:2000:3", "buf:zero:4", "u32:500", "local:512"];
        let plan = kernel(
            &file("reduce"),
            "reduce_sum",
            [384, 1, 1],
            [128, 1, 1],
            &reduce,
        );
        out.push((file("reduce"), plan));
        let matmul = [
            "buf:randf32:1024:5",
            "buf:randf32:1024:6",
            "buf:zero:1024",
            "i32:16",
        ];
        let plan = kernel(&file("matmul"), "matmul", [16, 16, 1], [16, 16, 1], &matmul);
        out.push((file("matmul"), plan));
        let mandelbrot = [
            "buf:zero:512",
            "i32:16",
            "i32:8",
            "f32:-2",
            "f32:-1.2",
            "f32:0.2",
            "f32:0.3",
            "i32:30",
        ];
        let plan = kernel(
            &file("mandelbrot"),
            "mandelbrot",
            [16, 8, 1],
            [16, 4, 1],
            &mandelbrot,
        );
        out.push((file("mandelbrot"), plan));
    }
    out
}

fn buffers(session: &Session) -> Vec<Vec<u8>> {
    let buffers: Vec<(u64, usize)> = (session.buffers().iter().map(|b| (b.1, b.2))).collect();
    let read = |(address, bytes): (u64, usize)| {
        let bytes = bytes as u64;
        session
            .read(ValueLocation::Memory { address, bytes })
            .unwrap()
    };
    buffers.into_iter().map(read).collect()
}

/// A hash of all visible state.
fn fingerprint(session: &Session) -> u64 {
    let mut hash = DefaultHasher::new();
    fingerprint_in(session, &mut hash);
    let views = session.waves();
    let trapsts = views.iter().map(|v| session.wave(v.id).unwrap().trapsts);
    trapsts.collect::<Vec<u32>>().hash(&mut hash);
    hash.finish()
}

/// As [`fingerprint`], without the flags of float exceptions, which compiled code does not collect.
fn fingerprint_of_results(session: &Session) -> u64 {
    let mut hash = DefaultHasher::new();
    fingerprint_in(session, &mut hash);
    hash.finish()
}

fn fingerprint_in(session: &Session, mut hash: &mut DefaultHasher) {
    session.now().tick.hash(&mut hash);
    session.running().hash(&mut hash);
    buffers(session).hash(&mut hash);
    for view in session.waves() {
        (view.id, view.pc, view.executed).hash(&mut hash);
        format!("{:?}", view.waits).hash(&mut hash);
        session.lds(view.id.workgroup).unwrap().hash(&mut hash);
        let state = session.wave(view.id).unwrap();
        state.sgprs.hash(&mut hash);
        state.vgprs.iter().for_each(|v| v.hash(&mut hash));
        (state.scc, state.mode, state.status).hash(&mut hash);
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

#[test]
fn a_session_computes_what_a_run_computes() {
    for (name, plan) in plans() {
        let options = plan::Options {
            threads: 1,
            deterministic: true,
            engines: Engines::new(Kind::Interp),
            ..plan::Options::default()
        };
        let ready = plan::Ready::new(&plan, &options).unwrap();
        ready.fill(true).unwrap();
        let stats = ready.launches()[0].run().unwrap();
        let expected: Vec<Vec<u8>> = ready.buffers().iter().map(|b| b.read().unwrap()).collect();
        let mut session = Session::new(plan, Options::default()).unwrap();
        let mut rng = Rng(5);
        // With any kind of step.
        for _ in 0..200 {
            match rng.next(4) {
                0 => session.reverse(Unit::Instruction).unwrap(),
                1 => session.step(Unit::Over).unwrap(),
                _ => session.step(Unit::Instruction).unwrap(),
            };
        }
        let stop = session.resume().unwrap();
        assert_eq!(stop.reason, Reason::Ended, "{name}");
        assert_eq!(session.now().tick, stats.instructions, "{name}");
        assert!(buffers(&session) == expected, "{name}");
    }
}

/// Performs one of the session's motions. Returns its number.
fn wander(session: &mut Session, rng: &mut Rng) -> u64 {
    let how = rng.next(12);
    let far = session.now().tick + 400;
    let mut at_a_breakpoint = |session: &mut Session, back: bool| {
        let entry = session.code().file_address(session.entry());
        let at = entry + 4 * rng.next(40);
        if let Ok(set) = session.break_at(&format!("{at:#x}"), None) {
            match back {
                true => session.reverse_resume().unwrap(),
                false => session.resume().unwrap(),
            };
            session.delete(set.id).unwrap();
        }
    };
    match how {
        0..4 => drop(session.step(Unit::Instruction).unwrap()),
        4..7 => drop(session.reverse(Unit::Instruction).unwrap()),
        7 | 8 => {
            let tick = rng.next(far);
            session.travel(Moment { launch: 0, tick }).unwrap();
        }
        9 => {
            let waves = session.waves();
            if !waves.is_empty() {
                let n = rng.next(waves.len() as u64) as usize;
                session.select(waves[n].id).unwrap();
            }
        }
        10 => at_a_breakpoint(session, false),
        _ => at_a_breakpoint(session, true),
    }
    how
}

/// The number of motions of each kernel, which is a million in total.
const MANY: usize = 50_000;

#[test]
fn compiled_stretches_are_the_same_as_steps() {
    compiled_and_stepped(120);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p gcn-debug --test session -- --ignored"]
fn a_million_motions_over_compiled_stretches_are_the_same_as_steps() {
    compiled_and_stepped(MANY);
}

/// Compiled code between stops is invisible: the same motions lead to the same moments, with the same contents of registers and
/// memory.
fn compiled_and_stepped(steps: usize) {
    for ((name, plan), (_, same)) in plans().into_iter().zip(plans()) {
        // Little memory, for many checkpoints, some of which are dropped.
        let options = |compiles| Options {
            compiles,
            spacing: 5,
            history_bytes: 4 << 20,
            ..Options::default()
        };
        let mut stepped = Session::new(plan, options(false)).unwrap();
        let mut compiled = Session::new(same, options(true)).unwrap();
        let seed = name.len() as u64 * 91 + 3;
        let (mut one, mut other) = (Rng(seed), Rng(seed));
        for step in 0..steps {
            let how = wander(&mut stepped, &mut one);
            wander(&mut compiled, &mut other);
            let told = format!("{name}: step {step} ({how})");
            assert_eq!(stepped.now(), compiled.now(), "{told}");
            assert_eq!(stepped.selected(), compiled.selected(), "{told}");
            let [a, b] = [&stepped, &compiled].map(fingerprint_of_results);
            assert_eq!(a, b, "{told}, {:?}", stepped.now());
        }
        // Conditions are evaluated where compiled code stops, and writers are found in the code that it ran.
        for session in [&mut stepped, &mut compiled] {
            session.restart().unwrap();
            let half = format!("{:#x}", session.code().file_address(session.entry()));
            let condition = "exec != 0 && wave % 2 == 1";
            let set = session.break_at(&half, Some(condition)).unwrap();
            session.resume().unwrap();
            session.delete(set.id).unwrap();
            session.resume().unwrap();
        }
        assert_eq!(stepped.now(), compiled.now(), "{name}");
        let buffer = stepped
            .buffers()
            .into_iter()
            .rev()
            .find(|b| b.2 >= 4)
            .unwrap();
        let location = ValueLocation::Memory {
            address: buffer.1,
            bytes: 4,
        };
        let writers = [&mut stepped, &mut compiled].map(|s| s.who(location).unwrap());
        assert_eq!(writers[0], writers[1], "{name}");
    }
}

#[test]
fn random_motion_restores_every_moment_byte_for_byte() {
    random_motion(120);
}

#[test]
#[ignore = "takes a minute: cargo test --release -p gcn-debug --test session -- --ignored"]
fn a_million_random_motions_restore_every_moment_byte_for_byte() {
    random_motion(MANY);
}

/// Registers, LDS and memory at a moment are the same on every way to it.
fn random_motion(steps: usize) {
    let plans = plans();
    assert_eq!(plans.len() * MANY, 1_000_000);
    for (name, plan) in plans {
        let mut session = Session::new(
            plan,
            Options {
                // Little memory, which causes checkpoints to be dropped.
                history_bytes: 1 << 20,
                ..Options::default()
            },
        )
        .unwrap();
        let mut seen: HashMap<Moment, u64> = HashMap::new();
        let mut rng = Rng(name.len() as u64 * 77 + 1);
        for step in 0..steps {
            let how = wander(&mut session, &mut rng);
            let now = session.now();
            let print = fingerprint(&session);
            let known = *seen.entry(now).or_insert(print);
            assert_eq!(print, known, "{name}: step {step} ({how}), {now:?}");
        }
    }
}

/// Waves that get the turn out of order compute the same if they do not race, and the history records the turns.
#[test]
fn turns_change_the_order_of_waves_alone() {
    let mut turns = 0;
    for (name, plan) in plans() {
        let ready = plan::Ready::new(&plan, &plan::Options::default()).unwrap();
        ready.fill(true).unwrap();
        let stats = ready.launches()[0].run().unwrap();
        let expected: Vec<Vec<u8>> = ready.buffers().iter().map(|b| b.read().unwrap()).collect();
        let options = Options {
            history_bytes: 1 << 20,
            spacing: 50,
            ..Options::default()
        };
        let mut session = Session::new(plan, options).unwrap();
        let mut seen: HashMap<u64, u64> = HashMap::new();
        let mut rng = Rng(name.len() as u64 * 13 + 5);
        for step in 0..300 {
            let waves = session.waves();
            if waves.is_empty() {
                break;
            }
            let wave = waves[rng.next(waves.len() as u64) as usize].id;
            let (before, print) = (session.running(), fingerprint(&session));
            match session.turn(wave) {
                Ok(true) => {
                    assert_eq!(session.running(), Some(wave), "{name}");
                    let now = session.now().tick;
                    seen.retain(|tick, _| *tick < now);
                    turns += 1;
                }
                Ok(false) => assert_eq!(before, Some(wave), "{name}"),
                Err(_) => assert_eq!(fingerprint(&session), print, "{name}: {wave}"),
            }
            let now = session.now().tick;
            seen.insert(now, fingerprint(&session));
            if step % 5 == 4 {
                // Any known moment, and then the present one again.
                let (tick, print) = *seen
                    .iter()
                    .map(|(t, p)| (*t, *p))
                    .collect::<Vec<_>>()
                    .get(rng.next(seen.len() as u64) as usize)
                    .unwrap();
                for (tick, print) in [(tick, print), (now, seen[&now])] {
                    session.travel(Moment { launch: 0, tick }).unwrap();
                    assert_eq!(fingerprint(&session), print, "{name}: step {step}");
                }
            }
            let tick = now + 1 + rng.next(8);
            session.travel(Moment { launch: 0, tick }).unwrap();
        }
        let stop = session.resume().unwrap();
        assert_eq!(stop.reason, Reason::Ended, "{name}");
        assert_eq!(session.now().tick, stats.instructions, "{name}");
        assert!(buffers(&session) == expected, "{name}");
    }
    assert!(turns > 80, "{turns}");
}

/// One wave, or one workgroup, runs while the others do not.
#[test]
fn waves_run_alone() {
    let reduce = ["buf:rand:2000:3", "buf:zero:4", "u32:500", "local:512"];
    let file = "kernels/reduce-gfx900.co";
    let plan = kernel(file, "reduce_sum", [384, 1, 1], [128, 1, 1], &reduce);
    let mut session = Session::new(plan, Options::default()).unwrap();
    let wave = |wave| WaveId {
        workgroup: [0; 3],
        wave,
    };
    session.step(Unit::Instruction).unwrap();
    session.select(wave(1)).unwrap();
    let stop = session.resume_scope(Scope::WaveAlone).unwrap();
    assert!(
        matches!(&stop.reason, Reason::Waits(w, why) if *w == wave(1) && why.contains("waits at a barrier")),
        "{stop:?}"
    );
    let executed = |session: &Session| session.wave(wave(0)).unwrap().clock / 4;
    assert_eq!(executed(&session), 1);
    // The wave still waits.
    let tick = session.now().tick;
    let stop = session.resume_scope(Scope::WaveAlone).unwrap();
    assert!(matches!(stop.reason, Reason::Waits(..)), "{stop:?}");
    assert_eq!(session.now().tick, tick);
    // Until the other wave has reached the same place.
    session.select(wave(0)).unwrap();
    let stop = session.resume_scope(Scope::WorkgroupAlone).unwrap();
    assert_eq!(stop.reason, Reason::WaveEnded(wave(0)));
    let begun: Vec<[u32; 3]> = session.waves().iter().map(|w| w.id.workgroup).collect();
    assert!(!begun.contains(&[0; 3]), "{begun:?}");
    assert!(session.waves().iter().all(|w| w.executed == 0));
    // All of it is undone.
    session.travel(Moment { launch: 0, tick: 1 }).unwrap();
    assert_eq!((executed(&session), session.waves().len()), (1, 2));
}

/// `who` and the trace agree: an instruction that changed a register in a lane wrote it, and later instructions wrote it only
/// with the same value.
#[test]
fn who_agrees_with_the_trace() {
    for (name, plan) in plans() {
        let (lines, failed) = kernels::trace(&plan);
        assert_eq!(failed, None, "{name}");
        let mut session = Session::new(plan, Options::default()).unwrap();
        let mut rng = Rng(name.len() as u64 + 11);
        let total = lines.len() as u64;
        for _ in 0..25 {
            let tick = 1 + rng.next(total - 1);
            session.travel(Moment { launch: 0, tick }).unwrap();
            let waves = session.waves();
            let Some(view) = waves.get(rng.next(waves.len().max(1) as u64) as usize) else {
                continue;
            };
            let id = view.id;
            let registers = session.wave(id).unwrap().vgprs.len();
            // The first three registers initially hold the work-item's IDs.
            let first = 3 + rng.next(registers as u64 - 3) as u16;
            let lane = rng.next(64) as u8;
            let scalar = rng.next(3) == 0;
            let location = match scalar {
                true => ValueLocation::Scalar {
                    wave: id,
                    first: rng.next(16) as u16,
                    count: 1,
                },
                false => ValueLocation::Vgpr {
                    wave: id,
                    first,
                    count: 1,
                    lane: Some(lane),
                },
            };
            let writer = session.who(location).unwrap();
            assert_eq!(session.now().tick, tick, "{name}: who stays");
            let is_it = |line: &&serde_json::Value| {
                line["workgroup"] == serde_json::json!(id.workgroup) && line["wave"] == id.wave
            };
            // The last change in the trace, by its number.
            let (mut last, mut value) = (None, None);
            for (n, line) in lines[..tick as usize].iter().enumerate() {
                let new = listed(line, &location).filter(|_| is_it(&line));
                // The tested VGPRs begin as zeros.
                let old = value.or((!scalar).then_some(0));
                if new.is_some() && new != old {
                    last = Some(n as u64);
                }
                value = new.or(value);
            }
            let told = format!("{name}, tick {tick}, {location:?}: {writer:?}, {last:?}");
            match (&writer, last) {
                (None, last) => assert_eq!(last, None, "{told}"),
                (Some(writer), last) => {
                    assert_eq!(writer.wave, id, "{told}");
                    assert_eq!(writer.after, session.read(location).unwrap(), "{told}");
                    let line = &lines[writer.moment.tick as usize];
                    assert_eq!(line["inst"], writer.text.as_str(), "{told}");
                    match writer.before == writer.after {
                        true => assert!(last.is_none_or(|n| n <= writer.moment.tick), "{told}"),
                        false => assert_eq!(last, Some(writer.moment.tick), "{told}"),
                    }
                }
            }
        }
    }
}

/// The value of the location's register, if a line of the trace lists it.
fn listed(line: &serde_json::Value, location: &ValueLocation) -> Option<u64> {
    let (letter, register, lane) = match location {
        ValueLocation::Vgpr { first, lane, .. } => ('v', *first, lane.unwrap_or(0)),
        ValueLocation::Scalar { first, .. } => ('s', *first, 0),
        _ => return None,
    };
    let changed = line["changed"].as_object().unwrap();
    changed.iter().find_map(|(name, value)| {
        let rest = name.strip_prefix(letter)?;
        let high = match rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
            Some(range) => {
                let (a, _) = range.split_once(':')?;
                let a: u16 = a.parse().unwrap();
                register.checked_sub(a).filter(|n| *n < 2)? == 1
            }
            None if rest.parse() == Ok(register) => false,
            None => return None,
        };
        let text = value.as_str().unwrap();
        let list = text
            .trim_start_matches('[')
            .trim_end_matches(']')
            .replace(" ..", "");
        let values: Vec<&str> = list.split(", ").collect();
        let one = values.get(lane as usize).or(values.last()).unwrap();
        let bits = gcn::run::integer(one).unwrap() as u64;
        Some(if high { bits >> 32 } else { bits & 0xffff_ffff })
    })
}

#[test]
fn changes_begin_a_new_history() {
    let args = [
        "buf:randf32:256:1",
        "buf:randf32:256:2",
        "buf:zero:256",
        "u32:64",
    ];
    let plan = kernel(
        "kernels/vadd-gfx900.co",
        "vadd",
        [64, 1, 1],
        [64, 1, 1],
        &args,
    );
    let mut session = Session::new(plan, Options::default()).unwrap();
    let wave = WaveId {
        workgroup: [0; 3],
        wave: 0,
    };
    // The sum, before it is stored.
    let end = session.kernel().entry;
    let store = (0..60).map(|n| end + 4 * n).find(|&at| {
        let guest = session.entry() + at - end;
        session
            .code()
            .text(guest, session.memory())
            .starts_with("global_store")
    });
    session
        .break_at(&format!("{:#x}", store.unwrap()), None)
        .unwrap();
    assert!(matches!(
        session.resume().unwrap().reason,
        Reason::Breakpoint { id: 1, .. }
    ));
    let here = session.now();
    let sum = ValueLocation::Vgpr {
        wave,
        first: 2,
        count: 1,
        lane: Some(5),
    };
    let old = session.read(sum).unwrap();
    session.write(sum, &7f32.to_le_bytes()).unwrap();
    // Back and forward again: the change stays at its moment.
    for _ in 0..5 {
        session.reverse_step().unwrap();
    }
    assert_ne!(session.read(sum).unwrap(), 7f32.to_le_bytes());
    session.travel(here).unwrap();
    assert_eq!(session.read(sum).unwrap(), 7f32.to_le_bytes());
    assert_eq!(session.resume().unwrap().reason, Reason::Ended);
    assert_eq!(session.status(), Status::Ended);
    let out = session.buffers()[2].1;
    let stored = session
        .read(ValueLocation::Memory {
            address: out + 20,
            bytes: 4,
        })
        .unwrap();
    assert_eq!(stored, 7f32.to_le_bytes());
    // The byte's writer is the store.
    let writer = session
        .who(ValueLocation::Memory {
            address: out + 21,
            bytes: 1,
        })
        .unwrap()
        .unwrap();
    assert!(writer.text.starts_with("global_store_dword"), "{writer:?}");
    assert_eq!(writer.moment, here);
    // Memory changed at the beginning of the launch, too.
    session.restart().unwrap();
    let a = session.buffers()[0].1;
    session
        .write(
            ValueLocation::Memory {
                address: a,
                bytes: 4,
            },
            &1f32.to_le_bytes(),
        )
        .unwrap();
    assert!(matches!(
        session.resume().unwrap().reason,
        Reason::Breakpoint { .. }
    ));
    let v2 = ValueLocation::Vgpr {
        wave,
        first: 2,
        count: 1,
        lane: Some(5),
    };
    assert_eq!(session.read(v2).unwrap(), old);
    let b = session.buffers()[1].1;
    let b = session
        .read(ValueLocation::Memory {
            address: b,
            bytes: 4,
        })
        .unwrap();
    let want = f32::from_le_bytes(b.try_into().unwrap()) + 1.0;
    let v2 = ValueLocation::Vgpr {
        wave,
        first: 2,
        count: 1,
        lane: Some(0),
    };
    assert_eq!(session.read(v2).unwrap(), want.to_le_bytes());
}
