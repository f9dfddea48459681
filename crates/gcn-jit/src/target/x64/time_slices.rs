//! The code between time slices of waves: it continues with the next wave, at the end of a round with the next round after the
//! barrier, and when all waves of a workgroup have ended with the next workgroup ([`Batch`](crate::context::Batch)).

use super::*;
use crate::context::LiveIns;
use gcn_emu::group::Row;

macro_rules! slice {
    ($field:ident) => {
        mem(RCX, offset_of!(TimeSlice, $field) as i32)
    };
}

macro_rules! batch {
    ($field:ident) => {
        ctx!(batch.$field)
    };
    ($field:ident, $plus:expr) => {
        ctx!(batch.$field, $plus)
    };
}

/// Emits the code that waves jump to at a barrier and at their end, and returns the two labels. At a barrier it records in the time
/// slice where the wave continues (RDX in the region, RSI the PC) and the delay of its clock; at the end it records that the wave has
/// ended. Then the next time slice begins. After the last one the code leaves with RAX. If a time slice must not begin, it leaves
/// with [`EXIT_NEXT`]. No host register holds a wave's values here.
///
/// `waits`: the code is called instead, and returns in RDX where to continue. Waves continue at different places after each
/// barrier, and the processor predicts one jump for each place better than one for all.
///
/// `first`: for regions without barriers, the entry of a batch's waves, with their time slice in RCX, and whether some time slices
/// give another entry. Each wave may reuse the previous wave's state, so time slices record less
/// ([`Batch::single`](crate::context::Batch::single)).
pub(super) fn between<V: Vectors>(
    a: &mut Asm,
    exit: Label,
    waits: bool,
    first: Option<(Label, bool)>,
) -> (Label, Label) {
    const BYTES: i32 = size_of::<TimeSlice>() as i32;
    let [next, step, begin, around, again, pause, leave] = std::array::from_fn(|_| a.label());
    let clear = a.label();
    let barrier = a.here();
    let counted = a.label();
    a.mov(true, RCX, Rm::M(ctx!(current.time_slice)));
    a.store(true, slice!(pc), RSI);
    a.mov(true, RSI, Rm::M(ctx!(clock.synced)));
    a.alu(alu::SUB, true, RSI, Rm::R(FUEL));
    a.g(true, &[0x01], RSI, Rm::M(slice!(late)));
    a.jmp(counted);
    let ended = a.here();
    if let Some(first) = first {
        next_of_shared_state(a, first, [pause, leave, clear]);
    }
    a.imm(RDX, TimeSlice::ENDED as u64);
    a.alu_imm(alu::SUB, true, Rm::M(batch!(live)), 1);
    a.bind(next);
    a.mov(true, RCX, Rm::M(ctx!(current.time_slice)));
    a.bind(counted);
    a.store(true, slice!(code), RDX);
    a.alu_imm(alu::ADD, false, Rm::M(slice!(ended)), 1);
    // A wave that runs alone was given 0, and leaves with its remaining fuel.
    a.mov(false, RSI, Rm::M(slice!(given)));
    a.alu(alu::SUB, true, FUEL, Rm::R(RSI));
    a.g(true, &[0x01], FUEL, Rm::M(batch!(spare)));
    a.mov(false, RSI, Rm::M(slice!(again)));
    a.store(false, slice!(given), RSI);
    a.bind(step);
    a.alu_imm(alu::ADD, true, Rm::R(RCX), BYTES);
    a.bind(begin);
    a.store(true, ctx!(current.time_slice), RCX);
    a.alu(alu::CMP, true, RCX, Rm::M(ctx!(current.end)));
    a.jcc(Cc::E, around);
    a.mov(true, RDX, Rm::M(slice!(code)));
    a.alu_imm(alu::CMP, true, Rm::R(RDX), TimeSlice::ENDED as i32);
    a.jcc(Cc::E, step);
    a.jcc(Cc::B, pause);
    a.mov(false, FUEL, Rm::M(slice!(given)));
    a.alu(alu::CMP, true, FUEL, Rm::M(batch!(spare)));
    a.jcc(Cc::G, pause);
    a.store(true, ctx!(clock.synced), FUEL);
    a.mov(true, WAVE, Rm::M(slice!(wave)));
    a.store(true, ctx!(current.wave), WAVE);
    a.mov(true, VGPRS, Rm::M(slice!(vgprs)));
    a.store(true, ctx!(current.vgprs), VGPRS);
    a.lea(VGPRS, mem(VGPRS, VGPR_BIAS * 256));
    if waits {
        a.ret();
    } else {
        a.jmp_to(Rm::R(RDX));
    }
    a.bind(pause);
    a.imm(RAX, EXIT_NEXT);
    a.bind(leave);
    if waits {
        // The call's return address is dropped.
        a.alu_imm(alu::ADD, true, Rm::R(RSP), 8);
    }
    a.jmp(exit);
    // All waves have had a time slice.
    a.bind(around);
    a.mov(true, RCX, Rm::M(batch!(time_slices)));
    a.test(true, RCX, RCX);
    a.jcc(Cc::E, leave);
    a.alu_imm(alu::CMP, true, Rm::M(batch!(live)), 0);
    a.jcc(Cc::Ne, begin);
    // All waves of the workgroup have ended.
    next_row(a, leave);
    a.mov(true, RDX, Rm::M(batch!(begin)));
    a.mov(true, RSI, Rm::M(batch!(given)));
    a.imm(RDI, 0);
    a.bind(again);
    a.store(true, slice!(code), RDX);
    a.store(false, slice!(given), RSI);
    a.store_imm(slice!(ended), 0);
    a.store(true, slice!(late), RDI);
    a.alu_imm(alu::ADD, true, Rm::R(RCX), BYTES);
    a.alu(alu::CMP, true, RCX, Rm::M(ctx!(current.end)));
    a.jcc(Cc::Ne, again);
    a.mov(true, RDX, Rm::M(batch!(waves)));
    a.store(true, batch!(live), RDX);
    a.bind(clear);
    clear_lds::<V>(a);
    a.mov(true, RCX, Rm::M(batch!(time_slices)));
    a.jmp(begin);
    (barrier, ended)
}

