//! Parses blocks from the text that [`print`](super::print) writes, for tests of passes.
//!
//! Values with a slow path, wave helpers and the results of passes cannot be parsed: tests construct them.

use super::affine::Trust;
use super::print::{ROUNDINGS, space_name};
use super::region::{AssumedCompare, Block, FpEnv, IndexedWrite, LiveLanes, Store, Terminator};
use super::{Id, Inst, Node};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::shape::Ty;

/// The operations of [`Inst::Alu`], except the one with a constant.
const ALU: [Op; 42] = [
    Op::Not,
    Op::Neg,
    Op::Abs,
    Op::Rev,
    Op::Popcount,
    Op::Clz,
    Op::Ctz,
    Op::Zext,
    Op::Sext,
    Op::Trunc,
    Op::IntToFloat,
    Op::FloatToInt,
    Op::FloatToFloat,
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::MulHi,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Shl,
    Op::Shr,
    Op::Min,
    Op::Max,
    Op::Eq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::Gt,
    Op::Ge,
    Op::Unord,
    Op::Class,
    Op::Select,
    Op::Fma,
    Op::Mad,
    Op::Div,
    Op::Sqrt,
    Op::Ldexp,
    Op::Floor,
    Op::Ceil,
    Op::RoundZero,
    Op::RoundEven,
];

const TYPES: [Ty; 15] = [
    Ty::Bool,
    Ty::B8,
    Ty::B16,
    Ty::I16,
    Ty::U16,
    Ty::F16,
    Ty::B32,
    Ty::I32,
    Ty::U32,
    Ty::F32,
    Ty::B64,
    Ty::I64,
    Ty::U64,
    Ty::F64,
    Ty::Mask,
];

/// The words of a line, `,` and `:` taken as spaces.
struct Words<'a>(std::vec::IntoIter<&'a str>);

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Words<'a> {
        let words = text.split([' ', ',']).filter(|w| !w.is_empty());
        Words(words.collect::<Vec<_>>().into_iter())
    }

    fn next(&mut self) -> Result<&'a str, String> {
        self.0
            .next()
            .ok_or_else(|| "the line ends too early".into())
    }

    fn number(&mut self) -> Result<i64, String> {
        number(self.next()?)
    }

    fn id(&mut self) -> Result<Id, String> {
        id(self.next()?)
    }

    fn ids(&mut self) -> Result<Vec<Id>, String> {
        self.0.by_ref().map(id).collect()
    }
}

fn number(word: &str) -> Result<i64, String> {
    let bad = || format!("`{word}` is not a number");
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).map(|v| v as i64),
        None => word.parse(),
    }
    .map_err(|_| bad())
}

fn id(word: &str) -> Result<Id, String> {
    let digits = word.strip_prefix('%');
    let id = digits.and_then(|d| d.parse().ok());
    id.ok_or_else(|| format!("`{word}` is not a value"))
}

fn ty(word: &str) -> Result<Ty, String> {
    let is = |t: &&Ty| format!("{t:?}").to_lowercase() == word;
    let found = TYPES.iter().find(is).copied();
    found.ok_or_else(|| format!("`{word}` is not a type"))
}

fn sgpr(word: &str) -> Result<u8, String> {
    Ok(match word {
        "vcc_lo" => 106,
        "vcc_hi" => 107,
        "m0" => 124,
        "exec_lo" => 126,
        "exec_hi" => 127,
        _ => {
            let digits = word.strip_prefix('s').and_then(|d| d.parse().ok());
            digits.ok_or_else(|| format!("`{word}` is not a scalar register"))?
        }
    })
}

fn vgpr(word: &str) -> Result<u16, String> {
    let digits = word.strip_prefix('v').and_then(|d| d.parse().ok());
    digits.ok_or_else(|| format!("`{word}` is not a VGPR"))
}

fn space(name: &str) -> Result<Space, String> {
    let all = [Space::Global, Space::Flat, Space::Lds];
    let found = all.into_iter().find(|&s| space_name(s) == name);
    found.ok_or_else(|| format!("`{name}` is not an address space"))
}

fn elements(word: &str) -> Result<(u8, u8), String> {
    let (count, bytes) = word.split_once('x').ok_or("expected COUNTxBYTES")?;
    Ok((number(count)? as u8, number(bytes)? as u8))
}

