// The element itself: signs in, fetches, and decides what is on the screen.

const SCRIPT = document.currentScript?.src || location.href;

/** A notification centre; `docs/inbox.md` has its attributes, properties, events, parts and colours. */
class BellhopInbox extends HTMLElement {
  static observedAttributes = ["api", "lang", "layout"];

  static addIcon(name, path) {
    ICONS.set(String(name), String(path));
  }

  /** The time words of an instant, as the server's rules say them. */
  static timeWords(instant, now, zone, tag) {
    return timeWords(Date.parse(instant), Date.parse(now), [zone], tag);
  }

  static safeAddress(link, origin, schemes) {
    return safeAddress(link, origin, schemes);
  }

  #token = null;
  #view = "list";
  #isOpen = false;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
    root.adoptedStyleSheets = [sheet];
    this.catalog = null;
    this.settings = null;
    this.preferences = null;
    this.status = "signed-out";
  }

  /** Who is signed in; setting it begins anew as that user, null signs nobody in. */
  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token || null;
    if (this.isConnected) this.#begin();
  }

  /** Asked for a newer token when the present one has ended: a function, which may be asynchronous. */
  renewToken = null;

  get unreadCount() {
    return this.model?.unread ?? 0;
  }

  connectedCallback() {
    if (!this.#token && this.hasOwnProperty("token")) {
      const early = this.token;
      delete this.token;
      this.#token = early;
    }
    this.#build();
    this.#begin();
    this.onOutside = (event) => this.#isOpen && !event.composedPath().includes(this) && this.close();
    document.addEventListener("pointerdown", this.onOutside);
    this.onReturn = () => !document.hidden && this.model?.beginViewing();
    document.addEventListener("visibilitychange", this.onReturn);
    this.onMessage = ({ data }) => data?.bellhop === "push" && this.#catchUp();
    navigator.serviceWorker?.addEventListener("message", this.onMessage);
    this.onNetwork = () => this.#network(navigator.onLine);
    addEventListener("online", this.onNetwork);
    addEventListener("offline", this.onNetwork);
    // "I dag" becomes "I går" by itself.
    this.minute = setInterval(() => this.#render(), 60_000);
  }

  disconnectedCallback() {
    this.#end();
    this.screen?.end();
    clearInterval(this.minute);
    document.removeEventListener("pointerdown", this.onOutside);
    document.removeEventListener("visibilitychange", this.onReturn);
    navigator.serviceWorker?.removeEventListener("message", this.onMessage);
    removeEventListener("online", this.onNetwork);
    removeEventListener("offline", this.onNetwork);
  }

  attributeChangedCallback(name, before, after) {
    if (!this.isConnected || !this.screen || before === after) return;
    if (name === "api") this.#begin();
    if (name === "layout") this.#build();
    this.#render();
  }

  /** Opens the panel of the bell. */
  open() {
    if (this.#isPage || this.#isOpen) return;
    this.#isOpen = true;
    this.model?.beginViewing();
    this.#render();
    this.screen.heading.focus();
  }

  close() {
    if (this.#isPage || !this.#isOpen) return;
    this.#isOpen = false;
    this.#view = "list";
    this.#render();
    this.screen.bell.focus();
  }

  /** Ends what this browser was told and forgets the user, as an app does that signs out. */
  async signOut() {
    await this.device?.turnOff().catch(() => {});
    await forgetMirror();
    this.token = null;
  }

  get #isPage() {
    return this.getAttribute("layout") === "page";
  }

  get #isShown() {
    return this.#isPage || this.#isOpen;
  }

  get #words() {
    return wordsFor(this.getAttribute("lang") || this.settings?.locale || this.catalog?.language || navigator.language);
  }

  get #zones() {
    return [this.settings?.timezone, this.catalog?.timezone];
  }

  // Signing in and keeping in touch
  #begin() {
    this.#end();
    this.catalog = this.settings = this.preferences = null;
    const base = new URL(this.getAttribute("api") || SCRIPT, location.href);
    this.client = new InboxClient(base, () => this.#token, () => this.#renew());
    this.model = new InboxModel(this.client, () => this.#render());
    this.device = new PushDevice(this.client, this.getAttribute("worker") || "/sw.js");
    this.#view = "list";
    if (!this.#token) {
      this.status = "signed-out";
      return this.#render();
    }
    this.status = "loading";
    this.#render();
    const model = this.model;
    this.live = new LiveConnection(this.client, {
      event: (type, data) => this.#heard(type, data),
      catchUp: () => this.#catchUp(),
      failed: (error) => this.#failed(error),
      connected: () => this.#answered(),
      since: () => model.lastEventId,
    });
    this.#start(model);
  }

  #end() {
    this.live?.stop();
    this.live = null;
  }

  async #start(model) {
    try {
      await Promise.all([this.#learn(model), model.load()]);
    } catch (error) {
      if (model === this.model) this.#failed(error);
    }
    if (model !== this.model || !this.#token) return;
    if (model.isLoaded) this.#answered();
    this.live.start();
    if (this.catalog) this.device.sayAlive().catch(() => {});
  }

  /** What the app is like and what the user wants of it, for the page and for the service worker. */
  async #learn(model = this.model) {
    const [settings, catalog, preferences] = await Promise.all([
      this.client.call("GET", "/api/settings"),
      this.client.call("GET", "/api/catalog"),
      this.client.call("GET", "/api/preferences"),
    ]);
    if (model !== this.model) return;
    Object.assign(this, { settings, catalog, preferences });
    this.dispatchEvent(new CustomEvent("bellhop-language", { detail: { language: this.#words.tag, title: this.#words.title } }));
    this.#render();
    this.#mirror();
  }

  #mirror() {
    const { settings, catalog, preferences } = this;
    return writeMirror({
      api: this.client.base.href,
      token: this.#token,
      pushEnabled: settings.pushEnabled,
      zones: [settings.timezone, catalog.timezone],
      schemes: catalog.schemes,
      quietHours: catalog.preferences.quietHours,
      types: Object.fromEntries(
        catalog.types.map(({ type, mandatory, defaults, quietHours }) => [
          type,
          { mandatory, isOn: defaults.push, quiet: quietHours.web },
        ])
      ),
      preferences,
    });
  }

  async #renew() {
    const before = this.#token;
    const token = await this.renewToken?.(before);
    if (before !== this.#token) return this.#token;
    if (!token || token === before) {
      this.status = "signed-out";
      this.dispatchEvent(new CustomEvent("bellhop-sign-in", { bubbles: true, composed: true }));
      this.#render();
      return null;
    }
    this.#token = token;
    writeMirror({ token });
    return token;
  }

  async #catchUp() {
    const model = this.model;
    const known = model.isLoaded ? new Set(model.order) : null;
    try {
      await model.load();
      if (model !== this.model) return;
      this.#tellArrivals(known);
      if (!this.catalog) await this.#learn(model);
      this.#answered();
    } catch (error) {
      if (model === this.model) this.#failed(error);
    }
  }

  /** What has come while nobody told is said, too. */
  #tellArrivals(known) {
    if (!known) return;
    const fresh = this.model.above(known);
    const { arrived, unreadCount } = this.#words;
    if (fresh.length > 1) this.screen.say(unreadCount(this.model.unread), { isShown: false });
    else if (fresh[0]?.read === false) this.screen.say(arrived(fresh[0].title), { isShown: false });
  }

  #answered() {
    const wasAway = this.status === "offline";
    this.status = "ready";
    if (wasAway) this.screen.say(this.#words.online);
    this.#render();
  }

  #failed(error) {
    if (error.status === 401) this.status = "signed-out";
    else if (error.status === 0) this.status = "offline";
    else if (this.status === "loading") this.status = "failed";
    this.#render();
  }

  #network(isOnline) {
    if (isOnline) this.#catchUp();
    else this.#failed(new CallError(0));
  }

  #heard(type, data) {
    this.status = "ready";
    if (type === "notification" && data?.id) {
      const { unreadCount, ...item } = data;
      if (this.model.arrive(item, unreadCount)) this.screen.say(this.#words.arrived(item.title), { isShown: false });
    } else if (type === "read") this.model.setRead(data);
    else if (type === "badge") this.model.setCount(data);
    else if (type === "resync" || (type === "state" && data?.state !== "seen")) this.#catchUp();
  }

  // What is on the screen

  #build() {
    this.screen?.end();
    const list = new ListView({
      open: (item, event) => this.#open(item, event),
      viewed: (ids) => this.#isShown && this.#view === "list" && this.model.markViewed(ids),
      more: () => this.model.more().catch((error) => this.#failed(error)),
      retry: () => {
        this.status = "loading";
        this.#catchUp();
      },
    });
    this.form = new SettingsView({
      save: (kind, change) => this.#save(kind, change),
      reload: () => this.#showSettings(),
      say: (text, isFault) => this.screen.say(text, { isFault }),
      device: () => this.device,
    });
    const actions = {
      bell: () => this.#bellPressed(),
      list: () => this.#showList(),
      settings: () => this.#showSettings(),
      markAll: () => this.#markAll(),
      close: () => this.close(),
      escape: () => (this.#view === "settings" ? this.#showList() : this.close()),
    };
    this.screen = new InboxScreen(this.#isPage, actions, list, this.form);
    this.shadowRoot.replaceChildren(this.screen.node);
  }

  #render() {
    if (!this.screen || !this.model) return;
    const words = this.#words;
    // Until the user's language and zone are known there is nothing to say.
    const model = this.settings ? this.model : (this.blank ??= new InboxModel());
    this.screen.render({
      words,
      view: this.#view,
      isOpen: this.#isOpen,
      status: this.status,
      model,
      look: {
        words,
        status: this.status,
        now: Date.now(),
        zones: this.#zones,
        level: this.#isPage ? 1 : 2,
        types: new Map((this.catalog?.types ?? []).map((type) => [type.type, type])),
        addressOf: (item) => this.#addressOf(item),
      },
    });
    this.#tellCount(model.unread);
  }

  /** Nothing for a notification that leads nowhere. */
  #addressOf(item) {
    return item.link ? safeAddress(item.link.web, location.origin, this.catalog?.schemes) : null;
  }

  #tellCount(count) {
    if (this.told === count) return;
    this.told = count;
    this.dispatchEvent(new CustomEvent("bellhop-unread", { detail: { count }, bubbles: true, composed: true }));
    if (count > 0) navigator.setAppBadge?.(count).catch(() => {});
    else navigator.clearAppBadge?.().catch(() => {});
  }

  #bellPressed() {
    if (!this.#isPage) return this.#isOpen ? this.close() : this.open();
    this.#showList();
    scrollTo({ top: 0 });
  }

  #showList() {
    const wasElsewhere = this.#view !== "list";
    this.#view = "list";
    this.#render();
    (wasElsewhere ? this.screen.gear : this.screen.heading).focus();
  }

  async #showSettings() {
    try {
      await this.#learn();
    } catch (error) {
      return this.#failed(error);
    }
    const facts = { catalog: this.catalog, settings: this.settings, preferences: this.preferences };
    const zone = this.#zones.find((name) => name && clockOf(name)) ?? "UTC";
    this.form.render({ words: this.#words, level: this.#isPage ? 1 : 2, zone, ...facts });
    if (this.#view === "settings") return;
    this.#view = "settings";
    this.#render();
    this.screen.heading.focus();
  }

  async #save(kind, change) {
    const method = kind === "preferences" ? "PUT" : "PATCH";
    this[kind] = await this.client.call(method, `/api/${kind}`, change);
    await this.#mirror();
    return this[kind];
  }

  async #markAll() {
    try {
      await this.model.markAll();
      this.screen.say(this.#words.allRead);
      this.screen.heading.focus();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Lets the page around it lead there by itself: whoever cancels the event has done so. */
  #open(item, event) {
    this.model.markViewed([item.id]);
    const detail = { notification: item, url: this.#addressOf(item) };
    const wish = { detail, bubbles: true, composed: true, cancelable: true };
    if (!this.dispatchEvent(new CustomEvent("bellhop-open", wish))) event.preventDefault();
  }
}

if (!customElements.get("bellhop-inbox")) customElements.define("bellhop-inbox", BellhopInbox);
globalThis.BellhopInbox ??= BellhopInbox;
