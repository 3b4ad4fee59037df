// A notification in the list: its texts, its picture, its buttons and its tools.

class Card {
  /** `list` is the view that shows it. */
  constructor(list, id) {
    this.list = list;
    this.icon = element("span", { class: "icon", part: "icon", "aria-hidden": "true" });
    this.title = element("span", { class: "title", part: "title", dir: "auto" });
    this.body = element("span", { class: "body", part: "body", dir: "auto" });
    this.day = element("span", { class: "date" });
    this.hour = element("span");
    this.time = element("time", { class: "time", part: "time" }, this.day, this.hour);
    this.dot = element("span", { class: "dot", part: "dot", role: "img" });
    const words = element("span", { class: "words" }, this.title, this.body, this.time);
    this.link = element("a", { class: "card", part: "card" }, this.icon, words, this.dot);
    this.link.addEventListener("click", (event) => this.press(event));
    this.menu = menuButton(() => list.actions.menu([this.item], this.menu));
    this.tools = element("span", { class: "tools" }, this.menu);
    this.node = element("li", { "data-id": id, part: "item" }, this.link, this.tools);
    this.node.addEventListener("pointerenter", () => this.addQuick());
    this.offered = "[]";
  }

  get item() {
    return this.link.item;
  }

  fill(item, model) {
    const { words, now, zones, addressOf, types, filter } = this.list.facts;
    const look = types.get(item.type) ?? {};
    const isNew = model.isNew(item);
    const isOver = Date.parse(item.expiresAt) <= now;
    this.link.item = item;
    this.point(addressOf(item));
    this.node.className = `${isNew ? "new" : ""}${isOver ? " over" : ""}${this.isOpen ? " open" : ""}${this.fits ? " fits" : ""}`;
    this.paint(item.icon ?? look.icon, item.color ?? look.color, item.background ?? look.background);
    this.show(item.imageUrl);
    this.link.className = `card${isNew ? " unread" : ""}${item.priority === "high" ? " high" : ""}${this.picture ? " pictured" : ""}`;
    if (this.title.textContent !== item.title || this.body.textContent !== item.body) this.isMeasured = false;
    setText(this.title, item.title);
    setText(this.body, item.body);
    this.body.hidden = item.body === "";
    this.time.dateTime = item.createdAt;
    const isWaiting = filter === "snoozed" && item.snoozedUntil;
    const { time } = timeWords(Date.parse(item.createdAt), now, zones, words.tag);
    // A small screen does not repeat the date of the heading.
    setText(this.day, isWaiting ? "" : time.slice(0, -5));
    setText(this.hour, isWaiting ? words.until(wakingOf(item.snoozedUntil, zones, words)) : time.slice(-5) + (isOver ? ` · ${words.expired}` : ""));
    this.time.classList.toggle("long", Boolean(isWaiting));
    this.dot.hidden = !isNew;
    this.dot.setAttribute("aria-label", words.unread);
    if (this.whole) setText(this.whole, this.isOpen ? words.less : words.whole);
    this.offer(item);
    if (this.menu.ariaLabel !== words.actionsFor(item.title)) this.menu.ariaLabel = words.actionsFor(item.title);
  }

  /** Leads to an address; without one, a press opens the text. */
  point(address) {
    if (address) this.link.href = address;
    else this.link.removeAttribute("href");
    for (const [name, value] of [["role", "button"], ["tabindex", "0"]]) {
      if (address) this.link.removeAttribute(name);
      else this.link.setAttribute(name, value);
    }
  }

