//! Arguments of launches: Python's objects as the machine's arguments, and arrays there and back.

use crate::error::Told;
use crate::gpu::{Buffer, Local, plain};
use gcn::data::{Number, Ty};
use gcn::object::metadata::{Arg as Parameter, ValueKind};
use gcn::{Arg, parameter};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyTuple};

/// An array of the caller.
struct Array {
    view: PyUntypedBuffer,
    /// The number of the argument.
    index: usize,
    /// Its memory.
    start: usize,
    bytes: usize,
    /// The region that has its copy, and the offset there.
    region: usize,
    offset: usize,
    elements: Option<Ty>,
}

/// The arguments of a launch. Arrays that overlap in the caller's memory do so in the GPU's.
pub struct Passed {
    /// In the kernel's order.
    pub args: Vec<Arg>,
    arrays: Vec<Array>,
    regions: Vec<gcn::Buffer<u8>>,
}

fn wrong(index: usize, parameter: Option<&Parameter>, what: &str) -> Told {
    let described = parameter.map(|p| format!(" ({})", parameter::describe(p)));
    let described = described.unwrap_or_default();
    Told::new("argument", format!("argument {index}{described}: {what}")).with("argument", index)
}

/// An error's advice in Python's words.
pub fn advised(error: gcn::Error) -> gcn::Error {
    use gcn::Error;
    use gcn::gpu::Mismatch;
    match error {
        Error::ArgumentCount {
            kernel,
            takes,
            given,
            ..
        } => Error::ArgumentCount {
            kernel,
            takes,
            given,
            write: String::new(),
        },
        Error::Argument {
            index,
            parameter,
            mismatch,
            ..
        } => {
            let write = match &mismatch {
                Mismatch::Elements { expected, .. } => format!(
                    "array.astype({:?}), or any_type=True, which passes the bytes as they are",
                    expected.numpy()
                ),
                Mismatch::Type { expected, .. } => format!("numpy.{}(value)", expected.numpy()),
                Mismatch::Local => "gcn.Local(bytes)".into(),
                Mismatch::Buffer => "a NumPy array, a gcn.Buffer, or None".into(),
                _ => String::new(),
            };
            Error::Argument {
                index,
                parameter,
                mismatch,
                write,
            }
        }
        other => other,
    }
}

/// The type of a buffer's elements from its format; `None` if it is no number of the machine.
fn element(view: &PyUntypedBuffer) -> Result<Option<Ty>, &'static str> {
    let format = view.format().to_bytes();
    let (order, code) = match format {
        [order @ (b'<' | b'>' | b'=' | b'@' | b'!'), rest @ ..] => (*order, rest),
        all => (b'@', all),
    };
    if matches!(order, b'>' | b'!') && view.item_size() > 1 {
        return Err(
            "its numbers are big-endian; array.astype(array.dtype.newbyteorder('<')) converts",
        );
    }
    Ok(match (code, view.item_size()) {
        (b"b", 1) => Some(Ty::I8),
        (b"B" | b"?" | b"c", 1) => Some(Ty::U8),
        (b"h", 2) => Some(Ty::I16),
        (b"H", 2) => Some(Ty::U16),
        (b"e", 2) => Some(Ty::F16),
        (b"i" | b"l", 4) => Some(Ty::I32),
        (b"I" | b"L", 4) => Some(Ty::U32),
        (b"l" | b"q", 8) => Some(Ty::I64),
        (b"L" | b"Q", 8) => Some(Ty::U64),
        (b"f", 4) => Some(Ty::F32),
        (b"d", 8) => Some(Ty::F64),
        _ => None,
    })
}

/// The bytes of a buffer that is contiguous.
fn contents(view: &PyUntypedBuffer) -> &[u8] {
    if view.len_bytes() == 0 {
        return &[];
    }
    // SAFETY: the exporter keeps `len_bytes` bytes at `buf_ptr` until the view is released, the buffer is contiguous (callers
    // check), and the caller is attached to the interpreter, so that Python code does not change it meanwhile.
    unsafe { std::slice::from_raw_parts(view.buf_ptr().cast(), view.len_bytes()) }
}

