//! The values that a kernel's parameters accept, from the names of their types in the metadata.

use crate::data::Ty;
use crate::gpu::{Arg, Mismatch};
use gcn_object::metadata::{Arg as Parameter, ValueKind};

/// The numbers in a type of OpenCL C: `float4` has four f32. `None` for structures and typedefs.
pub fn numbers(name: &str) -> Option<(Ty, usize)> {
    let name = name.trim();
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let ty = match base {
        "char" | "signed char" => Ty::I8,
        "uchar" | "unsigned char" | "bool" | "_Bool" => Ty::U8,
        "short" => Ty::I16,
        "ushort" | "unsigned short" => Ty::U16,
        "half" | "_Float" if name != "_Float" => Ty::F16,
        "int" => Ty::I32,
        "uint" | "unsigned int" | "unsigned" => Ty::U32,
        "float" => Ty::F32,
        "long" | "long long" | "ptrdiff_t" | "intptr_t" => Ty::I64,
        "ulong" | "unsigned long" | "unsigned long long" | "size_t" | "uintptr_t" => Ty::U64,
        "double" => Ty::F64,
        _ => return None,
    };
    let count = match &name[base.len()..] {
        "" => 1,
        "16" if base == "_Float" => 1,
        many => many.parse().ok().filter(|n| [2, 3, 4, 8, 16].contains(n))?,
    };
    Some((ty, count))
}

/// The numbers that a pointer's type points to: `float4*` f32. `None` also for `void*` and pointers to pointers.
pub fn elements(name: &str) -> Option<Ty> {
    let pointee = name.trim().strip_suffix('*')?;
    numbers(pointee).map(|(ty, _)| ty)
}

/// Returns true if numbers of a type are accepted for another: both have the same size and are floats, or integers, signed
/// or not.
pub fn alike(expected: Ty, given: Ty) -> bool {
    expected.size() == given.size() && expected.is_float() == given.is_float()
}

/// A parameter's type and name.
pub fn describe(parameter: &Parameter) -> String {
    let name = parameter.name.as_deref().unwrap_or("");
    let ty = (parameter.type_name.as_deref()).unwrap_or(&parameter.value_kind_name);
    format!("{ty} {name}").trim().to_owned()
}

/// The bytes that an argument stores for a parameter other than LDS.
///
/// # Errors
/// The mismatch, if it does not fit.
pub fn bytes(parameter: &Parameter, arg: &Arg, any_type: bool) -> Result<Vec<u8>, Mismatch> {
    use ValueKind::{ByValue, DynamicSharedPointer, GlobalBuffer, Image, Sampler};
    let name = parameter.type_name.as_deref().unwrap_or("");
    let address = |address: u64| Ok(address.to_le_bytes().to_vec());
    match (arg, parameter.value_kind) {
        (Arg::Value(bytes) | Arg::Numbers(_, bytes), ByValue | Image | Sampler) => {
            let (expected, given) = (parameter.size, bytes.len() as u64);
            let mut bytes = bytes.clone();
            match (arg, numbers(name)) {
                (Arg::Numbers(ty, _), Some((want, _))) if !any_type && !alike(want, *ty) => {
                    return Err(
                        match want.is_float() == ty.is_float() && expected != given {
                            true => Mismatch::Size { expected, given },
                            false => Mismatch::Type {
                                expected: want,
                                given: *ty,
                            },
                        },
                    );
                }
                // A vector of three has the size of four.
                (Arg::Numbers(ty, _), Some((_, 3))) if given == 3 * ty.size() as u64 => {
                    bytes.resize(expected as usize, 0);
                }
                _ if expected != given => return Err(Mismatch::Size { expected, given }),
                _ => {}
            }
            Ok(bytes)
        }
        (Arg::Buffer(pointer), GlobalBuffer | Image | Sampler) => {
            match (pointer.elements(), elements(name)) {
                (Some(given), Some(expected)) if !any_type && !alike(expected, given) => {
                    Err(Mismatch::Elements { expected, given })
                }
                _ => address(pointer.address()),
            }
        }
        (Arg::Value(bytes) | Arg::Numbers(_, bytes), GlobalBuffer)
            if any_type && bytes.len() == 8 =>
        {
            Ok(bytes.clone())
        }
        (Arg::Buffer(pointer), ByValue) if any_type && parameter.size == 8 => {
            address(pointer.address())
        }
        (_, ByValue) => Err(Mismatch::Value),
        (_, GlobalBuffer | Image | Sampler) => Err(Mismatch::Buffer),
        (_, DynamicSharedPointer) => Err(Mismatch::Local),
        _ => Err(Mismatch::Unsupported(parameter.value_kind_name.clone())),
    }
}

