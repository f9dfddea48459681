//! Tests of the server's answers to requests.

mod common;

use common::{Answer, Running, raw, start};
use serde_json::{Value, json};

#[test]
fn only_requests_with_the_token_are_answered() {
    let server = start(None);
    let token = &server.token;
    assert_eq!(token.len(), 32);
    let page = server.get(&format!("/?token={token}"), "");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("v_mbcnt_lo_u32_b32"), "{}", page.body);
    assert_eq!(server.get(&format!("/{token}/"), "").status, 200);
    assert_eq!(server.get(&format!("/{token}/app.js"), "").status, 200);
    assert_eq!(server.get(&format!("/{token}/style.css"), "").status, 200);
    let wrong = "0".repeat(32);
    for path in [
        "/",
        "/app.js",
        "/?token=",
        "/api/code",
        "/manual/s_endpgm.html",
        &format!("/?token={wrong}"),
        &format!("/{wrong}/"),
        &format!("/{}/", &token[..31]),
        &format!("/?token={token}0"),
    ] {
        let answer = server.get(path, "");
        assert_eq!(answer.status, 403, "{path}");
        assert!(!answer.body.contains(token.as_str()), "{path}");
    }
}

#[test]
fn requests_of_other_pages_are_refused() {
    let server = start(None);
    let path = format!("/{}/", server.token);
    let (_, port) = server.host.split_once(':').expect("it has a port");
    let send = |host: &str, more: &str| -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
        raw(&server.host, request.as_bytes()).expect("the server answers")
    };
    assert_eq!(send(&server.host, "").status, 200);
    assert_eq!(send(&format!("localhost:{port}"), "").status, 200);
    for host in [
        "example.org",
        &format!("example.org:{port}"),
        "127.0.0.1",
        "",
    ] {
        assert_eq!(send(host, "").status, 403, "{host}");
    }
    let own = format!("Origin: http://{}\r\n", server.host);
    assert_eq!(send(&server.host, &own).status, 200);
    for origin in [
        "http://example.org",
        "null",
        "https://127.0.0.1",
        "http://127.0.0.1:1",
    ] {
        let header = format!("Origin: {origin}\r\n");
        assert_eq!(send(&server.host, &header).status, 403, "{origin}");
    }
    let body = json!({"source": "s_nop 0", "arch": "gfx900", "syntax": "auto"}).to_string();
    let cross = server.post_text("code", &body, "Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(cross.status, 403);
    // No page of another origin may read an answer or put it into a frame, and the page loads nothing from elsewhere.
    let head = server.get(&path, "").head.to_lowercase();
    assert!(!head.contains("access-control-allow"), "{head}");
    assert!(
        head.contains("content-security-policy: default-src 'none'"),
        "{head}"
    );
    assert!(head.contains("frame-ancestors 'self'"), "{head}");
    assert!(head.contains("referrer-policy: no-referrer"), "{head}");
}

