// This browser as one of the user's devices.

/** Returns an address from which Trusted Types permit the registration of a service worker. */
function trustedScript(address) {
  if (!globalThis.trustedTypes) return address;
  trustedScript.policy ??= trustedTypes.createPolicy("bellhop-inbox", { createScriptURL: (url) => url });
  return trustedScript.policy.createScriptURL(address);
}

class PushDevice {
  /** `user` is the signed-in user, as named by `userOf`. */
  constructor(client, script, user) {
    this.client = client;
    this.script = script;
    this.user = user;
  }

  static get isSupported() {
    return isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  }

  /** Whether the browser was registered by the signed-in user. */
  async isOwn() {
    const { owner } = await readMirror();
    return isOwnMirror({ user: this.user, owner });
  }

  async registration() {
    return navigator.serviceWorker.getRegistration("/");
  }

  /** Returns Bellhop's subscription; the site's own service worker may have another one, which stays. */
  async subscription() {
    const one = await (await this.registration())?.pushManager.getSubscription();
    const { endpoint, publicKey, owner } = await readMirror();
    const hasKey = () => String(keyBytes(publicKey)) === String(new Uint8Array(one.options?.applicationServerKey));
    return one && (one.endpoint === endpoint || (owner && (!publicKey || hasKey()))) ? one : null;
  }

  /**
   * Ends the subscription even if the server is unreachable; at its next push, the server learns that the address is
   * gone.
   */
  async turnOff() {
    const subscription = await this.subscription();
    if (!subscription) return;
    try {
      await this.client.removeDevice(subscription.endpoint);
    } finally {
      await this.drop(subscription);
    }
  }

  /** Closes the notifications that Bellhop's service worker has shown, if `isOver` accepts their data. */
  async sweep(isOver) {
    if (!PushDevice.isSupported || Notification.permission !== "granted") return;
    const shown = (await (await this.registration())?.getNotifications?.()) ?? [];
    for (const one of shown) if (one.data?.user && isOver(one.data)) one.close();
  }

  async drop(subscription) {
    await this.sweep(() => true);
    await subscription?.unsubscribe();
    await writeMirror({ endpoint: null, owner: null });
  }

  /**
   * Reports at every start that the device is alive, with its current address and permission.
   *
   * A subscription of another user is ended and not adopted. Otherwise a sign-in link could make a browser show
   * notifications of the link's sender.
   */
  async sayAlive() {
    if (!PushDevice.isSupported) return;
    const { endpoint, publicKey } = await readMirror();
    const subscription = await this.subscription();
    if (!subscription && !endpoint) return;
    if (!(await this.isOwn())) return this.drop(subscription);
    if (subscription) return this.tell(subscription, publicKey);
    const permission = Notification.permission === "default" ? "default" : "denied";
    if (Notification.permission === "granted") await this.client.removeDevice(endpoint);
    else await this.client.changePermission(endpoint, permission);
    await writeMirror({ endpoint: null });
  }

  async tell(subscription, publicKey) {
    const { endpoint } = await readMirror();
    await this.client.registerDevice(registrationOf(subscription, endpoint, Notification.permission));
    await writeMirror({ endpoint: subscription.endpoint, publicKey, owner: this.user });
  }
}
