"use strict";
// The search of the manual: PAGES is [name, about, file, other names] of every page, from index.js.
(() => {
  const form = document.getElementById("search");
  const input = document.getElementById("words");
  const list = document.getElementById("found");

  // The score of a page for all words; 0 if one does not occur.
  const score = ([name, about, , also], words) => {
    const title = name.toLowerCase();
    const text = about.toLowerCase();
    const others = also.toLowerCase();
    let sum = 0;
    for (const word of words) {
      let points = 0;
      if (title === word) points = 100;
      else if (title.split(/[_-]/).includes(word)) points = 30;
      else if (title.startsWith(word)) points = 25;
      else if (title.includes(word) || others.includes(word)) points = 20;
      else if (text.split(/[^a-z0-9]+/).includes(word)) points = 10;
      else if (text.includes(word)) points = 5;
      if (points === 0) return 0;
      sum += points;
    }
    return sum - title.length / 100;
  };

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    const found = words.length === 0 ? [] : PAGES.map((page) => [score(page, words), page])
      .filter(([points]) => points > 0)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 30);
    for (const [, [name, about, file]] of found) {
      const link = document.createElement("a");
      const title = document.createElement("b");
      const text = document.createElement("span");
      link.href = file;
      title.textContent = name;
      text.textContent = " " + about;
      link.append(title, text);
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    if (words.length > 0 && found.length === 0) {
      const item = document.createElement("li");
      item.textContent = "Nothing found";
      list.append(item);
    }
    list.hidden = words.length === 0;
  };

  // Makes scrollable elements reachable by the keyboard.
  const scrolling = () => {
    for (const table of document.querySelectorAll(".table")) {
      if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
      else table.removeAttribute("tabindex");
    }
  };
  scrolling();
  addEventListener("resize", scrolling);

  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = list.querySelector("a");
    if (first) first.click();
  });
  document.addEventListener("click", (event) => {
    if (!form.contains(event.target)) list.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape") {
      list.hidden = true;
    } else if (!list.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      (links[next] ?? input).focus();
    }
  });
})();
