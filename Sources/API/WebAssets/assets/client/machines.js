// The state machines of a client: the permission for notifications, and the subscription to a subject. `BellhopRules`
// has the same for Swift, and one table of cases tests both.

class StateMachine {
  constructor(transitions, state) {
    if (!Object.hasOwn(transitions, state)) throw new RangeError(`unknown state: ${state}`);
    this.transitions = transitions;
    this.state = state;
  }

  /** Changes to the next state and returns whether there was one; the state is unchanged otherwise. */
  apply(event) {
    const next = Object.hasOwn(this.transitions[this.state], event) ? this.transitions[this.state][event] : null;
    this.state = next ?? this.state;
    return next !== null;
  }
}

const PERMISSION_TRANSITIONS = {
  NotDetermined: { requested: "Requesting" },
  Requesting: { allowed: "Granted", refused: "Denied" },
  Granted: { tokenRegistered: "Active" },
  Denied: { settingsPromptShown: "SettingsRedirect" },
  Active: { turnedOff: "Disabled" },
  Disabled: { turnedOn: "Active" },
  SettingsRedirect: { enabledInSettings: "Granted", keptDisabled: "Denied" },
};

class PermissionState extends StateMachine {
  constructor(state = "NotDetermined") {
    super(PERMISSION_TRANSITIONS, state);
  }

  /** Returns the state at a later launch, because the user may have changed the system's settings meanwhile. */
  static atLaunch(permission) {
    const isGranted = permission === "granted" || permission === "provisional";
    return new PermissionState(isGranted ? "Granted" : permission === "denied" ? "Denied" : "NotDetermined");
  }

  /** The value of `permission` for the server. */
  get permission() {
    if (["Granted", "Active", "Disabled"].includes(this.state)) return "granted";
    return ["Denied", "SettingsRedirect"].includes(this.state) ? "denied" : "undetermined";
  }

  /** Whether pushes can arrive and are wanted. */
  get receivesPushes() {
    return this.state === "Active";
  }
}

const SUBSCRIPTION_TRANSITIONS = {
  NoSafe: { firstAdded: "FirstSafe", anotherAdded: "AdditionalSafe" },
  FirstSafe: { promptShown: "Prompted" },
  AdditionalSafe: { proceeded: "CheckNotifSetting" },
  Prompted: { accepted: "PromptAccepted", dismissed: "PromptDismissed" },
  PromptAccepted: { proceeded: "HasDelegateKey" },
  PromptDismissed: { proceeded: "Unsubscribed" },
  CheckNotifSetting: { settingIsOff: "Unsubscribed", settingIsOn: "HasDelegateKey" },
  HasDelegateKey: { keyFound: "SubscribedOwner", keyMissing: "SubscribedObserver" },
  Unsubscribed: { turnedOn: "SettingsToggledOn" },
  SubscribedOwner: { turnedOff: "NotificationsDisabled" },
  SubscribedObserver: { keyAdded: "SubscribedOwner", turnedOff: "NotificationsDisabled" },
  NotificationsDisabled: { turnedOn: "SettingsToggledOn" },
  SettingsToggledOn: { proceeded: "HasDelegateKey" },
  GlobalNotifications: { globallyTurnedOn: "GlobalNotifOn", globallyTurnedOff: "GlobalNotifOff" },
  GlobalNotifOn: { proceeded: "IterateSafes" },
  IterateSafes: { keyFound: "HasDelegateKey", keyMissing: "SubscribedObserver" },
  GlobalNotifOff: { proceeded: "AllUnsubscribed" },
  AllUnsubscribed: { proceeded: "NotificationsDisabled" },
};

class SubscriptionState extends StateMachine {
  /** Without a state, the machine of a subject; `GlobalNotifications` begins the one of the switch for all subjects. */
  constructor(state = "NoSafe") {
    super(SUBSCRIPTION_TRANSITIONS, state);
  }

  /** The value of `role` in `follow.added`; null if the state has no role. */
  get role() {
    return { SubscribedOwner: "owner", SubscribedObserver: "observer" }[this.state] ?? null;
  }
}
