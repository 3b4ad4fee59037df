// The only place that creates elements; text is only inserted as a text node.

/** Creates an element with attributes (`on…` are listeners, null and false are omitted) and children. */
function el(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

/** Creates the same for a drawing. */
function draw(name, attributes = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function furnish(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Replaces a node's children; a focused child keeps the focus if it returns under the same `data-key`. */
function fill(parent, ...children) {
  const key = parent.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  parent.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  if (key) parent.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

const PATHS = {
  status: "M3 12h4l3-8 4 16 3-8h4",
  providers: "M4 5h16v5H4zM4 14h16v5H4zM8 7.500v.01M8 16.500v.01",
  desk: "M3 13h5l1.500 3h5l1.500-3h5M5 5h14l2 8v6H3v-6z",
  replays: "M4 4v5h5M4.500 9A8 8 0 1 1 4 13",
  fanouts: "M5 12h4m0 0 8-6m-8 6 8 6M19 5.500v.01M19 18.500v.01M13 12h6",
  holds: "M8 5v14M16 5v14",
  person: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8M4.500 20a7.500 7.500 0 0 1 15 0",
  explain: "M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.8.4-1 .9-1 1.700M12 17v.01M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18",
  audit: "M8 6h12M8 12h12M8 18h12M4 6v.01M4 12v.01M4 18v.01",
  charts: "M4 20V4M4 20h16M8 16l4-5 3 3 5-7",
  out: "M10 5H5v14h5M14 8l4 4-4 4M18 12H9",
  keys: "M3 7h18v10H3zM7 11v.01M11 11v.01M15 11v.01M8 14h8",
  good: "M5 12.500l4.500 4.500L19 7.500",
  bad: "M12 8v5M12 16.500v.01M12 3 2.500 20h19z",
  more: "M9 6l6 6-6 6",
  cross: "M6 6l12 12M18 6 6 18",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14m5 12 4 4",
};

function icon(name) {
  return draw("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", class: "icon" }, draw("path", { d: PATHS[name] }));
}

/** Creates a button; `kind` is `main`, `danger`, `quiet` or nothing. */
function button(words, act, { kind = "", key = words, ...attributes } = {}) {
  return el("button", { type: "button", class: `button ${kind}`, "data-key": key, onclick: act, ...attributes }, words);
}

function link(href, words, attributes = {}) {
  return el("a", { href, "data-key": href, ...attributes }, words);
}

/** Creates a word in a coloured frame. */
function tag(words, kind = "") {
  return el("span", { class: `tag ${kind}` }, words);
}

/** Creates a section with a heading, and content next to the heading. */
function card(title, beside, ...children) {
  const head = title === null ? null : el("div", { class: "card-head" }, el("h2", {}, title), beside);
  return el("section", { class: "card" }, head, ...children);
}

/** Creates rows of cells under headings; the heading of a numeric column begins with `#`. */
function table(headings, rows, attributes = {}) {
  const isNumber = headings.map((heading) => heading.startsWith("#"));
  const head = headings.map((heading, place) =>
    el("th", { scope: "col", class: isNumber[place] ? "number" : null }, heading.replace("#", "")));
  const body = rows.map((cells) => el("tr", {}, cells.map((cell, place) =>
    el("td", { class: isNumber[place] ? "number" : null }, cell))));
  return el("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": attributes.label ?? "table" },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

/** Creates the message for an empty list. */
function nothing(sign, title, words) {
  return el("div", { class: "nothing" }, el("div", { class: `sign ${sign}` }, icon(sign)), el("p", { class: "big" }, title),
    words ? el("p", { class: "muted" }, words) : null);
}

/** Creates names with their values, without empty values. */
function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}
