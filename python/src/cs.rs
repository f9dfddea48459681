//! Disassembly in the shape of capstone's Python module.

use crate::error::Told;
use foldhash::HashMap;
use gcn::isa::access::{File, InstructionTable, RegAccess};
use gcn::isa::decode::Decoder;
use gcn::isa::operand::{self, Reg, Value, inline_value, reg};
use gcn::isa::plan::Plans;
use gcn::isa::print::{Style, print_operand};
use gcn::isa::shape::{Access, Slot};
use gcn::isa::text::Text;
use gcn::isa::{Gen, Insn, Target, insts};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString, PyTuple};
use std::sync::{Arc, OnceLock};

/// Capstone's numbers of errors.
const ERR_ARCH: u32 = 2;
const ERR_DETAIL: u32 = 7;
const ERR_OPTION: u32 = 6;
const ERR_SKIPDATA: u32 = 10;

/// A `CsError` with a number.
fn cs_error(number: u32) -> PyErr {
    Python::attach(|py| {
        let raise = || -> PyResult<PyErr> {
            let class = py.import("gcn._error")?.getattr("CsError")?;
            Ok(PyErr::from_value(class.call1((number,))?))
        };
        raise().unwrap_or_else(|e| e)
    })
}

/// The target of a name.
pub fn target(name: &str) -> PyResult<Target> {
    Target::parse(name).ok_or_else(|| {
        let known: Vec<&str> = Target::all().map(|t| t.name()).collect();
        let message = format!(
            "`{name}` is no target of gfx6 to gfx9: expected one of {}, or a chip's name as vega10",
            known.join(", ")
        );
        Told::new("usage", message).into()
    })
}

/// The bytes of an argument: `bytes`, `bytearray`, an array of bytes, or text of which each character is a byte.
pub fn bytes(data: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    PyBuffer::<u8>::get(data)?.to_vec(data.py())
}

/// The number of a register: scalar registers and sources have their codes plus 1, hardware registers their numbers plus 300,
/// VGPRs their numbers plus 512; 0 is none.
fn number(file: File, n: u16) -> u32 {
    match file {
        File::Scalar => u32::from(n) + 1,
        File::Scc => 254,
        File::Hwreg => u32::from(n) + 300,
        File::Vector => u32::from(n) + 512,
    }
}

/// The name of a register.
fn name(id: u32, generation: Gen) -> Option<String> {
    let access = |file, first: u32| {
        let one = RegAccess {
            file,
            first: first as u16,
            count: 1,
            write: false,
            partial: false,
            slot: None,
            implicit: false,
            anywhere: false,
        };
        let mut name = String::new();
        one.each_name(generation, |n| name = n.to_owned());
        name
    };
    match id {
        254 => Some("scc".into()),
        1..=128 => Some(access(File::Scalar, id - 1)),
        129..=256 => match reg((id - 1) as u16, generation) {
            Reg::Source(source) => Some(source.name().into()),
            _ => None,
        },
        300..=363 => Some(access(File::Hwreg, id - 300)),
        512..=767 => Some(access(File::Vector, id - 512)),
        _ => None,
    }
}

/// The groups: capstone's, then those of GCN.
const GROUPS: [(u32, &str); 31] = [
    (1, "jump"),
    (2, "call"),
    (3, "ret"),
    (4, "int"),
    (7, "branch_relative"),
    (128, "salu"),
    (129, "valu"),
    (130, "smem"),
    (131, "memory"),
    (132, "load"),
    (133, "store"),
    (134, "atomic"),
    (135, "conditional"),
    (136, "indirect"),
    (137, "writes_exec"),
    (138, "barrier"),
    (139, "wait"),
    (140, "sleep"),
    (141, "message"),
    (142, "cache"),
    (143, "lds"),
    (144, "gds"),
    (145, "global"),
    (146, "buffer"),
    (147, "flat"),
    (148, "scratch"),
    (149, "scalar"),
    (150, "image"),
    (151, "export"),
    (152, "vskip"),
    (153, "end"),
];

/// The name of a group.
fn group_name(id: u32) -> Option<&'static str> {
    GROUPS.iter().find(|(n, _)| *n == id).map(|(_, name)| *name)
}

