// The element itself: its attributes and properties, and the visible view.

/** A notification centre; `docs/inbox.md` lists its attributes, properties, events, parts and colours. */
class BellhopInbox extends HTMLElement {
  static observedAttributes = ["api", "base", "href", "lang", "layout"];

  static addIcon(name, path) {
    ICONS.set(String(name), String(path));
  }

  /** Returns the time words of an instant, as the server's rules define them. */
  static timeWords(instant, now, zone, tag) {
    return timeWords(Date.parse(instant), Date.parse(now), [zone], tag);
  }

  static addPart = addPart;

  static safeAddress = safeAddress;

  /** The time of looking after which a notification counts as read, if the app does not mark at sight. */
  static reading = 5_000;

  /** The token that was set while the element was not in a page. */
  #given = null;

  constructor() {
    super();
    this.attachShadow({ mode: "open" });
    this.adopt(STYLES);
    this.places = new Places(this);
    this.acts = new RowActs(this);
    this.reading = new Reading(this);
  }

  /** The token of the signed-in user; setting it starts again as that user, and null signs out. */
  get token() {
    return this.#given ?? this.session?.token ?? null;
  }

  set token(token) {
    if (this.isConnected) return this.#begin(token || null);
    this.#given = token || null;
    if (this.session) this.session.token = null;
  }

  /** A function, which may be asynchronous, that returns a newer token after the current one has expired. */
  renewToken = null;

  get unreadCount() {
    return this.model?.unread ?? 0;
  }

  /** The number of unread notifications that no screen has shown. */
  get unseenCount() {
    return this.model?.unseen ?? 0;
  }

