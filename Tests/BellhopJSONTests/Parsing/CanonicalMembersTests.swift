import BellhopJSON
import TestSupport
import Testing

/// Rounds: BELLHOP_FUZZ_ROUNDS; seed: BELLHOP_FUZZ_SEED.
@Suite("Members of canonical objects")
struct CanonicalMembersTests {
    /// A member as strings.
    private struct Read: Hashable {
        let key: String
        let value: String
        let string: String?
        let isNull: Bool
    }

    private static func members(of bytes: [UInt8]) -> [Read] {
        bytes.withUnsafeBufferPointer { text in
            CanonicalMembers(of: text).map { member in
                Read(
                    key: String(decoding: member.key, as: UTF8.self),
                    value: String(decoding: member.value, as: UTF8.self),
                    string: member.string.map { String(decoding: $0, as: UTF8.self) },
                    isNull: member.isNull
                )
            }
        }
    }

    /// Returns the expected member, with its strings as they are in JSON.
    private static func expected(_ key: String, _ value: JSONValue) -> Read {
        func spelled(_ value: JSONValue) -> String {
            String(decoding: JSONWriter.canonicalBytes(of: value), as: UTF8.self)
        }
        // A quote and a combining character after it are one `Character`.
        func content(_ text: String) -> String {
            String(decoding: JSONWriter.canonicalBytes(of: .string(text)).dropFirst().dropLast(), as: UTF8.self)
        }
        let string: String? = if case .string(let text) = value { content(text) } else { nil }
        return Read(
            key: content(key),
            value: spelled(value),
            string: string,
            isNull: value == .null
        )
    }

    @Test("every member is read as it is in the text, whatever its kind and escapes")
    func members() {
        var random = RandomJSON(generator: .announced("canonical members"))
        for _ in 0..<SeededChance.rounds(2_000) {
            let object = random.object()
            let keys = object.members.map(\.key).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let expected = keys.map { Self.expected($0, object[$0] ?? .null) }
            let read = Self.members(of: CanonicalObject(object).bytes)
            #expect(read == expected)
        }
    }

    @Test("damaged text ends the sequence")
    func damaged() {
        var generator = SeededChance.announced("damaged members")
        let text = Array(#"{"a":"b\"c","d":[1,{"e":"}"}],"f":null,"g":-1.5}"#.utf8)
        for _ in 0..<SeededChance.rounds(5_000) {
            var damaged = text
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                guard let place = damaged.indices.randomElement(using: &generator) else { break }
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: damaged[place] = Array(#"{}[],:"\x"#.utf8).randomElement(using: &generator) ?? 0
                case 1: damaged.remove(at: place)
                default: damaged.removeLast(damaged.count - place)
                }
            }
            let count = Self.members(of: damaged).count
            #expect(count <= damaged.count)
        }
    }
}