/// The number of an instruction, from 1.
fn number_of(insn: &Insn) -> usize {
    insts::number(insn.row) + 1
}

/// The name of the row of an instruction's number, which counts from 1.
fn row_name(id: usize) -> Option<&'static str> {
    insts::all().nth(id.checked_sub(1)?).map(|row| row.name)
}

/// A callback of skipped data, if it is not `None`.
fn callback(value: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    match value {
        none if none.is_none() => Ok(None),
        call if call.is_callable() => Ok(Some(call.clone().unbind())),
        _ => Err(
            Told::new("usage", "skipdata_setup: the second value is no function")
                .class("Error")
                .into(),
        ),
    }
}

/// What the instructions of one disassembler share.
struct Shared {
    target: Target,
    style: Style,
    info: OnceLock<InstructionTable>,
}

impl Shared {
    fn info(&self) -> &InstructionTable {
        self.info.get_or_init(|| InstructionTable::new(self.target))
    }
}

/// A disassembler, in the shape of capstone's.
///
/// >>> import gcn
/// >>> cs = gcn.Cs("gfx900")
/// >>> for insn in cs.disasm(bytes.fromhex("00010280000081bf"), 0x1000):
/// ...     print(f"{insn.address:#x}: {insn.mnemonic} {insn.op_str}")
/// 0x1000: s_add_u32 s2, s0, s1
/// 0x1004: s_endpgm
#[pyclass(module = "gcn", subclass)]
pub struct Cs {
    target: Target,
    shared: Arc<Shared>,
    /// Operands, groups and registers are wanted.
    #[pyo3(get, set)]
    detail: bool,
    /// Bytes that are no instruction are given as `.long` and `.byte`; otherwise the disassembly ends there.
    #[pyo3(get, set)]
    skipdata: bool,
    /// The mnemonic of skipped bytes.
    #[pyo3(get, set)]
    skipdata_mnem: Option<String>,
    /// A function that says how many bytes are skipped, and what it is given as its last argument.
    skipdata_callback: Option<(Py<PyAny>, Py<PyAny>)>,
    /// Mnemonics by the instruction's number that replace the usual ones.
    renamed: HashMap<usize, String>,
}

#[pymethods]
impl Cs {
    /// `arch` is a target, `gfx600` to `gfx90c`, or a chip's name; `mode` is 0.
    #[new]
    #[pyo3(signature = (arch, mode = 0))]
    fn new(arch: &str, mode: u32) -> PyResult<Cs> {
        let target = Target::parse(arch).ok_or_else(|| cs_error(ERR_ARCH))?;
        if mode != 0 {
            return Err(cs_error(4));
        }
        Ok(Cs {
            target,
            shared: Arc::new(Shared {
                target,
                style: Style::LLVM,
                info: OnceLock::new(),
            }),
            detail: false,
            skipdata: false,
            skipdata_mnem: None,
            skipdata_callback: None,
            renamed: HashMap::default(),
        })
    }

