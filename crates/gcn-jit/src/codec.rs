//! Serialization of regions to bytes for the disk cache.

/// A `Hasher` that feeds its input to the hash of a name.
pub(crate) struct Naming(pub blake3::Hasher);

impl std::hash::Hasher for Naming {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the name is the whole hash")
    }
}

/// Bytes being written.
#[derive(Default)]
pub(crate) struct Out(pub Vec<u8>);

impl Out {
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }

    pub fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Out, &T)) {
        self.u32(list.len() as u32);
        for item in list {
            each(self, item);
        }
    }
}

/// Bytes being read.
pub(crate) struct In<'a>(pub &'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.take(count as usize)
    }

    pub fn list<T>(&mut self, mut each: impl FnMut(&mut In<'a>) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()? as usize;
        // Each item takes at least one byte.
        if count > self.0.len() {
            return None;
        }
        (0..count).map(|_| each(self)).collect()
    }
}
