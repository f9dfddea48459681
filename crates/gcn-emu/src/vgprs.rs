//! The VGPRs of a wave, aligned for vector loads and stores of the host: 16 lanes never cross a cache line.

use crate::wave::LANES;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, which is also the size of the widest vector register.
const LINE: usize = 64;

/// The storage of the registers: in a guarded build it ends at inaccessible pages.
#[cfg(feature = "guarded")]
type Words = crate::mem::Guarded<u32>;
#[cfg(not(feature = "guarded"))]
type Words = Vec<u32>;

/// Zeros, with room to align the beginning to a cache line.
#[cfg(feature = "guarded")]
fn zeros(count: usize) -> Words {
    Words::new(count)
}
#[cfg(not(feature = "guarded"))]
fn zeros(count: usize) -> Words {
    vec![0; count + LINE / 4]
}

/// VGPRs: a slice of registers, each with one value per lane, that begins at a multiple of 64 bytes.
#[derive(Default)]
pub struct Vgprs {
    /// The registers, with the unused rest of a cache line before and after them.
    words: Words,
    /// The index of the first register's word.
    first: usize,
    count: usize,
}

impl Vgprs {
    /// `count` VGPRs, all zero.
    pub fn new(count: usize) -> Vgprs {
        let words = zeros(count * LANES);
        // The storage has at least the alignment of its elements. If `align_offset` cannot tell, any offset will do.
        let first = words.as_ptr().align_offset(LINE);
        let first = if first < LINE / 4 { first } else { 0 };
        Vgprs {
            words,
            first,
            count,
        }
    }
}

impl Deref for Vgprs {
    type Target = [[u32; LANES]];

    #[inline]
    fn deref(&self) -> &[[u32; LANES]] {
        let end = self.first + self.count * LANES;
        self.words[self.first..end].as_chunks().0
    }
}

impl DerefMut for Vgprs {
    #[inline]
    fn deref_mut(&mut self) -> &mut [[u32; LANES]] {
        let end = self.first + self.count * LANES;
        self.words[self.first..end].as_chunks_mut().0
    }
}

impl Clone for Vgprs {
    fn clone(&self) -> Vgprs {
        let mut new = Vgprs::new(self.count);
        new.copy_from_slice(self);
        new
    }

    fn clone_from(&mut self, from: &Vgprs) {
        if self.count == from.count {
            self.copy_from_slice(from);
        } else {
            *self = from.clone();
        }
    }
}

impl PartialEq for Vgprs {
    fn eq(&self, other: &Vgprs) -> bool {
        **self == **other
    }
}

impl Eq for Vgprs {}

impl fmt::Debug for Vgprs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'a> IntoIterator for &'a Vgprs {
    type Item = &'a [u32; LANES];
    type IntoIter = std::slice::Iter<'a, [u32; LANES]>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Vgprs {
    type Item = &'a mut [u32; LANES];
    type IntoIter = std::slice::IterMut<'a, [u32; LANES]>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begin_at_a_line_wherever_they_are() {
        for count in [1, 24, 256] {
            let mut a = Vgprs::new(count);
            a[count - 1][63] = 7;
            let b = a.clone();
            let mut c = Vgprs::new(3);
            c.clone_from(&b);
            for v in [&a, &b, &c] {
                assert_eq!(v.as_ptr().align_offset(LINE), 0);
                assert_eq!((v.len(), v[count - 1][63]), (count, 7));
            }
            assert!(a == b && b == c);
            c[0][0] = 1;
            assert!(c != b);
        }
    }
}
