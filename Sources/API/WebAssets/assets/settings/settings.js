// The settings page: switches in the catalogue's order, each saved when it is changed.

class SettingsView {
  /** `actions`: `device()`, `say(text, options)`; `node` is the element that it fills. */
  constructor(actions, node) {
    this.actions = actions;
    this.node = node;
    this.saving = Promise.resolve();
    /** The number of changes, so that an answer from before a change does not undo it. */
    this.edits = 0;
  }

  /** Forgets what is shown, because something else is shown in its place. */
  clear() {
    this.facts = null;
  }

  /** Shows newer facts; what the user sees stays if nothing has changed. */
  update(facts) {
    const before = this.facts;
    const same = (name) => JSON.stringify(before?.[name]) === JSON.stringify(facts[name]);
    if (["settings", "preferences", "catalog", "zone"].every(same) && before.words === facts.words) {
      this.facts = facts;
      return;
    }
    const focused = this.node.getRootNode().activeElement?.name;
    this.render(facts);
    if (!focused) return;
    const found = this.node.querySelector(`[name="${CSS.escape(focused)}"]`);
    (found ?? (focused.startsWith("pause") ? this.pause.querySelector("button") : null))?.focus();
  }

  /**
   * `facts`: `words`, `level`, `catalog`, `settings`, `preferences`, `zone`, `now()`, and `save(kind, change)`, which
   * stores single members and returns all of them.
   */
  render(facts) {
    this.facts = facts;
    this.device = element("div", { class: "rows" });
    this.pause = element("div", { class: "rows" });
    this.kinds = element("div", { class: "rows" });
    this.hours = element("div", { class: "rows" });
    const { words, preferences, settings, catalog } = facts;
    const page = catalog.preferences;
    const sections = [
      has(catalog, "push", "webpush") && this.section(null, this.pause),
      this.section(null, this.master(page)),
      this.section(words.kinds, this.kinds),
      this.section(null, this.hours),
      this.ways(catalog, settings),
      has(catalog, "webpush") && this.section(words.device, this.device),
    ].filter(Boolean);
    this.fillKinds(catalog, preferences);
    this.fillHours(page.quietHours, preferences.quietHours);
    // An open dialog stays: an answer that arrives meanwhile must not close it.
    for (const node of [...this.node.children]) if (node.localName !== "dialog") node.remove();
    this.node.prepend(...sections);
    this.dim();
    this.showDevice();
  }

  /** The ways in which the app can reach the user; null if it has only the list. */
  ways(catalog, settings) {
    const { words } = this.facts;
    const push = () => this.toggle("push", words.push, words.pushHelper, settings.pushEnabled, (isOn) => this.set({ pushEnabled: isOn }));
    const rows = [has(catalog, "push", "webpush") && push(), isMailed(catalog) && this.email(settings)].filter(Boolean);
    return rows.length > 0 && this.section(words.channels, element("div", { class: "rows" }, ...rows));
  }

  email({ emailEnabled, email }) {
    const { words } = this.facts;
    const helper = email === null ? words.emailMissing : words.emailHelper;
    return this.toggle("email", words.email, helper, emailEnabled, (isOn) => this.set({ emailEnabled: isOn }));
  }

  section(title, content) {
    const heading = title && element(`h${this.facts.level + 1}`, { class: "day" }, title);
    return element("section", { class: "group" }, heading, content);
  }

  toggle(name, label, helper, isOn, changed) {
    const id = `switch-${name}`;
    const input = element("input", {
      type: "checkbox",
      role: "switch",
      id,
      name,
      part: "switch",
      "aria-describedby": helper ? `${id}-helper` : null,
    });
    input.checked = isOn;
    input.addEventListener("change", () => changed(input.checked, input));
    return element(
      "label",
      { class: "row", for: id, "data-name": name },
      element(
        "span",
        { class: "words" },
        element("span", { class: "label", dir: "auto" }, label),
        helper && element("span", { class: "helper", id: `${id}-helper`, dir: "auto" }, helper)
      ),
      input
    );
  }

  /** A switch that is always on. */
  locked(name, label) {
    const row = this.toggle(name, label, this.facts.words.locked, true, () => {});
    row.querySelector("input").disabled = true;
    return row;
  }

