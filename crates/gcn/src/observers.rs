//! Several observers of one run.

use std::sync::Arc;

use gcn_emu::dispatch::observers::{About, Observe, Observer, Scene, Who};
use gcn_emu::engine::Stop;
use gcn_emu::probe::Probe;

/// Combines observers, which are called in order; `None` if there are none.
pub fn all(mut list: Vec<Arc<dyn Observe>>) -> Option<Arc<dyn Observe>> {
    match list.len() {
        0 | 1 => list.pop(),
        _ => Some(Arc::new(Several(list))),
    }
}

struct Several(Vec<Arc<dyn Observe>>);

impl Observe for Several {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Each(self.0.iter().map(|o| o.observer()).collect()))
    }

    fn probes(&self) -> bool {
        self.0.iter().any(|o| o.probes())
    }

    fn ordered(&self) -> bool {
        self.0.iter().any(|o| o.ordered())
    }
}

struct Each(Vec<Box<dyn Observer>>);

impl Observer for Each {
    fn before(&mut self, who: Who, scene: &Scene<'_>) {
        self.0.iter_mut().for_each(|o| o.before(who, scene));
    }

    fn after(&mut self, who: Who, scene: &Scene<'_>, stop: &Stop) {
        self.0.iter_mut().for_each(|o| o.after(who, scene, stop));
    }

    fn begin(&mut self, about: &About<'_>) {
        self.0.iter_mut().for_each(|o| o.begin(about));
    }

    /// The probe of the only observer that has one: the checker.
    fn probe(&self) -> Option<&dyn Probe> {
        self.0.iter().find_map(|o| o.probe())
    }
}
