/// A type by its number (OID) at the server.
///
/// The built-in numbers are the same on every server.
struct ServerType: Hashable, Sendable {
    let oid: UInt32

    static let boolean = ServerType(oid: 16)
    static let bytea = ServerType(oid: 17)
    static let name = ServerType(oid: 19)
    static let int8 = ServerType(oid: 20)
    static let int2 = ServerType(oid: 21)
    static let int4 = ServerType(oid: 23)
    static let text = ServerType(oid: 25)
    static let oidType = ServerType(oid: 26)
    static let json = ServerType(oid: 114)
    static let float4 = ServerType(oid: 700)
    static let float8 = ServerType(oid: 701)
    static let unknown = ServerType(oid: 705)
    static let character = ServerType(oid: 1042)
    static let varchar = ServerType(oid: 1043)
    static let timestamptz = ServerType(oid: 1184)
    static let numeric = ServerType(oid: 1700)
    static let jsonb = ServerType(oid: 3802)

    /// Array types with their element types.
    private static let elements: [ServerType: ServerType] = [
        ServerType(oid: 1000): .boolean,
        ServerType(oid: 1001): .bytea,
        ServerType(oid: 1003): .name,
        ServerType(oid: 1016): .int8,
        ServerType(oid: 1005): .int2,
        ServerType(oid: 1007): .int4,
        ServerType(oid: 1009): .text,
        ServerType(oid: 199): .json,
        ServerType(oid: 1021): .float4,
        ServerType(oid: 1022): .float8,
        ServerType(oid: 1014): .character,
        ServerType(oid: 1015): .varchar,
        ServerType(oid: 1185): .timestamptz,
        ServerType(oid: 3807): .jsonb,
    ]

    /// The element type of an array type; `nil` for other types and for arrays of types that are not built in.
    var element: ServerType? { Self.elements[self] }

    /// Whether the type's binary form is the text itself.
    var isTextual: Bool {
        switch self {
        case .text, .varchar, .character, .name, .unknown, .json: true
        default: false
        }
    }

    /// Whether a user or an extension made the type: an enum or `citext`, whose binary form is text too, or an
    /// unreadable type.
    var isUserDefined: Bool { oid >= 16384 }
}

extension ServerType: CustomStringConvertible {
    private static let names: [ServerType: String] = [
        .boolean: "boolean", .bytea: "bytea", .name: "name", .int8: "bigint", .int2: "smallint", .int4: "integer",
        .text: "text", .oidType: "oid", .json: "json", .float4: "real", .float8: "double precision",
        .unknown: "unknown", .character: "character", .varchar: "varchar", .timestamptz: "timestamptz",
        .numeric: "numeric", .jsonb: "jsonb",
    ]

    var description: String {
        if let element { return "\(element)[]" }
        return Self.names[self] ?? "type \(oid)"
    }
}
