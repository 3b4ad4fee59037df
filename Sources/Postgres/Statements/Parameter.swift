/// A value for `$1`, `$2`, … of a statement; an array carries a whole batch in one parameter (`unnest($1)`).
///
/// The server infers each parameter's type from the statement, and the value is encoded to fit it: an integer for
/// `int2`, `int4` or `int8`, a text also for `jsonb`. What does not fit is refused before anything is sent. Where the
/// server cannot infer the type it takes text, so write `$1::bigint[]` for the rest.
package enum Parameter: Sendable, Hashable {
    case null
    case text(String)
    case integer(Int64)
    case double(Double)
    case boolean(Bool)
    case bytes([UInt8])
    /// UTF-8 of a JSON value, for `json` and `jsonb`.
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
    /// An array whose elements are laid out already, for what is written often.
    case column(ArrayParameter)
}

extension Parameter {
    var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// What an error calls it: the kind alone, never the value.
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
