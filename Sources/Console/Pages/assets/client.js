// What is asked of the server, and who asks.

/** Why something was not done, in the server's words. */
class Refused extends Error {
  constructor(status, code, message, field) {
    super(message);
    Object.assign(this, { status, code, field });
  }
}

const client = {
  /** Who is signed in: name, role, and the proof that acts carry; null for nobody. */
  session: null,
  /** Called where the server knows nobody behind the cookie any more. */
  onSignedOut() {},

  get isOperator() {
    return this.session?.role === "operator";
  },

  async call(method, path, body) {
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    if (this.session) headers["X-Bellhop-Proof"] = this.session.proof;
    let answer;
    let text;
    try {
      answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
      text = await answer.text();
    } catch {
      throw new Refused(0, "away", "the console does not answer; is bellhop console running?");
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
      this.onSignedOut();
    }
    throw new Refused(answer.status, value?.error?.code, value?.error?.message ?? `status ${answer.status}`, value?.error?.field);
  },

  /** A reading; `items` are what it is about, `options` what the command line has as options. */
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