/// Parses a value's line after its number.
fn node(text: &str) -> Result<Node, String> {
    let (text, class) = text.rsplit_once(" : ").ok_or("expected ` : TYPE`")?;
    let (vec, out) = match class.strip_prefix("lanes ") {
        Some(out) => (true, ty(out)?),
        None => (false, ty(class)?),
    };
    let mut words = Words::of(text);
    let name = words.next()?;
    let mut of = out;
    let op = match name {
        "const" => Inst::Const(words.number()? as u64),
        "vgpr" => Inst::VIn(vgpr(words.next()?)?),
        "sgpr" => Inst::SIn(sgpr(words.next()?)?),
        "scc" => Inst::SccIn,
        "lane" => Inst::Lane,
        "exec" => Inst::Exec,
        "pair" => Inst::Pair,
        "lo" => Inst::Lo,
        "hi" => Inst::Hi,
        "read_lane" => Inst::LaneIn(vgpr(words.next()?)?),
        "read_lanes" => Inst::LanesIn(vgpr(words.next()?)?),
        "vgpr_at" => Inst::VgprAt,
        "shuffle" => Inst::Shuffle(words.number()? as u64),
        "cycle" => Inst::Cycle,
        "mask_of" => Inst::MaskOf,
        "ballot" => Inst::Ballot,
        "shld" => Inst::Shld(words.number()? as u8),
        "shrd" => Inst::Shrd(words.number()? as u8),
        "shr_lane" => Inst::ShrLane,
        "part" => Inst::Part(words.number()? as u8),
        "load.row" => Inst::Row(words.number()? as i32),
        "load.scalar" => Inst::SLoad {
            count: elements(words.next()?)?.0,
            offset: words.number()? as i32,
        },
        _ => {
            let (name, rest) = name
                .split_once('.')
                .ok_or(format!("`{name}` is not a value"))?;
            if name == "load" {
                let (count, bytes) = elements(words.next()?)?;
                Inst::Group {
                    space: space(rest)?,
                    bytes,
                    count,
                    offset: words.number()? as i32,
                }
            } else {
                of = ty(rest)?;
                let op = ALU.into_iter().find(|op| op.name() == name);
                Inst::Alu(op.ok_or(format!("`{name}` is not an operation"))?)
            }
        }
    };
    let inputs = words.ids()?;
    let mut made = Node {
        op,
        ty: of,
        out,
        vec,
        args: [0; 3],
    };
    if inputs.len() != made.arity() {
        return Err(format!("{} operands are expected", made.arity()));
    }
    made.args[..inputs.len()].copy_from_slice(&inputs);
    Ok(made)
}

fn store(space_: &str, words: &mut Words<'_>) -> Result<Store, String> {
    let bytes = words.next()?.strip_prefix('x').map(number);
    let bytes = bytes.ok_or("expected xBYTES")?? as u8;
    let offset = words.number()? as i32;
    let (lo, hi) = (words.id()?, words.id()?);
    if words.next()? != "=" {
        return Err("expected `=`".into());
    }
    Ok(Store {
        space: space(space_)?,
        lo,
        hi,
        offset,
        bytes,
        data: words.ids()?,
        in_order: false,
    })
}

fn fp(text: &str) -> Result<FpEnv, String> {
    let mut words = Words::of(text);
    let name = words.next()?;
    let round = ROUNDINGS.iter().position(|&r| r == name);
    let flags: Vec<&str> = words.0.collect();
    Ok(FpEnv {
        round: round.ok_or(format!("`{name}` is not a rounding"))? as u8,
        daz: flags.contains(&"daz"),
        ftz: flags.contains(&"ftz"),
    })
}

