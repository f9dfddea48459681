//! The library's GPU: its errors, and launches from several threads.

use gcn::emu::dispatch::RunError;
use gcn::gpu::{Error, Mismatch};
use gcn::{Arg, Gpu, Target};

/// The path of a compiled kernel file of testdata.
fn kernel(name: &str, arch: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/../../testdata/kernels/{name}-{arch}.co")
}

#[test]
fn errors_name_their_cause() {
    let gfx900 = Target::parse("gfx900").expect("a target");
    let gpu = Gpu::new(gfx900).expect("a GPU");
    assert!(matches!(gpu.load(b"nothing"), Err(Error::Object(_))));
    assert!(matches!(gpu.load_file("/none"), Err(Error::File { .. })));
    assert!(matches!(
        gpu.load_file(kernel("vadd", "gfx803")),
        Err(Error::Load(_))
    ));
    assert!(matches!(
        gpu.assemble("v_nothing v0"),
        Err(Error::Assembly { .. })
    ));
    let program = gpu.load_file(kernel("vadd", "gfx900")).expect("a program");
    assert!(matches!(
        program.kernel("none"),
        Err(Error::NoKernel { .. })
    ));
    assert!(matches!(
        program.variable::<u32>("none"),
        Err(Error::NoVariable(_))
    ));
    let vadd = program.kernel("vadd").expect("a kernel");
    let a = gpu.buffer(&[1.0f32; 64]).expect("a buffer");
    let launch = || vadd.launch([64], [64]).arg(&a).arg(&a);
    let error = launch().run().expect_err("two of four");
    assert!(
        matches!(error, Error::ArgumentCount { given: 2, .. }),
        "{error}"
    );
    for (third, fourth, expected) in [
        (Arg::from(1u32), Arg::from(1u32), Mismatch::Buffer),
        (Arg::from(&a), Arg::from(&a), Mismatch::Value),
        (Arg::Local(4), Arg::from(1u32), Mismatch::Buffer),
        (
            Arg::from(&a),
            Arg::from(1u8),
            Mismatch::Size {
                expected: 4,
                given: 1,
            },
        ),
    ] {
        let error = launch()
            .arg(third)
            .arg(fourth)
            .run()
            .expect_err("a mismatch");
        assert!(
            matches!(&error, Error::Argument { mismatch, .. } if *mismatch == expected),
            "{error}"
        );
    }
    assert!(matches!(
        a.read_range(60, 5),
        Err(Error::Range { len: 64, .. })
    ));
    let error = vadd
        .launch([64], [2048])
        .arg(&a)
        .arg(&a)
        .arg(&a)
        .arg(1u32)
        .run();
    assert!(matches!(error, Err(Error::Run(RunError::Launch { .. }))));
    // The memory of a buffer is freed with its last owner.
    let free = gpu.machine().memory.free_bytes();
    let arg = {
        let b = gpu.zeros::<u64>(1000).expect("a buffer");
        assert!(gpu.machine().memory.free_bytes() < free);
        b.at(5).expect("an address")
    };
    assert!(gpu.machine().memory.free_bytes() < free);
    drop(arg);
    assert_eq!(gpu.machine().memory.free_bytes(), free);
    drop((vadd, program));
    assert!(gpu.machine().memory.free_bytes() > free);
}

/// Kernels of one GPU run concurrently on several threads, through shared references.
#[test]
fn launches_side_by_side() {
    let gpu = Gpu::new(Target::parse("gfx900").expect("a target")).expect("a GPU");
    let program = gpu.load_file(kernel("vadd", "gfx900")).expect("a program");
    std::thread::scope(|scope| {
        for n in 0..4u8 {
            let (gpu, program) = (&gpu, &program);
            scope.spawn(move || {
                let vadd = program.kernel("vadd").expect("a kernel");
                let a = gpu.buffer(&[f32::from(n); 500]).expect("a buffer");
                let sum = gpu.zeros::<f32>(500).expect("a buffer");
                let launch = vadd
                    .launch([500], [64])
                    .arg(&a)
                    .arg(&a)
                    .arg(&sum)
                    .arg(500u32);
                let launch = launch.threads(2);
                for _ in 0..5 {
                    assert_eq!(launch.run().expect("a run").waves, 8);
                }
                assert_eq!(sum.read().expect("elements"), [2.0 * f32::from(n); 500]);
            });
        }
    });
}
