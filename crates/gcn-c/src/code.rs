//! Decoding, printing and assembling.

use crate::{Failure, gcn_err, guard, location, quiet, slice, target, text};
use gcn::isa::access::{File, InstructionTable};
use gcn::isa::decode::Decoder;
use gcn::isa::operand::{Reg, Value, reg};
use gcn::isa::plan::Plans;
use gcn::isa::print::{Style, print_operand};
use gcn::isa::shape::Access;
use gcn::isa::text::Text;
use gcn::isa::{Insn, Target, insts};
use std::ffi::c_char;

/// A disassembler.
pub struct gcn_cs {
    target: Target,
    decoder: Decoder,
    plans: Plans,
    style: Style,
    text: Text,
    table: Option<InstructionTable>,
    skipdata: bool,
}

/// The options of a disassembler.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum gcn_opt {
    /// 0: LLVM's syntax; 1: the documents', which is CLRX's.
    Syntax = 0,
    /// 1: bytes that are not an instruction are returned as `.long` and `.byte`, with id 0; 0: they end the disassembly.
    Skipdata = 1,
}

/// An instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcn_insn {
    /// The number of its row, from 1, the same for all architectures; 0 for data.
    pub id: u32,
    /// Its size in bytes: 4 or 8; for data at the end also 1 to 3.
    pub size: u32,
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub bytes: [u8; 8],
    /// The address of a branch's target; UINT64_MAX if there is none.
    pub target: u64,
    /// The mnemonic.
    pub mnemonic: [c_char; 48],
    /// Operands and modifiers.
    pub op_str: [c_char; 208],
}

/// The kind of an operand.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum gcn_kind {
    /// Scalar registers: the code of the first, as encoded (0 to 127, or a source such as SCC, 253).
    Scalar = 0,
    /// VGPRs: the number of the first.
    Vector = 1,
    /// An inline constant, an immediate or a literal: its value; for floats the bits as f32.
    Constant = 2,
}

/// An operand.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcn_operand {
    /// Its kind.
    pub kind: gcn_kind,
    /// True if it is read.
    pub read: bool,
    /// True if it is written.
    pub written: bool,
    /// The number of registers of 32 bits.
    pub count: u32,
    /// The register, or the value.
    pub value: i64,
}

/// The file of a register.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum gcn_file {
    /// SGPRs, VCC, M0, EXEC and others, by their codes.
    Scalar = 0,
    /// VGPRs.
    Vector = 1,
    /// SCC, register 0.
    Scc = 2,
    /// Hardware registers of s_getreg: 1 is MODE, 2 STATUS.
    Hwreg = 3,
}

/// Consecutive registers that an instruction reads or writes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcn_access {
    /// The file.
    pub file: gcn_file,
    /// The first register.
    pub first: u32,
    /// The number of registers, of 32 bits each.
    pub count: u32,
    /// True if they are written; otherwise they are read.
    pub write: bool,
    /// True if no field of the encoding names them.
    pub is_implicit: bool,
    /// True if their number is computed: it may be any of the file.
    pub anywhere: bool,
}

/// Opens a disassembler for an architecture: a target, "gfx600" to "gfx90c", or a chip's name, such as "vega10".
///
/// # Safety
/// `arch` is a string; `out` has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_open(arch: *const c_char, out: *mut *mut gcn_cs) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (arch, out) = unsafe { (text(arch, "arch")?, location(out, "out")?) };
        let target = target(arch)?;
        *out = Box::into_raw(Box::new(gcn_cs {
            target,
            decoder: Decoder::new(target),
            plans: Plans::new(target, Style::LLVM),
            style: Style::LLVM,
            text: Text::with_room(4096),
            table: None,
            skipdata: false,
        }));
        Ok(())
    })
}

/// Closes a disassembler; NULL is ignored.
///
/// # Safety
/// `cs` comes from gcn_open, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_close(cs: *mut gcn_cs) {
    if !cs.is_null() {
        // SAFETY: `gcn_open` made it of a box, and it is closed once.
        quiet((), || drop(unsafe { Box::from_raw(cs) }));
    }
}

