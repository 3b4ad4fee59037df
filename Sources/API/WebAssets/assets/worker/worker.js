// The service worker: shows pushes while no page is open.

/** Returns a push with uniform member names for both of its specifications; null if it is not an object. */
function readPush(data) {
  let push;
  try {
    push = data?.json();
  } catch {
    return null;
  }
  if (!isObject(push)) return null;
  return { ...push, id: push.id ?? push.notificationId, type: push.type ?? push.eventType, url: push.url ?? push.route };
}

async function receive(data) {
  const [push, mirror] = [readPush(data), await readMirror()];
  if (!push) return;
  await tellPages({ bellhop: "push", id: push.id });
  if (!isOwnMirror(mirror)) return;
  if (Number.isInteger(push.badge)) await setBadge(push.badge);
  if (verdictOf(push, mirror, Date.now()) === "show") await show(push);
}

function show({ id, type, title, body, tag, url, scheme, image, priority }) {
  return self.registration.showNotification(String(title ?? ""), {
    body: String(body ?? ""),
    tag: String(tag ?? id ?? ""),
    image: isPicture(image) ? image : undefined,
    dir: "auto",
    requireInteraction: priority === "high",
    data: { id, type, url, scheme },
  });
}

function isPicture(address) {
  return typeof address === "string" && /^https:\/\//i.test(address) && URL.canParse(address);
}

async function setBadge(count) {
  try {
    if (count > 0) await self.navigator.setAppBadge?.(count);
    else await self.navigator.clearAppBadge?.();
  } catch {
    // The platform shows no number.
  }
}

function pages() {
  return self.clients.matchAll({ type: "window", includeUncontrolled: true });
}

async function tellPages(message) {
  for (const page of await pages()) page.postMessage(message);
}

/** Navigates an open page to the address, or opens a new one. */
async function open({ url, id }) {
  const mirror = await readMirror();
  const address = safeAddress(url, self.location.origin, mirror.schemes);
  const marked = id ? markRead(id, mirror) : null;
  const page = (await pages()).find((client) => "focus" in client);
  try {
    if (!page) await self.clients.openWindow(address);
    else {
      if (page.url.split("#")[0] !== address) await page.navigate(address);
      await page.focus();
    }
  } catch {
    await self.clients.openWindow(address);
  }
  await marked;
}

/** Marks a notification as read; without a valid token, the page does it after it has opened. */
async function markRead(id, mirror) {
  await call("PATCH", "/api/notifications", { notificationIds: [id] }, mirror).catch(() => null);
}

function call(method, path, body, { api, token }) {
  if (!api || !token) return Promise.resolve(null);
  return fetch(new URL(path, api), {
    method,
    credentials: "omit",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/**
 * Replaces an address that the browser has given up. If the server cannot be told now, the page reports it at its next
 * start.
 */
async function renew(event) {
  const mirror = await readMirror();
  if (!isOwnMirror(mirror)) return;
  const previous = event.oldSubscription?.endpoint ?? mirror.endpoint;
  const options = event.oldSubscription?.options ?? { userVisibleOnly: true, applicationServerKey: mirror.publicKey };
  const subscription = event.newSubscription ?? (await self.registration.pushManager.subscribe(options));
  const response = await call("POST", "/api/push-token", registrationOf(subscription, previous, "granted"), mirror);
  if (response?.ok) await writeMirror({ endpoint: subscription.endpoint });
  await tellPages({ bellhop: "renewed" });
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(receive(event.data)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data ?? {}));
});
