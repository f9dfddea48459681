//! The native module of the Python package `gcn` (docs/python.md).

mod campaign;
mod cs;
mod error;
mod gpu;
mod pass;
mod plans;
mod tools;
mod uc;

use pyo3::prelude::*;

#[pymodule]
fn _gcn(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<cs::Cs>()?;
    module.add_class::<cs::CsIter>()?;
    module.add_class::<cs::CsInsn>()?;
    module.add_class::<cs::CsOp>()?;
    module.add_class::<cs::Ks>()?;
    module.add_class::<gpu::Gpu>()?;
    module.add_class::<gpu::Program>()?;
    module.add_class::<gpu::Kernel>()?;
    module.add_class::<gpu::Buffer>()?;
    module.add_class::<gpu::Local>()?;
    module.add_class::<gpu::Stats>()?;
    module.add_function(wrap_pyfunction!(tools::assemble, module)?)?;
    module.add_function(wrap_pyfunction!(tools::find_clang, module)?)?;
    module.add_function(wrap_pyfunction!(tools::compile_file, module)?)?;
    module.add_function(wrap_pyfunction!(tools::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(tools::check, module)?)?;
    module.add_function(wrap_pyfunction!(tools::info, module)?)?;
    module.add_function(wrap_pyfunction!(tools::dis, module)?)?;
    module.add_function(wrap_pyfunction!(tools::doc, module)?)?;
    module.add_function(wrap_pyfunction!(tools::eval_json, module)?)?;
    module.add_class::<uc::Uc>()?;
    module.add_class::<campaign::Campaign>()?;
    module.add_class::<campaign::Journal>()?;
    module.add_function(wrap_pyfunction!(plans::run_plan, module)?)?;
    module.add_function(wrap_pyfunction!(plans::run_shard, module)?)?;
    module.add_function(wrap_pyfunction!(plans::merge, module)?)?;
    for (name, value) in [
        ("UC_HOOK_CODE", uc::HOOK_CODE),
        ("UC_HOOK_MEM_READ", uc::HOOK_MEM_READ),
        ("UC_HOOK_MEM_WRITE", uc::HOOK_MEM_WRITE),
        ("UC_MEM_READ", uc::MEM_READ),
        ("UC_MEM_WRITE", uc::MEM_WRITE),
    ] {
        module.add(name, value)?;
    }
    cs::constants(module)
}