    /// The target.
    #[getter]
    fn arch(&self) -> &'static str {
        self.target.name()
    }

    /// Always 0.
    #[getter]
    fn mode(&self) -> u32 {
        0
    }

    /// `CS_OPT_SYNTAX_DEFAULT` (LLVM's) or `CS_OPT_SYNTAX_CLRX` (the documents'); also as "llvm" and "clrx".
    #[getter]
    fn syntax(&self) -> u32 {
        match self.shared.style == Style::CLRX {
            true => 16,
            false => 0,
        }
    }

    #[setter]
    fn set_syntax(&mut self, syntax: &Bound<'_, PyAny>) -> PyResult<()> {
        let style = match (syntax.extract::<u32>(), syntax.extract::<&str>()) {
            (Ok(0), _) | (_, Ok("llvm")) => Style::LLVM,
            (Ok(16), _) | (_, Ok("clrx")) => Style::CLRX,
            _ => return Err(cs_error(ERR_OPTION)),
        };
        self.shared = Arc::new(Shared {
            target: self.target,
            style,
            info: OnceLock::new(),
        });
        Ok(())
    }

    /// As in capstone: a tuple of mnemonic, callback and the callback's data.
    #[getter]
    fn skipdata_setup(
        &self,
        py: Python<'_>,
    ) -> (Option<String>, Option<Py<PyAny>>, Option<Py<PyAny>>) {
        let (call, data) = match &self.skipdata_callback {
            Some((call, data)) => (Some(call.clone_ref(py)), Some(data.clone_ref(py))),
            None => (None, None),
        };
        (self.skipdata_mnem.clone(), call, data)
    }

    /// `callback(code, size, offset, data)` says how many bytes at `offset` of `code` are skipped; 0 ends the disassembly. Without a
    /// callback they are words of 4 bytes, as the hardware fetches them.
    #[setter]
    fn set_skipdata_setup(&mut self, setup: &Bound<'_, PyAny>) -> PyResult<()> {
        let mnemonic: Option<String> = setup.get_item(0)?.extract()?;
        self.skipdata_callback = match setup.len()? {
            0 | 1 => None,
            n => {
                let data = match n {
                    2 => setup.py().None(),
                    _ => setup.get_item(2)?.unbind(),
                };
                callback(&setup.get_item(1)?)?.map(|call| (call, data))
            }
        };
        self.skipdata_mnem = mnemonic;
        Ok(())
    }

    /// The callback of `skipdata_setup` alone: a tuple of the function and its data.
    #[setter]
    fn set_skipdata_callback(&mut self, setup: &Bound<'_, PyAny>) -> PyResult<()> {
        let call = callback(&setup.get_item(0)?)?;
        let data = setup.get_item(1)?.unbind();
        self.skipdata_callback = call.map(|call| (call, data));
        Ok(())
    }

    /// Prints another mnemonic for the instruction of this number; `None` restores its own.
    fn mnemonic_setup(&mut self, id: usize, mnemonic: Option<String>) -> PyResult<()> {
        if row_name(id).is_none() {
            return Err(cs_error(ERR_OPTION));
        }
        match mnemonic {
            Some(text) => self.renamed.insert(id, text),
            None => self.renamed.remove(&id),
        };
        Ok(())
    }

    /// Iterates over the instructions of `code`, the first of which is at address `offset`; at most `count`, if it is not 0.
    /// It ends at bytes that are no instruction, unless `skipdata` is set.
    #[pyo3(signature = (code, offset = 0, count = 0))]
    fn disasm(
        slf: Bound<'_, Self>,
        code: &Bound<'_, PyAny>,
        offset: u64,
        count: usize,
    ) -> PyResult<CsIter> {
        CsIter::new(slf, code, offset, count, false)
    }

    /// As `disasm`, with a tuple (address, size, mnemonic, op_str) for each instruction.
    #[pyo3(signature = (code, offset = 0, count = 0))]
    fn disasm_lite(
        slf: Bound<'_, Self>,
        code: &Bound<'_, PyAny>,
        offset: u64,
        count: usize,
    ) -> PyResult<CsIter> {
        CsIter::new(slf, code, offset, count, true)
    }

    /// As `disasm_lite` without a count; newer versions of capstone have it under this name.
    #[pyo3(signature = (code, offset = 0))]
    fn disasm_iter(slf: Bound<'_, Self>, code: &Bound<'_, PyAny>, offset: u64) -> PyResult<CsIter> {
        CsIter::new(slf, code, offset, 0, true)
    }

    /// All of the code as text, an instruction a line, as `gcn dis --raw --plain` prints it. Other Python threads run meanwhile.
    ///
    /// >>> import gcn
    /// >>> gcn.Cs("gfx900").text(bytes.fromhex("00010280"))
    /// 's_add_u32 s2, s0, s1\n'
    #[pyo3(signature = (code, threads = 0))]
    fn text(&self, py: Python<'_>, code: &Bound<'_, PyAny>, threads: usize) -> PyResult<String> {
        let code = bytes(code)?;
        let (target, style) = (self.target, self.shared.style);
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        let out = py.detach(|| {
            let mut out = Vec::new();
            let listing = gcn::listing::Listing::plain(target, &code, style);
            listing.write(threads, &mut out).map(|()| out)
        });
        let out = out.map_err(|e| Told::new("usage", e.to_string()))?;
        String::from_utf8(out).map_err(|e| Told::new("usage", e.to_string()).into())
    }

    /// The name of a register's number; `default` if there is none.
    #[pyo3(signature = (id, default = None))]
    fn reg_name(&self, id: u32, default: Option<String>) -> Option<String> {
        name(id, self.target.generation()).or(default)
    }

    /// The name of an instruction's number; `default` if there is none.
    #[pyo3(signature = (id, default = None))]
    fn insn_name(&self, id: usize, default: Option<String>) -> Option<String> {
        row_name(id).map(str::to_owned).or(default)
    }

    /// The name of a group's number; `default` if there is none.
    #[pyo3(signature = (id, default = None))]
    fn group_name(&self, id: u32, default: Option<String>) -> Option<String> {
        group_name(id).map(str::to_owned).or(default)
    }

    /// Always 0; errors are exceptions.
    fn errno(&self) -> u32 {
        0
    }
}