  connectedCallback() {
    if (this.hasOwnProperty("token")) {
      this.#given = this.token || null;
      delete this.token;
    }
    this.attention = new Attention(() => this.list.markSoon());
    this.#build();
    this.#begin(this.token);
    this.ending = new AbortController();
    const on = (target, name, run) => target?.addEventListener(name, run, this.ending);
    on(document, "pointerdown", (event) => this.places.isOpen && !event.composedPath().includes(this) && this.close());
    on(document, "visibilitychange", () => !document.hidden && this.#returned());
    on(window, "popstate", () => this.hasHistory && this.places.apply(this.places.addressed));
    on(navigator.serviceWorker, "message", (event) => this.session.answerWorker(event));
    const network = () => (navigator.onLine ? this.session.catchUp() : this.session.fail(new CallError(0)));
    on(window, "online", network);
    on(window, "offline", network);
    // "I dag" becomes "I går" without an event.
    this.minute = setInterval(() => this.render(), 60_000);
  }

  disconnectedCallback() {
    this.session.end();
    this.attention.end();
    this.screen?.end();
    this.ending.abort();
    clearInterval(this.minute);
  }

  attributeChangedCallback(name, before, after) {
    if (!this.isConnected || !this.screen || before === after) return;
    if (name === "layout" || name === "href") this.#build();
    if (["api", "base", "layout"].includes(name) && (name !== "layout" || [before, after].includes("settings"))) this.#begin(this.token);
    this.render();
    if (name === "layout" && this.places.view === "settings") this.form.refresh();
  }

  /** Opens the bell's panel. */
  open() {
    if (!this.isPage && !this.places.isOpen) this.places.go("");
  }

  close() {
    if (!this.isPage && this.places.isOpen) this.places.go(null);
  }

  /** Unsubscribes this browser and forgets the user, for an app that signs out. */
  async signOut() {
    await this.device?.turnOff().catch(() => {});
    await this.device?.sweep(() => true).catch(() => {});
    this.token = null;
    await forgetMirror();
  }

  // Properties and methods for the parts of the element

  get isPage() {
    return this.getAttribute("layout") === "page" || this.isForm;
  }

  /** Whether the element consists of the settings only. */
  get isForm() {
    return this.getAttribute("layout") === "settings";
  }

  get hasHistory() {
    return this.hasAttribute("history");
  }

  /** The address in front of `/api/…`: without attributes, the server from which the script was loaded. */
  get base() {
    const base = this.getAttribute("base");
    return base === null ? new URL(this.getAttribute("api") || SCRIPT, location.href).origin : new URL(base, location.href).href;
  }

  get words() {
    const { catalog, settings } = this;
    const tag = settings?.locale || catalog?.language || this.session?.usual || navigator.language;
    // A language that only the browser has reported must not surround the app's labels in another one.
    const isChosen = settings?.locale && settings.locale.toLowerCase() !== navigator.language.toLowerCase();
    const isOffered = !catalog?.languages || catalog.languages.some((one) => wordsFor(one) === wordsFor(tag));
    return wordsFor(this.getAttribute("lang") || (isChosen || isOffered ? tag : catalog.language));
  }

  /** The time by the server's clock, because a device's may be wrong. */
  get now() {
    return Date.now() + this.client.ahead;
  }

  get zones() {
    return [this.settings?.timezone, deviceClock().timezone, this.catalog?.timezone];
  }

  get tags() {
    return this.catalog?.tags ?? [];
  }

  typeOf({ type }) {
    return this.catalog?.types.find((one) => one.type === type);
  }

  /** Returns the address of a notification or of one of its buttons; null if it has no link. */
  addressOf(item) {
    return item.link ? safeAddress(item.link.web, location.origin, this.catalog?.schemes) : null;
  }

  /** What the settings show. */
  get facts() {
    const { session, words, catalog, settings, preferences } = this;
    return {
      words,
      level: this.isPage ? 1 : 2,
      zone: this.zones.find((name) => name && clockOf(name)) ?? "UTC",
      catalog,
      settings,
      preferences,
      now: () => this.now,
      save: (kind, change) => session.save(kind, change),
      stored: (kind) => this[kind],
    };
  }

  adopt(styles) {
    const sheet = sheetOf(styles);
    const { adoptedStyleSheets } = this.shadowRoot;
    if (!adoptedStyleSheets.includes(sheet)) adoptedStyleSheets.push(sheet);
  }

  /** Sends an event to the surrounding page; returns whether the page has cancelled it. */
  emit(name, detail) {
    return !this.dispatchEvent(new CustomEvent(`bellhop-${name}`, { detail, bubbles: true, composed: true, cancelable: true }));
  }

  // Sessions

  #begin(token) {
    const previous = this.session?.device.user;
    this.session?.end();
    this.#given = null;
    this.form.forget();
    this.session = new Session(this, token);
    // The next user begins with the list.
    if (previous && previous !== this.device.user && history.state?.bellhop) history.replaceState(null, "", location.pathname + location.search);
    this.places.begin();
    this.attention.touch();
    if (this.isForm) this.form.wait(this.words);
    if (!token) return this.render();
    this.places.apply(this.places.first);
    this.session.start();
  }

