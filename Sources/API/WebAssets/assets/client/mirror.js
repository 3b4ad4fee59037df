// The data with which the service worker decides without a page: pages write it, the worker reads it.

const MIRROR_CACHE = "bellhop";
const MIRROR_KEY = "/bellhop/mirror.json";

/** Returns the stored data; an empty object if there is none. */
async function readMirror() {
  try {
    const kept = await (await caches.open(MIRROR_CACHE)).match(MIRROR_KEY);
    return kept ? await kept.json() : {};
  } catch {
    return {};
  }
}

/**
 * Replaces some members and keeps the others; `members` may be a function of the stored data, which returns null to
 * write nothing.
 *
 * Pages and the worker write in turn, so that none overwrites a concurrent change.
 */
async function writeMirror(members) {
  try {
    await navigator.locks.request("bellhop-mirror", async () => {
      const kept = await readMirror();
      const changed = typeof members === "function" ? members(kept) : members;
      if (!changed) return;
      const text = JSON.stringify({ ...kept, ...changed });
      const response = new Response(text, { headers: { "Content-Type": "application/json" } });
      await (await caches.open(MIRROR_CACHE)).put(MIRROR_KEY, response);
    });
  } catch {
    // Without storage the worker cannot assign pushes to a user, and shows none.
  }
}

async function forgetMirror() {
  try {
    await navigator.locks.request("bellhop-mirror", () => caches.delete(MIRROR_CACHE));
  } catch {
    // There is no storage.
  }
}

/**
 * Returns the user in a token, unverified, because only the server can verify it. Null if it is not a token, or if its
 * `sub` is not a text: users without a name cannot be told apart.
 */
function userOf(token) {
  try {
    const { app, sub } = JSON.parse(new TextDecoder().decode(keyBytes(token.split(".")[1])));
    return typeof sub === "string" ? JSON.stringify([app, sub]) : null;
  } catch {
    return null;
  }
}

/** Returns the bytes of a base64url key, as `subscribe` requires them. */
function keyBytes(text) {
  const padded = text.replace(/-/g, "+").replace(/_/g, "/") + "=".repeat((4 - (text.length % 4)) % 4);
  return Uint8Array.from(atob(padded), (character) => character.charCodeAt(0));
}

/** Whether the signed-in user is the one who turned push on; pushes for any other user are not shown. */
function isOwnMirror({ user, owner }) {
  return Boolean(user) && user === owner;
}

/** Returns the page's data for the worker. */
function mirrorOf(api, token, user, lang, { settings, catalog, preferences }) {
  return {
    api,
    token,
    user,
    lang,
    pushEnabled: settings.pushEnabled,
    zones: [settings.timezone, deviceClock().timezone, catalog.timezone],
    schemes: catalog.schemes,
    quietHours: catalog.preferences.quietHours,
    types: Object.fromEntries(
      catalog.types.map(({ type, mandatory, defaults, quietHours }) => [
        type,
        { mandatory, isOn: defaults.push, quiet: quietHours.web },
      ])
    ),
    preferences,
  };
}
