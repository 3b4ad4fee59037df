// The client of the console's server, and its session.

/** The server's rejection of a request, with its message. */
class Refused extends Error {
  constructor(status, code, message, field) {
    super(message);
    Object.assign(this, { status, code, field });
  }
}

/** The times after which a request counts as unanswered, in milliseconds. */
const READING_LIMIT = 15_000;
const ACT_LIMIT = 60_000;

const client = {
  /** The session: name, role, and the proof that actions carry; null if no operator is signed in. */
  session: null,
  /** Called at the end of the session, with the reason unless the operator signed out. */
  onSignedOut() {},

  get isOperator() {
    return this.session?.role === "operator";
  },

  /** Sends a request; a server that hangs is reported like one that is away. */
  async call(method, path, body) {
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    if (this.session) headers["X-Bellhop-Proof"] = this.session.proof;
    let answer;
    let text;
    try {
      answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store",
        signal: AbortSignal.timeout(method === "GET" ? READING_LIMIT : ACT_LIMIT) });
      text = await answer.text();
    } catch (error) {
      const isSlow = error?.name === "TimeoutError";
      throw new Refused(0, "away", isSlow && method !== "GET"
        ? "the console has not answered for a minute; see the audit whether it was done"
        : "the console does not answer; is bellhop console running?");
    }
    let value = null;
    try {
      value = text === "" ? null : JSON.parse(text);
    } catch {
      throw new Refused(answer.status, "strange", "the console sent an unexpected response");
    }
    if (answer.ok) return value;
    if (answer.status === 401 && this.session) {
      this.session = null;
      this.onSignedOut("Your session has ended, or your token was replaced. Sign in again.");
    }
    throw new Refused(answer.status, value?.error?.code, value?.error?.message ?? `status ${answer.status}`, value?.error?.field);
  },

  /** Reads data; `items` are its subjects, `options` correspond to the options of the command line. */
  ask(name, options = {}, items = []) {
    const query = new URLSearchParams();
    for (const item of items) query.append("item", item);
    for (const [key, value] of Object.entries(options)) if (value) query.append(key, value);
    return this.call("GET", `/api/${name}${query.size ? `?${query}` : ""}`);
  },

  act(name, body) {
    return this.call("POST", `/api/acts/${name}`, body);
  },

  async restore() {
    try {
      this.session = await this.call("GET", "/api/session");
    } catch (refused) {
      if (refused.status !== 401) throw refused;
    }
  },

  async signIn(token) {
    this.session = await this.call("POST", "/api/sign-in", { token });
  },

  async signOut() {
    await this.call("POST", "/api/sign-out").catch(() => {});
    this.session = null;
    this.onSignedOut();
  },
};
