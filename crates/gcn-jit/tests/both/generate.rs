//! Random cases: any instruction of the target on registers with typical contents, pieces
//! of compiled programs, and loops, branches and barriers around both.

use super::machine::{DATA, DATA_PAGES, DUMP};
use super::rng::Rng;
use super::{Bench, Case, How, Piece, Round};
use gcn_emu::interp::program;
use gcn_emu::mem::PAGE_SIZE;
use gcn_emu::wave::{WaveState, mode};
use gcn_isa::Target;
use gcn_isa::access::InstructionTable;
use gcn_isa::decode::{Insn, decode};
use gcn_isa::encode::Encoder;
use gcn_isa::flow::Flow;
use gcn_isa::format::{Encoding, Field, Format, layout_of};
use gcn_isa::inst::Inst;
use gcn_isa::insts;
use gcn_isa::meaning::{Change, Op};
use gcn_isa::shape::Role;
use gcn_isa::target::Gen;
use gcn_object::CodeObject;
use std::collections::HashMap;
use std::path::PathBuf;

/// VGPRs with a purpose; those below hold data.
const FREE: u64 = 12;
/// Two addresses, each in two VGPRs.
const ADDRESS: u64 = 12;
/// Two LDS addresses.
const LDS: u64 = 16;
/// Offsets into buffers.
const OFFSET: u64 = 18;
/// SGPRs below this one hold data. Then follow two addresses, six buffer resources and small offsets.
const SFREE: u64 = 20;
const SADDRESS: u64 = 20;
const RESOURCE: u64 = 24;
const RESOURCES: u64 = 6;
const SOFFSET: u64 = 48;
/// SGPRs and VGPRs that only loops and branches use.
const COUNTER: u64 = 50;
const SAVED: u64 = 52;
const VCOUNTER: u64 = 20;

