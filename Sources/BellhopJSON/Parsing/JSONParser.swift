/// Parses JSON strictly and within limits, for any input bytes.
///
/// In addition to syntax errors, it rejects invalid UTF-8, lone surrogates, a byte order mark and control characters.
/// It rejects more levels or bytes than the limit. It also rejects a key that appears twice in one object: parsers
/// disagree on which value counts, and an attacker can use the difference. Depth is checked before each descent, so
/// that no input can exhaust the stack.
public struct JSONParser: Sendable {
    /// The grammar of the input.
    public enum Dialect: Sendable {
        /// RFC 8259 without extensions.
        case strict
        /// JSON5, for files that operators write.
        ///
        /// It adds comments, single quotes, bare keys, trailing commas, hexadecimal numbers and explicit plus signs.
        /// `Infinity` and `NaN` are rejected, and so are escapes inside bare keys.
        case json5
    }

    /// The maximum size and depth of a document.
    public struct Limits: Sendable {
        /// The maximum number of bytes of the whole document.
        public var bytes: Int
        /// The maximum nesting depth of arrays and objects; never more than 512, even if a higher value is requested.
        public var depth: Int

        /// Creates custom limits.
        public init(bytes: Int, depth: Int) {
            self.bytes = bytes
            self.depth = min(depth, 512)
        }

        /// The limits of an event: 256 KiB, 32 levels.
        public static let event = Limits(bytes: 256 * 1024, depth: 32)
        /// The limits of a message between workers: 1 MiB, 32 levels.
        ///
        /// Such a message names up to a thousand notifications of one user.
        public static let work = Limits(bytes: 1024 * 1024, depth: 32)
        /// The limits of a catalogue file: 4 MiB, 32 levels.
        public static let catalog = Limits(bytes: 4 * 1024 * 1024, depth: 32)
    }

    private let dialect: Dialect
    private let limits: Limits

    /// Creates a parser for one grammar.
    ///
    /// It holds no state and may be shared between threads.
    public init(dialect: Dialect = .strict, limits: Limits = .event) {
        self.dialect = dialect
        self.limits = limits
    }

    /// Parses one document.
    public func parse(_ bytes: [UInt8]) -> Result<JSONValue, JSONFault> {
        bytes.withUnsafeBufferPointer { bytes in
            document(bytes).map(\.root)
        }
    }

    /// Parses one document in place, such as in a row of a database.
    ///
    /// The bytes are read only during the call.
    package func parse(_ bytes: UnsafeRawBufferPointer) -> Result<JSONValue, JSONFault> {
        bytes.withMemoryRebound(to: UInt8.self) { document($0).map(\.root) }
    }

    /// Parses one document and returns it with the reader's further observations.
    package func document(_ bytes: UnsafeBufferPointer<UInt8>, recordingPlaces: Bool = false) -> Result<
        JSONDocument, JSONFault
    > {
        guard bytes.count <= limits.bytes else {
            return .failure(ParseInterruption(code: .tooLarge, offset: limits.bytes).fault(in: bytes))
        }
        var reader = JSONReader(bytes, dialect: dialect, depth: limits.depth, recordingPlaces: recordingPlaces)
        do {
            let root = try reader.document()
            let suspicious = reader.suspicious
            return .success(JSONDocument(root: root, needsInspection: suspicious, places: reader.places))
        } catch {
            return .failure(error.fault(in: bytes))
        }
    }
}

/// A parsed document with the reader's observations.
package struct JSONDocument {
    package let root: JSONValue
    /// Whether the document may contain U+0000 in a string or a number that is not portable.
    ///
    /// Only then is an inspection of all values worthwhile.
    package let needsInspection: Bool
    /// The byte offsets at which members and elements begin, by pointer; empty unless requested.
    package let places: [JSONPointer: Int]
}
