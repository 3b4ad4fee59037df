// The inbox API, called as the user of a token. It needs no DOM, so that it runs in browsers, workers, Node and React
// Native. `client.d.ts` describes it for apps.

/** The error of a failed call: an HTTP status, or 0 if there was no answer. */
class CallError extends Error {
  constructor(status, code, retryAfter, field) {
    super(`the inbox API answered ${status || "nothing"}${code ? `, ${code}` : ""}`);
    Object.assign(this, { status, code, retryAfter, field });
  }
}

class InboxClient {
  /**
   * `base` is the address in front of `/api/…`. `token()` returns the current token; `renew(refused)` returns a newer
   * one after a 401. Either may return null if no user is signed in.
   */
  constructor({ base, token, renew }) {
    this.base = base;
    this.token = typeof token === "function" ? token : () => token;
    this.renew = renew ?? (() => null);
    /** The milliseconds by which the server's clock is ahead of the device's, if they differ by more than a minute. */
    this.ahead = 0;
  }

  /**
   * Returns the response of a call that was answered with 2xx; throws a `CallError` otherwise. The signal in `options`
   * also ends the wait for a token.
   */
  async fetch(method, path, { body, headers = {}, ...options } = {}) {
    const { signal } = options;
    const ended = new Promise((_, fail) => signal?.addEventListener("abort", () => fail(signal.reason)));
    ended.catch(() => {});
    const send = (token) =>
      fetch(addressAt(this.base, path), {
        method,
        credentials: "omit",
        cache: "no-store",
        ...options,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    let response;
    const present = await Promise.race([this.token(), ended]);
    if (!present) throw new CallError(401);
    try {
      response = await send(present);
      if (response.status === 401) {
        const token = await Promise.race([this.renew(present), ended]);
        if (token) response = await send(token);
      }
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new CallError(0);
    }
    const ahead = Date.parse(response.headers.get("Date")) - Date.now();
    this.ahead = Math.abs(ahead) > 60_000 ? ahead : 0;
    if (response.ok) return response;
    const { code, field } = (await response.json().catch(() => null))?.error ?? {};
    throw new CallError(response.status, code, Number(response.headers.get("Retry-After")) || 0, field);
  }

  /** Returns the JSON of an answer; a call without an answer fails after ten seconds. */
  async call(method, path, body, options) {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), 10_000);
    try {
      const response = await this.fetch(method, path, { body, signal: late.signal, ...options });
      return response.status === 204 ? null : await response.json();
    } catch (error) {
      throw error instanceof CallError ? error : new CallError(0);
    } finally {
      clearTimeout(timer);
    }
  }

  /** `query` narrows the list: `before`, `limit`, `unread`, `state`, `types`, `tag`. */
  list(query = {}) {
    const given = Object.entries({ limit: 30, ...query }).filter(([, value]) => value !== null && value !== undefined);
    return this.call("GET", `/api/notifications?${given.map((pair) => pair.map(encodeURIComponent).join("=")).join("&")}`);
  }

  unreadCount() {
    return this.call("GET", "/api/notifications/unread-count");
  }

  /** Marks notifications with a request that outlives the page, because a tap marks and navigates at the same time. */
  mark(ids, state = "read", time = {}) {
    return this.call("PATCH", "/api/notifications", { notificationIds: ids, state, ...time }, { keepalive: true });
  }

  markAll(state = "read") {
    return this.call("PATCH", "/api/notifications", { all: true, state });
  }

  catalog() {
    return this.call("GET", "/api/catalog");
  }

  settings() {
    return this.call("GET", "/api/settings");
  }

  changeSettings(members) {
    return this.call("PATCH", "/api/settings", members);
  }

  /** Reports the device's time zone and language; a setting that the user has made stays. */
  reportClock(clock = deviceClock()) {
    return this.changeSettings({ ...clock, isDefault: true });
  }

  preferences() {
    return this.call("GET", "/api/preferences");
  }

  /** Changes single members and keeps all others, which other devices may have changed. */
  changePreferences(members) {
    return this.call("PATCH", "/api/preferences", members);
  }

  /** Registers a device; `replaces` names its previous token, whose registration ends. */
  registerDevice(device) {
    return this.call("POST", "/api/push-token", device);
  }

  changePermission(token, permission) {
    return this.call("PATCH", "/api/push-token", { token, permission });
  }

  /** Ends the registration of a device, for a log-out. */
  removeDevice(token) {
    return this.call("DELETE", "/api/push-token", { token });
  }

  webPushKey() {
    return this.call("GET", "/api/web-push-key");
  }

  /** Begins live updates; the connection's `stop()` ends them. */
  live(handler, options) {
    const connection = new LiveConnection(this, handler, options);
    connection.start();
    return connection;
  }
}

/** Returns an address below a base, which may have a path. */
function addressAt(base, path) {
  return String(base).replace(/[/]+$/, "") + path;
}

/** Returns the device's time zone and language; members that the platform does not report are undefined. */
function deviceClock() {
  const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
  return { timezone: timeZone, locale: globalThis.navigator?.language ?? locale };
}
