//! Code objects: readers, executables, and their symbols.

use crate::agent::{GPU, is_gpu};
use crate::report;
use crate::runtime::{self, Runtime};
use crate::signal::lock;
use crate::status::{Status, code};
use crate::types::{Handle, items, put};
use gcn_emu::dispatch::{LoadError, Loaded};
use gcn_object::read::{CodeObject, Kernel};
use gcn_object::{Binding, SymbolKind, SymbolSection};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A kernel in memory.
pub struct Placed {
    pub kernel: Kernel,
    /// The difference between addresses in memory and in the file.
    pub base: u64,
    /// The file, if it is needed later: launches are recorded or traced, or it has line tables.
    pub file: Option<Arc<[u8]>>,
    /// The variables of the code object, if launches are recorded.
    pub variables: Arc<[Variable]>,
}

/// A global variable in memory.
#[derive(Clone)]
pub struct Variable {
    pub name: String,
    pub at: u64,
    pub bytes: u64,
}

/// The variables in writable memory, which a program or a kernel can change.
fn variables(object: &CodeObject, base: u64) -> Vec<Variable> {
    let writable = |s: &gcn_object::read::Symbol| match s.section {
        SymbolSection::Index(n) => object.sections.get(n).is_some_and(|s| s.flags.write()),
        _ => false,
    };
    let mut list: Vec<Variable> = Vec::new();
    for symbol in object.dynamic_symbols.iter().chain(&object.symbols) {
        let data = symbol.kind == SymbolKind::Object && !symbol.name.ends_with(".kd");
        let known = list.iter().any(|v| v.name == symbol.name);
        if writable(symbol) && data && symbol.size > 0 && !known {
            list.push(Variable {
                name: symbol.name.clone(),
                at: base.wrapping_add(symbol.address),
                bytes: symbol.size,
            });
        }
    }
    list
}

/// A symbol of an executable.
struct Symbol {
    name: String,
    address: u64,
    size: u64,
    kernel: Option<Arc<Placed>>,
    global: bool,
}

/// A code object of an executable.
pub struct Object {
    pub loaded: Loaded,
    pub bytes: u64,
    /// The file that it was loaded from: its address in the program, and its bytes.
    pub file: (u64, u64),
}

/// An executable.
#[derive(Default)]
pub struct Executable {
    frozen: bool,
    pub objects: Vec<(Handle, Arc<Object>)>,
    symbols: HashMap<String, Handle>,
    /// The variables defined by the program.
    defined: HashMap<String, u64>,
}

/// All executables and readers of the process.
#[derive(Default)]
pub struct Executables {
    next: AtomicU64,
    /// The code of readers: its address and bytes.
    readers: Mutex<HashMap<Handle, (usize, usize)>>,
    pub list: Mutex<HashMap<Handle, Executable>>,
    symbols: Mutex<HashMap<Handle, Arc<Symbol>>>,
    /// Kernels by the address of the descriptor, which packets contain.
    kernels: RwLock<HashMap<u64, Arc<Placed>>>,
}

impl Executables {
    fn number(&self) -> Handle {
        self.next.fetch_add(1, Relaxed) + 1
    }

    /// Returns the kernel with a descriptor at an address.
    pub fn kernel(&self, object: u64) -> Option<Arc<Placed>> {
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        kernels.get(&object).cloned()
    }

    /// The files of the loaded code that are kept, each with the difference of its addresses.
    pub fn files(&self) -> Vec<(u64, Arc<[u8]>)> {
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        let mut files: Vec<(u64, Arc<[u8]>)> = (kernels.values())
            .filter_map(|placed| Some((placed.base, placed.file.clone()?)))
            .collect();
        files.sort_by_key(|file| file.0);
        files.dedup_by_key(|file| file.0);
        files
    }
}

/// Returns the manual's status for an error of loading, and reports the error on standard error.
fn explain(error: &LoadError) -> Status {
    report::line(&format!("a code object cannot be loaded: {error}"));
    match error {
        LoadError::Target { .. } => Status::IncompatibleArguments,
        LoadError::Memory(_) => Status::OutOfResources,
        LoadError::Object(gcn_object::Error::Relocation { .. }) => Status::VariableUndefined,
        _ => Status::InvalidCodeObject,
    }
}

