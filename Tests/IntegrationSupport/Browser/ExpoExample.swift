import TestSupport

/// The Expo example of docs/phones.md, with stand-ins for the modules of a phone.
package enum ExpoExample {
    /// Stand-ins that record the calls; `system` is the state of the phone.
    private static let phone = """
        const system = { token: "ExponentPushToken[first]", status: "undetermined", asked: 0, channels: [], routes: [] };
        const listeners = {};
        const kept = new Map();
        const Notifications = {
          AndroidImportance: { DEFAULT: 3, HIGH: 4, LOW: 2 },
          setNotificationHandler: (handler) => { listeners.handler = handler; },
          setNotificationChannelAsync: async (id, { name, importance }) => system.channels.push([id, importance]),
          getPermissionsAsync: async () => ({ status: system.status }),
          requestPermissionsAsync: async () => { system.asked++; system.status = "granted"; return system; },
          getExpoPushTokenAsync: async () => ({ data: system.token }),
          addPushTokenListener: (listener) => { listeners.token = listener; },
          addNotificationResponseReceivedListener: (listener) => { listeners.tap = listener; },
          getLastNotificationResponseAsync: async () => null,
          dismissAllNotificationsAsync: async () => { system.isDismissed = true; },
          setBadgeCountAsync: async (count) => { system.badge = count; },
        };
        const AsyncStorage = {
          getItem: async (key) => kept.get(key) ?? null,
          setItem: async (key, value) => kept.set(key, value),
          removeItem: async (key) => kept.delete(key),
        };
        const router = { push: (route) => system.routes.push(route) };
        const Platform = { OS: "android" };
        """

    /// Returns a script with the page's code, which calls the API at an address as a signed-in user.
    package static func script(at origin: String, token: String) throws -> String {
        let page = try Checkout.text("docs/phones.md")
        guard let section = page.part(after: "\n## Expo\n"), let code = section.part(after: "```js\n"),
            let end = code.firstRange(of: "```\n")
        else { throw BrowserFailure("docs/phones.md has no example for Expo") }
        let example = code[..<end.lowerBound].split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("import ") }
            .map { $0.hasPrefix("export ") ? $0.dropFirst("export ".count) : $0 }
            .joined(separator: "\n")
            .replacing("https://inbox.example.com", with: origin)
        return "\(phone)\nconst session = { token: \"\(token)\", projectId: \"p\" };\n\(example)"
    }
}

extension String {
    /// Returns the part after the first occurrence of a text.
    fileprivate func part(after text: String) -> String? {
        firstRange(of: text).map { String(self[$0.upperBound...]) }
    }
}