/// The instructions of some code.
#[pyclass(module = "gcn")]
pub struct CsIter {
    cs: Py<Cs>,
    shared: Arc<Shared>,
    decoder: Decoder,
    plans: Plans,
    text: Text,
    code: Vec<u8>,
    at: usize,
    offset: u64,
    left: usize,
    lite: bool,
    detail: bool,
    skipdata: Option<String>,
    skipdata_callback: Option<(Py<PyAny>, Py<PyAny>)>,
    renamed: HashMap<usize, String>,
    /// The mnemonics met so far, by the instruction's form; several of a form are rare.
    mnemonics: HashMap<Box<[u8]>, Py<PyString>>,
    nothing: Py<PyString>,
}

impl CsIter {
    fn new(
        cs: Bound<'_, Cs>,
        code: &Bound<'_, PyAny>,
        offset: u64,
        count: usize,
        lite: bool,
    ) -> PyResult<CsIter> {
        let py = cs.py();
        let of = cs.borrow();
        let shared = of.shared.clone();
        let skipdata = of
            .skipdata
            .then(|| of.skipdata_mnem.clone().unwrap_or_default());
        Ok(CsIter {
            decoder: Decoder::new(of.target),
            plans: Plans::new(of.target, shared.style),
            text: Text::with_room(4096),
            code: bytes(code)?,
            at: 0,
            offset,
            left: if count == 0 { usize::MAX } else { count },
            lite,
            detail: of.detail,
            skipdata,
            skipdata_callback: of
                .skipdata_callback
                .as_ref()
                .map(|(call, data)| (call.clone_ref(py), data.clone_ref(py))),
            renamed: of.renamed.clone(),
            mnemonics: HashMap::default(),
            nothing: PyString::new(py, "").unbind(),
            shared,
            cs: cs.clone().unbind(),
        })
    }

    /// The number of bytes to skip here, where no instruction is.
    fn skipped(&self, py: Python<'_>) -> PyResult<usize> {
        let left = self.code.len() - self.at;
        let Some((call, data)) = &self.skipdata_callback else {
            return Ok(4.min(left));
        };
        let code = PyBytes::new(py, &self.code);
        let size = call.call1(py, (code, self.code.len(), self.at, data))?;
        Ok(size.extract::<usize>(py)?.min(left))
    }

    /// The strings of the text in `self.text`.
    fn strings(&mut self, py: Python<'_>) -> (Py<PyString>, Py<PyString>) {
        let text = self.text.as_bytes();
        let space = text.iter().position(|b| *b == b' ');
        let (mnemonic, operands) = match space {
            Some(at) => (&text[..at], text[at..].trim_ascii_start()),
            None => (text, &b""[..]),
        };
        let string = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => PyString::new(py, text).unbind(),
            Err(_) => PyString::new(py, &String::from_utf8_lossy(bytes)).unbind(),
        };
        let known = match self.mnemonics.get(mnemonic) {
            Some(known) => known.clone_ref(py),
            None => {
                let new = string(mnemonic);
                self.mnemonics.insert(mnemonic.into(), new.clone_ref(py));
                new
            }
        };
        let operands = match operands {
            [] => self.nothing.clone_ref(py),
            text => string(text),
        };
        (known, operands)
    }
}

