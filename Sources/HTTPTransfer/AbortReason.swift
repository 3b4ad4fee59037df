/// The local reason for abandoning a request.
enum AbortReason {
    case cancelled
    case closed

    func error(for request: TransferRequest) -> TransferError {
        error(attempt: request.attempt)
    }

    /// Returns the same error for any other attempt.
    func error(attempt: String) -> TransferError {
        switch self {
        case .cancelled:
            TransferError(.cancelled, "\(attempt): the task that waited for it was cancelled")
        case .closed:
            TransferError(.closed, "\(attempt): the transport was closed; send it through another one")
        }
    }
}
