import Foundation
package import ServiceRuntime

extension ConfigurationReader {
    package mutating func string(_ setting: Setting, default fallback: String? = nil) -> String? {
        read(setting, expected: "a text", default: fallback) { $0 }
    }

    /// Reads a whole number in `range`.
    package mutating func integer(_ setting: Setting, in range: ClosedRange<Int>, default fallback: Int) -> Int {
        let value = read(
            setting,
            expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            default: String(fallback)
        ) { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
        return value ?? fallback
    }

    /// Reads a span such as `500ms`, `20` or `20s`, `2m`, `1h`.
    package mutating func duration(
        _ setting: Setting,
        in range: ClosedRange<Duration>,
        default fallback: Duration
    ) -> Duration {
        let bounds = "from \(range.lowerBound.shortText) to \(range.upperBound.shortText)"
        let span = read(
            setting,
            expected: "a span \(bounds), such as \(fallback.shortText)",
            default: fallback.shortText
        ) { text in
            Duration(text: text).flatMap { range.contains($0) ? $0 : nil }
        }
        return span ?? fallback
    }

    /// Reads `host:port`, with an IPv6 address in brackets.
    package mutating func address(_ setting: Setting, default fallback: ListenAddress) -> ListenAddress {
        read(setting, expected: "host:port, such as 127.0.0.1:9464", default: "\(fallback)") { ListenAddress($0) }
            ?? fallback
    }

    /// Reads a URL of one of `schemes`, which is kept as a secret because it may contain a password.
    package mutating func url(_ setting: Setting, schemes: [String]) -> Secret? {
        let forms = schemes.map { $0 + "://…" }.joined(separator: " or ")
        return read(setting, expected: "a URL that begins with \(forms), without spaces") { text in
            let isPlain = text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
            let hasScheme = schemes.contains {
                text.lowercased().hasPrefix($0 + "://") && text.utf8.count > $0.utf8.count + 3
            }
            return isPlain && hasScheme ? Secret(text) : nil
        }
    }

    /// Reads a list with commas between its items; spaces around an item are ignored.
    ///
    /// `parse` reads one item and returns `nil` if it is invalid; `accept` checks the whole list.
    package mutating func list<Item>(
        _ setting: Setting,
        expected: String,
        default fallback: String,
        parse: (String) -> Item?,
        accept: ([Item]) -> Bool = { _ in true }
    ) -> [Item]? {
        read(setting, expected: expected, default: fallback) { text in
            let texts = text.split(separator: ",", omittingEmptySubsequences: false)
            let items = texts.compactMap { parse($0.trimmingCharacters(in: .whitespaces)) }
            return items.count == texts.count && accept(items) ? items : nil
        }
    }

    /// Reads `level` or `level,json`.
    package mutating func log(_ setting: Setting, default fallback: LogSettings) -> LogSettings {
        let levels = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
        let expected = "one of \(levels), with ,json or without"
        return read(setting, expected: expected, default: "\(fallback)") { LogSettings($0) } ?? fallback
    }

    /// The required kind of a path.
    package enum PathKind: Sendable {
        case file
        case folder
    }

    /// Reads the path of an existing, readable file or folder.
    ///
    /// A missing file is a fault only if the command reads it: others must work without it.
    package mutating func path(_ setting: Setting, of kind: PathKind) -> String? {
        guard isRead(setting) else { return string(setting) }
        let expected = kind == .file ? "the path of a readable file" : "the path of a readable folder"
        return read(setting, expected: expected) { path in
            var isFolder: ObjCBool = false
            let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            guard isThere, isFolder.boolValue == (kind == .folder) else { return nil }
            return FileManager.default.isReadableFile(atPath: path) ? path : nil
        }
    }
}
