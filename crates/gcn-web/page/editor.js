// The editor: a text area over a coloured copy of its text, with line numbers and marks.
"use strict";
(() => {
  const area = G.$("source-text"), paint = G.$("paint"), gutter = G.$("gutter"), editor = G.$("editor");
  const MOST_PAINTED = 200000; // characters; longer text is not coloured
  const NUMBER = /^(?:-?0x[0-9a-f]+|-?\d[\d.]*(?:e[-+]?\d+)?)$/i;
  const REGISTER = /^(?:[sv]\d+|[sv]$|ttmp\d*|exec(?:_lo|_hi)?|vcc(?:_lo|_hi)?|scc|m0|flat_scratch\w*|xnack_mask\w*|off|null)$/i;

  // Splits a line into pieces with classes.
  const pieces = (line) => {
    const out = [];
    let first = true;
    const pattern = /(\/\/.*|;.*|\/\*.*?\*\/)|("(?:[^"\\]|\\.)*")|([.\w$@]+:?)|(\s+)|([^\s\w.$@"]+?)/g;
    for (const [text, comment, string, word, space] of line.matchAll(pattern)) {
      let kind = "";
      if (comment) kind = "c";
      else if (string) kind = "n";
      else if (word && first && word.endsWith(":")) kind = "f3";
      else if (word && first) { kind = word.startsWith(".") ? "d" : "w"; first = false; }
      else if (word && NUMBER.test(word)) kind = "n";
      else if (word && REGISTER.test(word)) kind = "r";
      else if (!space) first = first && text !== "";
      out.push([kind, text]);
    }
    return out;
  };

  // Marks by line: the class of the gutter, a title, and a part that is underlined.
  let marks = new Map();
  let lines = [];
  const painted = (line, mark) => {
    const box = G.el("div");
    let at = 0;
    for (const [kind, text] of pieces(line)) {
      const within = mark?.length && at < mark.start + mark.length && at + text.length > mark.start;
      const classes = [kind, within ? "squiggle" : ""].filter(Boolean).join(" ");
      box.append(classes ? G.el("span", { class: classes }, text) : text);
      at += text.length;
    }
    return box;
  };

  const draw = () => {
    const text = area.value;
    lines = text.split("\n");
    const plain = text.length > MOST_PAINTED;
    editor.classList.toggle("plain", plain);
    paint.replaceChildren(...(plain ? [] : lines.map((line, n) => painted(line, marks.get(n + 1)))));
    gutter.replaceChildren(...lines.map((_, n) => {
      const mark = marks.get(n + 1);
      return G.el("div", { class: mark?.kind, title: mark?.title, data: { line: n + 1 } }, String(n + 1));
    }));
    const widest = lines.reduce((most, line) => Math.max(most, line.replaceAll("\t", "        ").length), 0);
    area.style.height = `${lines.length * 18 + 8}px`;
    area.style.width = `${widest + 4}ch`;
    highlight();
  };

  // The lines of the instruction at the wave's PC and of the selected one.
  const lineOf = (pc) => G.rowAt(pc)?.line;
  const highlight = () => {
    for (const old of editor.querySelectorAll(".here, .chosen, .stop")) old.classList.remove("here", "chosen", "stop");
    const set = (line, name) => {
      if (!line || G.stale) return;
      gutter.children[line - 1]?.classList.add(name);
      paint.children[line - 1]?.classList.add(name);
    };
    for (const pc of G.breaks) if (lineOf(pc) && !G.stale) gutter.children[lineOf(pc) - 1]?.classList.add("stop");
    set(lineOf(G.chosen), "chosen");
    set(lineOf(G.state?.pc), "here");
  };

  G.editor = {
    set(text) { area.value = text; draw(); },
    // Puts the messages of the assembler and the reports at their lines.
    mark(diagnostics, reports) {
      marks = new Map();
      for (const r of reports) if (r.line) marks.set(r.line, { kind: "reported", title: r.message });
      for (const d of diagnostics.slice().reverse()) {
        const outer = d.notes.length > 0;
        marks.set(d.line, { kind: d.level, title: d.message, start: outer ? 0 : d.start, length: outer ? 0 : d.length });
      }
      draw();
    },
    highlight,
    // Moves to a line and column, both from 1.
    go(line, column = 1) {
      const start = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0) + column - 1;
      area.focus({ preventScroll: true });
      area.setSelectionRange(start, start);
      this.reveal(line);
    },
    reveal(line) {
      const top = (line - 1) * 18;
      if (top < editor.scrollTop || top > editor.scrollTop + editor.clientHeight - 40) editor.scrollTop = top - editor.clientHeight / 3;
    },
    line() { return area.value.slice(0, area.selectionStart).split("\n").length; },
  };

  area.addEventListener("input", () => { draw(); G.edited(); });
  let leave = false;
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { leave = true; return; }
    if (event.key === "Tab" && !leave && !event.shiftKey && !area.readOnly && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      // The user can undo this, unlike a change of the value by script.
      if (!document.execCommand("insertText", false, "\t")) {
        area.setRangeText("\t", area.selectionStart, area.selectionEnd, "end");
        area.dispatchEvent(new Event("input"));
      }
    }
    leave = false;
  });
  // The instruction of the line with the caret is the selected one.
  const follow = () => {
    const line = G.editor.line();
    const row = G.view?.rows?.find((r) => r.line === line);
    if (row && row.pc !== G.chosen) G.listing.choose(row.pc, false);
  };
  area.addEventListener("keyup", (event) => { if (/^(Arrow|Page|Home|End)/.test(event.key)) follow(); });
  area.addEventListener("click", follow);
  gutter.addEventListener("click", (event) => {
    const line = Number(event.target.dataset.line);
    const row = G.view?.rows?.find((r) => r.line === line);
    if (row) G.listing.toggle(row.pc);
  });
})();