  master(page) {
    const { words, preferences } = this.facts;
    const label = page.master.label ?? words.master;
    const row = this.toggle("master", label, null, preferences.enabled, (enabled) => this.change({ enabled }));
    return element("div", { class: "rows" }, row);
  }

  /** Offers to pause notifications, or shows the end of the pause and offers to end it. */
  fillPause() {
    const { words, preferences, zone, now } = this.facts;
    clearTimeout(this.pauseTimer);
    const end = Date.parse(preferences.pausedUntil);
    const left = end - now();
    const isPaused = left > 0;
    const button = (name, label, until) =>
      element("button", { class: "quiet-button", name, onclick: () => this.change({ pausedUntil: until() }) }, label);
    const at = (instant) => new Date(instant).toISOString();
    const morning = morningOf(now(), zone, preferences.quietHours);
    const time = `${String(morning.hour).padStart(2, "0")}:00`;
    const buttons = isPaused
      ? [button("pause-end", words.endPause, () => null)]
      : [
          button("pause-hour", words.inHour, () => at(now() + 3_600_000)),
          button("pause-morning", words.pauseUntil(time, morning.isToday), () => at(morning.instant)),
        ];
    const label = isPaused ? words.paused(pauseTime(end, now(), [zone], words)) : words.pause;
    const hadFocus = this.pause.contains(this.pause.getRootNode().activeElement);
    this.pause.replaceChildren(
      element(
        "div",
        { class: "row pause", role: "group", "aria-labelledby": "pause-label" },
        element(
          "span",
          { class: "words" },
          element("span", { class: "label", id: "pause-label" }, label),
          element("span", { class: "helper" }, words.pauseHelper)
        ),
        element("span", { class: "choices" }, ...buttons)
      )
    );
    if (hadFocus) this.pause.querySelector("button").focus();
    if (isPaused) this.pauseTimer = soonAfter(left, () => this.pause.isConnected && this.fillPause());
  }

  /** The types, each with a switch, or with one for pushes and one for e-mail if the user can choose between them. */
  fillKinds(catalog, preferences) {
    const { words } = this.facts;
    const types = catalog.types.filter((type) => type.mandatory || Object.hasOwn(preferences.eventToggles, type.type));
    const isMatrix = has(catalog, "email") && has(catalog, "push", "webpush") && types.some(({ mandatory, defaults }) => !mandatory && defaults.email);
    const heads = element(
      "div",
      { class: "row heads", "aria-hidden": "true" },
      element("span", { id: "head-push" }, words.pushColumn),
      element("span", { id: "head-email" }, words.emailColumn)
    );
    const rows = types.map((type) => (isMatrix ? this.kindInMatrix(type) : this.kind(type)));
    this.kinds.replaceChildren(...(isMatrix ? [heads] : []), ...rows);
  }

  kind(type) {
    const name = `type-${type.type}`;
    const label = type.label ?? type.type;
    if (type.mandatory) return this.locked(name, label);
    const isOn = this.facts.preferences.eventToggles[type.type];
    return this.toggle(name, label, this.silence(type), isOn, (wanted) => this.change({ eventToggles: { [type.type]: wanted } }));
  }