/// Sets an option.
///
/// # Safety
/// `cs` comes from gcn_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_option(cs: *mut gcn_cs, option: u32, value: u32) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let cs = unsafe { location(cs, "cs")? };
        let style = match (option, value) {
            (0, 0) => Style::LLVM,
            (0, 1) => Style::CLRX,
            (1, 0 | 1) => {
                cs.skipdata = value == 1;
                return Ok(());
            }
            _ => {
                let message = format!("option {option} has no value {value}");
                return Err(Failure::new(gcn_err::Argument, message));
            }
        };
        cs.style = style;
        cs.plans = Plans::new(cs.target, style);
        Ok(())
    })
}

/// Copies text, truncated to fit, and a NUL.
fn copy<const N: usize>(text: &[u8]) -> [c_char; N] {
    let mut out = [0; N];
    let locations = out[..N - 1].iter_mut().zip(text);
    locations.for_each(|(to, from)| *to = *from as c_char);
    out
}

impl gcn_cs {
    /// The first instruction of some code.
    fn next(&mut self, code: &[u8], address: u64) -> Option<gcn_insn> {
        let insn = self.decoder.decode(code);
        if code.is_empty() || insn.is_none() && !self.skipdata {
            return None;
        }
        let size = insn.map_or(4.min(code.len()), |i| i.len as usize);
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&code[..size]);
        let data;
        let shown = match &insn {
            Some(insn) => {
                self.text.clear();
                self.plans.print(insn, None, &mut self.text);
                self.text.as_bytes()
            }
            None => {
                data = match <[u8; 4]>::try_from(&code[..size]) {
                    Ok(word) => format!(".long {:#010x}", u32::from_le_bytes(word)),
                    Err(_) => {
                        let all: Vec<String> =
                            code[..size].iter().map(|b| format!("{b:#04x}")).collect();
                        format!(".byte {}", all.join(", "))
                    }
                };
                data.as_bytes()
            }
        };
        let space = shown.iter().position(|b| *b == b' ').unwrap_or(shown.len());
        let (mnemonic, operands) = shown.split_at(space);
        let target = insn.and_then(|insn| gcn::isa::flow::branch_target(&insn, address));
        Some(gcn_insn {
            id: insn.map_or(0, |insn| insts::number(insn.row) as u32 + 1),
            size: size as u32,
            address,
            bytes,
            target: target.unwrap_or(u64::MAX),
            mnemonic: copy(mnemonic),
            op_str: copy(operands.trim_ascii_start()),
        })
    }

    fn decoded(&self, insn: &gcn_insn) -> Option<Insn> {
        self.decoder.decode(insn.bytes.get(..insn.size as usize)?)
    }
}

/// Disassembles the next instruction of `*code`, and moves `*code`, `*size` and `*address` past it. Returns false at the end, or at bytes that are no
/// instruction.
///
/// # Safety
/// `cs` comes from gcn_open; `*code` has `*size` bytes; `insn` has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_disasm_iter(
    cs: *mut gcn_cs,
    code: *mut *const u8,
    size: *mut usize,
    address: *mut u64,
    insn: *mut gcn_insn,
) -> bool {
    quiet(false, || {
        // SAFETY: guaranteed by the caller.
        let locations = unsafe { (cs.as_mut(), code.as_mut(), size.as_mut(), address.as_mut()) };
        let (Some(cs), Some(code), Some(size), Some(address)) = locations else {
            return false;
        };
        // SAFETY: guaranteed by the caller.
        let (Ok(rest), Some(insn)) = (unsafe { (slice(*code, *size, "code"), insn.as_mut()) })
        else {
            return false;
        };
        let Some(next) = cs.next(rest, *address) else {
            return false;
        };
        *insn = next;
        *code = code.wrapping_add(next.size as usize);
        *size -= next.size as usize;
        *address = address.wrapping_add(u64::from(next.size));
        true
    })
}

