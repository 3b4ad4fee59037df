import Glibc
import HTTPTransfer
import ServiceRuntime

/// The keys that an issuer has sent.
struct FetchedKeys: Sendable {
    let keys: TokenKeySet
    let freshFor: Duration
}

/// The reason why keys could not be fetched; the text never contains the body.
struct KeyFetchError: Error, CustomStringConvertible {
    let description: String
}

/// Fetches a key set over https.
///
/// Redirects are not followed, because the operator has checked only this URL.
enum KeyFetcher {
    private static let timeouts = TransferTimeouts(total: .seconds(10), connect: .seconds(5))

    static func fetch(_ source: RemoteKeySource) async -> Result<FetchedKeys, KeyFetchError> {
        var options = CurlTransportOptions(name: "token keys")
        options.connections = 1
        options.bodyLimit = TokenKeySet.longestFile
        options.authoritiesFile = source.authoritiesFile
        do throws(TransferError) {
            // Fetches are minutes apart. A transport for each of them also uses a changed file of authorities.
            let transport = try CurlTransport(options)
            let request = TransferRequest(
                .get,
                url: source.url,
                headers: [(name: "Accept", value: "application/json")],
                timeouts: timeouts
            )
            let outcome = await transport.send([request]).first
            await transport.close()
            return read(outcome, of: source)
        } catch {
            return .failure(KeyFetchError(description: error.text))
        }
    }

    private static func read(_ outcome: TransferOutcome?, of source: RemoteKeySource) -> Result<
        FetchedKeys, KeyFetchError
    > {
        switch outcome {
        case .answered(let answer)?: read(answer, of: source)
        case .notSent(let error)?, .unknown(let error)?: .failure(KeyFetchError(description: error.text))
        case nil: .failure(KeyFetchError(description: "no answer"))
        }
    }

    static func read(_ answer: TransferAnswer, of source: RemoteKeySource) -> Result<FetchedKeys, KeyFetchError> {
        if (300..<400).contains(answer.status) {
            return refusal("the answer is a redirect (\(answer.status)); configure the URL to which it leads")
        }
        guard answer.status == 200 else { return refusal("the answer has status \(answer.status); expected 200") }
        guard !answer.isBodyTruncated else {
            return refusal("the answer is longer than \(TokenKeySet.longestFile) bytes; expected a key set")
        }
        switch TokenKeySet.readFetched(answer.body, from: source.url) {
        case .success(let keys):
            let span = KeyFreshness.span(answer.headers, now: time(nil))
            return .success(FetchedKeys(keys: keys, freshFor: span))
        case .failure(let faults):
            let first = faults.faults.first.map { "\($0.pointer.text): \($0.message)" } ?? "no keys"
            return refusal("the answer is not a usable key set: \(first)")
        }
    }

    private static func refusal(_ text: String) -> Result<FetchedKeys, KeyFetchError> {
        .failure(KeyFetchError(description: text))
    }
}