  #returned() {
    this.attention.touch();
    this.list.markSoon();
    this.#beginViewing();
    this.side?.load().catch(() => {});
    if (this.places.view === "settings") this.form.refresh();
  }

  #beginViewing() {
    this.list.stacks.begin();
    this.model?.beginViewing();
  }

  // The visible view

  #build() {
    this.screen?.end();
    const { acts, reading } = this;
    this.list = new ListView({
      open: (item, event, action) => reading.open(item, event, action),
      opened: (item) => reading.read([item.id]),
      seen: (ids) => this.places.isListed && this.session.shown.markSeen(ids),
      isLooking: () => this.attention.isHere,
      looked: (times) => reading.looked(times),
      act: (items, state) => acts.act(items, state),
      menu: (items, anchor) => acts.openMenu(items, anchor),
      snooze: (item, anchor) => acts.openSnooze(item, anchor),
      more: () => acts.attempt((session) => session.shown.more(), () => this.list.showMore()),
      retry: () => this.session.retry(),
      anchor: () => this.screen.menu.isOpen && this.screen.menu.anchor,
      heading: () => this.screen.heading,
    });
    this.form = new SettingsPlace(this);
    const { places } = this;
    const actions = {
      bell: (event) => this.#bellPressed(event),
      go: (route) => places.go(route),
      // The settings will probably be opened.
      prepare: () => void this.form.load().catch(() => {}),
      leave: () => places.go(places.filter),
      markAll: () => acts.markAll(),
      close: () => this.close(),
      escape: () => (places.view === "settings" && !this.isForm ? places.go(places.filter) : this.close()),
      endPause: () => acts.endPause(),
      notice: () => (this.status === "signed-out" ? this.session.signIn() : this.session.retry()),
    };
    this.screen = new InboxScreen(this.isPage, actions, this.list, this.form, this.getAttribute("href"));
    this.shadowRoot.replaceChildren(this.screen.node);
  }

  render() {
    if (!this.screen || !this.session) return;
    const { words, places, status, side, isForm, isPage } = this;
    const { filter } = places;
    // No text is shown until the user's language and zone are known.
    const model = this.settings ? this.model : (this.blank ??= new InboxModel());
    this.screen.render({
      words,
      view: places.view,
      filter,
      tags: this.tags,
      isOpen: places.isOpen,
      isForm,
      status,
      model,
      shown: (this.settings && side) || model,
      count: this.catalog && !this.catalog.readOnView ? "unseen" : "unread",
      canSignIn: Boolean(this.renewToken),
      pause: this.settings && this.#pause(words),
      look: {
        words,
        filter,
        status: side?.status ?? status,
        now: this.now,
        zones: this.zones,
        level: isPage ? 1 : 2,
        types: new Map((this.catalog?.types ?? []).map((type) => [type.type, type])),
        addressOf: (item) => this.addressOf(item),
      },
    });
    if (!isForm) this.#tellCount(model.unread);
  }

  /** Returns the end of the user's pause; nothing if there is none. It is rendered again at the end. */
  #pause(words) {
    clearTimeout(this.pauseTimer);
    const [end, now] = [Date.parse(this.preferences?.pausedUntil), this.now];
    if (!(end > now)) return null;
    this.pauseTimer = soonAfter(end - now, () => this.isConnected && this.render());
    return pauseTime(end, now, this.zones, words);
  }

  #tellCount(count) {
    if (this.told === count) return;
    this.told = count;
    this.emit("unread", { count });
    if (count > 0) navigator.setAppBadge?.(count).catch(() => {});
    else navigator.clearAppBadge?.().catch(() => {});
  }

  #bellPressed(event) {
    if (!this.isPage && this.emit("bell")) return event.preventDefault();
    if (this.hasAttribute("href")) return;
    if (this.isPage) this.places.go(this.places.filter === "unread" ? "" : "unread");
    else if (this.places.isOpen) this.close();
    else this.open();
  }

  /** Called by the places after each change. */
  moved({ from, filter, wasOpen, route }) {
    if (this.isForm) return this.render();
    const { places, screen } = this;
    if (places.filter !== filter || !this.side !== !places.filter) this.session.narrow(queryOf(places.filter));
    if (places.isOpen && !wasOpen) {
      this.attention.touch();
      this.#beginViewing();
    }
    if (route === "settings" && from !== route) this.form.open();
    this.render();
    if (from === route) return;
    if (route === null) screen.bell.focus();
    else if (from === "settings") screen.gear.focus();
    else if (from === null || route === "settings") screen.heading.focus();
    this.list.markSoon();
  }
}

/** What the session knows, under the element's own names. */
for (const name of ["model", "side", "client", "live", "device", "status", "catalog", "settings", "preferences"]) {
  const about = { get() { return this.session?.[name]; }, set(value) { this.session[name] = value; } };
  Object.defineProperty(BellhopInbox.prototype, name, about);
}

if (!customElements.get("bellhop-inbox")) customElements.define("bellhop-inbox", BellhopInbox);
globalThis.BellhopInbox ??= BellhopInbox;
