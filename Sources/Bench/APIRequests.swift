import API
import BellhopRules
import Cryptography
import ServiceRuntime

/// The calls of workload W5: users and notifications, as bytes that are ready to be sent.
struct APIRequests: Sendable {
    /// The routes that are measured separately.
    enum Route: String, CaseIterable, Sendable {
        /// `GET /api/notifications`, the first twenty.
        case list
        /// `GET /api/notifications/unread-count`.
        case unread
        /// `PATCH /api/notifications` of one that is unread.
        case read

        var words: String {
            switch self {
            case .list: "GET /api/notifications"
            case .unread: "GET …/unread-count"
            case .read: "PATCH /api/notifications"
            }
        }
    }

    private let authorizations: [String]
    /// The key set that accepts the tokens.
    let keySet: [UInt8]

    /// Signs in all users for a day.
    init(_ workload: Workload) throws {
        let issuer = try TokenIssuer(key: .generateP256())
        keySet = issuer.keySet
        let now = SystemTime().now()
        let terms = TokenIssuer.Terms(
            audience: "bellhop",
            issuedAt: Timestamp(clamping: now.microseconds),
            expiresAt: Timestamp(clamping: (now + .seconds(86_400)).microseconds)
        )
        guard let app = AppID(validating: Workload.appName) else {
            authorizations = []
            return
        }
        authorizations = try (0..<workload.users).compactMap { number in
            guard let user = UserID(validating: Workload.name(of: number)) else { return nil }
            return "Authorization: Bearer \(try issuer.token(app: app, user: user, terms))\r\n"
        }
    }

    /// Returns the call with a number.
    ///
    /// Users follow in a fixed, scattered order. Calls that mark as read begin with the notification `first`. They
    /// repeat only after every notification of every user was marked.
    func request(_ route: Route, _ number: Int, first: Int = 1) -> [UInt8] {
        let user = number &* 7919 % authorizations.count
        let head = " HTTP/1.1\r\nHost: localhost\r\n\(authorizations[user])"
        switch route {
        case .list: return Array("GET /api/notifications?limit=20\(head)\r\n".utf8)
        case .unread: return Array("GET /api/notifications/unread-count\(head)\r\n".utf8)
        case .read:
            let id = NotificationID(bits: UInt64(first + number / authorizations.count))
            let body = #"{"notificationIds":["\#(id.text)"]}"#
            let form = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            return Array("PATCH /api/notifications\(head)\(form)\(body)".utf8)
        }
    }

    /// Returns the call that opens a stream.
    ///
    /// Users take turns.
    func stream(_ number: Int) -> [UInt8] {
        let authorization = authorizations[number % authorizations.count]
        return Array("GET /api/notifications/stream HTTP/1.1\r\nHost: localhost\r\n\(authorization)\r\n".utf8)
    }

    var users: Int { authorizations.count }
}
