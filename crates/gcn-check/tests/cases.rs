//! The cases of testdata/check: each check reports exactly the marked findings, on every target that a case names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gcn_asm::{Options, assemble};
use gcn_check::report::{Check, Severity};
use gcn_check::statically;
use gcn_isa::access::InstructionTable;
use gcn_isa::hazard::{HAZARDS, Rule};
use gcn_isa::target::Target;
use gcn_object::read::CodeObject;

struct Case {
    name: String,
    targets: Vec<String>,
    function: bool,
    /// The code, and the expected reports by instruction number.
    code: String,
    marks: BTreeMap<usize, BTreeSet<(Severity, String)>>,
}

fn cases(check: Check) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/check");
    let path = folder.join(format!("{}.s", check.name()));
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let mut cases: Vec<Case> = Vec::new();
    let mut instructions = 0;
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("== ") {
            let mut words = header.split_whitespace();
            let name = words.next().expect("a case has a name").to_string();
            let (functions, targets): (Vec<&str>, Vec<&str>) =
                words.partition(|word| *word == "function");
            cases.push(Case {
                name,
                targets: targets.into_iter().map(String::from).collect(),
                function: !functions.is_empty(),
                code: String::new(),
                marks: BTreeMap::new(),
            });
            instructions = 0;
            continue;
        }
        let case = cases.last_mut().expect("a file begins with a case");
        let (code, mark) = line.split_once(';').unwrap_or((line, ""));
        case.code.push_str(code.trim());
        case.code.push('\n');
        if code.trim().is_empty() || code.trim().ends_with(':') {
            continue;
        }
        let mut words = mark.split_whitespace();
        while let (Some(sign), Some(rule)) = (words.next(), words.next()) {
            let severity = match sign {
                "!" => Severity::Error,
                "?" => Severity::Note,
                _ => panic!(
                    "{}: a mark is `! RULE` or `? RULE`, not `{mark}`",
                    case.name
                ),
            };
            case.marks
                .entry(instructions)
                .or_default()
                .insert((severity, rule.to_string()));
        }
        instructions += 1;
    }
    cases
}

/// Returns the reports of a case by instruction number.
fn reported(
    case: &Case,
    target: &str,
    check: Check,
) -> BTreeMap<usize, BTreeSet<(Severity, String)>> {
    let (kind, function) = match case.function {
        true => ("s_endpgm", format!(".type f,@function\nf:\n{}", case.code)),
        false => (case.code.as_str(), String::new()),
    };
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n.text\nk:\n{kind}\n{function}\n.rodata\n.p2align 6\n\
         .amdhsa_kernel k\n.amdhsa_next_free_vgpr 32\n.amdhsa_next_free_sgpr 60\n\
         .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n"
    );
    let assembled = assemble(&source, &case.name, &Options::default());
    let object = assembled
        .object
        .unwrap_or_else(|| panic!("{} {target}: {:?}", case.name, assembled.diagnostics));
    let bytes = object.loadable().expect("it links");
    let object = CodeObject::parse(&bytes).expect("it can be read");
    let target = Target::parse(object.target_name()).expect("a target");
    let table = InstructionTable::new(target);
    let options = statically::Options {
        checks: BTreeSet::from([check]),
        notes: true,
    };
    let name = if case.function { "f" } else { "k" };
    let checked =
        statically::check(&object, &table, Some(name), &options).expect("it can be checked");
    assert_eq!(checked.len(), 1);
    let mut found: BTreeMap<usize, BTreeSet<(Severity, String)>> = BTreeMap::new();
    for finding in &checked[0].findings {
        let rules = found.entry(finding.site).or_default();
        rules.insert((finding.severity, finding.rule.to_string()));
    }
    found
}

fn run(check: Check) {
    let mut wrong = Vec::new();
    for case in cases(check) {
        for target in &case.targets {
            let found = reported(&case, target, check);
            if found != case.marks {
                wrong.push(format!(
                    "{} {target}: reported {found:?}, marked {:?}",
                    case.name, case.marks
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hazards() {
    run(Check::Hazard);
}

#[test]
fn waits() {
    run(Check::Waitcnt);
}

#[test]
fn uninitialised_registers() {
    run(Check::Uninit);
}

/// Each row of the table has a case that reports it in every generation where it is certain.
#[test]
fn every_hazard_has_a_case() {
    let cases = cases(Check::Hazard);
    for hazard in &HAZARDS {
        for (n, waits) in hazard.waits.iter().enumerate() {
            // VCC's SGPRs are known only on gfx6 and gfx7.
            let unknown = hazard.rule == Rule::VccAlias;
            if *waits == 0 || unknown || hazard.disputed[n] {
                continue;
            }
            let generation = gcn_isa::target::Gen::ALL[n];
            let has = cases.iter().any(|case| {
                let marked = case.marks.values().flatten().any(|m| m.1 == hazard.name);
                let targets = case
                    .targets
                    .iter()
                    .filter_map(|t| Target::parse(t.split(':').next()?));
                marked && targets.into_iter().any(|t| t.generation() == generation)
            });
            assert!(has, "no case for {} of {}", hazard.name, generation.name());
        }
    }
}
