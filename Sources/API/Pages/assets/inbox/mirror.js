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

/** Writes some members anew and leaves the others. */
async function writeMirror(members) {
  try {
    const cache = await caches.open(MIRROR_CACHE);
    const kept = await cache.match(MIRROR_KEY);
    const mirror = { ...(kept ? await kept.json() : {}), ...members };
    await cache.put(MIRROR_KEY, new Response(JSON.stringify(mirror), { headers: { "Content-Type": "application/json" } }));
  } catch {
    // Without storage, as in a private window, the worker shows what comes: the server has decided already.
  }
}

async function forgetMirror() {
  try {
    await caches.delete(MIRROR_CACHE);
  } catch {
    // There is none.
  }
}
