// Types of bellhop-client.js. `docs/client-javascript.md` explains the calls, `docs/openapi.yaml` their content.

export type Permission = "granted" | "denied" | "default" | "undetermined" | "provisional";
export type Priority = "high" | "normal" | "low";

export interface Item {
  id: string;
  type: string;
  title: string;
  body: string;
  read: boolean;
  seen: boolean;
  archived: boolean;
  snoozedUntil: string | null;
  createdAt: string;
  expiresAt?: string | null;
  priority: Priority;
  link: { web: string | null; mobile: string | null } | null;
  icon: string | null;
  color: string | null;
  background: string | null;
  imageUrl?: string | null;
  targetId?: string | null;
  venueId: string | null;
  metadata?: Record<string, unknown> | null;
  data: Record<string, unknown>;
  /** The buttons of the catalogue; absent if there are none. */
  actions?: Action[];
}

export interface Action {
  label: string;
  link: { web: string; mobile: string; scheme?: string };
}

export interface Page {
  data: Item[];
  pinned: Item[];
  unreadCount: number;
  /** The cursor of the next page; null at the end. */
  next: string | null;
  /** The position of the list in the stream. */
  lastEventId: string | null;
}

export interface ListQuery {
  before?: string | null;
  /** From 1 to 100; the client's default is 30. */
  limit?: number;
  unread?: true;
  state?: "active" | "archived" | "snoozed";
  types?: string;
  /** A tag of the catalogue. */
  tag?: string;
}

export type Mark = "seen" | "read" | "unread" | "archived" | "unarchived" | "snoozed";

export interface Settings {
  pushEnabled: boolean;
  emailEnabled: boolean;
  locale: string | null;
  timezone: string | null;
  email: string | null;
}

export interface Preferences {
  enabled: boolean;
  eventToggles: Record<string, boolean>;
  quietHours: { enabled: boolean; startHour: number; endHour: number };
  /** Choices for e-mail that may differ from `eventToggles`; absent if there are none. */
  emailToggles?: Record<string, boolean>;
  /** Pushes are deferred until this instant; absent if notifications are not paused. */
  pausedUntil?: string;
}

export type PreferenceChange = {
  enabled?: boolean;
  eventToggles?: Record<string, boolean>;
  quietHours?: Partial<Preferences["quietHours"]>;
  /** Null in place of a choice removes it. */
  emailToggles?: Record<string, boolean | null> | null;
  /** At most 30 days ahead; null ends the pause. */
  pausedUntil?: string | null;
};

export interface Catalog {
  language: string;
  timezone: string;
  schemes: string[];
  readOnView: boolean;
  ways?: ("app" | "push" | "email" | "webpush")[];
  tags: { tag: string; label: string | null }[];
  types: CatalogType[];
  preferences: {
    master: { label: string | null; default: boolean };
    quietHours: { label: string | null; helper: string | null; enabled: boolean; startHour: number; endHour: number };
  };
}

export interface CatalogType {
  type: string;
  label: string | null;
  priority: Priority;
  icon: string | null;
  color: string | null;
  background: string | null;
  mandatory: boolean;
  whenMuted?: "record" | "drop";
  tags: string[];
  defaults: { push: boolean; email: boolean };
  quietHours: Record<"ios" | "android" | "web", "defer" | "drop" | "bypass">;
}

export interface Device {
  token: string;
  platform: "ios" | "android" | "web";
  provider?: "apns" | "fcm" | "expo" | "webpush";
  permission?: Permission;
  environment?: "production" | "sandbox";
  subscription?: unknown;
  /** The previous token of this device. */
  replaces?: string;
}

export interface Follow {
  topic: string;
  muted: boolean;
  role: string | null;
}

export interface NewReminder {
  localTime: string;
  days?: string[];
  /** A date (`2026-12-01`) in place of days. */
  on?: string;
  timezone?: string;
  eventType?: string;
  title: string;
  body: string;
}

export interface Reminder extends NewReminder {
  id: string;
  nextFireAt: string | null;
}

