/// Why a connection is over, or a request on it.
struct ConnectionFailure {
    let code: TransferError.Code
    let reason: String

    init(_ code: TransferError.Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    func error(for request: TransferRequest, to destination: Destination) -> TransferError {
        TransferError(code, "\(request.method.rawValue) to \(destination.endpoint): \(reason); \(advice)")
    }

    private var advice: String {
        switch code {
        case .nameLookup: "check the host's name and the resolver, or try again"
        case .certificate: "check the authorities that are trusted and the host's name"
        case .addressRefused: "do not try again"
        case .connect, .tls, .timeout: "check the way to the host, or try again"
        default: "try again"
        }
    }
}
