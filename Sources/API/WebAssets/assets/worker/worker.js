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
  const isShown = await tellPages(push.id, mirror);
  if (!isOwnMirror(mirror)) return;
  if (Number.isInteger(push.badge)) await setBadge(push.badge);
  const reported = reportClock(mirror);
  // Safari ends the permission if pushes are not shown.
  const isSafari = /^(?!.*(Chrom|Android|Firefox)).*Safari/.test(self.navigator.userAgent ?? "");
  if ((isSafari || !isShown) && verdictOf(push, mirror, Date.now()) === "show") await show(push, mirror);
  await reported;
}

function show({ id, type, title, body, tag, url, scheme, image, priority, sentAtIso }, { user, lang, api }) {
  const sentAt = Date.parse(sentAtIso);
  return self.registration.showNotification(String(title ?? ""), {
    body: String(body ?? ""),
    tag: String(tag ?? id ?? ""),
    image: isPicture(image) ? image : undefined,
    ...(api ? { icon: addressAt(api, "/icon.png"), badge: addressAt(api, "/badge.png") } : {}),
    ...(lang ? { lang } : {}),
    ...(Number.isFinite(sentAt) ? { timestamp: sentAt } : {}),
    dir: "auto",
    requireInteraction: priority === "high",
    data: { id, type, url, scheme, user },
  });
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

/**
 * Tells the open pages of a push, and returns whether one that the user is looking at shows it already. The others must
 * not wait for it.
 */
async function tellPages(id, { user }) {
  const all = await pages();
  const message = { bellhop: "push", id };
  const front = all.find(({ focused, visibilityState }) => focused && visibilityState === "visible");
  for (const page of all) if (page !== front) page.postMessage(message);
  const answer = front && (await ask(front, message, 2_000));
  return Boolean(answer?.isShown && user && answer.user === user);
}

/** Returns a page's answer, or null if it gives none in time. */
function ask(page, message, milliseconds) {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data);
    setTimeout(() => resolve(null), milliseconds);
    page.postMessage(message, [port2]);
  });
}

/**
 * Lets an open page show the notification, and otherwise opens its address.
 *
 * A page that the user works in is not led away: it is asked first, and only one that does not answer, or that is the
 * inbox itself, goes to the address.
 */
async function open({ url, id }) {
  const mirror = await readMirror();
  const address = safeAddress(url, self.location.origin, mirror.schemes);
  const marked = id ? markRead(id, mirror) : null;
  const all = (await pages()).filter((client) => "focus" in client);
  const page = all.find(({ visibilityState }) => visibilityState === "visible") ?? all[0];
  try {
    const answer = page && (await ask(page, { bellhop: "open", id, url: address }, 300));
    const isSame = page?.url.split("#")[0] === address;
    if (!page || (answer && !answer.isTaken && !answer.isInbox && !isSame)) await self.clients.openWindow(address);
    else {
      if (!answer?.isTaken && !isSame) await page.navigate(address);
      await page.focus();
    }
  } catch {
    await self.clients.openWindow(address);
  }
  await marked;
}

/** Marks a notification as read; without a valid token, the page does it after it has opened. */
async function markRead(id, mirror) {
  await clientOf(mirror).mark([id]).catch(() => null);
}

function clientOf({ api, token }) {
  return new InboxClient({ base: api, token: api && token });
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
  try {
    await clientOf(mirror).registerDevice(registrationOf(subscription, previous, "granted"));
    await writeMirror({ endpoint: subscription.endpoint });
  } catch {
    // The page reports it.
  }
  for (const page of await pages()) page.postMessage({ bellhop: "renewed" });
}

/** Reports the device's clock if the user has travelled since the last page. */
async function reportClock(mirror) {
  const clock = deviceClock();
  if (!isOwnMirror(mirror) || !mirror.clock || mirror.clock.timezone === clock.timezone) return;
  try {
    const { timezone } = await clientOf(mirror).reportClock({ timezone: clock.timezone });
    const zones = [timezone, clock.timezone, ...mirror.zones.slice(2)];
    await writeMirror({ clock: { ...mirror.clock, timezone: clock.timezone }, zones });
  } catch {
    // The next page reports it.
  }
}

/**
 * Whether a new version replaces the previous one while pages are open: in the notification centre's own page, and in
 * an app that asks for it. An app with its own service worker decides itself.
 */
const takesOver = self.bellhop?.takeOver || new URLSearchParams(self.location.search).has("take-over");

self.addEventListener("install", () => takesOver && self.skipWaiting());
self.addEventListener("activate", (event) => takesOver && event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(receive(event.data)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data ?? {}));
});
