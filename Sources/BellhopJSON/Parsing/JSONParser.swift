/// Reads JSON, strictly and within limits, whatever the bytes are.
///
/// Refused beside plain syntax errors: invalid UTF-8, lone surrogates, a byte order mark, control characters, a key
/// that stands twice in one object (readers disagree on which counts, which is how one of them gets deceived), more
/// levels or bytes than the limit. Depth is checked before going down, so that no input can exhaust the stack.
public struct JSONParser: Sendable {
    /// Which grammar is read.
    public enum Dialect: Sendable {
        /// RFC 8259 to the letter.
        case strict
        /// JSON5, for files that people write: comments, single quotes, bare keys, trailing commas, hexadecimal
        /// numbers, explicit plus; `Infinity` and `NaN` are refused, and so are escapes inside bare keys.
        case json5
    }

    /// What a document may measure.
    public struct Limits: Sendable {
        /// Bytes of the whole document.
        public var bytes: Int
        /// Arrays and objects inside one another; never more than 512, whatever is asked for.
        public var depth: Int

        /// Limits of one's own choice.
        public init(bytes: Int, depth: Int) {
            self.bytes = bytes
            self.depth = min(depth, 512)
        }

        /// What an event may measure: 256 KiB, 32 levels.
        public static let event = Limits(bytes: 256 * 1024, depth: 32)
        /// What a message between workers may measure, which names up to a thousand notifications of one user: 1 MiB.
        public static let work = Limits(bytes: 1024 * 1024, depth: 32)
        /// What a catalogue file may measure: 4 MiB, 32 levels.
        public static let catalog = Limits(bytes: 4 * 1024 * 1024, depth: 32)
    }

    private let dialect: Dialect
    private let limits: Limits

    /// A parser for one grammar; it holds no state and may be shared.
    public init(dialect: Dialect = .strict, limits: Limits = .event) {
        self.dialect = dialect
        self.limits = limits
    }

    /// Reads one document.
    public func parse(_ bytes: [UInt8]) -> Result<JSONValue, JSONFault> {
        bytes.withUnsafeBufferPointer { bytes in
            document(bytes).map(\.root)
        }
    }

    /// Reads one document where it lies, such as in a row of a database; the bytes are read during the call only.
    package func parse(_ bytes: UnsafeRawBufferPointer) -> Result<JSONValue, JSONFault> {
        bytes.withMemoryRebound(to: UInt8.self) { document($0).map(\.root) }
    }

    /// Reads one document, with what else was noticed on the way.
    package func document(_ bytes: UnsafeBufferPointer<UInt8>, recordingPlaces: Bool = false) -> Result<
        JSONDocument, JSONFault
    > {
        guard bytes.count <= limits.bytes else {
            return .failure(JSONStop(code: .tooLarge, offset: limits.bytes).fault(in: bytes))
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

/// A document that was read, with what the reader noticed on the way.
package struct JSONDocument {
    package let root: JSONValue
    /// Whether a string with U+0000 or a number that might not be portable came by; only then is a walk worth it.
    package let needsInspection: Bool
    /// Where members and elements begin, in bytes, by pointer; empty unless asked for.
    package let places: [JSONPointer: Int]
}
