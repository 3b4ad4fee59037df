import HTTPTransfer

/// The time for which fetched keys are used before they are fetched again.
enum KeyFreshness {
    /// The bounds of an issuer's choice.
    ///
    /// A shorter time would load the issuer; with a longer one, a removed key would stay valid for too long.
    static let bounds = Duration.seconds(300)...Duration.seconds(86_400)
    /// The time without cache headers.
    static let usual = Duration.seconds(3_600)

    /// Returns the time by the headers `Cache-Control` and `Age`, or else `Expires`; `now` is in seconds since 1970.
    static func span(_ headers: AnswerHeaders, now: Int) -> Duration {
        let directives = headers.values(of: "Cache-Control").joined(separator: ",").split(separator: ",")
            .map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
        if directives.contains("no-store") || directives.contains("no-cache") { return bounds.lowerBound }
        let age = max(0, headers["Age"].flatMap { Int($0) } ?? 0)
        let ages = directives.filter { $0.hasPrefix("max-age=") }
        if let limit = ages.first.flatMap({ Int($0.dropFirst("max-age=".count)) }) {
            return bounded(max(0, limit) - age)
        }
        // Expires has the form of Retry-After's date, and the same meaning: a moment to come back.
        return headers["Expires"].map { bounded(RetryAfter.seconds($0, now: now)) } ?? usual
    }

    private static func bounded(_ seconds: Int) -> Duration {
        min(max(.seconds(seconds), bounds.lowerBound), bounds.upperBound)
    }
}