/// Disassembles at most `count` instructions (0: all). Returns their number, and in `*out` an array of them for gcn_free.
///
/// # Safety
/// `cs` comes from gcn_open; `code` has `size` bytes; `out` has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_disasm(
    cs: *mut gcn_cs,
    code: *const u8,
    size: usize,
    address: u64,
    count: usize,
    out: *mut *mut gcn_insn,
) -> usize {
    quiet(0, || {
        // SAFETY: guaranteed by the caller.
        let (cs, out) = unsafe { (cs.as_mut(), out.as_mut()) };
        // SAFETY: guaranteed by the caller.
        let code = unsafe { slice(code, size, "code") };
        let (Some(cs), Some(out), Ok(mut rest)) = (cs, out, code) else {
            return 0;
        };
        let (mut at, mut all) = (address, Vec::new());
        while count == 0 || all.len() < count {
            let Some(insn) = cs.next(rest, at) else { break };
            rest = &rest[insn.size as usize..];
            at = at.wrapping_add(u64::from(insn.size));
            all.push(insn);
        }
        let n = all.len();
        *out = match n {
            0 => std::ptr::null_mut(),
            _ => Box::into_raw(all.into_boxed_slice()).cast(),
        };
        n
    })
}

/// Frees the array of gcn_disasm; NULL is ignored.
///
/// # Safety
/// `insns` and `count` come from gcn_disasm, and are not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_free(insns: *mut gcn_insn, count: usize) {
    if !insns.is_null() {
        let all = std::ptr::slice_from_raw_parts_mut(insns, count);
        // SAFETY: `gcn_disasm` made it of a box of `count` instructions.
        drop(unsafe { Box::from_raw(all) });
    }
}

/// Writes up to `room` operands of an instruction, in the order of the text. Returns their number.
///
/// # Safety
/// `cs` comes from gcn_open, `insn` from a disassembly of it; `out` has room for `room` operands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_operands(
    cs: *mut gcn_cs,
    insn: *const gcn_insn,
    out: *mut gcn_operand,
    room: usize,
) -> usize {
    quiet(0, || {
        // SAFETY: guaranteed by the caller.
        let (Some(cs), Some(insn)) = (unsafe { (cs.as_mut(), insn.as_ref()) }) else {
            return 0;
        };
        let Some(insn) = cs.decoded(insn) else {
            return 0;
        };
        let mut count = 0;
        for slot in insn.row.shape.slots {
            let mut shown = String::new();
            print_operand(&insn, slot, &cs.style, &mut shown);
            if shown.is_empty() {
                continue;
            }
            let mut operand = gcn_operand {
                kind: gcn_kind::Constant,
                read: slot.access != Access::Write,
                written: slot.access != Access::Read,
                count: 0,
                value: 0,
            };
            match insn.operand(slot).value {
                Value::Absent => continue,
                Value::Imm(value) => operand.value = value as i64,
                Value::Code(code) => match reg(code, insn.generation()) {
                    Reg::Int(n) => operand.value = n.into(),
                    Reg::Float(n) => {
                        operand.value = gcn::isa::operand::FLOATS[n as usize].2.into();
                    }
                    Reg::Literal => operand.value = insn.literal.into(),
                    other => {
                        let vector = matches!(other, Reg::Vgpr(_));
                        operand.kind = match vector {
                            true => gcn_kind::Vector,
                            false => gcn_kind::Scalar,
                        };
                        operand.count = insn.dwords(slot).max(1).into();
                        operand.value = (code & if vector { 255 } else { 511 }).into();
                    }
                },
            }
            if count < room && !out.is_null() {
                // SAFETY: there is room for `room` operands.
                unsafe { out.add(count).write(operand) };
            }
            count += 1;
        }
        count
    })
}

