import HTTPTransfer
import Testing
import TestSupport

extension TransferOutcome {
    var answer: TransferAnswer? {
        if case .answered(let answer) = self { answer } else { nil }
    }

    /// The error code of a request that was certainly not sent.
    var notSent: TransferError.Code? {
        if case .notSent(let error) = self { error.code } else { nil }
    }

    /// The error code of a request whose outcome is unknown.
    var unknown: TransferError.Code? {
        if case .unknown(let error) = self { error.code } else { nil }
    }

    var error: TransferError? {
        switch self {
        case .answered: nil
        case .notSent(let error), .unknown(let error): error
        }
    }
}

extension HTTPTransport {
    func send(_ request: TransferRequest) async -> TransferOutcome {
        let outcomes = await send([request])
        #expect(outcomes.count == 1)
        return outcomes.first ?? .notSent(TransferError(.library, "no outcome"))
    }

}

extension TransferTimeouts {
    /// Timeouts that no test waits for.
    static let generous = TransferTimeouts(total: LongestWait.duration, connect: LongestWait.duration)
}

extension CurlTransport {
    /// Makes a transport for plain servers on loopback.
    static func plain(_ change: (inout CurlTransportOptions) -> Void = { _ in }) throws -> CurlTransport {
        var options = CurlTransportOptions(name: "plain")
        options.allowsPlainHTTP = true
        change(&options)
        return try CurlTransport(options)
    }
}
