// The list: groups by day, with a card for each notification.

class ListView {
  /** The time after which a notification on the screen counts as seen, in milliseconds. */
  static glance = 800;

  /**
   * `actions`: `open(item, event, action)`, `seen(ids)`, `looked(times)`, `act(item, state)`, `menu(item, anchor)`,
   * `snooze(item, anchor)`, `opened(item)`, `isLooking()`, `more()`, `retry()`. `looked` gets pairs of id and
   * milliseconds, and returns whether some of them need a longer look.
   */
  constructor(actions) {
    this.actions = actions;
    this.cards = new Map();
    this.groups = new Map();
    /** The ids on the screen, and for how long the user has looked at each. */
    this.visible = new Map();
    this.sections = element("div", { class: "groups" });
    this.more = element("button", { type: "button", class: "quiet-button more", part: "more", onclick: () => this.showMore() });
    this.notice = element("div", { class: "notice", hidden: true });
    this.node = element("div", { class: "list", part: "list" }, this.notice, this.sections, this.more);
    this.node.addEventListener("keydown", (event) => this.moveFocus(event));
    this.watch = new IntersectionObserver((entries) => this.see(entries), { threshold: 0.6 });
    this.widths = new ResizeObserver(() => this.measureAll());
    this.widths.observe(this.node);
    this.onReturn = () => !document.hidden && this.markSoon();
    document.addEventListener("visibilitychange", this.onReturn);
  }

