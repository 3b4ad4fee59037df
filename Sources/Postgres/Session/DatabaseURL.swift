import CPostgreSQL

/// Where the database is and how to get in: a libpq URL (`postgres://…`) or a string of `keyword=value` pairs.
///
/// Everything libpq knows passes through (several hosts, `target_session_attrs`, `sslmode` and the certificates).
/// Printing it, also by reflection, shows no password.
package struct DatabaseURL: Sendable, Hashable {
    /// The settings as libpq parsed them, in its order.
    let settings: [Setting]

    struct Setting: Sendable, Hashable {
        let keyword: String
        let value: String
        let isSecret: Bool
    }

    /// Lets libpq parse the text.
    ///
    /// The text itself never appears in the error, since it may hold a password.
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
                // The manual: "*" in dispchar marks "Password field - hide value"; sslkey's pass phrase is one too.
                let isSecret = option.pointee.dispchar.map { String(cString: $0) } == "*"
                settings.append(
                    Setting(keyword: String(cString: keyword), value: String(cString: value), isSecret: isSecret)
                )
            }
            option += 1
        }
        return settings
    }

    /// Whether it leads to another machine without proof of which: libpq by itself takes TLS where it is offered, from
    /// anybody, and plain text where it is not.
    package var mayBeOverheard: Bool {
        guard self["sslmode"] != "verify-full" else { return false }
        let hosts = (self["host"] ?? self["hostaddr"] ?? "").split(separator: ",")
        return hosts.contains { host in
            let isHere = host == "localhost" || host == "::1" || host.hasPrefix("127.") || host.hasPrefix("/")
            return !isHere && !host.hasPrefix("@")
        }
    }

    /// What was given for one of libpq's keywords (`host`, `port`, `dbname`, …).
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
