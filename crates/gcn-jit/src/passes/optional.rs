//! Optimisations that can be left out, so that what each is worth can be measured.

/// An optimisation that code is correct without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optional {
    /// Bases and steps instead of 64 values, and with them [`Optional::AllActive`].
    Affine,
    /// Variants of blocks for waves whose lanes are all active.
    AllActive,
    /// All-active variants of all blocks in loops.
    LoopVariants,
    /// Elements of vectors in the order of memory.
    InOrder,
    /// Bitwise operations on three values.
    TernaryLogic,
    /// Selections as minima and maxima, and without EXEC where inactive lanes do not matter.
    Selections,
    /// All-active variants where waves start go on over branches on numbers that all waves share, such as arguments.
    Branches,
    /// All-active blocks after all-active variants, which assume what is affine after those.
    Continuations,
    /// Variants of blocks in loops that go on where EXEC changes.
    Joined,
    /// Memory that later waves will probably access is prefetched, and with it [`Optional::Pace`].
    Prefetch,
    /// The same at the pace at which a loop, or lanes that turned out to be consecutive, moved the last time.
    Pace,
    /// Workgroups one after the other, without leaving compiled code.
    Batch,
    /// All-active variants assume of comparisons what they are in a typical wave.
    Typical,
    /// Factors of lanes' numbers that are small numbers in a typical wave are taken to be these numbers.
    Strides,
    /// All-active variants assume that limits of affine values have no effect, or the effect that they have in a typical wave.
    Clamps,
    /// Masks of bits that are not set are no operations.
    KnownBits,
    /// Loads of dwords of lanes one, two or four dwords apart read whole rows.
    Rows,
    /// Three dwords a lane, one lane's after the other's, are loaded and stored as a whole.
    Triples,
    /// The code tests whether lanes' elements follow each other, and loads and stores them as a whole then.
    Consecutive,
    /// Loads of three and four dwords a lane take 16 bytes of each lane.
    GatherRows,
    /// Dwords at lanes' own addresses are loaded one after the other, not by the host's gathers.
    OneByOne,
    /// Loads of lanes that walk rows read ahead, and keep what they read transposed.
    Tiles,
    /// Sums take truth values as they are, not as numbers.
    Carries,
    /// Values that are written when nothing can fail wait in registers.
    Keep,
    /// The four slices of long blocks are a loop.
    SliceLoop,
    /// Both halves of a slice are computed at once where operations wait for each other.
    Halves,
    /// Atomics without a helper.
    Atomics,
    /// Vector operations whose operands are the same in all lanes are computed once for all slices.
    Uniform,
    /// Accesses without records. If this is left out, compiled code reports each access of memory and LDS to the probe, and the passes that
    /// join accesses do less.
    Accesses,
    /// Zeros and infinities that divisions and roots meet need no slow path.
    Extremes,
    /// Waves that start take affine addresses from what was evaluated once for the dispatch.
    Grid,
    /// Operations of blocks with more values than registers in another order.
    Pressure,
    /// Loops that load from lanes' own addresses run for one lane after the other, where that is faster.
    LaneLoops,
    /// All-active variants of short loops have several rounds.
    Rounds,
    /// Blocks that access lanes' own addresses have code for single lanes, which runs where few are active.
    FewLanes,
    /// Waves of workgroups of up to 32 work-items have code for their lanes only.
    Narrow,
    /// Waves of evaluated dispatches load where the code has stored other memory before.
    Passing,
    /// A region continues into the functions that it calls, and returns from them.
    Calls,
}

impl Optional {
    /// All of them.
    pub const ALL: [Optional; 38] = [
        Optional::Affine,
        Optional::AllActive,
        Optional::LoopVariants,
        Optional::InOrder,
        Optional::TernaryLogic,
        Optional::Selections,
        Optional::Branches,
        Optional::Continuations,
        Optional::Joined,
        Optional::Prefetch,
        Optional::Pace,
        Optional::Batch,
        Optional::Typical,
        Optional::Strides,
        Optional::Clamps,
        Optional::KnownBits,
        Optional::Rows,
        Optional::Triples,
        Optional::Consecutive,
        Optional::GatherRows,
        Optional::OneByOne,
        Optional::Tiles,
        Optional::Carries,
        Optional::Keep,
        Optional::SliceLoop,
        Optional::Halves,
        Optional::Atomics,
        Optional::Uniform,
        Optional::Accesses,
        Optional::Extremes,
        Optional::Grid,
        Optional::Pressure,
        Optional::LaneLoops,
        Optional::Rounds,
        Optional::FewLanes,
        Optional::Narrow,
        Optional::Passing,
        Optional::Calls,
    ];

    /// Its name, as `--disable-pass` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Optional::Affine => "affine",
            Optional::AllActive => "all_active",
            Optional::LoopVariants => "loop_variants",
            Optional::InOrder => "in_order",
            Optional::TernaryLogic => "ternary_logic",
            Optional::Selections => "selections",
            Optional::Branches => "branches",
            Optional::Continuations => "continuations",
            Optional::Joined => "joined",
            Optional::Prefetch => "prefetch",
            Optional::Pace => "pace",
            Optional::Batch => "batch",
            Optional::Typical => "typical",
            Optional::Strides => "strides",
            Optional::Clamps => "clamps",
            Optional::KnownBits => "known_bits",
            Optional::Rows => "rows",
            Optional::Triples => "triples",
            Optional::Consecutive => "consecutive",
            Optional::GatherRows => "gather_rows",
            Optional::OneByOne => "one_by_one",
            Optional::Tiles => "tiles",
            Optional::Carries => "carries",
            Optional::Keep => "keep",
            Optional::SliceLoop => "slice_loop",
            Optional::Halves => "halves",
            Optional::Atomics => "atomics",
            Optional::Uniform => "uniform",
            Optional::Accesses => "accesses",
            Optional::Extremes => "extremes",
            Optional::Grid => "grid",
            Optional::Pressure => "pressure",
            Optional::LaneLoops => "lane_loops",
            Optional::Rounds => "rounds",
            Optional::FewLanes => "few_lanes",
            Optional::Narrow => "narrow",
            Optional::Passing => "passing",
            Optional::Calls => "calls",
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    /// A sentence with the expected names.
    pub fn parse(name: &str) -> Result<Optional, String> {
        let found = Optional::ALL.into_iter().find(|o| o.name() == name);
        found.ok_or_else(|| format!("expected {}", Optional::ALL.map(Optional::name).join(", ")))
    }
}

/// The disabled passes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LeftOut(u64);

impl LeftOut {
    /// These and another one.
    #[must_use]
    pub fn and(self, one: Optional) -> LeftOut {
        LeftOut(self.0 | 1 << one as u8)
    }

    /// Returns true if it is among them.
    pub fn has(self, one: Optional) -> bool {
        self.0 >> one as u8 & 1 != 0
    }

    /// Returns true if there is one.
    pub fn any(self) -> bool {
        self.0 != 0
    }
}
