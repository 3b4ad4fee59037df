/// Parameters in libpq's form: one buffer, with the position and format of each parameter.
///
/// A session keeps and reuses it, so that a batch allocates memory only if it is the first of its size.
struct EncodedParameters: ~Copyable {
    private var buffer = WireBuffer()
    private var starts: [Int] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    /// The buffer's capacity in bytes that is kept after one large batch.
    private static let keptCapacity = 1 << 20

    /// Removes the parameters that were encoded before.
    mutating func reset() {
        buffer.removeAll(keeping: Self.keptCapacity)
        starts.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        formats.removeAll(keepingCapacity: true)
    }

    /// Adds the parameters of one statement, encoded as the server expects, and returns their positions.
    ///
    /// Throws `invalidParameter` for a value that cannot be sent.
    mutating func encode(_ parameters: [Parameter], as types: [ServerType]) throws(PostgresError) -> Range<Int> {
        guard parameters.count == types.count else {
            throw PostgresError(
                .invalidParameter,
                "The statement takes \(types.count) parameters, but \(parameters.count) were given."
            )
        }
        let first = starts.count
        for (index, parameter) in parameters.enumerated() {
            let start = buffer.count
            let format: Format
            do throws(EncodingFault) {
                format = try encode(parameter, as: types[index])
                guard buffer.count - start <= WireBuffer.largestValue else { throw .tooLarge }
            } catch {
                throw error.report(parameter, number: index + 1, type: types[index])
            }
            starts.append(parameter.isNull ? -1 : start)
            lengths.append(Int32(clamping: buffer.count - start))
            formats.append(format.rawValue)
        }
        return first..<starts.count
    }

    /// Passes the values, lengths and formats at these positions to `body`; the pointers are valid only during the
    /// call.
    func withPointers<Value>(_ places: Range<Int>, _ body: (Pointers) -> Value) -> Value {
        let base = UnsafePointer(buffer.base.assumingMemoryBound(to: CChar.self))
        let values = places.map { starts[$0] < 0 ? nil : base + starts[$0] }
        return values.withUnsafeBufferPointer { values in
            lengths[places].withUnsafeBufferPointer { lengths in
                formats[places].withUnsafeBufferPointer { formats in
                    body(
                        Pointers(
                            count: Int32(clamping: places.count),
                            values: values.baseAddress,
                            lengths: lengths.baseAddress,
                            formats: formats.baseAddress
                        )
                    )
                }
            }
        }
    }

    /// The array arguments of `PQsendQueryPrepared`.
    struct Pointers {
        let count: Int32
        let values: UnsafePointer<UnsafePointer<CChar>?>?
        let lengths: UnsafePointer<Int32>?
        let formats: UnsafePointer<Int32>?
    }

    /// The numbers of libpq's `paramFormats`.
    private enum Format: Int32 {
        case text = 0
        case binary = 1
    }

    private mutating func encode(_ parameter: Parameter, as type: ServerType) throws(EncodingFault) -> Format {
        switch parameter {
        case .null:
            return .binary
        case .text(let text) where type.isTextual || type == .jsonb:
            try buffer.append(text: text, as: type)
        case .text(let text):
            return try spell(text)
        case .integer(let value) where type == .numeric || type == .float4 || type == .float8:
            return try spell(String(value))
        case .double(let value) where type == .numeric || type == .float4:
            return try spell(String(value))
        case .integer(let value):
            try buffer.append(integer: value, as: type)
        case .double(let value):
            try buffer.append(double: value, as: type)
        case .boolean(let value):
            try buffer.append(boolean: value, as: type)
        case .bytes(let bytes):
            try buffer.append(bytes: bytes, as: type)
        case .json(let bytes):
            try buffer.append(json: bytes, as: type)
        case .instant(let microseconds):
            try buffer.append(instant: microseconds, as: type)
        default:
            try encode(array: parameter, as: type)
        }
        return .binary
    }

    /// Writes the value as text, which the server accepts for every type: for enums, uuid, numeric and all types
    /// without an encoding here.
    private mutating func spell(_ text: String) throws(EncodingFault) -> Format {
        try buffer.append(text: text, as: .text)
        buffer.append(UInt8(0))
        return .text
    }

    private mutating func encode(array parameter: Parameter, as type: ServerType) throws(EncodingFault) {
        guard let element = type.element else { throw .mismatch }
        switch parameter {
        case .textArray(let values):
            try buffer.append(array: values, of: element) { (buffer, value) throws(EncodingFault) in
                try buffer.append(text: value, as: element)
            }
        case .integerArray(let values):
            try buffer.append(array: values, of: element) { (buffer, value) throws(EncodingFault) in
                try buffer.append(integer: value, as: element)
            }
        case .doubleArray(let values):
            try buffer.append(array: values, of: element) { (buffer, value) throws(EncodingFault) in
                try buffer.append(double: value, as: element)
            }
        case .booleanArray(let values):
            try buffer.append(array: values, of: element) { (buffer, value) throws(EncodingFault) in
                try buffer.append(boolean: value, as: element)
            }
        case .bytesArray(let values):
            try buffer.append(array: values, of: element) { (buffer, value) throws(EncodingFault) in
                try buffer.append(bytes: value, as: element)
            }
        case .jsonArray(let values):
            try buffer.append(array: values, of: element) { (buffer, value) throws(EncodingFault) in
                try buffer.append(json: value, as: element)
            }
        case .instantArray(let values):
            try buffer.append(array: values, of: element) { (buffer, value) throws(EncodingFault) in
                try buffer.append(instant: value, as: element)
            }
        case .column(let column):
            try buffer.append(column, of: element)
        case .null, .text, .integer, .double, .boolean, .bytes, .json, .instant:
            throw .mismatch
        }
    }
}

/// The reason why a value cannot be sent as the type that the server expects.
enum EncodingFault: Error {
    case mismatch
    case holdsNul
    case outOfRange
    case tooLarge

    /// Returns an error that names the parameter's number, kind and type, but not its value.
    func report(_ parameter: Parameter, number: Int, type: ServerType) -> PostgresError {
        let reason =
            switch self {
            case .mismatch: "cannot be sent: its kind does not fit; cast it in the statement ($\(number)::…)"
            case .holdsNul: "holds a NUL, which PostgreSQL cannot store in text; remove it"
            case .outOfRange: "is out of the range of that type"
            case .tooLarge: "is larger than PostgreSQL takes (1 GiB)"
            }
        return PostgresError(.invalidParameter, "Parameter $\(number) (\(parameter.kind) for \(type)) \(reason).")
    }
}
