//! Demangles names of C++ functions.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// The maximum length of mangled and demangled names; longer ones are not demangled. A name can refer to parts of itself
/// and so expand exponentially.
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

/// Returns `vadd(float const*, float*)` for `_Z4vaddPKfPf`; `None` if the name is not a mangled name of C++.
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
    // The result is written to comments and messages of one line.
    (!out.0.contains(char::is_control)).then_some(out.0)
}

/// Returns a list of names, those of C++ with the demangled form: `_Z4vaddPKfPf (vadd(float const*, float*))`.
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
        // Each parameter contains the previous one twice.
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
