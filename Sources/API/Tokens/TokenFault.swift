/// Why a token is not accepted; the raw values are what the metric counts by, and no client sees them.
///
/// A client learns that its token is not valid, and nothing that would help to make one that is.
package enum TokenFault: String, CaseIterable, Error, Hashable, Sendable {
    /// No `Authorization: Bearer`, or more than one.
    case missing
    /// Longer than any token of ours.
    case tooLong = "too-long"
    /// Not three parts of JSON, or with members twice.
    case malformed
    /// It brings its own key, or asks for rules that are not known here.
    case header
    /// No key of the set has its name, or another algorithm than it says.
    case key
    case signature
    /// A claim that must be there is not, or has another form.
    case claim
    case expired
    /// Not valid yet, or issued in the future.
    case early
    case audience
    case issuer
    /// Its key may not speak for the app.
    case app
    /// It was issued before its user was erased.
    case erased
}
