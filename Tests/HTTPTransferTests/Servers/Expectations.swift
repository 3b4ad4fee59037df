import HTTPTransfer
import Testing
import TestSupport

extension TransferOutcome {
    var answer: TransferAnswer? {
        if case .answered(let answer) = self { answer } else { nil }
    }

    /// The code of a request that certainly did not go out.
    var notSent: TransferError.Code? {
        if case .notSent(let error) = self { error.code } else { nil }
    }

    /// The code of a request whose fate nobody knows.
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
    /// No test waits for these to pass.
    static let generous = TransferTimeouts(total: LongestWait.duration, connect: LongestWait.duration)
}

extension CurlTransport {
    /// A transport for plain servers on loopback.
    static func plain(_ change: (inout CurlTransportOptions) -> Void = { _ in }) throws -> CurlTransport {
        var options = CurlTransportOptions(name: "plain")
        options.allowsPlainHTTP = true
        change(&options)
        return try CurlTransport(options)
    }
}