#[test]
fn malformed_requests_are_refused_and_the_server_goes_on() {
    let server = start(None);
    let (token, host) = (&server.token, &server.host);
    let long = "x".repeat(20_000);
    let many: String = (0..80).map(|n| format!("X{n}: 1\r\n")).collect();
    let cases: Vec<(u16, String)> = vec![
        (400, "nonsense\r\n\r\n".into()),
        (400, "GET  / HTTP/1.1\r\n\r\n".into()),
        (400, "GET / HTTP/9.9\r\n\r\n".into()),
        (400, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n".into()),
        (400, "GET / HTTP/1.1\r\nHost".into()),
        (
            405,
            format!("DELETE /{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        ),
        (431, format!("GET /{long} HTTP/1.1\r\n\r\n")),
        (431, format!("GET / HTTP/1.1\r\n{many}\r\n")),
        (
            411,
            format!("POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        ),
        (
            411,
            format!(
                "POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
        ),
        (
            400,
            format!("POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\nContent-Length: x\r\n\r\n"),
        ),
        (
            400,
            format!(
                "POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\n\r\nabc"
            ),
        ),
        (
            400,
            format!(
                "POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc"
            ),
        ),
        (
            413,
            format!(
                "POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999\r\n\r\n"
            ),
        ),
        (
            413,
            format!(
                "POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999999999999999\r\n\r\n"
            ),
        ),
        (
            415,
            format!(
                "POST /{token}/api/code HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}"
            ),
        ),
        (
            405,
            format!("GET /{token}/api/code HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        ),
        (
            405,
            format!("POST /{token}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            404,
            format!("GET /{token}/../Cargo.toml HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        ),
        (
            404,
            format!("GET /{token}/manual/../style HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        ),
    ];
    for (status, request) in &cases {
        let answer = raw(host, request.as_bytes()).expect("the server answers");
        let shown: String = request.chars().take(80).collect();
        assert_eq!(answer.status, *status, "{shown}: {}", answer.body);
    }
    let bodies = [
        "",
        "{",
        "[]",
        "1",
        "{}",
        "{\"source\":1}",
        "{\"source\":\"\",\"arch\":\"gfx1100\",\"syntax\":\"auto\"}",
        "{\"source\":\"\",\"arch\":\"gfx900\",\"syntax\":\"intel\"}",
        "{\"session\":-1,\"way\":\"forward\"}",
        "{\"session\":1,\"way\":1}",
        "{\"session\":1,\"way\":\"forward\",\"stops\":[\"a\"]}",
    ];
    for body in bodies {
        for name in ["code", "start", "step", "memory", "check"] {
            let answer = server.post_text(name, body, "");
            let told =
                answer.status == 400 || answer.status == 200 && answer.json()["error"].is_string();
            assert!(told, "{name} {body}: {answer:?}");
        }
    }
    assert_eq!(server.post_text("unknown", "{}", "").status, 404);
    assert_eq!(server.get(&format!("/{token}/"), "").status, 200);
}

#[test]
fn a_connection_that_sends_nothing_does_not_stop_the_server() {
    let server = start(None);
    let idle: Vec<_> = (0..8)
        .map(|_| std::net::TcpStream::connect(&server.host).expect("the server listens"))
        .collect();
    assert_eq!(server.get(&format!("/{}/", server.token), "").status, 200);
    drop(idle);
}

#[test]
fn code_has_bytes_fields_operands_both_spellings_and_costs() {
    let server = start(None);
    let view = server.code(
        "gfx900",
        "start:\n  v_add_f32 v2, s4, v1\n  s_branch start\n",
    );
    assert_eq!(view["ok"], true);
    assert_eq!(view["snippet"], true);
    let rows = view["rows"].as_array().expect("there are rows");
    assert_eq!(rows.len(), 2);
    let add = &rows[0];
    assert_eq!((&add["pc"], &add["line"]), (&json!(0), &json!(2)));
    assert_eq!(add["bytes"], "04020402");
    assert_eq!(add["llvm"], "v_add_f32_e32 v2, s4, v1");
    assert_eq!(add["clrx"], "v_add_f32 v2, s4, v1");
    let fields = json!([
        ["SRC0", 0, 9, 4, 1],
        ["SRC1", 9, 8, 1, 2],
        ["VDST", 17, 8, 2, 0],
        ["OP", 25, 6, 1, -1],
        ["VOP2", 31, 1, 0, -1]
    ]);
    assert_eq!(add["fields"], fields);
    assert_eq!(add["operands"][1]["reg"], json!(["s", 4, 1]));
    assert_eq!(add["operands"][1]["about"], "first source");
    assert_eq!(
        (&add["live_vgprs"], &add["live_sgprs"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(add["cycles"], 4);
    let branch = &rows[1];
    assert_eq!(branch["target"], 0);
    assert_eq!(branch["llvm"], "s_branch start");
}

#[test]
fn fields_cover_each_bit_once_and_hold_the_words() {
    let server = start(None);
    let cases = [
        (
            "gfx600",
            "v_mad_f32 v0, abs(v1), -s2, 1.0 clamp\ns_load_dwordx4 s[4:7], s[0:1], 0x10\nv_cmp_lt_f32 vcc, v0, v1",
        ),
        (
            "gfx803",
            "v_mov_b32_dpp v0, v1 quad_perm:[1,0,2,3] row_mask:0xf bank_mask:0xf\nbuffer_load_dword v0, v1, s[4:7], s3 offen offset:12\ns_mov_b32 s0, 0x12345678",
        ),
        (
            "gfx900",
            "global_load_dword v0, v1, s[2:3] offset:16\nds_read2_b32 v[0:1], v2 offset0:1 offset1:2\nv_pk_add_f16 v0, v1, v2\nv_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD\nimage_load v[0:3], v[4:5], s[8:15] dmask:0xf\nexp mrt0 v0, v1, v2, v3 done vm",
        ),
    ];
    for (arch, source) in cases {
        let view = server.code(arch, source);
        assert_eq!(view["ok"], true, "{view}");
        for row in view["rows"].as_array().expect("rows") {
            let bytes = row["bytes"].as_str().expect("hex");
            let mut word = 0u128;
            for n in 0..bytes.len() / 2 {
                let byte = u8::from_str_radix(&bytes[2 * n..2 * n + 2], 16).expect("hex");
                word |= u128::from(byte) << (8 * n);
            }
            let (mut seen, mut values) = (0u128, 0u128);
            for field in row["fields"].as_array().expect("fields") {
                let number = |n: usize| field[n].as_u64().expect("a number");
                let (lo, len, value) = (number(1), number(2), u128::from(number(3)));
                let mask = ((1u128 << len) - 1) << lo;
                assert_eq!(seen & mask, 0, "{row}");
                (seen, values) = (seen | mask, values | value << lo);
            }
            // Bits that no field covers must be zero here.
            assert_eq!(values, word, "{row}");
            for (n, operand) in row["operands"]
                .as_array()
                .expect("operands")
                .iter()
                .enumerate()
            {
                let shown = operand["llvm"].as_str().is_some_and(|t| !t.is_empty());
                let implied = operand["llvm"] == "vcc";
                let fields = row["fields"].as_array().expect("fields");
                let held = fields.iter().any(|f| f[4] == json!(n));
                assert!(!shown || implied || held, "operand {n} of {row}");
            }
        }
    }
}

#[test]
fn mistakes_have_a_line_and_a_column() {
    let server = start(None);
    let view = server.code("gfx900", "  s_nop 0\n  v_add_f32 v0, v1\n");
    assert_eq!(view["ok"], false);
    let d = &view["diagnostics"][0];
    assert_eq!((&d["level"], &d["line"]), (&json!("error"), &json!(2)));
    assert!(d["column"].as_u64().is_some_and(|c| c > 1), "{d}");
    // Columns are those of JavaScript's strings.
    let view = server.code("gfx900", "/* 𝄞é */ s_foo 1\n");
    assert_eq!(view["diagnostics"][0]["start"], 10, "{view}");
    assert_eq!(view["diagnostics"][0]["length"], 5);
}

#[test]
fn hostile_source_ends_with_a_message() {
    let server = start(None);
    let cases = [
        ".rept 1000000000\ns_nop 0\n.endr\n",
        ".macro a\na\na\n.endm\na\n",
        ".space 0x7fffffff\n",
        ".fill 100000000, 8, 1\n",
        ".include \"/etc/passwd\"\n",
        ".incbin \"/etc/passwd\"\n",
        "\u{0}\u{0}\u{0}",
    ];
    for source in cases {
        let view = server.code("gfx900", source);
        assert_eq!(view["ok"], false, "{source:?}: {view}");
        let message = view["diagnostics"][0]["message"].as_str();
        assert!(message.is_some_and(|m| !m.is_empty()), "{source:?}: {view}");
        assert!(!view.to_string().contains("root:"), "{source:?}");
    }
    let large = server.code("gfx900", &"s_nop 0\n".repeat(200_000));
    assert_eq!(large["ok"], false);
    let rows = server.code("gfx900", &"s_nop 0\n".repeat(50_000));
    assert_eq!((&rows["ok"], &rows["more"]), (&json!(true), &json!(true)));
}

#[test]
fn reports_of_the_checks_are_at_their_lines() {
    let server = start(None);
    let source = "s_load_dword s2, s[0:1], 0x0\n\n  s_add_u32 s4, s2, s3\ns_endpgm\n";
    let view = server.code("gfx900", source);
    let reports = view["reports"].as_array().expect("a list");
    assert_eq!(reports.len(), 1, "{view}");
    assert_eq!(
        (&reports[0]["check"], &reports[0]["line"]),
        (&json!("waitcnt"), &json!(3))
    );
    assert_eq!(reports[0]["related"][0]["line"], 1);
    let waited = source.replace("\n\n", "\ns_waitcnt lgkmcnt(0)\n");
    assert_eq!(server.code("gfx900", &waited)["reports"], json!([]));
}

/// Starts a run of a snippet.
fn begin(server: &Running, source: &str, registers: &str) -> Value {
    let body = json!({
        "source": source, "arch": "gfx900", "syntax": "auto", "registers": registers,
        "kernel": "", "grid": "64", "group": "64", "args": "",
    });
    server.post("start", &body)
}

fn step(server: &Running, session: &Value, way: &str, count: u64, stops: &[u64]) -> Value {
    let body = json!({"session": session, "way": way, "count": count, "stops": stops});
    server.post("step", &body)
}

/// A VGPR of a state.
fn vgpr(state: &Value, number: usize) -> Vec<u32> {
    let text = state["vgprs"]["data"].as_str().expect("base64");
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for part in text.as_bytes().chunks(4) {
        let bits = part
            .iter()
            .fold(0u32, |bits, c| bits << 6 | u32::from(digit(*c) & 63));
        let pads = part.iter().filter(|c| **c == b'=').count();
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - pads]);
    }
    let words = bytes
        .chunks(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    words.skip(64 * number).take(64).collect()
}

#[test]
fn a_snippet_runs_forward_and_back() {
    let server = start(None);
    let source = "v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0\nv_cmp_gt_u32 vcc, 8, v0\n\
                  s_and_saveexec_b64 s[2:3], vcc\nv_add_u32 v1, 5, v0\ns_mov_b64 exec, s[2:3]\ns_endpgm\n";
    let begun = begin(&server, source, "s5 = 7\nv1 = 1.0");
    let session = &begun["session"];
    let first = &begun["state"];
    assert_eq!(
        (&first["step"], &first["pc"], &first["end"]),
        (&json!(0), &json!(0), &Value::Null)
    );
    assert_eq!(vgpr(first, 1), [0x3f80_0000; 64]);
    let mut states = vec![first.clone()];
    for n in 1..=6 {
        let answer = step(&server, session, "forward", 1, &[]);
        assert_eq!(answer["state"]["step"], n);
        states.push(answer["state"].clone());
    }
    let masked = &states[5];
    assert_eq!(masked["exec"], "0xff");
    let expected: Vec<u32> = (0..64)
        .map(|l| if l < 8 { l + 5 } else { 0x3f80_0000 })
        .collect();
    assert_eq!(vgpr(masked, 1), expected);
    assert_eq!(masked["masks"][0]["name"], "s[2:3]");
    assert_eq!(masked["masks"][0]["lanes"], "0xffffffffffffffff");
    for n in (0..6).rev() {
        let answer = step(&server, session, "back", 1, &[]);
        assert_eq!(answer["state"], states[n]);
    }
    let end = step(&server, session, "forward", 1000, &[]);
    assert_eq!(end["state"]["end"]["kind"], "endpgm");
    // To breakpoints, in both directions.
    let at = states[4]["pc"].as_u64().expect("an address");
    let back = step(&server, session, "back", 1_000_000, &[at]);
    assert_eq!(back["state"], states[4]);
    let start = step(&server, session, "back", 1_000_000, &[at]);
    assert_eq!(start["state"], states[0]);
    let on = step(&server, session, "forward", 1_000_000, &[at]);
    assert_eq!(on["state"], states[4]);
}

#[test]
fn a_loop_without_end_stops() {
    let server = start(None);
    let begun = begin(&server, "loop:\n s_add_u32 s0, s0, 1\n s_branch loop\n", "");
    let session = &begun["session"];
    let on = step(&server, session, "forward", u64::from(u32::MAX), &[]);
    assert_eq!(on["state"]["step"], 1_000_000);
    let more = step(&server, session, "forward", 1, &[]);
    assert!(
        more["error"]
            .as_str()
            .is_some_and(|e| e.contains("1000000")),
        "{more}"
    );
    let back = step(&server, session, "back", 1, &[]);
    assert_eq!(back["state"]["step"], 999_999);
}

#[test]
fn faults_and_mistakes_are_told() {
    let server = start(None);
    let begun = begin(&server, "global_load_dword v0, v[2:3], off\ns_endpgm\n", "");
    let fault = step(&server, &begun["session"], "forward", 5, &[]);
    assert_eq!(fault["state"]["end"]["kind"], "fault");
    let wrong = begin(&server, "s_nop 0", "s0 = 1\nv0 =");
    assert!(
        wrong["error"]
            .as_str()
            .is_some_and(|e| e.contains("line 2")),
        "{wrong}"
    );
    let wrong = begin(&server, "s_nop 0", "s500 = 1");
    assert!(
        wrong["error"]
            .as_str()
            .is_some_and(|e| e.contains("line 1")),
        "{wrong}"
    );
    let wrong = begin(&server, "s_nop 0", "lds[0xffffffff] = 1");
    assert!(wrong["error"].is_string(), "{wrong}");
    let wrong = begin(&server, "s_nope 0", "");
    assert_eq!(wrong["diagnostics"][0]["line"], 1);
    let gone = step(&server, &json!(12345), "forward", 1, &[]);
    assert!(gone["error"].is_string(), "{gone}");
}

#[test]
fn memory_and_lds_are_shown() {
    let server = start(None);
    let source =
        "ds_write_b32 v0, v1\ns_load_dword s2, s[0:1], 0x4\ns_waitcnt lgkmcnt(0)\ns_endpgm\n";
    let registers = "s[0:1] = 0x10000\nmem[0x10000] = 1, mem[0x10004] = 0xabcd\nv0 = 16, v1 = 9\nm0 = 0xffffffff";
    let begun = begin(&server, source, registers);
    let session = &begun["session"];
    let state = step(&server, session, "forward", 3, &[])["state"].clone();
    assert_eq!(state["sgprs"][2], 0xabcd);
    let read = |space: &str, at: &str, bytes: u64| {
        let body = json!({"session": session, "space": space, "at": at, "bytes": bytes});
        server.post("memory", &body)
    };
    assert_eq!(read("lds", "0x10", 8)["dwords"], json!([9, 0]));
    assert_eq!(read("memory", "0x10000", 8)["dwords"], json!([1, 0xabcd]));
    assert_eq!(
        read("memory", "0xfffffffffffffffc", 8)["dwords"],
        json!([null, null])
    );
    assert_eq!(read("lds", "0xfffffffc", 8)["dwords"], json!([null, null]));
    assert!(read("memory", "0x10001", 8)["error"].is_string());
    assert!(read("memory", "0x10000", 1 << 20)["error"].is_string());
}

/// The document of an example.
fn example(server: &Running, id: &str) -> Value {
    let path = format!("/{}/example/{id}", server.token);
    server.get(&path, "").json()
}

#[test]
fn a_kernel_runs_forward_and_back() {
    let server = start(None);
    let begun = server.post("start", &example(&server, "saxpy"));
    let session = &begun["session"];
    let first = &begun["state"];
    assert_eq!(
        (&first["step"], &first["moment"]),
        (&json!(0), &json!(0)),
        "{begun}"
    );
    assert_eq!(first["waves"].as_array().map(Vec::len), Some(4), "{first}");
    assert_eq!(first["waves"][0]["id"], "0,0,0:0");
    let select = |wave: &str| {
        let body = json!({"session": session, "way": "stay", "wave": wave});
        server.post("step", &body)
    };
    // The second wave steps alone; its lanes are 64 to 127.
    let second = select("0,0,0:1")["state"].clone();
    assert_eq!(second["step"], 0);
    let state = step(&server, session, "forward", 4, &[])["state"].clone();
    assert_eq!(state["step"], 4, "{state}");
    let lanes: Vec<u32> = (64..128).collect();
    assert_eq!(vgpr(&state, 0), lanes);
    let back = step(&server, session, "back", 1, &[])["state"].clone();
    assert_eq!(back["step"], 3);
    assert!(select("9,9,9:9")["error"].is_string());
    // To the end, where the result is in memory: y = 2 x + y for the first 200 elements.
    let end = step(&server, session, "forward", 1_000_000, &[])["state"].clone();
    assert_eq!(
        (&end["over"], &end["end"]["kind"]),
        (&json!(true), &json!("ended")),
        "{end}"
    );
    let floats = |n: usize| -> Vec<f32> {
        let body = json!({"session": session, "space": "memory", "at": end["regions"][n]["at"], "bytes": 1024});
        let list = server.post("memory", &body)["dwords"].clone();
        let list = list.as_array().expect("dwords").iter();
        list.map(|v| f32::from_bits(v.as_u64().expect("a dword") as u32))
            .collect()
    };
    let (x, after) = (floats(0), floats(1));
    let start = step(&server, session, "back", 1_000_000, &[])["state"].clone();
    assert_eq!(start["moment"], 0);
    let before = floats(1);
    for n in 0..256 {
        let expected = if n < 200 {
            2f32.mul_add(x[n], before[n])
        } else {
            before[n]
        };
        assert_eq!(after[n], expected, "element {n}");
    }
    // A breakpoint stops the first wave that reaches it, and the moment in a link gives the same state again.
    let rows = server.post("code", &example(&server, "saxpy"));
    let fma = rows["rows"].as_array().expect("rows").iter();
    let fma = fma
        .clone()
        .find(|r| r["row"] == "v_fma_f32")
        .expect("the instruction");
    let pc = fma["pc"].as_u64().expect("an address");
    let stop = step(&server, session, "forward", 1_000_000, &[pc])["state"].clone();
    assert_eq!(stop["pc"], pc);
    let again = server.post("start", &example(&server, "saxpy"));
    let body = json!({"session": again["session"], "way": "to", "count": stop["moment"]});
    let same = server.post("step", &body)["state"].clone();
    let body = json!({"session": again["session"], "way": "stay", "wave": "0,0,0:0"});
    let same = match same["pc"] == stop["pc"] {
        true => same,
        false => server.post("step", &body)["state"].clone(),
    };
    assert_eq!((&same["pc"], &same["vgprs"]), (&stop["pc"], &stop["vgprs"]));
}

#[test]
fn launches_are_limited_and_mistakes_are_told() {
    let server = start(None);
    let document = example(&server, "saxpy");
    let with = |key: &str, value: &str| {
        let mut changed = document.clone();
        changed[key] = value.into();
        changed
    };
    let cases = [
        ("grid", "x"),
        ("grid", "0"),
        ("grid", "1,2,3,4"),
        ("grid", "4294967295,4294967295"),
        ("group", "4096"),
        ("kernel", "nothing"),
        ("args", "buf:/etc/passwd\nbuf:zero:4\nu32:1\nf32:1"),
        ("args", "buf:zero:99999999999"),
        ("args", "buf:zero:4096\nbuf:zoro:4"),
        ("args", "u32:1"),
    ];
    for (key, value) in cases {
        for name in ["start", "check"] {
            let answer = server.post(name, &with(key, value));
            let error = answer["error"]
                .as_str()
                .or(answer["failed"].as_str())
                .unwrap_or("");
            // Too few arguments are an error for kernels with metadata; other kernels accept them.
            let told = !error.is_empty() && !error.contains("root:") || value == "u32:1";
            assert!(told, "{name} {key}={value}: {answer}");
            if value.contains("zoro") {
                assert!(error.contains("line 2"), "{error}");
            }
        }
    }
}

#[test]
fn a_kernel_without_end_stops() {
    let server = start(None);
    let mut document = example(&server, "saxpy");
    let source = document["source"].as_str().expect("source").to_string();
    document["source"] = source
        .replace("s_load_dwordx4", "s_branch saxpy\n s_load_dwordx4")
        .into();
    let begun = server.post("start", &document);
    let end = step(&server, &begun["session"], "forward", 1_000_000, &[]);
    let state = &end["state"];
    assert!(state["moment"].as_u64().is_some_and(|m| m > 1000), "{end}");
    let checked = server.post("check", &document);
    assert!(checked["failed"].is_string(), "{checked}");
    assert_eq!(server.get(&format!("/{}/", server.token), "").status, 200);
}

#[test]
fn checked_runs_report_at_their_lines() {
    let server = start(None);
    let mut document = example(&server, "saxpy");
    let clean = server.post("check", &document);
    assert_eq!(
        (&clean["reports"], &clean["failed"]),
        (&json!([]), &Value::Null),
        "{clean}"
    );
    assert!(clean["instructions"].as_u64().is_some_and(|n| n > 50));
    // The buffers hold 256 elements, and the kernel takes the number that it is given.
    document["args"] = "buf:randf32:1000:1\nbuf:randf32:1024:2\nu32:256\nf32:2".into();
    let found = server.post("check", &document);
    let report = &found["reports"][0];
    assert_eq!(report["check"], "oob", "{found}");
    let line = report["line"].as_u64().expect("a line") as usize;
    let source = document["source"].as_str().expect("source");
    let at = source.lines().nth(line - 1).expect("the line");
    assert!(at.contains("flat_load_dword v4"), "{at}");
}

#[test]
fn the_oldest_of_many_runs_ends() {
    let server = start(None);
    let ids: Vec<Value> = (0..6)
        .map(|_| begin(&server, "s_nop 0\ns_endpgm\n", "")["session"].clone())
        .collect();
    assert!(step(&server, &ids[0], "forward", 1, &[])["error"].is_string());
    assert_eq!(
        step(&server, &ids[5], "forward", 1, &[])["state"]["step"],
        1
    );
}

#[test]
fn the_manual_has_its_pages() {
    let server = start(None);
    let page = server.get(&format!("/{}/manual/s_endpgm.html", server.token), "");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("the page of s_endpgm"));
    let none = server.get(&format!("/{}/manual/no_such.html", server.token), "");
    assert_eq!(none.status, 404);
}

#[test]
fn source_cannot_leave_the_element_that_holds_it() {
    let source = "// </script><script>alert(1)</script> @ROOT@ @STATE@\n s_nop 0\n";
    let document = json!({"name": "</title><b>", "source": source, "arch": "gfx900", "syntax": "auto", "registers": ""});
    let server = start(Some(document));
    let page = server.get(&format!("/{}/", server.token), "");
    assert!(!page.body.contains("<script>alert"), "{}", page.body);
    assert!(!page.body.contains("</title><b>"));
    let at = page.body.find("id=\"initial\">").expect("the state") + "id=\"initial\">".len();
    let end = at + page.body[at..].find("</script>").expect("its end");
    let state: Value = serde_json::from_str(&page.body[at..end]).expect("it is JSON");
    assert_eq!(state["document"]["source"], source);
}

#[test]
fn all_examples_assemble_and_run() {
    let server = start(None);
    for example in gcn_web::examples::EXAMPLES {
        let path = format!("/{}/example/{}", server.token, example.id);
        let mut document = server.get(&path, "").json();
        let view = server.post("code", &document);
        assert_eq!(view["ok"], true, "{}: {view}", example.id);
        document["registers"] = example.registers.into();
        let begun = server.post("start", &document);
        assert!(begun["session"].is_u64(), "{}: {begun}", example.id);
    }
}

#[test]
fn static_pages_need_no_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = gcn_web::document(None, None, None, None).expect("the first example");
    gcn_web::export(folder.path(), &document, &common::Pages).expect("it can be written");
    let read =
        |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("the file is there");
    let index = read("index.html");
    assert!(index.contains("\"static\":{}"), "{index}");
    assert!(
        index.contains("./app.js") && !index.contains("http://"),
        "{index}"
    );
    assert!(read("saxpy.html").contains("flat_load_dword"));
    assert!(read("manual/s_endpgm.html").contains("../style.css"));
    assert!(read("app.js").contains("G.listing"));
}

/// A file of the repository.
fn file(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

#[test]
fn a_plan_gives_the_launch() {
    let (document, opened) = gcn_web::open(&file("examples/saxpy.toml"), None, 1).expect("a plan");
    assert_eq!(document["args"], "plan:x\nplan:y\nu32:1000\nf32:2.0");
    assert_eq!(
        (&document["grid"], &document["group"]),
        (&json!("1000"), &json!("256"))
    );
    // The source is the file's own, with its comments.
    let source = std::fs::read_to_string(file("examples/saxpy.s")).expect("source");
    assert_eq!(document["source"], source.as_str());
    let server = common::start_with(document.clone(), Some(opened));
    let begun = server.post("start", &document);
    let session = &begun["session"];
    let end = step(&server, session, "forward", 1_000_000, &[])["state"].clone();
    assert_eq!(end["end"]["kind"], "ended", "{end}");
    let regions = end["regions"].as_array().expect("regions");
    let y = regions
        .iter()
        .find(|r| r["name"] == "y")
        .expect("the plan's buffer");
    let body = json!({"session": session, "space": "memory", "at": y["at"], "bytes": 4000});
    let list = server.post("memory", &body)["dwords"].clone();
    for (n, dword) in list.as_array().expect("dwords").iter().enumerate() {
        let value = f32::from_bits(dword.as_u64().expect("a dword") as u32);
        assert_eq!(value, -3.0 + 2.5 * n as f32, "{n}");
    }
    let reports = server.post("check", &document);
    assert_eq!(reports["reports"], json!([]), "{reports}");
    for (args, expected) in [
        (
            "plan:z\nplan:y\nu32:1000\nf32:2.0",
            "the plan has no buffer `z`; it has x, y",
        ),
        (
            "plan:x+a\nplan:y\nu32:1000\nf32:2.0",
            "`a` is no number of bytes",
        ),
        ("plan:#9\nplan:y\nu32:1000\nf32:2.0", "has no argument `9`"),
        (
            "plan:x\nplan:y+4001\nu32:1000\nf32:2.0",
            "offset 4001 is beyond the 4000 bytes of `y`",
        ),
    ] {
        let mut changed = document.clone();
        changed["args"] = args.into();
        let error = server.post("start", &changed)["error"].to_string();
        assert!(error.contains(expected), "{args}: {error}");
    }
    // Another server does not have the plan.
    let error = start(None).post("start", &document)["error"].to_string();
    assert!(error.contains("line 1: `plan:x` is of a plan"), "{error}");
}

#[test]
fn a_later_launch_sees_what_the_earlier_ones_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("twice.toml");
    let text = std::fs::read_to_string(file("examples/saxpy.toml")).expect("the plan");
    let launch = text.split("[[launch]]").nth(1).expect("a launch");
    let launch = launch.split("[[check]]").next().expect("its lines");
    let source = file("examples/saxpy.s");
    let text = format!("{text}\n[[launch]]{launch}")
        .replace("saxpy.s\"", &format!("{}\"", source.display()));
    std::fs::write(&path, text).expect("a file");
    let first = |number: usize| -> f32 {
        let (document, opened) = gcn_web::open(&path, None, number).expect("a plan");
        let server = common::start_with(document.clone(), Some(opened));
        let begun = server.post("start", &document);
        let regions = begun["state"]["regions"]
            .as_array()
            .expect("regions")
            .clone();
        let y = regions.iter().find(|r| r["name"] == "y").expect("y")["at"].clone();
        let body = json!({"session": begun["session"], "space": "memory", "at": y, "bytes": 8});
        let second = server.post("memory", &body)["dwords"][1]
            .as_u64()
            .expect("a dword");
        f32::from_bits(second as u32)
    };
    assert_eq!(first(1), -2.5);
    assert_eq!(first(2), -0.5);
    let wrong = gcn_web::open(&path, None, 3).err().expect("no such launch");
    assert!(wrong.contains("the plan has launches 1 to 2"), "{wrong}");
}