#[pymethods]
impl CsIter {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let rest = &self.code[self.at..];
        if rest.is_empty() || self.left == 0 {
            return Ok(None);
        }
        let insn = self.decoder.decode(rest);
        let mut bytes = [0; 8];
        let mut skipped = Box::default();
        let (size, (mnemonic, operands)) = match &insn {
            Some(insn) => {
                let size = insn.len as usize;
                bytes[..size].copy_from_slice(&rest[..size]);
                self.text.clear();
                self.plans.print(insn, None, &mut self.text);
                let (usual, operands) = self.strings(py);
                let mnemonic = match self.renamed.is_empty() {
                    true => usual,
                    false => match self.renamed.get(&number_of(insn)) {
                        Some(other) => PyString::new(py, other).unbind(),
                        None => usual,
                    },
                };
                (size, (mnemonic, operands))
            }
            None => {
                let Some(mnemonic) = &self.skipdata else {
                    return Ok(None);
                };
                let size = match self.skipped(py)? {
                    0 => return Ok(None),
                    size => size,
                };
                skipped = rest[..size].into();
                let (own, operands) = data(&skipped);
                let mnemonic = match mnemonic.as_str() {
                    "" => own,
                    other => other,
                };
                let texts = (
                    PyString::new(py, mnemonic).unbind(),
                    PyString::new(py, &operands).unbind(),
                );
                (size, texts)
            }
        };
        let address = self.offset.wrapping_add(self.at as u64);
        self.at += size;
        self.left -= 1;
        if self.lite {
            let tuple = (address, size, mnemonic, operands).into_pyobject(py)?;
            return Ok(Some(tuple.into_any().unbind()));
        }
        let made = CsInsn {
            shared: self.shared.clone(),
            insn,
            address,
            bytes,
            skipped,
            detail: self.detail,
            mnemonic,
            operands,
        };
        Ok(Some(Py::new(py, made)?.into_any()))
    }

    /// The disassembler.
    #[getter]
    fn cs(&self, py: Python<'_>) -> Py<Cs> {
        self.cs.clone_ref(py)
    }
}

/// Bytes that are no instruction, as the assembler reads them.
fn data(bytes: &[u8]) -> (&'static str, String) {
    match <[u8; 4]>::try_from(bytes) {
        Ok(word) => (".long", format!("{:#010x}", u32::from_le_bytes(word))),
        Err(_) => {
            let all: Vec<String> = bytes.iter().map(|b| format!("{b:#04x}")).collect();
            (".byte", all.join(", "))
        }
    }
}

/// An instruction, in the shape of capstone's.
#[pyclass(module = "gcn", frozen)]
pub struct CsInsn {
    shared: Arc<Shared>,
    insn: Option<Insn>,
    /// The address.
    #[pyo3(get)]
    address: u64,
    bytes: [u8; 8],
    /// The bytes of skipped data.
    skipped: Box<[u8]>,
    detail: bool,
    /// The mnemonic, as `v_add_f32_e32`.
    #[pyo3(get)]
    mnemonic: Py<PyString>,
    /// The operands and modifiers.
    #[pyo3(get, name = "op_str")]
    operands: Py<PyString>,
}

/// What the operand is, in capstone's numbers.
const OP_REG: u32 = 1;
const OP_IMM: u32 = 2;
const OP_FP: u32 = 4;

impl CsInsn {
    /// The bytes.
    fn raw(&self) -> &[u8] {
        match &self.insn {
            Some(insn) => &self.bytes[..insn.len as usize],
            None => &self.skipped,
        }
    }

    /// The instruction, if details are there.
    fn detailed(&self) -> PyResult<&Insn> {
        match &self.insn {
            _ if !self.detail => Err(cs_error(ERR_DETAIL)),
            None => Err(cs_error(ERR_SKIPDATA)),
            Some(insn) => Ok(insn),
        }
    }