impl Runtime {
    /// Loads a code object into an executable. Returns its handle.
    fn load(
        &self,
        executable: Handle,
        file: (usize, usize),
        bytes: &[u8],
    ) -> Result<Handle, Status> {
        let object = CodeObject::parse(bytes).map_err(|e| explain(&LoadError::Object(e)))?;
        let mut list = lock(&self.executables.list);
        let entry = list.get_mut(&executable);
        let entry = entry.ok_or(Status::InvalidExecutable)?;
        if entry.frozen {
            return Err(Status::FrozenExecutable);
        }
        let defined = |name: &str| entry.defined.get(name).copied();
        let loaded = self.gpu.load_with(&object, defined);
        let loaded = loaded.map_err(|e| explain(&e))?;
        let base = loaded.base;
        let keeps = self.launches.looks_at_files() || object.section(".debug_line").is_some();
        let kept: Option<Arc<[u8]>> = keeps.then(|| bytes.into());
        let variables: Arc<[Variable]> = match self.launches.records() {
            true => variables(&object, base).into(),
            false => Arc::default(),
        };
        let mut symbols = Vec::new();
        let mut kernels = self
            .executables
            .kernels
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for kernel in &loaded.kernels {
            let placed = Arc::new(Placed {
                kernel: kernel.clone(),
                base,
                file: kept.clone(),
                variables: variables.clone(),
            });
            let address = base.wrapping_add(kernel.descriptor_address);
            kernels.insert(address, placed.clone());
            let name = match kernel.kernel_code {
                Some(_) => kernel.name.clone(),
                None => format!("{}.kd", kernel.name),
            };
            symbols.push(Symbol {
                name,
                address,
                size: 64,
                kernel: Some(placed),
                global: true,
            });
        }
        drop(kernels);
        for symbol in &object.dynamic_symbols {
            let here = !matches!(
                symbol.section,
                SymbolSection::Undefined | SymbolSection::Absolute
            );
            if here && symbol.kind == SymbolKind::Object && !symbol.name.ends_with(".kd") {
                symbols.push(Symbol {
                    name: symbol.name.clone(),
                    address: base.wrapping_add(symbol.address),
                    size: symbol.size,
                    kernel: None,
                    global: symbol.binding != Binding::Local,
                });
            }
        }
        let mut all = lock(&self.executables.symbols);
        for symbol in symbols {
            let handle = self.executables.number();
            entry.symbols.insert(symbol.name.clone(), handle);
            all.insert(handle, Arc::new(symbol));
        }
        let handle = self.executables.number();
        let own = Object {
            bytes: self.memory().region_of(base).map_or(0, |r| r.1),
            loaded,
            file: (file.0 as u64, file.1 as u64),
        };
        entry.objects.push((handle, Arc::new(own)));
        Ok(handle)
    }

    fn unload(&self, executable: Handle) -> Result<(), Status> {
        let removed = lock(&self.executables.list).remove(&executable);
        let removed = removed.ok_or(Status::InvalidExecutable)?;
        let mut symbols = lock(&self.executables.symbols);
        for handle in removed.symbols.values() {
            symbols.remove(handle);
        }
        drop(symbols);
        let mut kernels = self
            .executables
            .kernels
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for (_, object) in &removed.objects {
            for kernel in &object.loaded.kernels {
                let address = object.loaded.base.wrapping_add(kernel.descriptor_address);
                kernels.remove(&address);
            }
            // It was loaded, and this is the only place that unloads it.
            let _ = self.gpu.unload(&object.loaded);
        }
        Ok(())
    }
}

