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
  constructor(client, script) {
    this.client = client;
    this.script = script;
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
    return Notification.permission === "granted" && (await this.subscription()) ? "on" : "off";
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

  async turnOff() {
    const subscription = await this.subscription();
    if (!subscription) return;
    await this.client.call("DELETE", "/api/push-token", { token: subscription.endpoint });
    await subscription.unsubscribe();
    await writeMirror({ endpoint: null });
  }

  /** At every start: says that the device is alive, under its present address and permission. */
  async sayAlive() {
    if (!PushDevice.isSupported) return;
    const { endpoint, publicKey } = await readMirror();
    const subscription = await this.subscription();
    if (subscription) await this.tell(subscription, publicKey);
    else if (endpoint) {
      const permission = Notification.permission === "default" ? "default" : "denied";
      if (Notification.permission === "granted") await this.client.call("DELETE", "/api/push-token", { token: endpoint });
      else await this.client.call("PATCH", "/api/push-token", { token: endpoint, permission });
      await writeMirror({ endpoint: null });
    }
  }

  async tell(subscription, publicKey) {
    const { endpoint } = await readMirror();
    await this.client.call("POST", "/api/push-token", registrationOf(subscription, endpoint, Notification.permission));
    await writeMirror({ endpoint: subscription.endpoint, publicKey });
  }
}
