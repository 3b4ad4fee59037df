/// A value for `$1`, `$2`, … of a statement.
///
/// An array carries a whole batch in one parameter (`unnest($1)`).
///
/// The server infers each parameter's type from the statement, and the value is encoded for that type: an integer for
/// `int2`, `int4` or `int8`, a text also for `jsonb`. A value of an unsuitable kind is rejected before anything is
/// sent. If the server cannot infer the type, it assumes text; write `$1::bigint[]` for other types.
package enum Parameter: Sendable, Hashable {
    case null
    case text(String)
    case integer(Int64)
    case double(Double)
    case boolean(Bool)
    case bytes([UInt8])
    /// The UTF-8 of a JSON value, for `json` and `jsonb`.
    case json([UInt8])
    /// Microseconds since 1970-01-01 UTC, for `timestamptz`.
    case instant(Int64)

    case textArray([String?])
    case integerArray([Int64?])
    case doubleArray([Double?])
    case booleanArray([Bool?])
    case bytesArray([[UInt8]?])
    case jsonArray([[UInt8]?])
    case instantArray([Int64?])
    /// An array whose elements are already encoded, for frequent writes.
    case column(ArrayParameter)
}

extension Parameter {
    var isNull: Bool { if case .null = self { true } else { false } }

    /// The name of the kind in errors, which never contain the value.
    var kind: String {
        switch self {
        case .null: "null"
        case .text: "text"
        case .integer: "integer"
        case .double: "double"
        case .boolean: "boolean"
        case .bytes: "bytes"
        case .json: "json"
        case .instant: "instant"
        case .textArray: "textArray"
        case .integerArray: "integerArray"
        case .doubleArray: "doubleArray"
        case .booleanArray: "booleanArray"
        case .bytesArray: "bytesArray"
        case .jsonArray: "jsonArray"
        case .instantArray: "instantArray"
        case .column(let column): "column of \(column.element)"
        }
    }
}
