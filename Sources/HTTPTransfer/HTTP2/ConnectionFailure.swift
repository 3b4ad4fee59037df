/// The reason why a connection, or a request on it, has failed.
struct ConnectionFailure {
    let code: TransferError.Code
    let reason: String

    init(_ code: TransferError.Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    func error(for request: TransferRequest, to destination: Destination) -> TransferError {
        TransferError(code, "\(request.method.rawValue) to \(destination.endpoint): \(reason); \(code.advice)")
    }
}