/// Emits the code at the end of a wave of a batch whose waves share one state: the next wave begins at `first`. Other batches continue
/// after this code. `others` are the exits if a time slice must not begin and if all workgroups have ended, and the code that clears
/// LDS.
fn next_of_shared_state(a: &mut Asm, (first, elsewhere): (Label, bool), others: [Label; 3]) {
    const BYTES: i32 = size_of::<TimeSlice>() as i32;
    let [pause, leave, clear] = others;
    let (slice_layout, go, round) = (a.label(), a.label(), a.label());
    a.alu_imm(alu::CMP, true, Rm::M(batch!(single)), 0);
    a.jcc(Cc::E, slice_layout);
    spend_fuel(a, 0);
    a.mov(true, RCX, Rm::M(ctx!(current.time_slice)));
    a.alu_imm(alu::ADD, true, Rm::R(RCX), BYTES);
    a.bind(go);
    a.store(true, ctx!(current.time_slice), RCX);
    a.alu(alu::CMP, true, RCX, Rm::M(ctx!(current.end)));
    a.jcc(Cc::E, round);
    a.alu(alu::CMP, true, RSI, Rm::R(RDI));
    a.jcc(Cc::G, pause);
    a.mov(true, FUEL, Rm::R(RSI));
    a.store(true, ctx!(clock.synced), FUEL);
    if elsewhere {
        a.jmp_to(Rm::M(slice!(code)));
    } else {
        a.jmp(first);
    }
    a.bind(round);
    next_row(a, leave);
    a.alu_imm(alu::CMP, true, Rm::M(ctx!(lds.bytes)), 0);
    a.jcc(Cc::Ne, clear);
    a.mov(true, RCX, Rm::M(batch!(time_slices)));
    a.jmp(go);
    a.bind(slice_layout);
}

/// Takes what a wave has spent, and `more`, from the fuel that is left for time slices. Afterwards RSI is the fuel of a first time slice, and RDI what is left.
pub(super) fn spend_fuel(a: &mut Asm, more: u32) {
    a.mov(true, RSI, Rm::M(batch!(given)));
    a.mov(true, RDI, Rm::M(batch!(spare)));
    a.alu(alu::SUB, true, RDI, Rm::R(RSI));
    let left = Mem {
        index: Some((FUEL, 1)),
        ..mem(RDI, -(more as i32))
    };
    a.lea(RDI, left);
    a.store(true, batch!(spare), RDI);
}

