// The only place that creates elements; text is only inserted as a text node.

/** Creates an element with attributes (`on…` are listeners, null and false are omitted) and children. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Creates a button with a drawing and a name. */
function iconButton(icon, name, attributes) {
  return element("button", { class: "icon-button", "aria-label": name, title: name, ...attributes }, drawing(icon));
}

/** Sets a text only if it differs, so that screen readers do not read it again. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Puts nodes in order and removes all others; a node in the right place is not touched, and keeps its focus. */
function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  let place = parent.firstChild;
  for (const node of nodes) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
}