/// Writes up to `room` accesses of an instruction: first reads, then writes, including implicit registers. Returns their number.
///
/// # Safety
/// `cs` comes from gcn_open, `insn` from a disassembly of it; `out` has room for `room` accesses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_accesses(
    cs: *mut gcn_cs,
    insn: *const gcn_insn,
    out: *mut gcn_access,
    room: usize,
) -> usize {
    quiet(0, || {
        // SAFETY: guaranteed by the caller.
        let (Some(cs), Some(insn)) = (unsafe { (cs.as_mut(), insn.as_ref()) }) else {
            return 0;
        };
        let Some(insn) = cs.decoded(insn) else {
            return 0;
        };
        let target = cs.target;
        let table = cs
            .table
            .get_or_insert_with(|| InstructionTable::new(target));
        let mut count = 0;
        for access in table.of(&insn).accesses(&insn) {
            let access = gcn_access {
                file: match access.file {
                    File::Scalar => gcn_file::Scalar,
                    File::Vector => gcn_file::Vector,
                    File::Scc => gcn_file::Scc,
                    File::Hwreg => gcn_file::Hwreg,
                },
                first: access.first.into(),
                count: access.count.into(),
                write: access.write,
                is_implicit: access.implicit,
                anywhere: access.anywhere,
            };
            if count < room && !out.is_null() {
                // SAFETY: there is room for `room` accesses.
                unsafe { out.add(count).write(access) };
            }
            count += 1;
        }
        count
    })
}

/// Assembles instructions that are separated by `;` or line breaks. `*bytes` has the `*size` bytes, for gcn_free_bytes.
///
/// # Safety
/// `arch` and `source` are strings; `bytes` and `size` have room for their results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_asm(
    arch: *const c_char,
    source: *const c_char,
    bytes: *mut *mut u8,
    size: *mut usize,
) -> gcn_err {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let (arch, source) = unsafe { (text(arch, "arch")?, text(source, "source")?) };
        // SAFETY: guaranteed by the caller.
        let (bytes, size) = unsafe { (location(bytes, "bytes")?, location(size, "size")?) };
        let syntax = gcn::asm::Syntax::Llvm;
        let made = gcn::asm::snippet(target(arch)?, source, syntax, false);
        let made = made.map_err(|diagnostics| {
            let text = gcn::asm::render(&diagnostics, false);
            Failure::new(gcn_err::Assembly, text.trim_end())
        })?;
        *size = made.len();
        *bytes = Box::into_raw(made.into_boxed_slice()).cast();
        Ok(())
    })
}

/// Frees the bytes of gcn_asm or gcn_assemble; NULL is ignored.
///
/// # Safety
/// `bytes` and `size` come from one of them, and are not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_free_bytes(bytes: *mut u8, size: usize) {
    if !bytes.is_null() {
        let all = std::ptr::slice_from_raw_parts_mut(bytes, size);
        // SAFETY: it was made of a box of `size` bytes.
        drop(unsafe { Box::from_raw(all) });
    }
}

/// Assembles a whole source to a code object that gcn_load takes, with line numbers for reports (`source:LINE`); `arch` may be NULL if
/// the source names its target.
///
/// # Safety
/// `source` is a string, `arch` a string or NULL; `bytes` and `size` have room for their results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcn_assemble(
    arch: *const c_char,
    source: *const c_char,
    bytes: *mut *mut u8,
    size: *mut usize,
) -> gcn_err {
    guard(|| {
        let arch = match arch.is_null() {
            true => None,
            // SAFETY: guaranteed by the caller.
            false => Some(target(unsafe { text(arch, "arch")? })?),
        };
        // SAFETY: guaranteed by the caller.
        let source = unsafe { text(source, "source")? };
        // SAFETY: guaranteed by the caller.
        let (bytes, size) = unsafe { (location(bytes, "bytes")?, location(size, "size")?) };
        let options = gcn::asm::Options {
            target: arch,
            debug: Some(String::new()),
            ..gcn::asm::Options::default()
        };
        let output = gcn::asm::assemble(source, "source", &options);
        let object = output.object.ok_or_else(|| {
            let text = gcn::asm::render(&output.diagnostics, false);
            Failure::new(gcn_err::Assembly, text.trim_end())
        })?;
        let made = object.loadable();
        let made = made.map_err(|e| Failure::new(gcn_err::Assembly, e))?;
        *size = made.len();
        *bytes = Box::into_raw(made.into_boxed_slice()).cast();
        Ok(())
    })
}