  kindInMatrix(type) {
    const { words, preferences } = this.facts;
    const { eventToggles, emailToggles } = preferences;
    const isPushed = type.mandatory || eventToggles[type.type];
    const isMailed = type.defaults.email && (type.mandatory || (emailToggles?.[type.type] ?? eventToggles[type.type]));
    const id = `kind-${type.type}`;
    const helper = type.mandatory ? words.locked : this.silence(type);
    const choose = (member, isOn) => this.change({ [member]: { [type.type]: isOn } });
    // Without a choice for e-mail, the toggle would change both channels. The other switch stays as the user sees it.
    const choosePush = (isOn) => {
      const { eventToggles, emailToggles } = this.facts.preferences;
      if (!type.defaults.email || emailToggles?.[type.type] !== undefined) return choose("eventToggles", isOn);
      return this.change({ eventToggles: { [type.type]: isOn }, emailToggles: { [type.type]: eventToggles[type.type] } });
    };
    const cell = (name, column, isOn, changed) => {
      const about = { type: "checkbox", role: "switch", name: `${name}-${type.type}`, part: "switch", disabled: type.mandatory };
      const input = element("input", { ...about, "aria-labelledby": `${id} ${column}`, "aria-describedby": `${id}-helper` });
      input.checked = isOn;
      input.addEventListener("change", () => changed(input.checked));
      return input;
    };
    return element(
      "div",
      { class: "row kind", "data-name": `type-${type.type}` },
      element(
        "span",
        { class: "words" },
        element("span", { class: "label", id, dir: "auto" }, type.label ?? type.type),
        element("span", { class: "helper", id: `${id}-helper`, dir: "auto" }, helper)
      ),
      cell("type", "head-push", isPushed, choosePush),
      type.defaults.email ? cell("mail", "head-email", isMailed, (wanted) => choose("emailToggles", wanted)) : element("span", { class: "none" })
    );
  }

  /** Shows the helper texts of types that are turned off, and only of these. */
  sayKinds() {
    const { catalog, preferences } = this.facts;
    const { eventToggles, emailToggles } = preferences;
    for (const { type, mandatory, defaults } of catalog.types) {
      const row = mandatory ? null : this.kinds.querySelector(`[data-name="${CSS.escape(`type-${type}`)}"]`);
      if (!row) continue;
      const isMailed = row.classList.contains("kind") && defaults.email && emailToggles?.[type];
      const helper = row.querySelector(".helper");
      helper.hidden = Boolean(eventToggles[type] || isMailed);
      for (const input of row.querySelectorAll("input")) {
        if (helper.hidden) input.removeAttribute("aria-describedby");
        else input.setAttribute("aria-describedby", helper.id);
      }
    }
  }

  /** Returns the place of a type's notifications while it is turned off. */
  silence({ whenMuted }) {
    return whenMuted === "drop" ? this.facts.words.nowhere : this.facts.words.listOnly;
  }

  fillHours(page, hours) {
    const { words, zone } = this.facts;
    const keep = (change) => this.change({ quietHours: change });
    const select = (name, label, value) => {
      const options = Array.from({ length: 24 }, (_, hour) =>
        element("option", { value: hour, selected: hour === value }, String(hour).padStart(2, "0"))
      );
      const made = element("select", { name, "aria-describedby": "zone" }, ...options);
      made.addEventListener("change", () => keep({ [name]: Number(made.value) }));
      return element("label", { class: "hour" }, element("span", {}, label), made);
    };
    this.hours.replaceChildren(
      this.toggle("quietHours", page.label ?? words.quietHours, page.helper ?? words.quietHoursHelper, hours.enabled, (enabled) =>
        keep({ enabled })
      ),
      element(
        "div",
        { class: "row hours" },
        select("startHour", words.start, hours.startHour),
        select("endHour", words.end, hours.endHour),
        element("p", { class: "helper", id: "zone" }, words.clock(zone))
      )
    );
  }

  /** Shows settings without a current effect as dimmed or hidden; dimmed ones can still be changed. */
  dim() {
    const { enabled, quietHours } = this.facts.preferences;
    this.kinds.classList.toggle("dimmed", !enabled);
    this.pause.classList.toggle("dimmed", !enabled);
    this.hours.querySelector(".hours").hidden = !quietHours.enabled;
    this.fillPause();
    this.sayKinds();
  }

  change(members) {
    return this.keep("preferences", members);
  }

  set(members) {
    return this.keep("settings", members);
  }

  /** Ignores the results of pending changes, which do not concern the next user. */
  forget() {
    this.latest = null;
  }

  /** Saves single members in sequence, so that nothing is taken back that was set elsewhere. */
  keep(kind, members) {
    const { save, words } = this.facts;
    const mine = (this.latest = Symbol(kind));
    this.edits += 1;
    this.facts = { ...this.facts, [kind]: merged(this.facts[kind], members) };
    this.dim();
    this.saving = this.saving.then(async () => {
      try {
        const answer = await save(kind, members);
        if (this.latest !== mine) return;
        this.update({ ...this.facts, [kind]: answer });
        this.actions.say(words.saved);
      } catch {
        if (this.latest !== mine) return;
        this.update({ ...this.facts, [kind]: this.facts.stored(kind) });
        const act = { label: words.retry, run: () => this.keep(kind, members) };
        this.actions.say(words.notSaved, { isFault: true, act });
      }
      this.edits += 1;
    });
    return this.saving;
  }

