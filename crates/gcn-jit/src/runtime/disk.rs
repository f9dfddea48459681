//! Compiled code on disk: a process can load regions that another one has compiled.
//!
//! A file holds one region. Its name is a hash of the request: the engine (the bytes of the program or library that contains it),
//! the target, the key, and the first bytes of the code. The file contains the region and its other dependencies, which are
//! compared with the machine. At its end is a keyed hash of everything, whose key only the user can read: a file is not used if it
//! is truncated, changed, renamed or not written with that key. An attacker who can write files as the user can run anything as the
//! user anyway.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

/// The first bytes of files. The number changes with their format.
const MAGIC: &[u8; 8] = b"gcncode1";

/// The default limit on the total size of a folder's files, in bytes. Beyond it, the least recently used files are deleted.
const MOST_BYTES: u64 = 256 << 20;

/// The maximum size of a file that is read, in bytes. Regions are smaller.
const MOST_OF_ONE: u64 = 64 << 20;

/// The modification time of a file that is read is updated if it is older than this.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// An unfinished file of this age is deleted: its writer has died.
const ABANDONED: Duration = Duration::from_secs(3600);

const HASH: usize = blake3::OUT_LEN;

/// `O_NOFOLLOW | O_NONBLOCK`: links are not followed, and opening a pipe does not block.
const FLAGS: i32 = 0o400000 | 0o4000;

/// The name of a region.
pub(crate) type Name = blake3::Hash;

/// A folder of compiled code.
pub struct Store {
    folder: PathBuf,
    key: [u8; HASH],
    most: u64,
    /// The number of bytes that may be written before the folder's size is checked again.
    room: AtomicU64,
    looked: AtomicBool,
    /// The number of regions that were loaded from the folder, and saved to it.
    found: AtomicU64,
    saved: AtomicU64,
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

/// Returns the effective user of the process.
fn user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

impl Store {
    /// Opens the folder that the environment names: GCN_CACHE, else `gcn` in XDG_CACHE_HOME, else `.cache/gcn` in the home
    /// folder. `None` if GCN_CACHE is `off` or there is no such folder.
    ///
    /// # Errors
    /// As [`Store::open`], if GCN_CACHE names a folder.
    pub fn of_user() -> io::Result<Option<Store>> {
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        match variable("GCN_CACHE") {
            Some(off) if off == "off" => return Ok(None),
            Some(folder) => return Store::open(Path::new(&folder)).map(Some),
            None => {}
        }
        let home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
        let Some(caches) = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(home) else {
            return Ok(None);
        };
        if !caches.is_absolute() {
            return Ok(None);
        }
        Ok(Store::open(&caches.join("gcn")).ok())
    }

    /// Opens a folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// If the folder can be neither read nor created, belongs to another user, or is writable by others.
    pub fn open(folder: &Path) -> io::Result<Store> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let about = fs::metadata(folder)?;
        if about.uid() != user()? {
            return Err(refused("the folder belongs to another user"));
        }
        if about.mode() & 0o022 != 0 {
            return Err(refused("others may write to the folder"));
        }
        Ok(Store {
            key: key(folder)?,
            folder: folder.into(),
            most: MOST_BYTES,
            room: AtomicU64::new(0),
            looked: AtomicBool::new(false),
            found: AtomicU64::new(0),
            saved: AtomicU64::new(0),
        })
    }

    /// Returns the store with a limit of about `bytes` bytes for all files.
    pub fn holding(self, bytes: u64) -> Store {
        Store {
            most: bytes,
            ..self
        }
    }

    /// Returns the number of regions that were loaded from the folder, and the number that were saved to it.
    pub fn counts(&self) -> (u64, u64) {
        (self.found.load(Relaxed), self.saved.load(Relaxed))
    }

    /// Counts a region that was loaded.
    pub(crate) fn found(&self) {
        self.found.fetch_add(1, Relaxed);
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.folder.join(name.to_hex().as_str())
    }

    /// Returns the contents saved under a name, if the file is intact.
    pub(crate) fn load(&self, name: &Name) -> Option<Vec<u8>> {
        let file = private(&self.path(name)).ok()?;
        let about = file.metadata().ok()?;
        if about.len() > MOST_OF_ONE {
            return None;
        }
        let mut bytes = Vec::with_capacity(about.len() as usize);
        (&file).take(MOST_OF_ONE).read_to_end(&mut bytes).ok()?;
        let rest = self.checked(name, &bytes)?.len();
        if about.modified().ok()?.elapsed().is_ok_and(|t| t > STALE) {
            // The modification time shows which files are in use when old files are deleted.
            let _ = file.set_modified(SystemTime::now());
        }
        bytes.truncate(bytes.len() - HASH);
        Some(bytes.split_off(bytes.len() - rest))
    }

