//! The number of waves that a SIMD can hold at once, and its limits.

use gcn_isa::Gen;
use gcn_object::read::{CodeObject, Kernel};

/// Work-items of a wave.
const WAVE: u64 = 64;
/// The maximum number of waves per SIMD.
pub const MOST_WAVES: u32 = 10;
/// SIMDs per compute unit.
const SIMDS: u64 = 4;
/// LDS per compute unit in bytes.
const LDS: u64 = 64 << 10;
/// The maximum number of workgroups per compute unit, if they have more than one wave.
const MOST_GROUPS: u64 = 16;

/// The occupancy: the number of concurrent waves of a SIMD, and the resources that limit it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// The number of allocated VGPRs per lane.
    pub vgprs: u32,
    /// The number of allocated SGPRs.
    pub sgprs: u32,
    /// The allocated LDS of a workgroup in bytes.
    pub lds: u64,
    /// The number of waves that the VGPRs allow.
    pub by_vgprs: u32,
    /// The number of waves that the SGPRs allow.
    pub by_sgprs: u32,
    /// The number of waves that the LDS allows.
    pub by_lds: u32,
    /// The number of waves that the limit of workgroups of a compute unit allows.
    pub by_workgroups: u32,
    /// Waves of a workgroup.
    pub workgroup_waves: u64,
}

/// The unit in which LDS is allocated.
const fn lds_granule(generation: Gen) -> u64 {
    match generation {
        Gen::Gfx6 => 256,
        _ => 512,
    }
}

/// The waves of the fullest SIMD of a compute unit that runs `groups` workgroups of `waves` waves.
fn of_groups(groups: u64, waves: u64) -> u32 {
    let all = groups.saturating_mul(waves).div_ceil(SIMDS);
    all.min(MOST_WAVES as u64) as u32
}

/// The waves of a SIMD that LDS allows.
fn lds_waves(lds: u64, waves: u64) -> u32 {
    LDS.checked_div(lds)
        .map_or(MOST_WAVES, |groups| of_groups(groups, waves))
}

/// The unit in which SGPRs are allocated, and their number in a SIMD.
const fn sgpr_granule(generation: Gen) -> (u32, u32) {
    // gfx8 and later allocate SGPRs in units of 16 of 800, the others in units of 8 of 512.
    match generation {
        Gen::Gfx6 | Gen::Gfx7 => (8, 512),
        Gen::Gfx8 | Gen::Gfx9 => (16, 800),
    }
}

impl Occupancy {
    /// The occupancy for numbers of registers, bytes of LDS, and work-items of a workgroup. With `fixed_sgprs` the chip gives
    /// every wave 96 SGPRs.
    pub fn new(
        generation: Gen,
        vgprs: u32,
        sgprs: u32,
        lds: u64,
        workgroup: u64,
        fixed_sgprs: bool,
    ) -> Occupancy {
        let vgprs = vgprs.max(1).next_multiple_of(4);
        let (granule, all) = sgpr_granule(generation);
        let sgprs = match fixed_sgprs {
            true => 96,
            false => sgprs.max(1).next_multiple_of(granule),
        };
        let lds = lds.next_multiple_of(lds_granule(generation));
        let waves = workgroup.max(1).div_ceil(WAVE);
        let most_groups = match waves {
            1 => u64::MAX,
            _ => MOST_GROUPS,
        };
        Occupancy {
            vgprs,
            sgprs,
            lds,
            by_vgprs: (256 / vgprs).min(MOST_WAVES),
            by_sgprs: (all / sgprs).min(MOST_WAVES),
            by_lds: lds_waves(lds, waves),
            by_workgroups: of_groups(most_groups, waves),
            workgroup_waves: waves,
        }
    }

    /// The occupancy of a kernel of a code object, in the largest workgroup that it allows.
    pub fn of(object: &CodeObject, kernel: &Kernel, generation: Gen) -> Occupancy {
        let descriptor = &kernel.descriptor;
        let metadata = kernel.metadata.as_ref();
        let most = metadata.map_or(0, |m| m.max_flat_workgroup_size);
        let required = metadata.and_then(|m| m.reqd_workgroup_size);
        let workgroup = match required {
            Some([x, y, z]) => x.saturating_mul(y).saturating_mul(z),
            None if most == 0 => 256,
            None => most,
        };
        let lds = metadata.map_or(0, |m| m.group_segment_fixed_size);
        Occupancy::new(
            generation,
            descriptor.vgpr_count(),
            descriptor.sgpr_count(),
            lds.max(u64::from(descriptor.group_segment_fixed_size)),
            workgroup,
            object.target.machine.sgpr_init_bug,
        )
    }