    /// The numbers of the registers that it reads or writes; those that no field names, or all.
    fn registers(&self, write: bool, implicit: bool) -> PyResult<Vec<u32>> {
        let insn = self.detailed()?;
        let mut ids: Vec<u32> = Vec::new();
        for access in self.shared.info().of(insn).accesses(insn) {
            if access.write != write || (implicit && !access.implicit) || access.anywhere {
                continue;
            }
            for n in access.first..access.first + u16::from(access.count) {
                let id = number(access.file, n);
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        Ok(ids)
    }

    fn group_ids(&self) -> PyResult<Vec<u32>> {
        let insn = self.detailed()?;
        let info = self.shared.info().of(insn);
        let mut ids = Vec::new();
        let mut add = |name: &str| {
            if let Some((id, _)) = GROUPS.iter().find(|(_, n)| *n == name) {
                ids.push(*id);
            }
        };
        let flags = gcn::dis_json::flags(info, insn, info.flow(insn));
        let flags: Vec<&str> = flags.collect();
        for flag in &flags {
            match *flag {
                "branch" => add("jump"),
                "trap" => add("int"),
                other => add(other),
            }
        }
        if flags.contains(&"branch") && !flags.contains(&"indirect") {
            add("branch_relative");
        }
        if insn.row.format == gcn::isa::Format::Smem {
            add("smem");
        }
        if let Some(memory) = info.memory(insn) {
            add(memory.space.name());
        }
        Ok(ids)
    }

    fn op(&self, insn: &Insn, slot: &'static Slot) -> Option<CsOp> {
        let mut text = String::new();
        print_operand(insn, slot, &self.shared.style, &mut text);
        if text.is_empty() {
            return None;
        }
        let access = match slot.access {
            Access::Read => 1,
            Access::Write => 2,
            Access::ReadWrite => 3,
        };
        let bits = slot.ty.bits();
        let mut op = CsOp {
            kind: OP_IMM,
            reg: 0,
            imm: 0,
            fp: 0.0,
            access,
            count: 0,
            size: bits.div_ceil(8),
            text,
            role: format!("{:?}", slot.role).to_lowercase(),
        };
        match insn.operand(slot).value {
            Value::Absent => return None,
            Value::Imm(value) => op.imm = value as i64,
            Value::Code(code) => match reg(code, insn.generation()) {
                Reg::Int(n) => op.imm = n.into(),
                Reg::Float(n) => {
                    op.kind = OP_FP;
                    op.fp = f32::from_bits(operand::FLOATS[n as usize].2).into();
                    op.imm = inline_value(code, bits).unwrap_or(0) as i64;
                }
                Reg::Literal => op.imm = insn.literal.into(),
                Reg::Reserved(_) => op.imm = code.into(),
                _ => {
                    op.kind = OP_REG;
                    op.count = insn.dwords(slot).max(1);
                    op.size = u32::from(op.count) * 4;
                    op.reg = match code {
                        256.. => number(File::Vector, code - 256),
                        253 => number(File::Scc, 0),
                        code => number(File::Scalar, code),
                    };
                }
            },
        }
        Some(op)
    }

    fn ops(&self) -> PyResult<Vec<CsOp>> {
        let insn = self.detailed()?;
        let slots = insn.row.shape.slots.iter();
        Ok(slots.filter_map(|slot| self.op(insn, slot)).collect())
    }
}

#[pymethods]
impl CsInsn {
    /// The instruction's number, the same for all targets of this version; 0 for skipped data.
    #[getter]
    fn id(&self) -> usize {
        self.insn.as_ref().map_or(0, number_of)
    }

    /// The length in bytes, 4 or 8; skipped data may have others.
    #[getter]
    fn size(&self) -> usize {
        self.raw().len()
    }

    /// Its bytes.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyByteArray> {
        PyByteArray::new(py, self.raw())
    }

    /// The name of its row: the mnemonic without `_e32` and the like.
    #[pyo3(signature = (default = None))]
    fn insn_name(&self, default: Option<String>) -> Option<String> {
        self.insn.map(|insn| insn.row.name.to_owned()).or(default)
    }

    /// The name of a register's number; `default` if there is none.
    #[pyo3(signature = (id, default = None))]
    fn reg_name(&self, id: u32, default: Option<String>) -> Option<String> {
        name(id, self.shared.target.generation()).or(default)
    }

    /// The name of a group's number; `default` if there is none.
    #[pyo3(signature = (id, default = None))]
    fn group_name(&self, id: u32, default: Option<String>) -> Option<String> {
        group_name(id).map(str::to_owned).or(default)
    }

    /// The registers that it reads and that no field names, by number.
    #[getter]
    fn regs_read(&self) -> PyResult<Vec<u32>> {
        self.registers(false, true)
    }

    /// The registers that it writes and that no field names, by number.
    #[getter]
    fn regs_write(&self) -> PyResult<Vec<u32>> {
        self.registers(true, true)
    }

    /// All registers that it reads, and all that it writes, by number. Registers whose number is computed are not among them.
    fn regs_access(&self) -> PyResult<(Vec<u32>, Vec<u32>)> {
        Ok((self.registers(false, false)?, self.registers(true, false)?))
    }

    /// The groups that it belongs to, by number.
    #[getter]
    fn groups(&self) -> PyResult<Vec<u32>> {
        self.group_ids()
    }

    /// Returns true if it belongs to a group.
    fn group(&self, id: u32) -> PyResult<bool> {
        Ok(self.group_ids()?.contains(&id))
    }

    /// Returns true if it reads a register that no field names.
    fn reg_read(&self, id: u32) -> PyResult<bool> {
        Ok(self.regs_read()?.contains(&id))
    }

    /// Returns true if it writes a register that no field names.
    fn reg_write(&self, id: u32) -> PyResult<bool> {
        Ok(self.regs_write()?.contains(&id))
    }

    /// The operands.
    #[getter]
    fn operands(&self) -> PyResult<Vec<CsOp>> {
        self.ops()
    }

    /// The number of operands of a type.
    fn op_count(&self, op_type: u32) -> PyResult<usize> {
        Ok(self.ops()?.iter().filter(|op| op.kind == op_type).count())
    }

    /// The operand of a type at a position, from 1.
    fn op_find(&self, op_type: u32, position: usize) -> PyResult<Option<CsOp>> {
        let mut ops = self.ops()?.into_iter().filter(|op| op.kind == op_type);
        Ok(position.checked_sub(1).and_then(|n| ops.nth(n)))
    }

    /// The address of a branch's target; `None` if it is no branch with one.
    #[getter]
    fn target(&self) -> PyResult<Option<u64>> {
        let insn = self.detailed()?;
        Ok(self
            .shared
            .info()
            .of(insn)
            .flow(insn)
            .target(self.address, insn))
    }

    /// The encoding's format, as VOP3.
    #[getter]
    fn format(&self) -> PyResult<&'static str> {
        Ok(self.detailed()?.row.format.name())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!(
            "<CsInsn: address={:#x}, size={}, mnemonic={}, op_str={}>",
            self.address,
            self.size(),
            self.mnemonic.bind(py),
            self.operands.bind(py)
        )
    }

