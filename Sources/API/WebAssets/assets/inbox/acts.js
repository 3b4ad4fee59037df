// The actions of the user: mark as read or unread, archive, snooze, and turn off a type. Each can be undone, or repeated
// if it failed.

const OPPOSITES = { read: "unread", unread: "read", archived: "unarchived", unarchived: "archived", snoozed: "unarchived" };

class RowActs {
  /** `inbox` is the element. */
  constructor(inbox) {
    this.inbox = inbox;
  }

  /** Opens the menu of a notification, or of the notifications of a stack. */
  openMenu(items, anchor) {
    const { screen, words } = this.inbox;
    const isStack = items.length > 1;
    const name = words.actionsFor(isStack ? words.allOf(items.length) : items[0].title);
    screen.menu.open(anchor, name, isStack ? this.stackEntries(items) : this.entries(items[0]));
  }

  openSnooze(item, anchor) {
    this.inbox.screen.menu.open(anchor, this.inbox.words.snooze, this.snoozes(item));
  }

  async act(items, state, time, isUndo = false) {
    const { session, list, screen, words } = this.inbox;
    const { model, side, client } = session;
    const ids = items.map(({ id }) => id);
    if (!isUndo && state !== "read" && state !== "unread") list.leave(ids);
    const reverts = [model, side].map((each) => each?.apply(ids, state));
    let done = 0;
    try {
      for (const some of portions(ids)) {
        await client.mark(some, state, time);
        done += some.length;
      }
    } catch (error) {
      for (const revert of reverts) revert?.(ids.slice(done));
      if (!session.isOver) this.sayFailed(error, () => this.act(items.slice(done), state, time, isUndo));
      return;
    }
    if (session.isOver) return;
    if (isUndo || state === "unarchived") session.catchUp();
    // A snooze makes a notification unread.
    const undo = async () => {
      await this.act(items, OPPOSITES[state], {}, true);
      const read = items.filter((item) => state === "snoozed" && item.read).map(({ id }) => id);
      if (read.length > 0) await client.mark(read).catch(() => {});
    };
    if (isUndo) return screen.say(words.undone);
    const said = items.length > 1 ? words.didAll[state](items.length) : words.did[state];
    screen.say(said, { act: { label: words.undo, run: undo } });
  }

  /** The entries of a notification's menu. */
  entries(item) {
    const { words, list, preferences } = this.inbox;
    const { archiving } = list;
    const state = item.read ? "unread" : "read";
    const [icon, label] = item.read ? ["Dot", words.markUnread] : ["CheckCircle", words.markRead];
    const entries = [{ icon, label, key: "u", run: () => void this.act([item], state) }];
    if (archiving === "archived") entries.push({ icon: "Clock", label: words.snooze, key: "h", run: () => this.snoozes(item) });
    entries.push({ icon: "Archive", label: words[archiving], key: "e", run: () => void this.act([item], archiving) });
    if (preferences?.eventToggles[item.type]) {
      const type = this.inbox.typeOf(item)?.label ?? item.type;
      entries.push({ icon: "Mute", label: words.mute(type), run: () => void this.mute(item.type, type) });
    }
    return entries;
  }

  /** The entries of a stack's menu. */
  stackEntries(items) {
    const { words, list } = this.inbox;
    const { archiving } = list;
    const unread = items.filter(({ read }) => !read);
    const archive = { icon: "Archive", label: `${words[archiving]} ${words.allOf(items.length)}`, key: "e", run: () => void this.act(items, archiving) };
    if (unread.length === 0) return [archive];
    return [{ icon: "Check", label: words.readAllOf(items.length), key: "u", run: () => void this.act(unread, "read") }, archive];
  }

  /** The times until which a notification can be snoozed, on the user's clock. */
  snoozes(item) {
    const { words, now, zones } = this.inbox;
    const hour = Number(readingOf(now, zones).hour);
    const until = (hours) => ({ until: new Date(this.inbox.now + hours * 3_600_000).toISOString() });
    const entry = (label, time) => ({ label, run: () => void this.act([item], "snoozed", time()) });
    return [
      entry(words.inHour, () => until(1)),
      ...(hour < 17 ? [entry(words.evening, () => ({ localTime: "18:00" }))] : []),
      entry(hour < 7 ? words.thisMorning : words.tomorrow, () => ({ localTime: "07:30" })),
      entry(words.nextWeek, () => until(7 * 24)),
      { label: words.choose, run: () => this.chooser(item) },
    ];
  }

  chooser(item) {
    const { words, screen } = this.inbox;
    const local = (instant) => new Date(instant - new Date(instant).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
    const tomorrow = Date.now() + 24 * 3_600_000;
    const input = element("input", { type: "datetime-local", name: "until", value: local(tomorrow), min: local(Date.now()), required: true });
    const submit = element("button", { class: "main-button" }, words.snooze);
    const form = element("form", { class: "chooser" }, element("label", {}, words.snoozeUntil, input), submit);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      screen.menu.close();
      this.act([item], "snoozed", { until: new Date(input.value).toISOString() });
    });
    return form;
  }

  /** Turns a type off or on, with its mails if the user has chosen them. */
  async mute(type, label, isOn = false, isMailed = this.inbox.preferences.emailToggles?.[type] === true) {
    const { words, screen } = this.inbox;
    const change = { eventToggles: { [type]: isOn }, ...(isMailed ? { emailToggles: { [type]: isOn } } : {}) };
    const again = () => this.mute(type, label, isOn, isMailed);
    if (!(await this.attempt((session) => session.save("preferences", change), again))) return;
    const act = { label: words.undo, run: () => this.mute(type, label, true, isMailed) };
    screen.say(isOn ? words.undone : words.muted(label), isOn ? {} : { act });
  }

  async endPause() {
    const isEnded = await this.attempt((session) => session.save("preferences", { pausedUntil: null }), () => this.endPause());
    if (!isEnded) return;
    this.inbox.render();
    this.inbox.screen.heading.focus({ preventScroll: true });
  }

  async markAll() {
    if (!(await this.attempt(({ model }) => model.markAll(), () => this.markAll()))) return;
    const { side, screen, words } = this.inbox;
    side?.load().catch(() => {});
    screen.say(words.allRead);
    screen.heading.focus();
  }

  /** Does work of the user's session; returns whether it was done and the user is still the same. */
  async attempt(work, again) {
    const { session } = this.inbox;
    try {
      await work(session);
      return !session.isOver;
    } catch (error) {
      if (!session.isOver) this.sayFailed(error, again);
    }
  }

  /** Says that an act of the user failed, and offers to repeat it. */
  sayFailed(error, again) {
    const { words, session, screen } = this.inbox;
    if (error.status === 401 || !session.token) return session.fail(error);
    const text = error.status === 0 ? words.noAnswer : words.notDone;
    screen.say(text, { isFault: true, act: { label: words.retry, run: again } });
  }
}