export interface Clock {
  timezone?: string;
  locale?: string;
}

export interface LiveHandler {
  event(type: "notification" | "read" | "state" | "badge" | "resync" | "settings", data: any): void;
  /** Updates may be missing: load the first page again. */
  catchUp?(): void | Promise<void>;
  connected?(): void;
  failed?(error: CallError): void;
  /** Called about once per minute in the background. */
  resting?(): void | Promise<void>;
  /** The `lastEventId` of the loaded list. */
  since?(): string | null;
}

/** Reports whether the app is in the background; browsers need none. */
export interface AppVisibility {
  isHidden(): boolean;
  watch(changed: (isOffline: boolean) => void): () => void;
}

export interface LiveConnection {
  stop(): void;
}

export interface ClientOptions {
  /** The address in front of `/api/…`. */
  base: string;
  /** The token, or a function that returns it. */
  token: string | null | (() => string | null | Promise<string | null>);
  /** Returns a newer token after a 401, or null if no user is signed in. */
  renew?(refused: string): string | null | Promise<string | null>;
}

export class CallError extends Error {
  /** The HTTP status; 0 if there was no answer. */
  status: number;
  code?: string;
  field?: string;
  /** In seconds. */
  retryAfter?: number;
}

export class BellhopClient {
  constructor(options: ClientOptions);
  list(query?: ListQuery): Promise<Page>;
  unreadCount(): Promise<{ unreadCount: number }>;
  mark(ids: string[], state?: Mark, time?: { until?: string; localTime?: string }): Promise<{ updated: number }>;
  markAll(state?: Mark): Promise<{ updated: number }>;
  catalog(): Promise<Catalog>;
  settings(): Promise<Settings>;
  changeSettings(members: Partial<Settings>): Promise<Settings>;
  reportClock(clock?: Clock): Promise<Settings>;
  preferences(): Promise<Preferences>;
  changePreferences(members: PreferenceChange): Promise<Preferences>;
  replacePreferences(document: object, options?: { onlyNew?: boolean }): Promise<Preferences>;
  follows(): Promise<Follow[]>;
  follow(topic: string, members?: { muted?: boolean }): Promise<unknown>;
  unfollow(topic: string): Promise<null>;
  reminders(): Promise<Reminder[]>;
  addReminder(reminder: NewReminder): Promise<Reminder>;
  setReminder(id: string, reminder: NewReminder): Promise<Reminder>;
  changeReminder(id: string, members: Partial<NewReminder>): Promise<Reminder>;
  removeReminder(id: string): Promise<null>;
  registerDevice(device: Device): Promise<unknown>;
  changePermission(token: string, permission: Permission): Promise<unknown>;
  removeDevice(token: string): Promise<null>;
  webPushKey(): Promise<{ publicKey: string }>;
  live(handler: LiveHandler, options?: { app?: AppVisibility }): LiveConnection;
}

/** Leaves the data with which the service worker decides; `lang` is the language of its notifications. */
export function shareWithWorker(client: BellhopClient, options?: { lang?: string }): Promise<void>;
/** Deletes the service worker's data, for a log-out. */
export function forgetWorkerData(): Promise<void>;
/** Returns the device of a browser's push subscription, for `registerDevice`. */
export function browserDevice(subscription: any, previous?: string | null, permission?: Permission): Device;

/** The device's time zone and language. */
export function deviceClock(): Clock;

export type PermissionName = "NotDetermined" | "Requesting" | "Granted" | "Denied" | "Active" | "Disabled" | "SettingsRedirect";

export class PermissionState {
  constructor(state?: PermissionName);
  static atLaunch(permission: Permission): PermissionState;
  readonly state: PermissionName;
  readonly permission: Permission;
  readonly receivesPushes: boolean;
  apply(event: string): boolean;
}

export class SubscriptionState {
  constructor(state?: string);
  readonly state: string;
  readonly role: "owner" | "observer" | null;
  apply(event: string): boolean;
}