    fn __str__(&self, py: Python<'_>) -> String {
        let text = format!("{} {}", self.mnemonic.bind(py), self.operands.bind(py));
        text.trim_end().to_owned()
    }
}

/// An operand.
#[pyclass(module = "gcn", frozen, get_all)]
#[derive(Clone)]
pub struct CsOp {
    /// `CS_OP_REG`, `CS_OP_IMM` or `CS_OP_FP`.
    #[pyo3(name = "type")]
    kind: u32,
    /// The first register's number.
    reg: u32,
    /// The value of an immediate or literal, or the bits of a float.
    imm: i64,
    /// The value of a float.
    fp: f64,
    /// `CS_AC_READ`, `CS_AC_WRITE`, or both.
    access: u32,
    /// Registers of 32 bits.
    count: u8,
    /// Bytes.
    size: u32,
    /// As it is printed.
    text: String,
    /// Its role in the encoding: `vdst`, `src0`, …
    role: String,
}

#[pymethods]
impl CsOp {
    /// The value of an immediate.
    #[getter]
    fn value(&self) -> i64 {
        self.imm
    }

    fn __repr__(&self) -> String {
        format!("<CsOp: {} ({})>", self.text, self.role)
    }
}

/// An assembler, in the shape of keystone's.
///
/// >>> import gcn
/// >>> gcn.Ks("gfx900").asm("s_mov_b32 s0, 1; s_endpgm")
/// (b'\x81\x00\x80\xbe\x00\x00\x81\xbf', 2)
#[pyclass(module = "gcn", subclass)]
pub struct Ks {
    target: Target,
    syntax: gcn::asm::Syntax,
    /// Broken operand rules are not errors.
    #[pyo3(get, set)]
    permissive: bool,
}

