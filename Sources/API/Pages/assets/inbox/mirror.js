// What the service worker has to know to decide by itself, kept where it can read it: the page writes, the worker reads.

const MIRROR_CACHE = "bellhop";
const MIRROR_KEY = "/bellhop/mirror.json";

/** What was written last; an empty object where nothing was. */
async function readMirror() {
  try {
    const kept = await (await caches.open(MIRROR_CACHE)).match(MIRROR_KEY);
    return kept ? await kept.json() : {};
  } catch {
    return {};
  }
}

/**
 * Writes some members anew and leaves the others; `members` may be a function of what is kept, null for nothing to write.
 *
 * Pages and the worker write in turn, so that none puts back what another has changed meanwhile.
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
    // Without storage the worker does not know whose pushes they are, and shows none.
  }
}

async function forgetMirror() {
  try {
    await navigator.locks.request("bellhop-mirror", () => caches.delete(MIRROR_CACHE));
  } catch {
    // There is none.
  }
}

/** Whether whoever turned push on is whoever is signed in; what comes for anybody else is not shown. */
function isOwnMirror({ user, owner }) {
  return Boolean(user) && user === owner;
}

/** What a page leaves for the worker. */
function mirrorOf(api, token, user, { settings, catalog, preferences }) {
  return {
    api,
    token,
    user,
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
  };
}
