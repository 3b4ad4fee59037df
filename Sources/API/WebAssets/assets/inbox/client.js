// The inbox API, called as the user of a token.

/** The error of a failed call: an HTTP status, or 0 if there was no answer. */
class CallError extends Error {
  constructor(status, code, retryAfter) {
    super(`the inbox API answered ${status || "nothing"}${code ? `, ${code}` : ""}`);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** Returns the user in a token, unverified, because only the server can verify it; null if it is not a token. */
function userOf(token) {
  try {
    const { app, sub } = JSON.parse(new TextDecoder().decode(keyBytes(token.split(".")[1])));
    return JSON.stringify([app, sub]);
  } catch {
    return null;
  }
}

class InboxClient {
  /**
   * `tokens()` returns the current token; `renew(refused)` returns a newer one after a 401. Either returns null if no
   * user is signed in.
   */
  constructor(base, tokens, renew) {
    this.base = base;
    this.tokens = tokens;
    this.renew = renew;
  }

  /** Returns the response of a call that was answered with 2xx; throws a `CallError` otherwise. */
  async fetch(method, path, { body, headers = {}, ...options } = {}) {
    const send = (token) =>
      fetch(new URL(path, this.base), {
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
    const present = this.tokens();
    if (!present) throw new CallError(401);
    try {
      response = await send(present);
      if (response.status === 401) {
        const token = await this.renew(present);
        if (token) response = await send(token);
      }
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new CallError(0);
    }
    if (response.ok) return response;
    const fault = await response.json().catch(() => null);
    throw new CallError(response.status, fault?.error?.code, Number(response.headers.get("Retry-After")) || 0);
  }

  /** Returns the JSON of an answer. */
  async call(method, path, body, options) {
    const response = await this.fetch(method, path, { body, signal: AbortSignal.timeout(10_000), ...options });
    try {
      return response.status === 204 ? null : await response.json();
    } catch {
      throw new CallError(0);
    }
  }

  /** `query` narrows the list: `{unread}` or `{state}`. */
  list(before, query = {}) {
    const asked = new URLSearchParams({ limit: 30, ...query, ...(before ? { before } : {}) });
    return this.call("GET", `/api/notifications?${asked}`);
  }

  /** Marks notifications with a request that outlives the page, because a tap marks and navigates at the same time. */
  mark(ids, state = "read", time = {}) {
    return this.call("PATCH", "/api/notifications", { notificationIds: ids, state, ...time }, { keepalive: true });
  }
}
