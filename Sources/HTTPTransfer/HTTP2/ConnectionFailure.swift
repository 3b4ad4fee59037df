/// Why a connection is over, or a request on it.
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