#[pymethods]
impl Ks {
    /// `arch` is a target, `gfx600` to `gfx90c`, or a chip's name; `mode` is 0.
    #[new]
    #[pyo3(signature = (arch, mode = 0))]
    fn new(arch: &str, mode: u32) -> PyResult<Ks> {
        if mode != 0 {
            return Err(Told::new("usage", "the mode is not 0")
                .class("KsError")
                .into());
        }
        Ok(Ks {
            target: target(arch)?,
            syntax: gcn::asm::Syntax::Llvm,
            permissive: false,
        })
    }

    /// "llvm" (the default), "clrx" or "auto".
    #[getter]
    fn syntax(&self) -> &'static str {
        match self.syntax {
            gcn::asm::Syntax::Auto => "auto",
            gcn::asm::Syntax::Llvm => "llvm",
            gcn::asm::Syntax::Clrx => "clrx",
        }
    }

    #[setter]
    fn set_syntax(&mut self, name: &str) -> PyResult<()> {
        self.syntax = match name {
            "auto" => gcn::asm::Syntax::Auto,
            "llvm" => gcn::asm::Syntax::Llvm,
            "clrx" => gcn::asm::Syntax::Clrx,
            _ => {
                let message = format!("`{name}` is no syntax: expected llvm, clrx or auto");
                return Err(Told::new("usage", message).class("KsError").into());
            }
        };
        Ok(())
    }

    /// Assembles instructions separated by `;` or line breaks. Returns the bytes and the number of statements. Code of GCN does not
    /// depend on its address, so `addr` changes nothing; `as_bytes` is accepted as in keystone.
    #[pyo3(signature = (string, addr = 0, as_bytes = true))]
    fn asm<'py>(
        &self,
        py: Python<'py>,
        string: &Bound<'_, PyAny>,
        addr: u64,
        as_bytes: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = (addr, as_bytes);
        let text = match string.extract::<String>() {
            Ok(text) => text,
            Err(_) => String::from_utf8_lossy(&bytes(string)?).into_owned(),
        };
        let (target, syntax, permissive) = (self.target, self.syntax, self.permissive);
        let made = py.detach(|| gcn::asm::snippet(target, &text, syntax, permissive));
        let made = made.map_err(|d| Told::of_diagnostics(&d).class("KsError"))?;
        let decoder = Decoder::new(target);
        let (mut at, mut count) = (0, 0usize);
        while at < made.len() {
            at += decoder.decode(&made[at..]).map_or(4, |i| i.len as usize);
            count += 1;
        }
        (PyBytes::new(py, &made), count).into_pyobject(py)
    }
}

/// Adds the constants of capstone's names.
pub fn constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for (id, name) in GROUPS {
        module.add(format!("CS_GRP_{}", name.to_uppercase()), id)?;
    }
    let numbers = PyDict::new(module.py());
    for (name, value) in [
        ("CS_MODE_LITTLE_ENDIAN", 0u32),
        ("CS_OPT_SYNTAX_DEFAULT", 0),
        ("CS_OPT_SYNTAX_CLRX", 16),
        ("CS_OP_INVALID", 0),
        ("CS_OP_REG", OP_REG),
        ("CS_OP_IMM", OP_IMM),
        ("CS_OP_FP", OP_FP),
        ("CS_AC_READ", 1),
        ("CS_AC_WRITE", 2),
        ("CS_ERR_OK", 0),
        ("CS_ERR_ARCH", ERR_ARCH),
        ("CS_ERR_OPTION", ERR_OPTION),
        ("CS_ERR_DETAIL", ERR_DETAIL),
        ("CS_ERR_SKIPDATA", ERR_SKIPDATA),
    ] {
        numbers.set_item(name, value)?;
    }
    for (name, value) in numbers {
        module.add(name.cast::<PyString>()?, value)?;
    }
    let archs: Vec<&str> = Target::all().map(|t| t.name()).collect();
    module.add("TARGETS", PyList::new(module.py(), archs)?)
}