/// The numbers of a type for Python numbers.
fn numbers(list: &[Bound<'_, PyAny>], ty: Ty) -> PyResult<Result<Vec<u8>, String>> {
    let mut bytes = Vec::new();
    for value in list {
        let number = match value.is_instance_of::<PyInt>() {
            true => match value.extract::<i128>() {
                Ok(n) => Number::Int(n),
                Err(_) => return Ok(Err(format!("{value} does not fit {ty}"))),
            },
            false => Number::Float(value.extract::<f64>()?),
        };
        let Some(bits) = number.bits(ty) else {
            return Ok(Err(match number {
                Number::Float(_) => format!("{value} is a float, and {ty} is expected"),
                Number::Int(_) => {
                    let (least, most) = ty.bounds();
                    format!("{value} does not fit {ty}, which has {least} to {most}")
                }
            }));
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..ty.size()]);
    }
    Ok(Ok(bytes))
}

/// A Python number, or a tuple of them for a vector.
fn scalar(value: &Bound<'_, PyAny>, index: usize, parameter: Option<&Parameter>) -> PyResult<Arg> {
    let tell = |what: String| PyErr::from(wrong(index, parameter, &what));
    let list: Vec<Bound<'_, PyAny>> = match value.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![value.clone()],
    };
    let int = value.is_instance_of::<PyInt>();
    if let (Some(parameter), true) = (parameter, int) {
        match parameter.value_kind {
            ValueKind::GlobalBuffer => return Ok(Arg::pointer(value.extract()?)),
            ValueKind::DynamicSharedPointer => return Ok(Arg::Local(value.extract()?)),
            _ => {}
        }
    }
    let name = parameter.and_then(|p| p.type_name.as_deref());
    let known = name.and_then(parameter::numbers);
    let ty = match (known, parameter.map(|p| p.size)) {
        (Some((ty, _)), _) => ty,
        (None, Some(8)) if int => Ty::I64,
        (None, Some(8)) => Ty::F64,
        _ if !int => Ty::F32,
        // By C's rules: an int if it fits.
        _ => match value.extract::<i128>()? {
            n if i32::try_from(n).is_ok() => Ty::I32,
            n if u32::try_from(n).is_ok() => Ty::U32,
            n if i64::try_from(n).is_ok() => Ty::I64,
            _ => Ty::U64,
        },
    };
    let bytes = numbers(&list, ty)?.map_err(tell)?;
    Ok(Arg::Numbers(ty, bytes))
}

enum Item {
    Arg(Arg),
    /// The number of an array.
    Array(usize),
}

impl Passed {
    /// Converts the arguments, and copies arrays.
    pub fn new(kernel: &gcn::Kernel, args: &Bound<'_, PyTuple>) -> PyResult<Passed> {
        let parameters = kernel.parameters();
        let gpu = kernel.program().gpu();
        let mut items = Vec::new();
        let mut arrays: Vec<Array> = Vec::new();
        for (index, value) in args.iter().enumerate() {
            let parameter = parameters.as_ref().and_then(|p| p.get(index).copied());
            items.push(item(gpu, index, &value, parameter, &mut arrays)?);
        }
        let regions = regions(gpu, &mut arrays)?;
        let args = items.into_iter().map(|item| match item {
            Item::Arg(arg) => Ok(arg),
            Item::Array(n) => {
                let array = &arrays[n];
                let arg = regions[array.region].at(array.offset).map_err(plain)?;
                Ok(arg.with_elements(array.elements))
            }
        });
        Ok(Passed {
            args: args.collect::<PyResult<_>>()?,
            arrays,
            regions,
        })
    }

    /// Copies what the kernel left back into the arrays.
    pub fn give_back(&self, _py: Python<'_>) -> PyResult<()> {
        for array in self.arrays.iter().filter(|a| a.bytes > 0) {
            let memory = gcn::Buffer::read_range;
            let region = &self.regions[array.region];
            if !array.view.readonly() {
                // SAFETY: as in `contents`; the exporter says that it may be written, and the interpreter is attached.
                let to: &mut [u8] = unsafe {
                    std::slice::from_raw_parts_mut(array.view.buf_ptr().cast(), array.bytes)
                };
                region.read_into(array.offset, to).map_err(plain)?;
                continue;
            }
            let writable = |other: &&Array| other.region == array.region && !other.view.readonly();
            if self.arrays.iter().any(|other| writable(&other)) {
                continue;
            }
            let now = memory(region, array.offset, array.bytes).map_err(plain)?;
            if now != contents(&array.view) {
                let what = "the array is read-only, and the kernel has written to it; pass a copy";
                return Err(wrong(array.index, None, what).into());
            }
        }
        Ok(())
    }
}

