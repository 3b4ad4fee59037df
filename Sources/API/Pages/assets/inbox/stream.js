// What happens meanwhile: server-sent events while somebody looks, and questions now and then where there are none.

/** Splits a stream of bytes into events, as the HTML standard says. */
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

/**
 * Keeps in touch with the server until it is stopped: `handler.event(type, data)` for what it says, `handler.catchUp()`
 * wherever something may have been missed, `handler.connected()` and
 * `handler.failed(error)` for how it is, `handler.since()` for the place
 * in the stream that the list belongs to.
 */
class LiveConnection {
  constructor(client, handler, timing = {}) {
    this.client = client;
    this.handler = handler;
    this.timing = { poll: 20_000, first: 1_000, longest: 60_000, silence: 45_000, ...timing };
    this.stopped = new AbortController();
    this.wake = () => {};
  }

  start() {
    this.hurry = () => this.wake();
    addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.hurry);
    this.run();
  }

  stop() {
    this.stopped.abort();
    this.wake();
    removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.hurry);
  }

  async run() {
    let failures = 0;
    while (!this.stopped.signal.aborted) {
      // A browser has few connections to one server: a tab that nobody looks at takes none.
      if (document.hidden) {
        await this.pause(this.timing.longest);
        continue;
      }
      let wait;
      try {
        await this.listen();
        failures = 0;
        wait = this.timing.first;
      } catch (error) {
        if (this.stopped.signal.aborted) return;
        failures += 1;
        wait = await this.afterFailure(error, failures);
      }
      await this.pause(wait * (0.75 + Math.random() / 2));
    }
  }

  /** How long to wait; while there is no stream, the list is asked for instead. */
  async afterFailure(error, failures) {
    const absent = [404, 405, 406, 501].includes(error.status);
    if (!absent) this.handler.failed(error);
    // A place that is not known any more: the list is read anew, and has another.
    if (error.status === 400) this.lastID = null;
    const backOff = Math.min(this.timing.longest, this.timing.first * 2 ** Math.min(failures - 1, 10));
    const wait = Math.max(absent ? this.timing.poll : backOff, (error.retryAfter ?? 0) * 1_000);
    if (error.status !== 0 && error.status !== 401) await this.handler.catchUp();
    return error.status === 401 ? this.timing.longest : wait;
  }

  /** Reads events until the stream ends, falls silent, or nobody looks any more. */
  async listen() {
    const end = new AbortController();
    const finish = () => end.abort();
    const hide = () => document.hidden && end.abort();
    this.stopped.signal.addEventListener("abort", finish);
    document.addEventListener("visibilitychange", hide);
    addEventListener("offline", finish);
    let watch = setTimeout(finish, this.timing.silence);
    const since = this.lastID ?? this.handler.since();
    try {
      const response = await this.client.fetch("GET", "/api/notifications/stream", {
        headers: { Accept: "text/event-stream", ...(since ? { "Last-Event-ID": since } : {}) },
        signal: end.signal,
      });
      if (!since) this.handler.catchUp();
      this.handler.connected();
      const events = new EventReader((type, data) => this.handler.event(type, data));
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        clearTimeout(watch);
        if (done) return;
        watch = setTimeout(finish, this.timing.silence);
        events.read(value);
        this.lastID = events.id ?? this.lastID;
      }
    } catch (error) {
      if (error instanceof CallError) throw error;
      if (document.hidden || this.stopped.signal.aborted) return;
      throw new CallError(0);
    } finally {
      clearTimeout(watch);
      end.abort();
      this.stopped.signal.removeEventListener("abort", finish);
      document.removeEventListener("visibilitychange", hide);
      removeEventListener("offline", finish);
    }
  }

  /** Until the time is over, the browser is online again, or somebody looks. */
  pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.stopped.signal.aborted) this.wake();
    });
  }
}