    /// Returns the contents of a file between its header and its hash, if the file is valid.
    fn checked<'a>(&self, name: &Name, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
        let hash: [u8; HASH] = hash.try_into().ok()?;
        // This comparison takes constant time.
        if blake3::keyed_hash(&self.key, content) != hash {
            return None;
        }
        let rest = content.strip_prefix(MAGIC)?;
        rest.strip_prefix(name.as_bytes())
    }

    /// Saves contents under a name. Errors are ignored.
    pub(crate) fn save(&self, name: &Name, payload: &[u8]) {
        let mut bytes = Vec::with_capacity(MAGIC.len() + 2 * HASH + payload.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(payload);
        let hash = blake3::keyed_hash(&self.key, &bytes);
        bytes.extend_from_slice(hash.as_bytes());
        let size = bytes.len() as u64;
        if size > MOST_OF_ONE.min(self.most) || !self.make_room(size) {
            return;
        }
        if replace(&self.folder, &self.path(name), &bytes, true).is_ok() {
            self.saved.fetch_add(1, Relaxed);
        }
    }

    /// Makes room for more bytes: at the first call, and whenever an eighth of the limit has been written since.
    fn make_room(&self, bytes: u64) -> bool {
        let less = |room: u64| room.checked_sub(bytes);
        let enough = self.room.fetch_update(Relaxed, Relaxed, less).is_ok();
        if enough && self.looked.swap(true, Relaxed) {
            return true;
        }
        let Ok(held) = self.drop_stale_regions(self.most.saturating_sub(bytes)) else {
            return false;
        };
        self.looked.store(true, Relaxed);
        let room = (self.most / 8).min(self.most.saturating_sub(held + bytes));
        self.room.store(room, Relaxed);
        true
    }

    /// Deletes the least recently used files if all take more than the limit, until they take three quarters
    /// of it. Returns the remaining size.
    fn drop_stale_regions(&self, most: u64) -> io::Result<u64> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let Ok(about) = entry.metadata() else {
                continue;
            };
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| about.is_file()) else {
                continue;
            };
            let date = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.starts_with(BEGUN) && date.elapsed().is_ok_and(|age| age > ABANDONED) {
                // Another process may have deleted it already.
                let _ = fs::remove_file(entry.path());
            } else if blake3::Hash::from_hex(name).is_ok() {
                files.push((date, about.len(), entry.path()));
            }
        }
        let mut held: u64 = files.iter().map(|f| f.1).sum();
        if held > most {
            files.sort();
            for (_, bytes, path) in files {
                if held <= most / 4 * 3 {
                    break;
                }
                if fs::remove_file(path).is_ok() {
                    held -= bytes;
                }
            }
        }
        Ok(held)
    }
}

/// The prefix of the names of files that are being written.
const BEGUN: &str = "new-";

/// Opens a file that only the user can have written.
fn private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(FLAGS)
        .open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != user()? || about.mode() & 0o077 != 0 {
        return Err(refused("it is not a private file of the user"));
    }
    Ok(file)
}

/// Writes a temporary file and renames it to `path`. An existing file is replaced only if `over`.
fn replace(folder: &Path, path: &Path, bytes: &[u8], over: bool) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Relaxed);
    let new = folder.join(format!("{BEGUN}{}-{number}", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(bytes)?;
        match over {
            true => fs::rename(&new, path),
            false => fs::hard_link(&new, path),
        }
    };
    let done = write();
    if done.is_err() || !over {
        // An error here leaves a temporary file, which is deleted when it is old.
        let _ = fs::remove_file(&new);
    }
    done
}

/// Returns the key of a folder, and creates it if there is none.
fn key(folder: &Path) -> io::Result<[u8; HASH]> {
    let path = folder.join("key");
    let mut key = [0; HASH];
    if !path.try_exists()? {
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        match replace(folder, &path, &key, false) {
            // Another process may have created the key in the meantime. Its key is used.
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
    }
    let file = private(&path)?;
    if file.metadata()?.len() != HASH as u64 {
        return Err(refused("the key has another size"));
    }
    (&file).read_exact(&mut key)?;
    Ok(key)
}

/// Returns a hash that identifies the build of the program or library that contains this code.
pub(crate) fn build() -> Option<&'static [u8; HASH]> {
    static BUILD: OnceLock<Option<[u8; HASH]>> = OnceLock::new();
    BUILD
        .get_or_init(|| of_file(build as *const () as usize))
        .as_ref()
}

