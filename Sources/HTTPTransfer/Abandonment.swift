/// Why we gave up on a request ourselves.
enum Abandonment {
    case cancelled
    case closed

    func error(for request: TransferRequest) -> TransferError {
        error(attempt: request.attempt)
    }

    /// The same for whatever else was attempted.
    func error(attempt: String) -> TransferError {
        switch self {
        case .cancelled:
            TransferError(.cancelled, "\(attempt): the task that waited for it was cancelled")
        case .closed:
            TransferError(.closed, "\(attempt): the transport was closed; send it through another one")
        }
    }
}
