//! A stepped dispatch computes the same as a deterministic dispatch of the interpreter, in the same order, and can return to any
//! moment.

#[path = "common/mod.rs"]
mod common;
#[path = "common/kernel.rs"]
mod kernel;

use common::Rng;
use gcn_emu::dispatch::step::{Saved, Stepper};
use gcn_emu::dispatch::{Gpu, Launch, Loaded, RunError, Stats};
use gcn_emu::mem::{PageBytes, Perm};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

fn machine(target: gcn_isa::Target) -> Gpu {
    Gpu::new(target, 64 << 20).unwrap()
}

const BYTES: u64 = 1 << 20;

/// Lane 0 of the wave takes a ticket from dword 0; the wave's number and the iteration are stored at the ticket's index. Memory
/// thus records the order of the waves.
const LOG: &str = "s_mov_b64 s[20:21], exec\ns_mov_b64 exec, 1\nv_mov_b32 v4, 1\n\
    global_atomic_add v5, v[2:3], v4, off glc\ns_waitcnt vmcnt(0)\nv_and_b32 v5, 0x3ffff, v5\n\
    v_lshlrev_b32 v5, 2, v5\nv_add_co_u32 v6, vcc, v5, v2\nv_addc_co_u32 v7, vcc, 0, v3, vcc\n\
    v_lshrrev_b32 v8, 6, v0\nv_lshlrev_b32 v8, 16, v8\nv_or_b32 v8, s2, v8\n\
    global_store_dword v[6:7], v8, off offset:64\ns_mov_b64 exec, s[20:21]\n";

fn repeat(count: u32, body: &str) -> String {
    format!(
        "s_mov_b32 s8, 0\nagain:\n{body}\ns_add_u32 s8, s8, 1\ns_cmp_lt_u32 s8, {count}\n\
         s_cbranch_scc1 again\n"
    )
}

/// Programs whose results depend on the order of the waves: name, instructions, workgroups, work-items of each, limit.
fn programs() -> Vec<(&'static str, String, u32, u32, Option<u64>)> {
    let grid_barrier = |count: u32| {
        format!(
            "v_cmp_eq_u32 vcc, 0, v0\ns_and_saveexec_b64 s[4:5], vcc\ns_cbranch_execz done\n\
             v_mov_b32 v4, 1\nglobal_atomic_add v[2:3], v4, off offset:32\n\
             wait:\nglobal_load_dword v5, v[2:3], off offset:32 glc\ns_waitcnt vmcnt(0)\n\
             v_readfirstlane_b32 s6, v5\ns_cmp_lt_u32 s6, {count}\ns_cbranch_scc1 wait\n\
             done:\ns_mov_b64 exec, -1\ns_barrier\n{LOG}"
        )
    };
    vec![
        ("once", LOG.into(), 200, 256, None),
        ("edge", LOG.into(), 67, 100, None),
        (
            "barriers",
            repeat(40, &format!("{LOG}s_barrier")),
            5,
            512,
            None,
        ),
        ("long", repeat(3000, LOG), 3, 256, None),
        (
            "longer than a batch",
            repeat(30000, "v_add_u32 v9, v9, v0") + LOG,
            5,
            128,
            None,
        ),
        (
            "sleep and priority",
            repeat(300, &format!("s_sleep 1\n{LOG}s_setprio 2\n")),
            4,
            256,
            None,
        ),
        ("grid barrier", grid_barrier(40), 40, 64, None),
        ("grid barrier of waves", grid_barrier(9), 9, 1024, None),
        ("limit", repeat(3000, LOG), 3, 256, Some(123_456)),
        ("never", grid_barrier(41), 40, 64, Some(50_000_000)),
        (
            "deadlock",
            format!("{LOG}s_cmp_eq_u32 s2, 1\ns_cbranch_scc1 end\ns_sethalt 1\nend:\ns_barrier\n"),
            3,
            128,
            None,
        ),
        (
            "fault",
            format!("{LOG}v_mov_b32 v3, 0\nglobal_load_dword v4, v[2:3], off\n"),
            1,
            64,
            None,
        ),
        ("trap", format!("s_trap 3\n{LOG}s_trap 2\n"), 1, 64, None),
    ]
}

/// A machine with the kernel of a program, and its launch. All machines of one program are alike.
fn prepared(program: &(&str, String, u32, u32, Option<u64>)) -> (Arc<Gpu>, Loaded, Launch, u64) {
    let (_, body, groups, items, limit) = program;
    let (gpu, loaded) = kernel::gpu("gfx900", &format!("v_mov_b32 v9, 0\n{body}"), "");
    let buffer = gpu.memory.alloc(BYTES, 256, Perm::RW).unwrap();
    let launch = Launch {
        grid: [groups * items, 1, 1],
        group: [*items, 1, 1],
        kernarg: buffer.to_le_bytes().to_vec(),
        max_instructions: *limit,
        deterministic: true,
        ..Launch::default()
    };
    (Arc::new(gpu), loaded, launch, buffer)
}

