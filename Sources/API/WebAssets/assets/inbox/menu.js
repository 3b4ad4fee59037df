// The menu of a notification, in the top layer next to its button.

class RowMenu {
  constructor() {
    this.node = element("div", { class: "menu", part: "menu", popover: "auto" });
    this.node.addEventListener("keydown", (event) => this.move(event));
    this.node.addEventListener("toggle", ({ newState }) => newState === "closed" && this.closed());
  }

  /** `entries`: `{icon, label, key, run}`; a `run` that returns entries opens them in place of these. */
  open(anchor, name, entries) {
    this.anchor = anchor;
    this.name = name;
    this.show(entries);
    this.node.showPopover();
    this.place();
    this.node.querySelector("button, input")?.focus();
  }

  show(entries) {
    const isForm = entries instanceof Node;
    this.node.setAttribute("role", isForm ? "dialog" : "menu");
    this.node.setAttribute("aria-label", this.name);
    this.node.replaceChildren(...(isForm ? [entries] : entries.map((entry) => this.item(entry))));
  }

  item({ icon, label, key, run }) {
    const choose = () => {
      const next = run();
      if (!next) return this.node.hidePopover();
      this.show(next);
      this.place();
      this.node.querySelector("button, input")?.focus();
    };
    const about = { role: "menuitem", tabindex: "-1", "aria-keyshortcuts": key, onclick: choose };
    const hint = key && element("kbd", { "aria-hidden": "true" }, key);
    return element("button", about, icon && drawing(icon), element("span", { dir: "auto" }, label), hint);
  }

  /** Below the anchor, or above it if there is more room. */
  place() {
    const at = this.anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.node;
    const isRight = getComputedStyle(this.node).direction === "rtl";
    const left = Math.max(8, Math.min(isRight ? at.left : at.right - width, innerWidth - width - 8));
    const below = at.bottom + 4;
    const top = below + height > innerHeight - 8 ? Math.max(8, at.top - height - 4) : below;
    this.node.style.setProperty("left", `${left}px`);
    this.node.style.setProperty("top", `${top}px`);
  }

  closed() {
    const { anchor } = this;
    const focus = this.node.getRootNode().activeElement;
    if (!focus || this.node.contains(focus)) anchor?.focus({ preventScroll: true });
  }

  get isOpen() {
    return this.node.matches(":popover-open");
  }

  close() {
    if (this.isOpen) this.node.hidePopover();
  }

  move(event) {
    const items = [...this.node.querySelectorAll("[role=menuitem]")];
    const place = items.indexOf(this.node.getRootNode().activeElement);
    const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Tab" && items.length > 0) this.node.hidePopover();
    if (next === undefined || items.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    items.at(next % items.length).focus();
  }
}
