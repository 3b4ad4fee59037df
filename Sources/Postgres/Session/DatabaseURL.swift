import CPostgreSQL

/// The database's address and credentials: a libpq URL (`postgres://…`) or a string of `keyword=value` pairs.
///
/// All settings of libpq are accepted (several hosts, `target_session_attrs`, `sslmode` and the certificates). Its
/// description and its reflection contain no password.
package struct DatabaseURL: Sendable, Hashable {
    /// The settings as parsed by libpq, in libpq's order.
    let settings: [Setting]

    struct Setting: Sendable, Hashable {
        let keyword: String
        let value: String
        let isSecret: Bool
    }

    /// Parses the text with libpq.
    ///
    /// The text never appears in the error, because it may contain a password.
    package init(_ text: String) throws(PostgresError) {
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw PostgresError(
                .invalidParameter,
                "The database URL is empty or holds a NUL. Write postgres://user@host/name."
            )
        }
        var fault: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &fault) else {
            let reason = fault.map { String(cString: $0) } ?? "out of memory"
            PQfreemem(fault)
            throw PostgresError(
                .invalidParameter,
                "The database URL cannot be read: \(ServerReport.withholdingQuotes(ServerReport.flattened(reason))). "
                    + "Write postgres://user@host/name."
            )
        }
        defer { PQconninfoFree(options) }
        settings = Self.settings(options)
    }

    private static func settings(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [Setting] {
        var settings: [Setting] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                // The manual: "*" in dispchar marks "Password field - hide value". The pass phrase of sslkey is marked,
                // too.
                let isSecret = option.pointee.dispchar.map { String(cString: $0) } == "*"
                settings.append(
                    Setting(keyword: String(cString: keyword), value: String(cString: value), isSecret: isSecret)
                )
            }
            option += 1
        }
        return settings
    }

    /// Whether the URL leads to another machine whose identity is not verified.
    ///
    /// By default, libpq uses TLS if the server offers it, with any certificate, and plain text otherwise.
    package var mayBeOverheard: Bool {
        guard self["sslmode"] != "verify-full" else { return false }
        let hosts = (self["host"] ?? self["hostaddr"] ?? "").split(separator: ",")
        return hosts.contains { host in
            let isHere = host == "localhost" || host == "::1" || host.hasPrefix("127.") || host.hasPrefix("/")
            return !isHere && !host.hasPrefix("@")
        }
    }

    /// The value of one of libpq's keywords (`host`, `port`, `dbname`, …), if given.
    package subscript(keyword: String) -> String? {
        settings.first { $0.keyword == keyword }?.value
    }
}

extension DatabaseURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        settings.map { "\($0.keyword)=\($0.isSecret ? "(hidden)" : $0.value)" }.joined(separator: " ")
    }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: ["settings": description]) }
}