/// Returns the hash of the file that is mapped at an address.
fn of_file(address: usize) -> Option<[u8; HASH]> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let (line, path) = maps.lines().find_map(|line| {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let inside = (number(start)?..number(end)?).contains(&address);
        inside.then_some((line, &line[line.find('/')?..]))
    })?;
    let file = File::open(path).ok()?;
    let inode = line.split_ascii_whitespace().nth(4)?;
    if inode.parse() != Ok(file.metadata().ok()?.ino()) {
        // The file has been replaced since it was mapped.
        return None;
    }
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0).ok()?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |bytes: &[u8], at: usize, size: usize| {
        let bytes = bytes.get(at..at + size)?.iter().rev();
        Some(bytes.fold(0, |n, &b| n << 8 | b as u64))
    };
    let (table, size, count) = (
        number(&head, 32, 8)?,
        number(&head, 54, 2)?,
        number(&head, 56, 2)?,
    );
    let mut hasher = blake3::Hasher::new();
    let mut part = vec![0; 1 << 18];
    for n in 0..count {
        let mut segment = [0; 56];
        let at = table.checked_add(n * size)?;
        file.read_exact_at(&mut segment, at).ok()?;
        if number(&segment, 0, 4)? != 1 {
            continue;
        }
        hasher.update(&segment);
        let (mut at, mut left) = (number(&segment, 8, 8)?, number(&segment, 32, 8)?);
        while left > 0 {
            let bytes = left.min(part.len() as u64) as usize;
            file.read_exact_at(&mut part[..bytes], at).ok()?;
            hasher.update(&part[..bytes]);
            at += bytes as u64;
            left -= bytes as u64;
        }
    }
    Some(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("gcn-disk-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn every_change_is_seen() {
        let folder = folder("change");
        let store = Store::open(&folder).unwrap();
        let name = blake3::hash(b"one");
        let payload: Vec<u8> = (0..300u32).map(|n| n as u8).collect();
        store.save(&name, &payload);
        let path = store.path(&name);
        let good = fs::read(&path).unwrap();
        assert_eq!(store.load(&name), Some(payload.clone()));
        let write = |bytes: &[u8]| fs::write(&path, bytes).unwrap();
        for at in 0..good.len() {
            for bit in [0, 7] {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                write(&bad);
                assert_eq!(store.load(&name), None, "byte {at}");
            }
            write(&good[..at]);
            assert_eq!(store.load(&name), None, "{at} bytes");
        }
        write(&[&good[..], &[0]].concat());
        assert_eq!(store.load(&name), None);
        write(&good);
        assert_eq!(store.load(&name), Some(payload.clone()));
        // These files have another region's name, or were written with another folder's key.
        let other = blake3::hash(b"other");
        fs::copy(&path, store.path(&other)).unwrap();
        assert_eq!(store.load(&other), None);
        let second = self::folder("second");
        let foreign = Store::open(&second).unwrap();
        fs::copy(&path, foreign.path(&name)).unwrap();
        assert_eq!(foreign.load(&name), None);
        // The folder's key has not changed.
        assert_eq!(Store::open(&folder).unwrap().load(&name), Some(payload));
        for folder in [folder, second] {
            fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn files_that_others_could_have_written_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder("others");
        let store = Store::open(&folder).unwrap();
        let name = blake3::hash(b"one");
        store.save(&name, b"text");
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        let path = store.path(&name);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        for bad in [0o604, 0o620, 0o640, 0o602] {
            mode(&path, bad).unwrap();
            assert_eq!(store.load(&name), None);
        }
        mode(&path, 0o600).unwrap();
        assert!(store.load(&name).is_some());
        // A link is refused, even to a good file.
        let aside = folder.join("aside");
        fs::rename(&path, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        assert_eq!(store.load(&name), None);
        mode(&folder, 0o770).unwrap();
        assert!(Store::open(&folder).is_err());
        mode(&folder, 0o700).unwrap();
        mode(&folder.join("key"), 0o644).unwrap();
        assert!(Store::open(&folder).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_keeps_its_size() {
        let folder = folder("size");
        let store = Store::open(&folder).unwrap().holding(20_000);
        let name = |n: u32| blake3::hash(&n.to_le_bytes());
        for n in 0..200 {
            store.save(&name(n), &[n as u8; 900]);
            let bytes: u64 = fs::read_dir(&folder)
                .unwrap()
                .map(|f| f.unwrap().metadata().unwrap().len())
                .sum();
            assert!(bytes <= 20_000 + HASH as u64, "{bytes}");
        }
        assert!(store.load(&name(199)).is_some());
        assert!(store.load(&name(0)).is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_build_has_a_hash() {
        let build = build().expect("tests are ELF files");
        // Another mapped file, a shared object of the C library, has another hash.
        let libc = fs::read_to_string("/proc/self/maps").unwrap();
        let libc = libc.lines().find(|l| l.contains("libc")).unwrap();
        let at = usize::from_str_radix(libc.split('-').next().unwrap(), 16).unwrap();
        assert_ne!(of_file(at).as_ref(), Some(build));
    }
}