/// Goes to the next workgroup of a batch, which RDX then points to, or leaves after the last.
pub(super) fn next_row(a: &mut Asm, leave: Label) {
    a.mov(true, RDX, Rm::M(batch!(row)));
    a.alu_imm(alu::ADD, true, Rm::R(RDX), size_of::<Row>() as i32);
    a.store(true, batch!(row), RDX);
    a.alu(alu::CMP, true, RDX, Rm::M(batch!(rows_end)));
    a.jcc(Cc::E, leave);
}

/// Clears LDS. RAX, RCX, RDI and RSI are clobbered.
fn clear_lds<V: Vectors>(a: &mut Asm) {
    let [no_lds, lines, bytes] = std::array::from_fn(|_| a.label());
    a.mov(true, RCX, Rm::M(ctx!(lds.bytes)));
    a.test(true, RCX, RCX);
    a.jcc(Cc::E, no_lds);
    a.mov(true, RDI, Rm::M(ctx!(lds.base)));
    a.alu_imm(alu::CMP, true, Rm::R(RCX), 64);
    a.jcc(Cc::B, bytes);
    // The last line ends where LDS ends.
    a.mov(true, RSI, Rm::R(RDI));
    a.alu(alu::ADD, true, RSI, Rm::R(RCX));
    a.alu_imm(alu::SUB, true, Rm::R(RSI), 64);
    V::zero(a);
    a.bind(lines);
    V::store_line(a, mem(RDI, 0));
    a.alu_imm(alu::ADD, true, Rm::R(RDI), 64);
    a.alu(alu::CMP, true, RDI, Rm::R(RSI));
    a.jcc(Cc::B, lines);
    V::store_line(a, mem(RSI, 0));
    a.jmp(no_lds);
    a.bind(bytes);
    a.imm(RAX, 0);
    a.stosb();
    a.bind(no_lds);
}

/// Emits the entry of a batch's waves: it loads the registers that the region reads, and continues at the region's first block.
/// Returns its offset. At `first` the time slice is already in RCX. `start` is as for [`give`].
pub(super) fn begin<V: Vectors>(
    a: &mut Asm,
    start: (&LiveIns, Option<u32>),
    first: Label,
) -> usize {
    let here = a.buf.len();
    a.mov(true, RCX, Rm::M(ctx!(current.time_slice)));
    a.bind(first);
    give::<V>(a, start);
    a.jmp_to(Rm::M(batch!(code)));
    here
}

/// Loads the registers of a starting wave, whose time slice is in RCX. Afterwards RDX points to its initial registers; RAX, RCX and RDI are
/// clobbered. MODE is given too if the region changes it.
pub(super) fn give<V: Vectors>(a: &mut Asm, (live_ins, mode): (&LiveIns, Option<u32>)) {
    const LINE: i32 = 64;
    if let Some(mode) = mode {
        a.store_imm(scalar::mode_home(), mode);
    }
    a.mov(true, RDX, Rm::M(slice!(start)));
    let mut at = 0;
    let mut copy = |a: &mut Asm, to: Mem| {
        let z = (at / LINE % 8) as u8;
        V::copy(a, 64, z, mem(RDX, at), to);
        at += LINE;
    };
    for &line in &live_ins.sgprs {
        copy(a, sgpr_home(16 * line));
    }
    let lines = |n: u16| (0..4).map(move |slice| vgpr_line(n, slice));
    for to in live_ins.given().iter().flat_map(|&n| lines(n)) {
        copy(a, to);
    }
    if !live_ins.zeros().is_empty() {
        V::zero(a);
    }
    for to in live_ins.zeros().iter().flat_map(|&n| lines(n)) {
        V::store_line(a, to);
    }
    a.mov(true, RCX, Rm::M(batch!(row)));
    for id in 0..3 {
        a.mov(false, RAX, Rm::M(mem(RCX, 4 * id as i32)));
        a.mov(true, RDI, Rm::M(batch!(ids, 8 * id)));
        a.alu(alu::ADD, true, RDI, Rm::R(WAVE));
        a.store(false, mem(RDI, 0), RAX);
    }
    a.imm(RAX, 0);
    a.store(true, mem(WAVE, offset_of!(WaveState, clock) as i32), RAX);
    a.store_imm8(mem(WAVE, offset_of!(WaveState, scc) as i32), 0);
}
