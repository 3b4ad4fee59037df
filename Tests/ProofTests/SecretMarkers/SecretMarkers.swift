import Foundation
import Testing

/// Secrets and personal text that are put into separate inputs and must not appear elsewhere.
struct SecretMarkers {
    private var planted: [(what: String, text: String)] = []

    /// Marks all markers of this test, so that other tests cannot have the same.
    let mark = String(format: "%08x", UInt32.random(in: 0 ... .max))

    /// Returns a text that names its input, so that a finding can be traced.
    mutating func make(_ what: String) -> String {
        plant(what, "kanari-\(what)-\(mark)")
    }

    /// Makes a marker of a text.
    @discardableResult
    mutating func plant(_ what: String, _ text: String) -> String {
        planted.append((what, text))
        return text
    }

    /// Makes markers of a key's lines, because no output would contain the whole file.
    mutating func plant(_ what: String, pem: String) {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") && $0.count > 20 }
        for line in lines { plant(what, String(line)) }
    }

    /// The kinds of personal data, as opposed to keys; an operator who handles a user's question may see them.
    static let personal = ["title", "body", "data", "metadata"]

    /// The kind for text in place of a name, such as the platform.
    ///
    /// Only the dead-letter commands show it, for a message with a fault.
    static let misplaced = "misplaced"

    /// Returns the kinds of markers in a text, except some.
    func found(in text: String, except kinds: [String] = []) -> [String] {
        let found = planted.filter { !kinds.contains($0.what) && text.contains($0.text) }.map(\.what)
        // Every signed token begins like this, and so does every access token of the emulator.
        let signed = ["eyJhbGci", "eyJ0eXAi", "eyJraWQi", "ya29.sandbox"].filter { text.contains($0) }
        return Set(found + signed).sorted()
    }

    /// Fails the test if a text contains a marker, and shows the lines around it.
    func expectNone(
        in text: String,
        of what: String,
        except kinds: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let found = found(in: text, except: kinds)
        let lines = text.split(separator: "\n").filter { !self.found(in: String($0), except: kinds).isEmpty }
        #expect(
            found.isEmpty,
            "\(what) has \(found):\n\(lines.prefix(3).joined(separator: "\n"))",
            sourceLocation: sourceLocation
        )
    }

    /// Returns the arguments of every process of this program on this host; other programs of the tests do get tokens.
    static func processArguments() -> String {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let lines = entries.filter { Int($0) != nil }.compactMap { entry in
            FileManager.default.contents(atPath: "/proc/\(entry)/cmdline").map { String(decoding: $0, as: UTF8.self) }
        }
        return lines.filter { $0.prefix { $0 != "\0" }.hasSuffix("/bellhop") }.joined(separator: "\n")
    }
}
