import HTTPServer

/// The routes for signed-in users.
///
/// `docs/openapi.yaml` describes them for clients.
enum RouteTable {
    struct Route: Sendable {
        let method: String
        let path: String
        /// The longest body, or 0 if the route takes none.
        let bodyBytes: Int
        let answer: @Sendable (APIRequest) async throws -> HTTPResponse

        init(
            _ method: String,
            _ path: String,
            bodyBytes: Int? = nil,
            _ answer: @escaping @Sendable (APIRequest) async throws -> HTTPResponse
        ) {
            self.method = method
            self.path = path
            self.bodyBytes = bodyBytes ?? (["PATCH", "POST", "PUT"].contains(method) ? RouteTable.longestBody : 0)
            self.answer = answer
        }
    }

    /// The longest body that a route accepts.
    ///
    /// A browser's subscription is the largest that a client needs.
    static let longestBody = 64 * 1_024

    static let signedIn: [Route] = inbox + settings + devices + follows + reminders + catalog

    private static let inbox = [
        Route("GET", "/api/notifications", InboxRoutes.list),
        Route("PATCH", "/api/notifications", NotificationUpdateRoute.mark),
        Route("GET", "/api/notifications/unread-count", InboxRoutes.unreadCount),
        Route("GET", "/api/notifications/stream", StreamRoute.open),
    ]

    private static let settings = [
        Route("GET", "/api/settings", SettingsRoutes.get),
        Route("PATCH", "/api/settings", SettingsRoutes.change),
        Route("GET", "/api/preferences", PreferenceRoutes.get),
        Route("PUT", "/api/preferences", PreferenceRoutes.put),
        Route("PATCH", "/api/preferences", PreferenceRoutes.change),
    ]

    private static let devices = [
        Route("POST", "/api/push-token", DeviceRoutes.register),
        Route("PATCH", "/api/push-token", DeviceRoutes.change),
        Route("DELETE", "/api/push-token", bodyBytes: RouteTable.longestBody, DeviceRoutes.revoke),
    ]

    private static let follows = [
        Route("GET", "/api/follows", FollowRoutes.list),
        Route("PUT", "/api/follows/{topic}", FollowRoutes.put),
        Route("DELETE", "/api/follows/{topic}", FollowRoutes.remove),
    ]

    private static let reminders = [
        Route("GET", "/api/reminders", ReminderRoutes.list),
        Route("POST", "/api/reminders", ReminderRoutes.create),
        Route("PUT", "/api/reminders/{id}", ReminderRoutes.put),
        Route("PATCH", "/api/reminders/{id}", ReminderRoutes.change),
        Route("DELETE", "/api/reminders/{id}", ReminderRoutes.remove),
    ]

    private static let catalog = [
        Route("GET", "/api/catalog", CatalogRoutes.catalog),
        Route("GET", "/api/web-push-key", CatalogRoutes.webPushKey),
    ]
}
