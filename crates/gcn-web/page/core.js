// The parts that the page's scripts share: the state, elements, requests to the server, values as text, colours, links.
"use strict";
const G = { initial: JSON.parse(document.getElementById("initial").textContent), parts: [] };

G.$ = (id) => document.getElementById(id);

// An element: its tag, attributes or properties, and children.
G.el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((c) => c != null));
  return element;
};

G.root = document.body.dataset.root;
G.static = G.initial.static;

// The document, which a link restores. `view` is the server's answer about it.
G.doc = { name: "", source: "", arch: "gfx900", syntax: "auto", registers: "", kernel: "", grid: "64", group: "64", args: "" };
G.view = null;
G.chosen = null; // the address of the selected instruction
G.breaks = new Set();
G.spelling = "llvm";

G.api = async (name, body) => {
  let response;
  try {
    response = await fetch(G.root + "api/" + name, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  } catch {
    return { error: "gcn web does not answer: is it still running?" };
  }
  const type = response.headers.get("Content-Type") || "";
  if (type.startsWith("application/json")) return response.json();
  return { error: `${response.status}: ${(await response.text()).trim()}` };
};

G.request = () => ({ source: G.doc.source, arch: G.doc.arch, syntax: G.doc.syntax });

G.hex = (value) => "0x" + Number(value).toString(16);

const words = new DataView(new ArrayBuffer(4));
// A dword as text in a format.
G.show = (value, format) => {
  words.setUint32(0, value >>> 0);
  switch (format) {
    case "int": return String(value | 0);
    case "uint": return String(value >>> 0);
    case "float": return G.float(words.getFloat32(0));
    default: return "0x" + (value >>> 0).toString(16).padStart(8, "0");
  }
};
G.float = (value) => {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.0";
  const text = String(Number(value.toPrecision(7)));
  return /[.e]/.test(text) ? text : text + ".0";
};

// Lanes as text: 0-31, 40.
G.lanes = (mask) => {
  const parts = [];
  for (let lane = 0; lane < 64; lane++) {
    if (!(mask >> BigInt(lane) & 1n)) continue;
    let last = lane;
    while (last < 63 && mask >> BigInt(last + 1) & 1n) last++;
    parts.push(last === lane ? `${lane}` : `${lane}–${last}`);
    lane = last;
  }
  return parts.length ? parts.join(", ") : "none";
};
G.count = (mask) => { let n = 0; for (; mask; mask &= mask - 1n) n++; return n; };

G.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

G.plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;

G.rowAt = (pc) => G.byPc?.get(pc);

// The theme: an attribute, so that one set of rules is enough.
const dark = matchMedia("(prefers-color-scheme: dark)");
G.theme = (choice) => {
  const now = choice === "auto" ? (dark.matches ? "dark" : "light") : choice;
  document.documentElement.dataset.theme = now;
  const frame = G.$("manual")?.contentDocument;
  if (frame?.documentElement) frame.documentElement.dataset.theme = now;
  for (const part of G.parts) part.theme?.();
};
let stored = "auto";
try { stored = localStorage.getItem("gcn-theme") || "auto"; } catch { /* there is no storage */ }
G.themeChoice = stored;
document.documentElement.dataset.theme = stored === "auto" ? (dark.matches ? "dark" : "light") : stored;
dark.addEventListener("change", () => G.theme(G.themeChoice));

// Links: the state as JSON, compressed if the browser supports it, in base64 for addresses.
const pipe = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
const toText = (bytes) => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
G.pack = async (value) => {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  if (typeof CompressionStream === "undefined") return "j" + toText(bytes);
  return "z" + toText(await pipe(bytes, new CompressionStream("deflate-raw")));
};
G.unpack = async (text) => {
  const bytes = toBytes(text.slice(1));
  const plain = text[0] === "z" ? await pipe(bytes, new DecompressionStream("deflate-raw")) : bytes;
  return JSON.parse(new TextDecoder().decode(plain));
};
