import HTTPServer
import ServiceRuntime

/// The cookie of a session: for this origin alone, out of reach of scripts, never sent along from other sites.
struct ConsoleCookie: Sendable {
    /// Whether browsers reach the console by TLS; the name's prefix then binds it to that.
    let isSecure: Bool

    var name: String { isSecure ? "__Host-bellhop-console" : "bellhop-console" }

    /// What the browser shall keep until its window closes.
    func field(_ value: String) -> String {
        "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    /// What makes the browser forget it.
    var removal: String { field("") + "; Max-Age=0" }

    /// The one cookie of this name; two are none, since somebody else may have set the other.
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