    /// The number of waves of a SIMD.
    pub fn waves(&self) -> u32 {
        (self.limits().into_iter().map(|(_, waves)| waves))
            .min()
            .unwrap_or(MOST_WAVES)
    }

    /// The resources, with the number of waves that each allows.
    pub fn limits(&self) -> [(&'static str, u32); 4] {
        [
            ("vgpr", self.by_vgprs),
            ("sgpr", self.by_sgprs),
            ("lds", self.by_lds),
            ("workgroups", self.by_workgroups),
        ]
    }

    /// The limiting resources; `waves` alone if all allow the maximum.
    pub fn limited_by(&self) -> Vec<&'static str> {
        let waves = self.waves();
        if waves == MOST_WAVES {
            return vec!["waves"];
        }
        let limits = self.limits().into_iter();
        limits
            .filter(|(_, n)| *n == waves)
            .map(|(name, _)| name)
            .collect()
    }

    /// The number of bytes of LDS by which less would allow one more wave, counting LDS alone; `None` if it allows the maximum.
    pub fn fewer_lds(&self, generation: Gen) -> Option<u64> {
        if self.by_lds >= MOST_WAVES {
            return None;
        }
        let granule = lds_granule(generation);
        let more = |lds: u64| lds_waves(lds, self.workgroup_waves) > self.by_lds;
        // The minimum number of granules to remove.
        let all = self.lds / granule;
        let (mut few, mut many) = (0, all);
        while few + 1 < many {
            let middle = (few + many) / 2;
            match more(self.lds - middle * granule) {
                true => many = middle,
                false => few = middle,
            }
        }
        Some(many * granule)
    }

    /// The maximum number of VGPRs with which this number of waves fits.
    pub fn most_vgprs(waves: u32) -> u32 {
        256 / waves.max(1) / 4 * 4
    }

    /// The maximum number of SGPRs with which this number of waves fits. Instructions can name fewer.
    pub fn most_sgprs(generation: Gen, waves: u32) -> u32 {
        let (granule, all) = sgpr_granule(generation);
        (all / waves.max(1) / granule * granule).min(match generation {
            Gen::Gfx6 | Gen::Gfx7 => 104,
            Gen::Gfx8 | Gen::Gfx9 => 112,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_wave() {
        // The documents' table of VGPRs, and of SGPRs of gfx6.
        let vgprs = [256, 128, 84, 64, 48, 40, 36, 32, 28, 24];
        for (n, most) in vgprs.into_iter().enumerate() {
            let waves = n as u32 + 1;
            assert_eq!(Occupancy::most_vgprs(waves), most);
            let o = Occupancy::new(Gen::Gfx9, most, 16, 0, 64, false);
            assert_eq!(o.waves(), waves);
        }
        for (waves, most) in [(5, 96), (6, 80), (7, 72), (8, 64), (9, 56), (10, 48)] {
            assert_eq!(Occupancy::most_sgprs(Gen::Gfx6, waves), most);
            let o = Occupancy::new(Gen::Gfx6, 4, most, 0, 64, false);
            assert_eq!(o.waves(), waves);
        }
    }

    #[test]
    fn everything_that_limits() {
        let o = Occupancy::new(Gen::Gfx9, 64, 16, 16 << 10, 256, false);
        assert_eq!((o.waves(), o.limited_by()), (4, vec!["vgpr", "lds"]));
        let o = Occupancy::new(Gen::Gfx9, 24, 16, 0, 256, false);
        assert_eq!((o.waves(), o.limited_by()), (10, vec!["waves"]));
        // Sixteen workgroups of two waves are eight waves of each SIMD.
        let o = Occupancy::new(Gen::Gfx9, 24, 16, 0, 128, false);
        assert_eq!((o.waves(), o.limited_by()), (8, vec!["workgroups"]));
    }
}
