import Foundation
package import Testing

/// A file in `Tests/Golden` that holds an answer byte for byte, so that no change of the code changes it unnoticed.
///
/// With `BELLHOP_GOLDEN=write` a test writes its files instead of comparing them. Values that differ from run to run
/// must be masked.
package struct Golden {
    private let path: String

    package init(_ path: String) {
        self.path = "Tests/Golden/\(path)"
    }

    package func check(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let text = text.hasSuffix("\n") ? text : text + "\n"
        guard ProcessInfo.processInfo.environment["BELLHOP_GOLDEN"] != "write" else {
            let file = Checkout.file(path)
            let folder = file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return try Data(text.utf8).write(to: file)
        }
        guard let expected = try? Checkout.text(path) else {
            Issue.record("\(path) is missing: run the test with BELLHOP_GOLDEN=write", sourceLocation: sourceLocation)
            return
        }
        guard text != expected else { return }
        let (old, new) = (Self.lines(expected), Self.lines(text))
        let place = zip(old, new).prefix { $0 == $1 }.count
        let (was, now) = (place < old.count ? old[place] : "(end)", place < new.count ? new[place] : "(end)")
        Issue.record(
            "\(path) line \(place + 1) was\n  \(was)\nand is\n  \(now)",
            sourceLocation: sourceLocation
        )
    }

    /// Returns the text with names in place of values that differ from run to run: these values, moments, random ids,
    /// and figures that depend on the speed of the run.
    package static func masked(_ text: String, _ values: [String: String] = [:]) -> String {
        var text = text
        for (value, name) in values { text = text.replacing(value, with: "<\(name)>") }
        text = text.replacing(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC| [+-]\d\d:\d\d)?/, with: "<time>")
        text = text.replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "<uuid>")
        // The date of the user's time, too, if it is another one than in UTC.
        text = text.replacing(/<time> \((\d\d-\d\d )?\d\d:\d\d\)/, with: "<time>")
        text = text.replacing(/paused it at [-0-9]+ [:0-9]+ UTC/, with: "paused it at <time>")
        text = text.replacing(/("(?:lastEventId|next|lastDay)"):("[^"]*"|\[[^\]]*\])/) { "\($0.output.1):<masked>" }
        return text.replacing(/("[A-Za-z]*(?:Seconds|PerSecond|secondsLeft|Millis)"):-?[0-9.]+/) {
            "\($0.output.1):<n>"
        }
    }

    private static func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }
}
