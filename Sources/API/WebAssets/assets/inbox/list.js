// The list: groups by day, with a row for each notification and each stack.

class ListView {
  /** The time after which a notification on the screen counts as seen, in milliseconds. */
  static glance = 800;

  /**
   * `actions`: `open(item, event, action)`, `seen(ids)`, `looked(times)`, `act(items, state)`, `menu(items, anchor)`,
   * `snooze(item, anchor)`, `opened(item)`, `isLooking()`, `more()`, `retry()`, `anchor()`, `heading()`. `looked` gets
   * pairs of id and milliseconds, and returns whether some of them need a longer look. `anchor` returns the button of the
   * open menu.
   */
  constructor(actions) {
    this.actions = actions;
    this.stacks = new Stacks();
    /** The cards of notifications by id, and the rows of stacks by key. */
    this.cards = new Map();
    this.folds = new Map();
    this.groups = new Map();
    /** The ids on the screen, and for how long the user has looked at each. */
    this.visible = new Map();
    this.sections = element("div", { class: "groups" });
    this.more = element("button", { class: "quiet-button more", part: "more", onclick: () => this.showMore() });
    this.notice = element("div", { class: "notice", hidden: true });
    this.node = element("div", { class: "list", part: "list" }, this.notice, this.sections, this.more);
    this.node.addEventListener("keydown", (event) => this.press(event));
    this.watch = new IntersectionObserver((entries) => this.see(entries), { threshold: 0.6 });
    this.widths = new ResizeObserver(() => this.measureAll());
    this.widths.observe(this.node);
  }

  end() {
    this.watch.disconnect();
    this.widths.disconnect();
    clearTimeout(this.timer);
  }

  render(model, facts) {
    if (this.facts?.filter !== facts.filter) this.stacks.begin();
    Object.assign(this, { model, facts });
    const { words, now, zones, status } = facts;
    const groups = model.groups(now, zones, words);
    this.used = new Set();
    const [days, focused] = [new Map(), this.focused];
    const place = focused ? this.placeOf(focused) : -1;
    const nodes = groups.map(({ day, items }) => {
      // A snoozed notification returns above newer ones, so that a day may appear twice.
      days.set(day, (days.get(day) ?? 0) + 1);
      return this.group(day, days.get(day), items);
    });
    arrange(this.sections, nodes);
    // The row that had the focus may have left the list on another device.
    if (place >= 0 && !focused.node.isConnected) (this.stops[place] ?? this.stops.at(-1))?.focus();
    this.forget();
    this.more.hidden = model.next === null || !model.isLoaded;
    setText(this.more, words.more);
    this.showNotice();
    this.measure();
    this.node.classList.toggle("ended", status === "signed-out");
    this.node.setAttribute("aria-busy", String(!model.isLoaded && status === "loading"));
  }

  renderAgain() {
    this.render(this.model, this.facts);
    this.markSoon();
  }

  group(day, turn, items) {
    const { words, level } = this.facts;
    const key = `${turn} ${day}`;
    let group = this.groups.get(key);
    if (!group) {
      const id = `day-${(ListView.count = (ListView.count ?? 0) + 1)}`;
      const list = element("ul", { role: "list", "aria-labelledby": id });
      group = { list, node: element("section", { class: "group" }, element(`h${level + 1}`, { id, class: "day", part: "day" }, day), list) };
      this.groups.set(key, group);
    }
    group.node.classList.toggle("important", day === words.important);
    const rows = this.stacks.rows(items, (id) => this.isHeld(id));
    arrange(group.list, rows.map((row) => this.row(row)));
    group.inUse = true;
    return group.node;
  }

  row({ item, ...stack }) {
    const [rows, key] = item ? [this.cards, item.id] : [this.folds, stack.key];
    this.used.add(key);
    let row = rows.get(key);
    if (!row) {
      row = item ? new Card(this, key) : new StackRow(this, key);
      rows.set(key, row);
      this.watch.observe(row.node);
    }
    row.fill(item ?? stack, this.model);
    return row.node;
  }

  /** Whether the user is at a notification: by focus, by pointer, or in its menu. */
  isHeld(id) {
    const node = this.cards.get(id)?.node;
    if (!node) return false;
    return node.contains(this.node.getRootNode().activeElement) || node.matches(":hover") || node.contains(this.actions.anchor() || null);
  }

  forget() {
    for (const rows of [this.cards, this.folds]) {
      for (const [key, row] of rows) {
        if (this.used.has(key)) continue;
        this.watch.unobserve(row.node);
        this.visible.delete(key);
        rows.delete(key);
      }
    }
    for (const [key, group] of this.groups) {
      if (!group.inUse) this.groups.delete(key);
      group.inUse = false;
    }
  }

