//! Output buffers for text: the destination of printing.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A destination to which text is appended.
pub trait Sink {
    /// Appends `text`.
    fn push_str(&mut self, text: &str);

    /// Appends one character.
    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }
}

impl Sink for String {
    #[inline]
    fn push_str(&mut self, text: &str) {
        String::push_str(self, text);
    }

    #[inline]
    fn push(&mut self, c: char) {
        String::push(self, c);
    }
}

/// The maximum number of bytes of a [`Line`]: a power of two.
pub(crate) const ROOM: usize = 512;

/// The maximum length of a piece that is copied at once.
const LONGEST: usize = 64;

/// UTF-8 text in a reusable buffer. The buffer is initialised beyond the end of the text, so that pieces of fixed size can
/// be copied there before the end is moved.
#[derive(Clone, Default)]
pub struct Text {
    buffer: Vec<u8>,
    len: usize,
}

impl Text {
    /// An empty text, without a buffer yet.
    pub const fn new() -> Text {
        Text {
            buffer: Vec::new(),
            len: 0,
        }
    }

    /// An empty text with a buffer of `bytes` bytes.
    pub fn with_room(bytes: usize) -> Text {
        Text {
            buffer: vec![0; bytes],
            len: 0,
        }
    }

    /// The text, in UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes the text and keeps the buffer.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    #[inline]
    fn reserve(&mut self, more: usize) {
        if self.buffer.len() - self.len < more {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let len = (self.len + more).next_power_of_two().max(4096);
        self.buffer.resize(len, 0);
    }

    /// Appends the first `len` bytes of a piece, which are UTF-8, by a copy of the whole piece.
    #[inline(always)]
    pub fn push_some<const N: usize>(&mut self, piece: &[u8; N], len: usize) {
        self.reserve(N);
        if let Some(location) = self.buffer[self.len..].first_chunk_mut() {
            *location = *piece;
            self.len += len.min(N);
        }
    }

    /// Appends an ASCII character.
    #[inline(always)]
    fn byte(&mut self, c: u8) {
        if self.len >= self.buffer.len() {
            self.grow(1);
        }
        if let Some(location) = self.buffer.get_mut(self.len) {
            *location = c;
            self.len += 1;
        }
    }

    /// The free space after the text.
    #[inline]
    pub(crate) fn line(&mut self) -> Option<Line<'_>> {
        self.reserve(ROOM + LONGEST);
        let buffer = self.buffer[self.len..].first_chunk_mut()?;
        Some(Line { buffer, at: 0 })
    }

    /// Extends the text by `bytes` bytes that were written to [`Text::line`].
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.len = (self.len + bytes).min(self.buffer.len());
    }
}

impl Sink for Text {
    #[inline]
    fn push_str(&mut self, text: &str) {
        self.reserve(text.len());
        self.buffer[self.len..self.len + text.len()].copy_from_slice(text.as_bytes());
        self.len += text.len();
    }

    #[inline]
    fn push(&mut self, c: char) {
        if c.is_ascii() {
            self.byte(c as u8);
        } else {
            self.push_str(c.encode_utf8(&mut [0; 4]));
        }
    }
}

impl core::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// A short text that is copied with its full capacity.
#[derive(Clone, Copy)]
pub(crate) struct Piece<const N: usize> {
    pub text: [u8; N],
    pub len: u8,
}

impl<const N: usize> Piece<N> {
    pub const EMPTY: Piece<N> = Piece {
        text: [0; N],
        len: 0,
    };

    /// Returns `None` if `text` is longer than `N` bytes.
    pub fn new(text: &str) -> Option<Piece<N>> {
        let mut piece = Piece::EMPTY;
        piece
            .text
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        piece.len = text.len() as u8;
        Some(piece)
    }
}

/// A line that is being written: less than [`ROOM`] bytes. Pieces are copied with their full capacity, which
/// is faster than checking their length; the text that follows overwrites the excess.
pub(crate) struct Line<'a> {
    buffer: &'a mut [u8; ROOM + LONGEST],
    pub at: usize,
}

impl Line<'_> {
    /// Returns true if everything that was written fitted.
    #[inline(always)]
    pub fn fits(&self) -> bool {
        self.at < ROOM
    }

    /// Copies `bytes`; the first `len` of them are text.
    #[inline(always)]
    pub fn copy<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        const { assert!(N <= LONGEST) };
        // The mask keeps the index in bounds without a comparison. The contents of a longer line would be wrong: see `fits`.
        let at = self.at & (ROOM - 1);
        self.buffer[at..at + N].copy_from_slice(bytes);
        self.at += len;
    }

    #[inline(always)]
    pub fn piece<const N: usize>(&mut self, piece: &Piece<N>) {
        self.copy(&piece.text, piece.len as usize);
    }

    /// Writes a text of about the length of a register's name: it is copied byte by byte.
    #[inline]
    pub fn text(&mut self, text: &str) {
        if let Some(to) = self.buffer.get_mut(self.at..self.at + text.len()) {
            to.copy_from_slice(text.as_bytes());
        }
        self.at += text.len();
    }

    /// Writes a number in decimal.
    #[inline]
    pub fn dec(&mut self, value: u32) {
        if value >= 100_000 {
            self.dec(value / 100_000);
            self.digits(value % 100_000, 0);
        } else {
            self.digits(value, 4);
        }
    }

    /// Five digits; up to `drop` leading zeros are omitted.
    #[inline(always)]
    fn digits(&mut self, value: u32, drop: u32) {
        let (high, low) = (value / 1000, value % 1000);
        let digits = [high / 10, high % 10, low / 100, low / 10 % 10, low % 10];
        let mut packed = 0u64;
        for (n, digit) in digits.into_iter().enumerate() {
            packed |= (digit as u64) << (8 * n);
        }
        let zeros = (packed.trailing_zeros() / 8).min(drop);
        let text = (packed | 0x30_3030_3030) >> (8 * zeros);
        self.copy(&text.to_le_bytes(), 5 - zeros as usize);
    }

    /// Writes a number in hex after `0x`, without leading zeros.
    #[inline]
    pub fn hex(&mut self, value: u64) {
        self.copy(b"0x", 2);
        let (high, low) = ((value >> 32) as u32, value as u32);
        if high != 0 {
            self.nibbles(high, high.leading_zeros() / 4);
            self.nibbles(low, 0);
        } else {
            self.nibbles(low, (low | 1).leading_zeros() / 4);
        }
    }

    /// Eight hex digits without the first `drop` digits.
    #[inline(always)]
    fn nibbles(&mut self, value: u32, drop: u32) {
        let mut x = value as u64;
        x = (x | x << 16) & 0x0000_ffff_0000_ffff;
        x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
        x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        // In each byte: 1 if the digit is a letter.
        let letters = (x + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        let text = (x + 0x3030_3030_3030_3030 + letters * 0x27).swap_bytes() >> (8 * drop);
        self.copy(&text.to_le_bytes(), 8 - drop as usize);
    }
}