/// Parses a line that is not a value's.
fn line(block: &mut Block, text: &str) -> Result<(), String> {
    let mut words = Words::of(text);
    let name = words.next()?;
    let e = &mut block.effects;
    match name {
        "polls" => block.polls = true,
        "trusts" => {
            let name = words.next()?;
            let known = [Trust::Nothing, Trust::Carries];
            let found = known.into_iter().find(|trust| trust.name() == name);
            block.trust = found.ok_or("expected `carries` or `nothing`")?;
        }
        "guard" => block.guards.push(words.id()?),
        "all_active" => block.is_all_active = true,
        "skipped" => {
            let count = words.number()? as u32;
            words.next()?;
            block.skipped.push((words.id()?, count));
        }
        "assume" | "guess" => {
            let (op, of) = words.next()?.split_once('.').ok_or("expected OP.TYPE")?;
            let found = ALU.into_iter().find(|a| a.name() == op);
            let op = found.ok_or(format!("`{op}` is not an operation"))?;
            let of_ = [words.id()?, words.id()?];
            let ty = ty(of)?;
            block.assumed.push(AssumedCompare { op, ty, of: of_ });
            block.is_all_active |= name == "assume";
        }
        "jump" => block.terminator = Terminator::Jump(words.number()? as u64),
        "branch" => {
            block.terminator = Terminator::Branch {
                when: words.id()?,
                taken: words.number()? as u64,
                next: words.number()? as u64,
            }
        }
        "indirect" => {
            let to = words.id()?;
            let mut among = Vec::new();
            while let Ok(pc) = words.number() {
                among.push(pc as u64);
            }
            block.terminator = Terminator::Indirect {
                to,
                among: among.into(),
            };
        }
        "end" => block.terminator = Terminator::End,
        "barrier" => block.terminator = Terminator::Barrier,
        "leave" => block.terminator = Terminator::Leave,
        "interpret" => {
            let flags: Vec<&str> = words.0.collect();
            block.terminator = Terminator::Interpret {
                jumps: flags.contains(&"jumps"),
                alone: flags.contains(&"alone"),
            }
        }
        "store.row" => {
            let (offset, address) = (words.number()? as i32, words.id()?);
            words.next()?;
            e.rows.push((address, offset, words.id()?));
        }
        "indexed" => {
            let range = words.next()?;
            let (first, end) = range.split_once("..").ok_or("expected A..B")?;
            let (first, end) = (number(first)? as u16, number(end)? as u16);
            let number = words.id()?;
            words.next()?;
            e.indexed.push(IndexedWrite {
                number,
                value: words.id()?,
                first,
                end,
            });
        }
        _ if let Some(space) = name.strip_prefix("store.") => {
            e.store = Some(store(space, &mut words)?);
        }
        _ if let Some(space) = name.strip_prefix("deferred_store.") => {
            e.deferred_stores.push(store(space, &mut words)?);
        }
        _ if let Some((v, lane)) = name.split_once('[') => {
            let lane = id(lane.trim_end_matches(']'))?;
            words.next()?;
            e.lane_inserts.push((vgpr(v)?, lane, words.id()?));
        }
        "mode" => {
            words.next()?;
            e.mode = Some(words.number()? as u32);
        }
        _ => {
            if words.next()? != "=" {
                return Err(format!("`{name}` is not a line of a block"));
            }
            let value = words.id()?;
            match (name, vgpr(name)) {
                ("scc", _) => e.scc = Some(value),
                (_, Ok(v)) => {
                    let live = match words.next()? {
                        "none" => LiveLanes::No,
                        "active" => LiveLanes::Active,
                        _ => LiveLanes::All,
                    };
                    e.vgprs.push((v, value, live));
                }
                _ => e.sgprs.push((sgpr(name)?, value)),
            }
        }
    }
    Ok(())
}

/// Parses a block.
///
/// # Errors
/// The number of the first invalid line, and the reason.
pub fn block(text: &str) -> Result<Block, String> {
    let mut block = Block::empty(0, Terminator::Leave);
    for (number, text) in text.lines().enumerate() {
        let text = text.trim();
        let mut read = || -> Result<(), String> {
            if text.is_empty() {
                return Ok(());
            }
            if let Some(head) = text.strip_prefix("block ") {
                let (range, rest) = head.split_once(", ").ok_or("expected `, N instructions`")?;
                let (start, end) = range.split_once("..").ok_or("expected START..END")?;
                block.start = self::number(start)? as u64;
                block.end = self::number(end)? as u64;
                let (insns, env) = match rest.split_once(", fp ") {
                    Some((insns, env)) => (insns, Some(env)),
                    None => (rest, None),
                };
                let (insns, mode) = match insns.split_once(", mode ") {
                    Some((insns, mode)) => (insns, self::number(mode)?),
                    None => (insns, 0),
                };
                block.mode = mode as u32;
                block.insns = self::number(insns.trim_end_matches(" instructions"))? as u32;
                block.fp = env.map(fp).transpose()?;
                return Ok(());
            }
            if let Some((id, value)) = text.split_once(" = ")
                && id.starts_with('%')
            {
                if self::id(id)? as usize != block.graph.len() {
                    return Err(format!("%{} is expected", block.graph.len()));
                }
                block.graph.push(node(value)?);
                return Ok(());
            }
            line(&mut block, text)
        };
        read().map_err(|e| format!("line {}: {e}", number + 1))?;
    }
    Ok(block)
}