/// Returns arguments that fit a parameter, in the command line's syntax.
pub fn form(parameter: &Parameter) -> String {
    let name = parameter.type_name.as_deref().unwrap_or("");
    match (parameter.value_kind, numbers(name)) {
        (ValueKind::ByValue, Some((ty, count))) => {
            format!("{ty}:{}", vec!["VALUE"; count].join(","))
        }
        (ValueKind::ByValue, None) => match parameter.size {
            4 => "u32:VALUE".into(),
            8 => "u64:VALUE".into(),
            _ => "bytes:HEX".into(),
        },
        (ValueKind::DynamicSharedPointer, _) => "local:BYTES".into(),
        _ => "buf:FILE".into(),
    }
}

/// Returns arguments that fit a parameter, in the syntax of the command line and of plans, after a mismatch.
pub fn advice(parameter: &Parameter, given: &Arg) -> String {
    let name = parameter.type_name.as_deref().unwrap_or("");
    let buffer = |ty: Ty| {
        format!(
            "a .npy file of {ty}, which numpy makes by x.astype({:?}), or a buffer of {ty}; --any-type takes the bytes as they are",
            ty.numpy()
        )
    };
    match (parameter.value_kind, given) {
        (ValueKind::ByValue, _) => {
            let Some((ty, count)) = numbers(name) else {
                return match parameter.size {
                    1 => "u8:VALUE or bytes:HEX".into(),
                    2 => "u16:VALUE or bytes:HEX".into(),
                    4 => "u32:VALUE, f32:VALUE or bytes:HEX".into(),
                    8 => "u64:VALUE, f64:VALUE or bytes:HEX".into(),
                    n => format!("bytes:HEX with {} hexadecimal digits", n.saturating_mul(2)),
                };
            };
            let value = match given {
                Arg::Numbers(from, bytes) if bytes.len() == from.size() && count == 1 => {
                    from.number(from.element(bytes, 0)).bits(ty)
                }
                _ => None,
            };
            let values = match value {
                Some(bits) => ty.show(bits),
                None => vec!["VALUE"; count].join(","),
            };
            let any = match given {
                Arg::Numbers(_, bytes) if bytes.len() as u64 == parameter.size => {
                    "; --any-type takes the bits as they are"
                }
                _ => "",
            };
            format!("{ty}:{values}{any}")
        }
        (ValueKind::GlobalBuffer, Arg::Buffer(_)) => match elements(name) {
            Some(ty) => buffer(ty),
            None => "a buffer, as buf:FILE".into(),
        },
        (ValueKind::GlobalBuffer, _) => {
            "buf:zero:BYTES, buf:FILE or another buffer, or ptr:ADDRESS".into()
        }
        (ValueKind::DynamicSharedPointer, _) => "local:BYTES".into(),
        (ValueKind::Image | ValueKind::Sampler, _) => {
            "a buffer that holds the descriptor, or bytes:HEX".into()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types() {
        assert_eq!(numbers("float"), Some((Ty::F32, 1)));
        assert_eq!(numbers("uchar4"), Some((Ty::U8, 4)));
        assert_eq!(numbers("double16"), Some((Ty::F64, 16)));
        assert_eq!(numbers("unsigned int"), Some((Ty::U32, 1)));
        assert_eq!(numbers("_Float16"), Some((Ty::F16, 1)));
        for other in ["float5", "struct s", "my_float", "float*", "", "_Float"] {
            assert_eq!(numbers(other), None, "{other}");
        }
        assert_eq!(elements("half8*"), Some(Ty::F16));
        for other in ["void*", "float**", "struct point*", "int"] {
            assert_eq!(elements(other), None, "{other}");
        }
        assert!(alike(Ty::I32, Ty::U32) && !alike(Ty::I32, Ty::F32) && !alike(Ty::F32, Ty::F64));
    }
}