/// # Safety
/// The caller follows the manual; this applies to all functions of the interface. The code stays until the reader is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_code_object_reader_create_from_memory(
    object: *const c_void,
    size: usize,
    reader: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        if object.is_null() || size == 0 {
            return Err(Status::InvalidArgument);
        }
        let handle = r.executables.number();
        let location = (object.expose_provenance(), size);
        lock(&r.executables.readers).insert(handle, location);
        // SAFETY: guaranteed by the caller.
        unsafe { put(reader.cast(), handle) }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_code_object_reader_destroy(reader: Handle) -> u32 {
    code(runtime::get().and_then(|r| {
        let found = lock(&r.executables.readers).remove(&reader);
        found.map(|_| ()).ok_or(Status::InvalidReader)
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_executable_create_alt(
    _profile: u32,
    _rounding: u32,
    _options: *const c_char,
    executable: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let handle = r.executables.number();
        lock(&r.executables.list).insert(handle, Executable::default());
        // SAFETY: guaranteed by the caller.
        unsafe { put(executable.cast(), handle) }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_executable_destroy(executable: Handle) -> u32 {
    code(runtime::get().and_then(|r| r.unload(executable)))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_executable_freeze(executable: Handle, _options: *const c_char) -> u32 {
    code(runtime::get().and_then(|r| {
        let mut list = lock(&r.executables.list);
        let entry = list.get_mut(&executable);
        let entry = entry.ok_or(Status::InvalidExecutable)?;
        match std::mem::replace(&mut entry.frozen, true) {
            true => Err(Status::FrozenExecutable),
            false => Ok(()),
        }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_executable_load_agent_code_object(
    executable: Handle,
    agent: Handle,
    reader: Handle,
    _options: *const c_char,
    object: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        if !is_gpu(agent)? {
            return Err(Status::InvalidAgent);
        }
        let location = lock(&r.executables.readers).get(&reader).copied();
        let (at, size) = location.ok_or(Status::InvalidReader)?;
        let at: *const u8 = std::ptr::with_exposed_provenance(at);
        // SAFETY: the program guaranteed it when it created the reader.
        let bytes = unsafe { items(at, size)? };
        let loaded = r.load(executable, (at.addr(), size), bytes)?;
        match object.is_null() {
            true => Ok(()),
            // SAFETY: guaranteed by the caller.
            false => unsafe { put(object.cast(), loaded) },
        }
    }))
}

/// Returns a name passed by the program.
///
/// # Safety
/// `name` is null or a text with a terminating zero.
unsafe fn name(text: *const c_char) -> Result<String, Status> {
    if text.is_null() {
        return Err(Status::InvalidArgument);
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(text.to_string_lossy().into_owned())
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_executable_agent_global_variable_define(
    executable: Handle,
    _agent: Handle,
    variable: *const c_char,
    address: *mut c_void,
) -> u32 {
    code(runtime::get().and_then(|r| {
        // SAFETY: guaranteed by the caller.
        let variable = unsafe { name(variable)? };
        let mut list = lock(&r.executables.list);
        let entry = list.get_mut(&executable);
        let entry = entry.ok_or(Status::InvalidExecutable)?;
        if entry.frozen {
            return Err(Status::FrozenExecutable);
        }
        let at = address.expose_provenance() as u64;
        match entry.defined.insert(variable, at) {
            Some(_) => Err(Status::VariableDefined),
            None => Ok(()),
        }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_executable_get_symbol_by_name(
    executable: Handle,
    symbol: *const c_char,
    _agent: *const Handle,
    found: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        // SAFETY: guaranteed by the caller.
        let wanted = unsafe { name(symbol)? };
        let list = lock(&r.executables.list);
        let entry = list.get(&executable).ok_or(Status::InvalidExecutable)?;
        let handle = entry.symbols.get(&wanted);
        let handle = *handle.ok_or(Status::InvalidSymbolName)?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(found.cast(), handle) }
    }))
}

/// # Safety
/// There is room for the attribute's value.
unsafe fn symbol_info(symbol: &Symbol, attribute: u32, value: *mut c_void) -> Result<(), Status> {
    macro_rules! answer {
        ($value:expr) => {
            // SAFETY: guaranteed by the caller.
            unsafe { put(value, $value) }
        };
    }
    let kernel = symbol.kernel.as_ref().map(|p| &p.kernel);
    let metadata = kernel.and_then(|k| k.metadata.as_ref());
    match (attribute, kernel) {
        (0, _) => answer!(kernel.is_some() as u32),
        (1, _) => answer!(symbol.name.len() as u32),
        // SAFETY: guaranteed by the caller, who has asked for the length; the text has no terminating zero.
        (2, _) => unsafe {
            value
                .cast::<u8>()
                .copy_from_nonoverlapping(symbol.name.as_ptr(), symbol.name.len());
            Ok(())
        },
        (3, _) => answer!(0u32),
        (4, _) => Ok(()),
        (5, _) => answer!(symbol.global as u32),
        (17, _) => answer!(true),
        (20, _) => answer!(GPU),
        (6, None) => answer!(0u32),
        (7, None) => answer!(0u32),
        (8, None) => answer!(0u32),
        (9, None) => answer!(symbol.size as u32),
        (10, None) => answer!(false),
        (21, None) => answer!(symbol.address),
        (22, Some(_)) => answer!(symbol.address),
        (11, Some(k)) => {
            let said = metadata.map_or(0, |m| m.kernarg_segment_size);
            answer!(said.max(k.descriptor.kernarg_size as u64) as u32)
        }
        (12, Some(_)) => answer!(metadata.map_or(16, |m| m.kernarg_segment_align).max(16) as u32),
        (13, Some(k)) => answer!(k.descriptor.group_segment_fixed_size),
        (14, Some(k)) => answer!(k.descriptor.private_segment_fixed_size),
        (15, Some(_)) => answer!(metadata.is_some_and(|m| m.uses_dynamic_stack)),
        (18, Some(_)) => answer!(0u32),
        _ => Err(Status::InvalidArgument),
    }
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_executable_symbol_get_info(
    symbol: Handle,
    attribute: u32,
    value: *mut c_void,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let found = lock(&r.executables.symbols).get(&symbol).cloned();
        let found = found.ok_or(Status::InvalidSymbol)?;
        if value.is_null() {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { symbol_info(&found, attribute, value) }
    }))
}
