//! `gcn debug --dap`: an editor's requests over pipes, with known answers.

use std::io::Write;

use serde_json::{Value, json};

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels");

mod dap;
use dap::Editor;

fn vadd() -> Value {
    json!({
        "program": format!("{KERNELS}/vadd-gfx900.co"), "kernel": "vadd", "grid": [256, 1, 1], "group": "128",
        "args": ["buf:randf32:1024:1", "buf:randf32:1024:2", "buf:zero:1024", "u32:256"], "stopOnEntry": true,
    })
}

#[test]
fn an_editor_stops_looks_changes_and_goes_back() {
    let mut editor = Editor::start();
    let able = editor.body("initialize", json!({"adapterID": "gcn"}));
    assert_eq!(able["supportsStepBack"], true);
    editor.body("launch", vadd());
    editor.event("initialized");
    let at = json!({"breakpoints": [{"instructionReference": "0x100002ca4"}, {"instructionReference": "0x10"}]});
    let set = editor.body("setInstructionBreakpoints", at);
    assert_eq!(set["breakpoints"][0]["verified"], true);
    assert_eq!(set["breakpoints"][1]["verified"], false);
    editor.body("configurationDone", json!({}));
    assert_eq!(editor.event("stopped")["reason"], "entry");
    let threads = editor.body("threads", json!({}));
    assert_eq!(threads["threads"][0]["name"], "(0,0,0) wave 0, vadd");
    assert_eq!(threads["threads"].as_array().unwrap().len(), 2);
    editor.body("continue", json!({"threadId": 1}));
    let stopped = editor.event("stopped");
    assert_eq!(stopped["reason"], "breakpoint");
    assert_eq!(stopped["hitBreakpointIds"][0], set["breakpoints"][0]["id"]);

    let trace = editor.body("stackTrace", json!({"threadId": 1}));
    let frame = &trace["stackFrames"][0];
    assert_eq!(frame["name"], "vadd+0xa4");
    assert_eq!(frame["instructionPointerReference"], "0x100002ca4");
    let scopes = editor.body("scopes", json!({"frameId": frame["id"]}));
    let reference = |name: &str| {
        let mut all = scopes["scopes"].as_array().unwrap().iter();
        all.find(|s| s["name"] == name).unwrap()["variablesReference"].clone()
    };
    let special = editor.body(
        "variables",
        json!({"variablesReference": reference("Special registers")}),
    );
    let exec = special["variables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|v| v["name"] == "exec");
    assert_eq!(exec.unwrap()["value"], "0xffffffffffffffff");
    let page = json!({"variablesReference": reference("VGPRs"), "start": 2, "count": 1});
    let vgprs = editor.body("variables", page);
    let v2 = &vgprs["variables"][0];
    assert_eq!(
        (&v2["name"], &v2["indexedVariables"]),
        (&json!("v2"), &json!(64))
    );
    let lanes = json!({"variablesReference": v2["variablesReference"], "start": 3, "count": 2});
    let lanes_of = editor.body("variables", lanes);
    let lane = &lanes_of["variables"][0];
    assert_eq!(
        (&lane["name"], &lane["evaluateName"]),
        (&json!("[3]"), &json!("v2[3]"))
    );
    assert_eq!(lanes_of["variables"].as_array().unwrap().len(), 2);

    // A changed lane is stored.
    let set =
        json!({"variablesReference": v2["variablesReference"], "name": "[3]", "value": "2.5f"});
    assert_eq!(editor.body("setVariable", set)["value"], "0x40200000 (2.5)");
    let info = editor.body(
        "dataBreakpointInfo",
        json!({"name": "*(u32*)0x10000900c", "frameId": frame["id"]}),
    );
    let data = json!({"breakpoints": [{"dataId": info["dataId"]}]});
    assert_eq!(
        editor.body("setDataBreakpoints", data)["breakpoints"][0]["verified"],
        true
    );
    editor.body("next", json!({"threadId": 1, "granularity": "instruction"}));
    assert_eq!(editor.event("stopped")["reason"], "data breakpoint");
    let read = json!({"memoryReference": "0x10000900c", "count": 4});
    assert_eq!(editor.body("readMemory", read.clone())["data"], "AAAgQA==");
    editor.body(
        "stepBack",
        json!({"threadId": 1, "granularity": "instruction"}),
    );
    assert_eq!(editor.event("stopped")["reason"], "step");
    assert_eq!(editor.body("readMemory", read)["data"], "AAAAAA==");
    let write = json!({"memoryReference": "0x100005000", "data": "AAAgQA=="});
    assert_eq!(editor.body("writeMemory", write)["bytesWritten"], 4);
    let value = editor.body(
        "evaluate",
        json!({"expression": "f32(mem32(0x100005000))", "context": "watch"}),
    );
    assert_eq!(value["result"], "2.5");
    let who = editor.body(
        "evaluate",
        json!({"expression": "who v2[1]", "context": "repl"}),
    );
    assert!(
        who["result"]
            .as_str()
            .unwrap()
            .contains("v_add_f32_e32 v2, v6, v7"),
        "{who}"
    );

    let listing =
        json!({"memoryReference": "0x100002ca4", "instructionOffset": -2, "instructionCount": 5});
    let listing = editor.body("disassemble", listing)["instructions"].clone();
    assert_eq!(listing.as_array().unwrap().len(), 5);
    assert_eq!(listing[1]["instruction"], "v_add_f32_e32 v2, v6, v7");
    assert_eq!(listing[2]["address"], "0x100002ca4");
    assert_eq!(
        listing[2]["instruction"],
        "global_store_dword v[0:1], v2, off"
    );
    assert_eq!(listing[3]["instruction"], "s_endpgm");

    editor.body("reverseContinue", json!({"threadId": 1}));
    assert_eq!(editor.event("stopped")["reason"], "entry");
    editor.body("setInstructionBreakpoints", json!({"breakpoints": []}));
    editor.body("setDataBreakpoints", json!({"breakpoints": []}));
    editor.body("continue", json!({"threadId": 1}));
    let end = editor.event("stopped");
    assert_eq!(end["description"], "the last launch has ended");
    editor.body("continue", json!({"threadId": end["threadId"]}));
    editor.event("terminated");
    editor.body("disconnect", json!({}));
    assert!(editor.child.wait().unwrap().success());
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut editor = Editor::start();
    editor.body("initialize", json!({}));
    let message = |answer: Value| {
        assert_eq!(answer["success"], false, "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    };
    assert!(
        message(editor.ask("readMemory", json!({"memoryReference": "0x10", "count": 1})))
            .contains("no program is launched")
    );
    assert!(message(editor.ask("launch", json!({}))).contains("has no `program`"));
    assert!(
        message(editor.ask("launch", json!({"program": "nowhere.co"})))
            .contains("`grid` and `group`")
    );
    let nowhere = json!({"program": "nowhere.co", "grid": 64, "group": 64});
    assert!(message(editor.ask("launch", nowhere)).contains("nowhere.co"));
    assert!(message(editor.ask("fly", json!({}))).contains("`fly` is no request"));
    editor.body("launch", vadd());
    let read = json!({"memoryReference": "here", "count": 4});
    assert!(message(editor.ask("readMemory", read)).contains("is no address"));
    assert!(message(editor.ask("stepOut", json!({"threadId": 1}))).len() > 10);
    let set = editor.body(
        "setBreakpoints",
        json!({"source": {"path": "/a/vadd.cl"}, "breakpoints": [{"line": 3}]}),
    );
    assert_eq!(set["breakpoints"][0]["verified"], false);
    editor.input.write_all(b"nonsense\r\n").unwrap();
    assert_eq!(editor.child.wait().unwrap().code(), Some(1));
}

/// An editor's breakpoint on a line of assembly, and steps by its lines.
#[test]
fn an_editor_stops_at_lines_of_a_source() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let source = std::fs::canonicalize(format!("{examples}/saxpy.s")).expect("an example");
    let mut editor = Editor::start();
    editor.body("initialize", json!({"adapterID": "gcn"}));
    let plan = json!({"program": format!("{examples}/saxpy.toml")});
    editor.body("launch", plan);
    editor.event("initialized");
    let at = json!({"source": {"path": source}, "breakpoints": [{"line": 27}, {"line": 35}, {"line": 1000}]});
    let set = editor.body("setBreakpoints", at);
    let of = |n: usize| {
        let one = &set["breakpoints"][n];
        (one["verified"].clone(), one["line"].clone())
    };
    assert_eq!(of(0), (json!(true), json!(27)), "{set}");
    // A label has no code; the next line does.
    assert_eq!(of(1).0, json!(true), "{set}");
    assert_eq!(of(2).0, json!(false), "{set}");
    editor.body("configurationDone", json!({}));
    assert_eq!(editor.event("stopped")["reason"], "breakpoint");
    let here = |editor: &mut Editor| {
        let trace = editor.body("stackTrace", json!({"threadId": 1}));
        let frame = &trace["stackFrames"][0];
        assert_eq!(frame["source"]["path"], json!(source), "{frame}");
        frame["line"].clone()
    };
    assert_eq!(here(&mut editor), 27);
    editor.body("next", json!({"threadId": 1}));
    assert_eq!(editor.event("stopped")["reason"], "step");
    assert_eq!(here(&mut editor), 28);
    editor.body("disconnect", json!({}));
    assert!(editor.child.wait().unwrap().success());
}