fn item(
    gpu: &gcn::Gpu,
    index: usize,
    value: &Bound<'_, PyAny>,
    parameter: Option<&Parameter>,
    arrays: &mut Vec<Array>,
) -> PyResult<Item> {
    let py = value.py();
    let tell = |what: &str| PyErr::from(wrong(index, parameter, what));
    if value.is_none() {
        return Ok(Item::Arg(Arg::pointer(0)));
    }
    if let Ok(buffer) = value.cast::<Buffer>() {
        let arg = buffer.get().arg(gpu);
        let other = || tell("the buffer is in the memory of another gcn.Gpu");
        return Ok(Item::Arg(arg.ok_or_else(other)?));
    }
    if let Ok(local) = value.cast::<Local>() {
        return Ok(Item::Arg(Arg::Local(local.getattr("bytes")?.extract()?)));
    }
    let plain_number = value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>() && value.get_type().is(py.get_type::<PyFloat>())
        || value.is_instance_of::<PyBool>()
        || value.is_instance_of::<PyTuple>();
    if plain_number {
        return scalar(value, index, parameter).map(Item::Arg);
    }
    if value.is_instance_of::<PyList>() {
        return Err(tell(
            "a list is no array; pass numpy.array(list, dtype), which the kernel can change in place",
        ));
    }
    // NumPy's scalars are values; arrays without dimensions have a single element.
    let number =
        value.hasattr("dtype")? && value.is_instance(&py.import("numpy")?.getattr("generic")?)?;
    let no_dimensions = value.hasattr("ndim")? && value.getattr("ndim")?.extract::<usize>()? == 0;
    let view = match PyUntypedBuffer::get(value) {
        Ok(view) if !no_dimensions => view,
        _ => {
            let numpy = py.import("numpy")?;
            let array = if no_dimensions {
                numpy
                    .call_method1("asarray", (value,))?
                    .call_method1("reshape", (1,))?
            } else if value.hasattr("__array_interface__")? {
                numpy.call_method1("asarray", (value,))?
            } else if value.hasattr("__dlpack__")? {
                numpy.call_method1("from_dlpack", (value,))?
            } else {
                let ty = value.get_type().name()?.to_string();
                let what = format!(
                    "a {ty} is no argument: expected a NumPy array, a gcn.Buffer, a number, bytes, gcn.Local or None"
                );
                return Err(tell(&what));
            };
            PyUntypedBuffer::get(&array)?
        }
    };
    if !view.is_c_contiguous() {
        return Err(tell(
            "the array is not contiguous in C's order; pass numpy.ascontiguousarray(array)",
        ));
    }
    let elements = element(&view).map_err(tell)?;
    let by_value = match parameter.map(|p| p.value_kind) {
        Some(ValueKind::ByValue) => true,
        None => number || value.is_instance_of::<PyBytes>(),
        _ => false,
    };
    if by_value {
        let bytes = contents(&view).to_vec();
        return Ok(Item::Arg(match elements {
            Some(ty) if !value.is_instance_of::<PyBytes>() => Arg::Numbers(ty, bytes),
            _ => Arg::Value(bytes),
        }));
    }
    // Bytes are elements of any type.
    let elements = elements.filter(|_| !value.is_instance_of::<PyBytes>());
    if number {
        return Err(tell("a number is no array; pass numpy.array([number])"));
    }
    arrays.push(Array {
        index,
        start: view.buf_ptr() as usize,
        bytes: view.len_bytes(),
        view,
        region: 0,
        offset: 0,
        elements,
    });
    Ok(Item::Array(arrays.len() - 1))
}

/// Copies the arrays to the GPU; those that overlap get one region.
fn regions(gpu: &gcn::Gpu, arrays: &mut [Array]) -> PyResult<Vec<gcn::Buffer<u8>>> {
    let mut order: Vec<usize> = (0..arrays.len()).collect();
    order.sort_by_key(|n| (arrays[*n].start, arrays[*n].bytes));
    // The start and end of each region.
    let mut extents: Vec<(usize, usize)> = Vec::new();
    for n in order {
        let array = &mut arrays[n];
        let end = array.start + array.bytes;
        match extents.last_mut() {
            Some((_, last)) if array.start < *last && array.bytes > 0 => *last = end.max(*last),
            _ => extents.push((array.start, end)),
        }
        array.region = extents.len() - 1;
        array.offset = array.start - extents[array.region].0;
    }
    let made = extents
        .iter()
        .map(|(start, end)| gpu.zeros::<u8>((end - start).max(1)));
    let regions = made.collect::<Result<Vec<_>, _>>().map_err(plain)?;
    for array in arrays.iter() {
        let region = &regions[array.region];
        region
            .write(array.offset, contents(&array.view))
            .map_err(plain)?;
    }
    Ok(regions)
}