  end() {
    this.watch.disconnect();
    this.widths.disconnect();
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.onReturn);
  }

  render(model, facts) {
    this.facts = facts;
    const { words, now, zones, status } = facts;
    const groups = model.groups(now, zones, words);
    const used = new Set();
    const days = new Map();
    arrange(
      this.sections,
      groups.map(({ day, items }) => {
        // A snoozed notification returns above newer ones, so that a day may appear twice.
        days.set(day, (days.get(day) ?? 0) + 1);
        return this.group(day, days.get(day), items, used, model, facts);
      })
    );
    this.forget(used);
    this.more.hidden = model.next === null || !model.isLoaded;
    setText(this.more, words.more);
    this.showNotice(model, facts);
    this.measure();
    this.node.classList.toggle("ended", status === "signed-out");
    this.node.setAttribute("aria-busy", String(!model.isLoaded && status === "loading"));
  }

  group(day, turn, items, used, model, { words, level }) {
    const key = `${turn} ${day}`;
    let group = this.groups.get(key);
    if (!group) {
      const id = `day-${(ListView.count = (ListView.count ?? 0) + 1)}`;
      const list = element("ul", { role: "list", "aria-labelledby": id });
      group = { list, node: element("section", { class: "group" }, element(`h${level + 1}`, { id, class: "day", part: "day" }, day), list) };
      this.groups.set(key, group);
    }
    group.node.classList.toggle("important", day === words.important);
    arrange(
      group.list,
      items.map((item) => {
        used.add(item.id);
        return this.card(item, model);
      })
    );
    group.inUse = true;
    return group.node;
  }

  card(item, model) {
    let card = this.cards.get(item.id);
    if (!card) {
      card = this.makeCard(item);
      this.cards.set(item.id, card);
      this.watch.observe(card.node);
    }
    this.fill(card, item, model);
    return card.node;
  }

  makeCard(item) {
    const parts = {
      icon: element("span", { class: "icon", part: "icon", "aria-hidden": "true" }),
      title: element("span", { class: "title", part: "title", dir: "auto" }),
      body: element("span", { class: "body", part: "body", dir: "auto" }),
      time: element("time", { class: "time", part: "time" }),
      dot: element("span", { class: "dot", part: "dot", role: "img" }),
    };
    const words = element("span", { class: "words" }, parts.title, parts.body, parts.time);
    const link = element("a", { class: "card", part: "card" }, parts.icon, words, parts.dot);
    link.addEventListener("click", (event) => this.press(card, event));
    const menu = { type: "button", class: "icon-button dots", part: "menu-button", "aria-haspopup": "menu" };
    parts.menu = element("button", { ...menu, onclick: () => this.actions.menu(link.item, parts.menu) });
    const tools = element("span", { class: "tools" }, parts.menu);
    const node = element("li", { "data-id": item.id, part: "item" }, link, tools);
    const card = { ...parts, tools, link, node, offered: "[]" };
    node.addEventListener("pointerenter", () => this.addQuick(card));
    return card;
  }

  /** Adds the buttons for a pointer; the keys and the menu do the same. */
  addQuick({ tools, link, menu }) {
    const { words } = this.facts;
    const quick = (icon, name, onclick) => iconButton(icon, name, { tabindex: "-1", "aria-hidden": "true", class: "icon-button quick", onclick });
    const snooze = this.archiving === "archived" && quick("Clock", words.snooze, () => this.actions.snooze(link.item, menu));
    const archive = quick("Archive", words[this.archiving], () => this.actions.act(link.item, this.archiving));
    arrange(tools, [archive, snooze, menu].filter(Boolean));
  }

  get archiving() {
    return this.facts.filter === "archived" || this.facts.filter === "snoozed" ? "unarchived" : "archived";
  }

  fill(card, item, model) {
    const { words, now, zones, addressOf, types, filter } = this.facts;
    const look = types.get(item.type) ?? {};
    const isNew = model.isNew(item);
    const isOver = Date.parse(item.expiresAt) <= now;
    card.link.item = item;
    const address = addressOf(item);
    if (address) card.link.href = address;
    else card.link.removeAttribute("href");
    // Without a link, a press opens the text.
    for (const [name, value] of [["role", "button"], ["tabindex", "0"]]) {
      if (address) card.link.removeAttribute(name);
      else card.link.setAttribute(name, value);
    }
    card.node.className = `${isNew ? "new" : ""}${isOver ? " over" : ""}${card.isOpen ? " open" : ""}${card.fits ? " fits" : ""}`;
    card.link.className = `card${isNew ? " unread" : ""}${item.priority === "high" ? " high" : ""}`;
    this.paint(card, item.icon ?? look.icon, item.color ?? look.color, item.background ?? look.background);
    if (card.title.textContent !== item.title || card.body.textContent !== item.body) card.isMeasured = false;
    setText(card.title, item.title);
    setText(card.body, item.body);
    card.body.hidden = item.body === "";
    card.time.dateTime = item.createdAt;
    const { time } = timeWords(Date.parse(item.createdAt), now, zones, words.tag);
    setText(card.time, filter === "snoozed" && item.snoozedUntil ? words.until(wakingOf(item.snoozedUntil, zones, words)) : isOver ? `${time} · ${words.expired}` : time);
    card.dot.hidden = !isNew;
    card.dot.setAttribute("aria-label", words.unread);
    if (card.whole) setText(card.whole, card.isOpen ? words.less : words.whole);
    this.offer(card, item);
    if (card.menu.ariaLabel !== words.actionsFor(item.title)) card.menu.ariaLabel = words.actionsFor(item.title);
  }

  /** Shows the catalogue's buttons as links. */
  offer(card, item) {
    const { actions = [], title } = item;
    const { addressOf } = this.facts;
    const offered = JSON.stringify(actions.map((action) => [title, action.label, addressOf(action)]));
    if (card.offered === offered) return;
    card.offered = offered;
    card.buttons?.remove();
    if (actions.length === 0) return;
    const links = actions.map((action) => {
      const onclick = (event) => this.actions.open(card.link.item, event, action);
      return element("a", { class: "chip action", part: "action", dir: "auto", href: addressOf(action), onclick }, action.label);
    });
    card.buttons = element("div", { class: "actions", part: "actions", role: "group", "aria-label": title }, ...links);
    card.tools.before(card.buttons);
  }

  addWhole(card) {
    const about = { type: "button", class: "whole", part: "show-more", "aria-expanded": "false", onclick: () => this.toggle(card) };
    card.whole = element("button", about, this.facts.words.whole);
    card.link.after(card.whole);
  }

  /** Opens the address of a card, or its text if it has none. */
  press(card, event) {
    this.actions.open(card.link.item, event);
    if (!card.link.href && card.whole && !card.whole.hidden) this.toggle(card);
  }

  toggle(card) {
    card.isOpen = !card.isOpen;
    card.node.classList.toggle("open", card.isOpen);
    card.whole.setAttribute("aria-expanded", String(card.isOpen));
    setText(card.whole, card.isOpen ? this.facts.words.less : this.facts.words.whole);
    this.actions.opened(card.link.item);
  }

  measureAll() {
    for (const card of this.cards.values()) card.isMeasured = false;
    this.measure();
  }

  /** Offers to open the texts that do not fit; a text that exceeds the lines by one is shown whole. */
  measure() {
    const due = [...this.cards.values()].filter((card) => !card.isMeasured && card.node.isConnected);
    const long = due.filter(({ title, body }) => body.textContent.length > 90 || title.textContent.length > 90 || body.textContent.includes("\n"));
    for (const { node } of long) node.classList.remove("fits");
    const lines = long.map(({ title, body }) => Math.max(hiddenLines(title), hiddenLines(body)));
    for (const card of due) card.isMeasured = true;
    long.forEach((card, place) => {
      const isCut = lines[place] >= 1.5 || card.isOpen;
      if (isCut && !card.whole) this.addWhole(card);
      if (card.whole) card.whole.hidden = !isCut;
      card.fits = lines[place] > 0.5 && lines[place] < 1.5;
      card.node.classList.toggle("fits", card.fits);
    });
  }

  /** Applies the catalogue's colours, which are used in styles only as values of properties. */
  paint(card, icon, color, background) {
    if (card.icon.dataset.icon !== String(icon)) {
      card.icon.dataset.icon = String(icon);
      card.icon.replaceChildren(drawing(icon) ?? drawing("Bell"));
    }
    for (const [name, value] of [["--icon-color", color], ["--icon-background", background]]) {
      if (/^#[0-9a-f]{6}$/i.test(value ?? "")) card.icon.style.setProperty(name, value);
      else card.icon.style.removeProperty(name);
    }
  }

  forget(used) {
    for (const [id, card] of this.cards) {
      if (used.has(id)) continue;
      this.watch.unobserve(card.node);
      this.visible.delete(id);
      this.cards.delete(id);
    }
    for (const [key, group] of this.groups) {
      if (!group.inUse) this.groups.delete(key);
      group.inUse = false;
    }
  }

  /** Shows the notice in place of a list: skeletons, an empty inbox, or no answer. */
  showNotice(model, { words, status, filter }) {
    const isEmpty = this.cards.size === 0;
    const kind = !isEmpty ? "none" : model.isLoaded ? "empty" : status;
    const key = [kind, words.tag, filter].join();
    if (this.noticeKind !== key) {
      this.noticeKind = key;
      this.notice.replaceChildren(...this.noticeFor(kind, words, filter));
      this.notice.className = `notice ${kind}`;
    }
    this.notice.hidden = kind === "none";
  }

  noticeFor(kind, words, filter) {
    const big = (title, hint) => [
      element("span", { class: "big-icon", "aria-hidden": "true" }, drawing("Bell")),
      element("p", { class: "notice-title", part: "empty" }, title),
      hint && element("p", { class: "notice-hint" }, hint),
    ].filter(Boolean);
    if (kind === "empty") return big(...(words.nothing[filter] ?? [words.empty, words.emptyHint]));
    if (kind === "signed-out") return big(words.signedOut, words.signedOutHint);
    if (kind === "failed" || kind === "offline") {
      const retry = element("button", { type: "button", class: "quiet-button", onclick: () => this.actions.retry() }, words.retry);
      return [...big(kind === "offline" ? words.offline : words.failed), retry];
    }
    if (kind !== "loading") return [];
    const bones = () => element("div", { class: "bone" }, element("i"), element("b"), element("s"));
    return [element("p", { class: "spoken" }, words.loading), bones(), bones(), bones()];
  }

  // Marking notifications that were on the screen

  see(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) this.visible.delete(target.dataset.id);
      else if (!this.visible.has(target.dataset.id)) this.visible.set(target.dataset.id, 0);
    }
    this.markSoon();
  }

  /** Reports what is on the screen after a short delay, so that notifications that only scroll past are not seen. */
  markSoon() {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (document.hidden || this.visible.size === 0) return;
      this.actions.seen([...this.visible.keys()]);
      if (!this.actions.isLooking()) return;
      for (const [id, looked] of this.visible) this.visible.set(id, looked + ListView.glance);
      // Others need a longer look.
      if (this.actions.looked([...this.visible])) this.markSoon();
    }, ListView.glance);
  }

  /** Whether any of these notifications is on the screen. */
  shows(ids) {
    return ids.some((id) => this.visible.has(id));
  }

  async showMore() {
    this.more.disabled = true;
    const last = [...this.cards.values()].at(-1);
    await this.actions.more();
    this.more.disabled = false;
    if (this.more.hidden) last?.link.focus();
  }

  /** The card that has the focus. */
  get focused() {
    const active = this.node.getRootNode().activeElement;
    return [...this.cards.values()].find(({ node }) => node.contains(active));
  }

  moveFocus(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, Home: -Infinity, End: Infinity }[event.key];
    const card = this.focused;
    if (!card) return;
    const { item } = card.link;
    if (step) this.moveTo(card, step);
    else if (event.key === "e") this.actions.act(item, this.archiving);
    else if (event.key === "u") this.actions.act(item, item.read ? "unread" : "read");
    else if (event.key === "h") this.actions.snooze(item, card.menu);
    else if ((event.key === "Enter" || event.key === " ") && event.target === card.link && !card.link.href) card.link.click();
    else return;
    event.preventDefault();
  }

  moveTo(card, step) {
    const links = [...this.sections.querySelectorAll(".card")];
    const place = links.indexOf(card.link);
    links[Math.min(links.length - 1, Math.max(0, place + step))].focus();
  }

  /** Moves the focus from a card that is about to leave the list to the next one. */
  leave(id) {
    const card = this.cards.get(id);
    if (!card || this.focused !== card) return;
    const links = [...this.sections.querySelectorAll(".card")];
    const place = links.indexOf(card.link);
    (links[place + 1] ?? links[place - 1])?.focus();
  }
}

/** Returns how many lines of an element are cut. */
function hiddenLines(node) {
  const height = parseFloat(getComputedStyle(node).lineHeight) || 20;
  return (node.scrollHeight - node.clientHeight) / height;
}

/** Returns the day and time of a wake-up in short form. */
function wakingOf(instant, zones, { tag }) {
  const zone = zones.find((name) => name && clockOf(name)) ?? "UTC";
  const parts = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZone: zone };
  return new Intl.DateTimeFormat(tag === "en" ? "en-GB" : tag, parts).format(new Date(instant));
}
