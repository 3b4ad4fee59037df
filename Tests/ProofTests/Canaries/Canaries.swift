import Foundation
import Testing

/// Secrets and personal words that are put in somewhere, each of its own, and must be seen nowhere else.
struct Canaries {
    private var planted: [(what: String, text: String)] = []

    /// Marks all of this flock; other tests cannot have it.
    let mark = String(format: "%08x", UInt32.random(in: 0 ... .max))

    /// A text that says what it is, for whoever finds it.
    mutating func make(_ what: String) -> String {
        plant(what, "kanari-\(what)-\(mark)")
    }

    /// Makes a canary of a text.
    @discardableResult
    mutating func plant(_ what: String, _ text: String) -> String {
        planted.append((what, text))
        return text
    }

    /// Makes canaries of a key's lines: the file as a whole would be printed by nobody.
    mutating func plant(_ what: String, pem: String) {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") && $0.count > 20 }
        for line in lines { plant(what, String(line)) }
    }

    /// Those that are about people and not about keys; whoever answers for them may look at them.
    static let personal = ["title", "body", "data", "metadata"]

    /// Words where a name belongs, such as the platform: the desk shows those of a message that is at fault, and nothing
    /// else does.
    static let misplaced = "misplaced"

    /// Which of them a text has, but for some kinds.
    func found(in text: String, except kinds: [String] = []) -> [String] {
        let found = planted.filter { !kinds.contains($0.what) && text.contains($0.text) }.map(\.what)
        // Every signed token begins like this, and so does every access token of the stand-in.
        let signed = ["eyJhbGci", "eyJ0eXAi", "eyJraWQi", "ya29.sandbox"].filter { text.contains($0) }
        return Set(found + signed).sorted()
    }

    /// Fails the test where a text has one, and shows around which words.
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

    /// The arguments of every process of this program on this machine; other programs that tests run are told tokens.
    static func processArguments() -> String {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let lines = entries.filter { Int($0) != nil }.compactMap { entry in
            FileManager.default.contents(atPath: "/proc/\(entry)/cmdline").map { String(decoding: $0, as: UTF8.self) }
        }
        return lines.filter { $0.prefix { $0 != "\0" }.hasSuffix("/bellhop") }.joined(separator: "\n")
    }
}