  /** Applies the catalogue's colours, which are used in styles only as values of properties. */
  paint(icon, color, background) {
    const { dataset, style } = this.icon;
    if (dataset.icon !== String(icon)) {
      dataset.icon = String(icon);
      this.icon.replaceChildren(drawing(icon) ?? drawing("Bell"));
    }
    for (const [name, value] of [["--icon-color", color], ["--icon-background", background]]) {
      if (/^#[0-9a-f]{6}$/i.test(value ?? "")) style.setProperty(name, value);
      else style.removeProperty(name);
    }
  }

  /** Shows the event's picture in a place of fixed size; one that cannot be loaded is removed. */
  show(address) {
    if (this.address === address) return;
    this.address = address;
    this.picture?.remove();
    this.picture = null;
    if (!isPicture(address)) return;
    // The title and the body describe the notification, so that the picture needs no text.
    const about = { alt: "", class: "picture", part: "image", loading: "lazy", decoding: "async", referrerpolicy: "no-referrer" };
    this.picture = element("img", about);
    this.picture.addEventListener("error", () => {
      this.picture?.remove();
      this.picture = null;
      this.link.classList.remove("pictured");
    });
    this.picture.src = address;
    this.dot.before(this.picture);
  }

  /** Shows the catalogue's buttons as links. */
  offer({ actions = [], title }) {
    const { addressOf } = this.list.facts;
    const offered = JSON.stringify(actions.map((action) => [title, action.label, addressOf(action)]));
    if (this.offered === offered) return;
    this.offered = offered;
    this.buttons?.remove();
    if (actions.length === 0) return;
    const links = actions.map((action) => {
      const onclick = (event) => this.list.actions.open(this.item, event, action);
      return element("a", { class: "chip action", part: "action", dir: "auto", href: addressOf(action), onclick }, action.label);
    });
    this.buttons = element("div", { class: "actions", part: "actions", role: "group", "aria-label": title }, ...links);
    this.tools.before(this.buttons);
  }

  /** Adds the buttons for a pointer; the keys and the menu do the same. */
  addQuick() {
    const { actions, archiving, facts } = this.list;
    const { words } = facts;
    const quick = (icon, name, onclick) => iconButton(icon, name, { tabindex: "-1", "aria-hidden": "true", class: "icon-button quick", onclick });
    const snooze = archiving === "archived" && quick("Clock", words.snooze, () => actions.snooze(this.item, this.menu));
    const archive = quick("Archive", words[archiving], () => actions.act([this.item], archiving));
    arrange(this.tools, [archive, snooze, this.menu].filter(Boolean));
  }

  /** Opens the address of the notification, or its text if it has none. */
  press(event) {
    this.list.actions.open(this.item, event);
    if (!this.link.href && this.whole && !this.whole.hidden) this.toggle();
  }

  /** Does what a key means. */
  pressKey(key) {
    const { actions, archiving } = this.list;
    if (key === "e") actions.act([this.item], archiving);
    else if (key === "u") actions.act([this.item], this.item.read ? "unread" : "read");
    else if (key === "h") actions.snooze(this.item, this.menu);
    else return false;
    return true;
  }

  toggle() {
    const { words } = this.list.facts;
    this.isOpen = !this.isOpen;
    this.node.classList.toggle("open", this.isOpen);
    this.whole.setAttribute("aria-expanded", String(this.isOpen));
    setText(this.whole, this.isOpen ? words.less : words.whole);
    this.list.actions.opened(this.item);
  }

  /** Whether the text may be longer than its place. */
  get isLong() {
    const { title, body } = this;
    return body.textContent.length > 90 || title.textContent.length > 90 || body.textContent.includes("\n");
  }

  /** The number of lines that are cut. */
  get cutLines() {
    return Math.max(hiddenLines(this.title), hiddenLines(this.body));
  }

  /** Offers to open a text that does not fit; one that exceeds the lines by one is shown whole. */
  fit(lines) {
    const isCut = lines >= 1.5 || this.isOpen;
    if (isCut && !this.whole) {
      const about = { class: "whole", part: "show-more", "aria-expanded": "false", onclick: () => this.toggle() };
      this.whole = element("button", about, this.list.facts.words.whole);
      this.link.after(this.whole);
    }
    if (this.whole) this.whole.hidden = !isCut;
    this.fits = lines > 0.5 && lines < 1.5;
    this.node.classList.toggle("fits", this.fits);
  }
}

/** Returns the button that opens a row's menu. */
function menuButton(onclick) {
  return element("button", { class: "icon-button dots", part: "menu-button", "aria-haspopup": "menu", onclick });
}

/** Returns how many lines of an element are cut. */
function hiddenLines(node) {
  const height = parseFloat(getComputedStyle(node).lineHeight) || 20;
  return (node.scrollHeight - node.clientHeight) / height;
}

/** Returns the end of a pause: the time alone if it is today. */
function pauseTime(instant, now, zones, words) {
  const [end, { number }] = [readingOf(instant, zones), readingOf(now, zones)];
  return end.number === number ? `${end.hour}:${end.minute}` : wakingOf(instant, zones, words);
}

/** Returns the day and time of a wake-up in short form. */
function wakingOf(instant, zones, { tag }) {
  const zone = zones.find((name) => name && clockOf(name)) ?? "UTC";
  const parts = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZone: zone };
  return new Intl.DateTimeFormat(tag === "en" ? "en-GB" : tag, parts).format(new Date(instant));
}