  /** Shows the notice in place of a list: skeletons, an empty inbox, or no answer. */
  showNotice() {
    const { words, status, filter } = this.facts;
    const kind = this.cards.size > 0 ? "none" : this.model.isLoaded ? "empty" : status;
    const key = [kind, words.tag, filter].join();
    if (this.noticeKind !== key) {
      this.noticeKind = key;
      this.notice.replaceChildren(...noticeFor(kind, words, filter, () => this.actions.retry()));
      this.notice.className = `notice ${kind}`;
    }
    this.notice.hidden = kind === "none";
  }

  measureAll() {
    for (const card of this.cards.values()) card.isMeasured = false;
    this.measure();
  }

  /** Measures new texts: first all of them, and then it changes those that do not fit. */
  measure() {
    const due = [...this.cards.values()].filter((card) => !card.isMeasured && card.node.isConnected);
    const long = due.filter((card) => card.isLong);
    for (const { node } of long) node.classList.remove("fits");
    const lines = long.map((card) => card.cutLines);
    for (const card of due) card.isMeasured = true;
    long.forEach((card, place) => card.fit(lines[place]));
  }

  get archiving() {
    return this.facts.filter === "archived" || this.facts.filter === "snoozed" ? "unarchived" : "archived";
  }

  async showMore() {
    this.more.disabled = true;
    const last = [...this.cards.values()].at(-1);
    await this.actions.more();
    this.more.disabled = false;
    if (this.more.hidden) last?.link.focus();
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
      // A user who sees a stack's number has seen that there are notifications in it.
      const behind = (key) => this.folds.get(key)?.stack.hidden.map(({ id }) => id) ?? [key];
      this.actions.seen([...this.visible.keys()].flatMap(behind));
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

  // The keyboard

  /** The links of the cards and the buttons of the stacks, in order. */
  get stops() {
    return [...this.sections.querySelectorAll(".card, .fold")];
  }

  /** The card or the row of a stack that has the focus. */
  get focused() {
    return this.rowOf(this.node.getRootNode().activeElement);
  }

  rowOf(node) {
    const key = node?.closest?.("li")?.dataset.id;
    return this.cards.get(key) ?? this.folds.get(key);
  }

  press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const { key, target } = event;
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, Home: -Infinity, End: Infinity }[key];
    const row = this.focused;
    if (!row) return;
    if (step) this.moveFrom(row, step);
    else if ((key === "Enter" || key === " ") && target === row.link && !row.link.href) row.link.click();
    else if (!row.pressKey(key)) return;
    event.preventDefault();
  }

  placeOf({ node }) {
    return this.stops.findIndex((stop) => node.contains(stop));
  }

  moveFrom(row, step) {
    const { stops } = this;
    stops[Math.min(stops.length - 1, Math.max(0, this.placeOf(row) + step))].focus();
  }

  /** Moves the focus from notifications that are about to leave the list to the next one that stays. */
  leave(ids) {
    const row = this.focused ?? this.rowOf(this.actions.anchor());
    if (!row) return;
    const { stops } = this;
    const gone = new Set(ids);
    const isLeaving = ({ item, items }) => (items ?? [item]).every(({ id }) => gone.has(id));
    if (!isLeaving(row)) return;
    const place = this.placeOf(row);
    const stays = (stop) => !isLeaving(this.rowOf(stop));
    (stops.slice(place).find(stays) ?? stops.slice(0, place).findLast(stays) ?? this.actions.heading()).focus();
  }
}

/** Returns what is shown in place of a list. */
function noticeFor(kind, words, filter, onclick) {
  const big = (title, hint) => [
    element("span", { class: "big-icon", "aria-hidden": "true" }, drawing("Bell")),
    element("p", { class: "notice-title", part: "empty" }, title),
    ...(hint ? [element("p", { class: "notice-hint" }, hint)] : []),
  ];
  if (kind === "empty") return big(...(words.nothing[filter] ?? [words.empty, words.emptyHint]));
  if (kind === "signed-out") return big(words.signedOut, words.signedOutHint);
  if (kind === "failed" || kind === "offline") {
    const retry = element("button", { class: "quiet-button", onclick }, words.retry);
    return [...big(kind === "offline" ? words.offline : words.failed), retry];
  }
  if (kind !== "loading") return [];
  const bones = () => element("div", { class: "bone" }, element("i"), element("b"), element("s"));
  return [element("p", { class: "spoken" }, words.loading), bones(), bones(), bones()];
}