type Outcome = (Result<Stats, RunError>, Vec<u8>);

fn bytes(gpu: &Gpu, buffer: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES as usize];
    gpu.memory.read(buffer, &mut bytes).unwrap();
    bytes
}

fn dispatched(program: &(&str, String, u32, u32, Option<u64>)) -> Outcome {
    let (gpu, loaded, launch, buffer) = prepared(program);
    let result = gpu.dispatch(&loaded, "k", &launch);
    (result, bytes(&gpu, buffer))
}

fn stepped(
    program: &(&str, String, u32, u32, Option<u64>),
    mut next: impl FnMut(&mut Stepper, &Gpu) -> bool,
) -> Outcome {
    let (gpu, loaded, launch, buffer) = prepared(program);
    gpu.memory.keep_journal(true);
    let mut stepper = Stepper::new(gpu.clone(), &loaded, "k", &launch).unwrap();
    while next(&mut stepper, &gpu) {}
    let result = stepper.result().unwrap().clone();
    (result, bytes(&gpu, buffer))
}

fn same(name: &str, how: &str, (result, memory): &Outcome, (expected, want): &Outcome) {
    match (result, expected) {
        (Ok(a), Ok(b)) => assert_eq!(a, b, "{name}, {how}"),
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string(), "{name}, {how}"),
        (a, b) => panic!("{name}, {how}: {a:?}, not {b:?}"),
    }
    let differs = memory.iter().zip(want).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{name}, {how}: the first byte that differs");
}

#[test]
fn the_order_is_that_of_a_deterministic_dispatch() {
    for program in programs() {
        let expected = dispatched(&program);
        let one = stepped(&program, |stepper, _| stepper.step(None).is_some());
        same(program.0, "one at a time", &one, &expected);
        let mut rng = Rng(7);
        let some = stepped(&program, |stepper, _| {
            stepper.run(1 + rng.next() % 5000) > 0
        });
        same(program.0, "some at a time", &some, &expected);
    }
}

#[test]
fn ticks_do_not_depend_on_the_pieces() {
    for program in programs() {
        let ticks = Mutex::new(Vec::new());
        let end = |stepper: &Stepper| ticks.lock().unwrap().push(stepper.ticks());
        let one = stepped(&program, |stepper, _| {
            stepper.step(None).is_some() || {
                end(stepper);
                false
            }
        });
        let all = stepped(&program, |stepper, _| {
            stepper.run(u64::MAX) > 0 || {
                end(stepper);
                false
            }
        });
        same(program.0, "all at once", &all, &one);
        let ticks = ticks.into_inner().unwrap();
        assert_eq!(ticks[0], ticks[1], "{}", program.0);
    }
}

/// Moments of a dispatch, each with the pages that were written after it.
#[derive(Default)]
struct History(Vec<(Saved, HashMap<u64, PageBytes>)>);

impl History {
    fn save(&mut self, stepper: &Stepper, gpu: &Gpu) {
        if let Some((_, pages)) = self.0.last_mut() {
            *pages = gpu.memory.take_journal();
        } else {
            gpu.memory.take_journal();
        }
        self.0.push((stepper.save(), HashMap::new()));
    }

    /// Goes back to moment `to`, which becomes the last one.
    fn back(&mut self, to: usize, stepper: &mut Stepper, gpu: &Gpu) {
        self.0.last_mut().unwrap().1 = gpu.memory.take_journal();
        while self.0.len() > to {
            let (saved, pages) = self.0.pop().unwrap();
            for (page, bytes) in &pages {
                assert!(gpu.memory.put_page(*page, bytes));
            }
            if self.0.len() == to {
                stepper.restore(&saved);
                self.0.push((saved, HashMap::new()));
                break;
            }
        }
    }
}

#[test]
fn going_back_and_on_gives_the_same_result() {
    for program in programs() {
        let expected = dispatched(&program);
        let (mut rng, mut history, mut back) = (Rng(99), History::default(), 0);
        let result = stepped(&program, |stepper, gpu| {
            history.save(stepper, gpu);
            if rng.next().is_multiple_of(3) && back < 40 {
                let to = (rng.next() % history.0.len() as u64) as usize;
                history.back(to, stepper, gpu);
                back += 1;
            }
            stepper.run(1 + rng.next() % 20_000) > 0 || {
                // Also from the end.
                back < 40 && {
                    back = 40;
                    history.back(0, stepper, gpu);
                    true
                }
            }
        });
        same(program.0, "back and on", &result, &expected);
    }
}
