// The listing: instructions with their words in the colours of the fields, both syntaxes, live registers, cycles; and the details of
// the selected instruction.
"use strict";
(() => {
  const body = G.$("body"), detail = G.$("detail"), tip = G.$("tip");
  const PAGE = 1500; // rows that are drawn at once
  let shown = PAGE;
  let elements = new Map(); // rows of the table by address

  const hexWords = (row) => {
    const words = [];
    for (let at = 0; at < row.bytes.length; at += 8) {
      const bytes = row.bytes.slice(at, at + 8).match(/../g) || [];
      words.push(bytes.reverse().join(""));
    }
    return words;
  };

  const fieldClass = (row, field) => {
    const [name, , , , operand] = field;
    if (operand >= 0) return "f" + Math.min(operand, 4);
    if (name === "OP" || name === "OPM") return "o";
    return name === row.encoding ? "e" : "fx";
  };
  const fieldAt = (row, bit) => (row.fields || []).find(([, lo, len]) => bit >= lo && bit < lo + len);

  // The words, each digit in the colour of the field that has its highest bit.
  const words = (row) => {
    const out = [];
    hexWords(row).forEach((word, n) => {
      if (n) out.push(" ");
      [...word].forEach((digit, at) => {
        const field = fieldAt(row, 32 * n + (word.length - at) * 4 - 1);
        out.push(G.el("span", { class: field ? fieldClass(row, field) : "fx" }, digit));
      });
    });
    return out;
  };

  // The text of an instruction with its operands as elements.
  const text = (row, spelling) => {
    if (!row.row) return [G.el("span", { class: "fx" }, hexWords(row).map((w) => `.long 0x${w}`).join("; "))];
    const all = row[spelling];
    let at = all.indexOf(" ") < 0 ? all.length : all.indexOf(" ");
    const out = [G.el("span", { class: "mn", data: { manual: row.row } }, all.slice(0, at))];
    row.operands.forEach((operand, n) => {
      const part = operand[spelling];
      const found = part ? all.indexOf(part, at) : -1;
      if (found < 0) return;
      out.push(all.slice(at, found), G.el("span", { class: `arg f${Math.min(n, 4)}`, data: { operand: n } }, part));
      at = found + part.length;
    });
    out.push(all.slice(at));
    return out;
  };
  const texts = (row) => {
    if (G.spelling !== "both" || !row.row || row.llvm === row.clrx) return text(row, G.spelling === "clrx" ? "clrx" : "llvm");
    return [...text(row, "llvm"), G.el("br"), ...text(row, "clrx")];
  };

  const bar = (value, most) => {
    if (value == null) return [];
    const box = G.el("span", { class: "bar" });
    box.style.width = `${most ? Math.round(16 * value / most) : 0}px`;
    return [box, String(value)];
  };

  const marks = (row) => [
    row.pc === G.state?.pc && !G.state.end ? G.el("span", { class: "arrow", title: "the next instruction" }, "▶") : " ",
    G.breaks.has(row.pc) ? G.el("span", { class: "dot", title: "breakpoint" }, "●") : " ",
    G.reportsAt.has(row.pc) ? G.el("span", { class: "rep", title: G.reportsAt.get(row.pc) }, "▲") : " ",
  ];

  const line = (row, most) => G.el("tr", { class: "row", tabindex: "-1", data: { pc: row.pc } },
    G.el("td", { class: "marks" }, ...marks(row)),
    G.el("td", { class: "addr" }, row.pc.toString(16).padStart(4, "0")),
    G.el("td", {}, ...words(row)),
    G.el("td", {}, ...texts(row)),
    G.el("td", { class: "num" }, ...bar(row.live_vgprs, most.v)),
    G.el("td", { class: "num" }, ...bar(row.live_sgprs, most.s)),
    G.el("td", { class: "num" }, row.cycles == null ? "" : row.cycles === row.most_cycles ? `${row.cycles}` : `${row.cycles}–${row.most_cycles}`),
    G.el("td", { class: "num" }, row.stall ? String(row.stall) : ""));

  const draw = () => {
    const rows = G.view?.rows || [];
    const most = {
      v: rows.reduce((m, r) => Math.max(m, r.live_vgprs || 0), 0),
      s: rows.reduce((m, r) => Math.max(m, r.live_sgprs || 0), 0),
    };
    elements = new Map();
    const all = [];
    for (const row of rows.slice(0, shown)) {
      if (row.labels) all.push(G.el("tr", { class: "label" }, G.el("td"), G.el("td", { colspan: 7 }, row.labels.map((l) => l + ":").join(" "))));
      const element = line(row, most);
      elements.set(row.pc, element);
      all.push(element);
    }
    if (rows.length > shown) {
      const more = G.el("button", { type: "button", onclick: () => { shown += PAGE; draw(); } }, `show more of ${rows.length} instructions`);
      all.push(G.el("tr", {}, G.el("td", { colspan: 8 }, more)));
    }
    body.replaceChildren(...all);
    refresh();
  };

  // Marks, the selection, and the row that the Tab key reaches.
  const refresh = () => {
    const target = elements.get(G.chosen) || elements.values().next().value;
    for (const [pc, element] of elements) {
      const row = G.rowAt(pc);
      element.firstChild.replaceChildren(...marks(row));
      element.classList.toggle("chosen", pc === G.chosen);
      element.classList.toggle("here", pc === G.state?.pc && !G.state.end);
      element.setAttribute("aria-selected", String(pc === G.chosen));
      element.tabIndex = element === target ? 0 : -1;
    }
    G.editor.highlight();
  };

  const bits = (row) => hexWords(row).map((word, n) => {
    const box = G.el("div", { class: "bits", "aria-hidden": "true" });
    const parts = (row.fields || []).filter(([, lo]) => lo >= 32 * n && lo < 32 * n + 32).sort((a, b) => b[1] - a[1]);
    let next = 32 * n + 32;
    const cell = (lo, len, kind, name, value, operand) => {
      const c = G.el("div", { class: kind, title: `${name} ${lo + len - 1}:${lo}`, data: { operand } }, name, G.el("br"), value);
      c.style.gridColumn = `span ${len}`;
      box.append(c);
    };
    for (const field of parts) {
      const [name, lo, len, value, operand] = field;
      if (lo + len < next) cell(lo + len, next - lo - len, "fx", "", "");
      cell(lo, Math.min(len, next - lo), fieldClass(row, field), name, G.hex(value), operand);
      next = lo;
    }
    if (next > 32 * n) cell(32 * n, next - 32 * n, "fx", "", "");
    return box;
  });

  // The purpose of an operand, and its value in the run.
  const operandText = (row, n) => {
    const o = row.operands[n];
    if (!o) return "";
    const field = (row.fields || []).find((f) => f[4] === n);
    const parts = [`${o[G.spelling === "clrx" ? "clrx" : "llvm"]}: ${o.about}, ${o.type}, ${o.access}`];
    if (o.kind) parts.push(o.kind);
    if (field) parts.push(`field ${field[0]}, bits ${field[1] + field[2] - 1}:${field[1]} = ${G.hex(field[3])}`);
    const value = o.reg && G.run?.register(...o.reg);
    if (value) parts.push(`now ${value}`);
    return parts.join("\n");
  };

  const showDetail = () => {
    const row = G.rowAt(G.chosen);
    if (!row) return detail.replaceChildren();
    if (!row.row) return detail.replaceChildren(`${G.hex(row.pc)}: no instruction of ${G.view.target}`);
    const pair = (name, ...value) => [G.el("dt", {}, name), G.el("dd", {}, ...value)];
    const open = G.el("button", { type: "button", onclick: () => G.manual(row.row) }, "Manual");
    const items = [
      ...pair("LLVM", row.llvm), ...pair("CLRX", row.clrx),
      ...pair("encoding", `${row.encoding}, ${row.bytes.length / 2} bytes: ${hexWords(row).join(" ")}`),
    ];
    row.operands.forEach((o, n) => { if (o.llvm) items.push(...pair(`operand ${n + 1}`, G.el("span", { class: `f${Math.min(n, 4)}` }, operandText(row, n).replaceAll("\n", ", ")))); });
    const spans = (row.fields || []).map(([name, lo, len, value]) => `${name} ${len > 1 ? `${lo + len - 1}:` : ""}${lo} = ${G.hex(value)}`);
    items.push(...pair("fields", spans.join(", ")));
    if (row.reads.length) items.push(...pair("reads", row.reads.join(", ")));
    if (row.writes.length) items.push(...pair("writes", row.writes.join(", ")));
    if (row.cycles != null) items.push(...pair("issue", `${row.cycles}${row.cycles === row.most_cycles ? "" : "–" + row.most_cycles} cycles (modelled)${row.stall ? `, waits ${row.stall} for the instruction before` : ""}`));
    if (row.waits?.length) items.push(...pair("waits for", ...row.waits.flatMap((pc, n) => [n ? ", " : "", G.jump(pc)])));
    detail.replaceChildren(G.el("div", { class: "head" }, G.el("b", { class: "o" }, row.row), row.format, open), ...bits(row), G.el("dl", {}, ...items));
  };

  // A button that selects an instruction.
  G.jump = (pc) => G.el("button", { type: "button", onclick: () => G.listing.choose(pc, true, true) }, `${G.hex(pc)} ${G.rowAt(pc)?.llvm.split(" ")[0] || ""}`);

  G.listing = {
    draw, refresh, showDetail,
    choose(pc, reveal = true, focus = false) {
      G.chosen = pc;
      const rows = G.view?.rows || [];
      const index = rows.findIndex((r) => r.pc === pc);
      if (index >= shown) { shown = index + PAGE; draw(); } else refresh();
      showDetail();
      const element = elements.get(pc);
      element?.scrollIntoView({ block: "nearest" });
      if (focus) element?.focus({ preventScroll: true });
      const row = G.rowAt(pc);
      if (reveal && row?.line) G.editor.reveal(row.line);
      G.changed();
    },
    reveal(pc) { elements.get(pc)?.scrollIntoView({ block: "nearest" }); },
    toggle(pc) {
      if (!G.breaks.delete(pc)) G.breaks.add(pc);
      refresh();
      G.changed();
    },
  };

  const rowOf = (event) => event.target.closest?.("tr.row");
  body.addEventListener("click", (event) => {
    const row = rowOf(event);
    if (!row) return;
    const pc = Number(row.dataset.pc);
    if (event.target.closest("td.marks")) return G.listing.toggle(pc);
    G.listing.choose(pc, true, true);
    if (event.target.dataset.manual) G.manual(event.target.dataset.manual);
  });
  body.addEventListener("keydown", (event) => {
    const row = rowOf(event);
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const pcs = [...elements.keys()];
    const at = pcs.indexOf(Number(row.dataset.pc));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: pcs.length - 1, PageDown: at + 16, PageUp: at - 16 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      return G.listing.choose(pcs[Math.max(0, Math.min(pcs.length - 1, to))], true, true);
    }
    if (event.key === "Enter") { event.preventDefault(); const name = G.rowAt(pcs[at])?.row; if (name) G.manual(name); }
    else if (event.key === "b") G.listing.toggle(pcs[at]);
    else if (event.key === "e") { const l = G.rowAt(pcs[at])?.line; if (l) { event.preventDefault(); G.editor.go(l); } }
    else G.run?.key(event);
  });
  body.addEventListener("focusin", (event) => {
    const row = rowOf(event);
    if (row && Number(row.dataset.pc) !== G.chosen) G.listing.choose(Number(row.dataset.pc));
  });

  const light = (root, operand) => {
    for (const old of document.querySelectorAll(".lit")) old.classList.remove("lit");
    if (operand == null) return;
    for (const part of root.querySelectorAll(`[data-operand="${operand}"]`)) part.classList.add("lit");
  };
  body.addEventListener("mouseover", (event) => {
    const arg = event.target.closest?.(".arg"), element = rowOf(event);
    tip.hidden = !arg;
    const row = element && G.rowAt(Number(element.dataset.pc));
    if (!arg || !row) return light(detail, null);
    tip.textContent = operandText(row, Number(arg.dataset.operand));
    const box = arg.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
    const below = box.bottom + 4 + tip.offsetHeight < innerHeight;
    tip.style.top = `${below ? box.bottom + 4 : box.top - tip.offsetHeight - 4}px`;
    if (row.pc === G.chosen) light(detail, arg.dataset.operand);
  });
  body.addEventListener("mouseleave", () => { tip.hidden = true; light(detail, null); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
})();
