// The actions on a notification: mark as read or unread, archive, snooze, and turn off its type.

const OPPOSITES = { read: "unread", unread: "read", archived: "unarchived", unarchived: "archived", snoozed: "unarchived" };

class RowActs {
  /**
   * `inbox` has `model`, `side`, `list`, `screen`, `words`, `now`, `zones`, `catalog`, `preferences`,
   * `sayFailed(error, again)`, `attempt(work, again)`, `catchUp()` and `save(model, kind, change)`.
   */
  constructor(inbox) {
    this.inbox = inbox;
  }

  openMenu(item, anchor) {
    this.inbox.screen.menu.open(anchor, this.inbox.words.actionsFor(item.title), this.entries(item));
  }

  openSnooze(item, anchor) {
    this.inbox.screen.menu.open(anchor, this.inbox.words.snooze, this.snoozes(item));
  }

  async act(item, state, time, isUndo = false) {
    const { model, side } = this.inbox;
    const words = this.inbox.words;
    if (!isUndo && state !== "read" && state !== "unread") this.inbox.list.leave(item.id);
    const reverts = [model, side].map((each) => each?.apply(item.id, state));
    try {
      await model.client.mark([item.id], state, time);
    } catch (error) {
      for (const revert of reverts) revert?.();
      if (model === this.inbox.model) this.inbox.sayFailed(error, () => this.act(item, state, time, isUndo));
      return;
    }
    if (model !== this.inbox.model) return;
    if (isUndo || state === "unarchived") this.inbox.catchUp();
    const back = OPPOSITES[state];
    // A snooze makes a notification unread.
    const undo = async () => {
      await this.act(item, back, {}, true);
      if (state === "snoozed" && item.read) await model.client.mark([item.id]).catch(() => {});
    };
    this.inbox.screen.say(isUndo ? words.undone : words.did[state], isUndo ? {} : { act: { label: words.undo, run: undo } });
  }

  /** The entries of a notification's menu. */
  entries(item) {
    const words = this.inbox.words;
    const { archiving } = this.inbox.list;
    const state = item.read ? "unread" : "read";
    const [icon, label] = item.read ? ["Dot", words.markUnread] : ["CheckCircle", words.markRead];
    const entries = [{ icon, label, key: "u", run: () => void this.act(item, state) }];
    if (archiving === "archived") entries.push({ icon: "Clock", label: words.snooze, key: "h", run: () => this.snoozes(item) });
    entries.push({ icon: "Archive", label: words[archiving], key: "e", run: () => void this.act(item, archiving) });
    if (this.inbox.preferences?.eventToggles[item.type]) {
      const type = this.inbox.catalog.types.find((one) => one.type === item.type)?.label ?? item.type;
      entries.push({ icon: "Mute", label: words.mute(type), run: () => void this.mute(item.type, type) });
    }
    return entries;
  }

  /** The times until which a notification can be snoozed, on the user's clock. */
  snoozes(item) {
    const words = this.inbox.words;
    const hour = Number(readingOf(this.inbox.now, this.inbox.zones).hour);
    const until = (hours) => ({ until: new Date(this.inbox.now + hours * 3_600_000).toISOString() });
    const entry = (label, time) => ({ label, run: () => void this.act(item, "snoozed", time()) });
    return [
      entry(words.inHour, () => until(1)),
      ...(hour < 17 ? [entry(words.evening, () => ({ localTime: "18:00" }))] : []),
      entry(hour < 7 ? words.thisMorning : words.tomorrow, () => ({ localTime: "07:30" })),
      entry(words.nextWeek, () => until(7 * 24)),
      { label: words.choose, run: () => this.chooser(item) },
    ];
  }

  chooser(item) {
    const words = this.inbox.words;
    const local = (instant) => new Date(instant - new Date(instant).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
    const tomorrow = Date.now() + 24 * 3_600_000;
    const input = element("input", { type: "datetime-local", name: "until", value: local(tomorrow), min: local(Date.now()), required: true });
    const submit = element("button", { class: "main-button" }, words.snooze);
    const form = element("form", { class: "chooser" }, element("label", {}, words.snoozeUntil, input), submit);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.inbox.screen.menu.close();
      this.act(item, "snoozed", { until: new Date(input.value).toISOString() });
    });
    return form;
  }

  async mute(type, label, isOn = false) {
    const words = this.inbox.words;
    const { model } = this.inbox;
    const change = { eventToggles: { [type]: isOn } };
    const again = () => this.mute(type, label, isOn);
    if (!(await this.inbox.attempt(() => this.inbox.save(model, "preferences", change), again))) return;
    const act = { label: words.undo, run: () => this.mute(type, label, true) };
    this.inbox.screen.say(isOn ? words.undone : words.muted(label), isOn ? {} : { act });
  }
}
