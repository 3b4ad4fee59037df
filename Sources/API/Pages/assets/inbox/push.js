// This browser as one of the user's devices.

/** The bytes of a key in base64url, as `subscribe` wants them. */
function keyBytes(text) {
  const padded = text.replace(/-/g, "+").replace(/_/g, "/") + "=".repeat((4 - (text.length % 4)) % 4);
  return Uint8Array.from(atob(padded), (character) => character.charCodeAt(0));
}

/** An address that Trusted Types let a service worker be registered from. */
function trustedScript(address) {
  if (!globalThis.trustedTypes) return address;
  trustedScript.policy ??= trustedTypes.createPolicy("bellhop-inbox", { createScriptURL: (url) => url });
  return trustedScript.policy.createScriptURL(address);
}

class PushDevice {
  /** `user` is who is signed in, as `userOf` names them. */
  constructor(client, script, user) {
    this.client = client;
    this.script = script;
    this.user = user;
  }

  static get isSupported() {
    return isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  }

  /** On an iPhone only a page on the home screen may notify. */
  static get needsInstalling() {
    return !("PushManager" in window) && navigator.standalone === false;
  }

  /** `unsupported`, `install`, `denied`, `off` or `on`. */
  async state() {
    if (PushDevice.needsInstalling) return "install";
    if (!PushDevice.isSupported) return "unsupported";
    if (Notification.permission === "denied") return "denied";
    return Notification.permission === "granted" && (await this.subscription()) && (await this.isOwn()) ? "on" : "off";
  }

  /** Whether the browser was registered by whoever is signed in now. */
  async isOwn() {
    const { owner } = await readMirror();
    return isOwnMirror({ user: this.user, owner });
  }

  async registration() {
    return navigator.serviceWorker.getRegistration("/");
  }

  async subscription() {
    return (await this.registration())?.pushManager.getSubscription() ?? null;
  }

  /** Asks the system, subscribes, and tells the server; says whether the user allowed it. */
  async turnOn() {
    const permission = await Notification.requestPermission();
    if (permission !== "granted") return false;
    const { publicKey } = await this.client.call("GET", "/api/web-push-key");
    await navigator.serviceWorker.register(trustedScript(this.script), { scope: "/", updateViaCache: "none" });
    const { pushManager } = await navigator.serviceWorker.ready;
    if (!(await this.isOwn())) await this.drop(await pushManager.getSubscription());
    const options = { userVisibleOnly: true, applicationServerKey: keyBytes(publicKey) };
    let subscription;
    try {
      subscription = await pushManager.subscribe(options);
    } catch (error) {
      // One that was made with an older key is in the way.
      const old = await pushManager.getSubscription();
      if (!old) throw error;
      await old.unsubscribe();
      subscription = await pushManager.subscribe(options);
    }
    await this.tell(subscription, publicKey);
    return true;
  }

  /** Ends it here even where the server cannot be told: at its next push it hears that the address is gone. */
  async turnOff() {
    const subscription = await this.subscription();
    if (!subscription) return;
    try {
      await this.client.call("DELETE", "/api/push-token", { token: subscription.endpoint });
    } finally {
      await this.drop(subscription);
    }
  }

  async drop(subscription) {
    await subscription?.unsubscribe();
    await writeMirror({ endpoint: null, owner: null });
  }

  /**
   * At every start: says that the device is alive, under its present address and permission.
   *
   * What another user has turned on is ended, and not taken over: a link that signs in shall not make somebody's browser
   * ring for whoever sent it.
   */
  async sayAlive() {
    if (!PushDevice.isSupported) return;
    const { endpoint, publicKey } = await readMirror();
    const subscription = await this.subscription();
    if (!subscription && !endpoint) return;
    if (!(await this.isOwn())) return this.drop(subscription);
    if (subscription) return this.tell(subscription, publicKey);
    const permission = Notification.permission === "default" ? "default" : "denied";
    if (Notification.permission === "granted") await this.client.call("DELETE", "/api/push-token", { token: endpoint });
    else await this.client.call("PATCH", "/api/push-token", { token: endpoint, permission });
    await writeMirror({ endpoint: null });
  }

  async tell(subscription, publicKey) {
    const { endpoint } = await readMirror();
    await this.client.call("POST", "/api/push-token", registrationOf(subscription, endpoint, Notification.permission));
    await writeMirror({ endpoint: subscription.endpoint, publicKey, owner: this.user });
  }
}
