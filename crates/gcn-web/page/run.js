// Runs: stepping forward and back, registers as a picture, masks, memory.
"use strict";
(() => {
  const { $ } = G;
  const LEFT = 50, TOP = 14, HIGH = 13;
  let CELL = 11; // the width of a lane
  let session = null, lanes = [], before = null, beforeLanes = [], busy = false, cursor = [0, 0];
  G.state = null;

  const decode = (vgprs) => {
    const bytes = Uint8Array.from(atob(vgprs.data), (c) => c.charCodeAt(0));
    const values = new Uint32Array(bytes.buffer);
    return Array.from({ length: vgprs.count }, (_, n) => values.subarray(64 * n, 64 * n + 64));
  };

  const tell = (text, bad = false) => {
    $("where").textContent = text;
    $("where").classList.toggle("bad", bad);
  };

  const take = (answer) => {
    if (answer.error) {
      tell(answer.error, true);
      if (answer.diagnostics) G.messages(answer.diagnostics);
      return false;
    }
    before = G.state;
    beforeLanes = lanes;
    G.state = answer.state;
    lanes = decode(answer.state.vgprs);
    show();
    return true;
  };

  const buttons = () => {
    const on = session !== null && !busy;
    const first = !G.state || G.state.moment === 0, ended = Boolean(G.state?.end);
    $("back").disabled = !on || first || (G.state.step === 0 && !ended);
    $("rewind").disabled = !on || first;
    $("forward").disabled = !on || ended;
    $("go").disabled = !on || G.state.over;
    $("start").textContent = session === null ? "Start" : "Restart";
  };

  const launch = () => ({ ...G.request(), registers: G.doc.registers, kernel: G.doc.kernel, grid: G.doc.grid, group: G.doc.group, args: G.doc.args });

  const start = async (again = null) => {
    if (busy || G.static) return;
    busy = true;
    session = null;
    G.state = before = null;
    lanes = beforeLanes = [];
    const answer = await G.api("start", launch());
    busy = false;
    if (answer.session !== undefined) session = answer.session;
    if (take(answer) && again) {
      await step("to", { count: Number(again.moment) || 0 });
      if (again.wave && G.state?.waves.some((w) => w.id === again.wave && !w.selected)) await step("stay", { wave: again.wave });
    }
    buttons();
  };

  const step = async (way, { count, stops = [], wave } = {}) => {
    if (busy || session === null) return;
    busy = true;
    const many = count ?? Math.max(1, Number($("count").value) || 1);
    const answer = await G.api("step", { session, way, count: many, stops, wave });
    busy = false;
    take(answer);
    buttons();
  };

  // Values of registers, for operands: file, first register, number of them.
  const register = (file, first, count) => {
    if (!G.state) return null;
    const format = $("format").value;
    const parts = [];
    for (let n = first; n < first + count; n++) {
      if (file === "s") {
        const value = scalar(n);
        if (value === null) return null;
        parts.push(G.show(value, format));
        continue;
      }
      if (!lanes[n]) return null;
      const [lane] = cursor;
      parts.push(`${G.show(lanes[n][lane], format)} (lane ${lane})`);
    }
    return parts.join(", ");
  };
  const scalar = (n) => {
    const half = (text, high) => Number(high ? BigInt(text) >> 32n : BigInt(text) & 0xffffffffn);
    if (n < G.state.sgprs.length) return G.state.sgprs[n];
    if (n === 106 || n === 107) return half(G.state.vcc, n === 107);
    if (n === 126 || n === 127) return half(G.state.exec, n === 127);
    if (n === 124) return Number(G.state.m0);
    return null;
  };

  // The rows of the picture: masks first, then VGPRs.
  const picture = () => {
    const state = G.state;
    const masks = [["exec", BigInt(state.exec)], ["vcc", BigInt(state.vcc)]];
    const seen = new Set(["exec", "vcc"]);
    for (const m of latest(state.masks)) {
      if (seen.has(m.name)) continue;
      seen.add(m.name);
      masks.push([m.name, BigInt(m.lanes)]);
    }
    return [...masks.map(([name, mask]) => ({ name, mask })), ...lanes.map((values, n) => ({ name: `v${n}`, values, n }))];
  };
  // A saved mask is shown while its register is live, or if it is on the control stack.
  const waits = (m) => m.stack !== undefined || m.name === "vcc" || (G.rowAt(G.state.pc)?.live_s || []).includes(m.pair);

  // The last instruction before the PC of those that save EXEC to the same registers.
  const latest = (list) => {
    const found = new Map();
    for (const m of list) {
      if (!waits(m) || m.name === "vcc") continue;
      const key = m.stack !== undefined ? `stack ${m.stack}` : m.name, known = found.get(key);
      if (!known || (m.pc < G.state.pc && (known.pc >= G.state.pc || m.pc > known.pc))) found.set(key, m);
    }
    return [...found.values()];
  };

  const live = (n) => { const row = G.rowAt(G.state.pc); return !row?.live_v || row.live_v.includes(n); };

  const shade = (value, zero, full) => {
    // Brightness by magnitude, for small and for large numbers.
    const size = value === 0 ? 0 : 0.25 + 0.75 * Math.log2(1 + value) / 32;
    return size === 0 ? zero : `color-mix(in srgb, ${full} ${Math.round(size * 100)}%, ${zero})`;
  };
  const magnitude = (value) => {
    if ($("format").value === "float") {
      words.setUint32(0, value);
      const f = Math.abs(words.getFloat32(0));
      return Number.isFinite(f) ? Math.max(0, Math.min(2 ** 32 - 1, 2 ** Math.max(0, Math.min(31, 12 + Math.log2(f || 1e-30))))) * (f ? 1 : 0) : 2 ** 32 - 1;
    }
    return $("format").value === "int" ? Math.abs(value | 0) : value;
  };
  const words = new DataView(new ArrayBuffer(4));

  const draw = () => {
    const canvas = $("picture");
    if (!G.state) return;
    const rows = picture();
    CELL = Math.max(5, Math.min(13, (canvas.parentElement.clientWidth - LEFT - 4) / 64));
    const width = LEFT + 64 * CELL + 2, height = TOP + rows.length * HIGH + 2, scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const c = canvas.getContext("2d");
    c.scale(scale, scale);
    const colour = { zero: G.css("--cell0"), full: G.css("--cell1"), off: G.css("--off"), ink: G.css("--ink"), soft: G.css("--soft"), changed: G.css("--changed"), on: G.css("--laneon"), focus: G.css("--focus") };
    const exec = BigInt(G.state.exec);
    c.font = "10px ui-monospace, monospace";
    c.textBaseline = "middle";
    c.fillStyle = colour.soft;
    for (let lane = 0; lane < 64; lane += 8) c.fillText(String(lane), LEFT + lane * CELL, TOP / 2);
    rows.forEach((row, r) => {
      const y = TOP + r * HIGH;
      c.fillStyle = row.n === undefined || live(row.n) ? colour.ink : colour.soft;
      c.fillText(row.name, 2, y + HIGH / 2);
      for (let lane = 0; lane < 64; lane++) {
        const x = LEFT + lane * CELL;
        const active = Boolean(exec >> BigInt(lane) & 1n);
        if (row.mask !== undefined) c.fillStyle = row.mask >> BigInt(lane) & 1n ? colour.on : colour.off;
        else c.fillStyle = shade(magnitude(row.values[lane]), colour.zero, colour.full);
        c.globalAlpha = row.mask !== undefined || active ? 1 : 0.4;
        c.fillRect(x, y, CELL - 0.8, HIGH - 1);
        c.globalAlpha = 1;
        const old = row.n !== undefined ? beforeLanes[row.n]?.[lane] : undefined;
        if (old !== undefined && old !== row.values[lane]) {
          c.strokeStyle = colour.changed;
          c.lineWidth = 1.5;
          c.strokeRect(x + 0.75, y + 0.75, CELL - 2.3, HIGH - 2.5);
        }
      }
    });
    cursor[1] = Math.max(0, Math.min(rows.length - 1, cursor[1]));
    c.strokeStyle = colour.focus;
    c.lineWidth = 2;
    c.strokeRect(LEFT + cursor[0] * CELL - 1, TOP + cursor[1] * HIGH - 1, CELL + 1, HIGH + 1);
    cell(rows);
  };

  const cell = (rows) => {
    const [lane, r] = cursor, row = rows[r];
    if (!row) return;
    if (row.mask !== undefined) {
      $("cell").textContent = `${row.name}: lane ${lane} is ${row.mask >> BigInt(lane) & 1n ? "set" : "clear"}; set lanes: ${G.lanes(row.mask)}`;
      return;
    }
    const value = row.values[lane];
    const active = BigInt(G.state.exec) >> BigInt(lane) & 1n ? "" : ", inactive";
    const old = beforeLanes[row.n]?.[lane];
    const was = old !== undefined && old !== value ? `; before ${G.show(old, $("format").value)}` : "";
    $("cell").textContent = `${row.name} lane ${lane}${active}: ${G.show(value, "hex")} = ${G.show(value, "int")} = ${G.show(value, "float")}${was}`;
  };

  const masks = () => {
    const state = G.state, exec = BigInt(state.exec);
    const row = (name, mask, what) => G.el("tr", {}, G.el("th", { scope: "row" }, name), G.el("td", {}, `${G.count(mask)} lanes`), G.el("td", {}, G.lanes(mask)), G.el("td", {}, what));
    const rows = [row("EXEC", exec, "active")];
    for (const m of latest(state.masks)) {
      const mask = BigInt(m.lanes);
      const what = m.stack !== undefined ? `control stack ${m.stack}, goes on at ${G.hex(m.to)}` : `saved at ${G.hex(m.pc)}; ${G.count(mask & ~exec)} of them wait`;
      rows.push(row(m.name, mask, what));
    }
    $("masks").replaceChildren(G.el("h3", {}, "EXEC and the mask stack"), G.el("table", {}, G.el("tbody", {}, ...rows)));
  };

  const sgprs = () => {
    const format = $("format").value, row = G.rowAt(G.state.pc);
    const cells = G.state.sgprs.map((value, n) => {
      const changed = before && before.sgprs[n] !== undefined && before.sgprs[n] !== value;
      const dead = row?.live_s && !row.live_s.includes(n);
      return G.el("div", { class: dead ? "dead" : "", title: dead ? `s${n} is not read again` : `s${n} is live` }, G.el("b", {}, `s${n}`), G.el("span", { class: changed ? "changed" : "" }, G.show(value, format)));
    });
    $("sgprs").replaceChildren(...cells);
  };

  const flags = () => {
    const s = G.state;
    $("flags").textContent = `scc ${s.scc}  vcc ${s.vcc}  m0 ${s.m0}  mode ${s.mode}${s.vskip ? "  vskip" : ""}`;
  };

  const waves = () => {
    const list = G.state.waves.length ? G.state.waves : [{ id: "", text: "one wave", selected: true }];
    $("wave").replaceChildren(...list.map((w) => G.el("option", { value: w.id, selected: w.selected }, w.text)));
    $("wave").disabled = list.length < 2;
  };

  const regions = () => {
    const select = $("space"), old = select.value;
    const all = [["lds", "LDS", "0x0", G.state.lds], ...G.state.regions.map((r) => ["memory", r.name, r.at, r.bytes])];
    select.replaceChildren(...all.map(([space, name, at, bytes]) => G.el("option", { value: `${space} ${at}` }, `${name}: ${bytes} bytes at ${at}`)));
    if ([...select.options].some((o) => o.value === old)) select.value = old;
    else {
      // A kernel's first buffer is more useful than LDS that it does not have.
      const first = all.findIndex(([, , , bytes]) => bytes > 0);
      select.selectedIndex = Math.max(0, G.state.lds ? 0 : first);
      choose();
    }
  };
  const choose = () => { $("at").value = $("space").value.split(" ")[1] || "0x0"; };

  let old = null;
  const memory = async () => {
    if (session === null || !G.state) return;
    const space = $("space").value.split(" ")[0] || "lds";
    const answer = await G.api("memory", { session, space, at: $("at").value, bytes: 512 });
    if (answer.error) { $("memory").textContent = answer.error; return; }
    const format = $("format").value, first = BigInt(answer.at);
    const same = old && old.at === answer.at && old.space === space ? old.dwords : null;
    const rows = [];
    const wide = $("memory").clientWidth > 760 ? 8 : 4;
    for (let at = 0; at < answer.dwords.length; at += wide) {
      const cells = answer.dwords.slice(at, at + wide).map((value, n) => {
        const changed = same && same[at + n] !== value;
        return G.el("td", { class: changed ? "changed" : "" }, value === null ? "—" : G.show(value, format));
      });
      rows.push(G.el("tr", {}, G.el("th", { scope: "row" }, "0x" + (first + BigInt(4 * at)).toString(16)), ...cells));
    }
    old = { ...answer, space };
    $("memory").replaceChildren(G.el("table", {}, G.el("tbody", {}, ...rows)));
  };

  const show = () => {
    const state = G.state;
    $("state").hidden = false;
    const row = G.rowAt(state.pc);
    const end = state.end ? `${state.end.kind === "fault" ? "Failed" : "Ended"}: ${state.end.message}` : `next: ${row ? row[G.spelling === "clrx" ? "clrx" : "llvm"] : "no instruction"}`;
    tell(`step ${state.step}, ${G.hex(state.pc)}; ${end}`, state.end?.kind === "fault");
    waves();
    flags();
    draw();
    masks();
    sgprs();
    regions();
    memory();
    G.listing.refresh();
    G.listing.showDetail();
    G.listing.reveal(state.pc);
    if (row?.line) G.editor.reveal(row.line);
    G.changed();
  };

  const forward = () => step("forward");
  const back = () => step("back");
  const go = () => step("forward", { count: 1e6, stops: [...G.breaks] });
  const rewind = () => step("back", { count: 1e6, stops: [...G.breaks] });

  G.run = {
    start, register,
    now: () => (session === null ? null : { moment: G.state?.moment || 0, wave: $("wave").value }),
    // The code has changed: the run no longer matches the page.
    stale() {
      session = null;
      G.state = before = null;
      lanes = beforeLanes = [];
      $("state").hidden = true;
      tell("");
      buttons();
    },
    // Single keys, in the listing and the panel of the run.
    key(event) {
      const action = { s: forward, n: forward, u: back, c: go, r: rewind, g: () => start() }[event.key];
      if (action) { event.preventDefault(); action(); }
    },
  };

  $("start").addEventListener("click", () => start());
  $("forward").addEventListener("click", forward);
  $("back").addEventListener("click", back);
  $("go").addEventListener("click", go);
  $("rewind").addEventListener("click", rewind);
  $("look").addEventListener("click", memory);
  $("at").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); memory(); } });
  $("space").addEventListener("change", () => { choose(); memory(); });
  $("format").addEventListener("change", () => { if (G.state) { draw(); sgprs(); memory(); } });
  $("wave").addEventListener("change", () => step("stay", { wave: $("wave").value }));
  $("panel-run").addEventListener("keydown", (event) => {
    if (event.target.matches("input, textarea, select, canvas") || event.ctrlKey || event.metaKey || event.altKey) return;
    G.run.key(event);
  });
  $("picture").addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-64, 0], End: [64, 0] }[event.key];
    if (!move) return G.run.key(event);
    event.preventDefault();
    cursor = [Math.max(0, Math.min(63, cursor[0] + move[0])), cursor[1] + move[1]];
    draw();
  });
  const at = (event) => {
    const x = Math.floor((event.offsetX - LEFT) / CELL), y = Math.floor((event.offsetY - TOP) / HIGH);
    if (!G.state || x < 0 || x > 63 || y < 0) return;
    cursor = [x, y];
    draw();
  };
  $("picture").addEventListener("mousemove", at);
  $("picture").addEventListener("click", at);
  G.parts.push({ theme: draw });
  addEventListener("resize", draw);
  buttons();
})();
