//! Names of C++ functions as their authors wrote them.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Mangled names that are longer are left alone, and so are those that would become longer: a name can refer to parts of itself, and
/// grow without bound.
const LONGEST: usize = 4096;

struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// `vadd(float const*, float*)` for `_Z4vaddPKfPf`; `None` for what is not a mangled name of C++.
pub fn demangled(name: &str) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    const DEPTH: u32 = 96;
    let parse = ParseOptions::default().recursion_limit(DEPTH);
    let symbol = Symbol::new_with_options(name, &parse).ok()?;
    let mut out = Bounded(String::new());
    let options = DemangleOptions::default().recursion_limit(DEPTH);
    symbol.structured_demangle(&mut out, &options).ok()?;
    // It stands in comments and in lines of their own.
    (!out.0.contains(char::is_control)).then_some(out.0)
}

/// Names in a row, those of C++ with what they mean: `_Z4vaddPKfPf (vadd(float const*, float*))`.
pub fn list(names: &[String]) -> String {
    let one = |name: &String| match demangled(name) {
        Some(cpp) => format!("{name} ({cpp})"),
        None => name.clone(),
    };
    names.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions() {
        let name = demangled("_Z4vaddPKfS0_Pfi");
        assert_eq!(
            name.as_deref(),
            Some("vadd(float const*, float const*, float*, int)")
        );
        assert_eq!(demangled("vadd"), None);
        assert_eq!(demangled("_Z4vadd.kd\n"), None);
        assert_eq!(demangled(&format!("_Z{}", "N1a".repeat(3000))), None);
        // Each parameter is the one before it, twice.
        let mut bomb = String::from("_Z1fSt4pairIiiE");
        for n in 0..40 {
            let last = match n {
                0 => "S0_".to_owned(),
                n => format!("S{n}_"),
            };
            bomb.push_str(&format!("St4pairI{last}{last}E"));
        }
        assert_eq!(demangled(&bomb), None);
    }
}
