package import BellhopRules

/// The issuers whose tokens are accepted, with their active keys.
///
/// It is a snapshot: a change of any key or rule makes another one.
package struct TrustedIssuers: Sendable {
    /// Distinguishes a snapshot from a later one.
    package final class Mark: Sendable {}

    /// One issuer.
    package struct Issuer: Sendable {
        let verifier: TokenVerifier
        /// The active keys, or `nil` if they have not been fetched yet.
        let keys: TokenKeySet?
        /// The place from which the keys are fetched, or `nil` if they come from a file.
        let source: RemoteKeySource?

        package init(_ rules: TokenRules, keys: TokenKeySet?, source: RemoteKeySource? = nil) {
            verifier = TokenVerifier(rules)
            self.keys = keys
            self.source = source
        }
    }

    private let issuers: [Issuer]
    let mark = Mark()

    package init(_ issuers: [Issuer]) { self.issuers = issuers }

    /// The number of active keys of all issuers.
    package var keyCount: Int { issuers.reduce(0) { $0 + ($1.keys?.count ?? 0) } }

    /// Returns the user of a token, or the reason why every issuer rejects it.
    ///
    /// The reason is that of the issuer whose check went furthest.
    package func check(_ text: String, at now: Timestamp) -> Result<AuthenticatedUser, TokenError> {
        let token: UnverifiedToken
        do throws(TokenError) { token = try UnverifiedToken(text) } catch { return .failure(error) }
        var nearest = TokenError.issuer
        for issuer in issuers {
            do throws(TokenError) {
                return .success(try issuer.verifier.check(token, with: issuer.keys, at: now))
            } catch {
                nearest = Self.progress(error) > Self.progress(nearest) ? error : nearest
            }
        }
        return .failure(nearest)
    }

    /// Returns the places whose keys may include the unknown key of a token.
    func sources(lackingKeyOf text: String) -> Set<RemoteKeySource> {
        guard let token = try? UnverifiedToken(text), let name = token.keyID else { return [] }
        let lacking = issuers.filter { $0.keys?[name] == nil && $0.verifier.covers(token) }
        return Set(lacking.compactMap(\.source))
    }

    /// Orders faults by the progress of the check.
    private static func progress(_ fault: TokenError) -> Int {
        switch fault {
        case .issuer: 0
        case .key: 1
        case .unavailable: 2
        default: 3
        }
    }
}
