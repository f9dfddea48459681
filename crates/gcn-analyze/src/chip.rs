//! Chips: a target, and the differences between cards of one target.

use gcn_isa::target::Target;

/// A chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chip {
    /// Its name: a code name, the name of a target, or that of a card (`hawaii-pro`).
    pub name: &'static str,
    /// The target of its code.
    pub target: Target,
    /// The time of double precision relative to a rate of half of single precision: 1 for 1/2, 2 for 1/4, 4 for 1/8, 8 for 1/16.
    pub double_factor: u16,
}

/// Names other than those of targets: the name, the target, the factor of double precision.
const OTHERS: [(&str, &str, u16); 2] = [("hawaii-pro", "gfx701", 1), ("radeonvii", "gfx906", 2)];

/// Names and targets whose double precision has another rate than 1/16.
const FASTER: [(&str, u16); 7] = [
    ("gfx600", 2),
    // The code names are those of the Radeon cards; LLVM's gfx701 is the FirePro, its gfx702 the Radeon.
    ("hawaii", 4),
    ("grenada", 4),
    ("vesuvius", 4),
    ("gfx701", 1),
    ("gfx702", 4),
    ("gfx906", 1),
];

impl Chip {
    /// Finds a chip by its name. Case is ignored.
    pub fn parse(text: &str) -> Option<Chip> {
        let is = |name: &&str| name.eq_ignore_ascii_case(text);
        let other = OTHERS.iter().find(|(name, ..)| is(name));
        if let Some(&(name, target, double_factor)) = other {
            return Some(Chip {
                name,
                target: Target::parse(target)?,
                double_factor,
            });
        }
        let target = Target::parse(text)?;
        let aliases = target.info().aliases.iter();
        let name = aliases.copied().find(|name| is(name));
        Some(Chip::named(name.unwrap_or(target.name()), target))
    }

    /// The chip that stands for a target if none is named.
    pub fn of(target: Target) -> Chip {
        Chip::named(target.name(), target)
    }

    fn named(name: &'static str, target: Target) -> Chip {
        let factor = |name: &str| FASTER.iter().find(|(n, _)| *n == name).map(|(_, f)| *f);
        Chip {
            name,
            target,
            double_factor: factor(name).or_else(|| factor(target.name())).unwrap_or(8),
        }
    }

    /// The names of all chips.
    pub fn names() -> Vec<&'static str> {
        let of_target =
            |t: Target| std::iter::once(t.name()).chain(t.info().aliases.iter().copied());
        let others = OTHERS.iter().map(|(name, ..)| *name);
        Target::all().flat_map(of_target).chain(others).collect()
    }

    /// The rate of double precision as a part of that of single precision: 2 for 1/2, 16 for 1/16.
    pub const fn double_rate(&self) -> u16 {
        2 * self.double_factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_rates() {
        for (name, rate) in [
            ("tahiti", 4),
            ("pitcairn", 16),
            ("hawaii", 8),
            ("hawaii-pro", 2),
            ("gfx702", 8),
            ("bonaire", 16),
            ("Fiji", 16),
            ("vega10", 16),
            ("vega20", 2),
            ("radeonvii", 4),
        ] {
            let chip = Chip::parse(name).expect(name);
            assert_eq!(chip.double_rate(), rate, "{name}");
        }
        assert!(Chip::parse("navi10").is_none());
        for name in Chip::names() {
            assert!(Chip::parse(name).is_some_and(|c| c.name == name), "{name}");
        }
    }
}
