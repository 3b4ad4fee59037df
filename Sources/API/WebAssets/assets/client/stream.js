// Live updates: server-sent events while the app is visible, and polls if no stream is available.

/** Splits a stream of bytes into events, as the HTML standard defines. */
class EventReader {
  constructor(handler) {
    this.handler = handler;
    this.decoder = new TextDecoder();
    this.rest = "";
    this.event = { type: "", data: [] };
  }

  read(bytes) {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    if (this.rest.length > 1_000_000) throw new Error("a line of the stream has no end");
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === "") return this.finish();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event.type = value;
    else if (field === "data") this.event.data.push(value);
    else if (field === "id") this.id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }

  finish() {
    const { type, data } = this.event;
    this.event = { type: "", data: [] };
    if (data.length === 0) return;
    let value = null;
    try {
      value = JSON.parse(data.join("\n"));
    } catch {
      return;
    }
    this.handler(type || "message", value);
  }
}

/** The visibility of a page and its network; another platform passes an object with the same two functions. */
const PAGE = {
  isHidden: () => Boolean(globalThis.document?.hidden),
  /** Calls `changed(isOffline)` at each change; returns a function that ends this. */
  watch(changed) {
    const targets = [["online", globalThis], ["offline", globalThis], ["visibilitychange", globalThis.document]];
    const tell = ({ type }) => changed(type === "offline");
    for (const [name, target] of targets) target?.addEventListener?.(name, tell);
    return () => targets.forEach(([name, target]) => target?.removeEventListener?.(name, tell));
  },
};

/** Returns a random time from half to one and a half of `wait`, so that clients do not reconnect at the same moment. */
function spread(wait) {
  return wait * (0.5 + Math.random());
}

/**
 * Maintains a connection to the server until it is stopped. The handler receives events with
 * `handler.event(type, data)`, `handler.catchUp()` if updates may have been missed, and the state with
 * `handler.connected()` and `handler.failed(error)`. `handler.since()` returns the list's position in the stream.
 *
 * The first wait is the one that the server names. It doubles until a stream has lasted. A stream that is closed
 * immediately, such as by a proxy that allows none, does not count as a success.
 */
class LiveConnection {
  /** `app` reports whether the app is in the background, as `PAGE` does; the other members are times. */
  constructor(client, handler, { app = PAGE, ...timing } = {}) {
    Object.assign(this, { client, handler, app });
    const now = () => performance.now();
    this.timing = { poll: 20_000, first: 1_000, longest: 60_000, silence: 45_000, lasting: 30_000, now, ...timing };
    this.isStopped = false;
    this.wake = this.finish = () => {};
  }

  start() {
    this.unwatch = this.app.watch((isOffline) => {
      if (isOffline || this.app.isHidden()) this.finish();
      if (!isOffline) this.wake();
    });
    this.run();
  }

  stop() {
    this.isStopped = true;
    this.finish();
    this.wake();
    this.unwatch?.();
  }

  async run() {
    let failures = 0;
    while (!this.isStopped) {
      // A browser has few connections to one server, so a hidden tab only asks for the number from time to time.
      if (this.app.isHidden()) {
        await this.pause(this.timing.longest);
        if (this.app.isHidden() && !this.isStopped) await this.handler.resting?.();
        continue;
      }
      const began = this.timing.now();
      let fault = null;
      try {
        await this.listen();
      } catch (error) {
        fault = error;
      }
      if (this.isStopped) return;
      const hasLasted = this.app.isHidden() || this.timing.now() - began > this.timing.lasting;
      failures = hasLasted ? 0 : failures + 1;
      await this.pause(fault ? await this.afterFailure(fault, failures) : spread(this.backOff(failures)));
    }
  }

  /** Returns the time to wait; if there is no stream, the list is polled instead. */
  async afterFailure(error, failures) {
    const absent = [404, 405, 406, 501].includes(error.status);
    if (!absent) this.handler.failed?.(error);
    // The position is no longer known: the list is read again and has a new position.
    if (error.status === 400) this.lastID = null;
    const wait = spread(absent ? this.timing.poll : this.backOff(failures));
    if (error.status !== 0 && error.status !== 401) await this.handler.catchUp?.();
    if (error.status === 401) return spread(this.timing.longest);
    // Not before the time that the server has named.
    const named = (error.retryAfter ?? 0) * 1_000;
    return Math.max(wait, named * (1 + Math.random() / 2));
  }

  backOff(failures) {
    const first = this.retry ?? this.timing.first;
    return Math.min(this.timing.longest, first * 2 ** Math.min(Math.max(failures - 1, 0), 10));
  }

  /** Reads events until the stream ends, becomes silent, or the app is in the background. */
  async listen() {
    const end = new AbortController();
    this.finish = () => end.abort();
    let watch = setTimeout(this.finish, this.timing.silence);
    const since = this.lastID ?? this.handler.since?.();
    try {
      const response = await this.client.fetch("GET", "/api/notifications/stream", {
        headers: { Accept: "text/event-stream", ...(since ? { "Last-Event-ID": since } : {}) },
        signal: end.signal,
      });
      // React Native's own fetch cannot read a body in parts.
      if (!response.body) throw new CallError(501);
      if (!since) this.handler.catchUp?.();
      this.handler.connected?.();
      const events = new EventReader((type, data) => this.handler.event(type, data));
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        clearTimeout(watch);
        if (done) return;
        watch = setTimeout(this.finish, this.timing.silence);
        events.read(value);
        this.lastID = events.id ?? this.lastID;
        this.retry = events.retry ?? this.retry;
      }
    } catch (error) {
      if (error instanceof CallError) throw error;
      if (this.app.isHidden() || this.isStopped) return;
      throw new CallError(0);
    } finally {
      clearTimeout(watch);
      this.finish();
    }
  }

  /** Waits until the time is over, the device is online again, or the app becomes visible. */
  pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.isStopped) this.wake();
    });
  }
}
