// The last list, for a start without a network. It is in the mirror's cache, and is deleted with it.

const LIST_KEY = "/bellhop/list.json";

/** Keeps the facts of a start: `user`, `page`, `settings`, `catalog`, `preferences`. */
async function keepList(facts) {
  try {
    await (await caches.open(MIRROR_CACHE)).put(LIST_KEY, new Response(JSON.stringify(facts)));
  } catch {
    // Without storage, a start without a network shows no list.
  }
}

/** Returns the facts of the user's last start; null if they are another user's, and then they are deleted. */
async function keptList(user) {
  try {
    const cache = await caches.open(MIRROR_CACHE);
    const kept = await (await cache.match(LIST_KEY))?.json();
    if (user && kept?.user === user) return kept;
    await cache.delete(LIST_KEY);
  } catch {
    // There is no storage.
  }
  return null;
}
