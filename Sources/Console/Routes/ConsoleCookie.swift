import HTTPServer
import ServiceRuntime

/// The session cookie.
///
/// It is limited to this origin, inaccessible to scripts, and not sent from other sites.
struct ConsoleCookie: Sendable {
    /// Whether browsers reach the console through TLS.
    ///
    /// The prefix of the name then binds the cookie to TLS.
    let isSecure: Bool

    var name: String { isSecure ? "__Host-bellhop-console" : "bellhop-console" }

    /// Returns the header field that sets the cookie until the browser's window closes.
    func field(_ value: String) -> String {
        "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    /// The header field that deletes the cookie.
    var removal: String { field("") + "; Max-Age=0" }

    /// Returns the value of the only cookie with this name.
    ///
    /// Two cookies are rejected, since another site may have set one.
    func value(in request: HTTPRequest) -> String? {
        let pairs = request.headers.values(of: "Cookie").flatMap { $0.split(separator: ";") }
        let values = pairs.compactMap { pair -> Substring? in
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0] == name ? parts[1] : nil
        }
        guard values.count == 1, let value = values.first, (1...128).contains(value.utf8.count) else { return nil }
        return String(value)
    }
}
