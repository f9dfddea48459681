//! Instructions that name symbols defined after them. They are read at their location, with 0 for unknown symbols, to
//! get their size; and a second time when all symbols are known.

use crate::asm::Asm;
use crate::expr::SymId;
use crate::lexer::{Tok, Token};
use crate::parse::{Fail, Parser};
use gcn_isa::Target;

/// An instruction that is read a second time.
pub(crate) struct Late<'s> {
    src: &'s str,
    base: u32,
    tokens: Vec<Token>,
    location: (u32, u64),
    len: usize,
    target: Target,
    scope: usize,
    /// Its local labels, by position.
    labels: Vec<(u32, SymId)>,
}

impl<'s> Asm<'s, '_> {
    /// Stores an instruction of `len` bytes, which begins here, for the second reading.
    pub(crate) fn read_later(&mut self, tokens: &[Token], len: usize) {
        let labels = (tokens.iter())
            .filter_map(|t| match t.tok {
                Tok::LocalRef(n, forward) => {
                    let id = self.sym.local_label(n, forward)?;
                    Some((t.span.start, id))
                }
                _ => None,
            })
            .collect();
        let Some(target) = self.target else {
            return;
        };
        let late = Late {
            src: self.lexer.src,
            base: self.lexer.base,
            tokens: tokens.to_vec(),
            location: self.location(),
            len,
            target,
            scope: self.sym.scopes.as_ref().map_or(0, |s| s.location()),
            labels,
        };
        self.clrx_state.late.push(late);
    }

    /// Reads the stored instructions. All symbols are known.
    pub(crate) fn finish_late(&mut self) {
        for late in std::mem::take(&mut self.clrx_state.late) {
            if let Err(fail) = self.read_again(&late) {
                self.fail(fail);
            }
            if self.errors >= crate::asm::MAX_ERRORS {
                return;
            }
        }
    }

    fn read_again(&mut self, late: &Late<'s>) -> Result<(), Fail> {
        if let Some(scopes) = &mut self.sym.scopes {
            scopes.go_to(late.scope);
        }
        self.sym.late_labels = late.labels.iter().copied().collect();
        let insn = Parser {
            src: late.src,
            base: late.base,
            tokens: &late.tokens,
            at: 0,
            location: late.location,
            clrx: true,
            target: late.target,
            sym: &mut self.sym,
            used: &mut [0; 2],
        }
        .instruction(self.permissive);
        self.sym.late_labels.clear();
        let insn = insn?;
        if insn.len != late.len {
            let message = "the value of a symbol makes this instruction longer or shorter";
            let fail = Fail::new(late.tokens[0].span, message);
            return Err(fail.help("the symbol is defined after it; define it before"));
        }
        let (section, offset) = late.location;
        let section = &mut self.sections[section as usize];
        let at = offset as usize;
        if let Some(location) = section.data.get_mut(at..at + insn.len) {
            location.copy_from_slice(&insn.bytes[..insn.len]);
        }
        Ok(())
    }
}