/// Rows of a format with their encodings.
type Rows = Vec<(&'static Inst, Vec<Encoding>)>;

/// A generator of cases for a target.
pub struct Maker {
    target: Target,
    gen9: bool,
    old: bool,
    rows: HashMap<Format, Rows>,
    table: InstructionTable,
    /// Compiled code, instruction by instruction.
    programs: Vec<Vec<Vec<u8>>>,
    texts: HashMap<String, Vec<Vec<u8>>>,
    /// Few instructions fault, because registers with addresses are not overwritten.
    pub tame: bool,
}

/// Inserts the start or end of a loop or branch. Other loops and branches may start or end there, too.
fn insert(pieces: &mut Vec<Piece>, at: usize, new: Vec<Piece>) {
    let by = new.len();
    for piece in pieces.iter_mut() {
        piece.to = piece.to.map(|to| if to > at { to + by } else { to });
    }
    let tail = pieces.split_off(at);
    pieces.extend(new);
    pieces.extend(tail);
}

impl Maker {
    /// Returns a generator that also uses pieces of the fixtures in testdata.
    ///
    /// # Panics
    /// If these cannot be read.
    pub fn with_programs(target: Target) -> Maker {
        let programs = programs(target);
        Maker {
            programs,
            ..Maker::new(target)
        }
    }

    pub fn new(target: Target) -> Maker {
        let generation = target.generation();
        let table = InstructionTable::new(target);
        let mut rows: HashMap<Format, Rows> = HashMap::new();
        use Encoding as E;
        for row in insts::of_target(target) {
            let own = row.format.encoding();
            let all: &[Encoding] = match row.format {
                Format::Vop1 => &[E::Vop3, E::Sdwa1, E::Dpp1],
                Format::Vop2 => &[E::Vop3, E::Sdwa2, E::Dpp2],
                Format::Vopc => &[E::Vop3, E::SdwaC, E::DppC],
                _ => &[],
            };
            let encodings: Vec<Encoding> = std::iter::once(own)
                .chain(all.iter().copied())
                .filter(|&e| Encoder::new(row, e, target).is_some())
                .collect();
            if !encodings.is_empty() {
                rows.entry(row.format).or_default().push((row, encodings));
            }
        }
        Maker {
            target,
            gen9: generation == Gen::Gfx9,
            old: generation <= Gen::Gfx7,
            rows,
            table,
            programs: Vec::new(),
            texts: HashMap::new(),
            tame: false,
        }
    }

    pub fn target(&self) -> Target {
        self.target
    }

    /// Returns the case of a seed.
    pub fn case(&mut self, bench: &Bench, seed: u64) -> Case {
        let r = &mut Rng(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let real = r.once_in(4) && !self.programs.is_empty();
        let mut pieces = if real { self.stretch(r) } else { self.any(r) };
        if !r.once_in(3) {
            self.control(r, &mut pieces);
        }
        let how = match r.below(5) {
            0 | 1 => How::Lean,
            2 => How::Memory,
            _ => How::Whole,
        };
        if how == How::Memory {
            self.dump(r, &mut pieces);
        }
        let vgprs = match r.below(8) {
            _ if real => 64,
            0 => 14,
            1 => 256,
            _ => 24,
        };
        let lds = match r.below(6) {
            0 => 0,
            1 => 100 + r.below(200),
            _ => 1024,
        };
        let lds: Vec<u8> = (0..lds.div_ceil(4))
            .flat_map(|_| r.word().to_le_bytes())
            .take(lds as usize)
            .collect();
        let several = r.once_in(6);
        let rounds = (0..1 + r.below(3))
            .map(|n| {
                let waves = if several { 1 + r.below(3) } else { 1 };
                let entry = match n > 0 && r.once_in(2) {
                    true => r.below(pieces.len() as u64 + 1) as usize,
                    false => 0,
                };
                let turns = match r.below(3) {
                    0 => (0..r.below(6)).map(|_| 1 + r.below(20)).collect(),
                    1 if r.once_in(8) => vec![1; 40],
                    _ => Vec::new(),
                };
                let mut waves: Vec<WaveState> = (0..waves)
                    .map(|_| self.wave(bench, r, vgprs, real))
                    .collect();
                let mode = waves[0].mode;
                if !r.once_in(4) {
                    waves.iter_mut().for_each(|w| w.mode = mode);
                }
                Round {
                    waves,
                    entry,
                    turns,
                }
            })
            .collect();
        Case {
            target: self.target,
            how,
            base: r.pick(&[0, 0, 0x100, 0x7fff_0000_0000]),
            pieces,
            lds,
            rounds,
        }
    }

    /// Returns a case of given instructions, with random waves.
    pub fn case_of(&mut self, bench: &Bench, seed: u64, code: &[u8], how: How) -> Case {
        let r = &mut Rng(seed);
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = code;
        while rest.len() >= 4 {
            // Words that are not instructions are pieces, too.
            let len = decode(self.target, rest).map_or(4, |insn| insn.len as usize);
            pieces.push(Piece {
                bytes: rest[..len].to_vec(),
                to: None,
            });
            rest = &rest[len..];
        }
        let waves = vec![self.wave(bench, r, 24, false)];
        let rounds = vec![Round {
            waves,
            entry: 0,
            turns: Vec::new(),
        }];
        Case {
            target: self.target,
            how,
            base: 0,
            pieces,
            lds: (0..256).flat_map(|_| r.word().to_le_bytes()).collect(),
            rounds,
        }
    }

    /// Returns random instructions with loops and branches.
    pub fn body(&mut self, r: &mut Rng) -> Vec<Piece> {
        let mut pieces = self.any(r);
        if !r.once_in(3) {
            self.control(r, &mut pieces);
        }
        pieces
    }

    /// Returns random instructions.
    pub fn any(&mut self, r: &mut Rng) -> Vec<Piece> {
        let count = 1 + r.below(14);
        // Some blocks have few kinds of instructions, so that related ones meet.
        let few: Option<Vec<Format>> = r
            .once_in(3)
            .then(|| (0..2).map(|_| self.format(r)).collect());
        let mut pieces = Vec::new();
        while (pieces.len() as u64) < count {
            if r.once_in(12) {
                let several = match r.once_in(2) {
                    true => self.selection(r),
                    false => self.numbered(r),
                };
                pieces.extend(several);
                continue;
            }
            let f = match &few {
                Some(few) => r.pick(few),
                None => self.format(r),
            };
            if let Some(bytes) = self.instruction(r, f) {
                pieces.push(Piece { bytes, to: None });
            }
        }
        pieces
    }

    /// Returns a comparison and selections by it, often between its operands, as compilers make minima and maxima.
    fn selection(&mut self, r: &mut Rng) -> Vec<Piece> {
        let compare = r.pick(&[
            "lt_f32", "gt_f32", "le_f32", "ge_f32", "nlt_f32", "ngt_f32", "lt_i32", "ge_i32",
            "gt_u32", "le_u32",
        ]);
        let mask = r.pick(&["vcc", "s[4:5]"]);
        let (a, b) = (r.below(FREE), r.below(FREE));
        let mut text = format!("v_cmp_{compare} {mask}, v{a}, v{b}");
        for _ in 0..1 + r.below(2) {
            let (to, other) = (r.below(FREE), r.below(FREE));
            let (no, yes) = r.pick(&[(a, b), (b, a), (a, b), (b, a), (a, other)]);
            text += &format!("\nv_cndmask_b32 v{to}, v{no}, v{yes}, {mask}");
        }
        self.lines(&text, 0)
    }

    /// Returns instructions that access VGPRs that are numbered at run time.
    fn numbered(&mut self, r: &mut Rng) -> Vec<Piece> {
        let most = if r.once_in(8) { 300 } else { 6 };
        let index = r.below(most);
        let s = r.pick(&[1, 3, 5, 7]);
        let mut text = match r.below(3) {
            0 => format!("s_mov_b32 s{s}, {index}\n"),
            1 => format!("s_and_b32 s{s}, s{s}, 7\n"),
            _ => String::new(),
        };
        let (d, v) = (r.below(FREE), r.below(FREE));
        let moves = !self.gen9 && r.once_in(2);
        if moves || self.old {
            text += &format!("s_mov_b32 m0, s{s}\n");
            for _ in 0..1 + r.below(3) {
                let name = r.pick(&["v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32"]);
                text += &format!("{name} v{d}, v{v}\n");
                text += &format!("v_xor_b32 v{}, v{d}, v{v}\n", r.below(FREE));
            }
            return self.lines(&text, 0);
        }
        let operands = r.pick(&[
            "SRC0",
            "SRC0",
            "DST",
            "DST",
            "SRC1",
            "SRC0,SRC1",
            "SRC0,DST",
            "SRC1,SRC2,DST",
            "SRC0,SRC1,SRC2,DST",
            "",
        ]);
        text += &format!("s_set_gpr_idx_on s{s}, gpr_idx({operands})\n");
        let mut pieces = self.lines(&text, 0);
        for _ in 0..1 + r.below(3) {
            let text = match r.below(8) {
                0..=3 => format!("v_mov_b32 v{d}, v{v}"),
                4 => format!("s_set_gpr_idx_idx s{}", r.pick(&[1, 3, 5, 7])),
                5 => "s_set_gpr_idx_mode gpr_idx(SRC0,DST)".into(),
                _ => {
                    let format = match r.below(12) {
                        0 => self.format(r),
                        1..=3 => Format::Vop2,
                        4..=6 => Format::Vop1,
                        7 => Format::Vopc,
                        8 => Format::Sop2,
                        _ => Format::Vop3,
                    };
                    if let Some(bytes) = self.instruction(r, format) {
                        pieces.push(Piece { bytes, to: None });
                    }
                    continue;
                }
            };
            let line = self.lines(&text, 0);
            pieces.extend(line);
        }
        if !r.once_in(20) {
            let off = self.lines("s_set_gpr_idx_off", 0);
            pieces.extend(off);
        }
        pieces
    }

    /// Returns a piece of a compiled program, with the branches that stay within it.
    fn stretch(&mut self, r: &mut Rng) -> Vec<Piece> {
        let which = r.below(self.programs.len() as u64) as usize;
        let program = &self.programs[which];
        let count = (3 + r.below(30)).min(program.len() as u64) as usize;
        let from = r.below((program.len() - count + 1) as u64) as usize;
        let stretch = &program[from..from + count];
        let mut starts = vec![0i64];
        for bytes in stretch {
            starts.push(starts[starts.len() - 1] + bytes.len() as i64);
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for (n, bytes) in stretch.iter().enumerate() {
            let mut to = None;
            let mut bytes = bytes.clone();
            if let Some(insn) = decode(self.target, &bytes) {
                match self.table.of(&insn).flow(&insn) {
                    Flow::Next => {}
                    Flow::Branch { offset, .. } => {
                        let at = starts[n + 1] + offset as i64;
                        to = Some(starts.iter().position(|&s| s == at).unwrap_or(count));
                    }
                    // An s_nop replaces it, so that the other pieces keep their numbers.
                    _ => bytes = 0xbf80_0000u32.to_le_bytes().to_vec(),
                }
            }
            pieces.push(Piece { bytes, to });
        }
        pieces
    }

    /// Returns the pieces of some lines of text; `@` is the target of a branch.
    pub fn lines(&mut self, text: &str, to: usize) -> Vec<Piece> {
        let target = self.target;
        let known = self.texts.entry(text.to_string()).or_insert_with(|| {
            let clean = text.replace('@', "0");
            let mut bytes = &gcn_asm::assemble_snippet(target, &clean, true)
                .unwrap_or_else(|e| panic!("{text}: {}", gcn_asm::render(&e, false)))[..];
            let mut out = Vec::new();
            while let Some(insn) = decode(target, bytes) {
                out.push(bytes[..insn.len as usize].to_vec());
                bytes = &bytes[insn.len as usize..];
            }
            out
        });
        let branches = text.lines().map(|line| line.contains('@'));
        known
            .iter()
            .zip(branches)
            .map(|(bytes, branch)| Piece {
                bytes: bytes.clone(),
                to: branch.then_some(to),
            })
            .collect()
    }

    /// Inserts loops, branches and barriers into a block.
    fn control(&mut self, r: &mut Rng, pieces: &mut Vec<Piece>) {
        for _ in 0..1 + r.below(2) {
            let len = pieces.len() as u64;
            let (a, b) = (r.below(len + 1), r.below(len + 1));
            let (a, b) = (a.min(b) as usize, a.max(b) as usize);
            let v = VCOUNTER;
            let (c, s) = (COUNTER, SAVED + 2 * r.below(4));
            let data = r.below(FREE);
            match r.below(8) {
                // A counted loop.
                0 | 1 => {
                    let times = 1 + r.below(4);
                    let tail = r.pick(&["s_sub_u32 s50, s50, 1", "s_add_i32 s50, s50, -1"]);
                    let tail = format!("{tail}\ns_cmp_lg_u32 s50, 0\ns_cbranch_scc1 @");
                    let tail = self.lines(&tail, a + 1);
                    let head = self.lines(&format!("s_mov_b32 s{c}, {times}"), 0);
                    insert(pieces, b, tail);
                    insert(pieces, a, head);
                    self.fix_back(pieces, a + 1, b + 1);
                }
                // A loop that lanes leave one after another.
                2 | 3 => {
                    let less = if self.gen9 {
                        format!("v_add_u32 v{v}, -1, v{v}")
                    } else if self.old {
                        format!("v_add_i32 v{v}, vcc, -1, v{v}")
                    } else {
                        format!("v_add_u32 v{v}, vcc, -1, v{v}")
                    };
                    let cut = r.pick(&[
                        "s_and_b64 exec, exec, vcc",
                        "s_and_saveexec_b64 s[60:61], vcc",
                        "s_xor_b64 s[60:61], vcc, -1\ns_andn2_b64 exec, exec, s[60:61]",
                    ]);
                    let tail =
                        format!("{less}\nv_cmp_lt_i32 vcc, 0, v{v}\n{cut}\ns_cbranch_execnz @");
                    let tail = self.lines(&tail, a + 2);
                    let back = self.lines(&format!("s_mov_b64 exec, s[{s}:{}]", s + 1), 0);
                    let head = format!(
                        "s_mov_b64 s[{s}:{}], exec\nv_and_b32 v{v}, 3, v{data}",
                        s + 1
                    );
                    let head = self.lines(&head, 0);
                    insert(pieces, b, back);
                    insert(pieces, b, tail);
                    insert(pieces, a, head);
                    self.fix_back(pieces, a + 2, b + 2);
                }
                // A branch that lanes take or not, as compilers make them.
                4 | 5 => {
                    let compare = r.pick(&["v_cmp_gt_f32", "v_cmp_lt_u32", "v_cmp_ne_u32"]);
                    let other = r.below(FREE);
                    let skip = r.once_in(2);
                    let mut head = format!(
                        "{compare} vcc, v{data}, v{other}\ns_and_saveexec_b64 s[{s}:{}], vcc",
                        s + 1
                    );
                    if r.once_in(2) {
                        head += &format!("\ns_xor_b64 s[{s}:{}], exec, s[{s}:{}]", s + 1, s + 1);
                    }
                    if skip {
                        head += "\ns_cbranch_execz @";
                    }
                    let tail = r.pick(&["s_or_b64 exec, exec, @@", "s_or_saveexec_b64 @@, @@"]);
                    let tail = tail.replace("@@", &format!("s[{s}:{}]", s + 1));
                    let tail = self.lines(&tail, 0);
                    let by = head.lines().count();
                    insert(pieces, b, tail);
                    let head = self.lines(&head, b + by);
                    insert(pieces, a, head);
                }
                6 => {
                    let branch = r.pick(&[
                        "s_cbranch_scc0 @",
                        "s_cbranch_scc1 @",
                        "s_cbranch_vccz @",
                        "s_cbranch_vccnz @",
                        "s_cbranch_execz @",
                        "s_cbranch_execnz @",
                        "s_branch @",
                    ]);
                    let branch = self.lines(branch, b + 1);
                    insert(pieces, a, branch);
                }
                _ => {
                    let what = r.pick(&[
                        "s_barrier",
                        "s_barrier",
                        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5",
                        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0",
                        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15",
                        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 2), 0",
                        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1",
                        "s_mov_b64 exec, 0",
                        "s_mov_b64 exec, -1",
                        "s_mov_b64 exec, 0xffff0000",
                        "s_sleep 1",
                        "s_endpgm",
                        "v_mov_b32 v3, 1.0",
                    ]);
                    let what = self.lines(what, 0);
                    insert(pieces, a, what);
                    if r.once_in(2) {
                        let what = self.lines("s_barrier", 0);
                        insert(pieces, b, what);
                    }
                }
            }
        }
    }

    /// Corrects the first branch at or after `from`, because another `insert` has moved the start of its loop.
    fn fix_back(&self, pieces: &mut [Piece], start: usize, from: usize) {
        if let Some(piece) = pieces[from..].iter_mut().find(|p| p.to.is_some()) {
            piece.to = Some(start);
        }
    }

    /// Appends stores of registers at the end.
    fn dump(&mut self, r: &mut Rng, pieces: &mut Vec<Piece>) {
        let mut text = String::from("s_mov_b64 exec, -1\n");
        text += "s_mov_b32 s60, 0x";
        text += &format!("{:x}\n", DUMP as u32);
        text += &format!("s_mov_b32 s61, {}\n", DUMP >> 32);
        text += "s_mov_b32 s62, 0x2000\ns_mov_b32 s63, 0x27fac\n";
        text += "v_mbcnt_lo_u32_b32 v13, -1, 0\n";
        text += match self.old {
            true => "v_mbcnt_hi_u32_b32 v13, -1, v13\n",
            false => "v_mbcnt_hi_u32_b32 v13, -1, v13\n",
        };
        text += "v_lshlrev_b32 v13, 2, v13\n";
        for v in 0..6 {
            text += &format!(
                "buffer_store_dword v{v}, v13, s[60:63], 0 offen offset:{}\n",
                v * 256
            );
        }
        let first = r.below(4) * 4;
        for s in first..first + 4 {
            let offset = 2048 + (s - first) * 256;
            text += &format!(
                "v_mov_b32 v6, s{s}\nbuffer_store_dword v6, v13, s[60:63], 0 offen offset:{offset}\n"
            );
        }
        let dump = self.lines(&text, 0);
        pieces.extend(dump);
        let end = self.lines("s_endpgm", 0);
        pieces.extend(end);
    }

    /// Returns a format of the target; common formats are more frequent.
    fn format(&self, r: &mut Rng) -> Format {
        use Format::*;
        let format = r.pick(&[
            Vop2, Vop2, Vop2, Vop2, Vop1, Vop1, Vopc, Vopc, Vop3, Vop3, Vop3, Vop3, Vop3p, Vop3p,
            Sop2, Sop2, Sop1, Sop1, Sopc, Sopk, Sopp, Smem, Ds, Ds, Ds, Mubuf, Mubuf, Mtbuf, Flat,
            Global, Global, Scratch, Vintrp, Exp,
        ]);
        let wild = self.tame && matches!(format, Scratch | Exp | Flat);
        match self.rows.contains_key(&format) && !wild {
            true => format,
            false => Vop2,
        }
    }

    /// Returns an instruction of a format that does not jump.
    fn instruction(&self, r: &mut Rng, format: Format) -> Option<Vec<u8>> {
        let rows = self.rows.get(&format)?;
        let (row, encodings) = &rows[r.below(rows.len() as u64) as usize];
        let encoding = match encodings.len() {
            1 => encodings[0],
            n if r.once_in(2) => encodings[r.below(n as u64) as usize],
            _ => encodings[0],
        };
        let mut e = Encoder::new(row, encoding, self.target)?;
        let fields = layout_of(encoding, self.target.generation())?.fields;
        for &(field, _, len) in fields {
            if let Some(value) = self.field(r, row, encoding, field, len) {
                e.set(field, value & ((1u64 << len) - 1) as u32);
            }
        }
        let mut bytes = e.bits.to_le_bytes().to_vec();
        bytes.truncate(layout_of(encoding, self.target.generation())?.bytes as usize);
        bytes.extend(r.word().to_le_bytes());
        let insn = decode(self.target, &bytes)?;
        bytes.truncate(insn.len as usize);
        if self.table.of(&insn).flow(&insn) != Flow::Next || !self.wanted(r, &insn) {
            return None;
        }
        Some(bytes)
    }

    /// Returns true if an instruction is wanted: instructions that only end the block are rare.
    fn wanted(&self, r: &mut Rng, insn: &Insn) -> bool {
        let program = program(insn);
        let reads = program.nodes.iter().any(|n| n.op == Op::Getreg);
        let sets = program.effects.iter().any(|e| e.change == Change::Setreg);
        if reads || sets {
            // Code that reads TRAPSTS is interpreted.
            return insn.field(Field::Simm16) & 63 != 3 || r.once_in(20);
        }
        let rare = program.effects.iter().any(|e| {
            matches!(
                e.change,
                Change::Signal(
                    gcn_isa::meaning::Signal::Endpgm | gcn_isa::meaning::Signal::Barrier
                ) | Change::Set(
                    gcn_isa::meaning::State::Vskip
                        | gcn_isa::meaning::State::GprIdxEn
                        | gcn_isa::meaning::State::Halt
                        | gcn_isa::meaning::State::Kill
                )
            )
        });
        !rare || r.once_in(10)
    }

    /// Returns the value of a field of an instruction; `None` leaves it unchanged.
    fn field(
        &self,
        r: &mut Rng,
        row: &Inst,
        encoding: Encoding,
        field: Field,
        len: u8,
    ) -> Option<u32> {
        use Field as F;
        let has = |role: Role| row.shape.slot(role).is_some();
        let dwords = |role: Role| row.shape.slot(role).map_or(1, |s| s.ty.dwords());
        let vgpr = |r: &mut Rng| match r.below(24) {
            _ if self.tame => r.below(FREE - 4),
            0 => r.below(24),
            1 => r.below(256),
            _ => r.below(FREE),
        };
        let pair = |r: &mut Rng| r.pick(&[0, 2, 4, 6, 8, 10, 106, 106, 106, 126, 40]);
        let memory = matches!(
            row.format,
            Format::Ds
                | Format::Mubuf
                | Format::Mtbuf
                | Format::Flat
                | Format::Global
                | Format::Scratch
                | Format::Mimg
        );
        let value = match field {
            F::Op | F::Opm | F::Seg => return None,
            F::Src0 | F::Src1 | F::Src2 if len == 9 => match encoding {
                Encoding::Vop3 | Encoding::Vop3b
                    if field == F::Src2 && has(Role::CarryIn) || has(Role::LaneSel) =>
                {
                    match r.below(3) {
                        0 => source(r),
                        1 => 256 + r.below(FREE),
                        _ => pair(r),
                    }
                }
                Encoding::Vop3 | Encoding::Vop3b | Encoding::Vop3p => match source(r) {
                    255 => 256,
                    s => s,
                },
                _ => source(r),
            },
            F::Src0 | F::Src1 => vgpr(r),
            F::Vdst if has(Role::CmpDst) && encoding == Encoding::Vop3 => pair(r),
            F::Vdst if !memory && !self.tame && r.once_in(16) => ADDRESS + r.below(8),
            F::Vdst | F::Data0 | F::Data1 | F::Vdata | F::Vsrc0 => vgpr(r),
            F::Sdst if row.format == Format::Smem => 4 * r.below(4),
            F::Sdst => match r.below(12) {
                0 => 124,
                1 => 126,
                2 | 3 => 106,
                4 => r.below(SFREE),
                _ => 2 * r.below(SFREE / 2),
            },
            F::Ssrc0 | F::Ssrc1 => scalar(r),
            F::Simm16 if row.format == Format::Sopk => match r.below(4) {
                // MODE's fields.
                0 => {
                    (1 | r.pick(&[0u64, 4, 8, 2, 6, 28]) << 6 | r.pick(&[1, 3, 3, 1]) << 11)
                        & 0xffff
                }
                1 => r.below(8) | r.below(32) << 6 | r.below(32) << 11,
                _ => r.word() as u64,
            },
            F::Simm16 => r.below(64),
            F::SoffsetEn if self.tame => 0,
            F::Imm => (self.tame || !r.once_in(3)) as u64,
            F::SoffsetEn => r.once_in(5) as u64,
            F::Sbase if dwords(Role::Sbase) > 2 => RESOURCE / 2 + 2 * r.below(RESOURCES),
            F::Sbase if !self.tame && r.once_in(16) => r.below(64),
            F::Sbase => SADDRESS / 2 + r.below(2),
            F::Soffset => r.pick(&[128, 128, SOFFSET, SOFFSET + 1, 130, 4, 124]),
            F::Offset if self.tame => 4 * r.below(16),
            F::Offset if row.format == Format::Smem && r.once_in(12) => r.next(),
            F::Offset => match r.below(12) {
                0 => r.next(),
                1 | 2 => r.below(64),
                3..=5 => 4 * r.below(16),
                6 => (1 << len) - 4 * (1 + r.below(8)),
                _ => 0,
            },
            F::Addr if row.format == Format::Ds => match r.below(8) {
                0 => vgpr(r),
                _ => LDS + r.below(2),
            },
            F::Addr if self.tame => ADDRESS + 2 * r.below(2),
            F::Addr => r.pick(&[ADDRESS, ADDRESS, ADDRESS, ADDRESS + 2, OFFSET, 3]),
            F::Offset0 | F::Offset1 if r.once_in(6) => r.next(),
            F::Offset0 => 4 * r.below(16),
            F::Offset1 => r.pick(&[0, 0, 0, 1, 4]),
            F::Gds | F::Lds | F::Tfe => r.once_in(40) as u64,
            F::Vaddr => r.pick(&[OFFSET, OFFSET, OFFSET + 1, ADDRESS, LDS]),
            F::Srsrc if self.tame => RESOURCE / 4 + r.below(2),
            F::Srsrc => RESOURCE / 4 + r.below(RESOURCES),
            F::Addr64 if self.tame => 0,
            F::Addr64 => r.once_in(5) as u64,
            F::Saddr if self.tame => 127,
            F::Saddr => r.pick(&[127, 127, 127, SADDRESS, SADDRESS + 2]),
            F::Nv => 0,
            F::DppCtrl => match r.below(12) {
                0..=3 => r.below(256),
                4 => 0x101 + r.below(15),
                5 => 0x111 + r.below(15),
                6 => 0x121 + r.below(15),
                7 => r.pick(&[0x130, 0x134, 0x138, 0x13c]),
                8 | 9 => r.pick(&[0x140, 0x141, 0x142, 0x143]),
                10 => r.pick(&[0x111, 0x112, 0x114, 0x118]),
                _ => r.below(512),
            },
            F::BankMask | F::RowMask => {
                if r.once_in(3) {
                    r.below(16)
                } else {
                    15
                }
            }
            F::Abs | F::Neg | F::NegHi | F::Omod => r.next() * r.below(2) * r.below(2),
            F::Clamp => r.once_in(5) as u64,
            F::OpSel => r.next() * r.below(2),
            F::OpSelHi | F::OpSelHi2 => r.next() * r.below(2) | !0 * r.below(2),
            F::S0 | F::S1 => r.once_in(6) as u64,
            F::DstSel | F::Src0Sel | F::Src1Sel => r.pick(&[0, 1, 2, 3, 4, 5, 6, 6, 6]),
            F::DstUnused => r.below(3),
            F::Src0Neg | F::Src0Abs | F::Src1Neg | F::Src1Abs | F::Src0Sext | F::Src1Sext => {
                r.once_in(4) as u64
            }
            _ => r.next(),
        };
        Some(value as u32)
    }

    /// Returns a wave whose registers hold numbers, addresses and parts of addresses.
    fn wave(&self, bench: &Bench, r: &mut Rng, vgprs: usize, real: bool) -> WaveState {
        let mut wave = WaveState::new(vgprs);
        for v in &mut wave.vgprs {
            *v = lanes(r);
        }
        for s in &mut wave.sgprs[..106] {
            *s = r.word();
        }
        let put = |wave: &mut WaveState, v: usize, addresses: [u64; 64]| {
            if v + 1 < wave.vgprs.len() {
                wave.vgprs[v] = addresses.map(|a| a as u32);
                wave.vgprs[v + 1] = addresses.map(|a| (a >> 32) as u32);
            }
        };
        for v in [ADDRESS, ADDRESS + 2] {
            put(&mut wave, v as usize, addresses(bench, r));
        }
        for v in LDS..=OFFSET + 1 {
            if (v as usize) < wave.vgprs.len() {
                wave.vgprs[v as usize] = offsets(r, if v < OFFSET { 1024 } else { 4096 });
            }
        }
        for s in (SADDRESS..RESOURCE).step_by(2) {
            let at = match r.once_in(4) {
                true => bench.pages().address(r),
                false => DATA + (r.below(DATA_PAGES * PAGE_SIZE / 2) & !3),
            };
            wave.set_pair(s as u16, at);
        }
        for k in 0..RESOURCES {
            let at = (RESOURCE + 4 * k) as usize;
            wave.sgprs[at..at + 4].copy_from_slice(&resource(r, k));
        }
        wave.sgprs[SOFFSET as usize] = 4 * r.below(64) as u32;
        wave.sgprs[SOFFSET as usize + 1] = r.below(300) as u32;
        if real {
            // Any pair may be an address, any register an offset.
            for s in (0..100).step_by(2) {
                match r.below(5) {
                    0 | 1 => wave.set_pair(s, DATA + (r.below(DATA_PAGES * PAGE_SIZE / 2) & !15)),
                    2 => wave.set_pair(s, r.next() & r.next()),
                    _ => {}
                }
            }
            for s in (0..96).step_by(4) {
                if r.once_in(6) {
                    let k = r.below(RESOURCES);
                    wave.sgprs[s..s + 4].copy_from_slice(&resource(r, k));
                }
            }
            for v in 0..vgprs - 1 {
                match r.below(6) {
                    0 => put(&mut wave, v, addresses(bench, r)),
                    1 | 2 => wave.vgprs[v] = offsets(r, 2048),
                    _ => {}
                }
            }
        }
        wave.set_exec(match r.below(10) {
            0..=3 => !0,
            4 => 0,
            5 => r.next() & 0xffff_0000_0000_ffff,
            6 => 1 << r.below(64),
            7 => (1 << r.below(64)) - 1,
            8 => 0xffff << (16 * r.below(4)),
            _ => r.next(),
        });
        wave.set_vcc(match r.below(4) {
            0 => wave.exec() & r.next(),
            1 => 0,
            _ => r.next(),
        });
        // M0 is the limit of LDS up to gfx8, and an index elsewhere.
        wave.sgprs[124] = match r.below(4) {
            0 | 1 => u32::MAX,
            2 => r.below(2000) as u32,
            _ => r.below(12) as u32,
        };
        wave.scc = r.once_in(2);
        wave.mode = match r.below(6) {
            0 | 1 => 0x3f0,
            2 | 3 => 0x3c0,
            4 => (r.next() & 0x3ff) as u32,
            _ if r.once_in(6) => r.next() as u32 & (0x3ff | mode::VSKIP | mode::GPR_IDX_EN),
            _ => 0x3f0 | r.below(16) as u32,
        };
        if r.once_in(4) {
            wave.hw_id = r.next() as u32;
            wave.clock = r.below(1000) * 4;
        }
        wave
    }
}

/// Returns a scalar or vector source.
fn source(r: &mut Rng) -> u64 {
    match r.below(20) {
        0..=9 => 256 + r.below(FREE),
        10 => 256 + r.below(24),
        11 | 12 => r.below(SFREE),
        13 | 14 => 128 + r.below(81),
        15 => 240 + r.below(8),
        16 => r.pick(&[106, 107, 124, 126, 127, 251, 252, 253]),
        17 => 255,
        18 => r.below(SOFFSET + 2),
        _ => 256 + r.below(3),
    }
}

fn scalar(r: &mut Rng) -> u64 {
    match r.below(16) {
        0..=8 => r.below(SFREE),
        9 | 10 => 128 + r.below(81),
        11 => r.below(SOFFSET + 2),
        12 => 255,
        13 => 106,
        14 => 126,
        _ => r.pick(&[106, 107, 124, 126, 127, 251, 252, 253, 242]),
    }
}

/// Returns the contents of a VGPR: uniform, random, affine in the lane or in each 16 lanes.
fn lanes(r: &mut Rng) -> [u32; 64] {
    let base = match r.below(5) {
        0 => 0,
        1 => r.below(1 << 12) as u32,
        2 => 0u32.wrapping_sub(r.below(300) as u32),
        3 => 0x8000_0000u32.wrapping_sub(r.below(300) as u32),
        _ => r.word(),
    };
    let strides = [
        0,
        1,
        1,
        2,
        4,
        4,
        8,
        12,
        16,
        64,
        0x100,
        u32::MAX,
        0x4000_0001,
    ];
    let stride = match r.below(16) {
        0 => r.next() as u32,
        1 => 0u32.wrapping_sub(4),
        _ => r.pick(&strides),
    };
    let row = match r.below(3) {
        0 => 16u32.wrapping_mul(stride),
        1 => r.next() as u32,
        _ => r.pick(&[0, 1, 4, 16, 64, 0x400]),
    };
    match r.below(8) {
        0 => [base; 64],
        1 => std::array::from_fn(|l| base.wrapping_add(stride.wrapping_mul(l as u32))),
        2 => std::array::from_fn(|l| {
            base.wrapping_add(stride.wrapping_mul(l as u32 % 16))
                .wrapping_add(row.wrapping_mul(l as u32 / 16))
        }),
        3 => {
            let values: [u32; 4] = std::array::from_fn(|_| r.word());
            std::array::from_fn(|l| values[l / 16])
        }
        4 => {
            // Uniform except for one lane.
            let (lane, other) = (r.below(64) as usize, r.word());
            std::array::from_fn(|l| if l == lane { other } else { base })
        }
        5 => std::array::from_fn(|l| (l as f32 * 0.25 - 3.0).to_bits()),
        _ => std::array::from_fn(|_| r.word()),
    }
}

/// Returns offsets, most of them below `size`.
fn offsets(r: &mut Rng, size: u64) -> [u32; 64] {
    let stride = r.pick(&[0, 1, 2, 4, 4, 4, 8, 8, 12, 16, 16, 20, 64]) as u32;
    let base = match r.below(4) {
        0 => 0,
        1 => r.below(size) as u32,
        _ => 16 * r.below(size / 16) as u32,
    };
    match r.below(8) {
        0 => [base; 64],
        1..=3 => std::array::from_fn(|l| base.wrapping_add(stride * l as u32)),
        4 => {
            let row = 4 * r.below(64) as u32;
            std::array::from_fn(|l| base + stride * (l as u32 % 16) + row * (l as u32 / 16))
        }
        5 => std::array::from_fn(|_| 4 * r.below(size / 4) as u32),
        6 => std::array::from_fn(|_| r.below(size) as u32),
        _ => {
            let mut all = std::array::from_fn(|l| base.wrapping_add(stride * l as u32));
            all[r.below(64) as usize] = r.pick(&[u32::MAX, 0x8000_0000, 1020, 0xffff_fffc]);
            all
        }
    }
}

/// Returns addresses for 64 lanes.
fn addresses(bench: &Bench, r: &mut Rng) -> [u64; 64] {
    let base = bench.pages().address(r);
    let stride = r.pick(&[0u64, 1, 2, 4, 4, 4, 8, 8, 12, 16, 16, 20, 64, 256]);
    let stride = if r.once_in(10) {
        0u64.wrapping_sub(stride)
    } else {
        stride
    };
    match r.below(10) {
        0 => [base; 64],
        1..=4 => std::array::from_fn(|l| base.wrapping_add(stride.wrapping_mul(l as u64))),
        5 => {
            let row = 4 * r.below(256);
            std::array::from_fn(|l| {
                base.wrapping_add(stride.wrapping_mul(l as u64 % 16))
                    .wrapping_add(row * (l as u64 / 16))
            })
        }
        6 => std::array::from_fn(|_| DATA + 4 * r.below(DATA_PAGES * PAGE_SIZE / 4)),
        7 => std::array::from_fn(|_| DATA + r.below(DATA_PAGES * PAGE_SIZE)),
        8 => {
            let mut all =
                std::array::from_fn(|l| (base & !15).wrapping_add(stride.wrapping_mul(l as u64)));
            all[r.below(64) as usize] = bench.pages().address(r);
            all
        }
        _ => std::array::from_fn(|_| bench.pages().address(r)),
    }
}

/// Returns a buffer resource: plain, with a stride, for scratch, with base 0, or random.
fn resource(r: &mut Rng, kind: u64) -> [u32; 4] {
    let base = DATA + (r.below(DATA_PAGES * PAGE_SIZE / 2) & !15);
    let high = (base >> 32) as u32;
    let formats = 0x27000 | 0xfac;
    let records = r.pick(&[4096, 256, 1000, 64, u32::MAX]);
    match kind {
        0 | 1 => [base as u32, high, records, formats],
        2 => [
            base as u32,
            high | r.pick(&[4, 8, 16, 12]) << 16,
            r.pick(&[64, 1000, 100]),
            formats,
        ],
        // Scratch as in the ABI is swizzled, with 4-byte elements that are contiguous for 64 lanes.
        3 => [
            base as u32,
            high | 0x8000_0000,
            u32::MAX,
            r.pick(&[0x00e8_0000, 0x00e8_0000 | 0x27000, 0x00f0_0000, 0x00e0_f000]),
        ],
        4 => [0, 0, u32::MAX, formats],
        _ => [
            base as u32,
            high | r.next() as u32 & 0xffff_0000,
            r.word(),
            r.next() as u32,
        ],
    }
}

/// Returns the instructions of the compiled fixtures for a target.
fn programs(target: Target) -> Vec<Vec<Vec<u8>>> {
    let testdata = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut files = Vec::new();
    for folder in ["kernels", "programs/objects"] {
        let entries = std::fs::read_dir(testdata.join(folder)).expect("fixtures");
        files.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned());
        let mine =
            name.is_some_and(|n| n.contains(&format!("-{}", target.name())) && n.ends_with(".co"));
        if !mine {
            continue;
        }
        let bytes = std::fs::read(&file).expect("a fixture");
        let object = CodeObject::parse(&bytes).expect("a code object");
        let Ok(image) = object.image(0) else { continue };
        for segment in image.segments.iter().filter(|s| s.executable) {
            let mut rest = &segment.bytes[..];
            let mut program = Vec::new();
            while rest.len() >= 4 {
                match decode(target, rest) {
                    Some(insn) if rest[..4] != [0; 4] => {
                        program.push(rest[..insn.len as usize].to_vec());
                        rest = &rest[insn.len as usize..];
                    }
                    _ => rest = &rest[4..],
                }
            }
            if program.len() >= 40 {
                out.push(program);
            }
        }
    }
    out
}