  async showDevice() {
    const { words } = this.facts;
    const state = await stateOf(this.actions.device());
    const text = {
      unsupported: words.deviceUnsupported,
      install: words.deviceInstall,
      denied: words.deviceDenied,
      off: words.deviceOff,
      on: words.deviceOn,
    }[state];
    const act = { off: () => this.explain(), on: () => this.turnOff() }[state];
    const button =
      act &&
      element(
        "button",
        { class: state === "off" ? "main-button" : "quiet-button", name: "device", onclick: act },
        state === "off" ? words.turnOn : words.turnOff
      );
    this.device.replaceChildren(
      ...[element("div", { class: "row device" }, element("p", { class: "helper" }, text), button || "")]
    );
  }

  /** Explains the purpose before the system's question, which can be asked only once. */
  explain() {
    const { words } = this.facts;
    const dialog = element(
      "dialog",
      { class: "explanation", part: "explanation", "aria-labelledby": "explain-title" },
      element("span", { class: "big-icon", "aria-hidden": "true" }, drawing("Bell")),
      element(`h${this.facts.level + 1}`, { id: "explain-title" }, words.explainTitle),
      element("p", {}, words.explain),
      element("p", { class: "helper" }, words.explainNext),
      element(
        "div",
        { class: "buttons" },
        element("button", { class: "quiet-button", name: "later", onclick: () => dialog.close() }, words.notNow),
        element(
          "button",
          {
            class: "main-button",
            name: "proceed",
            onclick: () => {
              dialog.close();
              this.turnOn();
            },
          },
          words.proceed
        )
      )
    );
    dialog.addEventListener("close", () => dialog.remove());
    this.node.append(dialog);
    dialog.showModal();
  }

  turnOn() {
    return this.act(async (device, { words }) => {
      if (await turnOn(device)) this.actions.say(words.turnedOn);
    });
  }

  turnOff() {
    return this.act(async (device, { words }) => {
      await device.turnOff();
      this.actions.say(words.turnedOff);
    });
  }

  async act(work) {
    try {
      await work(this.actions.device(), this.facts);
    } catch {
      this.actions.say(this.facts.words.pushFailed, { isFault: true });
    }
    await this.showDevice();
    this.device.querySelector("button")?.focus();
  }
}

/** Returns a document with changed members, also inside its objects. */
function merged(document, members) {
  const inner = (value, own) => (typeof value === "object" && value !== null ? { ...own, ...value } : value);
  return { ...document, ...Object.fromEntries(Object.entries(members).map(([name, value]) => [name, inner(value, document[name])])) };
}

/** Whether the app has one of these ways to reach its users; a server that does not list them may have all. */
function has({ ways }, ...names) {
  return !ways || names.some((name) => ways.includes(name));
}

/** Whether the app mails any of its types. */
function isMailed(catalog) {
  return has(catalog, "email") && catalog.types.some(({ defaults }) => defaults.email);
}

/**
 * Returns the next end of a night, `{instant, hour, isToday}`: that of the user's quiet hours if they end in the morning,
 * or 07:00. Before 04:00, it is on the same day.
 */
function morningOf(now, zone, { enabled, startHour, endHour }) {
  const today = readingOf(now, [zone]);
  const hour = enabled && startHour !== endHour && endHour >= 4 && endHour <= 12 ? endHour : 7;
  const isToday = Number(today.hour) < 4;
  const wall = (today.number + (isToday ? 0 : 1)) * 86_400_000 + hour * 3_600_000;
  // The offset at that time may differ from the present one.
  let instant = wall;
  for (let round = 0; round < 2; round += 1) {
    const shown = readingOf(instant, [zone]);
    instant += wall - (shown.number * 86_400_000 + Number(shown.hour) * 3_600_000 + Number(shown.minute) * 60_000);
  }
  return { instant, hour, isToday };
}
