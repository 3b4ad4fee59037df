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
