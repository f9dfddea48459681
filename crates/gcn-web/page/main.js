// The page as a whole: the document, the server's answer about it, tabs, links, keys.
"use strict";
(() => {
  const { $ } = G;
  const DELAY = 250; // milliseconds after the last key until the source is assembled
  G.reportsAt = new Map();

  // Shows the assembler's messages.
  G.messages = (list) => {
    const item = (d) => {
      const notes = d.notes.map((n) => ` (${n.message}, line ${n.line})`).join("");
      const text = [G.el("b", {}, `${d.line}:${d.column} ${d.level}`), `: ${d.message}${notes}${d.help ? ` — ${d.help}` : ""}`];
      return G.el("li", { class: d.level }, G.el("button", { type: "button", onclick: () => G.editor.go(d.line, d.column) }, ...text));
    };
    $("messages").replaceChildren(...list.map(item));
    const errors = list.filter((d) => d.level === "error").length;
    $("status").textContent = errors ? G.plural(errors, "error", "errors") : "";
    $("status").classList.toggle("bad", errors > 0);
  };

  const reports = () => {
    const view = G.view, list = [...view.reports, ...(G.ran || [])];
    G.reportsAt = new Map(list.map((r) => [r.pc, r.message]));
    $("tab-reports").textContent = list.length ? `Reports (${list.length})` : "Reports";
    const one = (r) => {
      const related = r.related.filter((o) => o.pc != null).map((o) => G.el("p", {}, `${o.message} `, G.jump(o.pc)));
      const lanes = r.lanes ? ` lanes ${G.lanes(BigInt(r.lanes))}` : "";
      const where = r.wave != null ? `workgroup ${r.workgroup.join(",")}, wave ${r.wave}${lanes}; ${r.count > 1 ? `${r.count} times` : "once"}` : "";
      return G.el("div", { class: `report ${r.severity}` },
        G.el("p", {}, G.el("b", {}, `${r.check}: `), r.message),
        G.el("p", {}, G.jump(r.pc), r.line ? G.el("button", { type: "button", onclick: () => G.editor.go(r.line) }, `line ${r.line}`) : null, where),
        ...related, r.help ? G.el("p", { class: "note" }, r.help) : null);
    };
    const none = G.ran ? "Neither the checks of all paths nor those of the run report anything." : view.unchecked ? `Not checked: ${view.unchecked}` : "The checks of all paths report nothing: missing waits, missing wait states, undefined registers.";
    $("panel-reports").replaceChildren(...(list.length ? list.map(one) : [G.el("p", { class: "note" }, none)]));
  };

  const table = (rows) => G.el("table", {}, G.el("tbody", {}, ...rows.map(([name, ...values]) => G.el("tr", {}, G.el("th", { scope: "row" }, name), ...values.map((v) => G.el("td", {}, ...[v].flat()))))));
  const costs = () => {
    const parts = [];
    for (const a of G.view.analyses || []) {
      parts.push(G.el("h3", {}, `${a.name} on ${a.chip}`));
      const o = a.occupancy;
      const peak = (p) => (p.count ? [`${p.count} at `, G.jump(p.at[0]), ` ${p.registers.join(", ")}`] : "none");
      const rows = [["live VGPRs, most (counted)", peak(a.peak_vgprs)], ["live SGPRs, most (counted)", peak(a.peak_sgprs)]];
      if (o) {
        const limit = o.limited_by.includes("waves") ? "the most there are" : `limited by ${o.limited_by.join(", ")}`;
        rows.unshift(["waves per SIMD (modelled)", `${o.waves_per_simd}, ${limit}`]);
        const fewer = (l) => (l.fewer_for_next == null ? "" : `; ${l.fewer_for_next} fewer allow one more`);
        rows.push(["VGPRs", `${o.vgpr.used} used, ${o.vgpr.allocated} allocated: ${o.vgpr.waves} waves${fewer(o.vgpr)}`]);
        rows.push(["SGPRs", `${o.sgpr.used} used, ${o.sgpr.allocated} allocated: ${o.sgpr.waves} waves${fewer(o.sgpr)}`]);
        rows.push(["LDS", `${o.lds.allocated} bytes allocated: ${o.lds.waves} waves${fewer(o.lds)}`]);
      }
      const s = a.stalls;
      if (s?.instructions) rows.push(["stalls (modelled)", `${s.cycles} cycles before ${G.plural(s.instructions, "instruction", "instructions")}, each once; the other waves of the SIMD leave ${s.exposed_cycles}`]);
      for (const l of a.loops) rows.push([`loop at ${G.hex(l.header)}`, [`depth ${l.depth}, ${l.instructions} instructions, ${l.cycles === l.most_cycles ? l.cycles : `${l.cycles}–${l.most_cycles}`} cycles of issue an iteration (modelled) `, G.jump(l.header)]]);
      parts.push(table(rows));
    }
    $("panel-costs").replaceChildren(...(parts.length ? parts : [G.el("p", { class: "note" }, "There is no code.")]));
  };

  // Initial arguments, from the kernel's metadata.
  const suggested = (kernel) => (kernel?.arguments || []).map((a) => {
    const type = a.type || "";
    if (a.kind === "dynamic_shared_pointer") return "local:1024";
    if (a.kind === "global_buffer") return /float|half|double/.test(type) ? "buf:randf32:4096:1" : "buf:zero:4096";
    const name = { float: "f32", double: "f64", half: "f16", int: "i32", uint: "u32", long: "i64", ulong: "u64", char: "i8", uchar: "u8", short: "i16", ushort: "u16" }[type];
    return `${name || { 1: "u8", 2: "u16", 8: "u64" }[a.size] || "u32"}:${name?.startsWith("f") ? "1.0" : "64"}`;
  }).join("\n");

  const kernels = () => {
    const list = G.view.kernels || [];
    $("kernel").replaceChildren(...list.map((k) => G.el("option", { value: k.name }, k.name)));
    $("kernel").parentElement.hidden = !list.length;
    if (!list.some((k) => k.name === G.doc.kernel)) G.doc.kernel = list[0]?.name || "";
    $("kernel").value = G.doc.kernel;
    if (!G.doc.args) $("args").value = G.doc.args = suggested(list.find((k) => k.name === G.doc.kernel));
    const snippet = G.view.snippet !== false;
    $("dispatch").hidden = snippet;
    $("check").hidden = snippet;
    $("registers").hidden = $("registers-label").hidden = !snippet;
  };

  const take = (view) => {
    if (!view.ok) {
      // The listing stays unchanged, because it would flicker while the user types.
      if (view.error) view.diagnostics = [{ level: "error", message: view.error, line: 1, column: 1, start: 0, length: 0, notes: [] }];
      G.messages(view.diagnostics);
      G.stale = true;
      G.editor.mark(view.diagnostics, []);
      $("summary").textContent = "as before the errors";
      return;
    }
    G.view = view;
    G.stale = false;
    G.ran = null;
    G.byPc = new Map(view.rows.map((r) => [r.pc, r]));
    if (!G.byPc.has(G.chosen)) G.chosen = view.rows[0]?.pc ?? null;
    G.messages(view.diagnostics);
    reports();
    G.editor.mark(view.diagnostics, view.reports);
    kernels();
    costs();
    $("summary").textContent = `${view.target}, ${G.plural(view.rows.length, "instruction", "instructions")}, ${view.bytes} bytes${view.more ? "; the rest is not shown" : ""}`;
    G.listing.draw();
    G.listing.showDetail();
  };

  let asked = 0;
  const assemble = async () => {
    const number = ++asked;
    const view = await G.api("code", G.request());
    if (number === asked) take(view);
  };

  let timer = null;
  G.edited = () => {
    G.doc.source = $("source-text").value;
    G.run.stale();
    clearTimeout(timer);
    timer = setTimeout(assemble, DELAY);
    G.changed();
  };

  // The address always restores the present document.
  let linking = null, restoring = true;
  const snapshot = () => ({ ...G.doc, spelling: G.spelling, chosen: G.chosen, breaks: [...G.breaks], run: G.run.now() });
  G.changed = () => {
    if (restoring || G.static) return;
    clearTimeout(linking);
    linking = setTimeout(link, 300);
  };
  const link = async () => {
    const packed = await G.pack(snapshot());
    history.replaceState(null, "", `${location.pathname}${location.search}#${packed}`);
    return location.href;
  };

  const fill = () => {
    $("name").textContent = G.doc.name ? `— ${G.doc.name}` : "";
    document.title = G.doc.name ? `${G.doc.name} — gcn` : "gcn";
    for (const id of ["arch", "syntax", "registers", "grid", "group", "args"]) $(id).value = G.doc[id] ?? "";
    $("spelling").value = G.spelling;
    G.editor.set(G.doc.source);
  };

  const load = async (document, view) => {
    G.doc = { name: "", source: "", arch: "gfx900", syntax: "auto", registers: "", kernel: "", grid: "64", group: "64", args: "", ...document };
    G.chosen = null;
    G.breaks = new Set();
    G.run.stale();
    fill();
    if (view) take(view); else await assemble();
    G.changed();
  };

  const restore = async (packed) => {
    let state;
    try {
      state = await G.unpack(packed);
      if (typeof state.source !== "string") throw new Error("no source");
    } catch {
      await load(G.initial.document, G.initial.view);
      $("status").textContent = "The link is damaged: expected the whole address, as Copy link made it.";
      $("status").classList.add("bad");
      return;
    }
    const { spelling, chosen, breaks, run, ...document } = state;
    G.spelling = ["llvm", "clrx", "both"].includes(spelling) ? spelling : "llvm";
    await load(document);
    G.breaks = new Set((Array.isArray(breaks) ? breaks : []).filter(Number.isInteger));
    if (G.byPc?.has(chosen)) G.listing.choose(chosen);
    G.listing.refresh();
    if (run) await G.run.start(run);
  };

  // Tabs.
  const tabs = [...document.querySelectorAll('[role="tab"]')];
  const select = (tab, focus) => {
    for (const t of tabs) {
      t.setAttribute("aria-selected", String(t === tab));
      t.tabIndex = t === tab ? 0 : -1;
      $(t.getAttribute("aria-controls")).hidden = t !== tab;
    }
    if (focus) tab.focus();
  };
  $("tabs").addEventListener("click", (event) => { const tab = event.target.closest('[role="tab"]'); if (tab) select(tab); });
  $("tabs").addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    select(tabs[(to + tabs.length) % tabs.length], true);
  });

  G.manual = (name) => {
    select($("tab-manual"));
    const page = `${G.root}manual/${encodeURIComponent(name)}.html`;
    $("manual-name").value = name;
    $("manual-link").href = page;
    $("manual").src = page;
  };
  $("manual").addEventListener("load", () => G.theme(G.themeChoice));
  $("manual-form").addEventListener("submit", (event) => { event.preventDefault(); const name = $("manual-name").value.trim().toLowerCase(); if (name) G.manual(name); });

  const KEYS = [
    ["Alt+1 … Alt+4", "run, reports, costs, manual"], ["Alt+S, Alt+L", "source, listing"],
    ["F9", "start or restart"], ["F10, Shift+F10", "step forward, step back"], ["F8, Shift+F8", "run to the next breakpoint or the end, back to the last one or the start"],
    ["In the listing", ""], ["↑ ↓ Home End", "move"], ["Enter", "open the manual"], ["b", "set or delete a breakpoint"], ["e", "edit the line"],
    ["s, u, c, r, g", "step, step back, run on, run back, restart (in the run panel, too)"],
    ["In the picture", ""], ["← → ↑ ↓", "lane and register"],
  ];
  const help = () => {
    $("help-body").replaceChildren(...KEYS.map(([key, what]) => G.el("tr", {}, G.el("td", {}, G.el("b", {}, key)), G.el("td", {}, what))));
    $("help").showModal();
  };
  document.addEventListener("keydown", (event) => {
    const click = (id) => { event.preventDefault(); if (!$(id).disabled) $(id).click(); };
    if (event.altKey && !event.ctrlKey && !event.metaKey) {
      if (/^[1-4]$/.test(event.key)) { event.preventDefault(); select(tabs[Number(event.key) - 1], true); }
      else if (event.key.toLowerCase() === "s") { event.preventDefault(); $("source-text").focus(); }
      else if (event.key.toLowerCase() === "l") { event.preventDefault(); document.querySelector('#body tr[tabindex="0"]')?.focus(); }
      return;
    }
    if (event.key === "F9") click("start");
    else if (event.key === "F10") click(event.shiftKey ? "back" : "forward");
    else if (event.key === "F8") click(event.shiftKey ? "rewind" : "go");
  });

  // Controls.
  const setting = (id) => $(id).addEventListener("change", () => { G.doc[id] = $(id).value; G.run.stale(); assemble(); G.changed(); });
  setting("arch");
  setting("syntax");
  for (const id of ["registers", "grid", "group", "args"]) $(id).addEventListener("input", () => { G.doc[id] = $(id).value; G.run.stale(); G.changed(); });
  $("kernel").addEventListener("change", () => {
    G.doc.kernel = $("kernel").value;
    G.run.stale();
    $("args").value = G.doc.args = "";
    kernels();
    const kernel = G.view.kernels.find((k) => k.name === G.doc.kernel);
    if (kernel) G.listing.choose(kernel.pc);
  });
  $("spelling").addEventListener("change", () => { G.spelling = $("spelling").value; G.listing.draw(); G.changed(); });
  $("examples").addEventListener("change", async () => {
    const id = $("examples").value;
    if (!id) return;
    if (G.static) { location.href = `${G.root}${id}.html`; return; }
    $("examples").value = "";
    const response = await fetch(`${G.root}example/${id}`);
    if (response.ok) await load(await response.json());
  });
  $("open").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", async () => {
    const [file] = $("file").files;
    if (!file) return;
    if (file.size > 1 << 20) { $("status").textContent = `${file.name} is larger than 1 MiB.`; return; }
    const text = await file.text();
    if (text.includes("\0")) { $("status").textContent = `${file.name} is not text; gcn web ${file.name} opens code objects.`; return; }
    await load({ ...G.doc, name: file.name, source: text, registers: "", kernel: "" });
    $("file").value = "";
  });
  $("link").addEventListener("click", async () => {
    const url = await link();
    try {
      await navigator.clipboard.writeText(url);
      $("status").textContent = "The link is in the clipboard.";
    } catch {
      $("status").textContent = "The address bar has the link.";
    }
  });
  $("theme").addEventListener("change", () => {
    G.themeChoice = $("theme").value;
    try { localStorage.setItem("gcn-theme", G.themeChoice); } catch { /* there is no storage */ }
    G.theme(G.themeChoice);
  });
  $("keys").addEventListener("click", help);
  $("check").addEventListener("click", async () => {
    $("where").textContent = "The checks run…";
    const answer = await G.api("check", { ...G.request(), kernel: G.doc.kernel, grid: G.doc.grid, group: G.doc.group, args: G.doc.args });
    if (answer.diagnostics) G.messages(answer.diagnostics);
    $("where").classList.toggle("bad", Boolean(answer.error || answer.failed));
    $("where").textContent = answer.error || answer.failed || `The checked run of ${answer.instructions} instructions has ${G.plural(answer.reports.length, "report", "reports")}.`;
    if (!answer.reports) return;
    G.ran = answer.reports;
    reports();
    G.editor.mark(G.view.diagnostics, [...G.view.reports, ...G.ran]);
    G.listing.refresh();
  });
  $("skip").addEventListener("click", (event) => { event.preventDefault(); $("source-text").focus(); });

  // The first view.
  $("arch").replaceChildren(...G.initial.targets.map(([name, aliases]) => G.el("option", { value: name, title: aliases.join(", ") }, name)));
  $("examples").append(...G.initial.examples.map(([id, title]) => G.el("option", { value: id }, title)));
  $("theme").value = G.themeChoice;
  if (G.static) {
    document.body.classList.add("static");
    $("source-text").readOnly = true;
    $("link").hidden = $("open").hidden = true;
    for (const id of ["arch", "syntax"]) $(id).disabled = true;
    $("where").textContent = "This page was written by gcn web --export and runs nothing; gcn web does.";
  }
  const packed = location.hash.slice(1);
  const first = packed && !G.static ? restore(packed) : load(G.initial.document, G.initial.view);
  first.finally(() => {
    restoring = false;
    document.documentElement.dataset.ready = "yes";
    performance.mark("gcn-ready");
  });
  addEventListener("hashchange", () => { 
    if (location.hash.length < 2 || G.static) return;
    restoring = true;
    restore(location.hash.slice(1)).finally(() => { restoring = false; });
  });
})();
