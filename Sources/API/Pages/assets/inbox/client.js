// The inbox API, as the user of a token.

/** Why a call came to nothing: an HTTP status, or 0 where there was no answer. */
class CallError extends Error {
  constructor(status, code, retryAfter) {
    super(`the inbox API answered ${status || "nothing"}${code ? `, ${code}` : ""}`);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

class InboxClient {
  /** `tokens()` gives the present token; `renew()` a newer one after a 401, or nothing. */
  constructor(base, tokens, renew) {
    this.base = base;
    this.tokens = tokens;
    this.renew = renew;
  }

  /** The response of a call that was answered with 2xx; anything else is thrown as a `CallError`. */
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
    try {
      response = await send(this.tokens());
      if (response.status === 401) {
        const token = await this.renew();
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

  /** The JSON of an answer. */
  async call(method, path, body, options) {
    const response = await this.fetch(method, path, { body, signal: AbortSignal.timeout(20_000), ...options });
    return response.status === 204 ? null : response.json();
  }

  list(before) {
    return this.call("GET", `/api/notifications?limit=30${before ? `&before=${encodeURIComponent(before)}` : ""}`);
  }

  /** Outlives the page: a tap marks and leads away at once. */
  mark(ids, state) {
    return this.call("PATCH", "/api/notifications", { notificationIds: ids, ...(state ? { state } : {}) }, { keepalive: true });
  }
}
