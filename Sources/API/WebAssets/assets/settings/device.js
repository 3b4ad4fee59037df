// The switch of push notifications in this browser. `device` is the component's `PushDevice`.

/** Whether the page must be installed first: on an iPhone, only pages on the home screen may notify. */
function needsInstalling() {
  return !("PushManager" in window) && navigator.standalone === false;
}

/** Returns `unsupported`, `install`, `denied`, `off` or `on`. */
async function stateOf(device) {
  if (needsInstalling()) return "install";
  if (!device.constructor.isSupported) return "unsupported";
  if (Notification.permission === "denied") return "denied";
  return Notification.permission === "granted" && (await device.subscription()) && (await device.isOwn()) ? "on" : "off";
}

/** Requests permission, subscribes, and registers at the server; returns whether the user gave permission. */
async function turnOn(device) {
  const permission = await Notification.requestPermission();
  if (permission !== "granted") return false;
  const { publicKey } = await device.client.webPushKey();
  await navigator.serviceWorker.register(trustedScript(device.script), { scope: "/", updateViaCache: "none" });
  const { pushManager } = await navigator.serviceWorker.ready;
  if (!(await device.isOwn())) await device.drop(await pushManager.getSubscription());
  const options = { userVisibleOnly: true, applicationServerKey: keyBytes(publicKey) };
  let subscription;
  try {
    subscription = await pushManager.subscribe(options);
  } catch (error) {
    // A subscription with an older key must be removed first.
    const old = await pushManager.getSubscription();
    if (!old) throw error;
    await old.unsubscribe();
    subscription = await pushManager.subscribe(options);
  }
  await device.tell(subscription, publicKey);
  return true;
}
