/// The reason why a token is rejected.
///
/// The raw values are labels of a metric and are never sent to clients.
///
/// A client only learns that its token is invalid, and nothing that would help to forge one.
package enum TokenError: String, CaseIterable, Error, Hashable, Sendable {
    /// No `Authorization: Bearer`, or more than one.
    case missing
    /// Longer than any token that Bellhop accepts.
    case tooLong = "too-long"
    /// Not three parts of JSON, or with duplicate members.
    case malformed
    /// The header contains a key, or requires unknown rules.
    case header
    /// No key of the issuer has its name, or the key has another algorithm.
    case key
    /// The keys of its issuer have not been fetched yet.
    case unavailable
    case signature
    /// A required claim is missing or has another form.
    case claim
    case expired
    /// Not valid yet, or issued in the future.
    case early
    case audience
    case issuer
    /// Its key or its issuer is not valid for the app.
    case app
    /// It was issued before its user was erased.
    case erased
}
